"""One random stream per purpose, all derived from the run's seed. The purpose's name decides the numbers."""

from __future__ import annotations

import zlib

import numpy as np


def stream(seed: int, purpose: str, *index: int) -> np.random.Generator:
    """An independent NumPy generator for one purpose (split, batches ...) of one seed."""
    return np.random.default_rng([seed, zlib.crc32(purpose.encode()), *index])


def torch_seed(seed: int, purpose: str, *index: int) -> int:
    """A seed for torch generators, from the same family of streams."""
    return int(stream(seed, purpose, *index).integers(2**63 - 1))
