"""Tables of a report: results, criteria, measures, tests, ranks. Other modules write them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from pubench_core.errors import counted

from ..cells import MeasuredCell, ShownMeasure, not_compared
from ..measure_table import Significance
from ..numbers import percent, points
from ..rendering import RenderedTable, Section, TableEntry, csv_of
from ..significance import ALPHA
from .model import Model, ProblemColumn, Setting

NO_CELL, NO_VALUE = "·", "-"


def sections(model: Model, tests: Sequence[Significance]) -> list[Section]:
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
            tuple(_side_by_side(model, "criteria", by_criterion)),
        ),
        Section(
            "measures",
            "Measures side by side",
            f"At the epoch that {criterion} chose. Seconds of training and peak memory are means over runs, which may "
            "have shared the machine with others.",
            tuple(_side_by_side(model, "measures", by_measure, ("training, s", "peak, MiB"))),
        ),
        Section(
            "tests",
            "Differences to a baseline",
            f"{upper(measure.label)}, selected by {criterion}. Two-sided paired t-test over the seeds that both ran, "
            f"with Holm's adjustment over the methods of a data set, level {ALPHA:g}; references are not tested. "
            "Seeds split, label and train the same rows again: a small p does not say that a difference shows on other "
            "data.",
            tuple(_pairs(model, *each) for each in zip(model.settings, tests, strict=True)),
        ),
        Section(
            "ranks",
            "Ranks over data sets",
            f"Average rank (1 is best) by {measure.label}, references left out.",
            tuple(map(_ranks, model.settings, tests)),
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
    cells, rows = model.cells(measure, model.criterion), model.rows_of(setting)
    head = ["method", *(f"{column.name} ({counted(len(column.seeds), 'seed')})" for column in setting.columns)]
    body = [(model.row_name(row), *(entry(cells[row, c.label], measure, c) for c in setting.columns)) for row in rows]
    shown = [cell for row in rows for c in setting.columns if (cell := cells[row, c.label]).tracked]
    missing = sum(cell.seeds - len(cell.values) for cell in shown)
    notes = [f"{missing} of the planned values are missing; each cell says how many it has"] if missing else []
    for column in setting.columns:
        out = not_compared({row: cells[row, column.label] for row in model.rows}, model.apart)
        if measure.higher_is_better is not None and out:
            notes.append(f"{column.name}: {out}")
    key, title = f"results-{setting.key}", setting.words
    if measure != model.measure:
        key, title = (
            f"{key}-at-prior",
            f"{upper(measure.name)}: above the (1 - prior) quantile of the scores of U; {title}",
        )
    return RenderedTable.of(head, body, key=key, title=title, notes=tuple(notes))


def standing_rows(model: Model, setting: Setting) -> list[str]:
    """Rows of a setting: ranked ones, best first, then those that are not ranked."""
    ranked = [place.row for place in model.ranking(setting, model.measure, model.criterion).places]
    return [*ranked, *(row for row in model.rows_of(setting) if row not in ranked)]


def standing_table(
    model: Model, setting: Setting, names: Mapping[str, str], columns: Sequence[str], page: str = ""
) -> RenderedTable:
    """Methods of a setting with their places, and their means on each data set.

    ``names``: of rows; ``columns``: names of data sets, in the order of the setting; ``page``: file that has the runs.
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
            departs = model.gathered.grid.departures.get((row, c.label), "")
            entries.append(_mean(model.measure, cells[row, c.label], page, departs))
        rows.append(entries)
    head = ("#", "method", "below", "interval", "first in", *columns)
    left_out = {3: 1, 4: 1} | dict.fromkeys(range(5, len(head)), 2)
    return RenderedTable.of(head, rows, key="standing", left=0, texts=(1,), ranks=left_out)


