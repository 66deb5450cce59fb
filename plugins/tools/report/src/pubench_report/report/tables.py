"""Tables of a report: results, criteria, measures, tests, ranks. Other modules write them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from statistics import fmean
from typing import TYPE_CHECKING, Any

from pubench_core.errors import counted
from pubench_core.results import AT_PRIOR

from ..cells import MeasuredCell, ShownMeasure
from ..ranking import percent, points
from ..rendering import GAPS, LEGEND, Printed, RenderedTable, Section, TableEntry, csv_of
from ..significance import ALPHA
from .model import Model, ProblemColumn, Setting, Significance

if TYPE_CHECKING:
    from pandas import DataFrame


def sections(model: Model, tests: Sequence[Significance]) -> list[Section]:
    """All of a report, in order."""
    measure, criterion = model.measure, model.criterion_name(model.criterion)
    by_criterion = [(model.criterion_name(one), measure, one) for one in model.criteria]
    by_measure = [(one.label, one, model.criterion) for one in model.measures]
    first, *others = compared_sections(model, tests)
    found = [
        first,
        Section(
            "criteria",
            "Selection criteria side by side",
            f"{upper(measure.label)} at the epoch that each criterion chose. An oracle criterion reads true labels.",
            tuple(_side_by_side(model, "criteria", by_criterion)),
        ),
        Section(
            "measures",
            "Measures side by side",
            f"At the epoch that {criterion} chose. Seconds of training and peak memory are means over runs, which may "
            "have shared the machine with others.",
            tuple(_side_by_side(model, "measures", by_measure, ("training, s", "peak, MiB"))),
        ),
        *others,
    ]
    return [section for section in found if section.tables]


def compared_sections(model: Model, tests: Sequence[Significance]) -> list[Section]:
    """Results, tests and ranks: what a comparison prints."""
    measure, criterion = model.measure, model.criterion_name(model.criterion)
    pairs, ranks = [], []
    for setting, test in zip(model.settings, tests, strict=True):
        labels = {column.name: column.label for column in setting.columns}
        ids = {(one.data, one.method): model.grid.ids.get((one.method, labels[one.data]), "") for one in test.pairs}
        pairs.append(test.table(ids, key=f"tests-{setting.key}", title=setting.words))
        rows, notes = [(method, f"{rank:.2f}") for method, rank in test.average.ranks], tuple(test.average.lines())
        more = {"key": f"ranks-{setting.key}", "title": setting.words, "notes": notes}
        ranks.append(RenderedTable.of(("method", "average rank"), rows, **more))
    return [
        Section(
            "results",
            "Results",
            f"{upper(measure.label)}, on {model.part} rows, mean ± sample standard deviation over seeds; epochs "
            f"selected by {criterion}.",
            tuple(result_table(model, setting, one) for setting in model.settings for one in model.by_decision),
        ),
        Section(
            "tests",
            f"Differences to {tests[0].reference}",
            f"{upper(measure.label)}, selected by {criterion}. Two-sided paired t-test over the seeds that both ran, "
            f"with Holm's adjustment over the methods of a data set, level {ALPHA:g}; references are not tested. "
            "Seeds split, label and train the same rows again: a small p does not say that a difference shows on other "
            "data.",
            tuple(pairs),
        ),
        Section(
            "ranks",
            "Ranks over data sets",
            f"Average rank (1 is best) by {measure.label}, references left out.",
            tuple(ranks),
        ),
    ]


def upper(text: str) -> str:
    """Text with a capital at its beginning."""
    return text[:1].upper() + text[1:]


# -------------------------------------------------------------------- cells


NO_CELL, NO_VALUE = "·", "-"


def entry(cell: MeasuredCell, measure: ShownMeasure, planned: int = 0) -> TableEntry:
    """``82.15 ± 3.32 (3 of 10)``: the count is there if a seed has no value that is planned, or that others have."""
    if not cell.seeds:
        return TableEntry(NO_CELL, why="not run")
    if not cell.tracked:
        return TableEntry("not tracked", link=cell.id, why="; ".join(cell.why))
    n, of = len(cell.values), max(cell.seeds, planned)
    count = "" if n == of else f" ({n} of {of})"
    why = "; ".join(cell.why)
    if cell.mean is None:
        return TableEntry(f"{NO_VALUE}{count or f' (0 of {of})'}", link=cell.id, alike=cell.alike, why=why)
    spread = "" if cell.std is None else f" ± {measure.text(cell.std)}"
    return TableEntry(f"{measure.text(cell.mean)}{spread}{count}", cell.mark, cell.alike, cell.id, why)


def result_table(model: Model, setting: Setting, measure: ShownMeasure) -> RenderedTable:
    """Methods by data sets."""
    cells, rows = model.cells(measure, model.criterion), model.rows_of(setting)
    head = ["method", *(f"{column.name} ({counted(len(column.seeds), 'seed')})" for column in setting.columns)]
    body = [
        (model.grid.marked(row), *(entry(cells[row, c.label], measure, len(c.seeds)) for c in setting.columns))
        for row in rows
    ]
    notes = uncompared(model, setting, measure)
    key, title = f"results-{setting.key}", setting.words
    if measure.key.endswith(AT_PRIOR):
        key += AT_PRIOR
        title = f"{upper(measure.name)}: above the (1 - prior) quantile of the scores of U; {title}"
    elif model.measure.key.endswith(AT_PRIOR):
        title = f"{upper(measure.name)}, by the method's own decision; {title}"
    return RenderedTable.of(head, body, key=key, title=title, notes=tuple(notes))


def uncompared(model: Model, setting: Setting, measure: ShownMeasure) -> list[str]:
    """Notes on rows of one seed among others of several."""
    found, cells = [], model.cells(measure, model.criterion)
    for column in setting.columns:
        of = {row: cells[row, column.label] for row in model.grid.rows if row not in model.grid.apart}
        out = [row for row, cell in of.items() if cell.values and not cell.rank]
        if out and any(cell.rank for cell in of.values()):
            found.append(f"{column.name}: not compared for best and second, as it is of one seed: {', '.join(out)}")
    return found


def standing_rows(model: Model, setting: Setting) -> list[str]:
    """Rows of a setting: ranked ones, best first, then those that are not ranked."""
    ranked = [place.row for place in model.ranking(setting, model.measure, model.criterion).places]
    return [*ranked, *(row for row in model.rows_of(setting) if row not in ranked)]


def standing_table(
    model: Model, setting: Setting, names: Mapping[str, str], columns: Sequence[str], *, linked: bool = True
) -> RenderedTable:
    """Methods of a setting with their places, and their means on each data set.

    ``names``: of rows; ``columns``: names of data sets, in the order of the setting; ``linked``: its page has runs.
    """
    cells = model.cells(model.measure, model.criterion)
    places = {place.row: place for place in model.ranking(setting, model.measure, model.criterion).places}
    rows = []
    for row in standing_rows(model, setting):
        entries: list[object] = ["", names[row], "", "", ""]
        if place := places.get(row):
            interval = f"{points(place.low)} to {points(place.high)}"
            entries = [place.rank, names[row], points(place.below), interval, percent(place.first)]
        for c in setting.columns:
            departs = model.grid.departures.get((row, c.label), "")
            entries.append(_mean(model.measure, cells[row, c.label], departs, linked=linked))
        rows.append(entries)
    head = ("#", "method", "below", "interval", "first in", *columns)
    left_out = {3: 1, 4: 1} | dict.fromkeys(range(5, len(head)), 2)
    return RenderedTable.of(head, rows, key="standing", left=0, texts=(1,), ranks=left_out)


def _mean(measure: ShownMeasure, cell: MeasuredCell, departs: str, *, linked: bool) -> TableEntry:
    """A mean; green: best, yellow: second of its column; red: some run decides every row alike.

    ``departs``: what its runs have otherwise than the preset of their row.
    """
    if cell.mean is None:
        return TableEntry("-" if cell.seeds else "")
    style = "red" if cell.alike else {"best": "bold green", "second": "yellow", "": ""}[cell.mark]
    link = cell.id if linked else ""
    return TableEntry(measure.text(cell.mean), alike=cell.alike, link=link, why=departs, style=style)


def _side_by_side(
    model: Model, kind: str, shown: Sequence[tuple[str, ShownMeasure, str]], costs: Sequence[str] = ()
) -> Iterator[RenderedTable]:
    """Methods on each data set that has runs. ``shown``: (head, measure, criterion) of each column; ``costs``: heads of
    what runs cost.
    """
    of = [(measure, model.cells(measure, criterion)) for _, measure, criterion in shown]
    planned = model.cells(model.measure, model.criterion)
    for setting, column in [(one, column) for one in model.settings for column in one.columns]:
        if not any((row, column.label) in model.grid.ids for row in model.grid.rows):
            continue
        rows = []
        for row in model.grid.rows:
            if planned[row, column.label].seeds:
                found = [entry(cells[row, column.label], measure, len(column.seeds)) for measure, cells in of]
                rows.append((model.grid.marked(row), *found, *(_cost(model, row, column) if costs else ())))
        key = f"{kind}-{setting.key}-{setting.columns.index(column) + 1}"
        title = f"{column.name}; {setting.varying}" if len(model.settings) > 1 else column.name
        yield RenderedTable.of(("method", *(head for head, _, _ in shown), *costs), rows, key=key, title=title)


def _cost(model: Model, row: str, column: ProblemColumn) -> tuple[str, str]:
    results = [run.result for run in model.grid.cell(row, column.label).runs.values()]
    if not results:
        return NO_VALUE, NO_VALUE
    seconds, size = (fmean(r.seconds.training for r in results), fmean(r.peak_memory.bytes for r in results))
    return f"{seconds:.1f}", f"{size / 2**20:.0f}"


# -------------------------------------------------------------------- for programs


def csv_text(model: Model, tests: Sequence[Significance]) -> str:
    """A row per cell and criterion, of the chosen measure. Values as the metric gives them, not in percent."""
    rows = list(cell_rows(model, tests, model.criteria))
    return csv_of(list(rows[0]), rows)


def cell_rows(model: Model, tests: Sequence[Significance], criteria: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The cells of a measure as plain data, with the test of each; a cell without a run has none."""
    for setting, test in zip(model.settings, tests, strict=True):
        pairs, rows = {(pair.data, pair.method): pair for pair in test.pairs}, model.rows_of(setting)
        for criterion, column, row in product(criteria, setting.columns, rows):
            cell = model.cells(model.measure, criterion)[row, column.label]
            if not cell.seeds:
                continue
            pair = pairs.get((column.name, row)) if criterion == model.criterion else None
            runs = model.grid.cell(row, column.label).runs.values()
            yield {
                "setting": setting.words, "data": column.name, "method": row,
                "oracle": row in model.grid.oracles, "criterion": criterion,
                "criterion_oracle": criterion in model.oracle_criteria, "measure": model.measure.key,
                "mean": cell.mean, "std": cell.std, "n": len(cell.values), "seeds": cell.seeds,
                "mark": cell.mark, "alike": cell.alike,
                "baseline": pair and pair.reference, "pairs": pair and pair.n,
                "difference": pair and pair.difference, "p": pair and pair.p,
                "adjusted_p": pair and pair.adjusted, "decision": pair and pair.decision,
                "run_ids": " ".join(run.run_id for run in runs),
            }  # fmt: skip


