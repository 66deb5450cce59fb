"""Criteria at one operating point: Lee & Liu, pseudo-F, F1, phi, mutual information. Averages over all points.

N items, t of them labeled, b predicted positive, k of those labeled; r = k/t. All take arrays of b and k, (m,) each.
Values without a meaning (0/0) are 0, as an average over operating points needs them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .hypergeometric import FloatArray

Counts = npt.NDArray[np.integer]


def recall(t: int, k: Counts) -> FloatArray:
    """r = k/t; 0 where nothing is labeled."""
    return np.asarray(k / max(t, 1), dtype=np.float64)


def lee_liu(n: int, t: int, b: Counts, k: Counts) -> FloatArray:
    """r²/Pr[f = 1] = k² N/(t² b), in [0, N/t] (Lee & Liu 2003). Under SCAR: precision times recall over π."""
    squared: FloatArray = np.square(recall(t, k)) * n
    return _ratio(squared, b)


def pseudo_f(n: int, t: int, b: Counts, k: Counts, prior: float | None = None) -> FloatArray:
    """2 r/(Pr[f = 1] + Pr[y = 1]). ``prior``: Pr[y = 1] among the N items; t/N, as its source takes it, without one.

    With t/N it is F1 against the labels, times N/t.
    """
    return _ratio(2 * recall(t, k), b / n + (t / n if prior is None else prior))


def f1(t: int, b: Counts, k: Counts) -> FloatArray:
    """2k/(b + t): F1 with every unlabeled item taken as negative."""
    return _ratio(2.0 * k, b + t)


def phi(n: int, t: int, b: Counts, k: Counts) -> FloatArray:
    """Correlation of prediction and label; 0 where one of them is constant."""
    b = np.asarray(b, dtype=np.float64)
    return _ratio(n * np.asarray(k, dtype=np.float64) - t * b, np.sqrt(t * (n - t) * b * (n - b)))


def mutual_information(n: int, t: int, b: Counts, k: Counts) -> FloatArray:
    """Mutual information of prediction and label, in nats, with 0 ln 0 = 0."""
    b, k = np.asarray(b, dtype=np.float64), np.asarray(k, dtype=np.float64)
    cells = ((k, t * b), (t - k, t * (n - b)), (b - k, (n - t) * b), (n - t - b + k, (n - t) * (n - b)))
    found = np.zeros(len(b))
    for count, product in cells:
        logs = np.log(np.divide(n * count, product, out=np.ones_like(found), where=count > 0))
        found += count / n * logs
    return found


@dataclass(frozen=True)
class Averages:
    """Means over the N + 1 operating points b = 0..N of one order of the items.

    ``average_precision``: the mean precision at the labeled items; NaN if there is none.
    """

    lee_liu: float
    pseudo_f: float
    f1: float
    phi: float
    mutual_information: float
    average_precision: float


def averages(hits: npt.NDArray[np.bool_], prior: float | None = None) -> Averages:
    """``hits``: (N,) whether each item is labeled, from the highest score down. ``prior``: as in :func:`pseudo_f`."""
    n, k = len(hits), np.append(0, np.cumsum(hits, dtype=np.int64))
    b, t = np.arange(n + 1), int(k[-1])
    return Averages(
        lee_liu=float(lee_liu(n, t, b, k).mean()),
        pseudo_f=float(pseudo_f(n, t, b, k, prior).mean()),
        f1=float(f1(t, b, k).mean()),
        phi=float(phi(n, t, b, k).mean()),
        mutual_information=float(mutual_information(n, t, b, k).mean()),
        average_precision=float((k[1:] / b[1:])[hits].mean()) if t else math.nan,
    )


def _ratio(above: npt.NDArray[Any], below: npt.NDArray[Any]) -> FloatArray:
    """Their quotient, 0 where the divisor is 0. (m,) each."""
    found: FloatArray = np.divide(above, below, out=np.zeros(len(above)), where=below > 0)
    return found
