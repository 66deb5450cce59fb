"""The schemes of Wang et al. (ICLR 2026): P and U are drawn class-balanced, so that half of the population is positive.

One-sample: ``total`` rows are drawn, and a share ``positive_rate`` of them, all positive, is labeled and leaves U.
Two-sample: U is a draw of (1 - positive_rate) total rows, P of the positives that are left. Balanced means that every
class gives as many rows of its side as every other, as in the released code (wu-dd/PUBench, data/datasets.py): ten
digits four hundred each. The validation part is carved from P and from U, the share of each rounded down.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from fractions import Fraction

import numpy as np

from ..errors import RequestError
from ..randomness import stream
from ..specs import Scheme
from .dataset import IntArray, PNDataset
from .generator import LABELING, BoolArray, Chooser, Part, Split, chosen, exact, without_test


def draw(
    data: PNDataset,
    *,
    scheme: Scheme,
    choose: Chooser,
    positive_rate: float,
    total: int | None,
    validation_fraction: float,
    test_fraction: float,
    seed: int,
) -> Split:
    """The labeled split of one seed under ``one-sample`` or ``two-sample``.

    ``positive_rate``: labeled rows as a share of P and U together. ``total``: rows of both, validation part included;
    None means as many as the rows outside of the test part allow.

    Raises RequestError if there are too few rows, and if no labeled or no unlabeled row is left to train on.
    """
    assert data.y is not None
    pool, test = without_test(data, test_fraction, seed)
    n, n_labeled = _sizes(data, pool, scheme, positive_rate, total)
    unlabeled = balanced(data, pool, n if scheme == "one-sample" else n - n_labeled)
    # one-sample: some of the drawn positives are labeled; two-sample: some of those that were not drawn
    of_whom = unlabeled if scheme == "one-sample" else pool[~np.isin(pool, unlabeled)]
    positives = of_whom[data.y[of_whom] == 1]
    labeled = positives[chosen(choose, pool, positives, n_labeled, stream(seed, LABELING, 0))]
    # what was drawn first lies at the front of the pool, the positives that were left behind it: position would tell
    rows = stream(seed, "drawn").permutation(np.union1d(unlabeled, labeled))
    return _carved(rows, np.isin(rows, labeled), validation_fraction, test)


def balanced(data: PNDataset, pool: IntArray, n: int) -> IntArray:
    """``n`` rows of ``pool``, in its order: half of them positive (rounded down), the classes of a side equally often.

    Where a class has too few rows, the other classes of its side give what is missing.
    """
    assert data.y is not None
    taken = np.zeros(len(pool), dtype=bool)
    for side, size in ((1, n // 2), (0, n - n // 2)):
        of_side = np.flatnonzero(data.y[pool] == side)
        classes = data.classes[pool[of_side]] if data.classes is not None else np.zeros(len(of_side), dtype=np.int64)
        taken[of_side[_evenly(classes, size)]] = True
    return pool[taken]


def _evenly(classes: IntArray, n: int) -> IntArray:
    """Positions of the first rows of every class, as evenly as the classes' sizes allow; ``n`` in all."""
    keys, sizes = np.unique(classes, return_counts=True)
    shares = dict.fromkeys(keys.tolist(), 0)
    left = n
    for place, k in enumerate(np.argsort(sizes, kind="stable")):  # the smallest first: what it lacks, the others give
        shares[int(keys[k])] = min(int(sizes[k]), left // (len(keys) - place))
        left -= shares[int(keys[k])]
    found = [np.flatnonzero(classes == key)[:share] for key, share in shares.items()]
    return np.concatenate(found)


def _carved(rows: IntArray, labeled: BoolArray, fraction: float, test: IntArray) -> Split:
    """The first rows of P and the first of U are the validation part."""
    counts = {True: int(labeled.sum()), False: int((~labeled).sum())}
    held_out = {kind: math.floor(exact(fraction) * count) for kind, count in counts.items()}
    for kind, name in ((True, "labeled"), (False, "unlabeled")):
        if counts[kind] == held_out[kind]:
            raise RequestError(
                f"no {name} row of {counts[kind]} is left to train on; lower validation.fraction",
                field="validation.fraction",
            )
    rank = np.where(labeled, np.cumsum(labeled), np.cumsum(~labeled))
    validation = rank <= np.where(labeled, held_out[True], held_out[False])
    return Split(*Part(rows, labeled).parted(validation), test)


# -------------------------------------------------------------------- sizes


def _sizes(data: PNDataset, pool: IntArray, scheme: Scheme, rate: float, total: int | None) -> tuple[int, int]:
    """(rows of P and U together, labeled rows). Raises RequestError for what the data cannot give."""
    if scheme == "one-sample" and rate > 0.5:
        raise RequestError(
            f"mechanism.positive_rate must be at most 0.5, where all positives are labeled, got {rate:g}",
            field="mechanism.positive_rate",
            value=rate,
        )
    assert data.y is not None
    most = _most(int((data.y[pool] == 1).sum()), int((data.y[pool] == 0).sum()), scheme, exact(rate))
    n = most if total is None else total
    if n > most:
        raise RequestError(
            f"data.total {n}: {data.key} allows {most} rows of P and U under scheme {scheme} with "
            f"mechanism.positive_rate {rate:g}",
            field="data.total",
            value=n,
        )
    n_labeled = math.floor(exact(rate) * n)
    if n_labeled == 0:
        raise RequestError(
            f"mechanism.positive_rate {rate:g} labels nobody: floor({rate:g} x {n} rows) = 0; it must be at least "
            f"{math.ceil(10**6 / max(n, 1)) / 10**6:g}",
            field="mechanism.positive_rate",
            value=rate,
        )
    return n, n_labeled


def _most(n_positive: int, n_negative: int, scheme: Scheme, rate: Fraction) -> int:
    """The most rows that can be drawn."""

    def fits(n: int) -> bool:
        n_labeled = math.floor(rate * n)
        n_drawn = n if scheme == "one-sample" else n - n_labeled
        extra = 0 if scheme == "one-sample" else n_labeled
        return n_drawn // 2 + extra <= n_positive and n_drawn - n_drawn // 2 <= n_negative

    return bisect_left(range(n_positive + n_negative + 1), True, key=lambda n: not fits(n)) - 1
