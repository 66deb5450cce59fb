"""The four mechanisms against the published weights, exact inclusion probabilities and each other."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from pubench_mechanisms.draws import AtypicalFirst, MostTypical, TypicalFirst, weighted_draw
from pubench_testkit.testing import reference_arrays
from scipy.special import logit, softmax

from pubench_core.data.generator import label_count

TOLERANCE = 1e-12


@pytest.fixture(scope="module")
def vectors() -> dict[str, npt.NDArray[np.float64]]:
    return reference_arrays("measures")


@pytest.fixture(scope="module")
def logits(vectors: dict[str, npt.NDArray[np.float64]]) -> npt.NDArray[np.float64]:
    with np.errstate(divide="ignore"):
        return logit(vectors["mech_posterior"])  # one posterior is exactly 1: its log-odds are infinite


@pytest.mark.reference
@pytest.mark.parametrize(
    ("kind", "variant", "array"),
    [
        (TypicalFirst, "paper", "mech_S2_formula"),
        (TypicalFirst, "released", "mech_S2_smoothed"),
        (AtypicalFirst, "paper", "mech_S3_formula"),
        (AtypicalFirst, "released", "mech_S3_code"),
    ],
)
def test_weights_are_the_published_ones(
    kind: type[TypicalFirst | AtypicalFirst],
    variant: str,
    array: str,
    vectors: dict[str, npt.NDArray[np.float64]],
    logits: npt.NDArray[np.float64],
) -> None:
    weights = softmax(kind(variant).log_weight(logits))
    np.testing.assert_allclose(weights, vectors[array], atol=TOLERANCE)


@pytest.mark.parametrize("variant", ["k=2", "k=5", "k=20"])
def test_another_power_of_s2_and_s3_is_a_variant(variant: str) -> None:
    p, k = np.array([0.2, 0.5, 0.9]), int(variant.removeprefix("k="))
    np.testing.assert_allclose(softmax(TypicalFirst(variant).log_weight(logit(p))), p**k / (p**k).sum())
    np.testing.assert_allclose(
        softmax(AtypicalFirst(variant).log_weight(logit(p))), (1 - p) ** k / ((1 - p) ** k).sum()
    )


@pytest.mark.reference
def test_s4_takes_the_highest_posteriors_ties_by_position(
    vectors: dict[str, npt.NDArray[np.float64]], logits: npt.NDArray[np.float64]
) -> None:
    order = MostTypical("paper").choose(logits[:, None], logits, len(logits), np.random.default_rng(0))
    np.testing.assert_array_equal(order, vectors["mech_S4_order"])


@pytest.mark.reference
def test_draws_have_the_inclusion_probabilities_of_successive_sampling(
    vectors: dict[str, npt.NDArray[np.float64]],
) -> None:
    log_weight, rng, repeats = np.log(vectors["wswor_w"]), np.random.default_rng(0), 4_000
    for m, expected in enumerate(vectors["wswor_incl"], start=1):
        counts = np.zeros(len(log_weight))
        for _ in range(repeats):
            counts[weighted_draw(log_weight, m, rng)] += 1
        error = np.sqrt((expected * (1 - expected)).clip(min=0) / repeats)  # 1 + 2e-16 is stored for certainty
        assert (np.abs(counts / repeats - expected) <= 5 * error + 1e-12).all()


@pytest.mark.reference
def test_label_counts_are_exact(vectors: dict[str, npt.NDArray[np.float64]]) -> None:
    for c, expected in zip(vectors["nl_c"], vectors["nl_floor_exact"], strict=True):
        found = [label_count(float(c), int(n)) for n in vectors["nl_nP"]]
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("variant", ["paper", "released"])
@pytest.mark.parametrize("kind", [TypicalFirst, AtypicalFirst])
def test_half_of_the_positives_can_be_drawn_if_nearly_all_weight_is_zero(
    kind: type[TypicalFirst | AtypicalFirst], variant: str
) -> None:
    saturated = np.r_[np.full(90, 800.0), np.full(10, -800.0)]
    chosen = kind(variant).choose(saturated[:, None], saturated, 50, np.random.default_rng(0))
    assert len(set(chosen)) == 50
    if variant == "paper":
        first = set(range(90)) if kind is TypicalFirst else set(range(90, 100))
        assert len(first & set(chosen)) == min(50, len(first))
