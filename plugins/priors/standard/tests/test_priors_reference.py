"""Every array of the reference vectors: released code for BBE, KM, TIcE and DEDPUL, closed forms for the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from pubench_priors_standard import alphamax, dedpul, elkan_noto, kernel_means, tice
from pubench_testkit.testing import reference_arrays, reference_cases

from pubench_formulas.bbe import best_bin

pytestmark = pytest.mark.reference

Case = dict[str, npt.NDArray[Any]]


def cases(group: str, array: str) -> list[Any]:
    """Cases of a group that have an array of this name, by their names."""
    return [pytest.param(case, id=name) for name, case in _merged(group) if array in case]


def _merged(group: str) -> list[tuple[str, Case]]:
    """Cases whose arrays may have an underscore in their names: the longest common name is the case's."""
    found: dict[str, Case] = {}
    for name, case in reference_cases("priors", group):
        found.setdefault(name.split("_")[0], {}).update(
            {"_".join([*name.split("_")[1:], array]): values for array, values in case.items()}
        )
    return list(found.items())


def column(group: str, case: Case, name: str) -> float:
    return float(case["out"][reference_arrays("priors")[f"{group}_fields"].tolist().index(name)])


def test_every_array_of_the_file_is_of_a_group_that_is_tested_here() -> None:
    names = set(reference_arrays("priors")) - {"meta"}
    tested = {"bbe", "en", "am", "two", "km", "tice", "ded"}
    assert {name.split("_")[0] for name in names} == tested


@pytest.mark.parametrize("case", cases("bbe", "p"))
class TestBBE:
    def test_the_released_estimate_its_candidates_and_the_one_that_is_taken(self, case: Case) -> None:
        delta, gamma = column("bbe", case, "delta"), column("bbe", case, "gamma")
        found = best_bin(case["p"], case["u"], delta=delta, gamma=gamma)
        assert found.share == pytest.approx(column("bbe", case, "released_estimate"), rel=0, abs=1e-10)
        assert len(found.position) == column("bbe", case, "released_candidates")
        assert found.best == column("bbe", case, "released_argmin_index")

    def test_the_estimate_from_inclusive_counts(self, case: Case) -> None:
        delta, gamma = column("bbe", case, "delta"), column("bbe", case, "gamma")
        found = best_bin(case["p"], case["u"], delta=delta, gamma=gamma, inclusive=True)
        assert found.share == pytest.approx(column("bbe", case, "count_estimate"), rel=0, abs=1e-10)
        assert min(found.share, 1) == pytest.approx(column("bbe", case, "count_estimate_clipped"), rel=0, abs=1e-10)
        threshold = np.sort(case["u"])[::-1][found.position[found.best]]
        assert threshold == pytest.approx(column("bbe", case, "count_threshold"), rel=0, abs=1e-10)
        bound = found.share + found.width[found.best]
        assert bound == pytest.approx(column("bbe", case, "count_upper_bound"), rel=0, abs=1e-10)


@pytest.mark.parametrize("case", cases("en", "gP"))
def test_elkan_noto(case: Case) -> None:
    labeled, unlabeled = case["gP"], case["gU"]
    n, m = len(labeled), len(unlabeled)
    for number, c in enumerate(elkan_noto.frequencies(labeled, unlabeled), start=1):
        found = {
            f"c_e{number}": c,
            f"piU_e{number}": elkan_noto.unlabeled_share(c, n, m),
            f"piTot_e{number}": elkan_noto.class_prior(c, n, m),
            f"piTot_w{number}": elkan_noto.weighted_class_prior(c, n, unlabeled),
        }
        for name, value in found.items():
            assert value == pytest.approx(column("en", case, name), rel=0, abs=1e-10)


@pytest.mark.parametrize("case", cases("am", "xl"))
class TestAlphaMax:
    def test_the_masses_of_the_bins(self, case: Case) -> None:
        np.testing.assert_allclose(alphamax.masses(case["xl"], case["edges"]), case["q"], rtol=0, atol=1e-12)
        np.testing.assert_allclose(alphamax.masses(case["xu"], case["edges"]), case["w"], rtol=0, atol=1e-12)

    def test_our_bins_lie_between_the_same_ends(self, case: Case) -> None:
        """Their number is that of NumPy's automatic rule; the card leaves the rule open."""
        ours = alphamax.bin_edges(case["xl"], case["xu"])
        np.testing.assert_allclose(ours[[0, -1]], case["edges"][[0, -1]], rtol=0, atol=1e-12)

    def test_the_likelihoods_and_their_correction(self, case: Case) -> None:
        shares = reference_arrays("priors")["am_alphas"]
        np.testing.assert_array_equal(shares, alphamax.grid())
        found = alphamax.log_likelihoods(case["q"], case["w"], shares)
        np.testing.assert_allclose(found, case["ll"], rtol=0, atol=1e-7)
        np.testing.assert_allclose(alphamax.corrected(found), case["ll_corrected"], rtol=0, atol=1e-7)

    def test_the_scaled_curve(self, case: Case) -> None:
        np.testing.assert_allclose(alphamax.scaled(case["ll_corrected"]), case["scaled"], rtol=0, atol=1e-12)

    def test_the_elbow_with_both_slopes_and_as_released(self, case: Case) -> None:
        shares = reference_arrays("priors")["am_alphas"]
        both = shares[alphamax.elbow(shares, case["scaled"])]
        frozen = shares[alphamax.elbow(shares, case["scaled"], released=True)]
        assert both == pytest.approx(column("am", case, "alpha_hat_both_slopes"), rel=0, abs=1e-9)
        assert frozen == pytest.approx(column("am", case, "alpha_hat_frozen_left_slope"), rel=0, abs=1e-9)


