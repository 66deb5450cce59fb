"""The figures of a report: which of them apply, and what is in them."""

from __future__ import annotations

import statistics
from collections.abc import Container, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pubench_core.errors import RequestError

from ...grouping import in_short, problem_of, telling
from ...standing import FEW_DATA_SETS
from ..model import Column, Measure, Model, Setting
from ..statistics import ALPHA, Comparison
from ..tables import upper
from .diagram import critical_difference, rank_figure
from .dots import Panel, dots
from .lines import Cost, Curve, costs, curves, epochs
from .style import Drawn, plain_style, png, svg

__all__ = ["Drawn", "all_figures", "no_costs", "write_curves", "write_figures"]

#: Measures that the radar plots of the published benchmark have.
RADAR = ("accuracy", "precision", "recall", "f1", "auc")
ONE = "value"
#: Fields of a problem: how many are labeled; those whose value says what it is of; those that every title names.
AMOUNTS, PLAIN = ("mechanism.c", "mechanism.positive_rate"), ("data.scheme", "mechanism.key")
ALWAYS = ("mechanism.key", *AMOUNTS)
#: Label frequencies from which on a measure is drawn as a curve.
CURVE = 3
#: Settings up to which each has figures of its own.
MOST_SETTINGS = 4


def all_figures(model: Model, tests: Sequence[Comparison]) -> list[Drawn]:
    """Every figure for which there are values; of many settings, only those that show all of them."""
    with plain_style():
        return [*_per_setting(model, tests), *_across_settings(model)]


def write_figures(figures: Sequence[Drawn], folder: Path) -> list[Path]:
    """Each as PNG and SVG. Raises RequestError if they cannot be written."""
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for drawn in figures:
            for path, content in ((folder / f"{drawn.key}.png", png(drawn)), (folder / f"{drawn.key}.svg", svg(drawn))):
                path.write_bytes(content if isinstance(content, bytes) else content.encode())
                written.append(path)
    except OSError as error:
        raise RequestError(f"cannot write figures in {folder}: {error.strerror or error}") from error
    return written


def write_curves(path: Path, panels: Mapping[str, Sequence[Any]]) -> None:
    """A panel for each quantity, a line for each run, as PNG or SVG. Raises RequestError if it cannot be written."""
    with plain_style():
        figure = epochs(panels)
        drawn = Drawn(path.stem, "", "", figure)
        content = png(drawn) if path.suffix.lower() == ".png" else svg(drawn).encode()
    try:
        path.write_bytes(content)
    except OSError as error:
        raise RequestError(f"cannot write {path}: {error.strerror or error}; choose another file") from error


def _per_setting(model: Model, tests: Sequence[Comparison]) -> Iterator[Drawn]:
    measure = model.measure
    if len(model.settings) > MOST_SETTINGS:  # curves and mechanisms show them together
        return
    for setting, test in zip(model.settings, tests, strict=True):
        columns = [c for c in setting.columns if any((row, c.label) in model.ids() for row in model.rows)]
        if not columns:
            continue
        rows = [row for row in model.rows_of(setting) if any((row, c.label) in model.ids() for c in columns)]
        names = _names(model, rows)
        words = f" ({setting.varying})" if setting.varying else ""
        yield Drawn(
            f"methods-{setting.key}",
            f"{upper(measure.name)} of every method{words}",
            "Mean and sample standard deviation over seeds, epochs selected by "
            f"{model.criterion_name(model.criterion)}.",
            dots(
                [Panel(c.name, measure.label, _values(model, rows, c, [measure], ONE)) for c in columns], names, [ONE]
            ),
        )
        radar = [one for one in model.measures if one.key in RADAR]
        if len(radar) > 1:
            yield Drawn(
                f"measures-{setting.key}",
                f"Measures side by side{words}",
                "What a radar plot shows, one marker per measure, readable with many methods.",
                dots(
                    [Panel(c.name, "%", _values(model, rows, c, radar)) for c in columns],
                    names,
                    [m.name for m in radar],
                ),
                section="measures",
            )
        if len(model.criteria) > 1:
            chosen = [model.criterion_name(criterion) for criterion in model.criteria]
            panels = [Panel(c.name, measure.label, _by_criterion(model, rows, c)) for c in columns]
            yield Drawn(
                f"criteria-{setting.key}",
                f"{upper(measure.name)} by selection criterion{words}",
                "Mean over seeds at the epoch that each criterion chose; oracle criteria read true labels.",
                dots(panels, names, chosen),
                section="criteria",
            )
        if len(test.ranks) > 1:
            yield Drawn(
                f"ranks-{setting.key}",
                f"Average ranks{words}",
                f"By {measure.name} over {', '.join(test.part.data)}; 95 % intervals from resampled seeds.",
                rank_figure(test.ranks),
                section="ranks",
            )
        if test.friedman is not None and len(test.part.data) >= FEW_DATA_SETS:
            yield Drawn(
                f"difference-{setting.key}",
                f"Critical-difference diagram{words}",
                "Average ranks; a bar joins methods that Nemenyi's test does not tell apart.",
                critical_difference(test.ranks, test.friedman.critical_difference, test.groups, ALPHA),
                section="ranks",
            )
        yield from _means(model, setting, test, words)
        alone = {c.name: found for c in columns if (found := _costs(model, rows, c))}
        if alone:
            sizes = [cost.bytes / 2**20 for found in alone.values() for cost in found]
            yield Drawn(
                f"cost-{setting.key}",
                f"{upper(measure.name)} against training time{words}",
                "Means over the runs that were alone on the machine; the area of a marker is peak memory, from "
                f"{min(sizes):,.0f} to {max(sizes):,.0f} MiB.",
                costs(alone, measure.label),
            )


