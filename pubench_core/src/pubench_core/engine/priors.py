"""The class prior that a method is told: true, a number, the true one scaled, or an estimate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import PluginError, RequestError
from ..info import PriorInfo
from ..prior import PriorEstimator
from ..randomness import stream
from ..registry import Registry, load
from ..specs import NO_TRUE_PRIOR

FOLDS = 5


def told_prior(
    wanted: float | str,
    true: float | None,
    *,
    registry: Registry,
    samples: Callable[[], tuple[npt.NDArray[Any], npt.NDArray[Any]]],
    one_sample: bool,
    seed: int,
) -> float:
    """π in (0, 1). ``true``: None where it is not known. ``samples`` gives P and U, for estimators only.

    Raises RequestError if a scaled or estimated prior leaves the interval, or if the true one is asked for and unknown.
    """
    if isinstance(wanted, float):
        return wanted
    word, _, rest = wanted.partition(":")
    if true is None and word in ("true", "scaled"):
        raise RequestError(NO_TRUE_PRIOR.format(wanted))
    if word == "true":
        assert true is not None
        return true
    if word == "scaled":
        assert true is not None
        prior = true * float(rest)
        how = f"{true:.4g} x {rest}"
    else:
        prior = _estimate(registry.find(PriorInfo, rest), *samples(), one_sample, seed)
        how = f"estimated by {rest}"
    if not 0 < prior < 1:
        raise RequestError(f"prior {wanted} gives {prior:.4g} ({how}), outside (0, 1); give a number (--prior 0.4)")
    return prior


def _estimate(
    info: PriorInfo,
    positive: npt.NDArray[Any],
    unlabeled: npt.NDArray[Any],
    one_sample: bool,
    seed: int,
) -> float:
    """π from an estimator's share of positives in U: equal in case-control, (N_l + share n_U) / n otherwise."""
    estimator = load(info)()
    if not isinstance(estimator, PriorEstimator):
        raise PluginError(f"prior '{info.key}': {info.load} is not a pubench_core.prior.PriorEstimator")
    rng = stream(seed, "prior")
    if info.inputs == "scores":
        positive, unlabeled = held_out_scores(positive, unlabeled, rng)
    share = estimator.estimate(positive, unlabeled, rng).share
    if not one_sample:
        return share
    return (len(positive) + share * len(unlabeled)) / (len(positive) + len(unlabeled))


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
