"""Held-out scores of labeled against unlabeled rows from the run's own network, trained in folds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from pubench_core.backbone import Backbone
from pubench_core.data.dataset import IntArray
from pubench_core.training.optimizers import Adam

#: Passes over the rows of the other folds, by Adam on the logistic loss.
EPOCHS = 10
BATCH = 256
RATE = 1e-3
_BLOCK = 2048


def held_out_by_backbone(
    rows: npt.NDArray[np.float32],
    labeled: npt.NDArray[np.float64],
    folds: IntArray,
    network: Callable[[], Backbone],
) -> npt.NDArray[np.float64]:
    """(n,) p(labeled | x) of each row from a network that was trained on the other folds.

    ``rows``: (n, *shape); ``labeled``: (n,) 0/1; ``folds``: (n,) the fold of each row; ``network``: makes an untrained
    one with a single output. Draws from torch's global generator.
    """
    x, y = torch.from_numpy(np.ascontiguousarray(rows)), torch.from_numpy(labeled).float()
    found = np.empty(len(rows))
    for fold in np.unique(folds):
        inside = torch.from_numpy(folds == fold)
        trained = _trained(network(), x[~inside], y[~inside])
        with torch.inference_mode():
            logits = torch.cat([trained(part) for part in x[inside].split(_BLOCK)])
        found[folds == fold] = logits.double().sigmoid().numpy()
    return found


def _trained(network: Backbone, x: Tensor, y: Tensor) -> Backbone:
    optimizer = Adam(network.parameters(), lr=RATE)
    network.train()
    for _ in range(EPOCHS):
        for batch in torch.randperm(len(x)).split(BATCH):
            if len(batch) == 1:
                continue  # batch norm cannot train on one row
            optimizer.zero_grad(set_to_none=True)
            functional.binary_cross_entropy_with_logits(network(x[batch]), y[batch]).backward()
            optimizer.step()
    return network.eval()
