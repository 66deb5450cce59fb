"""Blocks that run on generators of their own; the caller's random state is left as it was."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch


@contextmanager
def isolated(seed: int, device: torch.device) -> Iterator[None]:
    """Runs a block on freshly seeded global generators (torch on CPU and ``device``, NumPy, ``random``).

    What the caller had seeded neither influences the block nor is changed by it.
    """
    numpy_state, python_state = np.random.get_state(), random.getstate()
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.default_generator.manual_seed(seed)  # torch.manual_seed would seed every GPU as well, the caller's too
        if device.type == "cuda":
            with torch.cuda.device(device):
                torch.cuda.manual_seed(seed)
        np.random.seed(seed % 2**32)
        random.seed(seed)
        try:
            yield
        finally:
            np.random.set_state(numpy_state)
            random.setstate(python_state)
