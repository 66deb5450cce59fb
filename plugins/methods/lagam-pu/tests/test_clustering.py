"""k-means next to scikit-learn's: distances, restarts, and what has no clusters."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from pubench_lagam_pu.clustering import assigned, k_means, moved_centers
from torch import Tensor
from torch.nn import functional as F


def drawing(seed: int) -> Callable[[int], Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return lambda n: torch.randperm(n, generator=generator)


def blobs(n: int, groups: int, spread: float, d: int = 16) -> tuple[Tensor, Tensor]:
    """Unit rows around ``groups`` directions, and whose each is."""
    generator = torch.Generator().manual_seed(0)
    centers = F.normalize(torch.randn(groups, d, generator=generator), dim=1)
    of = torch.arange(n) % groups
    return F.normalize(centers[of] + spread * torch.randn(n, d, generator=generator), dim=1), of


def test_the_iterations_are_lloyds() -> None:
    """From the same starts, as many iterations of scikit-learn end at the same centers."""
    cluster = pytest.importorskip("sklearn.cluster")
    points, _ = blobs(800, 6, 0.5)
    centers = start = points[:6]
    for _ in range(5):
        centers = moved_centers(points, assigned(points, centers[None])[0], centers[None])[0]
    theirs = cluster.KMeans(6, init=start.numpy(), n_init=1, max_iter=5, tol=0, algorithm="lloyd")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.warn", lambda *_, **__: None)  # that 5 iterations are few
        theirs.fit(points.numpy())
    np.testing.assert_allclose(centers, theirs.cluster_centers_, atol=1e-5)
    nearest, total = assigned(points, centers[None])
    np.testing.assert_array_equal(nearest[:, 0], theirs.labels_)
    assert float(total[0]) == pytest.approx(theirs.inertia_, rel=1e-5)


def test_the_best_restart_is_taken() -> None:
    points, _ = blobs(600, 8, 0.05)
    draw = drawing(5)
    single = [float(k_means(points, 8, draw, restarts=1)[1]) for _ in range(6)]
    assert max(single) > 1.2 * min(single)  # else one restart would do
    assert float(k_means(points, 8, drawing(5), restarts=6)[1]) <= min(single) * (1 + 1e-5)


def test_a_sample_stands_for_all_rows() -> None:
    points, of = blobs(4000, 4, 0.05)
    nearest, _ = k_means(points, 4, drawing(1), sample=200)
    assert nearest.shape == (4000,)
    assert len({(int(a), int(b)) for a, b in zip(nearest, of, strict=True)}) == 4


def test_fewer_rows_than_clusters_are_clusters_of_their_own() -> None:
    points, _ = blobs(5, 5, 0.05)
    nearest, total = k_means(points, 100, drawing(0))
    assert sorted(nearest.tolist()) == [0, 1, 2, 3, 4]
    assert float(total) == pytest.approx(0, abs=1e-5)


def test_equal_rows_leave_clusters_empty() -> None:
    nearest, total = k_means(torch.ones(50, 3), 4, drawing(0))
    assert len(set(nearest.tolist())) == 1
    assert float(total) == pytest.approx(0, abs=1e-5)
