"""A report in twelve lines: the verdict, and the methods in order."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from pubench_core.errors import counted, visible

from ..cells import MeasuredCell
from ..numbers import percent, points
from ..ranking import MethodPlace, changes, headline, not_told_apart
from ..rendering import RenderedTable, TableEntry
from .model import Model
from .tables import upper

#: Methods that are shown; the others are counted.
MOST_ROWS = 5


def print_summary(console: Console, title: Sequence[str], model: Model) -> None:
    """The verdict on the first setting, and its methods: best first, then those that are not ranked."""
    setting = model.settings[0]
    cells = model.cells(model.measure, model.criterion)
    ranking = model.ranking(setting, model.measure, model.criterion)
    names = {row: row for row in model.rows}
    sources = {column.spec.data.key: column.spec.data.key for column in setting.columns}
    columns = {column.label: column.name for column in setting.columns}
    said = [*headline(ranking, names, sources), *changes(ranking, names, sources, None)]
    verdict = " ".join([*said, *not_told_apart(ranking, names, columns)])
    what = f"{upper(model.measure.label)}, epochs chosen by {model.criterion_name(model.criterion)}; {setting.words}"
    for line, style in ((": ".join(title), ""), ("", ""), (verdict, "bold"), ("", ""), (what, "")):
        console.print(Text(visible(line), style=style), soft_wrap=not console.is_terminal)
    ranked = {place.row: place for place in ranking.places}
    rows = [*ranked, *(row for row in model.rows_of(setting) if row not in ranked)]
    head = ["#", "method", "below", "interval", "first in", *(column.name for column in setting.columns)]
    body = [
        (*_place(ranked.get(row), model.row_name(row)), *(_cell(model, cells[row, c.label]) for c in setting.columns))
        for row in rows[:MOST_ROWS]
    ]
    left_out = {3: 1, 4: 1} | dict.fromkeys(range(5, len(head)), 2)
    styles = ["dim" if row in model.apart else "" for row in rows[:MOST_ROWS]]
    table = RenderedTable.of(head, body, left=0, texts=(1,), ranks=left_out)
    table.print_to(console, styles, surplus="left out", everything="--full")
    more = [counted(len(rows) - MOST_ROWS, "more method")] if len(rows) > MOST_ROWS else []
    more += [counted(len(model.settings) - 1, "more setting")] if len(model.settings) > 1 else []
    rest = ", ".join([*more, "criteria, measures, tests, ranks"])
    text = f"below: points below the best, with a 90 % interval; --full: {rest}"
    console.print(Text(text), soft_wrap=not console.is_terminal)


def _place(place: MethodPlace | None, name: str) -> list[str]:
    if place is None:
        return ["", name, "", "", ""]
    interval = f"{points(place.low)} to {points(place.high)}"
    return [str(place.rank), name, points(place.below), interval, percent(place.first)]


def _cell(model: Model, cell: MeasuredCell) -> TableEntry:
    """A mean; green: best, yellow: second of its column; red: some run decides every row alike."""
    if cell.mean is None:
        return TableEntry("-" if cell.seeds else "")
    style = "red" if cell.alike else {"best": "bold green", "second": "yellow", "": ""}[cell.mark]
    return TableEntry(model.measure.text(cell.mean), alike=cell.alike, style=style)
