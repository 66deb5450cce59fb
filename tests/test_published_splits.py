"""Splits of the real data sets have the counts that PU-Bench publishes (Table D.1), for the same classes."""

from __future__ import annotations

import csv
import os

import pytest
from pubench_testkit.testing import reference_folder

from pubench_cli.yaml_layers import assigned
from pubench_core.engine.build import build_problem
from pubench_core.engine.resolve import resolve
from pubench_core.plugins.info import DatasetInfo
from pubench_core.plugins.registry import registry

#: Our key -> PU-Bench's name. The files of the last two are not at hand.
NAMES = {
    "20news": "20News",
    "imdb": "IMDb",
    "mnist": "MNIST",
    "fashion-mnist": "F-MNIST",
    "spambase": "Spambase",
    "connect-4": "Connect-4",
    "cifar10": "CIFAR-10",
    "adni": "ADNI",
}
TABLE = {
    row["dataset"]: row for row in csv.DictReader((reference_folder() / "pubench_splits.csv").read_text().splitlines())
}


@pytest.mark.parametrize(("key", "name"), NAMES.items())
def test_the_default_classes_are_the_published_ones(key: str, name: str) -> None:
    info = registry().find(DatasetInfo, key)
    classes = " VS. ".join(",".join(map(str, side)) for side in (info.positive, info.negative))
    assert classes == TABLE[name]["pos_vs_neg"]


@pytest.mark.reference
@pytest.mark.skipif("PUBENCH_DATA" not in os.environ, reason="PUBENCH_DATA does not name a folder with the real files")
@pytest.mark.parametrize("scheme", ["case-control", "single-training-set"])
@pytest.mark.parametrize("key", list(NAMES)[:6])
def test_a_split_has_the_published_counts(key: str, scheme: str) -> None:
    """Test fraction 0.2 where there is no test part, validation fraction 0.01, c = 0.1. Its U keeps the labeled
    positives in the case-control scheme.
    """
    row = {name: int(value) for name, value in TABLE[NAMES[key]].items() if value.isdigit()}
    layer = assigned(
        f"data.key={key}", f"data.scheme={scheme}", "method.key=nnpu", "mechanism.c=0.1", "validation.fraction=0.01"
    )
    facts = build_problem(resolve([layer], registry())).facts()
    train = facts.train
    assert facts.test is not None
    found = {
        "pn_train_pos": train.positive,
        "pn_train_neg": train.negative,
        "pu_labeled": train.labeled,
        "pu_unlab_pos": train.unlabeled_positive + (train.labeled if scheme == "single-training-set" else 0),
        "pu_unlab_neg": train.unlabeled_negative,
        "val_size": facts.validation.positive + facts.validation.negative,
        "test_pos": facts.test.positive,
        "test_neg": facts.test.negative,
    }
    assert found == {name: row[name] for name in found}
