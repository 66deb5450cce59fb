"""``pubench reproduce``: a record's run carried out again, and what is the same."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pubench_cli.choices import Format
from pubench_cli.columns import PrintedColumn, print_table
from pubench_cli.commands.shared import PrintFormat, RecordedRun, Results
from pubench_cli.console import err, out
from pubench_cli.machine import print_json
from pubench_cli.messages import said
from pubench_cli.process import Over
from pubench_cli.progress import data_progress, display
from pubench_cli.recorded_run import folder_of_run
from pubench_core.plugins.registry import registry

if TYPE_CHECKING:
    from ..reproduction import Reproduction

#: A version that is not there.
ABSENT = "none"
#: Versions that are there on one side only are named together from here on: a plugin installed since changes no run.
_FEW = 3


def reproduce(
    run: RecordedRun,
    results: Results = Path("results"),
    data: Annotated[
        Path | None,
        typer.Option(help="Where the table of a run on a table of your own is now. (default: the record's)"),
    ] = None,
    test: Annotated[Path | None, typer.Option(help="Where its test rows are now. (default: the record's)")] = None,
    data_root: Annotated[
        Path | None,
        typer.Option("--data-root", help="Folder of data files. (default: the record's, where it is here)"),
    ] = None,
    device: Annotated[str | None, typer.Option(help="auto, cpu or cuda:0. (default: the record's)")] = None,
    threads: Annotated[int | None, typer.Option(help="CPU threads. (default: the record's)", min=1, max=1024)] = None,
    format: PrintFormat = Format.table,
) -> None:
    """Run a record's spec again and say whether the scores are the same to the last bit; if not, what differs.

    The record stays as it is. Exit codes: 0 identical, measures included, 1 not, 2 a wrong request.
    """
    from ..reproduction import reproduced

    folder = folder_of_run(results, run)
    with redirect_stdout(sys.stderr), display() as terminal:  # stdout is the answer and nothing else
        found = reproduced(
            folder,
            table=data,
            test=test,
            data_root=data_root,
            device=device,
            threads=threads,
            display=terminal,
            say=lambda text: err().print(said(text), markup=False),
            progress=data_progress,
        )
    if format is Format.json:
        print_json({"record": str(folder), **found.to_dict()})
    else:
        _print(found, folder)
    if not found.confirmed:
        raise Over(1)


def _print(found: Reproduction, folder: Path) -> None:
    spec, console = found.recorded.spec, out()
    console.print(
        f"{spec.method.key} on {spec.data.key}, seed {spec.seed}, run again in {found.now.seconds.total:.1f} s "
        f"({found.recorded.seconds.total:.1f} s recorded)",
        style="bold",
        markup=False,
    )
    console.print(found.verdict, style="" if found.identical else "yellow", markup=False)
    for one in found.fields if found.identical or not found.kept_scores else ():
        console.print(said(str(one)), style="yellow", markup=False, soft_wrap=True)
    if not found.identical:
        _print_scores(found)
        _print_measures(found)
    _print_changed(found)
    console.print(f"record: {folder}", markup=False, soft_wrap=True)


def _print_scores(found: Reproduction) -> None:
    if not found.scores:
        return
    columns = [
        PrintedColumn("selected by"),
        PrintedColumn("part"),
        PrintedColumn("epoch", right=True),
        PrintedColumn("epoch now", right=True),
        PrintedColumn("rows", right=True),
        PrintedColumn("scores that differ", right=True, rank=1),
        PrintedColumn("largest difference", right=True),
        PrintedColumn("decisions that differ", right=True),
    ]
    rows = [
        [
            f"{'>' if one.criterion == found.recorded.selected else ' '} {one.criterion}",
            one.part,
            str(one.epoch_recorded or ""),
            str(one.epoch_now or ""),
            f"{one.rows:,}",
            *(_or_other_rows(value) for value in (one.different, one.largest, one.decisions)),
        ]
        for one in found.scores
    ]
    print_table(out(), columns, rows)


def _or_other_rows(value: float | None) -> str:
    if value is None:
        return "other rows"
    return f"{value:,}" if isinstance(value, int) else f"{value:.3g}"


def _print_measures(found: Reproduction) -> None:
    """Test measures under the criterion that names the result; of the others, ``--format json`` has them."""
    mine = {one.metric: one for one in found.measures if one.criterion == found.recorded.selected}
    if not mine:
        return
    first = [metric for metric in registry().headline() if metric in mine]
    columns = [
        PrintedColumn(f"test measure, selected by {found.recorded.selected}", wraps=True),
        *(PrintedColumn(name, right=True) for name in ("recorded", "now", "difference")),
    ]
    rows = [
        [metric, *(_number(value) for value in (mine[metric].recorded, mine[metric].now, mine[metric].difference))]
        for metric in (*first, *(metric for metric in mine if metric not in first))
    ]
    print_table(out(), columns, rows)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.6g}"


def _print_changed(found: Reproduction) -> None:
    if not found.changed:
        out().print("code, versions, hardware and threads are those of the record", markup=False)
        return
    out().print("otherwise than when the record was made:", markup=False)
    sides = {"recorded": "installed since", "now": "installed no more"}
    folded = {
        side: [one for one in found.changed if one.kind == "versions" and getattr(one, side) == ABSENT]
        for side in sides
    }
    folded = {side: mine for side, mine in folded.items() if len(mine) > _FEW}
    columns = [
        PrintedColumn("what"),
        PrintedColumn("name", wraps=True),
        PrintedColumn("recorded", wraps=True),
        PrintedColumn("now", wraps=True),
    ]
    shown = [one for one in found.changed if not any(one in mine for mine in folded.values())]
    print_table(out(), columns, [[one.kind, one.name, one.recorded, one.now] for one in shown])
    for side, mine in folded.items():
        out().print(f"{sides[side]}: {', '.join(one.name for one in mine)}", markup=False)
