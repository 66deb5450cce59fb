"""``data.test=drawn``: training and test rows of a data set are one pool, of which a share is drawn to test on."""

from __future__ import annotations

import numpy as np
import pytest
from made_problems import split_of, uniformly
from pydantic import ValidationError

from pubench_core.data.dataset import ClassData, PNDataset, binarize
from pubench_core.data.sampling import draw
from pubench_core.errors import RequestError
from pubench_core.plugins.info import DatasetInfo
from pubench_core.specs import DataSpec, UserTableSpec

INFO = DatasetInfo(
    key="three",
    name="Three",
    summary="rows that are their own numbers",
    load="nowhere:Nothing",
    modality="tabular",
    classes=("a", "b", "c"),
    positive=(0,),
    negative=(1,),
    backbone="mlp",
)


def loaded(n: int = 300, n_test: int = 90) -> ClassData:
    """Row k has the feature k and the class k mod 3; the last ``n_test`` are the test part."""
    x, y = np.arange(n + n_test, dtype=np.float32)[:, None], np.arange(n + n_test) % 3
    return ClassData(x=x[:n], y=y[:n], x_test=x[n:], y_test=y[n:], mean=(0.5,), std=(0.25,))


def problem(data: ClassData | None = None, test: str = "drawn") -> PNDataset:
    spec = DataSpec.model_validate({"key": "three", "positive": (0,), "negative": (1,), "test": test})
    return binarize(INFO, data or loaded(), spec)


def test_rows_of_both_parts_keep_features_and_classes() -> None:
    data, given = problem(), loaded()
    assert data.x_test is data.y_test is data.rows_test is None
    assert data.y is not None
    assert data.classes is not None
    np.testing.assert_array_equal(data.x[:, 0], np.arange(390))
    np.testing.assert_array_equal(data.classes, np.arange(390) % 3)
    np.testing.assert_array_equal(data.y, np.array([1, 0, -1] * 130))
    assert (data.mean, data.std) == (given.mean, given.std)
    assert data.dropped == problem(test="own").dropped == 130


def test_the_test_part_is_a_stratified_share_and_differs_by_seed() -> None:
    data = problem()
    splits = [split_of(data, c=0.5, validation_fraction=0.1, seed=seed) for seed in (2, 2, 25)]
    first, again, other = (set(split.test_rows.tolist()) for split in splits)
    assert first == again != other
    assert data.y is not None
    assert [int((data.y[sorted(first)] == side).sum()) for side in (1, 0)] == [26, 26]
    assert {row < 300 for row in first} == {True, False}  # of both parts
    for split in splits:
        rows = np.concatenate([split.train.rows, split.validation.rows, split.test_rows])
        np.testing.assert_array_equal(np.sort(rows), data.rows)  # every row once


def test_balanced_draws_can_take_rows_of_the_former_test_part() -> None:
    sizes = {}
    for test in ("own", "drawn"):
        split = draw(
            problem(test=test),
            scheme="one-sample",
            choose=uniformly,
            positive_rate=0.3,
            total=None,
            validation_fraction=0.1,
            test_fraction=0.1,
            seed=2,
        )
        sizes[test] = len(split.train.rows) + len(split.validation.rows)
    assert sizes == {"own": 200, "drawn": 234}  # 2 x 100, and nine tenths of 2 x 130


def test_data_without_a_test_part_are_refused() -> None:
    whole = loaded().pooled()
    assert whole.x_test is None
    with pytest.raises(RequestError, match="three has no test part of its own") as refused:
        problem(whole)
    assert refused.value.field == "data.test"
    assert problem(whole, test="own").rows_test is None


def test_the_test_file_of_a_user_is_not_pooled() -> None:
    own = UserTableSpec(path="rows.csv", label_col="labeled", sha256="0" * 64)  # type: ignore[arg-type]
    with pytest.raises(ValidationError, match="the test part of your own table is its test file"):
        DataSpec(key="rows.csv", own=own, positive=(1,), negative=(0,), test="drawn")
