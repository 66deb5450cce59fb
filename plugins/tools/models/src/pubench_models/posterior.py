"""From scores to p(y = 1 | x): a calibration that needs no negative, but the class prior and SCAR labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import expit, logit

FloatArray = npt.NDArray[np.float64]

#: Levels by which scores become places; places at which the curve bends; how much its slopes are held alike.
_GRID, _KNOTS, _SMOOTH = 40, (-1.5, 0.0, 1.5), 1e-3


@dataclass(frozen=True)
class PosteriorCurve:
    """p(y = 1 | score) as the logistic function of a rising curve of straight pieces.

    Of labels that are a random draw of the positives (SCAR), p(labeled | score) is a known function of p = p(y = 1 |
    score), whatever the method: in one draw of n rows with n_P labels and class prior π it is (n_P / n) / π p; where
    the n_U unlabeled rows alone are the draw, it is k p / (k p + n_U) with k = n_P / π. The curve is the one under
    which the labels of held-out rows are the most likely. It rises everywhere, and so keeps the order of the scores.
    """

    at: FloatArray
    places: FloatArray
    slopes: FloatArray
    start: float

    @classmethod
    def fit(
        cls, scores: FloatArray, labeled: npt.NDArray[np.bool_], prior: float, *, one_sample: bool
    ) -> PosteriorCurve:
        """From (n,) scores of rows that their model did not see, and (n,) who is labeled.

        Scores count by their place among P and U, both weighing the same: any rising function of them gives the same.
        """
        n_p, n_u = int(labeled.sum()), int((~labeled).sum())
        order, weight = np.argsort(scores), np.where(labeled, 0.5 / n_p, 0.5 / n_u)
        levels = np.arange(1, _GRID) / _GRID
        quantiles = np.interp(levels, np.cumsum(weight[order]) - weight[order] / 2, scores[order])
        at, same = np.unique(quantiles, return_inverse=True)
        places = np.bincount(same, logit(levels)) / np.bincount(same)
        if len(at) == 1:
            at, places = at + np.array([0.0, 1.0]), places + np.array([0.0, 1.0])
        pieces, k = _pieces(scores, at, places), n_p / prior

        def loss(theta: FloatArray) -> tuple[float, FloatArray]:
            """Mean negative log-likelihood of the labels, and its gradient; slopes by their logarithm."""
            slopes, bends = np.exp(theta[1:]), np.diff(theta[1:])
            p = expit(theta[0] + pieces @ slopes)
            share = k / (n_p + n_u) * p if one_sample else k * p / (k * p + n_u)
            by_p = k / (n_p + n_u) if one_sample else k * n_u / (k * p + n_u) ** 2
            share = np.clip(share, 1e-9, 1 - 1e-9)
            by_curve = (share - labeled) / (share * (1 - share)) * by_p * p * (1 - p) / len(scores)
            gradient = np.concatenate([[by_curve.sum()], pieces.T @ by_curve * slopes])
            gradient[2:] += 2 * _SMOOTH * bends
            gradient[1:-1] -= 2 * _SMOOTH * bends
            value = -np.log(np.where(labeled, share, 1 - share)).mean() + _SMOOTH * (bends**2).sum()
            return float(value), gradient

        begin = np.zeros(1 + pieces.shape[1])
        begin[0] = logit(prior) - pieces.sum(axis=1).mean()
        bounds = [(None, None), *[(-8.0, 8.0)] * pieces.shape[1]]
        found = minimize(loss, begin, jac=True, method="L-BFGS-B", bounds=bounds).x
        return cls(at, places, np.exp(found[1:]), float(found[0]))

    def __call__(self, scores: FloatArray) -> FloatArray:
        """(n,) p(y = 1 | x) in (0, 1)."""
        return np.asarray(expit(self.start + _pieces(scores, self.at, self.places) @ self.slopes))


def _pieces(scores: FloatArray, at: FloatArray, places: FloatArray) -> FloatArray:
    """(n, pieces) how far the place of each score, as log-odds, has come in each piece; the outer two never end."""
    outside = np.minimum(scores - at[0], 0) / (at[1] - at[0]) * (places[1] - places[0])
    outside += np.maximum(scores - at[-1], 0) / (at[-1] - at[-2]) * (places[-1] - places[-2])
    place = np.interp(scores, at, places) + outside
    low, high = np.array([-np.inf, *_KNOTS]), np.array([*_KNOTS, np.inf])
    begins = np.array([_KNOTS[0], *_KNOTS])
    return np.asarray(np.clip(place[:, None], low, high) - begins)
