"""The ``pubench`` command: its sub-commands, and how errors become one line and an exit code.

Nothing heavy is imported here: every command imports what it needs when it is called.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.exceptions import TyperException

from pubench_core.errors import PubenchError

from .choices import Format, Kind, ListFormat, keys
from .data_app import data_app

app = typer.Typer(
    name="pubench",
    help="Benchmark positive-unlabeled (PU) learning: honest, fast, reproducible.",
    epilog="Example: pubench run --method nnpu --data digits --mech scar --c 0.1",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(data_app)


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
    key: Annotated[str, typer.Argument(help="Key or alias of a plugin.")],
    format: Annotated[Format, typer.Option(help="How to print it.")] = Format.table,
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
    format: Annotated[Format, typer.Option(help="How to print it.")] = Format.table,
) -> None:
    """Put a method through every conformance check. Exit code 1 if one fails."""
    from .check import check as examine

    examine(name, as_json=format is Format.json)


_RUN = "The run"
_LABELS = "Data and labels"
_OWN = "A file of your own (--data my.csv)"
_MACHINE = "Execution and output"


@app.command(epilog="Example: pubench run --method nnpu --data digits --mech scar --c 0.1 --seed 2 --select pa")
def run(
    method: Annotated[
        str | None, typer.Option(help="Method key.", autocompletion=keys("method"), rich_help_panel=_RUN)
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            help="Data set key, or a file of your own (.csv, .tsv, .parquet, .npz).",
            autocompletion=keys("dataset"),
            rich_help_panel=_LABELS,
        ),
    ] = None,
    mech: Annotated[
        str | None,
        typer.Option(
            help="Labeling mechanism key. (default: scar)",
            autocompletion=keys("mechanism"),
            rich_help_panel=_LABELS,
        ),
    ] = None,
    c: Annotated[
        str | None,
        typer.Option(help="Label frequency p(labeled | positive), in (0, 1]. (default: 0.1)", rich_help_panel=_LABELS),
    ] = None,
    scheme: Annotated[
        str | None,
        typer.Option(
            help="case-control or single-training-set; own file: one-sample or two-sample. (default: the first)",
            rich_help_panel=_LABELS,
        ),
    ] = None,
    positive: Annotated[
        str | None,
        typer.Option(
            help="Positive classes, by index or name: 0,2,4. (default: the data set's)", rich_help_panel=_LABELS
        ),
    ] = None,
    negative: Annotated[
        str | None,
        typer.Option(help="Negative classes; classes in neither list are dropped.", rich_help_panel=_LABELS),
    ] = None,
    binarization: Annotated[
        str | None,
        typer.Option(help="Named pair of class lists, such as case1 of Wang et al.", rich_help_panel=_LABELS),
    ] = None,
    seed: Annotated[
        str | None,
        typer.Option(help="Seed of split, labels, initialization and batches. (default: 2)", rich_help_panel=_RUN),
    ] = None,
    prior: Annotated[
        str | None,
        typer.Option(
            help="Class prior the method is told: true, 0.4, scaled:1.2 or estimated:KEY. (default: true)",
            rich_help_panel=_LABELS,
        ),
    ] = None,
    label_col: Annotated[
        str | None,
        typer.Option(help="Column that says who is labeled: 1/0, 1/-1, true/false.", rich_help_panel=_OWN),
    ] = None,
    truth_col: Annotated[
        str | None,
        typer.Option(help="Column of true labels, for measuring only.", rich_help_panel=_OWN),
    ] = None,
    positive_value: Annotated[
        str | None,
        typer.Option(help="The text that means positive, where columns hold texts.", rich_help_panel=_OWN),
    ] = None,
    drop: Annotated[str | None, typer.Option(help="Columns to leave out: id,name.", rich_help_panel=_OWN)] = None,
    features: Annotated[
        str | None,
        typer.Option(help="Columns to use, as patterns: emb_*,age. (default: all others)", rich_help_panel=_OWN),
    ] = None,
    test: Annotated[
        Path | None,
        typer.Option(help="File of test rows with the truth column.", rich_help_panel=_OWN),
    ] = None,
    select: Annotated[
        str | None,
        typer.Option(
            help="Criterion that chooses the epoch: pa, pauc, native, last; oracle: oa, f1, macro-f1. (default: pa)",
            rich_help_panel=_RUN,
        ),
    ] = None,
    preset: Annotated[
        str | None, typer.Option(help="Named hyper-parameter values of the method.", rich_help_panel=_RUN)
    ] = None,
    backbone: Annotated[
        str | None,
        typer.Option(help="Network. (default: the data set's)", autocompletion=keys("backbone"), rich_help_panel=_RUN),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A hyper-parameter (lr=1e-3) or, dotted, any field (validation.fraction=0.01). Repeatable.",
            rich_help_panel=_RUN,
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(help="YAML file with any part of the spec; flags win.", rich_help_panel=_RUN),
    ] = None,
    device: Annotated[
        str | None, typer.Option(help="auto, cpu or cuda:0. (default: auto)", rich_help_panel=_MACHINE)
    ] = None,
    threads: Annotated[
        str | None, typer.Option(help="CPU threads. (default: torch's)", rich_help_panel=_MACHINE)
    ] = None,
    results: Annotated[
        Path | None, typer.Option(help="Folder of records. (default: results)", rich_help_panel=_MACHINE)
    ] = None,
    data_root: Annotated[
        Path | None,
        typer.Option(
            help="Folder of data files. (default: PUBENCH_DATA, else the user cache)",
            rich_help_panel=_MACHINE,
        ),
    ] = None,
    encoder: Annotated[
        Path | None,
        typer.Option(help="Folder of the sentence encoder for text data sets.", rich_help_panel=_MACHINE),
    ] = None,
    offline: Annotated[
        bool, typer.Option("--offline", help="Never touch the network.", rich_help_panel=_MACHINE)
    ] = False,
    artifacts: Annotated[
        str | None,
        typer.Option(help="all, none, or a list of scores,trace. (default: all)", rich_help_panel=_MACHINE),
    ] = None,
    save_model: Annotated[
        bool,
        typer.Option("--save-model", help="Keep what scores with: model.safetensors.", rich_help_panel=_MACHINE),
    ] = False,
    no_tracking: Annotated[
        bool, typer.Option("--no-tracking", help="Tell no tracking plugin.", rich_help_panel=_MACHINE)
    ] = False,
    tracking_uri: Annotated[
        str | None,
        typer.Option(
            help="MLflow server or database. (default: MLFLOW_TRACKING_URI, else <results>/mlflow.db)",
            rich_help_panel=_MACHINE,
        ),
    ] = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Run although a result is stored; the older record is kept.",
            rich_help_panel=_MACHINE,
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Print the resolved spec as YAML (for --config) and stop.",
            rich_help_panel=_MACHINE,
        ),
    ] = False,
    format: Annotated[Format, typer.Option(help="How to print the result.", rich_help_panel=_MACHINE)] = Format.table,
) -> None:
    """Run one method on one data set under one labeling, and print what it reached under every criterion."""
    from pubench_core.data.tables import is_table_path

    from .run import run_once

    execution: dict[str, Any] = {
        "device": device,
        "threads": threads,
        "results": results,
        "data_root": data_root,
        "encoder": encoder,
        "offline": offline or None,
        "artifacts": artifacts,
        "save_model": save_model or None,
        "tracking": False if no_tracking else None,
        "tracking_uri": tracking_uri,
    }
    flags: dict[tuple[str, ...], tuple[str, Any]] = {
        ("data", "own", "path") if data is not None and is_table_path(data) else ("data", "key"): ("--data", data),
        ("data", "scheme"): ("--scheme", scheme),
        ("data", "positive"): ("--positive", positive),
        ("data", "negative"): ("--negative", negative),
        ("data", "binarization"): ("--binarization", binarization),
        ("data", "own", "label_col"): ("--label-col", label_col),
        ("data", "own", "truth_col"): ("--truth-col", truth_col),
        ("data", "own", "positive_value"): ("--positive-value", positive_value),
        ("data", "own", "drop"): ("--drop", drop),
        ("data", "own", "features"): ("--features", features),
        ("data", "own", "test"): ("--test", test),
        ("mechanism", "key"): ("--mech", mech),
        ("mechanism", "c"): ("--c", c),
        ("prior",): ("--prior", prior),
        ("method", "key"): ("--method", method),
        ("method", "preset"): ("--preset", preset),
        ("backbone", "key"): ("--backbone", backbone),
        ("selection", "criterion"): ("--select", select),
        ("seed",): ("--seed", seed),
        **{("execution", name): (f"--{name.replace('_', '-')}", value) for name, value in execution.items()},
    }
    run_once(
        {path: given for path, given in flags.items() if given[1] is not None},
        sets=set_ or [],
        config=config,
        force=force,
        dry_run=dry_run,
        as_json=format is Format.json,
    )


@app.command(epilog="Example: pubench predict 783e61fad537fd47 new.csv > predictions.csv")
def predict(
    run: Annotated[str, typer.Argument(help="Run id, its first digits, or the run's folder.")],
    file: Annotated[Path, typer.Argument(help="Rows to score: .csv, .tsv, .parquet or .npz.")],
    out: Annotated[Path | None, typer.Option(help="Where to write. (default: stdout)")] = None,
    results: Annotated[Path, typer.Option(help="Folder of records.")] = Path("results"),
) -> None:
    """Score new rows with the model that a run kept (--save-model): row, score, rank, decision."""
    from .predict import predict as score

    score(run, file, out, results)


_Results = Annotated[Path, typer.Option(help="Folder of records.")]
_Uri = Annotated[
    str | None,
    typer.Option("--tracking-uri", help="Server or database. (default: MLFLOW_TRACKING_URI, else <results>/mlflow.db)"),
]


@app.command(epilog="Example: pubench track --results results")
def track(results: _Results = Path("results"), tracking_uri: _Uri = None) -> None:
    """Send to MLflow every record that it lacks, each exactly once."""
    from .tracking import track as send

    send(results, tracking_uri)


@app.command(epilog="Example: pubench ui --results results")
def ui(
    results: _Results = Path("results"),
    tracking_uri: _Uri = None,
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
        _complain(str(error))
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
