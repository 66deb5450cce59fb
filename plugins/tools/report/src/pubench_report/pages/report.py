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
from ..report.model import Model, Setting
from ..report.tables import sections
from .learning import learning
from .recipe import SEED, Known, recipe
from .template import rendered, script_json
from .view import shown_first, views_of

#: Bytes of values and of learning curves in a page.
BUDGET, CURVES = 1_500_000, 1_500_000
#: Label of a file for programs -> its address.
Links = Mapping[str, str]


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
    curves, settings = learning(views, CURVES), zip(model.settings, tests, strict=True)
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
        forests=script_json(
            {"tests": [_forest(model, setting, test, names) for setting, test in settings if test.pairs]}
        ),
        labels=script_json({"panels": list(_amounts(model, names))}),
        learning=script_json(curves),
        has_curves=bool(curves),
        left_out=curves.get("left_out", 0),
        notes=model.gathered.notes,
        failed=[str(failure) for failure in model.gathered.failed],
        made=_made(model),
        cells=list(_cells(model, records or {})),
        **shown_first(views, pages or {}, BUDGET),
    )


# -------------------------------------------------------------------- figures


def _forest(model: Model, setting: Setting, test: Significance, names: Mapping[str, str]) -> dict[str, Any]:
    """Differences to the baseline with 95 % intervals, in the unit that is shown."""
    scale = model.measure.scale
    rows = []
    for pair in test.pairs:
        low, high = pair.interval(test.alpha)
        if pair.difference == pair.difference:
            bounds = [round(scale * end, 3) if end == end else None for end in (low, high)]
            rows.append(
                [pair.data, names[pair.method], round(scale * pair.difference, 3), *bounds, pair.decision, pair.n]
            )
    return {
        "title": setting.words,
        "baseline": names.get(test.reference, test.reference),
        "unit": model.measure.label,
        "rows": rows,
    }


def _amounts(model: Model, names: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """A panel for each problem that was run with several amounts of labels, and nothing else different."""
    from ..report.figures import amounts_of

    cells = model.cells(model.measure, model.criterion)
    for amount, panels in amounts_of(model, 2).items():
        for title, columns in panels.items():
            curves = []
            for row in model.rows:
                points = [[x, cells[row, label].mean] for x, label in columns]
                known = [[x, round(mean * model.measure.scale, 2)] for x, mean in points if mean is not None]
                if len(known) > 1:
                    curves.append([names.get(row, row), known])
            if curves:
                yield {"title": title, "amount": amount, "curves": curves}


# -------------------------------------------------------------------- runs


def _cells(model: Model, records: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """The runs of each method on each data set, with the commands that repeat them."""
    known, grid = Known(), model.gathered.grid
    for (row, column), name in model.ids().items():
        runs = list(grid.cell(row, column).runs.values())
        same: list[tuple[Any, list[RunResult]]] = []  # runs that differ in their seed alone have one recipe
        for run in runs:
            spec = run.result.spec.model_copy(update={"seed": 0, "execution": None})
            key = (spec, run.result.threads, run.result.device)
            group = next((group for other, group in same if other == key), None)
            if group is None:
                same.append((key, group := []))
            group.append(run)
        recipes = []
        for _, group in same:
            one = recipe(group[0].result, known)
            seed = Markup("<b class=seed>{}</b>").format(group[0].result.spec.seed)
            command = Markup(escape(visible(one.command)).replace(SEED, seed))
            shown = [_run(model, run, records.get(run.run_id, "")) for run in group]
            recipes.append({"runs": shown, "first": one.first, "command": command})
        yield {"id": name, "name": f"{model.row_name(row)} on {column}", "runs": len(runs), "recipes": recipes}


def _run(model: Model, run: RunResult, record: str) -> dict[str, Any]:
    chosen = run.result.criteria.get(model.criterion)
    measure = chosen.measured("test").get(model.measure.key) if chosen is not None else None
    value = "no value" if measure is None or measure.value is None else model.measure.text(measure.value)
    epoch = "" if chosen is None or chosen.epoch is None else f", epoch {chosen.epoch}"
    alike = chosen is not None and chosen.decided_alike
    seed = run.result.spec.seed
    return {"id": run.run_id, "seed": seed, "text": value + epoch, "alike": alike, "record": record}


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
