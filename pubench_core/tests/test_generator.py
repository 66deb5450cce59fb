"""Splits are what the protocol says they are, and a row's position tells nothing about its label."""

from __future__ import annotations

import csv
import math
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_problems import labels_only, problem_of, split_of
from pubench_testkit.testing import reference_arrays, reference_folder
from scipy.stats import rankdata

from pubench_core.data.generator import Split, given_split, label_count
from pubench_core.errors import PluginError, RequestError

SCHEMES = ("case-control", "single-training-set")

classes = st.integers(min_value=20, max_value=300)
percents = st.integers(min_value=15, max_value=100)
fractions = st.sampled_from([0.0, 0.01, 0.05, 0.2, 0.29, 0.5])
seeds = st.integers(min_value=0, max_value=2**32)
schemes = st.sampled_from(SCHEMES)
thoroughly = settings(deadline=None, max_examples=60)


def rows_of(split: Split) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return split.train.rows, split.validation.rows, split.test_rows


def same(first: Split, second: Split) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(rows_of(first), rows_of(second), strict=True))


@thoroughly
@given(positive=classes, negative=classes, fraction=fractions, seed=seeds)
def test_train_validation_and_test_share_no_row_and_leave_none_out(
    positive: int, negative: int, fraction: float, seed: int
) -> None:
    split = split_of(labels_only(positive, negative), c=0.5, validation_fraction=fraction, seed=seed)
    assert sorted(np.concatenate(rows_of(split))) == list(range(positive + negative))


@thoroughly
@given(positive=classes, negative=classes, percent=st.integers(0, 60), seed=seeds)
def test_parts_have_the_ceiling_of_their_share_with_classes_in_proportion(
    positive: int, negative: int, percent: int, seed: int
) -> None:
    data = labels_only(positive, negative)
    split = split_of(data, c=0.5, validation_fraction=percent / 100, seed=seed)
    n = positive + negative
    rest = n - math.ceil(Fraction(n, 5))
    assert len(split.test_rows) == n - rest
    assert len(split.validation.rows) == math.ceil(Fraction(percent * rest, 100))
    left = positive - int(data.y[split.test_rows].sum())
    assert abs(positive - left - Fraction(positive * (n - rest), n)) < 1
    taken = int(data.y[split.validation.rows].sum())
    assert abs(taken - Fraction(left * len(split.validation.rows), rest)) < 1


def test_a_fixed_test_part_is_used_whole_and_in_its_order() -> None:
    data = labels_only(300, 200, test=(40, 60))
    split = split_of(data, validation_fraction=0.2)
    assert np.array_equal(split.test_rows, np.arange(100))
    assert len(split.train.rows) + len(split.validation.rows) == 500


@thoroughly
@given(positive=classes, negative=classes, percent=percents, fraction=fractions, scheme=schemes, seed=seeds)
def test_a_labeled_row_is_always_positive_and_their_number_is_the_floor(
    positive: int, negative: int, percent: int, fraction: float, scheme: str, seed: int
) -> None:
    data = labels_only(positive, negative)
    split = split_of(data, scheme=scheme, c=percent / 100, validation_fraction=fraction, seed=seed)
    for part in (split.train, split.validation):
        truth = data.y[part.rows]
        assert truth[part.labeled].all()
        assert part.n_labeled == percent * int(truth.sum()) // 100


@pytest.mark.parametrize(
    ("c", "expected"), [(0.29, 29), (0.57, 57), (np.float64(0.58), 58), (0.1, 10), (1.0, 100), (0.009, 0)]
)
def test_c_is_read_as_the_decimal_written(c: float, expected: int) -> None:
    assert label_count(c, 100) == expected


@pytest.mark.reference
def test_label_counts_are_those_of_the_vectors() -> None:
    arrays = reference_arrays("measures")
    ours = [[label_count(float(c), int(n)) for n in arrays["nl_nP"]] for c in arrays["nl_c"]]
    assert np.array_equal(ours, arrays["nl_floor_exact"])