def _mean(measure: ShownMeasure, cell: MeasuredCell, page: str, departs: str) -> TableEntry:
    """A mean; green: best, yellow: second of its column; red: some run decides every row alike.

    ``departs``: what its runs have otherwise than the preset of their row.
    """
    if cell.mean is None:
        return TableEntry("-" if cell.seeds else "")
    style = "red" if cell.alike else {"best": "bold green", "second": "yellow", "": ""}[cell.mark]
    link = f"{page}#{cell.id}" if page else cell.id
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
        if not any((row, column.label) in model.ids() for row in model.rows):
            continue
        rows = []
        for row in model.rows:
            if planned[row, column.label].seeds:
                found = [entry(cells[row, column.label], measure, column) for measure, cells in of]
                rows.append((model.row_name(row), *found, *(_cost(model, row, column) if costs else ())))
        key = f"{kind}-{setting.key}-{setting.columns.index(column) + 1}"
        title = f"{column.name}; {setting.varying}" if len(model.settings) > 1 else column.name
        yield RenderedTable.of(("method", *(head for head, _, _ in shown), *costs), rows, key=key, title=title)


def _cost(model: Model, row: str, column: ProblemColumn) -> tuple[str, str]:
    results = [run.result for run in model.gathered.grid.cell(row, column.label).runs.values()]
    if not results:
        return NO_VALUE, NO_VALUE
    seconds, size = (fmean(r.seconds.training for r in results), fmean(r.peak_memory.bytes for r in results))
    return f"{seconds:.1f}", f"{size / 2**20:.0f}"


# -------------------------------------------------------------------- tests and ranks


def _pairs(model: Model, setting: Setting, test: Significance) -> RenderedTable:
    labels = {column.name: column.label for column in setting.columns}
    ids = {(pair.data, pair.method): model.ids().get((pair.method, labels[pair.data]), "") for pair in test.pairs}
    notes = (f"no tests: {test.no_pairs}",) if test.no_pairs else ()
    return replace(test.table(ids), key=f"tests-{setting.key}", title=setting.words, notes=notes)


def _ranks(setting: Setting, test: Significance) -> RenderedTable:
    rows = [(method, f"{rank:.2f}") for method, rank in test.average.ranks]
    key, notes = f"ranks-{setting.key}", tuple(test.average.lines())
    return RenderedTable.of(("method", "average rank"), rows, key=key, title=setting.words, notes=notes)


# -------------------------------------------------------------------- for programs

CSV_COLUMNS = (
    "setting", "data", "method", "oracle", "criterion", "criterion_oracle", "measure", "mean", "std", "n",
    "seeds", "mark", "alike", "baseline", "pairs", "difference", "p", "adjusted_p", "decision", "run_ids",
)  # fmt: skip


def csv_text(model: Model, tests: Sequence[Significance]) -> str:
    """A row per cell and criterion, of the chosen measure. Values as the metric gives them, not in percent."""
    lines: list[dict[str, object]] = []
    for setting, test in zip(model.settings, tests, strict=True):
        pairs, rows = {(pair.data, pair.method): pair for pair in test.pairs}, model.rows_of(setting)
        for criterion in model.criteria:
            cells = model.cells(model.measure, criterion)
            for column in setting.columns:
                for row in rows:
                    cell = cells[row, column.label]
                    if not cell.seeds:
                        continue
                    runs = model.gathered.grid.cell(row, column.label).runs
                    found = {
                        "setting": setting.words, "data": column.name, "method": row,
                        "oracle": row in model.oracles, "criterion": criterion,
                        "criterion_oracle": criterion in model.oracle_criteria, "measure": model.measure.key,
                        "mean": cell.mean, "std": cell.std, "n": len(cell.values), "seeds": cell.seeds,
                        "mark": cell.mark, "alike": cell.alike,
                        "run_ids": " ".join(run.run_id for run in runs.values()),
                    }  # fmt: skip
                    pair = pairs.get((column.name, row)) if criterion == model.criterion else None
                    if pair is not None:
                        found |= {"baseline": pair.reference, "pairs": pair.n, "difference": pair.difference}
                        found |= {"p": pair.p, "adjusted_p": pair.adjusted, "decision": pair.decision}
                    lines.append(found)
    return csv_of(CSV_COLUMNS, lines)
