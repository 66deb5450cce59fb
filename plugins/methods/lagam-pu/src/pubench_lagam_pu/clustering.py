"""k-means by Lloyd's iterations, all restarts at once, on the device of the points."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

#: Points whose distances to all centers are in memory at once.
CHUNK = 4096


def assigned(points: Tensor, centers: Tensor) -> tuple[Tensor, Tensor]:
    """The nearest of (r, k, d) centers to (n, d) points, (n, r), and the sums of squared distances to it, (r,)."""
    r, k, d = centers.shape
    flat = centers.reshape(r * k, d)
    half_norm = flat.square().sum(dim=1) / 2
    nearest, sums = [], torch.zeros(r, dtype=points.dtype, device=points.device)
    for chunk in points.split(CHUNK):
        # |p - c|^2 / 2 without |p|^2 / 2, which is the same for all centers.
        likeness = (chunk @ flat.T - half_norm).view(len(chunk), r, k)
        best = likeness.max(dim=2)
        nearest.append(best.indices)
        sums += (chunk.square().sum(dim=1, keepdim=True) - 2 * best.values).clamp(min=0).sum(dim=0)
    return torch.cat(nearest), sums


def moved_centers(points: Tensor, nearest: Tensor, centers: Tensor) -> Tensor:
    """(r, k, d) means of the points of every center; a center without points stays.

    By products with indicators: sums by index differ from call to call on CUDA.
    """
    r, k, d = centers.shape
    sums, counts = torch.zeros_like(centers).view(r * k, d), torch.zeros_like(centers[..., 0]).view(r * k, 1)
    for chunk, near in zip(points.split(CHUNK), nearest.split(CHUNK), strict=True):
        member = torch.zeros(len(chunk), r, k, dtype=points.dtype, device=points.device)
        member = member.scatter(2, near[:, :, None], 1.0).view(len(chunk), r * k)
        sums += member.T @ chunk
        counts += member.sum(dim=0)[:, None]
    return torch.where(counts > 0, sums / counts.clamp(min=1), centers.reshape(r * k, d)).view(r, k, d)


def k_means(
    points: Tensor,
    clusters: int,
    draw: Callable[[int], Tensor],
    *,
    restarts: int = 5,
    iterations: int = 20,
    sample: int | None = None,
) -> tuple[Tensor, Tensor]:
    """(n,) the cluster of every one of (n, d) points, and the sum of squared distances to its center.

    ``draw(n)``: the numbers below n in random order. Every restart begins at ``clusters`` points (all, if there are
    fewer), drawn from ``sample`` of them (none: all); iterations see these only. The restart of least distances wins.
    """
    seen = points if sample is None or sample >= len(points) else points[draw(len(points))[:sample]]
    k = min(clusters, len(seen))
    centers = torch.stack([seen[draw(len(seen))[:k]] for _ in range(restarts)])
    for _ in range(iterations):
        centers = moved_centers(seen, assigned(seen, centers)[0], centers)
    best = assigned(seen, centers)[1].argmin()
    nearest, total = assigned(points, centers[best][None])
    return nearest[:, 0], total[0]
