"""The data sets that come with scikit-learn: what is in them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pubench_datasets_embedded import loaders, pubench_datasets

from pubench_core.data.dataset import ClassData, DataRoot
from pubench_core.data.source import source_of

NOWHERE = DataRoot(Path("/nowhere"), "a test")
INFOS = {info.key: info for info in pubench_datasets()}


def read(key: str) -> ClassData:
    return source_of(INFOS[key]).read((), NOWHERE)


@pytest.mark.parametrize(
    ("key", "shape", "counts"),
    [
        ("digits", (1797, 64), [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]),
        ("breast-cancer", (569, 30), [212, 357]),
    ],
)
def test_rows_and_classes(key: str, shape: tuple[int, int], counts: list[int]) -> None:
    data, info = read(key), INFOS[key]
    assert (data.x.shape, data.x.dtype, data.y.dtype) == (shape, np.float32, np.int64)
    assert np.bincount(data.y).tolist() == counts
    assert sorted(info.positive + info.negative) == list(range(len(counts))) == list(range(len(info.classes)))
    assert np.isfinite(data.x).all()
    assert data.x_test is None


@pytest.mark.parametrize("key", INFOS)
def test_the_table_in_its_folder_is_what_scikit_learn_loads(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its folder is not for others to rely on: where the table lies elsewhere, its own loader is asked."""
    ours = read(key)
    monkeypatch.setattr(loaders.importlib.util, "find_spec", lambda name: None)
    theirs = read(key)
    assert np.array_equal(ours.x, theirs.x)
    assert np.array_equal(ours.y, theirs.y)


def test_digits_are_gray_values_in_0_to_1_by_sixteenths() -> None:
    x = read("digits").x
    assert (x.min(), x.max()) == (0, 1)
    assert np.array_equal(x * 16, np.round(x * 16))
    assert INFOS["digits"].preprocess == "none"


def test_even_digits_are_positive() -> None:
    assert INFOS["digits"].positive == (0, 2, 4, 6, 8)


def test_malignant_tumours_are_positive_and_the_wider_ones() -> None:
    data = read("breast-cancer")
    assert INFOS["breast-cancer"].classes[INFOS["breast-cancer"].positive[0]] == "malignant"
    radius = data.x[:, 0]
    assert radius[data.y == 0].mean() > radius[data.y == 1].mean() + 4
