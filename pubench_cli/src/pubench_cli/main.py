"""The ``pubench`` command: its sub-commands, and how errors become one line and an exit code.

Nothing heavy is imported here: every command imports what it needs when it is called.
"""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.exceptions import TyperException

from pubench.waiting import wait_briefly
from pubench_core.errors import PubenchError

from . import compared_commands, scored_commands, tuning_commands
from .choices import (
    Family,
    Format,
    Kind,
    ListFormat,
    MethodTemplate,
    PredictFormat,
    any_key,
    methods_and_packages,
    runs,
)
from .data_app import data_app
from .options import MACHINE, RUN, Given, takes
from .site import commands as site_commands
from .study_app import Over, study_app
from .visible import guard, visible

app = typer.Typer(
    name="pubench",
    help="Benchmark positive-unlabeled (PU) learning: honest, fast, reproducible.",
    epilog="Example: pubench run --method nnpu --data digits --mech scar --c 0.1",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(data_app)
app.add_typer(study_app)

PrintFormat = Annotated[Format, typer.Option("--format", help="How to print it.")]
Results = Annotated[Path, typer.Option(help="Folder of records.")]
TrackingUri = Annotated[
    str | None,
    typer.Option("--tracking-uri", help="Server or database. (default: MLFLOW_TRACKING_URI, else <results>/mlflow.db)"),
]
NewKey = Annotated[str, typer.Argument(help="Its key: lower-case words joined by hyphens (my-method).")]
NewPath = Annotated[
    Path | None, typer.Option("--path", help="Folder that gets the package's folder. (default: here)", file_okay=False)
]
InRepo = Annotated[
    bool, typer.Option("--in-repo", help="Into plugins/ of the checkout of pubench that this folder is in.")
]


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"pubench {version('pubench-cli')} (core {version('pubench-core')})")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _pubench(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command("list", epilog="Example: pubench list methods --format json")
def list_(
    kind: Annotated[Kind, typer.Argument(help="What to list.")],
    format: Annotated[ListFormat, typer.Option(help="How to print it.")] = ListFormat.table,
) -> None:
    """List installed plugins, broken ones included, without importing them."""
    from .listing import print_listing

    print_listing(kind.value, format.value)


@app.command(epilog="Example: pubench info nnpu")
def info(
    key: Annotated[str, typer.Argument(help="Key or alias of a plugin.", autocompletion=any_key)],
    format: PrintFormat = Format.table,
) -> None:
    """Say everything about one plugin: reference, hyper-parameters with bounds, presets, provenance."""
    from .describe import print_info

    print_info(key, as_json=format is Format.json)


@app.command(epilog="Example: pubench doctor nnpu")
def doctor(
    key: Annotated[
        str | None, typer.Argument(help="Key of a plugin or name of its distribution.", autocompletion=any_key)
    ] = None,
    format: PrintFormat = Format.table,
) -> None:
    """Check the installation, or one plugin (with its traceback if it is broken, and exit code 1)."""
    from .doctor import check_all, check_one

    if key is None:
        check_all(as_json=format is Format.json)
    else:
        check_one(key, as_json=format is Format.json)


@app.command(epilog="Example: pubench check nnpu")
def check(
    name: Annotated[
        str,
        typer.Argument(help="Method key or alias, or the name of a package.", autocompletion=methods_and_packages),
    ],
    format: PrintFormat = Format.table,
) -> None:
    """Put a method through every conformance check. Exit code 1 if one fails."""
    from .check import check as examine

    examine(name, as_json=format is Format.json)


@app.command(epilog="Example: pubench run --method nnpu --data digits --mech scar --c 0.1 --seed 2 --select pa")
@takes()
def run(
    given: Given,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A hyper-parameter (lr=1e-3) or, dotted, any field (execution.threads=2). Repeatable.",
            rich_help_panel=RUN,
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(help="YAML file with any part of the spec; flags win.", rich_help_panel=RUN),
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER|LIST",
            help="Run once for each of several seeds (3, or 2,25,42) and say how much they differ.",
            rich_help_panel=RUN,
        ),
    ] = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Run although a result is stored; the older record is kept.", rich_help_panel=MACHINE
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Print the resolved spec as YAML (for --config), or as JSON, and stop.",
            rich_help_panel=MACHINE,
        ),
    ] = False,
    format: Annotated[Format, typer.Option(help="How to print the result.", rich_help_panel=MACHINE)] = Format.table,
) -> None:
    """Run one method on one data set under one labeling, and print what it reached under every criterion.

    With --format json, an error is an object on stdout as well: {"error": ..., "field": ..., "exit_code": ...}.
    """
    from .run import run_once

    as_json = format is Format.json
    run_once(given, sets=set_ or [], config=config, force=force, dry_run=dry_run, as_json=as_json, seeds=seeds)


