"""The simulator's auxiliary posterior p(y = 1 | x): part of some labelling mechanisms, never of a learner."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from .data.dataset import IntArray, PNDataset


def auxiliary_logit(data: PNDataset, pool: IntArray, rows: IntArray) -> npt.NDArray[np.float64]:
    """(len(rows),) log-odds of a logistic regression on the true labels of the pool.

    L2 with C = 1, L-BFGS, at most 100 iterations, no feature scaling: the solver setting of PU-Bench, which seldom
    converges on raw pixels and is kept because it is part of the published mechanism.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LogisticRegression(C=1.0, solver="lbfgs", max_iter=100).fit(_flat(data.x, pool), data.y[pool])
    logit: npt.NDArray[np.float64] = model.decision_function(_flat(data.x, rows))
    return logit


def _flat(x: npt.NDArray[Any], rows: IntArray) -> npt.NDArray[np.float64]:
    values = x[rows].reshape(len(rows), -1).astype(np.float64)
    return values / 255 if x.dtype == np.uint8 else values
