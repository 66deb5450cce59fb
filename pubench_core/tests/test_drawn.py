"""The schemes of Wang et al.: how many rows of which class are drawn, who is labeled, what the validation part is."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_problems import labels_only, uniformly

from pubench_core.data.dataset import PNDataset
from pubench_core.data.generator import Split
from pubench_core.data.sampling import balanced, draw
from pubench_core.errors import RequestError

SCHEMES = ("one-sample", "two-sample")
#: Sizes of the digits in USPS's training part.
USPS = (1194, 1005, 731, 658, 652, 556, 664, 645, 542, 644)


def data_of(sizes: tuple[int, ...], positive: tuple[int, ...], *, with_test: bool = True) -> PNDataset:
    """Classes of these sizes, sorted; a test part of its own has one row of each side."""
    classes = np.repeat(np.arange(len(sizes)), sizes)
    data = labels_only(0, len(classes), test=(1, 1) if with_test else None)
    return replace(data, key="sizes", y=np.isin(classes, positive).astype(np.int8), classes=classes)


def split_of(data: PNDataset, **more: Any) -> Split:
    usual: dict[str, Any] = {
        "scheme": "one-sample",
        "choose": uniformly,
        "positive_rate": 0.3,
        "total": None,
        "validation_fraction": 0.1,
        "test_fraction": 0.1,
        "seed": 2,
    }
    return draw(data, **{**usual, **more})


def rows_of(split: Split) -> tuple[np.ndarray, np.ndarray]:
    """(labeled, unlabeled) rows of training and validation parts together."""
    parts = (split.train, split.validation)
    return (
        np.concatenate([part.rows[part.labeled] for part in parts]),
        np.concatenate([part.rows[~part.labeled] for part in parts]),
    )


@pytest.mark.parametrize("positive", [(4, 5, 7, 8, 9), (1, 4, 6, 8, 9)])
@pytest.mark.parametrize("rate", [0.1, 0.2, 0.3, 0.4])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_counts_are_those_of_the_paper(scheme: str, rate: float, positive: tuple[int, ...]) -> None:
    """USPS: 4,000 rows; sizes of the released code (wu-dd/PUBench, lib/misc.py, gen_configs, set1 to set10)."""
    data = data_of(USPS, positive)
    split = split_of(data, scheme=scheme, positive_rate=rate, total=4000)
    labeled, unlabeled = rows_of(split)
    assert (len(labeled), len(unlabeled)) == (rate * 4000, (1 - rate) * 4000)
    assert data.y is not None
    assert data.y[labeled].all()
    population = np.concatenate([labeled, unlabeled]) if scheme == "one-sample" else unlabeled
    assert data.classes is not None
    assert set(Counter(data.classes[population]).values()) == {len(population) // 10}
    assert len(np.intersect1d(labeled, unlabeled)) == 0
    validation = split.validation
    assert validation.n_labeled == math.floor(0.1 * len(labeled))
    assert len(validation.rows) - validation.n_labeled == math.floor(Fraction("0.1") * len(unlabeled))


@pytest.mark.parametrize(
    ("more", "labeled", "rows"),
    [
        ({"total": 1010}, 30, 30 + 70),  # of 303 labeled and 707 unlabeled rows, a tenth is 30.3 and 70.7
        ({"total": 1000, "positive_rate": 0.1, "validation_fraction": 0.29}, 29, 29 + 261),  # 29 is below .29 x 100
    ],
)
def test_the_validation_part_is_rounded_down_from_the_decimal_written(
    more: dict[str, Any], labeled: int, rows: int
) -> None:
    validation = split_of(data_of(USPS, (4, 5, 7, 8, 9)), **more).validation
    assert (validation.n_labeled, len(validation.rows)) == (labeled, rows)


def test_the_seed_decides_the_drawn_positives_and_the_order_of_rows() -> None:
    data, places = data_of((200, 200), (1,)), []

    def recorded(pool: Any, positives: Any, n: int, rng: np.random.Generator) -> Any:
        places.append(uniformly(pool, positives, n, rng))
        return places[-1]

    one, other = (split_of(data, choose=recorded, seed=seed, validation_fraction=0.0) for seed in (2, 3))
    assert not np.array_equal(*places)
    assert np.array_equal(np.sort(one.train.rows), np.sort(other.train.rows))
    assert not np.array_equal(one.train.rows, other.train.rows)


@settings(deadline=None, max_examples=60)
@given(
    sizes=st.lists(st.integers(1, 30), min_size=2, max_size=6),
    n_positive_classes=st.integers(1, 5),
    scheme=st.sampled_from(SCHEMES),
    rate=st.sampled_from([0.1, 0.25, 0.5]),
    fraction=st.sampled_from([0.0, 0.1, 0.4]),
    seed=st.integers(0, 3),
)
def test_without_a_total_as_many_rows_are_drawn_as_there_are(
    sizes: list[int], n_positive_classes: int, scheme: str, rate: float, fraction: float, seed: int
) -> None:
    positive = tuple(range(min(n_positive_classes, len(sizes) - 1)))
    data = data_of(tuple(sizes), positive)
    assert data.y is not None
    asked: dict[str, Any] = {
        "scheme": scheme,
        "positive_rate": rate,
        "validation_fraction": fraction,
        "seed": seed,
    }
    if min(int(data.y.sum()), int((1 - data.y).sum())) < 1 / rate:  # nobody is labeled, or nobody is left
        return
    split = split_of(data, **asked)
    labeled, unlabeled = rows_of(split)
    n = len(labeled) + len(unlabeled)
    assert len(labeled) == math.floor(Fraction(str(rate)) * n)
    population = np.concatenate([labeled, unlabeled]) if scheme == "one-sample" else unlabeled
    assert data.y[population].sum() == len(population) // 2
    with pytest.raises(RequestError, match=f"allows {n} rows"):
        split_of(data, **asked, total=n + 1)


def test_a_class_with_too_few_rows_is_filled_by_others_of_its_side() -> None:
    data = data_of((3, 50, 50, 90, 90), (0, 1, 2))
    drawn = balanced(data, np.arange(283), 180)
    assert data.classes is not None
    assert sorted(Counter(data.classes[drawn]).items()) == [(0, 3), (1, 43), (2, 44), (3, 45), (4, 45)]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_position_tells_nothing_and_the_seed_decides_all(scheme: str) -> None:
    data = data_of((300, 900, 400, 600), (0, 1))
    split = split_of(data, scheme=scheme, total=1000)
    again, other = split_of(data, scheme=scheme, total=1000), split_of(data, scheme=scheme, total=1000, seed=3)
    for one, same, another in zip(_parts(split), _parts(again), _parts(other), strict=True):
        assert np.array_equal(one, same)
        assert not np.array_equal(one, another)
    assert data.y is not None
    truth = data.y[split.train.rows].astype(float)
    place = np.arange(len(truth))
    for told in (truth, split.train.labeled.astype(float)):
        bound = 5 / math.sqrt(len(place))  # five standard errors of a correlation of 0
        assert abs(np.corrcoef(place, told)[0, 1]) < bound


def _parts(split: Split) -> list[np.ndarray]:
    return [split.train.rows, split.validation.rows]


def test_the_test_part_is_split_off_first_where_there_is_none() -> None:
    data = data_of((500, 500), (1,), with_test=False)
    split = split_of(data, test_fraction=0.2)
    assert len(split.test_rows) == 200
    assert not np.isin(np.concatenate(rows_of(split)), split.test_rows).any()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"positive_rate": 0.6}, "must be at most 0.5, where all positives are labeled, got 0.6"),
        ({"total": 5000}, "data.total 5000: sizes allows 400 rows of P and U"),
        ({"positive_rate": 0.001}, "labels nobody: floor(0.001 x 400 rows) = 0; it must be at least 0.0025"),
        ({"positive_rate": 0.6, "scheme": "two-sample", "total": 400}, "allows 251 rows"),
    ],
)
def test_what_the_data_cannot_give_is_refused(more: dict[str, Any], message: str) -> None:
    with pytest.raises(RequestError) as refusal:
        split_of(data_of((100, 100, 100, 100), (0, 1)), **more)
    assert message in str(refusal.value)
