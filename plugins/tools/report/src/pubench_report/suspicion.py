"""Test accuracies that a method can hardly have come by: perfect ones, and those above the oracle's on the same split.

A method that carries the data reaches both. They are no proof: a small or easy test part gives them to honest ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from pubench_core.results import Result

#: Standard errors of the difference of two accuracies by which one must be higher than the other.
STANDARD_ERRORS = 3.0
#: Runs that are named below a table.
FEW = 5


class ScoredRun(NamedTuple):
    """Test accuracy of a run; ``name``: in words; ``split``: what decides the test rows and their labels."""

    run_id: str
    name: str
    split: str
    accuracy: float
    rows: int
    oracle: bool

    @classmethod
    def of(cls, result: Result) -> ScoredRun | None:
        """Scores of a run; None without true labels."""
        accuracy = result.test.get("accuracy") if result.selected in result.criteria else None
        test, spec = getattr(result.data, "test", None), result.spec  # a file of rows does not say how many rows
        if accuracy is None or test is None:
            return None
        split = f"{spec.seed} {spec.data.model_dump_json(exclude={'scheme', 'total'})}"
        name = f"{spec.method.key} on {spec.data.key}, seed {spec.seed}"
        return cls(result.run_id, name, split, accuracy, test.rows, result.oracle)


def lines_on(results: Iterable[Result]) -> list[str]:
    """:func:`too_good` in words, for the notes of tables: the first few."""
    found = [f"{run.name}: {why}" for run, why in too_good(filter(None, map(ScoredRun.of, results)))]
    return [*found[:FEW], *([f"and {len(found) - FEW} more runs like that"] if len(found) > FEW else [])]


def too_good(runs: Iterable[ScoredRun]) -> Iterator[tuple[ScoredRun, str]]:
    """Runs, and why their test accuracy is to be looked at; oracles are not.

    An oracle on the same test rows is compared if there is one among the runs.
    """
    kept = list(runs)
    oracles: dict[str, float] = {}
    for run in kept:
        if run.oracle:
            oracles[run.split] = max(run.accuracy, oracles.get(run.split, 0.0))
    for run in kept:
        oracle = oracles.get(run.split)
        if run.oracle:
            continue
        if run.accuracy >= 1:
            yield run, f"its test accuracy is 1 on {run.rows:,} rows"
        elif oracle is not None:
            # as if of independent rows
            error = math.sqrt((run.accuracy * (1 - run.accuracy) + oracle * (1 - oracle)) / run.rows)
            if run.accuracy - oracle > STANDARD_ERRORS * error:
                yield (
                    run,
                    f"its test accuracy of {run.accuracy:.4f} is above the oracle's {oracle:.4f} on the same "
                    f"{run.rows:,} rows",
                )
