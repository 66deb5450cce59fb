"""A machine without an encoder, and one whose encoder is a stand-in: what most tests here need."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from huggingface_hub import constants
from made_texts import Vectors, vectors_of, write_model
from pubench_datasets_text import encoder, model
from refusals import refusal, source

from pubench_core.data.dataset import ClassData, DataRoot

REVISION = "0123abc"


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
        found = source(key)
        return found.read(found.locate(root), root)

    return read_it


@pytest.fixture
def refused(read: Callable[[str], ClassData]) -> Callable[[str], str]:
    """The one line that reading a data set ends with."""

    def refuse(key: str) -> str:
        line = refusal(lambda: read(key))
        assert "()" not in line  # a reason is given
        return line

    return refuse
