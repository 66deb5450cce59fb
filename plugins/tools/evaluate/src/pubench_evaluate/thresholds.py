"""Where to cut a ranking: thresholds for a budget of reviews or a target recall, and how many positives lie above."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pubench_core.errors import RequestError, shown
from pubench_core.randomness import stream

from .scored_rows import FloatArray, ScoredRows

#: Draws behind an interval of the number of positives above a threshold.
DRAWS = 4000
#: How many rows somebody might review, and which recalls somebody might want, unless others are asked for.
BUDGETS, RECALLS = (50, 100, 200, 500, 1000), (0.8, 0.9, 0.95)
_LEVEL = 0.95


@dataclass(frozen=True)
class Shares:
    """α, the share of positives in U, and where it lies; β of the labeled rows, which is taken as known.

    ``value`` is None where nothing is believed of the prior. ``prior``: both ends of π, where α follows from it and
    from the share of rows that are labeled, which is itself a matter of chance.
    """

    value: float | None
    interval: tuple[float, float] | None = None
    purity: float = 1.0
    prior: tuple[float, float] | None = None

    @property
    def identified(self) -> bool:
        """Whether rates can be recovered: β is 1, or α is known and below β."""
        return self.purity == 1 or (self.value is not None and self.value < self.purity)

    @property
    def at_value(self) -> Shares:
        """The same with the prior in the middle of its interval, as if it were known."""
        middle = None if self.prior is None else sum(self.prior) / 2
        return replace(self, interval=None, prior=None if middle is None else (middle, middle))


@dataclass(frozen=True)
class ThresholdCut:
    """Counts and shares above one threshold.

    ``rows``: rows of U there, ``share``: of U; ``tied``: (picked, of) rows of U with the lowest score, if only a random
    pick of them is within the budget. ``all_rows``: unlabeled rows there, of all that the card is about (equal to
    ``rows`` unless the scores are those of a part). ``labeled``: labeled rows there, of equal scores the share that is
    picked; ``recall``: the share of positives found, as the labeled rows say it, with ``recall_interval``.
    ``implied``: positives among ``all_rows`` by the prior and the labeled rows, which may be more than there are rows.
    ``expected``, ``expected_interval``: the same, at most ``all_rows``; None if the prior is unknown or nothing can be
    expected. ``contradicted``: at the prior used, more than 95 % of the draws have more positives than rows.
    ``budget``, ``target``: what the threshold was made for.
    """

    threshold: float
    rows: int
    share: float
    labeled: float
    recall: float | None
    recall_interval: tuple[float, float] | None
    expected: float | None
    expected_interval: tuple[float, float] | None
    contradicted: bool = False
    budget: int | None = None
    target: float | None = None
    all_rows: int = 0
    implied: float | None = None
    tied: tuple[int, int] | None = None

    @property
    def infeasible(self) -> bool:
        """Whether the prior and the labeled rows imply more positives than there are rows."""
        return self.implied is not None and self.implied > self.all_rows * (1 + 1e-9)


def threshold_of_budget(rows: ScoredRows, budget: int) -> float:
    """Above it lie the ``budget`` highest scores of U; more if others are equal to the lowest of these."""
    scores = np.sort(rows.of_unlabeled)[::-1]
    lowest = float(scores[min(budget, len(scores)) - 1])
    lower = scores[scores < lowest]
    return _midpoint(float(lower[0]), lowest) if len(lower) else float(np.nextafter(lowest, -np.inf))


def threshold_of_recall(rows: ScoredRows, target: float, shares: Shares) -> float | None:
    """The highest threshold above which the share ``target`` of the positives lies, by the labeled rows.

    None where labeled rows are not all positive and the prior is unknown, or no threshold reaches the target.
    """
    if not shares.identified:
        return None
    labeled, unlabeled = np.sort(rows.of_labeled), np.sort(rows.of_unlabeled)
    candidates = np.unique(labeled)[::-1]
    of_labeled = 1 - np.searchsorted(labeled, candidates, "left") / len(labeled)
    of_unlabeled = 1 - np.searchsorted(unlabeled, candidates, "left") / len(unlabeled)
    reached = np.flatnonzero(recall_of(of_labeled, of_unlabeled, shares.value or 0.0, shares.purity) >= target - 1e-12)
    if not len(reached):
        return None
    lowest = float(candidates[reached[0]])
    everything = np.concatenate([labeled, unlabeled])
    below = everything[everything < lowest]
    return _midpoint(float(below.max()), lowest) if len(below) else float(np.nextafter(lowest, -np.inf))


def recall_of(of_labeled: FloatArray, of_unlabeled: FloatArray, share: float | FloatArray, purity: float) -> FloatArray:
    """γ of the shares of labeled and of unlabeled rows that are decided positive.

    [(1 - α) γ_pu - (1 - β) η_pu] / (β - α) (Jain et al. 2017); γ_pu where all labeled rows are positive.
    """
    if purity == 1:
        return of_labeled
    return np.asarray(((1 - share) * of_labeled - (1 - purity) * of_unlabeled) / (purity - share))


def cut_at(
    rows: ScoredRows,
    threshold: float,
    shares: Shares,
    rng: np.random.Generator,
    *,
    budget: int | None = None,
    target: float | None = None,
    all_rows: int | None = None,
    n_all: int | None = None,
    most: int | None = None,
) -> ThresholdCut:
    """Counts and shares above a threshold.

    Intervals are percentiles of :data:`DRAWS` draws: the share of labeled rows above from its Jeffreys posterior, the
    prior uniform on its interval, the share of labeled rows from its Jeffreys posterior, too, where α follows from it
    and the prior, and the number of positives above binomial among all of U, at most all rows above. ``n_all``: how
    many unlabeled rows U is a random part of; then the share of U above is drawn from its Jeffreys posterior as well.
    ``all_rows``: how many of them are above; by default as large a share as of U. ``most``: rows of U that are taken;
    if more are above, a random pick among those with the lowest score is left out.
    """
    n_labeled, n_unlabeled = rows.n_labeled, len(rows.unlabeled)
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
    of_all = n_unlabeled if n_all is None else n_all
    all_rows = round(above * of_all / n_unlabeled) if all_rows is None else all_rows
    of_unlabeled = np.full(DRAWS, above / n_unlabeled)
    alpha = _drawn(shares, n_labeled, len(rows.scores), rng)
    recall = implied = expected = None
    recalls = counts = None
    contradicted = False
    if shares.identified:
        point = np.array([labeled / n_labeled])
        recall = float(_unit(recall_of(point, of_unlabeled[:1], shares.value or 0.0, shares.purity))[0])
        recalls = _unit(_recalls(drawn, of_unlabeled, alpha, shares))
        if shares.value is not None:
            eta = rng.beta(above + 0.5, n_unlabeled - above + 0.5, DRAWS) if of_all > n_unlabeled else of_unlabeled
            scale = all_rows / (of_all * eta) if above else np.zeros(DRAWS)
            counts = np.minimum(rng.binomial(of_all, alpha * recalls) * scale, all_rows)
            at_value = _drawn(shares.at_value, n_labeled, len(rows.scores), rng)
            least = rng.binomial(of_all, at_value * _unit(_recalls(drawn, of_unlabeled, at_value, shares))) * scale
            contradicted = float((least > all_rows).mean()) > _LEVEL
            implied = shares.value * recall * all_rows * n_unlabeled / above if above else 0.0
            expected = min(implied, float(all_rows))
    return ThresholdCut(
        threshold=threshold,
        rows=above,
        share=above / n_unlabeled,
        labeled=labeled,
        recall=recall,
        recall_interval=_percentiles(recalls),
        expected=expected,
        expected_interval=_percentiles(counts),
        contradicted=contradicted,
        budget=budget,
        target=target,
        all_rows=all_rows,
        implied=implied,
        tied=tied,
    )


@dataclass(frozen=True)
class Cuts:
    """Thresholds of one table, each with a stream of its own.

    ``n_all``: how many unlabeled rows there are, if U is a random part of them; budgets and counts are of all.
    """

    rows: ScoredRows
    shares: Shares
    seed: int
    n_all: int | None = None

    def _at(self, threshold: float, **made_for: Any) -> ThresholdCut:
        rng = stream(self.seed, "evaluation cut")
        return cut_at(self.rows, threshold, self.shares, rng, n_all=self.n_all, **made_for)

    def chosen(self, threshold: float | None, budget: int | None, recall: float | None) -> ThresholdCut:
        """The cut that was asked for. Raises RequestError for more than one, or for one that cannot be."""
        asked_for = [
            name for name, v in (("threshold", threshold), ("budget", budget), ("recall", recall)) if v is not None
        ]
        if len(asked_for) > 1:
            raise RequestError(
                f"{asked_for[1]}: {asked_for[0]} is given as well; leave one of the two out", field=asked_for[1]
            )
        if budget is not None:
            return self._budget(budget)
        if recall is not None:
            return self._recall(recall)
        value = 0.0 if threshold is None else threshold
        if not np.isfinite(value):
            raise RequestError(f"threshold must be a finite number, got {value}", field="threshold", value=value)
        return self._at(float(value))

    def _budget(self, budget: int) -> ThresholdCut:
        n = self.n_all or len(self.rows.unlabeled)
        if not 1 <= budget <= n:
            raise RequestError(
                f"budget must be from 1 to {n}, the number of unlabeled rows, got {shown(budget)}",
                field="budget",
                value=budget,
            )
        if not (of_part := self._of_part(budget)):
            n_part = len(self.rows.unlabeled)
            raise RequestError(
                f"budget={budget} of {n} unlabeled rows is less than one of the {n_part} with a score; give at least "
                f"{n // (2 * n_part) + 1}",
                field="budget",
                value=budget,
            )
        return self._at(threshold_of_budget(self.rows, of_part), budget=int(budget), all_rows=int(budget), most=of_part)

    def _of_part(self, budget: int) -> int:
        """The share of all rows that a budget is, in rows of U."""
        n_part = len(self.rows.unlabeled)
        return budget if self.n_all is None else round(budget * n_part / self.n_all)

    def _recall(self, target: float) -> ThresholdCut:
        if not 0 < target <= 1:
            raise RequestError(f"recall must be in (0, 1], got {shown(target)}", field="recall", value=target)
        found = threshold_of_recall(self.rows, target, self.shares)
        if found is None:
            why = "purity below 1 needs a prior below it" if not self.shares.identified else "no threshold reaches it"
            raise RequestError(f"recall={target:g}: {why}; give a threshold", field="recall", value=target)
        return self._at(found, target=target)

    def budgets(self, asked_for: int | None) -> tuple[ThresholdCut, ...]:
        """Cuts at the usual budgets, and at the requested one."""
        wanted = sorted({*BUDGETS, *([asked_for] if asked_for else [])})
        n = self.n_all or len(self.rows.unlabeled)
        return tuple(self._budget(budget) for budget in wanted if budget <= n and self._of_part(budget))

    def recalls(self, asked_for: float | None) -> tuple[ThresholdCut, ...]:
        """Cuts at the thresholds for the usual recalls, and for the requested one."""
        found = []
        for target in sorted({*RECALLS, *([asked_for] if asked_for else [])}):
            threshold = threshold_of_recall(self.rows, target, self.shares)
            if threshold is not None:
                found.append(self._at(threshold, target=target))
        return tuple(found)


# -------------------------------------------------------------------- draws and midpoints


def _recalls(of_labeled: FloatArray, of_unlabeled: FloatArray, alpha: FloatArray, shares: Shares) -> FloatArray:
    """γ for each draw; draws of α that are not below β are moved just below it."""
    return recall_of(of_labeled, of_unlabeled, np.minimum(alpha, shares.purity - 1e-6), shares.purity)


def _drawn(shares: Shares, n_labeled: int, n: int, rng: np.random.Generator) -> FloatArray:
    """α for each draw."""
    if shares.prior is not None:
        of_labeled = rng.beta(n_labeled + 0.5, n - n_labeled + 0.5, DRAWS)
        return _unit((rng.uniform(*shares.prior, DRAWS) - shares.purity * of_labeled) / (1 - of_labeled))
    if shares.interval is not None:
        return _unit(rng.uniform(*shares.interval, DRAWS))
    return np.full(DRAWS, shares.value or 0.0)


def _unit(values: FloatArray) -> FloatArray:
    return np.clip(values, 0.0, 1.0)


def _percentiles(draws: FloatArray | None) -> tuple[float, float] | None:
    if draws is None:
        return None
    low, high = np.percentile(draws, [50 * (1 - _LEVEL), 50 * (1 + _LEVEL)])
    return float(low), float(high)


def _midpoint(low: float, high: float) -> float:
    """A number that ``high`` is above and ``low`` is not."""
    middle = low + (high - low) / 2
    return middle if low <= middle < high else low
