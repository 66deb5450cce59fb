"""The class prior that a method is given: true, a number, the true one scaled, or an estimate."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import RequestError
from ..randomness import stream
from ..request.plan import EstimatorChoice
from ..results import Estimate, plain_data

FOLDS = 5
Samples = Callable[[], tuple[npt.NDArray[Any], npt.NDArray[Any]]]


def given_prior(
    wanted: float | str,
    true: float | None,
    *,
    estimator: EstimatorChoice | None,
    samples: Samples,
    one_sample: bool,
    seed: int,
) -> tuple[float, Estimate | None]:
    """π in (0, 1), and the estimate behind it, if there is one. ``samples`` gives P and U, for estimators only.

    ``true``: None where it is not known; then neither it nor a multiple of it may be wanted.

    Raises RequestError if a scaled or estimated prior leaves the interval.
    """
    if isinstance(wanted, float):
        return wanted, None
    word, _, rest = wanted.partition(":")
    estimate = None
    if estimator is not None:
        estimate, prior = _estimated(estimator, *samples(), one_sample, seed)
        how = f"estimated by {estimator.info.key}"
    else:
        assert true is not None  # resolve refuses the true prior where there is no truth
        if word == "true":
            return true, None
        prior, how = true * float(rest), f"{true:.4g} x {rest}"
    if not 0 < prior < 1:
        raise RequestError(
            f"prior {wanted} gives {prior:.4g} ({how}), outside (0, 1); give a number (prior=0.4)",
            field="prior",
            value=wanted,
        )
    return prior, estimate


def _estimated(
    choice: EstimatorChoice,
    positive: npt.NDArray[Any],
    unlabeled: npt.NDArray[Any],
    one_sample: bool,
    seed: int,
) -> tuple[Estimate, float]:
    """What the estimator says, and π: its share of U in case-control, (N_l + share n_U) / n otherwise."""
    started = time.perf_counter()
    rng = stream(seed, "prior")
    if choice.info.inputs == "scores":
        positive, unlabeled = held_out_scores(positive, unlabeled, rng)
    found = choice.estimator.estimate(positive, unlabeled, rng)
    estimate = Estimate(
        estimator=choice.info.key,
        share=found.share,
        interval=found.interval,
        diagnostics=plain_data(found.diagnostics),
        seconds=round(time.perf_counter() - started, 4),
    )
    if not one_sample:
        return estimate, found.share
    return estimate, (len(positive) + found.share * len(unlabeled)) / (len(positive) + len(unlabeled))


def held_out_scores(
    positive: npt.NDArray[Any], unlabeled: npt.NDArray[Any], rng: np.random.Generator
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Out-of-fold probabilities of 'labeled' from a logistic regression of P against U, standardized features."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    x = np.concatenate([positive, unlabeled]).reshape(len(positive) + len(unlabeled), -1).astype(np.float64)
    y = np.r_[np.ones(len(positive)), np.zeros(len(unlabeled))]
    folds = StratifiedKFold(min(FOLDS, len(positive)), shuffle=True, random_state=int(rng.integers(2**31)))
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    scores = cross_val_predict(model, x, y, cv=folds, method="predict_proba")[:, 1]
    return scores[: len(positive)], scores[len(positive) :]
