"""Stand-ins for a sentence encoder: its vectors, and the files of a model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

WIDTH = 384
Vectors = npt.NDArray[np.float32]


def vectors_of(texts: Sequence[str]) -> Vectors:
    """(n, 384) unit vectors, each decided by its text alone."""
    found = np.empty((len(texts), WIDTH), dtype=np.float32)
    for row, text in zip(found, texts, strict=True):
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
        row[:] = np.random.default_rng(seed).normal(size=WIDTH)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def write_model(folder: Path, *, weights: bytes = b"weights") -> Path:
    """A folder with the files of a sentence-transformers model, whose weights nothing could load."""
    (folder / "1_Pooling").mkdir(parents=True)
    modules = [
        {"idx": 0, "name": "0", "path": "", "type": "x"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": "x"},
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "config.json").write_text("{}")
    (folder / "tokenizer.json").write_text("{}")
    (folder / "1_Pooling" / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(weights)
    return folder
