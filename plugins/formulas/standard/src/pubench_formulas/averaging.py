"""Averages of networks over steps, and the best state of networks."""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import nn

from pubench_core.errors import RunFailed

#: What becomes of buffers (running statistics of batch norm, say) when a teacher is updated.
Buffers = Literal["average", "copy", "leave"]


@torch.no_grad()
def update(teacher: nn.Module, student: nn.Module, decay: float, *, buffers: Buffers) -> None:
    """The exponential moving average in place: teacher = decay * teacher + (1 - decay) * student.

    ``decay`` in [0, 1]; 0 copies. Parameters are averaged. ``buffers``: ``average`` treats those of floating point
    alike and copies the others (counts of batches), ``copy`` takes the student's, ``leave`` keeps the teacher's own.
    Both modules have the same architecture.
    """
    for slow, fast in zip(teacher.parameters(), student.parameters(), strict=True):
        slow.lerp_(fast, 1 - decay)
    if buffers == "leave":
        return
    for kept, new in zip(teacher.buffers(), student.buffers(), strict=True):
        if buffers == "average" and kept.is_floating_point():
            kept.lerp_(new, 1 - decay)
        else:
            kept.copy_(new)


class Best:
    """The state in which some modules had the highest value so far.

    For a choice inside a method (the best network of a first stage); which epoch becomes the result is the engine's.
    """

    def __init__(self, *modules: nn.Module) -> None:
        self._modules = modules
        self._value = float("-inf")
        self._states: list[dict[str, Any]] | None = None

    def offer(self, value: float) -> bool:
        """Keeps the present state if ``value`` is above all before it; whether it was. NaN never is."""
        if not value > self._value:
            return False
        self._value = value
        self._states = [
            {name: tensor.detach().clone() for name, tensor in module.state_dict().items()} for module in self._modules
        ]
        return True

    def restore(self) -> None:
        """Puts the kept state back. Raises RunFailed if no value that was offered was a number."""
        if self._states is None:
            raise RunFailed("no state was kept: no value that was offered is above minus infinity")
        for module, state in zip(self._modules, self._states, strict=True):
            module.load_state_dict(state)
