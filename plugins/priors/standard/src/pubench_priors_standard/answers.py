"""Tools of the estimators: refusals of rows that say nothing, bootstrap intervals, answers with their warnings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from pubench_core.errors import RequestError
from pubench_core.prior import PriorEstimate

Array = npt.NDArray[np.float64]

#: Of the bootstrap intervals.
LEVEL = 0.95


class Unidentifiable(RequestError):
    """Any class prior fits these rows."""


def refused(key: str, why: str, kind: type[RequestError] = RequestError) -> RequestError:
    """The error for rows that an estimator has no answer to."""
    message = f"prior estimated:{key}: {why}; give a number (prior=0.4)"
    return kind(message, field="prior", value=f"estimated:{key}")


def as_rows(key: str, positive: npt.NDArray[Any], unlabeled: npt.NDArray[Any], least: int = 2) -> tuple[Array, Array]:
    """Features as (n, d) or scores as (n,) float64, finite, at least ``least`` of each kind. Raises RequestError."""
    samples = []
    for name, given in (("labeled", positive), ("unlabeled", unlabeled)):
        rows = np.asarray(given, dtype=np.float64)
        if len(rows) < least:
            raise refused(key, f"{len(rows)} {name} rows are too few, {least} are the least")
        if not np.isfinite(rows).all():
            count = int((~np.isfinite(rows.reshape(len(rows), -1)).all(1)).sum())
            raise refused(key, f"{count} of {len(rows)} {name} rows have a value that is not a finite number")
        samples.append(rows)
    return samples[0], samples[1]


def as_scores(
    key: str, positive: npt.NDArray[Any], unlabeled: npt.NDArray[Any], *, probabilities: bool = False
) -> tuple[Array, Array]:
    """(n_P,) and (n_U,) scores that tell something. Raises RequestError.

    ``probabilities``: whether they must be p(labeled | x), in [0, 1].
    """
    p, u = as_rows(key, positive, unlabeled)
    if p.ndim != 1 or u.ndim != 1:
        raise refused(key, f"it reads one score per row, given arrays of {p.ndim} and {u.ndim} dimensions")
    low, high = min(p.min(), u.min()), max(p.max(), u.max())
    if low == high:
        raise refused(key, f"all {len(p) + len(u)} scores are {low:g}, which tells no row from another")
    if probabilities and (low < 0 or high > 1):
        raise refused(key, f"it reads probabilities of being labeled, and these scores go from {low:g} to {high:g}")
    return p, u


def interval(
    estimate: Callable[[Array, Array], float],
    positive: Array,
    unlabeled: Array,
    rng: np.random.Generator,
    repeats: int,
    most: int | None = None,
) -> tuple[tuple[float, float], str]:
    """A percentile bootstrap interval within [0, 1], and what was resampled, in words.

    ``estimate``: of (n_P,) and (n_U,) scores; where it raises ValueError, the repeat does not count. ``most``: rows of
    a kind that a repeat draws at most; the spread of smaller samples is scaled by the square root of their size.
    """
    n, m = len(positive), len(unlabeled)
    drawn = (min(n, most or n), min(m, most or m))
    found = []
    for _ in range(repeats):
        try:
            found.append(estimate(rng.choice(positive, drawn[0]), rng.choice(unlabeled, drawn[1])))
        except ValueError:
            continue
    words = (
        f"scores of {drawn[0]} labeled and {drawn[1]} unlabeled rows, drawn with replacement, {len(found)} times; "
        "the scorer is not trained again"
    )
    low, high = np.quantile(found, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    if drawn != (n, m):
        scale = np.sqrt(sum(drawn) / (n + m))
        center, whole = np.median(found), estimate(positive, unlabeled)
        low, high = whole + scale * (low - center), whole + scale * (high - center)
        words += f"; the spread is scaled by {scale:.3f} to all {n + m} rows"
    return (float(np.clip(low, 0, 1)), float(np.clip(high, 0, 1))), words


def answer(
    raw: float,
    diagnostics: Mapping[str, Any],
    warnings: Iterable[str],
    bounds: tuple[float, float] | None,
    resampled: str,
) -> PriorEstimate:
    """The estimate within [0, 1]; in the diagnostics also the raw one, the warnings, and what was resampled.

    ``resampled``: if there is no interval, why.
    """
    share, said = float(np.clip(raw, 0, 1)), list(warnings)
    if share != raw:
        said.insert(0, f"the estimate is {raw:.4g}, outside of [0, 1], and was clipped to {share:g}")
    return PriorEstimate(
        share, bounds, {"raw": float(raw), "warnings": said, "resampled": resampled, "level": LEVEL, **diagnostics}
    )


def thinned(curve: Iterable[tuple[str, Array]], most: int = 200) -> dict[str, list[float]]:
    """Columns of a curve, by name, with at most ``most`` points, evenly taken."""
    columns = dict(curve)
    n = len(next(iter(columns.values())))
    taken = np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(int))
    return {name: [float(f"{value:.5g}") for value in values[taken]] for name, values in columns.items()}
