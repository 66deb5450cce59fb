"""Results next to a dated board: the rank of each method among the board's on the same problem and criterion."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from pubench_core.errors import counted, unknown

from ..cells import mean_and_std
from ..published import Figure, standard_error, verdict_of
from ..results import Results
from ..rows import Board, problem_of
from .published_cells import cells_of, figure_of, first_of, grid_of_results
from .result import Beside, LeftOut, difference_texts, figure_fields

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class ProblemRank:
    """One method on one problem of the board. ``rank``: 1 is the best of ``of`` methods, this one included.

    ``best``: of the board's other methods. ``older``: runs of the board's that are of another engine revision than the
    board, or of an unknown one.
    """

    method: str
    data: str
    oracle: bool
    mine: Figure
    rank: int
    of: int
    best_method: str
    best: Figure
    older: frozenset[str]

    @property
    def difference(self) -> float:
        """Mine minus the best of the board."""
        return self.mine.mean - self.best.mean

    def texts(self) -> list[str]:
        """The cell as it is printed, in the order of :attr:`BoardStanding.head`."""
        rank = "oracle, not ranked" if self.oracle else f"{self.rank} of {self.of}"
        best = f"{self.best_method} {self.best}"
        return [self.method, self.data, str(self.mine), rank, best, *difference_texts(self.mine, self.best)]


@dataclass(frozen=True)
class BoardStanding(Beside):
    """Results among the methods of a board. Prints as text; in a notebook as a table. Figures are in percent."""

    head: ClassVar[tuple[str, ...]] = (
        "method", "data", "mine", "rank", "best of the board", "difference ± SE", "within 2 SE",
    )  # fmt: skip
    text_columns: ClassVar[tuple[int, ...]] = (4, 6)
    fields: ClassVar[tuple[str, ...]] = (
        "board", "method", "data", "oracle", "measure", "criterion", "mean", "std", "n", "alike", "rank", "of",
        "best_method", "best_mean", "best_std", "best_n", "best_alike", "difference", "standard_error", "verdict",
    )  # fmt: skip

    board: str
    measure: str
    criterion: str
    cells: tuple[ProblemRank, ...]
    left_out: tuple[LeftOut, ...]
    notes: tuple[str, ...] = ()

    def title(self) -> str:
        """Title of the table."""
        return f"{self.measure} (test, percent) next to {self.board}: mean ± sample standard deviation (runs)"

    def heading(self) -> list[str]:
        """The answer: a line for each method. Then what the compared runs have in common."""
        lines = []
        for method in dict.fromkeys(cell.method for cell in self.cells if not cell.oracle):
            mine = [cell for cell in self.cells if cell.method == method and not cell.oracle]
            ranks = ", ".join(f"{cell.rank} of {cell.of} on {cell.data}" for cell in mine)
            if len(mine) > 3:
                ranks = f"{statistics.median(cell.rank for cell in mine):g} (median of {len(mine)} problems)"
            below = statistics.fmean(cell.difference for cell in mine)
            lines.append(f"{method}: rank {ranks}; {below:+.2f} points to the best of the board on average")
        return [
            *lines,
            f"compared: the same data, labeling, prior and validation part, epoch chosen by {self.criterion}",
        ]

    def remarks(self) -> list[str]:
        """Left-out methods and notes."""
        lines = [*([] if self.cells else ["nothing to compare"]), *self._left_out()]
        if older := frozenset().union(*(cell.older for cell in self.cells)):
            lines.append(f"{counted(len(older), 'run')} of the board: another engine revision than its own, or unknown")
        return [*lines, *(f"note: {note}" for note in self.notes)]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, for JSON."""
        left_out = [{"method": one.method, "data": one.data, "why": one.why} for one in self.left_out]
        return {"board": self.board, "cells": self.to_rows(), "left_out": left_out, "notes": self.remarks()}

    def _row(self, cell: ProblemRank) -> dict[str, Any]:
        return {
            "board": self.board,
            "method": cell.method,
            "data": cell.data,
            "oracle": cell.oracle,
            "measure": self.measure,
            "criterion": self.criterion,
            "rank": None if cell.oracle else cell.rank,
            "of": cell.of,
            "best_method": cell.best_method,
            "difference": cell.difference,
            "standard_error": standard_error(cell.mine, cell.best),
            "verdict": verdict_of(cell.mine, cell.best),
            **figure_fields(**{"": cell.mine, "best_": cell.best}),
        }


def beside_board(
    results: Results, board: Board, *, criterion: str | None = None, measure: str | None = None
) -> BoardStanding:
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
    cells, left_out = [], []
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
            better = sum(one.mean > figure.mean for one in figures.values())
            older = frozenset(there[there["revision"] != str(board.facts.get("engine_revision"))]["run_id"])
            rank = (1 + better, 1 + len(others), best, figures[best], older)
            cells.append(ProblemRank(row, column, row in grid.oracles, figure, *rank))
    return BoardStanding(str(board), measure, mine.criterion, tuple(cells), tuple(left_out), tuple(grid.notes))


def _figure(runs: DataFrame, measure: str) -> Figure:
    mean, std = mean_and_std(100 * float(value) for value in runs[f"test_{measure}"])
    assert mean is not None  # groups are not empty
    return Figure(mean, std, len(runs), int(runs["alike"].sum()))
