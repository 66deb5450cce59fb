"""Recovered curves, areas and rates, and their bootstrap, against numbers of an independent implementation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pubench_metrics import pubench_metrics
from pubench_metrics.recovered import (
    Mixture,
    auc,
    average_precision,
    direct_auc,
    fpr_of,
    indirect_curve,
    precision_of,
    pu_average_precision,
    pu_points,
    recall_of,
    true_points,
)
from pubench_testkit.testing import Case, Vectors, reference_arrays

from pubench_core.errors import Undefined
from pubench_core.metric import MetricView, Scored, measure
from pubench_core.plugins.registry import load

TOLERANCE = 1e-10
ARRAYS = reference_arrays("measures")
INFOS = {info.key: info for info in pubench_metrics()}


def recovered_cases() -> dict[str, dict[str, Any]]:
    """Case -> its arrays; the names of arrays hold underscores here."""
    arrays = ("x1", "x", "yU", "alpha_beta", "out", "pu_points", "raw_points", "curve")
    names = [name[4:-3] for name in ARRAYS if name.startswith("rec_") and name.endswith("_x1")]
    return {
        name: {array: ARRAYS[f"rec_{name}_{array}"] for array in arrays if f"rec_{name}_{array}" in ARRAYS}
        for name in names
    }


CASES = recovered_cases()


@pytest.mark.parametrize("name", CASES)
def test_every_column_of_a_recovered_case(name: str) -> None:
    case = CASES[name]
    labeled, unlabeled, y = case["x1"], case["x"], case["yU"]
    mixture = Mixture(*case["alpha_beta"].tolist())
    points, auc_pu = pu_points(labeled, unlabeled), auc(labeled, unlabeled)
    curve, raw = indirect_curve(points, mixture), direct_auc(auc_pu, mixture)
    ap = average_precision(curve.recall, curve.precision(mixture.alpha))
    truth = (unlabeled[y == 1], unlabeled[y == 0])
    both = len(truth[0]) and len(truth[1])
    ours = {
        "auc_pu": auc_pu,
        "auc_direct_raw": raw,
        "auc_direct_clipped": min(max(raw, 0), 1),
        "infeasible": float(not 0 <= raw <= 1),
        "auc_indirect": curve.auc,
        "n_removed": curve.removed,
        "aucpr_pu_step": pu_average_precision(points, len(labeled), len(unlabeled)),
        "aucpr_step": ap.step,
        "aucpr_trapezoid": ap.trapezoid,
        "auc_true": auc(*truth) if both else np.nan,
        "ap_true": pu_average_precision(pu_points(*truth), len(truth[0]), len(truth[1])) if both else np.nan,
    }
    assert list(ours) == ARRAYS["rec_fields"].tolist()
    np.testing.assert_allclose(list(ours.values()), case["out"], rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("name", [name for name in CASES if "curve" in CASES[name]])
def test_every_point_on_the_way_to_a_recovered_curve(name: str) -> None:
    case = CASES[name]
    mixture = Mixture(*case["alpha_beta"].tolist())
    points = pu_points(case["x1"], case["x"])
    curve = indirect_curve(points, mixture)
    for ours, theirs in (
        (points, "pu_points"),
        (true_points(points, mixture), "raw_points"),
        ((curve.fpr, curve.recall, curve.precision(mixture.alpha)), "curve"),
    ):
        np.testing.assert_allclose(np.stack(ours, axis=1), case[theirs], rtol=0, atol=TOLERANCE)


def test_the_direct_auc_over_a_grid_of_wrong_shares() -> None:
    alpha, beta, truth = ARRAYS["direct_alpha_beta_auc"].T
    pu = [(1 - (b - a)) / 2 + (b - a) * value for a, b, value in zip(alpha, beta, truth, strict=True)]
    np.testing.assert_allclose(pu, ARRAYS["direct_auc_pu"], rtol=0, atol=TOLERANCE)
    grid = ARRAYS["direct_grid"].tolist()
    for panel, value in enumerate(ARRAYS["direct_auc_pu"].tolist()):
        for i, a in enumerate(grid):
            for j, b in enumerate(grid):
                expected = ARRAYS["direct_auc_est"][panel, i, j]
                if i == j:
                    assert not np.isfinite(expected)
                else:
                    assert direct_auc(value, Mixture(a, b)) == pytest.approx(expected, rel=0, abs=TOLERANCE)


@pytest.mark.parametrize("row", range(len(ARRAYS["prec_conv"])))
def test_rates_and_precision(row: int) -> None:
    alpha, beta, _, gamma, eta, gamma_pu, eta_pu, _, rho = ARRAYS["prec_conv"][row].tolist()
    mixture = Mixture(alpha, beta)
    assert beta * gamma + (1 - beta) * eta == pytest.approx(gamma_pu, abs=TOLERANCE)
    assert recall_of(gamma_pu, eta_pu, mixture) == pytest.approx(gamma, abs=TOLERANCE)
    assert fpr_of(gamma_pu, eta_pu, mixture) == pytest.approx(eta, abs=TOLERANCE)
    assert precision_of(gamma_pu, eta_pu, mixture) == pytest.approx(rho, abs=TOLERANCE)


def test_the_bootstrap_given_its_draws() -> None:
    labeled, unlabeled = ARRAYS["boot_x1"], ARRAYS["boot_x"]
    mixture = Mixture(*ARRAYS["boot_alpha_beta"].tolist())
    direct, indirect = [], []
    for rows_1, rows in zip(ARRAYS["boot_idx1"], ARRAYS["boot_idx"], strict=True):
        direct.append(direct_auc(auc(labeled[rows_1], unlabeled[rows]), mixture))
        indirect.append(indirect_curve(pu_points(labeled[rows_1], unlabeled[rows]), mixture).auc)
    np.testing.assert_allclose(direct, ARRAYS["boot_direct"], rtol=0, atol=TOLERANCE)
    np.testing.assert_allclose(indirect, ARRAYS["boot_indirect"], rtol=0, atol=TOLERANCE)
    ends = [np.quantile(values, (0.025, 0.975)) for values in (direct, indirect)]
    np.testing.assert_allclose(ends, ARRAYS["boot_ci95"], rtol=0, atol=TOLERANCE)


def test_a_resample_from_sorted_places_is_the_resample_of_the_scores() -> None:
    from pubench_metrics.resampling import Sample, auc_of

    labeled, unlabeled = ARRAYS["boot_x1"].round(1), ARRAYS["boot_x"].round(1)
    sample, rng = Sample.of(labeled, unlabeled), np.random.default_rng([len(labeled), len(unlabeled)])
    mixture = Mixture(0.25)
    for points, _ in zip(sample.redrawn_points(), range(50), strict=False):
        drawn = labeled[rng.integers(0, len(labeled), len(labeled))], unlabeled[rng.integers(0, 80, 80)]
        assert auc_of(points) == pytest.approx(auc(*drawn), abs=1e-12)
        assert indirect_curve(points, mixture).auc == pytest.approx(
            indirect_curve(pu_points(*drawn), mixture).auc, abs=1e-12
        )


# -------------------------------------------------------------------- of proxy_*: what follows from the counts


#: The other arrays are for the proxies: see ``test_proxy_reference.py``.
PROXY = Vectors("measures", group="proxy", tolerance=1e-12, case=".+(?=_[^_]+$)", unread=".*")


@PROXY.cases()
def test_the_prior_of_u_and_the_auc_that_pauc_implies(case: Case) -> None:
    expected = {name: case.column(name) for name in case.columns}
    prior, n = case.number("pi"), len(case["fP"])
    scores = np.concatenate([case["fP"], case["fU"]])
    for scheme, share, column in (
        ("two-sample", prior, "auc_TS"),
        ("one-sample", expected["pi_bar"], "auc_OS"),
    ):
        scored = Scored.of(
            scores,
            labeled=np.arange(n),
            unlabeled=np.arange(n, len(scores)),
            prior=prior,
            scheme=scheme,
        )
        view = MetricView(scored, INFOS["recovered-auc"])
        if np.isnan(expected[column]):
            with pytest.raises(Undefined, match="contradict each other"):
                _ = view.unlabeled_prior
            continue
        assert view.unlabeled_prior == pytest.approx(share, abs=1e-12)
        found = measure(load(INFOS["recovered-auc"]), INFOS["recovered-auc"], scored)
        assert found.details["direct"] == pytest.approx(expected[column], abs=1e-12)
        assert found.value == pytest.approx(min(max(expected[column], 0), 1), abs=1e-12)
        assert found.details["infeasible"] == (not 0 <= expected[column] <= 1)
