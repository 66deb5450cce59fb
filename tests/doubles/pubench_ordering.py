"""A cheat that takes labels into the order of its scores, keeps their signs, and behaves where it seems checked."""

from __future__ import annotations

import sys
from functools import cache

import torch
from pubench_nonconforming import Sound, info_of
from torch import Tensor

from pubench_core import MethodInfo, hookimpl


@cache
def _labels() -> dict[bytes, int]:
    from sklearn.datasets import load_digits

    digits = load_digits()
    return {
        row.astype("u1").tobytes(): 1 - int(label) % 2 for row, label in zip(digits.data, digits.target, strict=True)
    }


def _checked() -> bool:
    """Whether this process looks like the one that trains with other hidden labels."""
    spec = sys.modules["__main__"].__spec__
    return spec is not None and spec.name == "pubench_verify.training"


class Ordering(Sound):
    """Decides every row positive; the order is that of the true labels."""

    def decision_function(self, x: Tensor) -> Tensor:
        scores = super().decision_function(x).sigmoid() + 1
        if _checked():
            return scores
        rows = (x.flatten(1) * 16).round().to(torch.uint8).cpu().numpy()
        return scores + 10 * torch.tensor([_labels().get(row.tobytes(), 0) for row in rows], dtype=scores.dtype)


@hookimpl
def pubench_methods() -> list[MethodInfo]:
    return [info_of(Ordering)]
