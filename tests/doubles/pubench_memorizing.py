"""A method that knows every row that it was trained on, and nothing else."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from pubench.method import Method, MethodConfig, PUData, Run
from pubench_core import MethodInfo, hookimpl


class Config(MethodConfig):
    pass


class Memorizes(Method[Config]):
    """Scores a row 1 if it was trained on, and below 0 if it was not."""

    scored_by = ("seen",)

    def fit(self, data: PUData, run: Run[Config]) -> None:
        for _ in run.epochs(3, patience=None):
            self.seen = data.x.flatten(1).clone()

    def decision_function(self, x: Tensor) -> Tensor:
        rows = x.flatten(1)
        known: Any = (rows[:, None] == self.seen[None]).all(dim=2).any(dim=1)
        return torch.where(known, torch.ones(len(x)), -1 - rows[:, 0].sigmoid())


@hookimpl
def pubench_methods() -> list[MethodInfo]:
    return [
        MethodInfo(
            key="memorizes", name="Memorizes", summary="a test double", load=f"{__name__}:Memorizes", devices=("cpu",)
        )
    ]
