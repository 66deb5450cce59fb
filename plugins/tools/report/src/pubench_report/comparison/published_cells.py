"""Results next to those of others: a published table, or another folder. Only what was run alike is compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from pubench.running import RunResult
from pubench_core.errors import RequestError, counted, unknown

from ..cells import cell_of, mean_and_std
from ..draws import but_for_config
from ..grouping import Grid, RunGroup, but_for_seed, grid_of
from ..published import Figure, PublishedCell, read_as, source, verdict_of
from ..results import Results
from .protocol import fitting, why_not
from .result import ComparedCell, LeftOut, SideBySide


def beside_published(
    results: Results, name: str, *, criterion: str | None = None, measure: str | None = None
) -> SideBySide:
    """Results and the tables of a publication, cell by cell, in percent.

    ``criterion``, ``measure``: of which the publication has figures; None means its main one.

    Raises RequestError for an unknown publication, and a criterion or measure of which it has no figures.
    """
    theirs = source(name)
    criterion = _one_of("criterion", criterion, theirs.criteria, theirs.name)
    measure = _one_of("measure", measure, theirs.measures, theirs.name)
    theirs = read_as(theirs, criterion, measure)
    wanted = [cell for cell in theirs.cells if (cell.criterion, cell.measure) == (criterion, measure)]
    compared, left_out, met = [], [], set()
    several = theirs.protocol.draws > 1 and criterion in results.criteria
    chosen = results.best_of_draws(criterion) if several else results
    draws = Counter(map(but_for_config, results))
    grid = grid_of_results(chosen, drawn=theirs.protocol.draws > 1)
    for row, column, cell in cells_of(grid):
        spec = first_of(cell).result.spec
        found = [one for one in wanted if (one.method, one.data) == (spec.method.key, spec.data.key)]
        why = why_not(first_of(cell), theirs.protocol, found, theirs.name)
        if why:
            left_out.append(LeftOut(row, column, why))
            continue
        figure = figure_of(cell, criterion, measure, 100.0)
        if figure is None:
            left_out.append(LeftOut(row, column, f"no run has a value of {measure} by {criterion}"))
            continue
        printed = fitting(spec, found)[0]
        met.add(printed)
        fewest = min(draws[but_for_config(run)] for run in cell.runs.values())
        verdict = verdict_of(figure, printed.figure)
        reason = theirs.reason_of(printed.method, printed.data, verdict, fewest)
        method, data = _name_of(printed)
        compared.append(ComparedCell(method, data, row in grid.oracles, figure, printed.figure, reason))
    return SideBySide(
        theirs=theirs.name,
        citation=theirs.citation,
        alike=f"{theirs.protocol}, epoch chosen by {criterion}",
        measure=measure,
        criterion=criterion,
        percent=True,
        cells=tuple(compared),
        left_out=tuple(left_out),
        missing=tuple(dict.fromkeys(_name_of(one) for one in wanted if one not in met)),
        notes=(*grid.notes, *chosen.notes, *([theirs.note] if theirs.note else [])),
    )


def beside_results(
    results: Results, others: Results, title: str, *, criterion: str | None = None, measure: str | None = None
) -> SideBySide:
    """Results and those of another folder. Cells are compared whose runs have the same spec except for their seeds.

    ``criterion``: None means the one that names the results; ``measure``: None means accuracy.

    Raises RequestError (InvalidRequest) where :meth:`Results.table` does.
    """
    measure = measure or "accuracy"
    mine = results.table(measure, criterion)  # says what is wrong with a measure or a criterion
    criterion = mine.criterion.removesuffix(" (oracle)")
    scale = 100.0 if mine.percent else 1.0
    grid = grid_of_results(results)
    theirs = {
        but_for_seed(first_of(cell).result.spec): (row, column, cell)
        for row, column, cell in cells_of(grid_of_results(others))
    }
    compared, left_out, met, shared, runs = [], [], set(), 0, 0
    for row, column, cell in cells_of(grid):
        key = but_for_seed(first_of(cell).result.spec)
        if key not in theirs:
            left_out.append(LeftOut(row, column, f"{title} has no run of the same spec"))
            continue
        met.add(key)
        other = theirs[key][2]
        first, second = figure_of(cell, criterion, measure, scale), figure_of(other, criterion, measure, scale)
        if first is None or second is None:
            left_out.append(LeftOut(row, column, f"no run has a value of {measure} by {criterion}"))
            continue
        shared, runs = shared + len(cell.runs.keys() & other.runs.keys()), runs + len(cell.runs)
        compared.append(ComparedCell(row, column, row in grid.oracles, first, second))
    both = f"{shared} of {counted(runs, 'run')} compared have the same seed and spec on both sides"
    return SideBySide(
        theirs=title,
        citation="",
        alike=f"the same spec except for seeds, epoch chosen by {mine.criterion}",
        measure=measure,
        criterion=criterion,
        percent=mine.percent,
        cells=tuple(compared),
        left_out=tuple(left_out),
        missing=tuple((row, column) for key, (row, column, _) in theirs.items() if key not in met),
        notes=(*grid.notes, *([both] if shared else [])),
    )


def _one_of(what: str, given: str | None, known: Sequence[str], where: str) -> str:
    if given is None:
        return known[0]
    if given not in known:
        raise unknown(f"{what} of {where}", given, known)
    return given


def grid_of_results(results: Results, *, drawn: bool = False) -> Grid:
    if not len(results):
        raise RequestError("there are no finished runs to compare")
    named = [(run.result.spec.method.key, run) for run in results]
    return grid_of(named, drawn={run.run_id for _, run in named} if drawn else ())


def cells_of(grid: Grid) -> Iterator[tuple[str, str, RunGroup]]:
    """Row, column and runs of every cell that has a run, by column."""
    for column in grid.columns:
        for row in grid.rows:
            if (cell := grid.cell(row, column)).runs:
                yield row, column, cell


def first_of(cell: RunGroup) -> RunResult:
    return next(iter(cell.runs.values()))


def figure_of(cell: RunGroup, criterion: str, measure: str, scale: float) -> Figure | None:
    """Mean and deviation of the runs that have a value; None without any."""
    found = cell_of(cell, measure, criterion)
    alike = sum(run.result.criteria[criterion].decided_alike for seed, run in cell.runs.items() if seed in found.values)
    mean, std = mean_and_std(scale * value for value in found.values.values())
    return None if mean is None else Figure(mean, std, len(found.values), alike)


def _name_of(printed: PublishedCell) -> tuple[str, str]:
    """Method and data set by their keys, with what the publication says of calibration and case."""
    method = f"{printed.method}-c" if printed.calibrate == "on" else printed.method
    return method, f"{printed.data} {printed.binarization}".strip()