@thoroughly
@given(positive=classes, negative=classes, percent=percents, seed=seeds)
def test_u_is_the_whole_pool_in_case_control_else_the_pool_without_p(
    positive: int, negative: int, percent: int, seed: int
) -> None:
    data = labels_only(positive, negative)
    split = split_of(data, c=percent / 100, validation_fraction=0.1, seed=seed)
    for part in (split.train, split.validation):
        everything, without = (part.rows[part.unlabeled(scheme)] for scheme in SCHEMES)
        p, n = int(data.y[part.rows].sum()), int((data.y[part.rows] == 0).sum())
        assert np.bincount(data.y[everything], minlength=2).tolist() == [n, p]
        assert np.bincount(data.y[without], minlength=2).tolist() == [n, p - part.n_labeled]
        assert set(everything) - set(without) == set(part.rows[part.labeled])


def leading(truth: np.ndarray) -> int:
    """How many rows stand in front of the first one of the other class."""
    return int(np.argmax(truth != truth[0]))


@pytest.mark.parametrize("labels_are_given", [False, True])
def test_no_part_begins_or_ends_with_rows_of_one_class(labels_are_given: bool) -> None:
    """The first rows of every class make a part, so that the class that has enough first would lead what is left.

    Of 40 seeds, the mean of a run's length is 2.25 with a deviation of 0.3 where the order is random.
    """
    data = labels_only(800, 1_200)
    if labels_are_given:
        data = replace(data, labeled=data.rows % 4 + data.rows // 800 * 4 == 0)
    runs = []
    for seed in range(40):
        if labels_are_given:
            split = given_split(data, scheme="one-sample", validation_fraction=0.1, test_fraction=0.2, seed=seed)
        else:
            split = split_of(data, validation_fraction=0.1, seed=seed)
        truths = [data.y[part.rows] for part in (split.train, split.validation)]
        runs.append([leading(order) for truth in truths for order in (truth, truth[::-1])])
    assert np.mean(runs, axis=0).max() < 4


@pytest.mark.parametrize("seed", [2, 25, 42])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_position_of_an_unlabeled_row_does_not_reveal_its_label(scheme: str, seed: int) -> None:
    problem = problem_of(labels_only(9_000, 13_000), scheme=scheme, c=0.3, validation_fraction=0.2, seed=seed)
    data = problem.view(frozenset())
    for part in (data, data.validation):
        truth = part.x[part.unlabeled_rows, 0].numpy() < 9_000  # the feature is the row of the file
        n_positive, n_negative = int(truth.sum()), int((~truth).sum())
        sigma = math.sqrt((len(truth) + 1) / (12 * n_positive * n_negative))  # of the rank-sum statistic
        for numbers in (part.unlabeled_rows, part.instance[part.unlabeled_rows]):
            rank_sum = rankdata(numbers.numpy())[truth].sum()
            auc = (rank_sum - n_positive * (n_positive + 1) / 2) / (n_positive * n_negative)
            assert abs(auc - 0.5) < 5 * sigma


@thoroughly
@given(positive=classes, negative=classes, percent=percents, scheme=schemes, seed=seeds)
def test_a_seed_gives_one_split_and_the_labels_follow_from_seed_and_c(
    positive: int, negative: int, percent: int, scheme: str, seed: int
) -> None:
    data = labels_only(positive, negative)
    first, again = (
        split_of(data, scheme=scheme, c=percent / 100, validation_fraction=0.2, seed=seed) for _ in range(2)
    )
    assert same(first, again)
    assert np.array_equal(first.train.labeled, again.train.labeled)
    assert np.array_equal(first.validation.labeled, again.validation.labeled)


@thoroughly
@given(percent=percents, seed=seeds)
def test_neither_c_nor_the_scheme_moves_a_row_to_another_part(percent: int, seed: int) -> None:
    data = labels_only(200, 100)
    choices = ((0.5, "case-control"), (percent / 100, "case-control"), (percent / 100, "single-training-set"))
    splits = [split_of(data, c=c, scheme=scheme, validation_fraction=0.2, seed=seed) for c, scheme in choices]
    assert same(splits[0], splits[1])
    assert same(splits[1], splits[2])
    assert np.array_equal(splits[1].train.labeled, splits[2].train.labeled)


@given(seed=st.integers(0, 10_000), other=st.integers(10_001, 20_000))
@thoroughly
def test_another_seed_gives_another_split_and_other_labels(seed: int, other: int) -> None:
    data = labels_only(100, 100)
    one, two = (split_of(data, c=0.5, seed=s) for s in (seed, other))
    assert not np.array_equal(one.train.rows, two.train.rows)
    assert set(one.test_rows) != set(two.test_rows)
    assert set(one.train.rows[one.train.labeled]) != set(two.train.rows[two.train.labeled])


def test_training_and_validation_labels_are_drawn_from_different_streams() -> None:
    split = split_of(labels_only(500, 500, test=(1, 1)), c=0.5, validation_fraction=0.5)
    first, second = (np.flatnonzero(p.labeled[p.rows < 500]) for p in (split.train, split.validation))
    assert len(first) == len(second) == 125
    assert not np.array_equal(first, second)


@given(positive=st.integers(2, 400))
@thoroughly
def test_a_c_that_labels_nobody_is_refused_and_the_c_named_labels_somebody(positive: int) -> None:
    data = labels_only(positive, 50, test=(1, 1))
    with pytest.raises(RequestError, match="labels nobody") as refusal:
        split_of(data, c=0.002, validation_fraction=0.0)
    enough = float(re.findall(r"at least ([\d.e-]+)", str(refusal.value))[0])
    assert split_of(data, c=enough, validation_fraction=0.0).train.n_labeled == 1


def test_a_mechanism_that_chooses_a_positive_twice_is_named_as_broken() -> None:
    with pytest.raises(PluginError, match="1 distinct positives instead of 4"):
        split_of(labels_only(50, 50), choose=lambda pool, positives, n, rng: np.zeros(n, dtype=np.int64))


# ---------------------------------------------------------------- the published split counts

#: Class totals (positive, negative) of what is split: the training part, or everything if there is no test part.
TOTALS = {
    "IMDb": (12_500, 12_500),
    "MNIST": (29_492, 30_508),
    "F-MNIST": (30_000, 30_000),
    "CIFAR-10": (20_000, 30_000),
    "Spambase": (1_813, 2_788),
    "Connect-4": (44_473, 23_084),
}
WITHOUT_TEST_PART = ("Spambase", "Connect-4")


def published() -> list[dict[str, str]]:
    with (reference_folder() / "pubench_splits.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def totals_of(row: dict[str, str]) -> tuple[int, int]:
    """Known totals, else those that the table implies: its counts and a validation part in proportion to them."""
    if row["dataset"] in TOTALS:
        return TOTALS[row["dataset"]]
    positive, negative, size = (int(row[name]) for name in ("pn_train_pos", "pn_train_neg", "val_size"))
    everything = positive + negative + size
    (in_validation,) = (k for k in range(size + 1) if round(Fraction(size * (positive + k), everything)) == k)
    return positive + in_validation, negative + size - in_validation


@pytest.mark.reference
@pytest.mark.parametrize("seed", [2, 2026])
@pytest.mark.parametrize("row", published(), ids=lambda row: row["dataset"])
def test_split_counts_are_the_published_ones(row: dict[str, str], seed: int) -> None:
    test = None if row["dataset"] in WITHOUT_TEST_PART else (int(row["test_pos"]), int(row["test_neg"]))
    data = labels_only(*totals_of(row), test=test)
    split = split_of(data, validation_fraction=float(row["val_fraction"]), seed=seed)
    truth, hidden = data.y[split.train.rows], data.y[split.train.rows[split.train.unlabeled("case-control")]]
    truth_test = (data.y if test is None else data.y_test)[split.test_rows]
    found = {
        "pn_train_pos": (truth == 1).sum(),
        "pn_train_neg": (truth == 0).sum(),
        "pu_labeled": split.train.n_labeled,
        "pu_unlab_pos": (hidden == 1).sum(),
        "pu_unlab_neg": (hidden == 0).sum(),
        "val_size": len(split.validation.rows),
        "test_pos": (truth_test == 1).sum(),
        "test_neg": (truth_test == 0).sum(),
        "total": len(split.train.rows) + len(split.validation.rows) + len(split.test_rows),
    }
    assert found == {name: int(row[name]) for name in found}
