"""Every array of the reference vectors: released code for BBE, KM, TIcE and DEDPUL, closed forms for the rest."""

from __future__ import annotations

import numpy as np
import pytest
from pubench_priors_standard import alphamax, dedpul, elkan_noto, kernel_means, tice
from pubench_testkit.testing import Case, Vectors, reference_arrays

from pubench_formulas.bbe import best_bin

GROUPS = {
    group: Vectors("priors", group=group, tolerance=1e-10, case="[^_]+", unread="true")
    for group in ("bbe", "en", "am", "two", "km", "tice", "ded")
}
BBE, ELKAN_NOTO, ALPHAMAX, TWO_SIDED, KM, TICE, DEDPUL = GROUPS.values()


def test_every_array_of_the_file_is_of_a_group_that_is_tested_here() -> None:
    assert {name.split("_")[0] for name in reference_arrays("priors")} == {*GROUPS, "meta"}


@BBE.cases(having="p")
def test_bbe_gives_the_released_estimate_and_candidates(case: Case) -> None:
    found = best_bin(case["p"], case["u"], delta=case.column("delta"), gamma=case.column("gamma"))
    case.expect_columns(
        released_estimate=found.share, released_candidates=len(found.position), released_argmin_index=found.best
    )


@BBE.cases(having="p")
def test_bbe_from_inclusive_counts(case: Case) -> None:
    found = best_bin(case["p"], case["u"], delta=case.column("delta"), gamma=case.column("gamma"), inclusive=True)
    case.expect_columns(
        count_estimate=found.share,
        count_estimate_clipped=min(found.share, 1),
        count_threshold=np.sort(case["u"])[::-1][found.position[found.best]],
        count_upper_bound=found.share + found.width[found.best],
    )


@ELKAN_NOTO.cases(having="gP")
def test_elkan_noto(case: Case) -> None:
    labeled, unlabeled = case["gP"], case["gU"]
    n, m = len(labeled), len(unlabeled)
    for number, c in enumerate(elkan_noto.frequencies(labeled, unlabeled), start=1):
        found = {
            "c": c,
            "piU": elkan_noto.unlabeled_share(c, n, m),
            "piTot": elkan_noto.class_prior(c, n, m),
        }
        case.expect_columns(**{f"{name}_e{number}": value for name, value in found.items()})
        case.expect_columns(**{f"piTot_w{number}": elkan_noto.weighted_class_prior(c, n, unlabeled)})


@ALPHAMAX.cases(having="xl", tolerance=1e-12)
def test_alphamax_has_the_masses_of_the_bins(case: Case) -> None:
    case.expect(q=alphamax.masses(case["xl"], case["edges"]), w=alphamax.masses(case["xu"], case["edges"]))


@ALPHAMAX.cases(having="xl", tolerance=1e-12)
def test_alphamax_has_bins_between_the_same_ends(case: Case) -> None:
    """Their number is that of NumPy's automatic rule; the card leaves the rule open."""
    case.close(alphamax.bin_edges(case["xl"], case["xu"])[[0, -1]], case["edges"][[0, -1]])


def shares() -> np.ndarray:
    return ALPHAMAX.arrays["alphas"]["alphas"]


@ALPHAMAX.cases(having="xl", tolerance=1e-7)
def test_alphamax_has_the_likelihoods_and_their_correction(case: Case) -> None:
    found = alphamax.log_likelihoods(case["q"], case["w"], shares())
    case.expect(ll=found, ll_corrected=alphamax.corrected(found))


@ALPHAMAX.cases("alphas")
def test_alphamax_tries_the_same_shares(case: Case) -> None:
    np.testing.assert_array_equal(case["alphas"], alphamax.grid())


@ALPHAMAX.cases(having="xl", tolerance=1e-12)
def test_alphamax_scales_the_curve(case: Case) -> None:
    case.expect(scaled=alphamax.scaled(case["ll_corrected"]))


@ALPHAMAX.cases(having="xl", tolerance=1e-9)
def test_alphamax_has_the_elbow_with_both_slopes_and_as_released(case: Case) -> None:
    elbows = (alphamax.elbow(shares(), case["scaled"], released=released) for released in (False, True))
    both, frozen = (shares()[place] for place in elbows)
    case.expect_columns(alpha_hat_both_slopes=both, alpha_hat_frozen_left_slope=frozen)


