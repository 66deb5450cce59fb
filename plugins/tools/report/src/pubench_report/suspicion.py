"""Test measures that a method can hardly have come by: perfect ones, and those above the oracle's on the same split.

A method that carries the data reaches both. They are no proof: a small or easy test part gives them to honest ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from pubench_core.results import Result, at_prior_name

#: Measures that can head a result: both decisions, and the order.
MEASURES = ("accuracy", at_prior_name("accuracy"), "auc")
#: Standard errors of the difference of two measures by which one must be higher than the other.
STANDARD_ERRORS = 3.0
#: Runs that are named below a table.
FEW = 5


class ScoredRun(NamedTuple):
    """Test measures of a run, by both decisions and by the order alone; ``name``: in words.

    ``split``: what decides the test rows and their labels. ``positive``: positive ones among the ``rows``.
    """

    run_id: str
    name: str
    split: str
    values: Mapping[str, float]
    rows: int
    positive: int
    oracle: bool

    @classmethod
    def of(cls, result: Result) -> ScoredRun | None:
        """Scores of a run; None without true labels."""
        measured = result.test if result.selected in result.criteria else {}
        values = {name: value for name in MEASURES if (value := measured.get(name)) is not None}
        test, spec = getattr(result.data, "test", None), result.spec  # a file of rows does not say how many rows
        if not values or test is None:
            return None
        split = f"{spec.seed} {spec.data.model_dump_json(exclude={'scheme', 'total'})}"
        name = f"{spec.method.key} on {spec.data.key}, seed {spec.seed}"
        return cls(result.run_id, name, split, values, test.rows, test.positive or 0, result.oracle)

    def variance(self, measure: str) -> float:
        """Squared standard error as of independent rows: binomial, and of an AUC by Hanley and McNeil (1982)."""
        value, negative = self.values[measure], self.rows - self.positive
        if measure != "auc":
            return value * (1 - value) / self.rows
        if not self.positive or not negative:
            return math.inf
        q1, q2, square = value / (2 - value), 2 * value**2 / (1 + value), value**2
        sums = value * (1 - value) + (self.positive - 1) * (q1 - square) + (negative - 1) * (q2 - square)
        return sums / (self.positive * negative)


def lines_on(results: Iterable[Result]) -> list[str]:
    """:func:`too_good` in words, for the notes of tables: the first few."""
    found = [f"{run.name}: {why}" for run, why in too_good(filter(None, map(ScoredRun.of, results)))]
    return [*found[:FEW], *([f"and {len(found) - FEW} more runs like that"] if len(found) > FEW else [])]


def too_good(runs: Iterable[ScoredRun]) -> Iterator[tuple[ScoredRun, str]]:
    """Runs, and why the first such test measure of theirs is to be looked at; oracles are not.

    An oracle on the same test rows is compared if there is one among the runs.
    """
    kept = list(runs)
    oracles: dict[tuple[str, str], ScoredRun] = {}
    for run in kept:
        for measure, value in run.values.items() if run.oracle else ():
            best = oracles.setdefault((run.split, measure), run)
            oracles[run.split, measure] = run if value > best.values[measure] else best
    for run in kept:
        for measure, value in run.values.items() if not run.oracle else ():
            oracle, rows = oracles.get((run.split, measure)), f"{run.rows:,} rows"
            if value >= 1:
                yield run, f"its test {measure} is 1 on {rows}"
                break
            if oracle is None:
                continue
            error, theirs = math.sqrt(run.variance(measure) + oracle.variance(measure)), oracle.values[measure]
            if value - theirs > STANDARD_ERRORS * error:
                said = f"its test {measure} of {value:.4f} is above the oracle's {theirs:.4f} on the same {rows}"
                yield run, said
                break
