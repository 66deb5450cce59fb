"""How alike several runs rank the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from pubench_core.metric import FloatArray


@dataclass(frozen=True)
class RankAgreement:
    """How alike several runs rank the same rows, means over all pairs of runs.

    ``rank_correlation``: Spearman's; None where a run gives every row one score. ``overlap``: share of the ``top``
    highest rows that both have there; None if there are none.
    """

    rank_correlation: float | None
    overlap: float | None
    top: int


def agreement_of(scores: Sequence[FloatArray], top: int) -> RankAgreement:
    """``scores``: (n,) of the same rows, for each of at least two runs. ``top``: how many of the highest count as such.

    Rows of equal scores share the mean of their ranks; at the edge of the top, all rows of the lowest score are in it.
    """
    from scipy.stats import rankdata

    ranks = [rankdata(values) for values in scores]
    constant = any(values.min() == values.max() for values in ranks)
    pairs = list(combinations(range(len(scores)), 2))
    correlations = [] if constant else [float(np.corrcoef(ranks[a], ranks[b])[0, 1]) for a, b in pairs]
    highest = [set(np.flatnonzero(v >= np.partition(v, len(v) - top)[len(v) - top]).tolist()) for v in scores if top]
    overlaps = [len(highest[a] & highest[b]) / max(len(highest[a]), len(highest[b])) for a, b in pairs if top]
    return RankAgreement(
        rank_correlation=float(np.mean(correlations)) if correlations else None,
        overlap=float(np.mean(overlaps)) if overlaps else None,
        top=top,
    )
