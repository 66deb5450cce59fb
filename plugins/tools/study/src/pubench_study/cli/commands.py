"""``pubench study``: its sub-commands. What they do is in :mod:`pubench_study.cli.study`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pubench_cli.choices import Format, PrintFormat, Results, keys
from pubench_cli.options import Root, option
from pubench_cli.process import Over


class Lock(StrEnum):
    """How runs are claimed; ``auto``: as is safe on the folder's file system."""

    auto = "auto"
    soft = "soft"


def studies(incomplete: str) -> list[str]:
    """Completion of a study: shipped protocols, study files here, studies in ``results``."""
    from ..study_file import protocols, studies_in

    here = [str(path) for suffix in ("yaml", "yml") for path in Path().glob(f"*.{suffix}")]
    names = {*protocols(), *here, *(folder.name for folder in studies_in(Path("results")))}
    return sorted(name for name in names if name.startswith(incomplete))


File = Annotated[
    str, typer.Argument(metavar="STUDY", help="Study file (.yaml) or shipped protocol.", autocompletion=studies)
]
Planned = Annotated[
    str | None,
    typer.Argument(
        metavar="[STUDY]",
        help="Its name or file, or a folder of records. (default: the only study in --results)",
        autocompletion=studies,
    ),
]
Only = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUES",
        help="Only runs with these values: data=spambase,20news (method, data, mechanism, c, positive_rate, scheme, "
        "prior, seed, preset, draw), or that failed (failed, failed=timeout,error). Repeatable.",
    ),
]
Replan = Annotated[
    bool, typer.Option("--replan", help="Rebuild the plan after the file or a plugin changed. Results are kept.")
]


def plan(
    study: File,
    results: Results = Path("results"),
    only: Only = None,
    replan: Replan = False,
    jobs: Annotated[int, typer.Option("-j", "--jobs", help="Runs at once, for the expected time.", min=1)] = 1,
    data_root: Root = None,
    format: PrintFormat = Format.table,
) -> None:
    """Freeze the plan of a study; print how many runs it has, how many are done, and how long the rest will take."""
    from .study import StudyRequest, print_plan

    request = StudyRequest(study, results, tuple(only or ()), data_root)
    print_plan(request, replan=replan, jobs=jobs, as_json=format is Format.json)


def run(
    study: File,
    results: Results = Path("results"),
    jobs: Annotated[int, typer.Option("-j", "--jobs", help="Runs at once.", min=1, max=1024)] = 1,
    only: Only = None,
    gpus: Annotated[str | None, typer.Option(help="Numbers of the GPUs to use: 0,1.")] = None,
    slots_per_gpu: Annotated[int, typer.Option(help="Runs at once on each of --gpus.", min=1, max=64)] = 1,
    device: Annotated[str, typer.Option(help=option("--device").help())] = "auto",
    threads: Annotated[int, typer.Option(help="CPU threads of each run.", min=1, max=1024)] = 1,
    executor: Annotated[
        str,
        typer.Option(
            help="Who carries runs out; 'pubench list executors' has those there are.", autocompletion=keys("executor")
        ),
    ] = "local",
    address: Annotated[
        str | None, typer.Option(help="Address of the executor's cluster. (default: one on this machine)")
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Also retry runs that failed or were refused.")
    ] = False,
    max_time: Annotated[
        str | None, typer.Option(metavar="TIME", help="Start no run that would not end within: 90s, 30m, 2h.")
    ] = None,
    timeout: Annotated[
        str | None, typer.Option(metavar="TIME", help="End a run, as failed, that takes longer than: 90s, 30m, 2h.")
    ] = None,
    lock: Annotated[
        Lock, typer.Option(help="soft: claim runs by leases, as on a network file system whose locks exclude nobody.")
    ] = Lock.auto,
    replan: Replan = False,
    data_root: Root = None,
    encoder: Annotated[Path | None, typer.Option(help=option("--encoder").help())] = None,
    offline: Annotated[bool, typer.Option("--offline", help=option("--offline").help())] = False,
    format: PrintFormat = Format.table,
) -> None:
    """Run what is missing of a study. The same command again resumes.

    Ctrl-C starts no more runs and waits for those at work; a second one stops them. Exit codes: 0 all runs are done,
    1 some failed or are left, 2 a wrong request, 130 interrupted.
    """
    from ..durations import seconds_of
    from ..task import Orders
    from .run import RunOptions, run_study
    from .study import StudyRequest

    seconds = None if timeout is None else seconds_of(timeout, "--timeout")
    how = RunOptions(
        orders=Orders(results, data_root, encoder, offline, threads, timeout=seconds),
        jobs=jobs,
        gpus=gpus,
        slots_per_gpu=slots_per_gpu,
        device=device,
        executor=executor,
        address=address,
        retry_failed=retry_failed,
        max_seconds=None if max_time is None else seconds_of(max_time, "--max-time"),
        soft=lock is Lock.soft,
        replan=replan,
    )
    raise Over(
        run_study(StudyRequest(study, results, tuple(only or ()), data_root), how, as_json=format is Format.json)
    )


def status(
    study: Planned = None,
    results: Results = Path("results"),
    only: Only = None,
    data_root: Root = None,
    format: PrintFormat = Format.table,
) -> None:
    """Show what is done and missing of a study, and each failure with its cause and record. Trains nothing."""
    from .study import StudyRequest, print_status

    print_status(StudyRequest(study, results, tuple(only or ()), data_root), as_json=format is Format.json)


def export(
    study: Planned = None,
    results: Results = Path("results"),
    out: Annotated[Path | None, typer.Option(help="File of the archive. (default: STUDY.zip)")] = None,
    without_scores: Annotated[
        bool, typer.Option("--without-scores", help="Leave out scores, samples, predictions and models: much smaller.")
    ] = False,
    data_root: Root = None,
    format: PrintFormat = Format.table,
) -> None:
    """Pack plan and records into one archive with checksums; unpacked, it is a folder of records again."""
    from .study import StudyRequest, export_study

    export_study(
        StudyRequest(study, results, (), data_root), out, with_scores=not without_scores, as_json=format is Format.json
    )


def remove(
    runs: Annotated[list[str] | None, typer.Argument(metavar="[RUN]...", help="Run ids, or how they begin.")] = None,
    results: Results = Path("results"),
    superseded: Annotated[bool, typer.Option("--superseded", help="Records that a newer one replaced.")] = False,
    failed: Annotated[bool, typer.Option("--failed", help="Records of failures.")] = False,
    study: Annotated[str | None, typer.Option(help="Only runs of this study.")] = None,
    stale: Annotated[bool, typer.Option("--stale", help="Of --study: only records that other code made.")] = False,
    older: Annotated[str | None, typer.Option(metavar="TIME", help="Only what is older than: 90m, 24h, 720h.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Delete, instead of showing what would go.")] = False,
    format: PrintFormat = Format.table,
) -> None:
    """Show which runs of a folder are not needed any more, and their size; --yes deletes them.

    What a living process works on is kept. A study runs again what it lacks.
    """
    from ..durations import seconds_of
    from .remove import remove, unneeded

    age = None if older is None else seconds_of(older, "--older")
    kinds = [name for name, asked in (("superseded", superseded), ("failed", failed)) if asked]
    folders = unneeded(results, tuple(runs or ()), kinds, study, age, stale=stale)
    remove(results, folders, yes=yes, as_json=format is Format.json)
