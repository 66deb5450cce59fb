"""Parts of VAE-PU's generator besides its networks: codes, the mixture, the bound, virtual rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from pubench.method import PUData
from pubench_formulas.losses import logistic_loss

#: How often log π enters a responsibility: once, or once per latent dimension.
Counting = Literal["once", "per-dimension"]
#: Added to ratios of probabilities in logarithms.
EPSILON = 1e-9
#: The least variance of a component, of which the logarithm is taken.
LEAST_VARIANCE = 1e-9


class Encoded(NamedTuple):
    """Normal distributions of both codes of (B,) rows: means and log variances, (B, d_y) and (B, d_o)."""

    y_mean: Tensor
    y_log_variance: Tensor
    o_mean: Tensor
    o_log_variance: Tensor


@dataclass(frozen=True)
class Mixture:
    """Two diagonal normal components of the class code; the second is the positive one.

    ``means``, ``variances``: (2, d_y). ``positive_share``: the weight of the positive one, in (0, 1).
    """

    means: Tensor
    variances: Tensor
    positive_share: float


class Bound(NamedTuple):
    """The seven terms of the evidence lower bound, each a mean over the batch; their sum is raised."""

    mixture: Tensor
    observation_prior: Tensor
    reconstruction: Tensor
    class_entropy: Tensor
    observation_entropy: Tensor
    responsibility: Tensor
    observer: Tensor

    @property
    def total(self) -> Tensor:
        """Their sum, a scalar."""
        return torch.stack(list(self)).sum()


def drawn(mean: Tensor, log_variance: Tensor, noise: Tensor) -> Tensor:
    """A draw of each of (B, d) normal distributions from standard normal noise."""
    return mean + (log_variance / 2).exp() * noise


def share_of_first(h_p: Tensor, means: Tensor, variances: Tensor) -> Tensor:
    """Share of labeled positives' (n, d) codes whose density under the first of two components is the larger: scalar.

    ``means``, ``variances``: (2, d) of diagonal normal components.
    """
    variances = variances.clamp(min=LEAST_VARIANCE)
    density = -0.5 * ((h_p[:, None] - means).square() / variances + variances.log()).sum(dim=2)
    return (density[:, 0] > density[:, 1]).to(h_p.dtype).mean()


def ordered(h_p: Tensor, means: Tensor, variances: Tensor, weights: Tensor) -> Mixture:
    """The mixture with the component second under which most labeled positives' (n, d) codes are likelier.

    ``weights``: (2,) of the components as they were fitted.
    """
    order = torch.tensor([1, 0] if share_of_first(h_p, means, variances) > 0.5 else [0, 1], device=means.device)
    return Mixture(means[order], variances[order].clamp(min=LEAST_VARIANCE), float(weights[order[1]]))


def responsibility(h: Tensor, mixture: Mixture, prior: float, counting: Counting) -> Tensor:
    """c: (B,) probability of the positive component given (B, d) codes, where π is ``prior``.

    The official code adds log π inside the sum over dimensions (``per-dimension``).
    """
    inside = -(h[:, None] - mixture.means).square() / (2 * mixture.variances) - mixture.variances.log() / 2
    negative, positive = inside.sum(dim=2).unbind(dim=1)
    odds = math.log(prior / (1 - prior))
    return (positive - negative + (h.shape[1] if counting == "per-dimension" else 1) * odds).sigmoid()


def value_range(data: PUData) -> tuple[float, float]:
    """The least and the largest value of all rows; those of images are 0 and 1 unless they are standardized."""
    rows = torch.arange(len(data), device=data.instance.device).split(1024)
    ends = [torch.aminmax(data.take(some)) for some in rows]
    return min(float(end.min) for end in ends), max(float(end.max) for end in ends)


def within_unit_interval(data: PUData) -> bool:
    """Whether all values are from 0 to 1, so that rows can have a Bernoulli likelihood."""
    low, high = value_range(data)
    return low >= 0 and high <= 1


def reconstruction(decoded: Tensor, x: Tensor, *, bernoulli: bool) -> Tensor:
    """E3, the log likelihood of (B, *shape) rows up to a constant: a scalar, the mean over rows of sums over values.

    ``decoded``: logits of the values if ``bernoulli``, else their means, of variance 1.
    """
    if bernoulli:
        loss = F.binary_cross_entropy_with_logits(decoded, x, reduction="none")
    else:
        loss = 0.5 * (x - decoded).square()
    return -loss.flatten(1).sum(dim=1).mean()


def bound(
    encoded: Encoded, c: Tensor, mixture: Mixture, prior: float, likelihood: Tensor, observed: Tensor, labeled: Tensor
) -> Bound:
    """E1 to E7 of a batch. ``c``: (B,) responsibilities, ``likelihood``: E3, ``observed``: (B,) logits of the observer.

    ``labeled``: (B,) float, 1 for labeled positives. ``prior``: π in (0, 1).
    """
    y_mean, y_log_variance, o_mean, o_log_variance = encoded
    spread = y_log_variance.exp()[:, None] + (y_mean[:, None] - mixture.means).square()
    negative, positive = (-0.5 * (mixture.variances.log() + spread / mixture.variances)).sum(dim=2).unbind(dim=1)
    divergence = c * (c / prior + EPSILON).log() + (1 - c) * ((1 - c) / (1 - prior) + EPSILON).log()
    return Bound(
        mixture=((1 - c) * negative + c * positive).mean(),
        observation_prior=-0.5 * (o_log_variance.exp() + o_mean.square()).sum(dim=1).mean(),
        reconstruction=likelihood,
        class_entropy=0.5 * (1 + y_log_variance).sum(dim=1).mean(),
        observation_entropy=0.5 * (1 + o_log_variance).sum(dim=1).mean(),
        responsibility=-divergence.mean(),
        observer=-F.binary_cross_entropy_with_logits(observed, labeled),
    )


def nearest(h_p: Tensor, h_u: Tensor) -> Tensor:
    """(n,) which of the (m, d) codes is nearest to each of (n, d) ones, by Euclidean distance of differences."""
    return torch.cdist(h_p.detach(), h_u.detach(), compute_mode="donot_use_mm_for_euclid_dist").argmin(dim=1)


def virtual_codes(encoded: Encoded, y_noise: Tensor, o_noise: Tensor) -> Tensor:
    """(n, d_y + d_o) codes of virtual unlabeled positives: class codes of P, each with the nearest observation of U.

    ``encoded``: rows of P, then rows of U. ``y_noise``: (n, d_y) for the n rows of P; ``o_noise``: (B, d_o).
    """
    n = len(y_noise)
    h_y = drawn(encoded.y_mean[:n], encoded.y_log_variance[:n], y_noise)
    h_o = drawn(encoded.o_mean, encoded.o_log_variance, o_noise)
    return torch.cat([h_y, h_o[n:][nearest(h_o[:n], h_o[n:])]], dim=1)


def discrimination(d_virtual: Tensor, d_u: Tensor) -> Tensor:
    """The discriminator's loss of (n,) logits of virtual rows and (m,) of U: a scalar."""
    return logistic_loss(-d_virtual).mean() + logistic_loss(d_u).mean()
