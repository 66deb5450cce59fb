"""Noisy positives label negatives by mistake; representative positives are those of highest density."""

from __future__ import annotations

import numpy as np
import pytest
from pubench_mechanisms.representative import density
from pubench_testkit.testing import Trainer

import pubench
from pubench_core.engine.build import build_problem
from pubench_core.errors import RequestError
from pubench_core.plugins.info import MechanismInfo
from pubench_core.plugins.registry import load, registry


@pytest.mark.parametrize("scheme", ["single-training-set", "case-control"])
def test_a_quarter_of_the_labels_goes_to_negatives_and_stays_in_u_under_case_control(scheme: str) -> None:
    """Of digits: 1,149 training rows, 570 positive; c = .1 gives 57 labels."""
    sets = ("mechanism.key=noisy-positives", "mechanism.variant=0.75", "mechanism.c=0.1", f"data.scheme={scheme}")
    train = build_problem(Trainer("naive", sets=()).plan(*sets)).facts().train
    right = round(57 * 0.75)
    moved = (right, 57 - right) if scheme == "single-training-set" else (0, 0)
    assert train.labeled == 57
    assert train.positive is not None
    assert train.negative is not None
    assert (train.unlabeled_positive, train.unlabeled_negative) == (
        train.positive - moved[0],
        train.negative - moved[1],
    )


def test_schemes_that_draw_positives_apart_are_refused() -> None:
    with pytest.raises(RequestError, match="noisy-positives labels negatives: scheme must be case-control"):
        pubench.run(method="naive", data="digits", scheme="two-sample", mechanism="noisy-positives")


def test_a_purity_of_one_labels_as_scar_does() -> None:
    infos = [registry().find(MechanismInfo, key) for key in ("scar", "noisy-positives")]
    scar, noisy = load(infos[0])("paper"), load(infos[1])("0.95")
    x = np.zeros((100, 1))
    drawn = [mechanism.choose(x, None, 30, np.random.default_rng(1)).tolist() for mechanism in (scar, noisy)]
    assert drawn[0] == drawn[1]
    assert (scar.purity, noisy.purity) == (1.0, 0.95)


def test_representative_positives_are_those_in_the_middle_of_the_class() -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=(190, 2)), rng.normal(size=(10, 2)) * 0.2 + 8])  # a dense crowd, and outliers
    most, least = (
        load(registry().find(MechanismInfo, key))("paper").choose(x, None, 20, np.random.default_rng(1))
        for key in ("most-representative", "least-representative")
    )
    found = density(x, np.random.default_rng(1))
    assert found[most].min() >= np.delete(found, most).max()
    assert found[least].max() <= np.delete(found, least).min()
    assert not set(most) & set(least)
