"""The ``pubench`` command: its sub-commands, and how errors become one line and an exit code.

Nothing heavy is imported here: every command imports what it needs when it is called.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer
from typer.exceptions import TyperException

from pubench_core.errors import PubenchError

from .choices import Format, Kind, ListFormat
from .data_app import data_app
from .options import MACHINE, RUN, Given, takes

app = typer.Typer(
    name="pubench",
    help="Benchmark positive-unlabeled (PU) learning: honest, fast, reproducible.",
    epilog="Example: pubench run --method nnpu --data digits --mech scar --c 0.1",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(data_app)

PrintFormat = Annotated[Format, typer.Option("--format", help="How to print it.")]
Results = Annotated[Path, typer.Option(help="Folder of records.")]
TrackingUri = Annotated[
    str | None,
    typer.Option("--tracking-uri", help="Server or database. (default: MLFLOW_TRACKING_URI, else <results>/mlflow.db)"),
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
    key: Annotated[str, typer.Argument(help="Key or alias of a plugin.")], format: PrintFormat = Format.table
) -> None:
    """Say everything about one plugin: reference, hyper-parameters with bounds, presets, provenance."""
    from .describe import print_info

    print_info(key, as_json=format is Format.json)


@app.command(epilog="Example: pubench doctor nnpu")
def doctor(
    key: Annotated[str | None, typer.Argument(help="Key of a plugin or name of its distribution.")] = None,
) -> None:
    """Check the installation, or one plugin (with its traceback if it is broken, and exit code 1)."""
    from .doctor import check_all, check_one

    if key is None:
        check_all()
    else:
        check_one(key)


@app.command(epilog="Example: pubench check nnpu")
def check(
    name: Annotated[str, typer.Argument(help="Method key or alias, or the name of a package.")],
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
            help="A hyper-parameter (lr=1e-3) or, dotted, any field (validation.fraction=0.01). Repeatable.",
            rich_help_panel=RUN,
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(help="YAML file with any part of the spec; flags win.", rich_help_panel=RUN),
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
            "--dry-run", help="Print the resolved spec as YAML (for --config) and stop.", rich_help_panel=MACHINE
        ),
    ] = False,
    format: Annotated[Format, typer.Option(help="How to print the result.", rich_help_panel=MACHINE)] = Format.table,
) -> None:
    """Run one method on one data set under one labeling, and print what it reached under every criterion."""
    from .run import run_once

    run_once(given, sets=set_ or [], config=config, force=force, dry_run=dry_run, as_json=format is Format.json)


@app.command(epilog="Example: pubench predict 783e61fad537fd47 new.csv > predictions.csv")
def predict(
    run: Annotated[str, typer.Argument(help="Run id, its first digits, or the run's folder.")],
    file: Annotated[Path, typer.Argument(help="Rows to score: .csv, .tsv, .parquet or .npz.")],
    out: Annotated[Path | None, typer.Option(help="Where to write. (default: stdout)")] = None,
    results: Results = Path("results"),
) -> None:
    """Score new rows with the model that a run kept (--save-model): row, score, rank, decision."""
    from .predict import predict as score

    score(run, file, out, results)


@app.command(epilog="Example: pubench track --results results")
def track(results: Results = Path("results"), tracking_uri: TrackingUri = None) -> None:
    """Send to MLflow every record that it lacks, each exactly once."""
    from .tracking import track as send

    send(results, tracking_uri)


@app.command(epilog="Example: pubench ui --results results")
def ui(
    results: Results = Path("results"),
    tracking_uri: TrackingUri = None,
    port: Annotated[int, typer.Option(help="Port on the loopback interface.", min=1, max=65535)] = 5000,
) -> None:
    """Open MLflow's page on the results, on this machine only."""
    from .tracking import open_page

    open_page(results, tracking_uri, port)


def main() -> None:
    """Console script. Exit codes: 0 done, 1 a run or a plugin failed, 2 a wrong request, 130 interrupted."""
    _wait_briefly()
    try:
        code = app(standalone_mode=False)
    except PubenchError as error:
        from .messages import said

        _complain(said(error))
        sys.exit(error.exit_code)
    except TyperException as error:  # an unknown option, a missing value: one line, without typer's box
        context = getattr(error, "ctx", None)
        where = f" ({context.command_path} --help)" if context is not None else ""
        _complain(f"{error.format_message()}{where}")
        sys.exit(2)
    except (typer.Abort, KeyboardInterrupt):
        _complain("interrupted; nothing unfinished was recorded")
        sys.exit(130)
    if code == 130:
        _complain("interrupted; nothing unfinished was recorded")
    sys.exit(code if isinstance(code, int) else 0)


def _wait_briefly() -> None:
    """Has OpenMP's threads spin 1,000 turns, not 300,000, before they sleep; read when torch loads it.

    Measured, nnPU on Connect-4, 2 threads, seconds per epoch: beside two other programs on 2 cores 18 to 60 by default
    and 1.5 so; alone .70 and .74 to .86 (Fashion-MNIST: 2.3 to 2.55, and 2.37). What the user has set stays.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "1000")


def _complain(text: str) -> None:
    line = " ".join(text.split())
    typer.echo(f"error: {line}", err=True)
