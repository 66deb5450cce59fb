"""A machine without an encoder, and one whose encoder is a stand-in: what most tests here need."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from huggingface_hub import constants
from pubench_datasets_text import encoder, model, pubench_datasets
from refusals import refusal

from pubench_core.data.dataset import ClassData, DataRoot
from pubench_core.data.source import source_of

WIDTH = 384
INFOS = {info.key: info for info in pubench_datasets()}
REVISION = "0123abc"
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


@pytest.fixture
def hub_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of the hub, and no encoder package: a machine without an encoder."""
    folder = tmp_path / "hub"
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(folder))
    monkeypatch.setattr(model, "PACKAGE", "no_package_has_this_name")
    return folder


@pytest.fixture
def put_in_hub_cache(hub_cache: Path) -> Callable[[], Path]:
    """Puts a model where the hub's library would have put it, and returns its folder."""

    def put() -> Path:
        base = hub_cache / "models--sentence-transformers--all-MiniLM-L6-v2"
        (base / "refs").mkdir(parents=True)
        (base / "refs" / "main").write_text(REVISION)
        return write_model(base / "snapshots" / REVISION)

    return put


@pytest.fixture
def encoded(put_in_hub_cache: Callable[[], Path], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A stand-in for the encoder in the hub's cache; the texts that it was given."""
    put_in_hub_cache()
    given: list[str] = []

    @contextmanager
    def loaded(_: model.SentenceModel) -> Iterator[Callable[[list[str]], Vectors]]:
        def run(texts: list[str]) -> Vectors:
            given.extend(texts)
            return vectors_of(texts)

        yield run

    monkeypatch.setattr(encoder, "loaded", loaded)
    return given


@pytest.fixture
def said() -> list[str]:
    """The lines for the user."""
    return []


@pytest.fixture
def root(tmp_path: Path, said: list[str]) -> DataRoot:
    """A data root of this test, with a cache of its own."""
    return DataRoot(tmp_path / "data", "a test", cache=tmp_path / "cache", say=said.append)


@pytest.fixture
def read(root: DataRoot) -> Callable[[str], ClassData]:
    """Locates and reads a data set of the root."""

    def read_it(key: str) -> ClassData:
        source = source_of(INFOS[key])
        return source.read(source.locate(root), root)

    return read_it


@pytest.fixture
def refused(read: Callable[[str], ClassData]) -> Callable[[str], str]:
    """The one line that reading a data set ends with."""

    def refuse(key: str) -> str:
        line = refusal(lambda: read(key))
        assert "()" not in line  # a reason is given
        return line

    return refuse


@pytest.fixture
def as_vectors() -> Callable[[Sequence[str]], Vectors]:
    """The vectors that the stand-in makes of texts."""
    return vectors_of


@pytest.fixture
def make_model() -> Callable[..., Path]:
    return write_model
