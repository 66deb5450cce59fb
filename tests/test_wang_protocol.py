"""The protocol of Wang et al. as tables 3 and 4 of their paper have it: studies, draws, presets."""

from __future__ import annotations

import math
import string
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest
from pubench_study.grid import GridCell, cells_of
from pubench_study.study_file import find_study

from pubench_core.plugins.info import DatasetInfo, MethodInfo
from pubench_core.plugins.registry import registry

CALIBRATED = ("upu", "nnpu", "nnpu-ga", "pusb", "vpu", "dist-pu")
METHODS = (
    "pubn", "pan", "cvir", "p3mix-e", "p3mix-c", "lbe-pu", "count-loss", "robust-pu", "holistic-pu", "pue", "glws",
    *CALIBRATED,
)  # fmt: skip
#: Table 3: P and U together.
ROWS = {"letter": 13_000, "usps": 4_000, "cifar10": 20_000, "imagenette": 6_000}
IMAGES_IN_COLOR = ("cifar10", "imagenette")
#: Table 3: classes that are positive. Letters are classes 0 to 25.
POSITIVE = {
    ("letter", "case1"): "BVLRIOWSJKCHZ",
    ("letter", "case2"): "DTAYQGBLIWJCZ",
    ("usps", "case1"): "47958",
    ("usps", "case2"): "16498",
    ("cifar10", "case1"): "01289",
    ("cifar10", "case2"): "23579",
    ("imagenette", "case1"): "01289",
    ("imagenette", "case2"): "23579",
}
#: Table 4: what a method has next to the optimizer.
OWN: Mapping[str, Mapping[str, Any]] = {
    "cvir": {"weights": "prior", "warm_up": 0},
    "count-loss": {"rounding": "floor"},
    "dist-pu": {"warm_up": 7, "counted_in": "passes", "weight_entropy": 0.004, "weight_mixed_entropy": 0.04},
    "glws": {"posterior": "released", "rounding": "floor"},
    "holistic-pu": {"trend_total": 2000, "trend_epochs": None, "smoothing": 0.1, "threshold": 0.9},
    "lbe-pu": {"keep": 1.0},
    "nnpu": {"correction": "clamp", "surrogate": "logistic"},
    "p3mix-c": {
        "confidence": 0.8, "pool_size": 96, "mixup_alpha": 1.0, "weight_unlabeled": 1.0, "weight_entropy": 0.1,
        "counted_in": "passes",
    },
    "p3mix-e": {
        "confidence": 0.85, "pool_size": 96, "weight_unlabeled": 1.0, "weight_entropy": 0.5, "weight_early": 5.0,
        "counted_in": "passes",
    },
    "pan": {"balance": 1e-4},
    "pubn": {"negative_share": 0.5},
    "pue": {"warm_up": 20},
    "pusb": {"correction": "clamp"},
    "robust-pu": {
        "pre_training": 20, "pacing": "linear", "threshold_positive": 0.1, "threshold_unlabeled": 0.1,
        "threshold_end": 2.0, "temperature_positive": 1.0, "temperature_unlabeled": 1.0,
    },
    "upu": {"surrogate": "logistic"},
    "vpu": {"mixup_alpha": 0.3, "weight_regularizer": 0.03},
}  # fmt: skip


@cache
def cells(name: str) -> list[GridCell]:
    return cells_of(find_study(name).spec, registry())


@pytest.mark.parametrize("case", ["case1", "case2"])
def test_a_study_is_17_methods_of_which_six_are_calibrated_as_well(case: str) -> None:
    found = cells(f"wang-{case}")
    rows = {(one.row, one.values["method"]["key"], one.values["method"]["calibrate"]) for one in found}
    assert rows == {(key, key, "off") for key in METHODS} | {(f"{key}-c", key, "on") for key in CALIBRATED}
    counted = {(one.row, one.facts["data"], one.facts["seed"], one.draw) for one in found}
    assert counted == {
        (row, data, seed, draw) for row, _, _ in rows for data in ROWS for seed in (2, 25, 42) for draw in range(10)
    }
    assert len(found) == len(counted)