@pytest.mark.parametrize(
    ("name", "tolerance"), [("sep", 0.05), ("rare", 0.03), ("high", 0.06), ("noisy", 0.05), ("swap", 0.05)]
)
def test_alphamax_is_near_the_share_that_it_identifies(name: str, tolerance: float) -> None:
    """The share of a rare class too, where the default grid gives .87 for .045; classes overlap in the other cases."""
    case = dict(_merged("am"))[name]
    true = column("am", case, "true_alpha_over_beta")
    assert alphamax.alphamax(case["xl"], case["xu"]).share == pytest.approx(true, abs=tolerance)


def test_two_sided_shares_give_prior_and_purity() -> None:
    arrays = reference_arrays("priors")
    for (a, b), recovered, true in zip(
        arrays["two_sided_aplus_bplus"], arrays["two_sided_recovered"], arrays["two_sided_alpha_beta"], strict=True
    ):
        found = alphamax.two_sided(a, b)
        np.testing.assert_allclose(found, recovered, rtol=0, atol=1e-10)
        np.testing.assert_allclose(found, true, rtol=0, atol=1e-10)


@pytest.mark.parametrize("case", cases("km", "mixture"))
def test_km_given_the_released_thresholds(case: Case) -> None:
    embedding = kernel_means.embed(case["mixture"], case["component"])
    assert embedding.distance == pytest.approx(column("km", case, "rkhs_distance"), abs=1e-9)
    assert embedding.width == pytest.approx(column("km", case, "kernel_width"), abs=1e-9)
    for name in ("KM1", "KM2"):
        found = kernel_means.share(embedding, column("km", case, f"nu_{name}_rel"))
        assert found == pytest.approx(column("km", case, name), abs=1e-12)


@pytest.mark.parametrize("case", cases("km", "mixture"))
def test_the_thresholds_of_km(case: Case) -> None:
    """KM2's is off by what the released solver leaves of the distance at λ = 1, which is 0: less than 2e-4."""
    embedding = kernel_means.embed(case["mixture"], case["component"])
    km1, both = kernel_means.km(embedding, "km1")
    km2, _ = kernel_means.km(embedding, "km2")
    assert both.km1 == pytest.approx(column("km", case, "nu_KM1_rel"), abs=1e-9)
    distance = kernel_means.FIRST_STEP * embedding.distance / (1 - kernel_means.WEIGHT)
    assert 0 <= (both.km2 - column("km", case, "nu_KM2_rel")) * distance < 2e-4
    assert km1 == pytest.approx(column("km", case, "KM1"), abs=1e-12)
    assert km2 == pytest.approx(column("km", case, "KM2"), abs=0.005)


@pytest.mark.parametrize(
    ("name", "exact"),
    [("k40", 4.24e-6), ("k10", 5.591279e-4), ("k80", 5.0484e-5), ("overlap", 4.1365e-5), ("d5", 5.748077e-4)],
)
def test_the_distance_that_km2s_threshold_is_of(name: str, exact: float) -> None:
    """The released quadratic program solved to gaps of 1e-12 in place of its 1e-7."""
    case = dict(_merged("km"))[name]
    embedding = kernel_means.embed(case["mixture"], case["component"])
    assert kernel_means.hull_distance(embedding, 1 + kernel_means.FIRST_STEP) == pytest.approx(exact, abs=1e-7)


@pytest.mark.parametrize("case", cases("tice", "X"))
def test_tice(case: Case) -> None:
    found = tice.label_frequency(case["X"], case["s"], case["folds"].astype(np.int64))
    assert found.frequency == pytest.approx(column("tice", case, "c_hat"), rel=0, abs=1e-9)
    assert found.first == pytest.approx(column("tice", case, "c_after_iteration_1"), rel=0, abs=1e-9)
    n, n_labeled = len(case["s"]), int(case["s"].sum())
    assert (n, n_labeled) == (column("tice", case, "n"), column("tice", case, "n_labelled"))
    prior = elkan_noto.class_prior(found.frequency, n_labeled, n - n_labeled)
    share = elkan_noto.unlabeled_share(found.frequency, n_labeled, n - n_labeled)
    assert prior == pytest.approx(column("tice", case, "piTot_ss"), rel=0, abs=1e-9)
    assert share == pytest.approx(column("tice", case, "piU"), rel=0, abs=1e-9)


@pytest.mark.parametrize("case", cases("ded", "preds"))
def test_dedpul(case: Case) -> None:
    labeled, unlabeled = (case["preds"][case["target"] == target] for target in (0, 1))
    assert dedpul.threshold(labeled, unlabeled) == pytest.approx(column("ded", case, "threshold_mid"), abs=1e-12)
    assert dedpul.neighbors(len(unlabeled)) == column("ded", case, "k_neighbours")
    ratio = dedpul.density_ratio(labeled, unlabeled)
    np.testing.assert_allclose(ratio, case["ratio"], rtol=0, atol=1e-6)
    found = dedpul.share_of(ratio)
    np.testing.assert_allclose(found.posterior, case["posterior_pos"], rtol=0, atol=1e-3)
    assert found.share == pytest.approx(column("ded", case, "alpha_pos_em"), rel=0, abs=1e-3)
    assert found.posterior.mean() == pytest.approx(column("ded", case, "mean_posterior_em"), rel=0, abs=1e-3)
    assert dedpul.simple_share(ratio) == pytest.approx(column("ded", case, "alpha_pos_quantile"), rel=0, abs=1e-3)
