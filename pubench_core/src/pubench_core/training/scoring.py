"""Applying a scorer to many rows: fixed order, evaluation mode, no gradients, large batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from .views import Features, PUPart

#: Rows per scoring batch: large enough to amortize Python, small enough for activations to stay in cache.
ROWS = 1024


def modules_of(owner: object) -> list[nn.Module]:
    """Every module among an object's attributes, one level into lists, tuples and dicts."""
    found: list[nn.Module] = []
    for value in vars(owner).values():
        inner: Iterable[Any] = (
            value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else [value]
        )
        found.extend(item for item in inner if isinstance(item, nn.Module))
    return found


@contextmanager
def evaluation_mode(modules: Iterable[nn.Module]) -> Iterator[None]:
    """Switches dropout off and batch norm to its running statistics, and restores every flag afterwards."""
    flags = [(m, m.training) for module in modules for m in module.modules()]
    for module, _ in flags:
        module.training = False
    try:
        yield
    finally:
        for module, training in flags:
            module.training = training


def score_rows(
    fn: Callable[[Tensor], Tensor],
    source: Features | PUPart,
    rows: Tensor,
    modules: Iterable[nn.Module],
) -> Tensor:
    """``fn`` over the given rows of a table, concatenated in their order; the result may be used in a graph."""
    with evaluation_mode(modules), torch.inference_mode():
        parts = [fn(source.take(chunk)) for chunk in rows.split(ROWS)]
        out = torch.cat(parts) if parts else fn(source.take(rows))
    return out.clone()  # an inference tensor may not enter a graph; its copy may