@app.command(epilog="Example: pubench predict 783e61fad537fd47 new.csv > predictions.csv")
def predict(
    run: Annotated[str, typer.Argument(help="Run id, its first digits, or the run's folder.", autocompletion=runs)],
    file: Annotated[Path, typer.Argument(help="Rows to score: .csv, .tsv, .xlsx, .parquet or .npz.")],
    out: Annotated[
        Path | None, typer.Option(help="Where to write: a .csv, .json or .parquet file. (default: stdout)")
    ] = None,
    results: Results = Path("results"),
    format: Annotated[
        PredictFormat | None, typer.Option(help="How to print it. (default: csv, or what --out ends in)")
    ] = None,
) -> None:
    """Score new rows with the model that a run kept (--save-model): row and ids, score, rank, decision."""
    from .predict import predict as score

    score(run, file, out, results, form=format.value if format is not None else None)


for command, example in {
    **scored_commands.COMMANDS,
    **compared_commands.COMMANDS,
    **tuning_commands.COMMANDS,
    **site_commands.COMMANDS,
}.items():
    app.command(epilog=f"Example: {example}")(command)


@app.command(epilog="Example: pubench track --results results")
def track(
    results: Results = Path("results"), tracking_uri: TrackingUri = None, format: PrintFormat = Format.table
) -> None:
    """Send to MLflow every record that it lacks, each exactly once."""
    from .tracking import track as send

    send(results, tracking_uri, as_json=format is Format.json)


@app.command(epilog="Example: pubench ui --results results")
def ui(
    results: Results = Path("results"),
    tracking_uri: TrackingUri = None,
    port: Annotated[int, typer.Option(help="Port on the loopback interface.", min=1, max=65535)] = 5000,
) -> None:
    """Open MLflow's page on the results, on this machine only."""
    from .tracking import open_page

    open_page(results, tracking_uri, port)


@app.command("new-method", epilog="Example: pubench new-method my-method --family disambiguation")
def new_method(
    key: NewKey,
    path: NewPath = None,
    family: Annotated[
        Family | None,
        typer.Option(help="What it does about unlabeled rows. (default: risk, or what the template has)"),
    ] = None,
    template: Annotated[MethodTemplate | None, typer.Option(help="How it trains. (default: network)")] = None,
    in_repo: InRepo = False,
) -> None:
    """Make a package with a method that works, its tests, and comments that say what to replace."""
    from .scaffold.create import create

    create("method", key, path=path, in_repo=in_repo, template=template, family=family)


@app.command("new-dataset", epilog="Example: pubench new-dataset my-data --path packages")
def new_dataset(key: NewKey, path: NewPath = None, in_repo: InRepo = False) -> None:
    """Make a package with a data set that works, its tests, and comments that say what to replace."""
    from .scaffold.create import create

    create("dataset", key, path=path, in_repo=in_repo)


