"""PULSCAR and PULSNAR against numbers of the released code, and on simulated biased labels."""

from __future__ import annotations

import numpy as np
import pytest
from pubench_priors_standard import pulscar
from pubench_priors_standard.features import Pulsnar
from pubench_priors_standard.scores import Pulscar
from pubench_testkit.testing import Case, Vectors

from pubench_core.errors import RequestError

#: Unread: calibration of single rows, which is no part of a prior estimate, and is not offered.
VECTORS = Vectors("pulscar", tolerance=1e-10, unread="seed|rows|posterior.*|calibration_.*")
#: The k-th of every 250th share of the grid.
EVERY = 250


@pytest.mark.reference
@VECTORS.cases("alpha_.*")
def test_densities_and_shares(case: Case) -> None:
    p, u, rule = case["scores_p"], case["scores_u"], str(case["bin_method"])
    low, high, n_bins = case.number("low"), case.number("high"), int(case["n_bins"])
    both = np.concatenate([p, u])
    case.expect(n_bins=min(pulscar.MOST_BINS, int(pulscar.bins(both, rule))))  # type: ignore[arg-type]
    case.expect(histogram=pulscar.histogram(both, n_bins))
    searched = 1e-3 if str(case["optimizer"]) == "global" else 1e-5
    assert abs(pulscar.bandwidth_of(both, n_bins, low, high) - case.number("bandwidth")) < searched
    density_p, density_u = (pulscar.density(scores, n_bins, case.number("bandwidth")) for scores in (p, u))
    case.expect(density_p=density_p, density_u=density_u, epsilon=pulscar.smallest(density_p))
    case.expect(error=pulscar.differences(density_p, density_u)[::EVERY])
    case.expect(2e-4, alpha=pulscar.bend(density_p, density_u))
    if both.max() > pulscar.HALF:
        case.expect(5e-3, alpha=pulscar.share_of(p, u, rule, low, high))  # type: ignore[arg-type]


@pytest.mark.reference
@VECTORS.cases("bins")
def test_numbers_of_bins(case: Case) -> None:
    case.expect(n_bins=[pulscar.bins(case["scores"], rule) for rule in case["methods"].tolist()])


@pytest.mark.reference
@VECTORS.cases("bandwidth_objective")
def test_misfits_of_bandwidths(case: Case) -> None:
    scores, n_bins = case["scores"], int(case["n_bins"])
    case.expect(
        histogram=pulscar.histogram(scores, n_bins),
        density=pulscar.density(scores, n_bins, 0.05),
        objective=[pulscar.misfit(scores, n_bins, bandwidth) for bandwidth in case["bandwidths"]],
    )


@pytest.mark.reference
@VECTORS.cases("core_.*", tolerance=2e-4)
def test_shares_of_given_densities(case: Case) -> None:
    case.expect(alpha=pulscar.bend(case["density_p"], case["density_u"]))


@pytest.mark.reference
@VECTORS.cases("clusters_.*", tolerance=5e-3)
def test_shares_of_clusters(case: Case) -> None:
    scores, labeled = case["scores"], case["label"] == 1
    found = pulscar.shares_of_clusters(
        case["cluster"][labeled], lambda rows, k: (scores[labeled][rows, k], scores[~labeled, k])
    )
    case.expect(used_clusters=list(found), alphas=list(found.values()), alpha=sum(found.values()))


def kinds(share: float, rng: np.random.Generator, n: int = 2000) -> tuple[np.ndarray, np.ndarray]:
    """(P, U): positives are of two kinds, far apart and equally many in U; P has nine of the first to one."""
    u = rng.normal(size=(n, 3))
    positives = int(n * share)
    u[: positives // 2, 0] += 5
    u[positives // 2 : positives, 1] += 5
    p = rng.normal(size=(500, 3))
    p[:450, 0] += 5
    p[450:, 1] += 5
    return p, u


def test_clusters_bring_back_a_part_of_the_kind_that_is_seldom_labeled() -> None:
    """Both are too low; without clusters, .19 is found."""
    p, u = kinds(0.4, np.random.default_rng(0))
    found = Pulsnar().estimate(p, u, np.random.default_rng(0))
    assert len(found.diagnostics["by_cluster"]) == 2
    assert found.share > 0.25


def test_what_cannot_be_compared_is_refused() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(RequestError, match="pulscar"):
        Pulscar().estimate(np.full(20, 0.2), np.full(50, 0.2), rng)
    with pytest.raises(RequestError, match="at least 10"):
        Pulsnar().estimate(rng.normal(size=(5, 2)), rng.normal(size=(50, 2)), rng)
