"""Outputs of networks between the end of an epoch and the next one: no row goes through the same network twice.

A method may score its training table to refresh a threshold, and the engine scores the same rows for the trace. What a
network gave for a row is kept from the first pass and given again in the second.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import chain

import torch
from torch import Tensor, nn

from .views import Features

_State = tuple[tuple[int, int, float], ...]


@dataclass
class _Outputs:
    """``known``: (n,) rows that have an output. ``values``: (n, ...). ``state``: of the network that gave them."""

    known: Tensor
    values: Tensor
    state: _State


class OutputMemory:
    """Outputs of networks for rows of one table, as long as their parameters and buffers stay the same."""

    def __init__(self) -> None:
        self._outputs: dict[tuple[nn.Module, Features], _Outputs] = {}

    def keep(self, network: nn.Module, features: Features, rows: Tensor, values: Tensor) -> None:
        """``values``: (len(rows), ...) outputs of the network in evaluation mode."""
        n, state = len(features), _state_of(network)
        found = self._outputs.get((network, features))
        if found is None or found.state != state or found.values.shape[1:] != values.shape[1:]:
            known = torch.zeros(n, dtype=torch.bool, device=values.device)
            found = _Outputs(known, torch.zeros(n, *values.shape[1:], dtype=values.dtype, device=values.device), state)
            self._outputs[network, features] = found
        found.known[rows] = True
        found.values[rows] = values

    @contextmanager
    def replaying(self, features: Features) -> Iterator[_Replay]:
        """Networks that are unchanged since their outputs were kept; see :meth:`_Replay.of`."""
        unchanged = [
            (network, outputs)
            for (network, table), outputs in self._outputs.items()
            if table is features and outputs.state == _state_of(network)
        ]
        yield _Replay(unchanged)


class _Replay:
    def __init__(self, networks: list[tuple[nn.Module, _Outputs]]) -> None:
        self._networks = networks

    @contextmanager
    def of(self, rows: Tensor, x: Tensor) -> Iterator[None]:
        """Inside, a network that is called with this very ``x`` gives what it gave for these rows before."""
        with ExitStack() as stack:
            for network, outputs in self._networks:
                if bool(outputs.known[rows].all()):
                    stack.enter_context(_answering(network, x, outputs.values[rows]))
            yield


@contextmanager
def _answering(network: nn.Module, x: Tensor, values: Tensor) -> Iterator[None]:
    computes = network.forward

    def forward(given: Tensor, *more: object, **options: object) -> object:
        return values if given is x and not more and not options else computes(given, *more, **options)

    network.forward = forward
    try:
        yield
    finally:
        del network.forward


def _state_of(network: nn.Module) -> _State:
    """Place, version and sum of every parameter and buffer: one of them differs when a value was changed."""
    tensors = list(chain(network.parameters(), network.buffers()))
    sums = torch.stack([t.detach().double().sum() for t in tensors]).tolist() if tensors else []
    return tuple((t.data_ptr(), t._version, total) for t, total in zip(tensors, sums, strict=True))


_MEMORY: ContextVar[OutputMemory | None] = ContextVar("outputs", default=None)


@contextmanager
def remembering_outputs() -> Iterator[None]:
    """Inside this block, outputs are kept and given again."""
    token = _MEMORY.set(OutputMemory())
    try:
        yield
    finally:
        _MEMORY.reset(token)


def remembered() -> OutputMemory | None:
    """The memory of the block that is running, if there is one."""
    return _MEMORY.get()
