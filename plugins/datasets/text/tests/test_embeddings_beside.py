"""Embeddings next to the texts are taken instead of encoding if they are the published ones, of these texts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from made_texts import vectors_of, write_model
from pubench_datasets_text.source import PUBLISHED
from refusals import refusal, source

from pubench_core.data.dataset import ClassData, DataRoot

Read = Callable[[str], ClassData]
Arrays = dict[str, npt.NDArray[Any]]
Write = Callable[[Arrays], Path]

N = 40
TEXTS = [f"review {row}" for row in range(N)]
LABELS = np.arange(N) % 2
SPLIT = np.where(np.arange(N) < 30, "train", "test")


@pytest.fixture
def folder(root: DataRoot) -> Path:
    found = root.path / "imdb"
    found.mkdir(parents=True)
    rows = zip(TEXTS, LABELS.tolist(), SPLIT.tolist(), strict=True)
    lines = [json.dumps({"id": f"{n}.txt", "split": s, "label": y, "text": t}) for n, (t, y, s) in enumerate(rows)]
    (found / "imdb.jsonl").write_text("\n".join(lines))
    return found


@pytest.fixture
def arrays() -> Arrays:
    """What a right file holds."""
    return {
        "embedding": vectors_of(TEXTS).astype(np.float16),
        "target": LABELS.astype(np.int8),
        "split": SPLIT,
        "index": np.arange(N, dtype=np.int32),
    }


@pytest.fixture
def write(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes a file and takes it for the published one."""

    def publish(arrays: Arrays) -> Path:
        path = folder / "minilm_l6_v2.npz"
        np.savez_compressed(path, **arrays)
        monkeypatch.setitem(PUBLISHED, "imdb", hashlib.sha256(path.read_bytes()).hexdigest())
        return path

    return publish


@pytest.mark.usefixtures("hub_cache")
def test_they_are_taken_as_float32_without_an_encoder(write: Write, read: Read, root: DataRoot, arrays: Arrays) -> None:
    write(arrays)
    data, found = read("imdb"), source("imdb")
    assert data.x.dtype == np.float32
    assert np.array_equal(data.x, arrays["embedding"][:30].astype(np.float32))
    assert data.x_test is not None
    assert np.array_equal(data.x_test, arrays["embedding"][30:].astype(np.float32))
    assert found.variant(root, found.locate(root)) == "npz"


@pytest.mark.usefixtures("hub_cache")
def test_targets_by_name(write: Write, read: Read, arrays: Arrays) -> None:
    write({**arrays, "target": 1 - arrays["target"], "target_names": np.array(["pos", "neg"])})
    assert read("imdb").y.tolist() == LABELS[:30].tolist()


def test_not_if_the_user_named_an_encoder(
    folder: Path, write: Write, root: DataRoot, arrays: Arrays, encoded: list[str]
) -> None:
    write(arrays)
    found, own = source("imdb"), replace(root, encoder=write_model(folder / "own"))
    files = found.locate(own)
    assert [path.name for path in files] == ["imdb.jsonl"]
    assert found.variant(own, files) != "npz"
    found.read(files, own)
    assert sorted(encoded) == sorted(TEXTS)


class TestRefused:
    def test_another_file_whatever_is_in_it(self, write: Write, read: Read, arrays: Arrays) -> None:
        """A file with Python objects, say: nothing of it is run."""
        path = write(arrays)
        np.savez_compressed(path, **{**arrays, "target": np.array([object()] * N)})
        found = hashlib.sha256(path.read_bytes()).hexdigest()
        assert refusal(lambda: read("imdb")) == (
            f"{path} has the sha256 checksum {found}, the published file {PUBLISHED['imdb']}; get it again from where "
            "it came from, or delete it: the texts are then encoded here"
        )

    @pytest.mark.parametrize("name", ["target", "split"])
    def test_embeddings_of_other_documents(
        self, folder: Path, write: Write, read: Read, arrays: Arrays, name: str
    ) -> None:
        path = write({**arrays, name: arrays[name][::-1]})
        line = refusal(lambda: read("imdb"))
        assert line.startswith(
            f"{path} has other rows than {folder / 'imdb.jsonl'}; get the same documents, or delete it"
        )
