"""The figures of a report as files, and curves over the amount of labels, which pages draw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..drawing import dots, plain_style
from ..grouping import problem_names, problem_of
from ..ranking import FEW_DATA_SETS
from ..significance import ALPHA
from .model import Model
from .significance import Significance

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Title of average ranks.
BARS = f"methods whose bars do not meet differ (Nemenyi's test, level {ALPHA:g})"
#: Fields of a problem that say how many are labeled.
AMOUNTS = ("mechanism.c", "mechanism.positive_rate")


def all_figures(model: Model, tests: Sequence[Significance]) -> dict[str, Figure]:
    """Name of a file -> figure, of every setting that has values."""
    found: dict[str, Figure] = {}
    cells, scale = model.cells(model.measure, model.criterion), model.measure.scale
    called = {row: model.grid.marked(row) for row in model.rows}
    with plain_style():
        for setting, test in zip(model.settings, tests, strict=True):
            of = {
                c.name: [(called[row], cells[row, c.label].mean, cells[row, c.label].std) for row in model.rows]
                for c in setting.columns
            }
            panels = {
                title: {row: (mean * scale, (std or 0.0) * scale) for row, mean, std in mine if mean is not None}
                for title, mine in of.items()
            }
            if panels := {title: values for title, values in panels.items() if values}:
                rows = [row for row in called.values() if any(row in values for values in panels.values())]
                found[f"methods-{setting.key}"] = dots(panels, model.measure.label, rows)
            ranks = test.average
            if ranks.friedman is not None and len(ranks.friedman.data) >= FEW_DATA_SETS:
                bars = {row: (rank, ranks.friedman.critical_difference / 2) for row, rank in ranks.ranks}
                found[f"difference-{setting.key}"] = dots({BARS: bars}, "average rank", [*bars])
    return found


def amount_curves(model: Model) -> dict[str, dict[str, dict[str, tuple[tuple[float, float], ...]]]]:
    """``c`` and ``positive_rate`` -> title of a panel -> row -> (amount, mean as it is shown), of several amounts.

    A panel is of problems that differ in nothing else.
    """
    cells, there = model.cells(model.measure, model.criterion), {label for _, label in model.grid.ids}
    found: dict[str, dict[str, dict[str, tuple[tuple[float, float], ...]]]] = {}
    for amount in ("c", "positive_rate"):
        of = [(c, c.spec.mechanism.amount) for c in model.columns if c.label in there]
        labeled = [(c, known[1]) for c, known in of if known is not None and known[0] == amount]
        problems = [(c.spec.data.key, problem_of(c.spec)) for c, _ in labeled]
        titles = problem_names([(d, {k: v for k, v in one.items() if k not in AMOUNTS}) for d, one in problems])
        panels: dict[str, list[tuple[float, str]]] = {}
        for (column, x), title in zip(labeled, titles, strict=True):
            panels.setdefault(title, []).append((x, column.label))
        for title, places in panels.items():
            for row in model.rows:
                means = [(x, cells[row, label].mean) for x, label in sorted(places)]
                known = tuple((x, mean * model.measure.scale) for x, mean in means if mean is not None)
                if len(known) > 1:
                    found.setdefault(amount, {}).setdefault(title, {})[row] = known
    return found
