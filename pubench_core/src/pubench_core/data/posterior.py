"""The simulator's auxiliary posterior p(y = 1 | x): part of some labeling mechanisms, never of a learner."""

from __future__ import annotations

import hashlib
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .dataset import IntArray

#: Solver setting of PU-Bench: L2 with C = 1, L-BFGS, at most 100 iterations, no feature scaling. It seldom converges on
#: raw pixels, so p depends on the solver; the setting is kept because it is part of the published mechanism.
SOLVER: dict[str, Any] = {"C": 1.0, "solver": "lbfgs", "max_iter": 100}


def auxiliary_logit(
    x: npt.NDArray[Any], y: npt.NDArray[np.int8], pool: IntArray, rows: IntArray, cache: Path | None = None
) -> npt.NDArray[np.float64]:
    """(len(rows),) log-odds of a logistic regression on the true labels of the pool.

    ``x``: (n, *shape), uint8 or float. The coefficients are kept under ``cache`` by content of the pool, solver setting
    and scikit-learn version.
    """
    weights = _coefficients(_flat(x, pool), y[pool], cache)
    logit: npt.NDArray[np.float64] = _flat(x, rows) @ weights[:-1] + weights[-1]
    return logit


def _coefficients(x: npt.NDArray[np.float64], y: npt.NDArray[np.int8], cache: Path | None) -> npt.NDArray[np.float64]:
    """(d + 1,) weights and intercept."""
    path = cache / f"{_content(x, y)}.npy" if cache is not None else None
    if path is not None and path.exists():
        stored: npt.NDArray[np.float64] = np.load(path)
        return stored
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LogisticRegression(**SOLVER).fit(x, y)
    weights = np.append(model.coef_[0], model.intercept_[0])
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        aside = path.with_suffix(f".{os.getpid()}.npy")
        np.save(aside, weights)
        aside.replace(path)
    return weights


def _content(x: npt.NDArray[np.float64], y: npt.NDArray[np.int8]) -> str:
    from sklearn import __version__

    digest = hashlib.sha256(f"{sorted(SOLVER.items())} {__version__} {x.shape}".encode())
    digest.update(np.ascontiguousarray(x).data)
    digest.update(np.ascontiguousarray(y).data)
    return digest.hexdigest()[:32]


def _flat(x: npt.NDArray[Any], rows: IntArray) -> npt.NDArray[np.float64]:
    values = x[rows].reshape(len(rows), -1).astype(np.float64)
    return values / 255 if x.dtype == np.uint8 else values
