"""Where to cut a ranking: thresholds for a budget of reviews or a target recall, and how many positives lie above."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pubench_core.errors import RequestError, shown
from pubench_core.randomness import stream
from pubench_core.specs import is_one_sample

from .belief import Belief, Interval
from .measures import interval_of
from .scored_rows import FloatArray, LabeledScores

#: Draws behind an interval of the number of positives above a threshold.
DRAWS = 4000
#: How many rows somebody might review, and which recalls somebody might want, unless others are asked for.
BUDGETS, RECALLS = (50, 100, 200, 500, 1000), (0.8, 0.9, 0.95)
_LEVEL = 0.95


@dataclass(frozen=True)
class ThresholdCut:
    """Counts and shares above one threshold."""

    threshold: float
    rows: int
    """rows of U there"""
    share: float
    """of U"""
    labeled: float
    """labeled rows there, of equal scores the share that is picked"""
    recall: float | None
    """the share of positives found, as the labeled rows say it"""
    recall_interval: Interval | None
    expected: float | None
    """as ``implied``, at most ``all_rows``; None if the prior is unknown or nothing can be expected"""
    expected_interval: Interval | None
    contradicted: bool = False
    """at the prior used, more than 95 % of the draws have more positives than rows"""
    budget: int | None = None
    """what the threshold was made for, as ``target``"""
    target: float | None = None
    all_rows: int = 0
    """unlabeled rows there, of all that the card is about; equal to ``rows`` unless the scores are those of a part"""
    implied: float | None = None
    """positives among ``all_rows`` by the prior and the labeled rows, which may be more than there are rows"""
    tied: tuple[int, int] | None = None
    """(picked, of) rows of U with the lowest score, if only a random pick of them is within the budget"""

    @property
    def infeasible(self) -> bool:
        """Whether the prior and the labeled rows imply more positives than there are rows."""
        return self.implied is not None and self.implied > self.all_rows * (1 + 1e-9)


def threshold_of_budget(rows: LabeledScores, budget: int) -> float:
    """Above it lie the ``budget`` highest scores of U; more if others are equal to the lowest of these."""
    scores = np.sort(rows.of_unlabeled)[::-1]
    return _just_below(float(scores[min(budget, len(scores)) - 1]), scores)


def threshold_of_recall(rows: LabeledScores, target: float, belief: Belief) -> float | None:
    """The highest threshold above which the share ``target`` of the positives lies, by the labeled rows.

    None where labeled rows are not all positive and the prior is unknown, or no threshold reaches the target.
    """
    if not _identified(belief, rows.purity):
        return None
    labeled, unlabeled = np.sort(rows.of_labeled), np.sort(rows.of_unlabeled)
    candidates = np.unique(labeled)[::-1]
    of_labeled = 1 - np.searchsorted(labeled, candidates, "left") / len(labeled)
    of_unlabeled = 1 - np.searchsorted(unlabeled, candidates, "left") / len(unlabeled)
    reached = np.flatnonzero(recall_of(of_labeled, of_unlabeled, belief.share or 0.0, rows.purity) >= target - 1e-12)
    return _just_below(float(candidates[reached[0]]), rows.scores) if len(reached) else None


def _just_below(lowest: float, scores: FloatArray) -> float:
    """A number that ``lowest`` is above and no lower score is: the middle between them, if it is a number."""
    below = scores[scores < lowest]
    if not len(below):
        return float(np.nextafter(lowest, -np.inf))
    highest = float(below.max())
    middle = highest + (lowest - highest) / 2
    return middle if highest <= middle < lowest else highest


def recall_of(of_labeled: FloatArray, of_unlabeled: FloatArray, share: float | FloatArray, purity: float) -> FloatArray:
    """γ of the shares of labeled and of unlabeled rows that are decided positive.

    [(1 - α) γ_pu - (1 - β) η_pu] / (β - α) (Jain et al. 2017); γ_pu where all labeled rows are positive.
    """
    if purity == 1:
        return of_labeled
    return np.asarray(((1 - share) * of_labeled - (1 - purity) * of_unlabeled) / (purity - share))


@dataclass(frozen=True)
class Cuts:
    """Thresholds of one table, each with a stream of its own."""

    rows: LabeledScores
    belief: Belief
    seed: int
    n_all: int | None = None
    """how many unlabeled rows there are, if U is a random part of them; budgets and counts are of all"""

    @property
    def n_unlabeled(self) -> int:
        """All unlabeled rows."""
        return self.n_all or len(self.rows.unlabeled)

    def chosen(self, threshold: float | None, budget: int | None, recall: float | None) -> ThresholdCut:
        """The cut that was asked for. Raises RequestError for more than one, or for one that cannot be."""
        asked = [
            name for name, v in (("threshold", threshold), ("budget", budget), ("recall", recall)) if v is not None
        ]
        if len(asked) > 1:
            raise RequestError(f"{asked[1]}: {asked[0]} is given as well; leave one of the two out", field=asked[1])
        if budget is not None:
            return self._budget(budget)
        if recall is not None:
            return self._recall(recall)
        value = 0.0 if threshold is None else float(threshold)
        if not np.isfinite(value):
            raise RequestError(f"threshold must be a finite number, got {value}", field="threshold", value=value)
        return self._at(value)

    def budgets(self, asked: int | None) -> tuple[ThresholdCut, ...]:
        """Cuts at the usual budgets, and at the requested one."""
        wanted = sorted({*BUDGETS, *([asked] if asked else [])})
        return tuple(self._budget(one) for one in wanted if one <= self.n_unlabeled and self._of_part(one))

    def recalls(self, asked: float | None) -> tuple[ThresholdCut, ...]:
        """Cuts at the thresholds for the usual recalls, and for the requested one."""
        wanted = sorted({*RECALLS, *([asked] if asked else [])})
        found = [(threshold_of_recall(self.rows, target, self.belief), target) for target in wanted]
        return tuple(self._at(threshold, target=target) for threshold, target in found if threshold is not None)

    def _of_part(self, budget: int) -> int:
        """The share of all rows that a budget is, in rows of U."""
        return budget if self.n_all is None else round(budget * len(self.rows.unlabeled) / self.n_all)

    def _budget(self, budget: int) -> ThresholdCut:
        n = self.n_unlabeled
        if not 1 <= budget <= n:
            raise RequestError(
                f"budget must be from 1 to {n}, the number of unlabeled rows, got {shown(budget)}",
                field="budget",
                value=budget,
            )
        most = max(1, self._of_part(budget))
        return self._at(threshold_of_budget(self.rows, most), budget=int(budget), all_rows=int(budget), most=most)

    def _recall(self, target: float) -> ThresholdCut:
        if not 0 < target <= 1:
            raise RequestError(f"recall must be in (0, 1], got {shown(target)}", field="recall", value=target)
        found = threshold_of_recall(self.rows, target, self.belief)
        if found is None:
            needs = not _identified(self.belief, self.rows.purity)
            why = "purity below 1 needs a prior below it" if needs else "no threshold reaches it"
            raise RequestError(f"recall={target:g}: {why}; give a threshold", field="recall", value=target)
        return self._at(found, target=target)

    def _at(
        self, threshold: float, *, all_rows: int | None = None, most: int | None = None, **made_for: Any
    ) -> ThresholdCut:
        """Counts and shares above a threshold.

        Intervals are percentiles of :data:`DRAWS` draws: the share of labeled rows above from its Jeffreys posterior,
        the prior uniform on its interval, the share of labeled rows from its Jeffreys posterior, too, where α follows
        from it and the prior, and the number of positives above binomial among all of U, at most all rows above. If U
        is a part of all, the share of U above is drawn from its Jeffreys posterior as well.
        ``all_rows``: how many of them are above; by default as large a share as of U. ``most``: rows of U that are
        taken; if more are above, a random pick among those with the lowest score is left out.
        """
        rows, belief, rng = self.rows, self.belief, stream(self.seed, "evaluation cut")
        n_labeled, n_unlabeled, of_all = rows.n_labeled, len(rows.unlabeled), self.n_unlabeled
        labeled, above = float((rows.of_labeled > threshold).sum()), int((rows.of_unlabeled > threshold).sum())
        drawn = rng.beta(labeled + 0.5, n_labeled - labeled + 0.5, DRAWS)
        tied = None
        if most is not None and above > most:
            lowest = rows.of_unlabeled[rows.of_unlabeled > threshold].min()
            equal, of_tie = int((rows.of_unlabeled == lowest).sum()), int((rows.of_labeled == lowest).sum())
            tied, higher = (most - above + equal, equal), int((rows.of_labeled > lowest).sum())
            picked = tied[0] / equal
            drawn = rng.beta(higher + 0.5, n_labeled - higher + 0.5, DRAWS)
            drawn += picked * (1 - drawn) * rng.beta(of_tie + 0.5, n_labeled - higher - of_tie + 0.5, DRAWS)
            labeled, above = higher + picked * of_tie, most
        all_rows = round(above * of_all / n_unlabeled) if all_rows is None else all_rows
        of_unlabeled = np.full(DRAWS, above / n_unlabeled)

        def recalls_at(alpha: FloatArray) -> FloatArray:
            below = np.minimum(alpha, rows.purity - 1e-6)  # draws of α that are not below β are moved just below it
            return np.clip(recall_of(drawn, of_unlabeled, below, rows.purity), 0.0, 1.0)

        alpha = self._alpha(rng, belief.interval, belief.share_interval)
        recall = implied = expected = recalls = counts = None
        contradicted = False
        if _identified(belief, rows.purity):
            point = recall_of(np.array([labeled / n_labeled]), of_unlabeled[:1], belief.share or 0.0, rows.purity)
            recall = float(np.clip(point, 0.0, 1.0)[0])
            recalls = recalls_at(alpha)
            if belief.share is not None:
                eta = rng.beta(above + 0.5, n_unlabeled - above + 0.5, DRAWS) if of_all > n_unlabeled else of_unlabeled
                scale = all_rows / (of_all * eta) if above else np.zeros(DRAWS)
                counts = np.minimum(rng.binomial(of_all, alpha * recalls) * scale, all_rows)
                at_middle = self._alpha(rng, None, None)
                least = rng.binomial(of_all, at_middle * recalls_at(at_middle)) * scale
                contradicted = float((least > all_rows).mean()) > _LEVEL
                implied = belief.share * recall * all_rows * n_unlabeled / above if above else 0.0
                expected = min(implied, float(all_rows))
        return ThresholdCut(
            threshold=threshold,
            rows=above,
            share=above / n_unlabeled,
            labeled=labeled,
            recall=recall,
            recall_interval=None if recalls is None else interval_of(recalls),
            expected=expected,
            expected_interval=None if counts is None else interval_of(counts),
            contradicted=contradicted,
            all_rows=all_rows,
            implied=implied,
            tied=tied,
            **made_for,
        )

    def _alpha(self, rng: np.random.Generator, prior: Interval | None, share: Interval | None) -> FloatArray:
        """α for each draw, if π or α itself lies in an interval; without one, they are taken as known."""
        rows, belief = self.rows, self.belief
        if belief.prior is not None and not belief.estimated and is_one_sample(rows.scheme):
            low, high = prior or (belief.prior, belief.prior)
            n, n_labeled = len(rows.scores), rows.n_labeled
            of_labeled = rng.beta(n_labeled + 0.5, n - n_labeled + 0.5, DRAWS)
            found = (rng.uniform(low, high, DRAWS) - rows.purity * of_labeled) / (1 - of_labeled)
        elif share is not None:
            found = rng.uniform(*share, DRAWS)
        else:
            return np.full(DRAWS, belief.share or 0.0)
        return np.asarray(np.clip(found, 0.0, 1.0))


def _identified(belief: Belief, purity: float) -> bool:
    """Whether rates can be recovered: β is 1, or α is known and below β."""
    return purity == 1 or (belief.share is not None and belief.share < purity)
