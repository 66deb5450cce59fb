"""Texts are encoded once: kept, resumed where a process stopped, and never by two at once."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_texts import Vectors, vectors_of, write_model
from pubench_datasets_text import encoder
from pubench_datasets_text.encoder import encode
from refusals import refusal

from pubench_core.data.dataset import DataRoot

#: Of every length from 0 to 20, in no order.
TEXTS = ["x" * (7 * n % 21) + str(n % 3) for n in range(21)]


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoder, "CHUNK", 4)


def stored_in(root: DataRoot) -> list[Path]:
    return sorted((root.cache / "embeddings").glob("*/embedding.npy"))


class TestOnce:
    def test_the_first_time_in_the_order_of_the_texts_and_then_mapped_from_one_file(
        self, root: DataRoot, said: list[str], encoded: list[str]
    ) -> None:
        """Speed and encoder are said and written down; every document is a step of the progress."""
        steps: list[Any] = []

        @contextmanager
        def progress(label: str, total: int) -> Iterator[Callable[[int], None]]:
            steps.append((label, total))
            yield steps.append

        found = encode(TEXTS, replace(root, progress=progress), "a set")
        assert steps == [("encoding a set", 21), 4, 4, 4, 4, 4, 1]
        assert found.dtype == np.float32
        assert np.array_equal(found, vectors_of(TEXTS))
        assert [len(text) for text in encoded] == sorted((len(text) for text in TEXTS), reverse=True)
        again = encode(TEXTS, root, "a set")
        assert isinstance(again, np.memmap)
        assert np.array_equal(found, again)
        assert len(encoded) == len(TEXTS)
        (stored,) = stored_in(root)
        assert {path.name for path in stored.parent.iterdir()} == {"embedding.npy", "about.json"}
        about = json.loads((stored.parent / "about.json").read_text())
        assert (about["texts"], about["revision"], about["max_length"]) == (21, "0123abc", 256)
        (line,) = said
        assert line.startswith("a set: 21 of 21 documents encoded in ")
        assert "documents per second) by the encoder from the Hugging Face cache" in line

    def test_other_texts_or_another_encoder_make_other_embeddings(
        self, root: DataRoot, encoded: list[str], tmp_path: Path
    ) -> None:
        encode(TEXTS, root, "a set")
        encode(TEXTS, replace(root, encoder=write_model(tmp_path / "same")), "a set")
        assert len(stored_in(root)) == 1
        encode(TEXTS, replace(root, encoder=write_model(tmp_path / "other", weights=b"others")), "a set")
        for texts in ([*TEXTS, "more"], TEXTS[::-1], ["".join(TEXTS[:2]), *TEXTS[2:]]):
            encode(texts, root, "a set")
        assert len(stored_in(root)) == 5

    def test_what_is_kept_needs_no_encoder(self, root: DataRoot, encoded: list[str], hub_cache: Path) -> None:
        first = encode(TEXTS, root, "a set")
        hub_cache.rename(hub_cache.with_name("gone"))
        offline = replace(root, offline=True)
        assert np.array_equal(encode(TEXTS, offline, "a set"), first)
        assert "is not on this machine" in refusal(lambda: encode(["another text"], offline, "a set"))


def test_two_at_once_do_the_work_once_and_the_one_that_waits_says_so(
    root: DataRoot, said: list[str], encoded: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    held, go, loaded = threading.Event(), threading.Event(), encoder.loaded

    @contextmanager
    def slow(model: Any) -> Iterator[Callable[[list[str]], Vectors]]:
        held.set()
        assert go.wait(10)
        with loaded(model) as run:
            yield run

    def release(text: str) -> None:
        said.append(text)
        go.set()

    monkeypatch.setattr(encoder, "loaded", slow)
    other = threading.Thread(target=lambda: encode(TEXTS, replace(root, say=lambda text: None), "a set"))
    other.start()
    assert held.wait(10)
    encode(TEXTS, replace(root, say=release), "a set")
    other.join()
    assert said == ["a set: another process is encoding these documents; waiting for it"]
    assert sorted(encoded) == sorted(TEXTS)


class TestTrouble:
    @pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(28, "No space left on device")])
    def test_what_stops_in_the_middle_costs_no_more_than_a_chunk(
        self, root: DataRoot, said: list[str], encoded: list[str], monkeypatch: pytest.MonkeyPatch, error: BaseException
    ) -> None:
        write, room = encoder._write, [3]

        def full(path: Path, array: Vectors) -> None:
            if not room[0]:
                raise error
            room[0] -= 1
            write(path, array)

        with monkeypatch.context() as patch:
            patch.setattr(encoder, "_write", full)
            if isinstance(error, OSError):
                line = refusal(lambda: encode(TEXTS, root, "a set"))
                assert line.startswith(f"a set: embeddings could not be kept in {root.cache / 'embeddings'}")
                assert line.endswith(
                    "No space left on device; free the space or name another folder with PUBENCH_CACHE"
                )
            else:
                with pytest.raises(KeyboardInterrupt):
                    encode(TEXTS, root, "a set")
        assert not stored_in(root)
        encoded.clear()
        encode(TEXTS, root, "a set")
        assert len(encoded) == len(TEXTS) - 12
        assert said[-1].startswith("a set: 9 of 21 documents encoded in ")

    def test_a_chunk_that_is_not_whole_is_made_again(self, root: DataRoot, encoded: list[str]) -> None:
        encode(TEXTS, root, "a set")
        folder = stored_in(root)[0].parent
        (folder / "embedding.npy").unlink()
        for name, content in (("chunk-00000000.npy", b"\x93NUMPY"), ("chunk-00000004.npy", b"")):
            (folder / name).write_bytes(content)
        np.save(folder / "chunk-00000008.npy", np.zeros((3, 384), dtype=np.float32))
        assert np.array_equal(encode(TEXTS, root, "a set"), vectors_of(TEXTS))

    @pytest.mark.parametrize("content", [b"", b"\x93NUMPY"])
    def test_embeddings_that_are_damaged(self, root: DataRoot, encoded: list[str], content: bytes) -> None:
        encode(TEXTS, root, "a set")
        path = stored_in(root)[0]
        path.write_bytes(content)
        line = refusal(lambda: encode(TEXTS, root, "a set"))
        assert line.startswith(f"{path} is damaged (")
        assert line.endswith(f"delete {path.parent} and run again")

    def test_an_encoder_that_gives_no_numbers(
        self, root: DataRoot, encoded: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        @contextmanager
        def broken(_: object) -> Iterator[Callable[[list[str]], Vectors]]:
            yield lambda texts: np.full((len(texts), 384), np.inf, dtype=np.float32)

        monkeypatch.setattr(encoder, "loaded", broken)
        line = refusal(lambda: encode(TEXTS, root, "a set"))
        assert "gives vectors that are not finite" in line
        assert "execution.encoder=PATH" in line
        assert not stored_in(root)
