"""Held-out scores of labeled against unlabeled rows, for the estimators that read scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pubench_core.data.dataset import IntArray
from pubench_core.prior import PriorEstimator, Samples
from pubench_core.specs.run import PriorScorer

if TYPE_CHECKING:
    from pubench_core.backbone import Backbone

FOLDS = 5


class ReadsScores(PriorEstimator):
    """An estimator that reads held-out scores; its info says ``inputs="scores"``."""

    def held_out_scores(
        self,
        samples: Samples,
        rng: np.random.Generator,
        scorer: PriorScorer = "logistic",
        network: Callable[[], Backbone] | None = None,
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        return held_out_scores(samples, rng, scorer, network)


def held_out_scores(
    samples: Samples,
    rng: np.random.Generator,
    scorer: PriorScorer = "logistic",
    network: Callable[[], Backbone] | None = None,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """(n_P,) and (n_U,) held-out probabilities of 'labeled', P against U, features standardized.

    ``scorer``: a logistic regression in folds, bagged networks out of their bags, or networks as the run has them
    (``network``) in folds, on features as the run has them. An instance is in one fold or bag with all its rows. Were a
    labeled positive's unlabeled copy in another one, the classifier would have seen the very row that it scores, with
    the opposite label.
    """
    n_positive = len(samples.positive)
    rows = np.concatenate([samples.positive, samples.unlabeled])
    x = rows.reshape(len(rows), -1).astype(np.float64)
    y = np.r_[np.ones(n_positive), np.zeros(len(samples.unlabeled))]
    if scorer == "bagged-nets":
        from .bagged_nets import out_of_bag_scores

        both = np.concatenate([samples.positive_instance, samples.unlabeled_instance])
        scores = out_of_bag_scores(x, y, np.unique(both, return_inverse=True)[1], rng)
        return scores[:n_positive], scores[n_positive:]
    folds = np.concatenate(folds_of_instances(samples.positive_instance, samples.unlabeled_instance, rng))
    if scorer == "backbone":
        from .backbone_scores import held_out_by_backbone

        assert network is not None
        scores = held_out_by_backbone(rows, y, folds, network)
        return scores[:n_positive], scores[n_positive:]
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import PredefinedSplit, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    scores = cross_val_predict(model, x, y, cv=PredefinedSplit(folds), method="predict_proba")[:, 1]
    return scores[:n_positive], scores[n_positive:]


def folds_of_instances(
    positive: IntArray, unlabeled: IntArray, rng: np.random.Generator, folds: int = FOLDS
) -> tuple[IntArray, IntArray]:
    """(n_P,) and (n_U,) the fold of each row, the same for all rows of one instance.

    ``positive``, ``unlabeled``: (n,) instances. Labeled instances and the others are dealt out in random order, each
    kind evenly; there are at most as many folds as labeled instances, so that each holds one.
    """
    labeled = np.unique(positive)
    others = np.setdiff1d(unlabeled, labeled)
    folds = min(folds, len(labeled))
    instances = np.concatenate([rng.permutation(labeled), rng.permutation(others)])
    dealt = np.concatenate([np.arange(len(labeled)), np.arange(len(others))]) % folds
    order = np.argsort(instances)
    of = dealt[order]
    return of[np.searchsorted(instances[order], positive)], of[np.searchsorted(instances[order], unlabeled)]
