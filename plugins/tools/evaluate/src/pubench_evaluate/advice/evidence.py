"""Evidence for a method: held-out labeled positives, agreement with bagged trees, and checked rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pubench_core.randomness import stream

from ..audit import AuditResult, AuditSample, answered, audit_answers
from ..audit.sheet import read_sheet

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]

#: Draws behind an interval.
DRAWS = 2000
#: Of fewer checked rows of a class, every draw is alike, and an interval would be too narrow.
FEWEST_CHECKED = 3
#: 95 % of a normal distribution lie within so many standard deviations.
Z = 1.96


@dataclass(frozen=True)
class OverBagging:
    """A method's measure minus that of bagged trees. ``interval``: 95 %. ``better``: how sure it is that it is above 0.

    ``value``, ``reference``: of the method and of bagged trees themselves.
    """

    value: float
    reference: float
    difference: float
    interval: tuple[float, float]
    better: float


def pauc_difference(scores: FloatArray, reference: FloatArray, labeled: BoolArray) -> OverBagging:
    """Held-out PAUC of both and its difference (DeLong, DeLong and Clarke-Pearson 1988).

    ``scores``, ``reference``: (n,) out-of-fold scores. PAUC compares methods only if labels are SCAR.
    """
    from scipy.stats import norm

    of_labeled, of_unlabeled = zip(*(_placements(s, labeled) for s in (scores, reference)), strict=True)
    values = [float(placed.mean()) for placed in of_labeled]
    difference = values[0] - values[1]
    variance = sum(float(np.var(one - other, ddof=1)) / len(one) for one, other in (of_labeled, of_unlabeled))
    deviation = max(variance, 1e-16) ** 0.5
    interval = (difference - Z * deviation, difference + Z * deviation)
    return OverBagging(values[0], values[1], difference, interval, float(norm.cdf(difference / deviation)))


def _placements(scores: FloatArray, labeled: BoolArray) -> tuple[FloatArray, FloatArray]:
    """For each labeled row the share of unlabeled rows below it, for each unlabeled row that of labeled ones above."""
    p, u = scores[labeled], scores[~labeled]

    def below(values: FloatArray, others: FloatArray) -> FloatArray:
        ordered = np.sort(others)
        both = np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")
        return np.asarray(both / (2 * len(others)))

    return below(p, u), 1 - below(u, p)


def found_at(scores: FloatArray, labeled: BoolArray, budget: int) -> float:
    """Share of held-out labeled positives that score above the ``budget``-th highest unlabeled row."""
    threshold = np.partition(scores[~labeled], -budget)[-budget]
    return float((scores[labeled] >= threshold).mean())


@dataclass(frozen=True)
class Agreement:
    """How alike two rankings of the unlabeled rows are. ``rank``: Spearman's correlation; ``top``: shared rows of the
    ``budget`` highest.
    """

    rank: float
    top: float


def agreement(scores: FloatArray, reference: FloatArray, labeled: BoolArray, budget: int) -> Agreement:
    """Rank correlation of the (n,) scores of two methods."""
    from scipy.stats import spearmanr

    one, other = scores[~labeled], reference[~labeled]
    both = np.intersect1d(highest(one, budget), highest(other, budget))
    return Agreement(float(spearmanr(one, other).statistic), len(both) / budget)


def highest(scores: FloatArray, budget: int) -> IntArray:
    """Positions of the ``budget`` highest scores; of equal ones, the first."""
    return np.argsort(-scores, kind="stable")[:budget]


# -------------------------------------------------------------------- checked rows


@dataclass(frozen=True)
class Checked:
    """Checked unlabeled rows. ``rows``: (n,) positions in the table; ``positive``: (n,) bool; ``weight``: (n,) how many
    unlabeled rows each stands for by the design of the draw; ``band``: (n,) the band of the score that it was drawn in.
    """

    rows: IntArray
    positive: BoolArray
    weight: FloatArray
    band: IntArray

    @classmethod
    def of(cls, sample: AuditSample, answers: Mapping[int, int]) -> Checked:
        """``answers``: number of a row -> 1 or 0; rows without an answer are left out."""
        numbers, band = sample.to_check, sample.band
        answered = np.array([int(number) in answers for number in numbers], dtype=bool)
        per_band = np.bincount(band[answered], minlength=len(sample.bands))
        size = np.array([rows for _, _, rows, _ in sample.bands])
        kept, of_band = numbers[answered], band[answered]
        positive = np.array([answers[int(number)] == 1 for number in kept], dtype=bool)
        return cls(kept, positive, (size / np.maximum(per_band, 1))[of_band], of_band)


@dataclass(frozen=True)
class Audited:
    """``result``: what the answers say, by design of the draw; ``checked``: the rows; ``sample``: the draw."""

    result: AuditResult
    checked: Checked
    sample: AuditSample


def read_answers(sheet: Path, folder: Path) -> Audited:
    """A filled sheet; its design is looked for next to it and in ``folder``. Raises RequestError."""
    sample, given = read_sheet(sheet, field="audited", folders=[folder])
    values = answered(sample, given)
    known = {int(number): int(value) for number, value in zip(sample.to_check, values, strict=True) if value >= 0}
    return Audited(audit_answers(sample, given), Checked.of(sample, known), sample)


def checked_difference(
    scores: FloatArray, reference: FloatArray, checked: Checked, seed: int = 0
) -> OverBagging | None:
    """AUC on the unlabeled rows by checked rows, weighted by the design: no prior and no SCAR is assumed.

    Interval and certainty are from draws of the checked rows, band by band. None with fewer than
    :data:`FEWEST_CHECKED` positives or negatives. It is the measure for a review, too: of the rows that only one
    method has in its top, a sheet has few.
    """
    positives = int(checked.positive.sum())
    if min(positives, len(checked.positive) - positives) < FEWEST_CHECKED:
        return None
    draws = _drawn(checked.band, stream(seed, "advice from checked rows"))
    (value, drawn), (of_reference, drawn_reference) = (
        _weighted_auc(of_method[checked.rows], checked, draws) for of_method in (scores, reference)
    )
    differences = drawn - drawn_reference
    finite = differences[np.isfinite(differences)]
    if not len(finite):
        return None
    low, high = np.percentile(finite, [2.5, 97.5])
    better = float((finite > 0).mean() + (finite == 0).mean() / 2)
    return OverBagging(value, of_reference, value - of_reference, (float(low), float(high)), better)


def _drawn(band: IntArray, rng: np.random.Generator) -> FloatArray:
    """(DRAWS, n) how often each row is in each bootstrap sample; bands keep their sizes."""
    counts = np.zeros((DRAWS, len(band)))
    for k in np.unique(band):
        inside = np.flatnonzero(band == k)
        counts[:, inside] = rng.multinomial(len(inside), np.full(len(inside), 1 / len(inside)), DRAWS)
    return counts


def _weighted_auc(scores: FloatArray, checked: Checked, draws: FloatArray) -> tuple[float, FloatArray]:
    """The AUC that the whole of U would have by the weights, and that of every draw (NaN without one class)."""
    positive = checked.positive
    above = (scores[positive][:, None] > scores[~positive][None, :]) + 0.5 * (
        scores[positive][:, None] == scores[~positive][None, :]
    )
    counts = np.vstack([np.ones(len(scores)), draws]) * checked.weight
    p, n = counts[:, positive], counts[:, ~positive]
    with np.errstate(invalid="ignore", divide="ignore"):
        found = np.einsum("ij,jk,ik->i", p, above, n, optimize=True) / (p.sum(1) * n.sum(1))
    return float(found[0]), found[1:]