@app.command("new-mechanism", epilog="Example: pubench new-mechanism my-mechanism")
def new_mechanism(key: NewKey, path: NewPath = None, in_repo: InRepo = False) -> None:
    """Make a package with a labeling mechanism that works, its tests, and comments that say what to replace."""
    from .scaffold.create import create

    create("mechanism", key, path=path, in_repo=in_repo)


@app.command("new-metric", epilog="Example: pubench new-metric my-metric")
def new_metric(key: NewKey, path: NewPath = None, in_repo: InRepo = False) -> None:
    """Make a package with a metric that works, its tests, and comments that say what to replace."""
    from .scaffold.create import create

    create("metric", key, path=path, in_repo=in_repo)


def main() -> None:
    """Console script. Exit codes: 0 done, 1 a run or a plugin failed, 2 a wrong request, 130 interrupted."""
    lost = _go_on_without_readers()
    guard()
    wait_briefly()
    code = _carried_out()
    sys.stdout.flush()
    if lost and not code:
        if lost[0].errno != errno.EPIPE:  # a reader that has seen enough (| head) is told nothing
            _complain(f"the output could not be written: {lost[0].strerror}; what was recorded is there")
        code = 1
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done; Ctrl-C would be a traceback of the interpreter's end
    sys.exit(code)


def _carried_out() -> int:
    """The exit code of what the command line asks for; errors are said."""
    try:
        code = app(standalone_mode=False)
    except PubenchError as error:
        from .messages import said

        _complain(said(error), error.exit_code, error.field)
        return error.exit_code
    except TyperException as error:  # an unknown option, a missing value: one line, without typer's box
        context = getattr(error, "ctx", None)
        where = f" ({context.command_path} --help)" if context is not None else ""
        _complain(f"{error.format_message()}{where}", 2)
        return 2
    except Over as over:
        return over.code
    except (typer.Abort, KeyboardInterrupt):
        code = 130
    except SystemExit as stop:
        if "_PUBENCH_COMPLETE" in os.environ or {"--show-completion", "--install-completion"} & set(sys.argv):
            raise  # how typer ends when a shell asks it for completions
        _complain(f"a plugin tried to end the program (SystemExit: {stop.code}); 'pubench doctor' checks plugins")
        return 1
    if code == 130:
        _complain("interrupted; nothing unfinished was recorded", 130)
    return code if isinstance(code, int) else 0


class _Forgiving(io.FileIO):
    """A stream whose writing never fails. ``lost``: what it would have failed with."""

    def __init__(self, stream: int) -> None:
        super().__init__(stream, "w", closefd=False)
        self.lost: list[OSError] = []

    def write(self, data: Any) -> int:
        try:
            return super().write(data) or 0
        except OSError as error:
            self.lost.append(error)
            return len(data)


def _go_on_without_readers() -> list[OSError]:
    """A full disk behind stdout or stderr, a reader that has gone or a closed stream ends no run.

    The list then holds what was met on stdout.
    """
    streams = {}
    for name in ("stdout", "stderr"):
        stream: Any = getattr(sys, name)
        if stream is None:  # closed by the caller: >&-
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 (as long as the process)
        elif stream is getattr(sys, f"__{name}__"):
            raw = streams[name] = _Forgiving(stream.fileno())
            buffered = io.BufferedWriter(raw)
            by_line = stream.line_buffering or name == "stderr"
            setattr(sys, name, io.TextIOWrapper(buffered, stream.encoding, stream.errors, line_buffering=by_line))
    return streams["stdout"].lost if "stdout" in streams else []


def _complain(text: str, exit_code: int = 1, field: str = "") -> None:
    """One line on stderr; where JSON was asked for, an object on stdout as well (see :mod:`pubench_cli.machine`)."""
    from .machine import print_error, wants_json

    line = " ".join(text.split())
    typer.echo(visible(f"error: {line}"), err=True)
    if wants_json(sys.argv[1:]):
        print_error(line, exit_code, field)
