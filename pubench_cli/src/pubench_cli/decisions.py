"""Decisions of a result on the unlabeled rows of a user's table, printed below its measures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pubench_core.engine.plan import Plan
from pubench_core.errors import RecordError
from pubench_core.plugins.registry import part
from pubench_core.records.files import read_scores
from pubench_core.results import Result

from .columns import PrintedColumn, print_table
from .console import out

if TYPE_CHECKING:
    from pubench_datasets_tables.decisions import Decisions, TopRows

_COLUMNS = (
    PrintedColumn("if the prior is", wraps=True),
    PrintedColumn("positive rows", right=True),
    PrintedColumn("share", right=True),
    PrintedColumn("lowest score", right=True, rank=2),
    PrintedColumn("held-out reached", right=True, rank=1),
)


def decisions_in(plan: Plan, result: Result, folder: Path | None) -> Decisions | None:
    """Decisions from the stored scores of a run on a user's table; None if there are none."""
    if folder is None or plan.data.table is None:
        return None
    decisions_of = part("pubench_decisions", "decisions of a user table")
    try:
        table = plan.data.table
        found: Decisions | None = decisions_of(
            result, read_scores(folder), int(table.labeled.sum()), table.known_negative
        )
        return found
    except RecordError:  # its scores were not to be kept
        return None


def print_decisions(plan: Plan, found: Decisions) -> None:
    """Decisions besides the prior, held-out positives found, and what a prior that is off by a fifth would mean."""
    console, told = out(), found.told
    console.print()
    line = f"unlabeled rows: {_of(found.decided, found.unlabeled)} decided positive"
    if told is not None:
        line += f"; by the given prior ({told.prior:.4g}) {told.rows} are ({100 * told.share:.1f} %)"
    console.print(line, markup=False)
    if found.held_out:
        line = f"held-out labeled positives: {_of(found.recalled, found.held_out)} decided positive"
        if told is not None and told.rows:
            line += f", {_of(told.reached, found.held_out)} among the {told.rows} highest scores"
        console.print(line, markup=False)
    if found.known_negative:
        console.print(f"known negatives: {_of(found.mistaken, found.known_negative)} decided positive", markup=False)
    if found.top:
        rows = [_cells(top, found.held_out) for top in found.top]
        print_table(console, _COLUMNS, rows, surplus="below")
        console.print(_what_else(plan, found), markup=False)


def _cells(top: TopRows, held_out: int) -> list[str]:
    name = "as told" if top.factor == 1 else f"x {top.factor:g}"
    threshold = "" if top.threshold is None else f"{top.threshold:.4f}"
    reached = f"{top.reached} of {held_out}" if held_out else ""
    return [f"{top.prior:.4g} ({name})", str(top.rows), f"{100 * top.share:.1f} %", threshold, reached]


def _what_else(plan: Plan, found: Decisions) -> str:
    if "prior" not in plan.method.granted:
        return f"{plan.method.info.key} does not use the prior: these are its own scores, cut at other places"
    others = " and ".join(f"--prior {top.prior:.4g}" for top in found.top if top.factor != 1)
    return (
        f"these are the scores of this run, cut at other places; {plan.method.info.key} also trains by the prior: "
        f"{others} show how it then decides, --seeds 3 how much is chance"
    )


def _of(part: int, whole: int) -> str:
    return f"{part} of {whole} ({100 * part / whole:.1f} %)"
