"""Decisions of a result on a user's own rows without known truth, from the scores that its record keeps.

Nothing here is an accuracy. The share decided positive is next to the share that the given prior implies. Labeled
positives that were held out of training say how many positives are found; as they helped to choose the epoch, a little
of that is luck.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pubench_core.data.labeled import BoolArray
from pubench_core.records.files import SCORES, Arrays, predictions_in, read_scores
from pubench_core.records.scores import scores_of
from pubench_core.results import Result
from pubench_core.specs import is_one_sample, unlabeled_prior

if TYPE_CHECKING:
    from pandas import DataFrame

    from pubench import RunResult

#: The given prior, and what it would be if it were off by a fifth.
FACTORS = (0.8, 1.0, 1.2)


@dataclass(frozen=True)
class TopRows:
    """Highest scores among the unlabeled rows, as many (``share``, ``rows``) as ``factor`` times the prior says.

    ``threshold``: the lowest of them, None if there are none; ``reached``: held-out labeled positives above it.
    """

    factor: float
    prior: float
    share: float
    rows: int
    threshold: float | None
    reached: int


@dataclass(frozen=True)
class Decisions:
    """``unlabeled`` rows, labeled positives ``held_out`` in the validation part, and ``known_negative`` rows, which no
    method trained on; how many of each have a score above 0: ``decided``, ``recalled`` and ``mistaken``.

    ``top``: for the given prior and for one a fifth lower and higher; empty where no prior is known.
    """

    unlabeled: int
    decided: int
    held_out: int
    recalled: int
    top: tuple[TopRows, ...]
    known_negative: int = 0
    mistaken: int = 0

    @property
    def told(self) -> TopRows | None:
        """The highest scores at the given prior; None where none is known."""
        return next((rows for rows in self.top if rows.factor == 1.0), None)


def decisions_of(
    result: Result, arrays: Arrays, labeled: int, known_negative: BoolArray | None = None
) -> Decisions | None:
    """Decisions of a run on a user's table, in the selected state; None for another data set.

    ``arrays``: its stored scores. ``labeled``: labeled rows of the whole table. ``known_negative``: (n,) of its rows.
    """
    scores = scores_of(arrays, result.chosen.snapshot)
    if "unlabeled" not in scores:
        return None
    negative = np.zeros(len(scores["unlabeled"]), bool)
    if known_negative is not None:
        negative = known_negative[arrays["unlabeled_rows"]]
    unlabeled, negatives = scores["unlabeled"][~negative], scores["unlabeled"][negative]
    held_out = scores.get("validation", unlabeled[:0])[arrays["validation_labeled"].astype(bool)]
    prior = result.data.prior.given
    taken = labeled if is_one_sample(result.spec.data.scheme) else 0
    top, n = list[TopRows](), len(unlabeled)
    for factor, assumed in [(f, f * prior) for f in FACTORS if prior is not None and f * prior < 1]:
        # labeled rows that are part of the draw from the population are positives that U lacks
        share = min(max(unlabeled_prior(assumed, taken, n + taken), 0.0), 1.0)
        rows = round(share * n)
        threshold = float(np.partition(unlabeled, n - rows)[n - rows]) if rows else None
        reached = int((held_out >= threshold).sum()) if threshold is not None else 0
        top.append(TopRows(factor, assumed, share, rows, threshold, reached))
    above = [int((some > 0).sum()) for some in (unlabeled, held_out, negatives)]
    return Decisions(n, above[0], len(held_out), above[1], tuple(top), len(negatives), above[2])


def decisions(run: RunResult) -> Decisions:
    """Decisions of a run on the unlabeled rows of a user table, next to the number that the prior implies, and how
    that would move if the prior were off by a fifth; the command line prints it below such a result.

    Raises ValueError for a data set, or if the run kept no scores.
    """
    there = (run.folder / SCORES).exists()
    found = decisions_of(run.result, read_scores(run.folder), run.result.labeled) if there else None
    if found is None:
        raise ValueError(f"run {run.run_id} has no decisions; they need a user table (pubench.data) and stored scores")
    return found


def predictions(run: RunResult) -> DataFrame:
    """Row, score, rank and decision of the unlabeled rows of a user table, highest score first.

    Columns that name the rows (left out of the features as ids, or dropped) are next to ``row``, as texts.

    Raises ValueError where the labels were simulated.
    """
    import pandas as pd

    path = predictions_in(run.folder, run.result.selected)
    if not path.exists():
        raise ValueError(f"run {run.run_id} has no predictions; only runs on user tables (pubench.data) keep them")
    numbers = {"row": int, "score": float, "rank": int, "decision": int, "decision_at_prior": int}
    found = pd.read_csv(path, dtype=str, keep_default_na=False)  # everything else names the rows
    found = found.astype({name: kind for name, kind in numbers.items() if name in found.columns})
    return found.sort_values("rank", ignore_index=True)