# -------------------------------------------------------------------- for Python


@dataclass(frozen=True)
class MeasureTable(Printed):
    """A table of methods by data sets. Prints as text, as reports have it; in a notebook as a table.

    A cell says ``mean ± sample standard deviation`` over the seeds of its column, ``(n of N)`` if n of them have a
    value, ``-`` if none has, ``·`` if there is no run; ``!n`` if n of its runs decide every row alike. ``*`` and ``+``
    (bold and underlined in a notebook) mark the best and second mean of a column, several if they are printed alike:
    not of oracle methods or baselines, nor of one seed.
    """

    metric: str
    part: str
    criterion: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    oracles: frozenset[str]
    cells: Mapping[tuple[str, str], MeasuredCell]
    notes: tuple[str, ...]
    table: RenderedTable

    def to_frame(self) -> DataFrame:
        """One row per cell: method, data, oracle, mean, std, n, seeds, alike, best. Values are not in percent."""
        import pandas

        own = ("mean", "std", "seeds", "alike")
        rows = [
            {"method": row, "data": column, "n": len(cell.values), **{name: getattr(cell, name) for name in own}}
            | {"oracle": row in self.oracles, "best": cell.mark == "best"}
            for row, column in product(self.rows, self.columns)
            for cell in [self.cells[row, column]]
        ]
        columns = ["method", "data", "oracle", "mean", "std", "n", "seeds", "alike", "best"]
        return pandas.DataFrame(rows, columns=columns).astype({"mean": float, "std": float})

    def shown(self) -> tuple[list[str], RenderedTable, list[str]]:
        marked = any(cell.mark or cell.alike for cell in self.cells.values())
        below = [f"{LEGEND['table']}; {GAPS}"] if marked else []
        return [self.table.title], self.table, [*below, *(f"note: {note}" for note in self.notes)]


