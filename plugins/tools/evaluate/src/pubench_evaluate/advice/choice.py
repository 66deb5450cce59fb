"""Candidates, and the rule that chooses: bagged trees, unless rows that a person checked speak for another method.

Nothing that labels alone say chooses, or is shown: ``docs/pages/advice.md`` has the measurement that rejects it, and
why the networks and PUET are no candidates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pubench_core.errors import RequestError, shown
from pubench_core.randomness import stream

from ..audit import AuditResult, answered, audit_answers
from ..audit.sheet import read_sheet
from ..measures import interval_of
from ..scored_rows import BoolArray, FloatArray, IntArray

#: How sure checked rows must be that another method is better. Fixed by ``benchmarks/studies/advice_regret.py`` on the
#: half of the sources that it names, judged on the other half.
SURE = 0.8
#: Draws behind an interval.
DRAWS = 2000
#: Parts of the checked rows, each scored by a model that trained on the answers of the others.
PARTS = 5
#: Of fewer checked rows of a class, every draw is alike, and an interval would be too narrow.
FEWEST_CHECKED = 3
#: What the name of a method ends with if it trains on checked rows.
TAUGHT = ", trained on the checked rows"


@dataclass(frozen=True)
class Candidate:
    """A method with its settings."""

    name: str
    """as pages show it"""
    method: str
    config: Mapping[str, Any] = field(default_factory=dict)

    @property
    def taught(self) -> bool:
        """Whether it trains on checked rows."""
        return self.name.endswith(TAUGHT)


#: The answer unless checked rows speak against it: without them it loses least of all constant choices.
DEFAULT = Candidate("bagged trees", "pu-bagging", {"n_estimators": 200})
#: The others, cheapest first.
OTHERS = (
    Candidate("logistic regression, P against U", "naive", {"base": "logistic"}),
    Candidate("Elkan-Noto, logistic", "elkan-noto", {"base": "logistic"}),
    Candidate("two-step, logistic", "two-step", {"base": "logistic"}),
    Candidate("kernel, P against U", "naive", {"base": "kernel"}),
    Candidate("boosting, P against U", "naive", {"base": "boosting"}),
    Candidate("bagged forest", "pu-bagging", {"base": "forest", "n_estimators": 200}),
)


def budget_of(goal: str) -> int | None:
    """How many rows are to be reviewed: 200 of ``review:200``; None for ``rank`` and ``classify``.

    Raises RequestError for anything else.
    """
    kind, _, number = goal.partition(":")
    if goal in ("rank", "classify"):
        return None
    if kind == "review" and number.isdecimal() and int(number) > 0:
        return int(number)
    raise RequestError(f"goal={shown(goal)}: must be rank, classify or review:200", field="goal", value=goal)


# -------------------------------------------------------------------- checked rows


@dataclass(frozen=True)
class Checked:
    """Checked unlabeled rows."""

    rows: IntArray
    """(n,) positions in the table"""
    positive: BoolArray
    """(n,)"""
    weight: FloatArray
    """(n,) how many unlabeled rows each stands for by the design of the draw"""
    band: IntArray
    """(n,) the band of the score that it was drawn in"""

    def parts(self, seed: int) -> IntArray:
        """(n,) the part of each row; positives and negatives are dealt evenly to :data:`PARTS` of them."""
        part, rng = np.empty(len(self.rows), np.int64), stream(seed, "parts of checked rows")
        for side in (self.positive, ~self.positive):
            part[side] = rng.permutation(int(side.sum())) % PARTS
        return part


@dataclass(frozen=True)
class Audited:
    """A sheet that was filled in."""

    sheet: Path
    result: AuditResult
    """what the answers say, by design of the draw"""
    checked: Checked


def read_answers(sheet: Path, folder: Path) -> Audited:
    """A filled sheet; its design is looked for next to it and in ``folder``. Raises RequestError."""
    sample, given = read_sheet(sheet, field="audited", folders=[folder])
    values = answered(sample, given)
    kept, band = values >= 0, sample.band[values >= 0]
    size = np.array([rows for _, _, rows, _ in sample.bands])
    weight = (size / np.maximum(np.bincount(band, minlength=len(size)), 1))[band]
    checked = Checked(sample.to_check[kept], values[kept] == 1, weight, band)
    return Audited(sheet, audit_answers(sample, given), checked)


@dataclass(frozen=True)
class OverBagging:
    """AUC of a method minus that of bagged trees, by checked rows."""

    value: float
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
    better = float((finite > 0).mean() + (finite == 0).mean() / 2)
    return OverBagging(value, value - of_reference, interval_of(finite), better)


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
    above = np.sign(scores[positive][:, None] - scores[~positive][None, :]) / 2 + 0.5
    counts = np.vstack([np.ones(len(scores)), draws]) * checked.weight
    p, n = counts[:, positive], counts[:, ~positive]
    with np.errstate(invalid="ignore", divide="ignore"):
        found = np.einsum("ij,jk,ik->i", p, above, n, optimize=True) / (p.sum(1) * n.sum(1))
    return float(found[0]), found[1:]


# -------------------------------------------------------------------- the rule


@dataclass(frozen=True)
class Fit:
    """A candidate with scores of every row by models that did not see it, or why there are none."""

    candidate: Candidate
    scores: FloatArray = field(default_factory=lambda: np.empty(0))
    """(n,)"""
    seconds: float = 0.0
    reason: str = ""
    """why there are no scores"""
    folder: Path = Path()
    """record of the joint run, with a model of all rows"""
    checked: OverBagging | None = None
    """None for bagged trees themselves, and without checked rows"""


def chosen_by_checked_rows(fits: Sequence[Fit], sure: float = SURE) -> Fit | None:
    """The method that checked rows prefer to bagged trees with enough certainty; None if there is none."""
    known = [(fit.checked.better, -k) for k, fit in enumerate(fits) if fit.checked is not None]
    better, place = max(known, default=(0.0, 0))
    return fits[-place] if better >= sure else None
