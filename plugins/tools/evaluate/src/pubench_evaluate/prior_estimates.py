"""``pubench.estimate_prior``: every estimator of the class prior on one table, side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from pubench_datasets_tables.frames import frame_of, refuse_other_rows

from pubench.field_names import in_words
from pubench_core.errors import RequestError
from pubench_core.plugins.info import PriorInfo
from pubench_core.results import plain_data

from .audit import AuditResult
from .estimates import (
    RULE,
    EstimatedPrior,
    asked,
    disagreement,
    estimates_table,
    infos_of,
    range_of,
    spans_of,
    summary,
)
from .page import framed, page_from
from .scored_rows import BoolArray, FloatArray, ScoredRows, scored_rows

#: Folds of the classifier whose scores estimators read.
FOLDS = 5


@dataclass(frozen=True)
class PriorEstimates:
    """Estimates of the class prior of one table."""

    name: str
    rows: int
    labeled: int
    scheme: str
    purity: float
    read: str
    """what the estimators were given, in words"""
    estimates: tuple[EstimatedPrior, ...]
    """an estimator is counted if its mean absolute error on known shares is at most .1 and it warns of nothing;
    ``left_out`` says why one is not"""
    interval: tuple[float, float] | None = None
    """π from the lowest to the highest end of the 95 % intervals of the counted estimators; None if none is counted"""
    true: float | None = None
    """π, if it is known"""
    checked: str = ""
    """what checked rows say"""
    warnings: tuple[str, ...] = ()
    """where estimators disagree"""

    def __getitem__(self, key: str) -> EstimatedPrior:
        """Estimate of one estimator. Raises KeyError for one that was not used."""
        return {found.key: found for found in self.estimates}[key]

    @property
    def summary(self) -> str:
        """The range of priors, by which estimators, and what it assumes, in a sentence."""
        return "; ".join(part for part in (self.checked.rstrip("."), summary(self.estimates)) if part)

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON holds it."""
        return {"summary": self.summary, **plain_data(asdict(self))}

    def html(self) -> str:
        """A page of its own, with a figure."""
        return page_from(
            "priors.html.j2",
            f"Class prior of {self.name}",
            {"priors": spans_of(self.estimates, None if self.true is None else ("true", self.true, None))},
            facts=f"{self.rows:,} rows, {self.labeled:,} labeled; {self.scheme}; {self.read}",
            warnings=self.warnings,
            estimates=estimates_table(self.estimates),
            summary=summary(self.estimates) if self.estimates else "",
            rule=RULE,
        )

    def _repr_html_(self) -> str:
        return framed(self.html())

    def __repr__(self) -> str:
        return f"<class prior of {self.name}: {self.summary}>"


def estimate_prior(
    x: Any,
    labeled: Any,
    *,
    estimators: Sequence[str] | None = None,
    thorough: bool = False,
    scheme: str = "one-sample",
    purity: float = 1.0,
    truth: Any = None,
    name: str = "data",
    pos_label: Any = None,
    seed: int = 0,
    audited: AuditResult | None = None,
    progress: Callable[[str], None] | None = None,
) -> PriorEstimates:
    """The class prior of a table of labeled positives and unlabeled rows, by the installed estimators.

    ``x``: (n, d) features, as an array or a frame of numbers, or (n,) scores of a model that was not trained on these
    rows. Estimators that read scores are given, of features, the held-out probabilities of a logistic regression of
    labeled against unlabeled rows, in five folds that keep equal rows together. ``labeled``, ``scheme``, ``purity``,
    ``truth``: as :func:`pubench.evaluate` has them. ``estimators``: their keys; by default all fast ones that can read
    ``x``, with ``thorough`` the slow ones (km1, km2: minutes) as well. ``audited``: what checked rows say
    (:func:`pubench.audit_answers`); the interval is then theirs, as they need no SCAR. ``progress``: called with a line
    before each.

    Raises InvalidRequest (a ValueError).

    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(600) < 0.4
    >>> found = estimate_prior(rng.normal(3 * y), y & (rng.random(600) < 0.5), estimators=["bbe"])
    >>> 0.25 < found["bbe"].prior < 0.55
    True
    """
    with in_words():
        refuse_other_rows(x, labeled, ("x", "labeled"))
        refuse_other_rows(x, truth, ("x", "truth"))
        values = np.asarray(x) if np.ndim(x) == 1 else frame_of(x, "x").to_numpy()
        is_scores = values.ndim == 1
        scores = values if is_scores else np.zeros(len(values))
        rows = scored_rows(scores, labeled, truth=truth, scheme=scheme, purity=purity, pos_label=pos_label)
        infos = infos_of("scores" if is_scores else "any", estimators, thorough=thorough)
        features = None if is_scores else _features(values)
        found = tuple(_answers(infos, rows, features, seed, progress or (lambda text: None)))
        said = disagreement(found)
        return PriorEstimates(
            name=name,
            rows=len(rows.scores),
            labeled=rows.n_labeled,
            scheme=rows.scheme,
            purity=rows.purity,
            read="the scores as they are" if is_scores else "features, and a logistic regression's held-out scores",
            estimates=found,
            interval=range_of(found) if audited is None else _checked(audited),
            true=_true(rows),
            warnings=(said,) if said else (),
            checked="" if audited is None else audited.sentence,
        )


