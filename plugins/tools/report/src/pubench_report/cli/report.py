"""The summary that ``pubench study report`` prints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rich.console import Console
from rich.text import Text

from pubench_core.errors import counted, visible

from ..ranking import changes, headline, not_told_apart
from ..report.model import Model
from ..report.tables import standing_rows, standing_table, upper

#: Methods that are shown; the others are counted.
MOST_ROWS = 5


def print_summary(console: Console, title: Sequence[str], model: Model) -> None:
    """The verdict on the first setting, and its methods: best first, then those that are not ranked."""
    setting = model.settings[0]
    ranking = model.ranking(setting, model.measure, model.criterion)
    names = {row: row for row in model.rows}
    sources = {column.spec.data.key: column.spec.data.key for column in setting.columns}
    columns = {column.label: column.name for column in setting.columns}
    said = [*headline(ranking, names, sources), *changes(ranking, names, sources, None)]
    verdict = " ".join([*said, *not_told_apart(ranking, names, columns)])
    what = f"{upper(model.measure.label)}, epochs chosen by {model.criterion_name(model.criterion)}; {setting.words}"
    for line, style in ((": ".join(title), ""), ("", ""), (verdict, "bold"), ("", ""), (what, "")):
        console.print(Text(visible(line), style=style), soft_wrap=not console.is_terminal)
    rows = standing_rows(model, setting)
    shown = {row: model.row_name(row) for row in rows}
    table = standing_table(model, setting, shown, [column.name for column in setting.columns])
    styles = ["dim" if row in model.apart else "" for row in rows[:MOST_ROWS]]
    replace(table, rows=table.rows[:MOST_ROWS]).print_to(console, styles, surplus="left out", everything="--full")
    more = [counted(len(rows) - MOST_ROWS, "more method")] if len(rows) > MOST_ROWS else []
    more += [counted(len(model.settings) - 1, "more setting")] if len(model.settings) > 1 else []
    rest = ", ".join([*more, "criteria, measures, tests, ranks"])
    text = f"below: points below the best, with a 90 % interval; --full: {rest}"
    console.print(Text(text), soft_wrap=not console.is_terminal)
