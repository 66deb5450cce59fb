"""Tables of a report: results, criteria, measures, tests, ranks. Other modules write them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import fmean

from pubench_core.errors import counted

from ..cells import MeasuredCell, ShownMeasure, signed
from ..ranking import RANK_LEVEL, RANK_RESAMPLES
from ..rendering import RenderedTable, Section, TableEntry, csv_of
from ..significance import p_text
from .model import Model, ProblemColumn, Setting
from .statistics import ALPHA, SettingTests

#: What marks mean, in the words of each format (text, md, latex, html).
NO_CELL, NO_VALUE = "·", "-"


def sections(model: Model, tests: Sequence[SettingTests]) -> list[Section]:
    """All of a report, in order."""
    measure, criterion = model.measure, model.criterion_name(model.criterion)
    by_criterion = [(model.criterion_name(one), measure, one) for one in model.criteria]
    by_measure = [(one.label, one, model.criterion) for one in model.measures]
    found = [
        Section(
            "results",
            "Results",
            f"{upper(measure.label)}, on test rows, mean ± sample standard deviation over seeds; epochs selected "
            f"by {criterion}.",
            tuple(result_table(model, setting, one) for setting in model.settings for one in model.by_decision),
        ),
        Section(
            "criteria",
            "Selection criteria side by side",
            f"{upper(measure.label)} at the epoch that each criterion chose. An oracle criterion reads true labels.",
            tuple(_side_by_side(model, *where, "criteria", by_criterion) for where in _with_values(model)),
        ),
        Section(
            "measures",
            "Measures side by side",
            f"At the epoch that {criterion} chose. Seconds of training and peak memory are means over runs, which may "
            "have shared the machine with others.",
            tuple(_with_costs(model, *where, by_measure) for where in _with_values(model)),
        ),
        Section(
            "tests",
            "Differences to a baseline",
            f"{upper(measure.label)}, selected by {criterion}. Two-sided paired t-test over the seeds that both ran, "
            f"with Holm's adjustment over the methods of a data set, level {ALPHA:g}; references are not tested. "
            "Seeds split, label and train the same rows again: a small p does not say that a difference shows on other "
            "data.",
            tuple(_pairs(model, test) for test in tests),
        ),
        Section(
            "ranks",
            "Ranks over data sets",
            f"Average rank (1 is best) by {measure.label}, references left out. Intervals: {100 * RANK_LEVEL:.0f} %, "
            f"percentile bootstrap over seeds ({RANK_RESAMPLES} resamples): what other seeds would do, not what other "
            "data sets would.",
            tuple(_ranks(model, test) for test in tests),
        ),
    ]
    return [section for section in found if section.tables]


def upper(text: str) -> str:
    """Text with a capital at its beginning."""
    return text[:1].upper() + text[1:]


# -------------------------------------------------------------------- cells


def entry(cell: MeasuredCell, measure: ShownMeasure, column: ProblemColumn) -> TableEntry:
    """``82.15 ± 3.32 (3 of 10)``: the count stands where a planned seed has no value, or others have more seeds."""
    if not cell.seeds:
        return TableEntry(NO_CELL, why="not run")
    if not cell.tracked:
        return TableEntry("not tracked", link=cell.id, why="; ".join(cell.why))
    n, of = len(cell.values), max(cell.seeds, len(column.seeds))
    count = "" if n == of else f" ({n} of {of})"
    why = "; ".join(cell.why)
    if cell.mean is None:
        return TableEntry(f"{NO_VALUE}{count or f' (0 of {of})'}", link=cell.id, alike=cell.alike, why=why)
    spread = "" if cell.std is None else f" ± {measure.text(cell.std)}"
    return TableEntry(f"{measure.text(cell.mean)}{spread}{count}", cell.mark, cell.alike, cell.id, why)


def result_table(model: Model, setting: Setting, measure: ShownMeasure) -> RenderedTable:
    """Methods by data sets."""
    cells = model.cells(measure, model.criterion)
    rows = model.rows_of(setting)
    head = ["method", *(f"{column.name} ({counted(len(column.seeds), 'seed')})" for column in setting.columns)]
    body = [
        (TableEntry(model.row_name(row)), *(entry(cells[row, c.label], measure, c) for c in setting.columns))
        for row in rows
    ]
    shown = [cell for row in rows for c in setting.columns if (cell := cells[row, c.label]).tracked]
    missing = sum(cell.seeds - len(cell.values) for cell in shown)
    notes = [f"{missing} of the planned values are missing; each cell says how many it has"] if missing else []
    for column in setting.columns:
        there = [row for row in rows if row not in model.apart and cells[row, column.label].values]
        out = [row for row in there if row not in model.competing(cells, column)]
        if measure.higher_is_better is not None and out and len(there) > 1:
            notes.append(f"{column.name}: not compared for best and second, as seeds are missing: {', '.join(out)}")
    if measure == model.measure:
        return RenderedTable(f"results-{setting.key}", setting.words, tuple(head), tuple(body), tuple(notes))
    title = f"{upper(measure.name)}: above the (1 - prior) quantile of the scores of U; {setting.words}"
    return RenderedTable(f"results-{setting.key}-at-prior", title, tuple(head), tuple(body), tuple(notes))


def _with_values(model: Model) -> Iterator[tuple[Setting, ProblemColumn]]:
    """Columns in which some method has runs."""
    with_runs = {column for _, column in model.ids()}
    return ((s, column) for s in model.settings for column in s.columns if column.label in with_runs)


def _side_by_side(
    model: Model, setting: Setting, column: ProblemColumn, kind: str, shown: Sequence[tuple[str, ShownMeasure, str]]
) -> RenderedTable:
    """Methods on one data set. ``shown``: (head, measure, criterion) of each column."""
    of = [(measure, model.cells(measure, criterion)) for _, measure, criterion in shown]
    planned = model.cells(model.measure, model.criterion)
    rows = tuple(
        (TableEntry(model.row_name(row)), *(entry(cells[row, column.label], measure, column) for measure, cells in of))
        for row in model.rows
        if planned[row, column.label].seeds
    )
    key = f"{kind}-{setting.key}-{setting.columns.index(column) + 1}"
    title = f"{column.name}; {setting.varying}" if len(model.settings) > 1 else column.name
    return RenderedTable(key, title, ("method", *(head for head, _, _ in shown)), rows)


def _with_costs(
    model: Model, setting: Setting, column: ProblemColumn, by_measure: Sequence[tuple[str, ShownMeasure, str]]
) -> RenderedTable:
    """Measures of methods on one data set, and what their runs cost."""
    table = _side_by_side(model, setting, column, "measures", by_measure)
    costs = []
    for row in (row for row in model.rows if model.cells(model.measure, model.criterion)[row, column.label].seeds):
        results = [run.result for run in model.gathered.grid.cell(row, column.label).runs.values()]
        cost = (NO_VALUE, NO_VALUE)
        if results:
            seconds, size = (fmean(r.seconds.training for r in results), fmean(r.peak_memory.bytes for r in results))
            cost = (f"{seconds:.1f}", f"{size / 2**20:.0f}")
        costs.append(cost)
    rows = tuple((*row, *map(TableEntry, cost)) for row, cost in zip(table.rows, costs, strict=True))
    return replace(table, head=(*table.head, "training, s", "peak, MiB"), rows=rows)


# -------------------------------------------------------------------- tests and ranks


def _pairs(model: Model, test: SettingTests) -> RenderedTable:
    head = ("data", "method", "pairs", f"difference to {test.baseline}", "p", "adjusted p", "decision")
    ids = {
        (column.name, row): model.ids().get((row, column.label), "")
        for column in test.setting.columns
        for row in model.rows
    }
    rows = []
    for pair in test.pairs.values():
        difference = NO_VALUE if math.isnan(pair.difference) else signed(pair.difference, model.measure)
        before, after = (pair.data, pair.method, str(pair.n)), (p_text(pair.p), p_text(pair.adjusted), pair.decision)
        linked = TableEntry(difference, link=ids[pair.data, pair.method])
        rows.append((*map(TableEntry, before), linked, *map(TableEntry, after)))
    notes = (f"no tests: {test.no_pairs}",) if test.no_pairs else ()
    return RenderedTable(f"tests-{test.setting.key}", test.setting.words, head, tuple(rows), notes, left=2)


def _ranks(model: Model, test: SettingTests) -> RenderedTable:
    rows = []
    for one in test.ranks:
        low, high = one.interval if one.interval is not None else (math.nan, math.nan)
        interval = NO_VALUE if math.isnan(low) else f"{low:.2f} to {high:.2f}"
        rows.append((TableEntry(one.method), TableEntry(f"{one.rank:.2f}"), TableEntry(interval)))
    head = ("method", "average rank", f"{100 * RANK_LEVEL:.0f} % interval")
    return RenderedTable(f"ranks-{test.setting.key}", test.setting.words, head, tuple(rows), tuple(rank_notes(test)))


def rank_notes(test: SettingTests) -> list[str]:
    """Which cells the ranks are of, and what Friedman's and Nemenyi's tests say."""
    if not test.part.data:
        return [f"no ranks: {test.no_friedman}"]
    found = [f"over {counted(len(test.part.data), 'data set')}: {', '.join(test.part.data)}"]
    if test.part.dropped:
        found.append(f"left out, so that every cell has values: {', '.join(test.part.dropped)}")
    if test.friedman is None:
        return [*found, f"no Friedman test: {test.no_friedman}"]
    found += test.friedman.lines()
    found += [f"not told apart: {', '.join(group)}" for group in test.groups]
    return found


# -------------------------------------------------------------------- for programs

CSV_COLUMNS = (
    "setting", "data", "method", "oracle", "criterion", "criterion_oracle", "measure", "mean", "std", "n",
    "seeds", "mark", "alike", "baseline", "pairs", "difference", "p", "adjusted_p", "decision", "run_ids",
)  # fmt: skip


def csv_text(model: Model, tests: Sequence[SettingTests]) -> str:
    """A row per cell and criterion, of the chosen measure. Values as the metric gives them, not in percent."""
    lines: list[dict[str, object]] = []
    for test in tests:
        for criterion in model.criteria:
            cells = model.cells(model.measure, criterion)
            for column in test.setting.columns:
                for row in model.rows_of(test.setting):
                    cell = cells[row, column.label]
                    if not cell.seeds:
                        continue
                    found = _csv_cell(model, cell, row, column.label, criterion)
                    pair = test.pairs.get((column.name, row)) if criterion == model.criterion else None
                    if pair is not None:
                        found |= {"baseline": pair.reference, "pairs": pair.n, "difference": pair.difference}
                        found |= {"p": pair.p, "adjusted_p": pair.adjusted, "decision": pair.decision}
                    lines.append({"setting": test.setting.words, "data": column.name, **found})
    return csv_of(CSV_COLUMNS, lines)


def _csv_cell(model: Model, cell: MeasuredCell, row: str, column: str, criterion: str) -> dict[str, object]:
    runs = model.gathered.grid.cell(row, column).runs
    return {
        "method": row,
        "oracle": row in model.oracles,
        "criterion": criterion,
        "criterion_oracle": criterion in model.oracle_criteria,
        "measure": model.measure.key,
        "mean": cell.mean,
        "std": cell.std,
        "n": len(cell.values),
        "seeds": cell.seeds,
        "mark": cell.mark,
        "alike": cell.alike,
        "run_ids": " ".join(run.run_id for run in runs.values()),
    }