@pytest.mark.parametrize(
    ("name", "tolerance"), [("sep", 0.05), ("rare", 0.03), ("high", 0.06), ("noisy", 0.05), ("swap", 0.05)]
)
def test_alphamax_is_near_the_share_that_it_identifies(name: str, tolerance: float) -> None:
    """The share of a rare class too: the default grid gives .87 for .045; classes overlap in the other cases."""
    (case,) = ALPHAMAX.select(name)
    found = alphamax.alphamax(case["xl"], case["xu"]).share
    assert found == pytest.approx(case.column("true_alpha_over_beta"), abs=tolerance)


@TWO_SIDED.cases("sided")
def test_two_sided_shares_give_prior_and_purity(case: Case) -> None:
    found = np.array([alphamax.two_sided(a, b) for a, b in case["aplus_bplus"]])
    case.expect(recovered=found, alpha_beta=found)


@KM.cases(having="mixture")
def test_km_given_the_released_thresholds(case: Case) -> None:
    embedding = kernel_means.embed(case["mixture"], case["component"])
    case.expect_columns(1e-9, rkhs_distance=embedding.distance, kernel_width=embedding.width)
    km1, km2 = (kernel_means.share(embedding, case.column(f"nu_{name}_rel")) for name in ("KM1", "KM2"))
    case.expect_columns(1e-12, KM1=km1, KM2=km2)


@KM.cases(having="mixture")
def test_the_thresholds_of_km(case: Case) -> None:
    """KM2's is off by what the released solver leaves of the distance at λ = 1, which is 0: √1e-7 at most.

    A step of the search for a share is up to .02.
    """
    embedding = kernel_means.embed(case["mixture"], case["component"])
    km1, both = kernel_means.km(embedding, "km1")
    km2, _ = kernel_means.km(embedding, "km2")
    case.expect_columns(1e-9, nu_KM1_rel=both.km1)
    distance = kernel_means.FIRST_STEP * embedding.distance / (1 - kernel_means.WEIGHT)
    assert 0 <= (both.km2 - case.column("nu_KM2_rel")) * distance < 1e-7**0.5
    case.expect_columns(1e-12, KM1=km1)
    case.expect_columns(0.02, KM2=km2)


@KM.cases(having="mixture")
def test_the_distance_that_km2s_threshold_is_of(case: Case) -> None:
    """No row lies beyond the plane through the nearest point of the hull, so no other point of it is nearer."""
    embedding = kernel_means.embed(case["mixture"], case["component"])
    mixture, multiplier = np.arange(len(embedding.kernel)) < embedding.n_mixture, 1 + kernel_means.FIRST_STEP
    point = np.where(mixture, multiplier / mixture.sum(), (1 - multiplier) / (~mixture).sum())
    nearest = kernel_means._by_scipy(embedding.factor, point)
    assert nearest.min() >= 0
    assert nearest.sum() == pytest.approx(1, abs=1e-12)
    away = embedding.kernel @ (point - nearest)
    assert (away - nearest @ away).max() < 1e-7
    distance = kernel_means.hull_distance(embedding, multiplier)
    assert distance == pytest.approx(((point - nearest) @ away) ** 0.5, abs=1e-6)


@TICE.cases(having="X", tolerance=1e-9)
def test_tice(case: Case) -> None:
    found = tice.label_frequency(case["X"], case["s"], case["folds"].astype(np.int64))
    n, n_labeled = len(case["s"]), int(case["s"].sum())
    counts = n_labeled, n - n_labeled
    case.expect_columns(n=n, n_labelled=n_labeled, c_hat=found.frequency, c_after_iteration_1=found.first)
    case.expect_columns(
        piTot_ss=elkan_noto.class_prior(found.frequency, *counts),
        piU=elkan_noto.unlabeled_share(found.frequency, *counts),
    )


@DEDPUL.cases(having="preds", tolerance=1e-3)
def test_dedpul(case: Case) -> None:
    labeled, unlabeled = (case["preds"][case["target"] == target] for target in (0, 1))
    case.expect_columns(1e-12, threshold_mid=dedpul.threshold(labeled, unlabeled))
    assert dedpul.neighbors(len(unlabeled)) == case.column("k_neighbours")
    ratio = dedpul.density_ratio(labeled, unlabeled)
    case.expect(1e-6, ratio=ratio)
    found = dedpul.share_of(ratio)
    np.testing.assert_allclose(found.posterior, case["posterior_pos"], rtol=0, atol=1e-3)
    assert found.share == pytest.approx(case.column("alpha_pos_em"), rel=0, abs=1e-3)
    assert found.posterior.mean() == pytest.approx(case.column("mean_posterior_em"), rel=0, abs=1e-3)
    assert dedpul.simple_share(ratio) == pytest.approx(case.column("alpha_pos_quantile"), rel=0, abs=1e-3)
