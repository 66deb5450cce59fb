"""``pubench study slurm``: scripts, what they will cost, and their submission."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from pubench_study.cli.commands import File, Only
from pubench_study.cli.run import refuse_absent
from pubench_study.cli.study import Looked, StudyRequest, looked, prepared
from pubench_study.durations import duration
from pubench_study.state import Expected

from pubench_cli.choices import Format, PrintFormat, Results
from pubench_cli.console import out
from pubench_cli.machine import print_json
from pubench_cli.options import Root
from pubench_core.errors import RequestError, counted
from pubench_core.records.store import RecordStore

from .config import Slurm, read_config
from .script import script, tasks_for


@dataclass(frozen=True)
class JobScript:
    """A script. ``seconds``: that its runs are expected to take, one after the other; None if nothing is known."""

    path: Path
    text: str
    runs: int
    tasks: int
    seconds: float | None


def slurm(
    study: File,
    results: Results = Path("results"),
    only: Only = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What jobs need, with the keys of benchopt's Slurm files.")
    ] = None,
    submit: Annotated[bool, typer.Option("--submit", help="Submit the scripts, which are printed otherwise.")] = False,
    data_root: Root = None,
    format: PrintFormat = Format.table,
) -> None:
    """Write the Slurm array that carries a study out, and submit it with --submit.

    The plan is frozen here. Every task is 'pubench study run' on the same folder of records, which all nodes must see;
    one that Slurm ends, or that has no time for the runs that are left, is started again and goes on.
    """
    jobs = read_config(config)
    request = StudyRequest(study, results, tuple(only or ()), data_root)
    folder, plan, _ = prepared(request, replan=False)
    RecordStore(folder.results).check_writable()
    found = looked(request, folder, plan)
    todo = len(found.runs("missing", "to measure"))
    if todo:
        refuse_absent(found)
    place = folder.path / "slurm"
    place.mkdir(parents=True, exist_ok=True)
    batches = list(_batches(found, request, jobs, place)) if todo else []
    for batch in batches:
        batch.path.write_text(batch.text, encoding="utf-8")
    ids = [_submitted(batch.path) for batch in batches] if submit else []
    if format is Format.json:
        print_json({"name": plan.name, "runs": todo, "scripts": [_facts(batch) for batch in batches], "jobs": ids})
        return
    if not batches:
        out().print(f"{plan.name}: nothing is left to run", markup=False)
    for batch in batches:
        if not submit:
            out().print(batch.text, markup=False, highlight=False, soft_wrap=True)
        hours = (
            "nothing like them was recorded" if batch.seconds is None else f"about {duration(batch.seconds)} of one CPU"
        )
        out().print(
            f"{batch.path}: {counted(batch.runs, 'run')} in {counted(batch.tasks, 'task')}; {hours}",
            markup=False,
            soft_wrap=True,
        )
    for number in ids:
        out().print(f"submitted: job {number}", markup=False)
    if batches and not submit:
        out().print("--submit submits it; 'sbatch FILE' does the same", markup=False)


def _batches(found: Looked, request: StudyRequest, jobs: Slurm, place: Path) -> Iterator[JobScript]:
    """One script, or two where jobs have a GPU: methods without a network do not wait for one."""
    runs = [state.run for state in found.states if state.status in ("missing", "to measure")]
    expected = Expected.of(found.states)
    networks = {run.method for run in runs if "batch_size" in run.resolved["method"].get("config", {})}
    every = {run.method for run in runs}
    parts = [("jobs", jobs.has_gpu, every)]
    if jobs.has_gpu and networks != every:
        parts = [("gpu", True, networks), ("cpu", False, every - networks)]
    options = ["--data-root", str(request.data_root.absolute())] if request.data_root is not None else []
    for name, gpu, methods in parts:
        mine = [run for run in runs if run.method in methods]
        if not mine:
            continue
        only: Sequence[str] = request.only
        if len(mine) < len(runs):
            only = [*only, f"method={','.join(sorted(methods))}"]
        seconds = expected.total(mine)
        tasks = tasks_for(len(mine), seconds, jobs)
        text = script(found.plan.name, found.folder.results.absolute(), only, tasks, jobs, gpu=gpu, options=options)
        yield JobScript(place / f"{name}.sh", text, len(mine), tasks, seconds)


def _facts(batch: JobScript) -> dict[str, Any]:
    seconds = None if batch.seconds is None else round(batch.seconds)
    return {"script": str(batch.path), "runs": batch.runs, "tasks": batch.tasks, "expected_seconds": seconds}


def _submitted(path: Path) -> str:
    """Number of the job. Raises RequestError where Slurm is not here or refuses it."""
    if shutil.which("sbatch") is None:
        raise RequestError(f"sbatch is not here; submit {path} on a machine of the cluster")
    done = subprocess.run(["sbatch", "--parsable", str(path)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RequestError(f"sbatch refused {path}: {done.stderr.strip() or f'exit code {done.returncode}'}")
    return done.stdout.strip().split(";")[0]