@pytest.mark.parametrize("case", ["case1", "case2"])
def test_every_run_has_their_sample_labels_and_selection(case: str) -> None:
    shared = find_study(f"wang-{case}").spec.settings
    for one in cells(f"wang-{case}"):
        key, settings = one.facts["data"], {**shared, **one.values}
        data = one.values["data"]
        assert (data["binarization"], data["total"], one.facts["scheme"]) == (case, ROWS[key], "one-sample")
        assert (one.facts["mechanism"], one.facts["positive_rate"], one.facts["prior"]) == ("scar", 0.3, 0.5)
        assert one.facts["preset"] == "wang"
        chosen = settings["selection"]
        assert {"pa", "pa-published", "pauc", "oa"} <= set(chosen["criteria"])
        assert (chosen["criterion"], chosen["non_finite"], settings["validation"]) == (
            "pa",
            "stop",
            {"fraction": 0.1},
        )
        assert settings.get("backbone") == ({"key": "resnet32"} if key in IMAGES_IN_COLOR else None)
        if key == "letter":
            assert (data["preprocess"], data["test"], data["test_fraction"]) == ("none", "drawn", 0.1)


@pytest.mark.parametrize("case", ["case1", "case2"])
def test_the_first_draw_is_the_default_and_the_others_are_from_table_4(case: str) -> None:
    """The learning rate is 10^U(-4.5, -2.5); a batch has 2^U(5, 8) rows of images in color and 2^U(4, 7) of others."""
    drawn: dict[str, set[tuple[str, Any]]] = {}
    for one in cells(f"wang-{case}"):
        key, config = one.values["method"]["key"], one.values["method"].get("config") or {}
        if one.draw == 0:
            assert config == {}
            continue
        assert -4.5 <= round(math.log10(config["lr"]), 5) <= -2.5
        if key != "lbe-pu":
            sizes = (32, 64, 128) if one.facts["data"] in IMAGES_IN_COLOR else (16, 32, 64)
            assert config["batch_size"] in (tuple(2 * n for n in sizes) if key == "pan" else sizes)  # P and U together
        drawn.setdefault(key, set()).update((n, v) for n, v in config.items() if n not in ("lr", "batch_size"))
    assert {v for n, v in drawn["pubn"] if n == "negative_share"} <= {0.5, 0.7, 0.9}
    assert {v for n, v in drawn["robust-pu"] if n == "threshold_end"} <= {1.0, 2.0}
    assert {n for n, _ in drawn["robust-pu"]} == {"temperature_unlabeled", "threshold_unlabeled", "threshold_end"}
    assert all(not values for key, values in drawn.items() if key not in ("pubn", "robust-pu"))


@pytest.mark.parametrize(("key", "case"), POSITIVE)
def test_positive_classes_are_those_of_table_3(key: str, case: str) -> None:
    info = registry().find(DatasetInfo, key)
    names = string.ascii_uppercase if key == "letter" else string.digits
    positive, negative = info.binarizations[case]
    assert {names[index] for index in positive} == set(POSITIVE[key, case])
    assert set(positive) | set(negative) == set(range(26 if key == "letter" else 10))
    assert not set(positive) & set(negative)


@pytest.mark.parametrize("key", METHODS)
@pytest.mark.parametrize("data", ROWS)
def test_a_preset_is_20_000_steps_of_sgd_evaluated_every_100(key: str, data: str) -> None:
    preset = registry().find(MethodInfo, key).presets["wang"].resolve(data)
    assert (preset["optimizer"], preset["momentum"], preset["lr"]) == ("sgd", 0.9, 1e-3)
    assert (preset["epochs"], preset["steps_per_epoch"], preset["patience"]) == (200, 100, None)
    size = 64 if data in IMAGES_IN_COLOR else 128
    if key != "lbe-pu":
        assert preset["batch_size"] == (2 * size if key == "pan" else size)
    own = OWN.get(key, {})
    assert {name: preset[name] for name in own} == own


def test_the_label_shift_is_measured_at_five_rates_calibrated_and_not() -> None:
    found = cells("label-shift")
    rows = {(one.row, one.facts["scheme"], one.values["method"]["calibrate"]) for one in found}
    assert rows == {
        *((key, scheme, "off") for key in CALIBRATED for scheme in ("one-sample", "two-sample")),
        *((f"{key}-c", "one-sample", "on") for key in CALIBRATED),
    }
    assert {one.facts["positive_rate"] for one in found} == {0.1, 0.2, 0.3, 0.4, 0.5}
    assert {(one.facts["data"], one.values["data"]["total"]) for one in found} == {("letter", 11_600), ("usps", 4_000)}
    assert {one.facts["prior"] for one in found} == {0.5}
    assert len(found) == len(rows) * 2 * 5 * 3
