"""A report as one HTML file that needs nothing but itself: the verdict, the table behind it, figures, and the runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup, escape

from pubench.running import RunResult
from pubench_core.errors import visible

from ..measure_table import Significance
from ..rendering import GAPS, LEGEND
from ..report.figures import amount_curves
from ..report.model import Model
from ..report.tables import sections
from .learning import learning
from .recipe import SEED, recipe
from .template import rendered, script_json
from .view import shown_first, views_of

#: Bytes of values and of learning curves in a page.
BUDGET, CURVES = 1_500_000, 1_500_000


def page(
    model: Model,
    tests: Sequence[Significance],
    title: Sequence[str],
    *,
    table: str = "",
    nav: Sequence[tuple[str, str]] = (),
    pages: Mapping[str, str] | None = None,
    records: Mapping[str, str] | None = None,
) -> str:
    """The whole document. ``table``: name of the setting; ``nav``: (address, text) of links above; ``pages``: method ->
    its page; ``records``: run id -> address of its record, for links.
    """
    views = views_of(model, table)
    names = {row: name for view in views for row, name in view.names.items()}
    parts = {section.key: section for section in sections(model, tests)}
    curves = learning(views, CURVES)
    panels = [
        {
            "title": title,
            "amount": amount,
            "curves": [[names[row], [[x, round(y, 2)] for x, y in points]] for row, points in of.items()],
        }
        for amount, titles in amount_curves(model).items()
        for title, of in titles.items()
    ]
    return rendered(
        "report.html.j2",
        title[0],
        ("page.js", "board.js", "report.js"),
        nav=nav,
        lines_above=title[1:],
        results=parts["results"],
        legend=f"{LEGEND['html']}; {GAPS}",
        tests=parts["tests"].tables,
        tests_text=parts["tests"].text,
        ranks=parts["ranks"],
        labels=script_json({"panels": panels}),
        learning=script_json(curves),
        has_curves=bool(curves),
        left_out=curves.get("left_out", 0),
        notes=model.gathered.notes,
        failed=[str(failure) for failure in model.gathered.failed],
        made=_made(model),
        cells=list(_cells(model)),
        records=records or {},
        model=model,
        **shown_first(views, pages or {}, BUDGET),
    )


# -------------------------------------------------------------------- runs


def _cells(model: Model) -> Iterator[tuple[str, str, list[tuple[list[RunResult], str, Markup]]]]:
    """Id and name of each cell, and groups of its runs: (runs, what must be done before, command that repeats them)."""
    grid = model.gathered.grid
    for (row, column), name in model.ids().items():
        same: list[tuple[Any, list[RunResult]]] = []  # runs that differ in their seed alone have one recipe
        for run in grid.cell(row, column).runs.values():
            spec = run.result.spec.model_copy(update={"seed": 0, "execution": None})
            key = (spec, run.result.threads, run.result.device)
            group = next((group for other, group in same if other == key), None)
            if group is None:
                same.append((key, group := []))
            group.append(run)
        recipes = []
        for _, group in same:
            one = recipe(group[0].result)
            seed = Markup("<b class=seed>{}</b>").format(group[0].result.spec.seed)
            recipes.append((group, one.first, Markup(escape(visible(one.command)).replace(SEED, seed))))
        yield name, f"{model.row_name(row)} on {column}", recipes


def _made(model: Model) -> list[str]:
    """Versions, devices and threads of the runs, the most frequent first."""
    results = [run.result for run in model.gathered.done]
    engines = Counter(result.code.parts.get("engine", "") for result in results)
    versions = Counter(
        f"{name} {version}" for result in results for name, version in getattr(result.code, "versions", {}).items()
    )
    devices = Counter(f"{result.device or 'unknown device'}, {result.threads} threads" for result in results)
    counts = {"engine": engines, "on": devices, "versions": versions}
    named = {what: [name for name, _ in of.most_common(12) if name] for what, of in counts.items()}
    return [f"{what}: {', '.join(names)}" for what, names in named.items() if names]
