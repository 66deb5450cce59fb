"""Applying scorers to many rows: fixed order, evaluation mode, no gradients, large batches."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

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
    return score_outputs(lambda x: {"": fn(x)}, source, rows)[""]


def score_outputs(
    fn: Callable[[Tensor], Mapping[str, Tensor]], source: Features | PUPart, rows: Tensor
) -> dict[str, Tensor]:
    """A function with several outputs in one pass over the given rows: name -> outputs in the rows' order."""
    parts: dict[str, list[Tensor]] = {}
    size = _rows_for(GROWTH * 4 * math.prod(source.shape))
    start = 0
    with evaluation_mode(), torch.inference_mode(), _largest_output() as largest:
        while start < len(rows) or not parts:
            chunk = rows[start : start + size]
            for name, output in fn(source.take(chunk)).items():
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