def measure_table(model: Model) -> MeasureTable:
    """The table of a model, with all settings side by side."""
    grid, measure, found = model.grid, model.measure, list(model.grid.notes)
    cells, table = model.cells(measure, model.criterion), result_table(model, model.whole, measure)
    for (row, column), cell in cells.items():
        for reason in dict.fromkeys(cell.missing.values()):
            seeds = ", ".join(str(seed) for seed, why in cell.missing.items() if why == reason)
            found.append(f"{row} on {column}, seed {seeds}: no {measure.key}: {reason}")
        found += [f"{failure}" for failure in grid.cell(row, column).failures]
    if measure.higher_is_better is None:
        found.append(f"nothing is marked best: metric {measure.key} is not installed, so its direction is not known")
    found += [*uncompared(model, model.whole, measure), *model.gathered.notes]
    criterion, unit = model.criterion_name(model.criterion), ", percent" if measure.percent else ""
    title = f"{measure.key} ({model.part}{unit}), mean ± std over seeds, selected by {criterion}"
    table = replace(
        table,
        title=f"{title}; {table.title}" if table.title else title,
        rows=tuple(tuple(replace(one, link="") for one in row) for row in table.rows),
    )
    facts = (grid.rows, grid.columns, grid.oracles, cells, tuple(found), table)
    return MeasureTable(measure.key, model.part, criterion, *facts)
