"""Making the networks of a run: the backbone's factory, with the data set's normalization as first layer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..backbone import Backbone, Normalize
from ..errors import PluginError
from .views import channels_last_module


@dataclass(frozen=True)
class NetworkBuilder:
    """Makes networks for one data set.

    ``shape``: of one row as the network gets it. ``mean``, ``std``: per channel; None: nothing is normalized."""

    key: str
    factory: Callable[[tuple[int, ...], int], Backbone]
    shape: tuple[int, ...]
    mean: tuple[float, ...] | None = None
    std: tuple[float, ...] | None = None

    def __call__(self, outputs: int) -> Backbone:
        """An untrained network. Raises RequestError if it cannot take rows of this shape, PluginError if it is none."""
        network = self.factory(self.shape, outputs)
        if not isinstance(network, Backbone):
            raise PluginError(f"backbone '{self.key}' returned {type(network).__name__}, not a Backbone")
        if self.mean is not None and self.std is not None:
            network.normalize = Normalize(self.mean, self.std)
        return channels_last_module(network)
