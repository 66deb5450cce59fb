"""Applying scorers to many rows: fixed order, evaluation mode, no gradients, large batches.

Between the end of an epoch and the next one, no row goes through the same network twice: a method may score its
training table to refresh a threshold, and the engine the same rows for the trace. What a network gave for a row is kept
from the first pass and given again in the second.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import ContextVar
from functools import partial
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

from .epochs import having
from .views import Features, PUPart

#: Most rows of a scoring batch: large enough to amortize Python, small enough for activations to stay in cache.
ROWS = 1024
#: Most bytes that the largest output of a layer may take: about what a processor's cache holds.
ACTIVATION_BYTES = 32 * 2**20
#: How many times as large as its input a layer's output is taken to be before it was seen: 64 channels for one.
GROWTH = 64


@contextmanager
def evaluation_mode() -> Iterator[None]:
    """Every module that is called in this block is in evaluation mode: dropout is off, batch norm
    uses its running statistics. Flags are restored afterwards.
    """
    switched: list[nn.Module] = []

    def switch(module: nn.Module, arguments: Any) -> None:
        for inner in module.modules() if module.training else ():
            if inner.training:
                inner.training = False
                switched.append(inner)

    hook = register_module_forward_pre_hook(switch)
    try:
        yield
    finally:
        hook.remove()
        for module in switched:
            module.training = True


def score_rows(fn: Callable[[Tensor], Tensor], source: Features | PUPart, rows: Tensor) -> Tensor:
    """``fn`` over the given rows of a table, concatenated in their order; the result may be used in a graph."""
    found = score_outputs(lambda x: {"": fn(x)}, source, rows)[""]
    memory = _MEMORY.get()
    if memory is not None and isinstance(fn, nn.Module):
        memory.keep(fn, *source.located(rows), found)
    return found


def score_outputs(
    fn: Callable[[Tensor], Mapping[str, Tensor]], source: Features | PUPart, rows: Tensor
) -> dict[str, Tensor]:
    """A function with several outputs in one pass over the given rows: name -> outputs in the rows' order."""
    parts: dict[str, list[Tensor]] = {}
    size = _rows_for(GROWTH * 4 * math.prod(source.shape))
    start = 0
    features, places = source.located(rows)
    memory = _MEMORY.get()
    unchanged = [] if memory is None else memory.unchanged(features)
    with ExitStack() as stack:
        stack.enter_context(evaluation_mode())
        stack.enter_context(torch.inference_mode())
        largest = stack.enter_context(_largest_output())
        while start < len(rows) or not parts:
            chunk = places[start : start + size]
            x = features.take(chunk)
            with _answering([(network, y[chunk]) for network, known, y in unchanged if known[chunk].all()], x):
                for name, output in fn(x).items():
                    parts.setdefault(name, []).append(output)
            start += len(chunk)
            size = _rows_for(largest["bytes"] / max(len(chunk), 1))
            if not len(chunk):
                break
    # An inference tensor may not enter a graph; its copy may.
    return {name: torch.cat(found).clone() for name, found in parts.items()}


def _rows_for(bytes_per_row: float) -> int:
    """Rows of a batch whose largest activation stays within :data:`ACTIVATION_BYTES`: a power of two, since kernels
    compute other numbers of rows in blocks, whose last one may round differently.
    """
    most = max(1, min(ROWS, int(ACTIVATION_BYTES / max(bytes_per_row, 1))))
    return 1 << most.bit_length() - 1


@contextmanager
def _largest_output() -> Iterator[dict[str, int]]:
    """Watches the size of what modules return: the entry ``bytes`` grows to that of the largest tensor."""
    largest = {"bytes": 0}

    def measure(module: nn.Module, arguments: Any, output: Any) -> None:
        if isinstance(output, Tensor):
            largest["bytes"] = max(largest["bytes"], output.numel() * output.element_size())

    hook = register_module_forward_hook(measure)
    try:
        yield largest
    finally:
        hook.remove()


# -------------------------------------------------------------------- outputs of networks, kept

_State = tuple[tuple[int, int, float], ...]


class OutputMemory:
    """Outputs of networks for rows of one table, as long as their parameters and buffers stay the same."""

    def __init__(self) -> None:
        #: state of the network that gave them, (n,) rows that have an output, (n, ...) outputs
        self._outputs: dict[tuple[nn.Module, Features], tuple[_State, Tensor, Tensor]] = {}

    def keep(self, network: nn.Module, features: Features, rows: Tensor, values: Tensor) -> None:
        """``values``: (len(rows), ...) outputs of the network in evaluation mode."""
        n, state, shape = len(features), _state_of(network), values.shape[1:]
        found = self._outputs.get((network, features))
        if found is None or found[0] != state or found[2].shape[1:] != shape:
            found = (state, values.new_zeros(n, dtype=torch.bool), values.new_zeros(n, *shape))
            self._outputs[network, features] = found
        found[1][rows] = True
        found[2][rows] = values

    def unchanged(self, features: Features) -> list[tuple[nn.Module, Tensor, Tensor]]:
        """(network, rows that have an output, outputs) of networks that are as they were."""
        return [
            (network, known, values)
            for (network, table), (state, known, values) in self._outputs.items()
            if table is features and state == _state_of(network)
        ]


@contextmanager
def _answering(outputs: list[tuple[nn.Module, Tensor]], x: Tensor) -> Iterator[None]:
    """Inside, a network that is called with this very ``x`` gives the output next to it."""

    def forward(
        given: Tensor, *more: object, values: Tensor, computes: Callable[..., object], **options: object
    ) -> object:
        return values if given is x and not more and not options else computes(given, *more, **options)

    for network, values in outputs:
        network.forward = partial(forward, values=values, computes=network.forward)
    try:
        yield
    finally:
        for network, _ in outputs:
            del network.forward


def _state_of(network: nn.Module) -> _State:
    """Place, version and sum of every parameter and buffer: one of them differs when a value was changed."""
    tensors = list(chain(network.parameters(), network.buffers()))
    sums = torch.stack([t.detach().double().sum() for t in tensors]).tolist() if tensors else []
    return tuple((t.data_ptr(), t._version, total) for t, total in zip(tensors, sums, strict=True))


_MEMORY: ContextVar[OutputMemory | None] = ContextVar("outputs", default=None)


def remembering_outputs() -> AbstractContextManager[None]:
    """A block in which outputs are kept and given again."""
    return having(_MEMORY, OutputMemory())