def _checked(audited: AuditResult) -> tuple[float, float] | None:
    low, high = audited.prior.low, audited.prior.high
    return None if low is None or high is None else (low, high)


def _answers(
    infos: Sequence[PriorInfo],
    rows: ScoredRows,
    features: FloatArray | None,
    seed: int,
    say: Callable[[str], None],
) -> list[EstimatedPrior]:
    scores: npt.NDArray[np.float64] | None = rows.scores if features is None else None
    found = []
    for number, info in enumerate(infos, 1):
        if info.inputs == "scores" and scores is None:
            assert features is not None
            say(f"scoring the rows by logistic regression in {FOLDS} folds")
            scores = held_out_scores(features, rows.labeled, seed)
        read = scores if info.inputs == "scores" else features
        assert read is not None
        say(f"estimating by {info.key} ({number} of {len(infos)})")
        found.append(asked(info, read[rows.labeled], read[rows.unlabeled], rows, seed))
    return found


def _features(values: npt.NDArray[Any]) -> FloatArray:
    """(n, d) standardized, gaps filled with the median of their column. Raises RequestError for what is no number."""
    try:
        numbers = values.astype(np.float64)
    except (ValueError, TypeError) as error:
        raise RequestError(f"x: expected numbers, (n, d) features or (n,) scores ({error})", field="x") from error
    if np.isinf(numbers).any():
        raise RequestError(f"x: {int(np.isinf(numbers).sum())} values are infinite", field="x")
    gaps = np.isnan(numbers)
    if gaps.all(axis=0).any():
        raise RequestError(f"x: column {int(np.flatnonzero(gaps.all(axis=0))[0])} has no value at all", field="x")
    numbers = np.where(gaps, np.nanmedian(numbers, axis=0), numbers)
    spread = numbers.std(axis=0)
    return np.asarray((numbers - numbers.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def held_out_scores(features: FloatArray, labeled: BoolArray, seed: int) -> FloatArray:
    """(n,) held-out probabilities of being labeled: logistic regression, folds that keep equal rows together.

    Raises RequestError where there are fewer different labeled rows, or others, than two folds.
    """
    from pubench_models.model_selection import PUKFold
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict

    _, instance = np.unique(features, axis=0, return_inverse=True)
    has_label = np.bincount(instance.ravel(), weights=labeled) > 0
    different = {
        "labeled rows": int(has_label.sum()),
        "unlabeled rows that equal no labeled one": int((~has_label).sum()),
    }
    name, fewest = min(different.items(), key=lambda one: one[1])
    if fewest < 2:
        raise RequestError(
            f"the class prior needs at least 2 different {name}, to score each by a model of others; got {fewest}"
        )
    folds = PUKFold(min(FOLDS, fewest), random_state=seed)
    model = LogisticRegression(max_iter=1000)
    found = cross_val_predict(model, features, labeled.astype(int), cv=folds, method="predict_proba")
    return np.asarray(found[:, 1])


def _true(rows: ScoredRows) -> float | None:
    """π of the rows that are the draw from the population."""
    if rows.truth is None:
        return None
    population = rows.unlabeled if rows.scheme == "two-sample" else slice(None)
    return float(rows.truth[population].mean())
