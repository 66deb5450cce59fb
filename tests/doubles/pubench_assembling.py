"""Methods that score with something else than a backbone."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from pubench_core import MethodInfo, hookimpl
from pubench_core.method import Method
from pubench_core.specs.config import MethodConfig
from pubench_core.specs.fields import Field
from pubench_core.training.run import Run
from pubench_core.training.views import PUData


class Config(MethodConfig):
    epochs: int = Field(1, ge=1, description="epochs")


class Foreign(Method[Config]):
    """Scores with a module that only it can make, and with numbers of every kind, infinite ones among them."""

    scored_by = ("gate", "shift", "weights", "scale", "limit", "word", "nothing")

    def fit(self, data: PUData, run: Run[Config]) -> None:
        self.assemble(run.backbone)
        self.shift = torch.tensor(0.25)
        self.weights = np.linspace(-1, 1, data.shape[0])
        self.scale, self.limit, self.word, self.nothing = np.array(2.0), float("inf"), "up", None
        for _ in run.epochs(self.config.epochs):
            with torch.no_grad():
                self.gate.weight.add_(data.x.mean(0))

    def decision_function(self, x: Tensor) -> Tensor:
        assert (self.word, self.nothing) == ("up", None)
        linear = x @ torch.from_numpy(self.weights).float() * float(self.scale) + self.shift
        return (linear + self.gate(x).squeeze(1)).clamp(max=self.limit)


class WithAssemble(Foreign):
    def assemble(self, build: Any) -> None:
        self.gate = nn.Linear(3, 1)


class WithoutAssemble(Foreign):
    def fit(self, data: PUData, run: Run[Config]) -> None:
        self.gate = nn.Linear(3, 1)
        super().fit(data, run)


@hookimpl
def pubench_methods() -> list[MethodInfo]:
    def info(key: str, name: str) -> MethodInfo:
        return MethodInfo(key=key, name=key, summary="a test double", load=f"{__name__}:{name}")

    return [info("with-assemble", "WithAssemble"), info("without-assemble", "WithoutAssemble")]
