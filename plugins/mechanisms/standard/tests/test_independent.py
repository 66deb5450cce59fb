"""Propensities of AISTATS 2025 against numbers of its code, and draws that follow them."""

from __future__ import annotations

import numpy as np
import pytest
from pubench_mechanisms.independent import Even, Falling, FallingToZero, Independent, Proportional, posterior_of
from pubench_mechanisms.posterior import auxiliary_logit
from pubench_testkit.testing import Case, Vectors
from scipy.special import expit, logit

pytestmark = pytest.mark.reference
VECTORS = Vectors("teisseyre-mechanisms", tolerance=1e-14, unread="seed|y|positive")
#: Each mechanism with the c that is published.
MECHANISMS: dict[str, tuple[type[Independent], float]] = {
    "S1": (Even, 0.1),
    "S2": (Proportional, 0.1),
    "S3": (Falling, float(expit(-1.5))),
    "S4": (FallingToZero, 0.5),
}


@VECTORS.cases("propensity_.*")
def test_propensities_of_posteriors(case: Case) -> None:
    kind, c = MECHANISMS[case.one_of(MECHANISMS)]
    with np.errstate(divide="ignore"):
        p = posterior_of(logit(case["probability"]))
    case.expect(1e-12, probability_clipped=p)
    case.expect(propensity=kind("paper").propensity(case["probability_clipped"], c))


@VECTORS.cases("labeled_.*")
def test_propensities_of_a_split(case: Case) -> None:
    """The rows are theirs: split and labels come from another generator here."""
    kind, c = MECHANISMS[case.one_of(MECHANISMS)]
    rows, every = case["train_rows"], np.arange(len(case["x"]))
    np.testing.assert_array_equal(np.sort(np.r_[rows, case["test_rows"]]), every)
    p = posterior_of(auxiliary_logit(case["x"], case["y"], rows, rows))
    case.close(p, case["probability"], 2e-3, "probability")  # lbfgs stops elsewhere than scikit-learn 1.2's
    case.expect(1e-14, propensity=kind("paper").propensity(case["probability"], c))
    assert (case["y"][rows][case["s"] == 1] == 1).all()
    assert case["case_control_s"].sum() == case["s"].sum()


@pytest.mark.parametrize("name", MECHANISMS)
def test_labels_come_with_their_propensity_and_their_number_is_random(name: str) -> None:
    kind, c = MECHANISMS[name]
    mechanism, z, rng = kind("paper"), np.linspace(-3, 3, 40), np.random.default_rng(0)
    x, drawn = np.zeros((40, 1)), np.zeros(40)
    sizes = set()
    for _ in range(1500):
        found = mechanism.label(x, z, c, 4, rng)
        drawn[found] += 1
        sizes.add(len(found))
    of_none = np.prod(1 - mechanism.propensity(posterior_of(z), c))
    expected = mechanism.propensity(posterior_of(z), c) / (1 - of_none)
    assert np.abs(drawn / 1500 - expected).max() < 0.055
    assert len(sizes) > 3


def test_at_least_one_is_labeled_and_a_given_number_is_kept() -> None:
    mechanism, rng = FallingToZero("paper"), np.random.default_rng(0)
    x, z = np.zeros((5, 1)), np.full(5, 30.0)  # e is 1.5e-7
    assert len(mechanism.label(x, z, 0.5, 2, rng)) == 1
    assert len(set(mechanism.choose(x, z, 3, rng))) == 3
