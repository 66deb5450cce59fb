"""Results next to a dated board: the rank of each method among the board's on the same problem and criterion."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pubench_core.errors import counted, unknown

from ..cells import mean_and_std
from ..published import Figure
from ..results import Results
from ..rows import Board, problem_of
from .published_cells import cells_of, figure_of, first_of, grid_of_results
from .result import ComparedCell, LeftOut, SideBySide

if TYPE_CHECKING:
    from pandas import DataFrame


def beside_board(
    results: Results, board: Board, *, criterion: str | None = None, measure: str | None = None
) -> SideBySide:
    """The rank of each method of the results on each problem, among the methods of a board with runs on it.

    A problem is all that decides a run but method, network and seed. Oracle methods are not ranked. The board's own
    runs of a method of the results do not count against it.

    ``criterion``: None means the one that names the results; ``measure``: None means accuracy.

    Raises RequestError for a measure or criterion that the board does not have.
    """
    measure = measure or "accuracy"
    if measure not in board.measures:
        raise unknown(f"measure of {board}", measure, board.measures)
    mine = results.table(measure, criterion)  # says what is wrong with a measure or a criterion
    criterion = mine.criterion.removesuffix(" (oracle)")
    if criterion not in (known := sorted(set(board.rows["criterion"]))):
        raise unknown(f"criterion of {board}", criterion, known)
    rows = board.rows[(board.rows["criterion"] == criterion) & ~board.rows["oracle"]].dropna(subset=[f"test_{measure}"])
    grid = grid_of_results(results)
    cells, left_out, older = [], [], set[str]()
    for row, column, cell in cells_of(grid):
        there = rows[rows["problem"] == problem_of(first_of(cell).result.spec)]
        own = set(there[there["run_id"].isin([run.run_id for run in cell.runs.values()])]["name"]) | {row}
        others = {str(name): group for name, group in there[~there["name"].isin(own)].groupby("name")}
        figure = figure_of(cell, criterion, measure, 100.0)
        if not others:
            left_out.append(LeftOut(row, column, f"{board} has no other method on the same problem"))
        elif figure is None:
            left_out.append(LeftOut(row, column, f"no run has a value of {measure} by {criterion}"))
        else:
            figures = {name: _figure(group, measure) for name, group in others.items()}
            best = max(figures, key=lambda name: figures[name].mean)
            rank = 1 + sum(one.mean > figure.mean for one in figures.values())
            sides = (figure, figures[best], None)
            cells.append(ComparedCell(row, column, row in grid.oracles, *sides, rank, 1 + len(others), best))
            older |= {*there[there["revision"] != str(board.facts.get("engine_revision"))]["run_id"]}
    said = f"{counted(len(older), 'run')} of the board: another engine revision than its own, or unknown"
    return SideBySide(
        theirs=str(board),
        citation="",
        alike=f"the same data, labeling, prior and validation part, epoch chosen by {mine.criterion}",
        measure=measure,
        criterion=criterion,
        percent=True,
        cells=tuple(cells),
        left_out=tuple(left_out),
        notes=(*grid.notes, *([said] if older else [])),
        board=True,
    )


def _figure(runs: DataFrame, measure: str) -> Figure:
    mean, std = mean_and_std(100 * float(value) for value in runs[f"test_{measure}"])
    assert mean is not None  # groups are not empty
    return Figure(mean, std, len(runs), int(runs["alike"].sum()))
