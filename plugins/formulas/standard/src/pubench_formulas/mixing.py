"""Mixup: convex combinations of rows with their partners, at the input or inside a network.

Zhang, Cisse, Dauphin, Lopez-Paz, ICLR 2018 (inputs); Verma et al., ICML 2019 (hidden representations).
"""

from __future__ import annotations

import torch
from torch import Tensor

from pubench_core.backbone import Backbone


def mix(values: Tensor, partner: Tensor, coefficient: float | Tensor) -> Tensor:
    """coefficient * values + (1 - coefficient) * partner.

    Rows, representations or targets of the same shape; ``coefficient`` in [0, 1]: the share of the row itself, one for
    all, or a tensor that broadcasts.
    """
    return coefficient * values + (1 - coefficient) * partner


def forward_mixed(net: Backbone, x: Tensor, partner: Tensor, coefficient: float | Tensor, layer: int) -> Tensor:
    """Outputs for rows mixed with their partners: at the input (``layer`` = -1) or after stage ``layer`` (from 0).

    ``x``, ``partner``: (B, *shape). Below that stage both pass together, so that batch norm normalizes them as one
    batch of 2 B rows.
    """
    hidden, hidden_partner = net.until(torch.cat([x, partner]), layer).chunk(2)
    return net.onward(mix(hidden, hidden_partner, coefficient), layer)
