"""Scores that are those of another method: identical files, and nearly identical orders of the same test rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from pubench_report.rows import Board, problem_of
from pubench_report.rows.record import digest_of

from pubench_core.errors import RecordError
from pubench_core.records.files import Arrays, read_scores
from pubench_core.records.record import Record

from .boards import scores_on_test, stored_scores

Column = npt.NDArray[Any]
#: Scores of test rows with at least this rank correlation (Spearman) are nearly identical. Of eight methods on one
#: split of digits, four epochs each, the highest correlation of two that train differently was .979.
NEARLY = 0.9995
#: Scores with fewer different values say too little: a method that decides every row alike resembles all that do.
_FEWEST_VALUES = 20


@dataclass(frozen=True)
class Alike:
    """A run whose test scores are those of a run of another method."""

    run_id: str
    other_run: str
    other_method: str
    correlation: float
    """of ranks; 1 if identical"""
    identical: bool

    def __str__(self) -> str:
        how = "identical to" if self.identical else f"nearly identical (rank correlation {self.correlation:.6f}) to"
        return f"its test scores are {how} those of {self.other_method} in run {self.other_run}"


class RunScores(NamedTuple):
    """Test scores of a run: array -> scores, on the rows in order."""

    run_id: str
    method: str
    problem: str
    seed: int
    rows: bytes
    scores: Mapping[str, Column]


def resembling(records: Iterable[Record], board: Board | None) -> list[Alike]:
    """Resemblances of records to runs of other methods, on the board and among themselves."""
    mine = []
    for record in records:
        spec = record.result.spec
        try:
            arrays = read_scores(record.folder)
        except RecordError:
            continue  # a problem of the record
        mine.append(_of(arrays, record.result.run_id, spec.method.key, problem_of(spec), spec.seed))
    problems = {(one.problem, one.seed) for one in mine}
    theirs = [] if board is None else [one for one in _of_board(board) if (one.problem, one.seed) in problems]
    return [one for scored in mine for one in alike(scored, [*theirs, *mine], board)]


def _of(arrays: Arrays, run_id: str, method: str, problem: str, seed: int) -> RunScores:
    rows = arrays.get("test_rows", np.empty(0)).tobytes()
    return RunScores(run_id, method, problem, seed, rows, scores_on_test(arrays))


def _of_board(board: Board) -> Iterator[RunScores]:
    """Scores in the archive next to a board; none if the archive is not there."""
    runs = board.rows.drop_duplicates("run_id").set_index("run_id")
    for run_id, arrays in stored_scores(board):
        if run_id in runs.index:
            run = runs.loc[run_id]
            yield _of(arrays, run_id, str(run["method"]), str(run["problem"]), int(run["seed"]))


def alike(mine: RunScores, others: Iterable[RunScores], board: Board | None) -> list[Alike]:
    """Runs of other methods with the test scores of a run, identical ones first; each once.

    Identical is a run that ranks the test rows in the same order in every state. Methods that differ in a correction
    which has not acted yet share some states, honestly; those are nearly identical.

    Without the scores of a board, its digests tell of identical ones.
    """
    found: dict[str, Alike] = {}
    states = [scores for scores in mine.scores.values() if _says_something(scores)]
    for other in others:
        same_rows = (other.problem, other.seed, other.rows) == (mine.problem, mine.seed, mine.rows)
        if other.method == mine.method or not same_rows or not states:
            continue
        best = [max((_correlation(one, theirs) for theirs in other.scores.values()), default=0.0) for one in states]
        if max(best) >= NEARLY:
            found[other.run_id] = Alike(mine.run_id, other.run_id, other.method, max(best), min(best) == 1)
    if board is not None and states:
        digests = {digest_of(scores) for scores in states}
        of_others = board.rows[board.rows["method"] != mine.method]
        for (run_id, method), rows in of_others.groupby(["run_id", "method"]):
            if run_id not in found and (shared := digests & set(rows["scores"])):
                found[run_id] = Alike(mine.run_id, run_id, method, 1.0, shared == digests)
    return sorted(found.values(), key=lambda one: (not one.identical, -one.correlation, one.other_run))


def _correlation(a: Column, b: Column) -> float:
    """Rank correlation of two columns of scores, 1 only if they order the rows alike; 0 if they say too little."""
    from scipy.stats import spearmanr

    if len(a) != len(b) or not (_says_something(a) and _says_something(b)):
        return 0.0
    if np.array_equal(np.unique(a, return_inverse=True)[1], np.unique(b, return_inverse=True)[1]):
        return 1.0
    return min(float(spearmanr(a, b).statistic), math.nextafter(1.0, 0.0))


def _says_something(scores: Column) -> bool:
    return len(np.unique(scores)) >= _FEWEST_VALUES
