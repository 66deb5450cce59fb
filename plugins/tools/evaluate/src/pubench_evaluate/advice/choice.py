"""Candidates, and the rule that chooses: bagged trees, unless rows that a person checked speak for another method.

Held-out labeled positives do not choose. Where labels are not SCAR they prefer the method that finds what looks like
the labeled rows: ``docs/pages/advice.md`` has the measurement, also of the networks and PUET, which are no candidates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from pubench_core.errors import RequestError, shown
from pubench_core.randomness import stream

from ..audit import AuditResult, AuditSample, answered, audit_answers
from ..audit.sheet import read_sheet

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

#: How sure checked rows must be that another method is better. Fixed by ``benchmarks/studies/advice_regret.py`` on the
#: half of the sources that it names, judged on the other half.
SURE = 0.8
#: Draws behind an interval.
DRAWS = 2000
#: Of fewer checked rows of a class, every draw is alike, and an interval would be too narrow.
FEWEST_CHECKED = 3


@dataclass(frozen=True)
class Candidate:
    """A method with its settings."""

    name: str
    """as pages show it"""
    method: str
    config: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.1
    """of one fit of 1,000 rows with 20 columns on one core"""

    @property
    def is_baseline(self) -> bool:
        """Whether it is no PU method: a classifier of labeled against unlabeled rows."""
        return self.method == "naive"

    def expected(self, rows: int, columns: int) -> float:
        """Seconds of one fit, roughly."""
        return 0.1 + self.seconds * float((rows / 1000) ** 0.7) * max(columns / 20, 0.5)


#: The answer unless checked rows speak against it: without them it loses least of all constant choices.
DEFAULT = Candidate("bagged trees", "pu-bagging", {"n_estimators": 100}, seconds=0.1)
#: The others, cheapest first. Seconds: of processor time, on 3,000 to 100,000 rows.
OTHERS = (
    Candidate("logistic regression, P against U", "naive", {"base": "logistic"}, seconds=0.01),
    Candidate("Elkan-Noto, logistic", "elkan-noto", {"base": "logistic"}, seconds=0.01),
    Candidate("two-step, logistic", "two-step", {"base": "logistic"}, seconds=0.02),
    Candidate("boosting, P against U", "naive", {"base": "boosting"}, seconds=0.08),
    Candidate("bagged forest", "pu-bagging", {"base": "forest", "n_estimators": 100}, seconds=0.14),
)


@dataclass(frozen=True)
class AdviceGoal:
    """Purpose of the ranking."""

    kind: Literal["rank", "classify", "review"] = "rank"
    budget: int | None = None
    """how many unlabeled rows are to be reviewed; None unless that is the goal"""

    def __str__(self) -> str:
        return self.kind if self.budget is None else f"{self.kind}:{self.budget}"


def goal_of(text: str) -> AdviceGoal:
    """``rank``, ``classify`` or ``review:200``. Raises RequestError for anything else."""
    kind, colon, number = text.partition(":")
    if kind in ("rank", "classify") and not colon:
        return AdviceGoal(kind)  # type: ignore[arg-type]
    if kind == "review" and number.isdecimal() and int(number) > 0:
        return AdviceGoal("review", int(number))
    raise RequestError(f"goal={shown(text)}: must be rank, classify or review:200", field="goal", value=text)


# -------------------------------------------------------------------- checked rows


@dataclass(frozen=True)
class Checked:
    """Checked unlabeled rows. ``rows``: (n,) positions in the table; ``positive``: (n,) bool; ``weight``: (n,) how many
    unlabeled rows each stands for by the design of the draw; ``band``: (n,) the band of the score that it was drawn in.
    """

    rows: IntArray
    positive: npt.NDArray[np.bool_]
    weight: FloatArray
    band: IntArray

    @classmethod
    def of(cls, sample: AuditSample, answers: Mapping[int, int]) -> Checked:
        """``answers``: number of a row -> 1 or 0; rows without an answer are left out."""
        numbers, band = sample.to_check, sample.band
        known = np.array([int(number) in answers for number in numbers], dtype=bool)
        per_band = np.bincount(band[known], minlength=len(sample.bands))
        size = np.array([rows for _, _, rows, _ in sample.bands])
        kept, of_band = numbers[known], band[known]
        positive = np.array([answers[int(number)] == 1 for number in kept], dtype=bool)
        return cls(kept, positive, (size / np.maximum(per_band, 1))[of_band], of_band)


@dataclass(frozen=True)
class Audited:
    """A sheet that was filled in."""

    sheet: Path
    result: AuditResult
    """what the answers say, by design of the draw"""
    checked: Checked
    sample: AuditSample


def read_answers(sheet: Path, folder: Path) -> Audited:
    """A filled sheet; its design is looked for next to it and in ``folder``. Raises RequestError."""
    sample, given = read_sheet(sheet, field="audited", folders=[folder])
    values = answered(sample, given)
    known = {int(number): int(value) for number, value in zip(sample.to_check, values, strict=True) if value >= 0}
    return Audited(sheet, audit_answers(sample, given), Checked.of(sample, known), sample)


@dataclass(frozen=True)
class OverBagging:
    """AUC of a method minus that of bagged trees, by checked rows."""

    value: float
    reference: float
    difference: float
    interval: tuple[float, float]
    """95 %"""
    better: float
    """how sure it is that the difference is above 0"""

    def __str__(self) -> str:
        return f"{self.difference:+.3f} ({self.interval[0]:+.3f} to {self.interval[1]:+.3f})"


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


def highest(scores: FloatArray, budget: int) -> IntArray:
    """Positions of the ``budget`` highest scores; of equal ones, the first."""
    return np.argsort(-scores, kind="stable")[:budget]


# -------------------------------------------------------------------- the rule


@dataclass(frozen=True)
class Compared:
    """A fitted method next to bagged trees."""

    name: str
    method: str
    baseline: bool
    seconds: float
    pauc: float
    """held-out labeled positives against unlabeled rows; it does not choose"""
    checked: OverBagging | None = None
    """None for bagged trees themselves, and without checked rows"""


def chosen_by_checked_rows(compared: Sequence[Compared], sure: float = SURE) -> Compared | None:
    """The method that checked rows prefer to bagged trees with enough certainty; None if there is none."""
    known = [(one.checked.better, -k) for k, one in enumerate(compared) if one.checked is not None]
    better, place = max(known, default=(0.0, 0))
    return compared[-place] if better >= sure else None
