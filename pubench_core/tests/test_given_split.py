"""Rows that come with their labels are split by who is labeled, the test part by truth, and each row goes one way."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from made_problems import labels_only

from pubench_core.data.dataset import PNDataset
from pubench_core.data.generator import Part, Split, cut, deal_groups, given_split
from pubench_core.errors import RequestError

N, N_LABELED, N_POSITIVE = 100, 20, 50
LABELED = np.arange(N) < N_LABELED
TRUTH = (np.arange(N) < N_POSITIVE).astype(np.int8)  # 20 labeled and 30 hidden positives, 50 negatives


def table(
    labeled: np.ndarray = LABELED, truth: np.ndarray | None = None, truth_test: np.ndarray | None = None
) -> PNDataset:
    data = labels_only(len(labeled), 0, test=None if truth_test is None else (len(truth_test), 0))
    return replace(data, key="my.csv", y=truth, y_test=truth_test, labeled=labeled)


def split(data: PNDataset, **more: Any) -> Split:
    defaults: dict[str, Any] = {"scheme": "one-sample", "validation_fraction": 0.2, "test_fraction": 0.2, "seed": 2}
    return given_split(data, **{**defaults, **more})


def everyone(found: Split) -> list[int]:
    return sorted(np.concatenate([found.train.rows, found.validation.rows, found.test_rows]).tolist())


@pytest.mark.parametrize("scheme", ["one-sample", "two-sample"])
@pytest.mark.parametrize("truth", [None, TRUTH])
@pytest.mark.parametrize("seed", [0, 2, 3])
def test_every_row_is_in_one_part_once_with_its_own_label(scheme: str, truth: np.ndarray | None, seed: int) -> None:
    found = split(table(truth=truth), scheme=scheme, seed=seed)
    assert everyone(found) == list(range(N))
    for part in (found.train, found.validation):
        assert np.array_equal(part.labeled, LABELED[part.rows])


@pytest.mark.parametrize(("fraction", "labeled", "rows"), [(0.2, 4, 20), (0.01, 0, 1), (0.1, 2, 10), (0.0, 0, 0)])
def test_the_validation_part_is_stratified_by_who_is_labeled(fraction: float, labeled: int, rows: int) -> None:
    found = split(table(), validation_fraction=fraction)
    assert (found.validation.n_labeled, len(found.validation.rows)) == (labeled, rows)
    assert found.train.n_labeled == N_LABELED - labeled


@pytest.mark.parametrize(
    ("truth", "scheme", "rows", "positive"),
    [(None, "one-sample", 0, 0), (TRUTH, "one-sample", 20, 10), (TRUTH, "two-sample", 16, 6)],
)
def test_the_test_part_is_stratified_by_truth(truth: np.ndarray | None, scheme: str, rows: int, positive: int) -> None:
    """Of two samples, the unlabeled rows alone are a draw from the population: 30 positives of 80."""
    for seed in range(5):
        found = split(table(truth=truth), scheme=scheme, seed=seed)
        assert (len(found.test_rows), int(TRUTH[found.test_rows].sum())) == (rows, positive)
        if scheme == "two-sample":
            assert not LABELED[found.test_rows].any()
            assert found.train.n_labeled + found.validation.n_labeled == N_LABELED


def test_of_one_draw_the_test_part_is_a_draw_too_labeled_rows_among_it() -> None:
    counts = [int(LABELED[split(table(truth=TRUTH), seed=seed).test_rows].sum()) for seed in range(20)]
    assert min(counts) < max(counts)
    assert 2 < np.mean(counts) < 6  # 20 of 100 rows are labeled, and 20 are tested on


@pytest.mark.parametrize("truth", [None, TRUTH])
def test_rows_of_a_test_file_leave_the_training_file_whole(truth: np.ndarray | None) -> None:
    found = split(table(truth=truth, truth_test=np.array([1, 0, 1], np.int8)))
    assert found.test_rows.tolist() == [0, 1, 2]
    assert sorted([*found.train.rows, *found.validation.rows]) == list(range(N))


def test_with_a_test_file_truth_changes_no_part() -> None:
    test = np.array([1, 0], np.int8)
    without, known, permuted = (
        split(table(truth=truth, truth_test=test))
        for truth in (None, TRUTH, np.random.default_rng(0).permutation(TRUTH))
    )
    for other in (known, permuted):
        assert np.array_equal(other.train.rows, without.train.rows)
        assert np.array_equal(other.validation.rows, without.validation.rows)


def test_the_seed_decides_the_split() -> None:
    first, again, other = (split(table(truth=TRUTH), seed=seed) for seed in (2, 2, 3))
    assert np.array_equal(first.train.rows, again.train.rows)
    assert np.array_equal(first.test_rows, again.test_rows)
    assert not np.array_equal(first.train.rows, other.train.rows)


def test_in_both_schemes_the_unlabeled_rows_are_those_without_a_label() -> None:
    for scheme in ("one-sample", "two-sample"):
        part = split(table(), scheme=scheme).train
        assert not part.labeled[part.unlabeled(scheme)].any()
        assert len(part.unlabeled(scheme)) + part.n_labeled == len(part.rows)


@pytest.mark.parametrize(
    ("labeled", "words"),
    [
        (np.arange(10) < 1, "0 labeled and 1 unlabeled rows are left to train on"),
        (np.arange(10) < 9, "1 labeled and 0 unlabeled rows are left to train on"),
    ],
)
def test_a_split_that_leaves_no_label_or_no_unlabeled_row_is_refused(labeled: np.ndarray, words: str) -> None:
    with pytest.raises(RequestError, match=words) as caught:
        split(table(labeled), validation_fraction=0.9)
    assert "my.csv" in str(caught.value)
    assert "lower validation.fraction" in str(caught.value)


# -------------------------------------------------------------------- groups

GROUPS = np.random.default_rng(0).integers(12, size=N) // np.array([1, 3])[np.arange(N) % 2]


def grouped(groups: np.ndarray = GROUPS, **more: Any) -> PNDataset:
    return replace(table(**more), groups=groups)


@pytest.mark.parametrize("scheme", ["one-sample", "two-sample"])
@pytest.mark.parametrize("truth", [None, TRUTH])
@pytest.mark.parametrize("seed", range(5))
def test_no_group_is_in_two_parts(scheme: str, truth: np.ndarray | None, seed: int) -> None:
    found = split(grouped(truth=truth), scheme=scheme, seed=seed)
    train, validation, test = (set(GROUPS[rows]) for rows in (found.train.rows, found.validation.rows, found.test_rows))
    assert len(train) + len(validation) + len(test) == len(train | validation | test)
    assert all((train, validation))
    assert bool(test) == (truth is not None)


def test_parts_of_whole_groups_have_about_their_share_of_both_kinds() -> None:
    groups = np.arange(N) // 2
    found = split(grouped(groups))
    assert abs(len(found.validation.rows) - 20) <= 2
    assert abs(found.validation.n_labeled - 4) <= 2


@pytest.mark.parametrize("folds", [2, 3, 5])
def test_folds_hold_whole_groups_and_both_kinds(folds: int) -> None:
    groups, labeled = np.arange(120) // 6, np.arange(120) % 24 < 7
    whole = Split(Part(np.arange(120), labeled), Part(np.arange(0), labeled[:0]), np.arange(0))
    parts = [cut(whole, folds, number, 2, groups=groups) for number in range(1, folds + 1)]
    assert sorted(np.concatenate([part.validation.rows for part in parts])) == list(range(120))
    for part in parts:
        assert not set(groups[part.validation.rows]) & set(groups[part.train.rows])
        assert 0 < part.validation.n_labeled < len(part.validation.rows)
        assert abs(len(part.validation.rows) - 120 / folds) <= 12


def test_folds_of_too_few_groups_are_refused() -> None:
    groups, labeled = np.arange(120) // 6, np.arange(120) < 12
    whole = Split(Part(np.arange(120), labeled), Part(np.arange(0), labeled[:0]), np.arange(0))
    with pytest.raises(RequestError, match="3 folds need at least 3 groups with labeled rows, got 2, which"):
        cut(whole, 3, 1, 2, groups=groups)


def test_dealing_reads_no_order_of_groups() -> None:
    """Renamed groups are dealt in another random order, and every group comes to every part."""
    rng, groups = np.random.default_rng(1), np.repeat(np.arange(10), 3)
    found = [deal_groups(groups, np.arange(30) % 3 == 0, (0.5, 0.5), rng)[::3] for _ in range(200)]
    assert abs(np.mean(found, axis=0) - 0.5).max() < 0.15
