"""Keeping what a method scores with: the state of the best epoch so far."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from ..errors import PluginError
from ..method import AnyMethod


@dataclass(frozen=True)
class Snapshot:
    """Copies of the attributes in ``scored_by``."""

    state: Mapping[str, Any]

    @classmethod
    def take(cls, method: AnyMethod) -> Snapshot:
        """Raises PluginError if a name in ``scored_by`` is missing or of a kind that cannot be copied."""
        state = {}
        for name in method.scored_by:
            if not hasattr(method, name):
                raise PluginError(f"{type(method).__name__}.scored_by names '{name}', which fit never set")
            state[name] = _copied(getattr(method, name), name)
        return cls(state)

    def restore(self, method: AnyMethod) -> None:
        """Puts the copies back; modules keep their identity."""
        for name, value in self.state.items():
            current = getattr(method, name)
            if hasattr(current, "load_state_dict"):
                current.load_state_dict(value)
            else:
                setattr(method, name, copy.deepcopy(value))


def _copied(value: Any, name: str) -> Any:
    if hasattr(value, "state_dict"):
        return {
            k: v.detach().clone() if isinstance(v, Tensor) else copy.deepcopy(v) for k, v in value.state_dict().items()
        }
    if isinstance(value, Tensor):
        return value.detach().clone()
    if isinstance(value, (np.ndarray, bool, int, float, str)) or value is None:
        return copy.deepcopy(value)
    raise PluginError(
        f"scored_by names '{name}', a {type(value).__name__}; it must be a module, tensor, array, number or have "
        "state_dict and load_state_dict"
    )
