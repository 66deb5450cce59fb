"""Batches of row numbers: shuffled passes, and endless cycles that go on over epochs.

Random orders are drawn on the CPU, so that they are the same on every device, and moved to it once per pass.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from ..errors import RunFailed

#: What becomes of an incomplete batch: it spans the reshuffle, is kept smaller, or is dropped.
Tail = Literal["span", "keep", "drop"]


class Batch(NamedTuple):
    """Rows of one step.

    ``x``: (B, *shape) float32. ``labeled``: (B,) bool. ``row``: (B,) positions in the training table LP ‖ U.
    """

    x: Tensor
    labeled: Tensor
    row: Tensor


def shuffled(rows: Tensor, generator: torch.Generator) -> Tensor:
    """The rows in random order, on their device."""
    return rows[torch.randperm(len(rows), generator=generator).to(rows.device, non_blocking=True)]


def shuffled_pass(rows: Tensor, size: int, generator: torch.Generator) -> list[Tensor]:
    """One pass over the rows in random order, in chunks of ``size``.

    The last chunk may be smaller, but never a single row (batch norm cannot train on one): that row joins the chunk
    before. No chunk for no rows.
    """
    chunks = whole(shuffled(rows, generator).split(size))
    if len(chunks) > 1 and len(chunks[-1]) == 1:
        chunks[-2:] = [torch.cat(chunks[-2:])]
    return chunks


def whole(chunks: Iterable[Tensor]) -> list[Tensor]:
    """The chunks that have a row: splitting nothing gives one without any."""
    return [chunk for chunk in chunks if len(chunk)]


class Cycle:
    """Endless shuffled batches of row numbers."""

    def __init__(self, rows: Tensor, size: int, generator: torch.Generator, tail: Tail) -> None:
        if not len(rows):
            raise RunFailed("a batch needs at least one row")
        self.rows, self.size, self.generator, self.tail = rows, size, generator, tail
        self._left = rows[:0]

    @property
    def pass_length(self) -> int:
        """Batches in one pass."""
        whole = len(self.rows) // self.size
        return max(1, whole if self.tail == "drop" else math.ceil(len(self.rows) / self.size))

    def __next__(self) -> Tensor:
        if self.size > len(self.rows) and self.tail != "keep":
            drawn = torch.randint(len(self.rows), (self.size,), generator=self.generator)
            return self.rows[drawn.to(self.rows.device, non_blocking=True)]
        if len(self._left) < self.size and (self.tail == "drop" or not len(self._left)):
            self._left = shuffled(self.rows, self.generator)
        if len(self._left) < self.size and self.tail == "span":
            self._left = torch.cat([self._left, shuffled(self.rows, self.generator)])
        batch, self._left = self._left[: self.size], self._left[self.size :]
        return batch