def _names(model: Model, rows: Sequence[str]) -> list[str]:
    return [model.row_name(row) for row in rows]


def _values(
    model: Model, rows: Sequence[str], column: Column, measures: Sequence[Measure], name: str = ""
) -> dict[tuple[str, str], tuple[float, float | None]]:
    """By row and measure (or the name given); the spread only where there is one measure."""
    found: dict[tuple[str, str], tuple[float, float | None]] = {}
    for one in measures:
        cells = model.cells(one, model.criterion)
        for row in rows:
            cell = cells[row, column.label]
            if cell.mean is not None:
                spread = cell.std * one.scale if cell.std is not None and len(measures) == 1 else None
                found[model.row_name(row), name or one.name] = (cell.mean * one.scale, spread)
    return found


def _by_criterion(
    model: Model, rows: Sequence[str], column: Column
) -> dict[tuple[str, str], tuple[float, float | None]]:
    found: dict[tuple[str, str], tuple[float, float | None]] = {}
    for criterion in model.criteria:
        cells = model.cells(model.measure, criterion)
        for row in rows:
            mean = cells[row, column.label].mean
            if mean is not None:
                found[model.row_name(row), model.criterion_name(criterion)] = (mean * model.measure.scale, None)
    return found


def _means(model: Model, setting: Setting, test: Comparison, words: str) -> Iterator[Drawn]:
    """Means over the data sets that ranks are over, a panel per measure; each data set counts once."""
    columns = [c for c in setting.columns if c.name in test.part.data]
    if len(columns) < 2 or len(model.criteria) < 2:
        return
    cells = model.cells(model.measure, model.criterion)
    there = [row for row in model.rows_of(setting) if all(cells[row, c.label].values for c in columns)]
    measures = [one for one in model.measures if one.key in RADAR or one == model.measure]
    yield Drawn(
        f"means-{setting.key}",
        f"Means over data sets by selection criterion{words}",
        f"Over {', '.join(c.name for c in columns)}, each of them once; methods without values on one of them are left "
        "out.",
        dots(
            [Panel(one.name, one.label, _mean_over(model, there, columns, one)) for one in measures],
            _names(model, there),
            [model.criterion_name(criterion) for criterion in model.criteria],
        ),
        section="criteria",
    )


def _mean_over(
    model: Model, rows: Sequence[str], columns: Sequence[Column], measure: Measure
) -> dict[tuple[str, str], tuple[float, float | None]]:
    found: dict[tuple[str, str], tuple[float, float | None]] = {}
    for criterion in model.criteria:
        cells = model.cells(measure, criterion)
        for row in rows:
            means = [mean for c in columns if (mean := cells[row, c.label].mean) is not None]
            if len(means) == len(columns):
                value = statistics.fmean(means) * measure.scale
                found[model.row_name(row), model.criterion_name(criterion)] = (value, None)
    return found


def no_costs(model: Model) -> str:
    """Why there is no figure of time and memory; empty where there is one."""
    done = model.gathered.done
    shared = sum((run.result.at_once or 0) > 1 for run in done)
    if len(model.settings) > MOST_SETTINGS or any(run.result.at_once == 1 for run in done):
        return ""
    said = [f"{shared:,} shared it with other runs of a study"] if shared else []
    said += [f"of {len(done) - shared:,} it is not known, as no study carried them out"] if shared < len(done) else []
    return f"no figure of time and memory: none of the runs was alone on the machine ({'; '.join(said)})"


def _costs(model: Model, rows: Sequence[str], column: Column) -> list[Cost]:
    """Only runs that a study carried out alone: seconds and memory are no method's own otherwise."""
    found = []
    cells = model.cells(model.measure, model.criterion)
    for row in rows:
        values = cells[row, column.label].values
        runs = model.gathered.grid.cell(row, column.label).runs
        alone = [(seed, run.result) for seed, run in runs.items() if run.result.at_once == 1 and seed in values]
        if alone:
            found.append(
                Cost(
                    model.row_name(row),
                    statistics.fmean(result.seconds.training for _, result in alone),
                    statistics.fmean(result.peak_memory.bytes for _, result in alone),
                    statistics.fmean(values[seed] for seed, _ in alone) * model.measure.scale,
                )
            )
    return found


