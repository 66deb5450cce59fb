"""``pubench reproduce``: a record's run carried out again, and what is the same."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path

from pubench_cli.columns import Column, print_table
from pubench_cli.console import err, out
from pubench_cli.machine import print_json
from pubench_cli.messages import said
from pubench_cli.progress import data_progress, display
from pubench_cli.results import headline
from pubench_core.plugins.info import MetricInfo
from pubench_core.plugins.registry import registry
from pubench_core.records.store import RecordStore

from ..reproduction import ABSENT, Changed, Reproduction, reproduce

#: Versions that are there on one side only are named together from here on: a plugin installed since changes no run.
_FEW = 3


def reproduce_run(
    run: str,
    results: Path,
    *,
    table: Path | None,
    test: Path | None,
    data_root: Path | None,
    device: str | None,
    threads: int | None,
    as_json: bool,
) -> bool:
    """Prints what is the same and what is not; returns whether every score is the same bits."""
    folder = RecordStore(results).locate(run)
    with redirect_stdout(sys.stderr), display() as terminal:  # stdout is the answer and nothing else
        found = reproduce(
            folder,
            table=table,
            test=test,
            data_root=data_root,
            device=device,
            threads=threads,
            display=terminal,
            say=lambda text: err().print(said(text), markup=False),
            progress=data_progress,
        )
    if as_json:
        print_json({"record": str(folder), **found.to_dict()})
    else:
        _print(found, folder)
    return found.identical and not found.other_measures


def _print(found: Reproduction, folder: Path) -> None:
    spec, console = found.recorded.spec, out()
    console.print(
        f"{spec.method.key} on {spec.data.key}, seed {spec.seed}, run again in {found.now.seconds.total:.1f} s "
        f"({found.recorded.seconds.total:.1f} s recorded)",
        style="bold",
        markup=False,
    )
    console.print(found.verdict, style="" if found.identical else "yellow", markup=False)
    for one in found.other_measures:
        console.print(str(one), style="yellow", markup=False, soft_wrap=True)
    if not found.identical:
        _print_scores(found)
        _print_measures(found)
    _print_changed(found)
    console.print(f"record: {folder}", markup=False, soft_wrap=True)


def _print_scores(found: Reproduction) -> None:
    if not found.scores:
        return
    columns = [
        Column("selected by"),
        Column("part"),
        Column("epoch", right=True),
        Column("epoch now", right=True),
        Column("rows", right=True),
        Column("scores that differ", right=True, rank=1),
        Column("largest difference", right=True),
        Column("decisions that differ", right=True),
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
    infos = {info.key: info for info in registry().infos(MetricInfo)}
    first = headline(found.recorded, infos)
    mine = {one.metric: one for one in found.measures if one.criterion == found.recorded.selected}
    if not mine:
        return
    columns = [
        Column(f"test measure, selected by {found.recorded.selected}", wraps=True),
        *(Column(name, right=True) for name in ("recorded", "now", "difference")),
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
    shown, counted = _folded(found.changed)
    columns = [Column("what"), Column("name", wraps=True), Column("recorded", wraps=True), Column("now", wraps=True)]
    print_table(out(), columns, [[one.kind, one.name, one.recorded, one.now] for one in shown])
    for line in counted:
        out().print(line, markup=False)


def _folded(changed: Sequence[Changed]) -> tuple[list[Changed], list[str]]:
    """Everything, except for many packages that are installed on one side only: those are named in a line."""
    lines, folded = [], []
    for side, words in (("recorded", "installed since"), ("now", "installed no more")):
        mine = [one for one in changed if one.kind == "versions" and getattr(one, side) == ABSENT]
        if len(mine) > _FEW:
            folded += mine
            lines.append(f"{words}: {', '.join(one.name for one in mine)}")
    return [one for one in changed if one not in folded], lines
