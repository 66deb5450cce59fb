"""Contract of a backbone: ordered stages that end in features, and a linear head; making the networks of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import torch
from torch import Tensor, nn

from .errors import PluginError

Module = TypeVar("Module", bound=nn.Module)


class Normalize(nn.Module):
    """(x - mean) / std per channel: the first layer, so that data sets and augmentations stay in [0, 1]."""

    mean: Tensor
    std: Tensor

    def __init__(self, mean: Sequence[float], std: Sequence[float]) -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor(mean).view(-1, 1, 1))
        self.register_buffer("std", torch.tensor(std).view(-1, 1, 1))

    def forward(self, x: Tensor) -> Tensor:
        return (x - self.mean) / self.std


class Backbone(nn.Module):
    """A network: ``head(neck(stage_m(... stage_0(normalize(x)))))``.

    ``stages`` are the places where hidden representations may be mixed; ``features`` is what the head reads,
    (B, feature_dim). With one output, ``forward`` returns (B,).
    """

    in_bf16 = False
    """Whether stages and neck compute in bfloat16; what they are given, what they return and the head have 32 bits."""

    def __init__(self, stages: Sequence[nn.Module], neck: nn.Module, feature_dim: int, outputs: int) -> None:
        super().__init__()
        self.normalize: nn.Module = nn.Identity()
        self.stages = nn.ModuleList(stages)
        self.neck = neck
        self.feature_dim = feature_dim
        self.head = nn.Linear(feature_dim, outputs)

    if TYPE_CHECKING:

        def __call__(self, x: Tensor) -> Tensor: ...

    def until(self, x: Tensor, stage: int) -> Tensor:
        """The representation after stages 0..stage; ``stage = -1`` is the input itself."""
        if stage < 0:
            return x
        return self._through(self.stages[: stage + 1], self.normalize(x))

    def onward(self, hidden: Tensor, stage: int) -> Tensor:
        """The output that continues from what :meth:`until` returned for the same stage."""
        if stage < 0:
            hidden = self.normalize(hidden)
        return self._readout(self._through([*self.stages[max(stage, -1) + 1 :], self.neck], hidden))

    def features(self, x: Tensor) -> Tensor:
        """Input of the head, (B, feature_dim)."""
        return self._through([*self.stages, self.neck], self.normalize(x))

    def forward(self, x: Tensor) -> Tensor:
        return self._readout(self.features(x))

    def _through(self, layers: Iterable[nn.Module], hidden: Tensor) -> Tensor:
        with torch.autocast(hidden.device.type, torch.bfloat16) if self.in_bf16 else nullcontext():
            for layer in layers:
                hidden = layer(hidden)
        return hidden.float() if self.in_bf16 else hidden

    def _readout(self, features: Tensor) -> Tensor:
        out: Tensor = self.head(features)
        return out.squeeze(-1) if out.shape[-1] == 1 else out


def channels_last_module(module: Module) -> Module:
    """A network whose convolutions have the memory format of the images that they get."""
    module.to(memory_format=torch.channels_last)  # type: ignore[call-overload] # unknown to torch's annotations
    return module


@dataclass(frozen=True)
class NetworkBuilder:
    """Makes networks for one data set.

    ``shape``: of one row as the network gets it. ``mean``, ``std``: per channel; None: nothing is normalized."""

    key: str
    factory: Callable[[tuple[int, ...], int], Backbone]
    shape: tuple[int, ...]
    mean: tuple[float, ...] | None = None
    std: tuple[float, ...] | None = None
    in_bf16: bool = False
    """As of :class:`Backbone`."""

    def __call__(self, outputs: int) -> Backbone:
        """An untrained network. Raises RequestError if it cannot take rows of this shape, PluginError if it is none."""
        network = self.factory(self.shape, outputs)
        if not isinstance(network, Backbone):
            raise PluginError(f"backbone '{self.key}' returned {type(network).__name__}, not a Backbone")
        if self.mean is not None and self.std is not None:
            network.normalize = Normalize(self.mean, self.std)
        network.in_bf16 = self.in_bf16
        return channels_last_module(network)