def _across_settings(model: Model) -> Iterator[Drawn]:
    """Curves over how many are labeled, and mechanisms side by side, where settings differ in these."""
    columns = [c for s in model.settings for c in s.columns if any((r, c.label) in model.ids() for r in model.rows)]
    yield from _curves(model, columns, "c", "frequency", "label frequency", "label frequency c (log scale)")
    against = "positive rate r: labeled rows as a share of P and U"
    yield from _curves(model, columns, "positive_rate", "positive-rate", "positive rate", against)
    mechanisms = list(dict.fromkeys(c.mechanism for c in columns))
    if len(mechanisms) > 1:
        yield from _mechanisms(model, columns, mechanisms)
        yield from _labels(model, columns)


def _titles(columns: Sequence[Column], varied: Container[str]) -> dict[str, str]:
    """Label -> title of the panel that a column belongs to: columns that differ in more than ``varied`` (fields of the
    problem) have other titles, which say in what.
    """
    problems = [
        (column.spec.data.key, {name: v for name, v in problem_of(column.spec).items() if name not in varied})
        for column in columns
    ]
    titles = {}
    for column, (data, mine), told in zip(columns, problems, telling(problems), strict=True):
        shown = [name for name, value in mine.items() if name in (*told, *ALWAYS) and value != "null"]
        words = [in_short(name, mine[name]) for name in shown]
        plain = [word.partition("=")[2] if name in PLAIN else word for name, word in zip(shown, words, strict=True)]
        titles[column.label] = ", ".join([data, *plain])
    return titles


def _curves(model: Model, columns: Sequence[Column], amount: str, key: str, name: str, against: str) -> Iterator[Drawn]:
    """Where a method has ``CURVE`` values on the same problem except for how many are labeled."""
    measure, cells = model.measure, model.cells(model.measure, model.criterion)
    at = {column.label: column.amount[1] for column in columns if column.amount and column.amount[0] == amount}
    groups: dict[str, list[tuple[float, str]]] = {}
    for label, title in _titles([column for column in columns if column.label in at], AMOUNTS).items():
        groups.setdefault(title, []).append((at[label], label))
    panels: dict[str, list[Curve]] = {}
    for title, group in groups.items():
        for row in model.rows:
            points = [(x, cells[row, label].mean) for x, label in group]
            known = sorted((x, mean * measure.scale) for x, mean in points if mean is not None)
            if len(known) >= CURVE:
                family = model.families.get(row, "") or "other methods"
                panels.setdefault(f"{title}, {family}", []).append(Curve(model.row_name(row), tuple(known)))
    if panels:
        yield Drawn(
            key,
            f"{upper(measure.name)} against the {name}",
            "Mean over seeds; one panel per problem, which differs in nothing else, and family of methods.",
            curves(panels, measure.label, against, logarithmic=amount == "c"),
        )


def _labels(model: Model, columns: Sequence[Column]) -> Iterator[Drawn]:
    """What more labels change under each mechanism: few values of c, which are no curve."""
    measure, cells = model.measure, model.cells(model.measure, model.criterion)
    columns = sorted((c for c in columns if c.amount is not None), key=_by_amount)
    amounts = list(dict.fromkeys(column.amount_text for column in columns))
    if not 1 < len(amounts) < CURVE:
        return
    rows = [row for row in model.rows if any((row, c.label) in model.ids() for c in columns)]
    found: dict[str, dict[tuple[str, str], tuple[float, float | None]]] = {}
    titles = _titles(columns, AMOUNTS)
    for column in sorted(columns, key=lambda one: titles[one.label]):
        for row in rows:
            mean = cells[row, column.label].mean
            if mean is not None:
                place = found.setdefault(titles[column.label], {})
                place[model.row_name(row), column.amount_text] = (mean * measure.scale, None)
    yield Drawn(
        "labels",
        f"{upper(measure.name)} with fewer and more labels, by labeling mechanism",
        "Mean over seeds; one panel per problem, which differs in nothing else.",
        dots(
            [Panel(title, measure.label, values) for title, values in found.items()],
            _names(model, rows),
            amounts,
        ),
    )


def _by_amount(column: Column) -> tuple[str, float]:
    return column.amount or ("", 0.0)


def _mechanisms(model: Model, columns: Sequence[Column], mechanisms: Sequence[str]) -> Iterator[Drawn]:
    measure, cells = model.measure, model.cells(model.measure, model.criterion)
    found: dict[str, dict[tuple[str, str], tuple[float, float | None]]] = {}
    rows = [row for row in model.rows if any((row, c.label) in model.ids() for c in columns)]
    titles = _titles(columns, ("mechanism.key", "mechanism.variant"))
    for column in columns:
        for row in rows:
            cell = cells[row, column.label]
            if cell.mean is not None:
                spread = None if cell.std is None else cell.std * measure.scale
                place = found.setdefault(titles[column.label], {})
                place[model.row_name(row), column.mechanism] = (cell.mean * measure.scale, spread)
    panels = [Panel(title, measure.label, values) for title, values in found.items()]
    yield Drawn(
        "mechanisms",
        f"{upper(measure.name)} under labeling mechanisms",
        "Mean and sample standard deviation over seeds; one panel per problem, which differs in nothing else.",
        dots(panels, _names(model, rows), mechanisms),
    )
