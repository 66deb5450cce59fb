"""The label frequency from calibrated probabilities of being labeled, and the class prior that follows from it.

Elkan, Noto, "Learning classifiers from only positive and unlabeled data", KDD 2008, Section 2: estimators e1, e2 and
e3, and the weighted estimate of the class prior of Section 4.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy.typing as npt


class Frequencies(NamedTuple):
    """Three estimates of c = p(labeled | positive), each above 0; none is clipped."""

    e1: float
    e2: float
    e3: float


def frequencies(labeled: npt.NDArray[Any], unlabeled: npt.NDArray[Any]) -> Frequencies:
    """c as the mean score of labeled rows, as their part of the sum of all scores, and as the largest score.

    ``labeled``, ``unlabeled``: (n,) held-out estimates g of p(labeled | x) in [0, 1].
    """
    total = float(labeled.sum())
    return Frequencies(
        float(labeled.mean()),
        total / (total + float(unlabeled.sum())),
        float(max(labeled.max(), unlabeled.max())),
    )


def unlabeled_share(frequency: float, n_labeled: int, n_unlabeled: int) -> float:
    """The share of positives in U, n_l (1 - c) / (c n_u); not clipped, it can exceed 1."""
    return n_labeled * (1 - frequency) / (frequency * n_unlabeled)


def class_prior(frequency: float, n_labeled: int, n_unlabeled: int) -> float:
    """The share of positives among all rows, n_l / (c n); not clipped."""
    return n_labeled / (frequency * (n_labeled + n_unlabeled))


def weighted_class_prior(frequency: float, n_labeled: int, unlabeled: npt.NDArray[Any]) -> float:
    """The share of positives among all rows, each unlabeled one counted by its probability of being positive.

    ``unlabeled``: (n_u,) g below 1. The weight is (1 - c) / c · g / (1 - g) (their Equation 10); not clipped.
    """
    weights = (1 - frequency) / frequency * unlabeled / (1 - unlabeled)
    return (n_labeled + float(weights.sum())) / (n_labeled + len(unlabeled))
