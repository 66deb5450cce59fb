"""Finished runs compared: a table of methods by data sets, and tests of the differences in it."""

from __future__ import annotations

from collections.abc import Sequence

from pubench.field_names import InvalidRequest
from pubench.running import RunResult
from pubench_core.errors import unknown

from ..cells import ShownMeasure
from ..draws import NamedRun
from ..grouping import FailedRun, grid_of
from ..measure_table import MeasureTable, Significance, measured_cells
from ..significance import Test, pairs_of, ranks_of
from .frames import compared_by


def table_of(
    named: Sequence[NamedRun],
    metric: str,
    criterion: str | None,
    part: str,
    *,
    drawn: bool,
    notes: Sequence[str],
) -> MeasureTable:
    """:meth:`pubench.Results.table` of named runs, failed ones among them.

    ``drawn``: hyper-parameters were chosen for every run by itself. ``notes``: what a reader must know besides what the
    table itself has to say.

    Raises RequestError as that does.
    """
    runs = [run for _, run in named if isinstance(run, RunResult)]
    if not runs:
        failures = [run for _, run in named if isinstance(run, FailedRun)]
        failed = f": {len(failures)} failed, the first is {failures[0]}" if failures else ""
        raise InvalidRequest(f"there are no finished runs to compare{failed}")
    criterion, chosen = compared_by(runs, metric, criterion, part)
    oracle = any(run.result.criteria[criterion].oracle for run in runs if criterion in run.result.criteria)
    grid = grid_of(named, drawn={run.run_id for _, run in named} if drawn else ())
    measure = ShownMeasure.of(metric)
    cells, of_cells = measured_cells(grid, measure, part, criterion)
    return MeasureTable(
        metric=metric,
        part=part,
        criterion=f"{criterion} (oracle)" if oracle else criterion,
        percent=measure.percent,
        common=grid.common,
        rows=grid.rows,
        columns=grid.columns,
        oracles=grid.oracles,
        baselines=grid.baselines,
        cells=cells,
        notes=tuple(note for note in (chosen, *grid.notes, *of_cells, *notes) if note),
        repeated=grid.repeated,
    )


def tested(table: MeasureTable, reference: str | None, test: Test, alpha: float) -> Significance:
    """:meth:`pubench.Results.significance` of a table. Raises RequestError as that does."""
    higher_is_better = ShownMeasure.of(table.metric).higher_is_better
    if higher_is_better is None:
        raise InvalidRequest(f"metric {table.metric} is not installed, so whether higher is better is not known")
    if test not in ("t", "wilcoxon"):
        raise unknown("test", test, ("t", "wilcoxon"))
    if not 0 < alpha < 1:
        raise InvalidRequest(f"alpha must be in (0, 1), got {alpha!r}")
    if len(table.rows) < 2:
        raise InvalidRequest(f"two methods are needed for a test, there is {', '.join(table.rows) or 'none'}")
    competing = [row for row in table.rows if row not in {*table.oracles, *table.baselines}]
    # A single method is compared with a baseline, if there is one: nothing else is left to compare it with.
    first = [row for row in table.rows if row in table.baselines] if len(competing) == 1 else []
    against = (first or competing or table.rows)[0] if reference is None else reference
    if against not in table.rows:
        raise unknown("reference", against, table.rows)
    rows = [row for row in table.rows if row in competing or row == against]
    values = {
        column: {row: cell.values for row in rows if (cell := table.cells[row, column]).values}
        for column in table.columns
    }
    ranks, no_ranks, left_out = ranks_of(values, competing, alpha=alpha, higher_is_better=higher_is_better)
    if table.repeated:
        ranks, left_out = None, []
        no_ranks = (
            f"several columns are of one data set ({', '.join(table.repeated)}), and data sets must be independent of "
            "each other; where(...) keeps one setting"
        )
    without = [f"no tests on {data}: {against} has no value there" for data in values if against not in values[data]]
    for kind, apart in table.apart.items():
        without.append(f"{kind} are not ranked, and tested only as the reference: {', '.join(apart)}")
    return Significance(
        metric=table.metric,
        criterion=table.criterion,
        reference=against,
        test=test,
        alpha=alpha,
        pairs=tuple(pairs_of(values, against, test=test, alpha=alpha, higher_is_better=higher_is_better)),
        ranks=ranks,
        no_ranks=no_ranks,
        notes=(*table.notes, *without, *left_out),
    )
