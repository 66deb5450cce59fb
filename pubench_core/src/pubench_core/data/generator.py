"""The PU generator: a binary problem becomes a labeled split of index arrays, and of nothing else.

The order is fixed: binarize, permute once by the split seed, split off the test part (where the data set has none of
its own) and the validation part, label both remaining parts by the same mechanism, c and scheme, permute each of them:
a part takes the first rows of every class, so that before a run of one class leads what is left. Counts equal the
published ones (PU-Bench, Table D.1). :mod:`.drawn` makes the schemes of Wang et al., :func:`given_split` is for tables
that come with their labels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from ..errors import PluginError, RequestError
from ..randomness import stream
from ..specs import Scheme
from .dataset import IntArray, PNDataset

#: Purpose of the stream that labels are drawn from, as it was first spelled: its letters decide the numbers.
LABELING = "labelling"

BoolArray = npt.NDArray[np.bool_]


#: (pool, rows, n, rng) -> which ``n`` of these rows, all of one class, get a label: positions into ``rows``, for one
#: part of the split. ``pool``: rows of the training pool, on which a mechanism may fit its auxiliary posterior.
Chooser = Callable[[IntArray, IntArray, int, np.random.Generator], IntArray]


@dataclass(frozen=True)
class Noise:
    """Labels that go to negatives: all but a share ``purity`` of them. ``choose``: which negatives."""

    purity: float
    choose: Chooser


@dataclass(frozen=True)
class Part:
    """One part of a split: rows in an order that says nothing of their classes, and which of them carry a label.

    ``rows``: row numbers in the data set's array. ``labeled``: (len(rows),) True for labeled positives.
    """

    rows: IntArray
    labeled: BoolArray

    @property
    def n_labeled(self) -> int:
        """N_l."""
        return int(self.labeled.sum())

    def unlabeled(self, scheme: Scheme) -> IntArray:
        """Positions of U: every row in case-control (labeled positives stay in U), the unlabeled rows otherwise."""
        return np.arange(len(self.rows)) if scheme == "case-control" else np.flatnonzero(~self.labeled)

    def parted(self, held: BoolArray) -> tuple[Part, Part]:
        """The rows that are not ``held``, and those that are."""
        return Part(self.rows[~held], self.labeled[~held]), Part(self.rows[held], self.labeled[held])

    def permuted(self, rng: np.random.Generator) -> Part:
        """The same rows and labels in a random order."""
        order = rng.permutation(len(self.rows))
        return Part(self.rows[order], self.labeled[order])


@dataclass(frozen=True)
class Split:
    """Training pool, validation part and test rows. Test rows index the test array where there is one, else ``x``.

    ``negatives``: rows known to be negative, in an order that says nothing, for methods that learn from them.
    ``checked``: how many positives and negatives were found among rows of U that were looked up. ``weights``: of all
    rows of the data set, 1 except those: the inverse of the probability of their draw, mean 1; None if it is unknown.
    """

    train: Part
    validation: Part
    test_rows: IntArray
    negatives: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))
    checked: tuple[int, int] = (0, 0)
    weights: npt.NDArray[np.float64] | None = None

    def permuted(self, seed: int) -> Split:
        """The same split with the rows of its training and validation part in random orders."""
        train = self.train.permuted(stream(seed, "order", 0))
        return Split(train, self.validation.permuted(stream(seed, "order", 1)), self.test_rows)


def exact(decimal: float) -> Fraction:
    """A number as the decimal it was written as: 0.29 is 29/100, not the nearest binary fraction."""
    return Fraction(repr(float(decimal)))


def label_count(c: float, n_positive: int) -> int:
    """N_l = floor(c |P|), with c as the decimal written."""
    return math.floor(exact(c) * n_positive)


def stratified_counts(counts: tuple[int, int], fraction: float) -> tuple[int, int]:
    """How many rows of each class a part of ``ceil(fraction * n)`` rows takes: proportional, largest remainder."""
    total = sum(counts)
    size = math.ceil(exact(fraction) * total) if total else 0
    shares = [Fraction(size * count, max(total, 1)) for count in counts]
    taken = [math.floor(share) for share in shares]
    by_remainder = sorted(range(len(counts)), key=lambda k: taken[k] - shares[k])
    for k in by_remainder[: size - sum(taken)]:
        taken[k] += 1
    return taken[0], taken[1]


def take_stratified(rows: IntArray, y: npt.NDArray[np.int8], fraction: float) -> tuple[IntArray, IntArray]:
    """(rest, taken): the first rows of each class in the given (permuted) order, order kept in both."""
    labels = y[rows]
    n_negative, n_positive = stratified_counts((int((labels == 0).sum()), int((labels == 1).sum())), fraction)
    rank = np.where(labels == 1, np.cumsum(labels == 1), np.cumsum(labels == 0))
    taken = rank <= np.where(labels == 1, n_positive, n_negative)
    return rows[~taken], rows[taken]


def first_places(groups: IntArray) -> IntArray:
    """(n,) groups of rows, numbered by their first places: codes of a file would tell its order."""
    _, first, of_row = np.unique(groups, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[of_row], dtype=np.int64)


def deal_groups(groups: IntArray, kind: BoolArray, shares: Sequence[float], rng: np.random.Generator) -> IntArray:
    """(n,) the part of each row: rows of one group are in one part, and each part has about its share of both kinds.

    ``kind``: (n,) such as who is labeled. ``shares``: of the rows, of each part. Groups are dealt one by one, those
    that hold most first, equal ones in random order, to the part that lacks most of what they hold.
    """
    _, of_row = np.unique(groups, return_inverse=True)
    held = np.zeros((of_row.max(initial=-1) + 1, 2))
    np.add.at(held, (of_row, kind.astype(np.int64)), 1)
    held /= np.maximum(held.sum(axis=0), 1)
    lacking, part = np.outer(shares, np.ones(2)), np.empty(len(held), dtype=np.int64)
    order = rng.permutation(len(held))
    for group in order[np.argsort(-held.sum(axis=1)[order], kind="stable")]:
        part[group] = int(np.argmax(lacking @ held[group]))
        lacking[part[group]] -= held[group]
    return part[of_row]


def generate(
    data: PNDataset,
    *,
    scheme: Scheme,
    choose: Chooser,
    c: float,
    validation_fraction: float,
    test_fraction: float,
    seed: int,
    noise: Noise | None = None,
    counted: bool = True,
) -> Split:
    """The labeled split of one seed in one of the schemes of PU-Bench, for data of which every true label is known.

    ``counted``: whether ``choose`` must name as many rows as it was given a number for, or draws how many.

    Raises RequestError if no positive is in the training pool, ``c`` labels nobody there, or there are fewer negatives
    than wrong labels; PluginError if the mechanism chooses a row repeatedly.
    """
    assert data.y is not None
    y, (pool, test) = data.y, without_test(data, test_fraction, seed)
    pool, validation = take_stratified(pool, y, validation_fraction)
    n_positive = int((y[pool] == 1).sum())
    if not n_positive:
        raise RequestError(
            f"{data.key}: no positive is left to train on; lower validation.fraction", field="validation.fraction"
        )
    if label_count(c, n_positive) == 0:
        enough = math.ceil(Fraction(1, n_positive) * 10**6) / 10**6
        raise RequestError(
            f"c = {c:g} labels nobody: floor({c:g} x {n_positive} positives) = 0; {data.key} needs c of at least "
            f"{enough:g}",
            field="mechanism.c",
            value=c,
        )

    def part(rows: IntArray, number: int) -> Part:
        """The rows with N_l labels, for positives or, under noise, also for negatives."""
        rng, labeled = stream(seed, LABELING, number), np.zeros(len(rows), dtype=bool)
        positives, negatives = np.flatnonzero(y[rows] == 1), np.flatnonzero(y[rows] == 0)
        n = label_count(c, len(positives))
        wrong = n - round(n * noise.purity) if noise is not None else 0
        if wrong > len(negatives):
            raise RequestError(
                f"the mechanism labels {wrong} negatives and there are {len(negatives)}; lower mechanism.c",
                field="mechanism.c",
                value=c,
            )
        if n - wrong:
            labeled[positives[chosen(choose, pool, rows[positives], n - wrong, rng, counted=counted)]] = True
        if noise is not None and wrong:
            labeled[negatives[chosen(noise.choose, pool, rows[negatives], wrong, rng, "negatives")]] = True
        return Part(rows, labeled)

    return Split(part(pool, 0), part(validation, 1), test).permuted(seed)


def without_test(data: PNDataset, test_fraction: float, seed: int) -> tuple[IntArray, IntArray]:
    """(rows to train and select on, in the split's random order; test rows)."""
    assert data.y is not None
    pool = stream(seed, "split").permutation(data.rows)
    return (pool, data.rows_test) if data.rows_test is not None else take_stratified(pool, data.y, test_fraction)


def chosen(
    choose: Chooser,
    pool: IntArray,
    rows: IntArray,
    n: int,
    rng: np.random.Generator,
    of: str = "positives",
    counted: bool = True,
) -> IntArray:
    """Positions into ``rows`` of the ``n`` that the mechanism labels; PluginError if it chooses one repeatedly."""
    found = choose(pool, rows, n, rng)
    if (distinct := len(np.unique(found))) != (n if counted else len(found)):
        raise PluginError(f"the mechanism chose {distinct} distinct {of} instead of {n if counted else len(found)}")
    return found


def given_split(
    data: PNDataset, *, scheme: Scheme, validation_fraction: float, test_fraction: float, seed: int
) -> Split:
    """The split of data that come with their labels (``data.labeled``).

    Where true labels are known and there is no test part, one is split off, stratified by truth; under two-sample data
    from the unlabeled rows, which alone are a draw from the population. The validation part is stratified by who is
    labeled. Rows of one of the data's groups go to one part. Raises RequestError if no labeled or no unlabeled row is
    left to train on.
    """
    assert data.labeled is not None
    groups = data.groups

    def take(rows: IntArray, y: npt.NDArray[np.int8], fraction: float, purpose: str) -> tuple[IntArray, IntArray]:
        if groups is None or not fraction:
            return take_stratified(rows, y, fraction)
        part = deal_groups(groups[rows], y[rows] == 1, (1 - fraction, fraction), stream(seed, purpose))
        return rows[part == 0], rows[part == 1]

    pool = stream(seed, "split").permutation(data.rows)
    if data.rows_test is not None:
        test = data.rows_test
    elif data.y is not None:
        apart = pool[data.labeled[pool]] if scheme == "two-sample" else pool[:0]
        _, test = take(pool[~np.isin(pool, apart)], data.y, test_fraction, "groups to test on")
        pool = pool[~(np.isin(pool, test) if groups is None else np.isin(groups[pool], groups[test]))]
    else:
        test = pool[:0]
    train, validation = take(pool, data.labeled.astype(np.int8), validation_fraction, "groups to select on")
    labeled = data.labeled[train]
    if not labeled.any() or labeled.all():
        raise RequestError(
            f"{data.key}: {int(labeled.sum())} labeled and {int((~labeled).sum())} unlabeled rows are left to train "
            "on, and both are needed; lower validation.fraction",
            field="validation.fraction",
            value=validation_fraction,
        )
    return Split(Part(train, labeled), Part(validation, data.labeled[validation]), test).permuted(seed)


def cut(
    split: Split, folds: int, fold: int, seed: int, equal: IntArray | None = None, groups: IntArray | None = None
) -> Split:
    """The training part cut into ``folds`` parts, of which number ``fold`` (from 1) becomes the validation part.

    Rows are dealt out in random order, labeled and other rows evenly. A part holds instances, so that a labeled
    positive and its copy in U are never in two parts. ``equal``: (n,) for each row of the training part, a number that
    rows share which are one instance; by default each is its own. ``groups``: (n,) likewise, of rows that must not be
    parted, whatever ``equal`` says. Raises RequestError for fewer labeled or other instances or groups than folds.
    """
    part, dealt = split.train, np.empty(len(split.train.rows), dtype=np.int64)
    rng = stream(seed, "folds")
    if groups is not None:
        dealt = deal_groups(groups, part.labeled, [1 / folds] * folds, rng)
        for name, kind in (("labeled", part.labeled), ("unlabeled", ~part.labeled)):
            if (found := len(np.unique(dealt[kind]))) < folds:
                raise RequestError(
                    f"{folds} folds need at least {folds} groups with {name} rows, got {len(np.unique(groups[kind]))}, "
                    f"which reach {found} folds; lower validation.folds",
                    field="validation.folds",
                    value=folds,
                )
        return Split(*part.parted(dealt == fold - 1), split.test_rows)
    first, of_row = np.arange(len(dealt)), np.arange(len(dealt))
    if equal is not None:
        _, first, of_row = np.unique(equal, return_index=True, return_inverse=True)
    alone = np.zeros(len(dealt), dtype=bool)
    alone[first] = True
    known = np.bincount(of_row, weights=part.labeled, minlength=len(first))[of_row] > 0
    for name, kind in (("labeled", known), ("unlabeled", ~known)):
        positions = np.flatnonzero(kind & alone)
        if len(positions) < folds:
            raise RequestError(
                f"{folds} folds need at least {folds} different {name} rows, got {len(positions)}; lower "
                "validation.folds",
                field="validation.folds",
                value=folds,
            )
        dealt[rng.permutation(positions)] = np.arange(len(positions)) % folds
    return Split(*part.parted(dealt[first][of_row] == fold - 1), split.test_rows)
