"""The simulator's auxiliary posterior p(y = 1 | x): part of some labeling mechanisms, never of a learner."""

from __future__ import annotations

import hashlib
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pubench_core.data.checksum_cache import keep, kept
from pubench_core.mechanism import Mechanism

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

#: Solver setting of PU-Bench: L2 with C = 1, L-BFGS, at most 100 iterations, no feature scaling. It seldom converges on
#: raw pixels, so p depends on the solver; the setting is kept because it is part of the published mechanism. PU-Bench
#: computes in float32, where p depends on the order of the rows as well: on Fashion-MNIST two orders agree on 97 % of
#: S4's labels at c = 0.1, and each of them on 97 % with float64, where any two orders agree on all. Hence float64.
SOLVER: dict[str, Any] = {"C": 1.0, "solver": "lbfgs", "max_iter": 100}

#: Raised when the fit changes in a way that neither the features nor the solver setting show.
_REVISION = 2


class ByPosterior(Mechanism):
    """A mechanism that reads the auxiliary posterior; its info says ``needs_posterior``."""

    def posterior_logit(
        self,
        x: npt.NDArray[Any],
        y: npt.NDArray[np.int8],
        pool: IntArray,
        rows: IntArray,
        cache: Path,
        *,
        preprocess: str,
    ) -> FloatArray:
        return auxiliary_logit(x, y, pool, rows, cache, preprocess=preprocess)


def auxiliary_logit(
    x: npt.NDArray[Any],
    y: npt.NDArray[np.int8],
    pool: IntArray,
    rows: IntArray,
    cache: Path | None = None,
    *,
    preprocess: str = "none",
) -> FloatArray:
    """(len(rows),) log-odds of a logistic regression on the true labels of the pool.

    ``x``: (n, *shape), uint8 or float, after ``preprocess``. Features are fitted as PU-Bench has them: gray images,
    stored in [0, 1], in [-1, 1]; color images in [0, 1]; everything else as it is. The coefficients are kept under
    ``cache`` by content of the pool as fitted, solver setting and scikit-learn version, with a checksum: what was cut
    short or altered is computed again.
    """
    weights = _coefficients(_fitted_on(x, pool, preprocess), y[pool], cache)
    logit: FloatArray = _fitted_on(x, rows, preprocess) @ weights[:-1] + weights[-1]
    return logit


def _coefficients(x: FloatArray, y: npt.NDArray[np.int8], cache: Path | None) -> FloatArray:
    """(d + 1,) weights and intercept."""
    path = cache / f"{_content(x, y)}.weights" if cache is not None else None
    stored = _kept(path, x.shape[1] + 1) if path is not None else None
    if stored is not None:
        return stored
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LogisticRegression(**SOLVER).fit(x, y)
    weights = np.append(model.coef_[0], model.intercept_[0])
    if path is not None:
        keep(path, weights.astype("<f8").tobytes())
    return weights


def _kept(path: Path, n: int) -> FloatArray | None:
    """(n,) weights; None if there are none, or others than were kept."""
    content = kept(path)
    return np.frombuffer(content, "<f8").astype(np.float64) if content is not None and len(content) == 8 * n else None


def _content(x: FloatArray, y: npt.NDArray[np.int8]) -> str:
    from sklearn import __version__

    digest = hashlib.sha256(f"{_REVISION} {sorted(SOLVER.items())} {__version__} {x.shape}".encode())
    digest.update(np.ascontiguousarray(x).data)
    digest.update(np.ascontiguousarray(y).data)
    return digest.hexdigest()[:32]


def _fitted_on(x: npt.NDArray[Any], rows: IntArray, preprocess: str) -> FloatArray:
    """(len(rows), d) rows as vectors, on the scale of the fit."""
    values = x[rows].reshape(len(rows), -1).astype(np.float64)
    if x.dtype == np.uint8:
        values /= 255
    is_gray_image = x.ndim == 4 and x.shape[1] == 1
    if is_gray_image and preprocess == "none":  # any other preprocessing gave the values a scale of its own
        values *= 2
        values -= 1
    return values
