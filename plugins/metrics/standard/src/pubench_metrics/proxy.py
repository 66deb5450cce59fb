"""PA, PAUC and OA (Wang et al.) on labeled positives P' and unlabeled rows U' of the validation part.

Two forms, by how the data were sampled: where U' alone is a draw from the population (case-control), and where P' and
U' together are (single-training-set). Both raise Undefined without a row that they need.
"""

from __future__ import annotations

import numpy as np

from pubench_core.errors import Undefined
from pubench_core.metric import MetricView


def pa(view: MetricView) -> float:
    """2 π a + share predicted negative, of U' or (one-sample, Equation 3) of P' ∪ U'; a: share of P' found.

    Its expectation is accuracy + π, so it lies in [π, 1 + π] up to sampling: for ranking models, not for reading.
    """
    found, negative = view.decisions[_labeled(view)], ~view.decisions[_unlabeled(view)]
    if view.one_sample:
        negative = np.concatenate([~found, negative])
    return float(2 * view.prior * found.mean() + negative.mean())


def pa_published(view: MetricView) -> float:
    """PA as Wang et al.'s released code computes it (wu-dd/PUBench, lib/misc.py, val_proxy_accuracy).

    One-sample: 2 π a + (rows of P' predicted positive + rows of U' predicted negative) / (n_P' + n_U'), where
    Equation 3 has the rows of P' predicted negative. Otherwise it is :func:`pa`. Kept to see what it would have chosen.
    """
    found, negative = view.decisions[_labeled(view)], ~view.decisions[_unlabeled(view)]
    if not view.one_sample:
        return pa(view)
    return float(2 * view.prior * found.mean() + np.concatenate([found, negative]).mean())


def pa_at(view: MetricView, number: int) -> float:
    """:func:`pa` for a prior of ``number`` percent, whatever prior was given: the choice if that were π.

    Raises Undefined for a number above 99.
    """
    if number > 99:
        raise Undefined(f"the prior must be 1 to 99 percent, got {number}")
    found, negative = view.decisions[_labeled(view)], ~view.decisions[_unlabeled(view)]
    if view.one_sample:
        negative = np.concatenate([~found, negative])
    return float(number / 50 * found.mean() + negative.mean())


def pauc(view: MetricView) -> float:
    """Share of pairs (P', U') in the right order, ties counted half; needs no prior."""
    positive, unlabeled = view.scores[_labeled(view)], view.scores[_unlabeled(view)]
    unlabeled = np.sort(unlabeled)
    below = np.searchsorted(unlabeled, positive, "left").sum()
    not_above = np.searchsorted(unlabeled, positive, "right").sum()
    return float((below + not_above) / (2 * len(positive) * len(unlabeled)))


def recall_at(view: MetricView, number: int) -> float:
    """Share of P' that would be among the ``number`` highest-ranked rows of U, of equal scores a random pick.

    U' is a part of U, so its share of the ``number`` rows counts, at least one. Compares rankings for a review of so
    many rows, under SCAR; needs no prior.
    """
    positive, unlabeled = view.scores[_labeled(view)], view.scores[_unlabeled(view)]
    if number > view.unlabeled_total:
        raise Undefined(f"a review of {number} rows is of more than all {view.unlabeled_total} unlabeled rows")
    rows = min(max(round(number * len(unlabeled) / view.unlabeled_total), 1), len(unlabeled))
    lowest = np.partition(unlabeled, len(unlabeled) - rows)[len(unlabeled) - rows]
    picked = (rows - (unlabeled > lowest).sum()) / (unlabeled == lowest).sum()
    return float(((positive > lowest).sum() + picked * (positive == lowest).sum()) / len(positive))


def oa(view: MetricView) -> float:
    """Accuracy on U' or (one-sample) on P' ∪ U', with true labels."""
    rows = _unlabeled(view)
    if view.one_sample:
        rows = np.concatenate([view.labeled, rows])
    return float((view.decisions[rows] == (view.truth[rows] == 1)).mean())


def _labeled(view: MetricView) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    if not len(view.labeled):
        raise Undefined("no labeled validation positive")
    return view.labeled


def _unlabeled(view: MetricView) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    if not len(view.unlabeled):
        raise Undefined("no unlabeled validation row")
    return view.unlabeled
