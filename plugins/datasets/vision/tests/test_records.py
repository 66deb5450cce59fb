"""What the six info records promise: classes, binarizations, backbones, and the published split counts."""

from __future__ import annotations

import csv
import subprocess
import sys
from collections.abc import Sequence

import numpy as np
import pytest
from pubench_datasets_vision import pubench_datasets
from pubench_testkit.testing import reference_folder

from pubench_core.data.dataset import ClassData, IntArray, binarize
from pubench_core.data.generator import generate, stratified_counts
from pubench_core.data.source import source_of
from pubench_core.specs import DataSpec

INFOS = {info.key: info for info in pubench_datasets()}
PUBLISHED = {"mnist": "MNIST", "fashion-mnist": "F-MNIST", "cifar10": "CIFAR-10", "adni": "ADNI"}
TABLE = {
    row["dataset"]: row for row in csv.DictReader((reference_folder() / "pubench_splits.csv").read_text().splitlines())
}


class TestRecords:
    @pytest.mark.parametrize("key", INFOS)
    def test_every_binarization_divides_all_classes(self, key: str) -> None:
        info = INFOS[key]
        for positive, negative in ((info.positive, info.negative), *info.binarizations.values()):
            assert sorted(positive + negative) == list(range(len(info.classes)))

    @pytest.mark.parametrize("key", INFOS)
    def test_the_loader_is_a_data_source(self, key: str) -> None:
        assert source_of(INFOS[key]).info is INFOS[key]

    @pytest.mark.parametrize(("key", "name"), PUBLISHED.items())
    def test_the_default_classes_are_those_of_pu_bench(self, key: str, name: str) -> None:
        sides = (",".join(map(str, side)) for side in (INFOS[key].positive, INFOS[key].negative))
        assert " VS. ".join(sides) == TABLE[name]["pos_vs_neg"]

    @pytest.mark.parametrize(
        ("key", "case1", "case2"),
        [
            ("cifar10", "0 1 2 8 9", "2 3 5 7 9"),
            ("imagenette", "0 1 2 8 9", "2 3 5 7 9"),
            ("usps", "4 5 7 8 9", "1 4 6 8 9"),
        ],
    )
    def test_the_two_cases_of_wang_et_al(self, key: str, case1: str, case2: str) -> None:
        positives = {name: " ".join(map(str, sides[0])) for name, sides in INFOS[key].binarizations.items()}
        assert positives == {"case1": case1, "case2": case2}

    def test_defaults_where_pu_bench_has_none(self) -> None:
        assert INFOS["usps"].positive == (0, 2, 4, 6, 8)
        assert (INFOS["imagenette"].positive, INFOS["imagenette"].negative) == INFOS["imagenette"].binarizations[
            "case1"
        ]

    def test_neither_records_nor_loaders_import_what_only_reading_needs(self) -> None:
        """The warm path makes a source and calls ``locate``; the rest comes from the prepared copy."""
        script = (
            "import importlib, sys\n"
            "from pubench_datasets_vision import pubench_datasets\n"
            "for info in pubench_datasets(): importlib.import_module(info.load.split(':')[0])\n"
            "print([m for m in ('torchvision', 'PIL', 'pyarrow') if m in sys.modules])\n"
        )
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        assert done.stdout == "[]\n"


def class_labels(counts: Sequence[int]) -> IntArray:
    return np.repeat(np.arange(len(counts)), counts)


def adni_counts() -> tuple[list[int], list[int]]:
    """Images per class, training and test, from the published counts and the 3,200, 2,240, 64, 896 of the whole set.

    The validation part is 1 % of the training part, stratified: of all ways to add its 52 images to the positives and
    negatives left for training, one gives that stratification back.
    """
    row = TABLE["ADNI"]
    positive, negative, size = int(row["pn_train_pos"]), int(row["pn_train_neg"]), int(row["val_size"])
    fitting = [
        k for k in range(size + 1) if stratified_counts((negative + size - k, positive + k), 0.01) == (size - k, k)
    ]
    assert len(fitting) == 1
    whole = [3200, 2240, 64, 896]
    non_demented = positive + fitting[0]
    assert non_demented == whole[0] - int(row["test_pos"])
    # the paper does not say how many of each degree of dementia are in which part; only their sum matters here
    test = [int(row["test_pos"]), int(row["test_neg"]) - 13 - 179, 13, 179]
    return [a - b for a, b in zip(whole, test, strict=True)], test


@pytest.mark.reference
@pytest.mark.parametrize("scheme", ["case-control", "single-training-set"])
@pytest.mark.parametrize(
    ("key", "counts"), [("cifar10", ([5000] * 10, [1000] * 10)), ("adni", adni_counts())], ids=["cifar10", "adni"]
)
def test_a_split_of_the_real_class_counts_has_the_published_counts(
    key: str, counts: tuple[list[int], list[int]], scheme: str
) -> None:
    """PU-Bench, Table D.1: validation fraction 0.01, c = 0.1. Its U keeps the labeled positives (case-control)."""
    info, row = INFOS[key], TABLE[PUBLISHED[key]]
    train, test = map(class_labels, counts)
    assert len(train) + len(test) == int(row["total"])
    nothing = np.zeros((len(train), 1), dtype=np.uint8)
    problem = DataSpec(key=key, positive=info.positive, negative=info.negative)
    data = binarize(info, ClassData(nothing, train, nothing[: len(test)], test), problem)
    assert data.y is not None
    assert data.y_test is not None
    split = generate(
        data,
        scheme=scheme,  # type: ignore[arg-type]
        choose=lambda pool, positives, n, rng: rng.choice(len(positives), n, replace=False),
        c=0.1,
        validation_fraction=0.01,
        test_fraction=0.2,
        seed=2,
    )
    truth, unlabeled = data.y[split.train.rows], split.train.unlabeled(scheme)  # type: ignore[arg-type]
    labeled = int(row["pu_labeled"])
    removed = labeled if scheme == "single-training-set" else 0
    assert np.bincount(truth).tolist() == [int(row["pn_train_neg"]), int(row["pn_train_pos"])]
    assert split.train.n_labeled == labeled
    assert np.bincount(truth[unlabeled]).tolist() == [int(row["pu_unlab_neg"]), int(row["pu_unlab_pos"]) - removed]
    assert len(split.validation.rows) == int(row["val_size"])
    assert np.bincount(data.y_test[split.test_rows]).tolist() == [int(row["test_neg"]), int(row["test_pos"])]
