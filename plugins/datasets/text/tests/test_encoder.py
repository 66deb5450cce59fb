"""Texts are encoded once: kept, resumed where a process was killed, and never by two processes at once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from pubench_datasets_text import encoder
from pubench_datasets_text.encoder import encode

from pubench_core.data.dataset import DataRoot
from pubench_core.errors import RequestError

Vectors = npt.NDArray[np.float32]
AsVectors = Callable[[Sequence[str]], Vectors]

#: Of every length from 0 to 20, in no order.
TEXTS = ["x" * (7 * n % 21) + str(n % 3) for n in range(21)]


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoder, "CHUNK", 4)


def stored_in(root: DataRoot) -> list[Path]:
    return sorted((root.cache / "embeddings").glob("*/embedding.npy"))


class TestOnce:
    def test_in_the_order_of_the_texts(self, root: DataRoot, encoded: list[str], as_vectors: AsVectors) -> None:
        found = encode(TEXTS, root, "a set")
        assert found.dtype == np.float32
        assert np.array_equal(found, as_vectors(TEXTS))
        assert [len(text) for text in encoded] == sorted((len(text) for text in TEXTS), reverse=True)

    def test_mapped_from_one_file_the_second_time(self, root: DataRoot, encoded: list[str]) -> None:
        first = encode(TEXTS, root, "a set")
        n = len(encoded)
        again = encode(TEXTS, root, "a set")
        assert isinstance(again, np.memmap)
        assert np.array_equal(first, again)
        assert len(encoded) == n == len(TEXTS)
        assert len(stored_in(root)) == 1
        assert {path.name for path in stored_in(root)[0].parent.iterdir()} == {"embedding.npy", "about.json"}

    def test_speed_and_encoder_are_said_and_written_down(
        self, root: DataRoot, said: list[str], encoded: list[str]
    ) -> None:
        encode(TEXTS, root, "a set")
        assert len(said) == 1
        assert said[0].startswith("a set: 21 of 21 documents encoded in ")
        assert "documents per second) by the encoder from the Hugging Face cache" in said[0]
        about = json.loads((stored_in(root)[0].parent / "about.json").read_text())
        assert (about["texts"], about["revision"], about["max_length"]) == (21, "0123abc", 256)

    def test_every_document_is_a_step_of_the_progress(self, root: DataRoot, encoded: list[str]) -> None:
        steps: list[int] = []
        opened: list[tuple[str, int]] = []

        @contextmanager
        def progress(label: str, total: int) -> Iterator[Callable[[int], None]]:
            opened.append((label, total))
            yield steps.append

        encode(TEXTS, replace(root, progress=progress), "a set")
        assert opened == [("encoding a set", 21)]
        assert steps == [4, 4, 4, 4, 4, 1]

    @pytest.mark.parametrize("change", [[*TEXTS, "more"], TEXTS[::-1], ["".join(TEXTS[:2]), *TEXTS[2:]]])
    def test_other_texts_are_other_embeddings(self, root: DataRoot, encoded: list[str], change: list[str]) -> None:
        encode(TEXTS, root, "a set")
        encode(change, root, "a set")
        assert len(stored_in(root)) == 2

    def test_another_encoder_makes_other_embeddings(
        self, root: DataRoot, encoded: list[str], make_model: Callable[..., Path], tmp_path: Path
    ) -> None:
        encode(TEXTS, root, "a set")
        encode(TEXTS, replace(root, encoder=make_model(tmp_path / "same")), "a set")
        assert len(stored_in(root)) == 1
        encode(TEXTS, replace(root, encoder=make_model(tmp_path / "other", weights=b"others")), "a set")
        assert len(stored_in(root)) == 2

    def test_what_is_kept_needs_no_encoder(self, root: DataRoot, encoded: list[str], hub_cache: Path) -> None:
        first = encode(TEXTS, root, "a set")
        hub_cache.rename(hub_cache.with_name("gone"))
        assert np.array_equal(encode(TEXTS, replace(root, offline=True), "a set"), first)
        with pytest.raises(RequestError, match="is not on this machine"):
            encode(["another text"], replace(root, offline=True), "a set")


#: Encodes TEXTS with a stand-in that writes down every text; environment and arguments say how.
PROCESS = """
import os, signal, sys, time
from contextlib import contextmanager
from pathlib import Path
import numpy as np
from pubench_datasets_text import encoder
from pubench_core.data.dataset import DataRoot

cache, log, kill_after, pause = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
encoder.CHUNK = 4
chunks = 0

@contextmanager
def loaded(model):
    def run(texts):
        global chunks
        if chunks == kill_after:
            os.kill(os.getpid(), signal.SIGKILL)
        chunks += 1
        time.sleep(pause)
        with log.open("a") as stream:
            stream.write("".join(f"{text}\\n" for text in texts))
        return np.array([[len(text), int(text[-1])] for text in texts], dtype=np.float32)
    yield run

encoder.loaded = loaded
texts = ["x" * (7 * n % 21) + str(n % 3) for n in range(21)]
found = encoder.encode(texts, DataRoot(cache, "a test", cache=cache, say=print), "a set")
assert np.array_equal(found, [[len(text), int(text[-1])] for text in texts])
"""


@pytest.fixture
def start(tmp_path: Path, root: DataRoot, put_in_hub_cache: Callable[[], Path], hub_cache: Path) -> object:
    """Starts a process that encodes TEXTS, which may kill itself after some chunks."""
    put_in_hub_cache()
    around = {**os.environ, "HF_HUB_CACHE": str(hub_cache)}

    def begin(*, kill_after: int = -1, pause: float = 0.0) -> subprocess.Popen[str]:
        arguments = [str(root.cache), str(tmp_path / "log"), str(kill_after), str(pause)]
        return subprocess.Popen(
            [sys.executable, "-c", PROCESS, *arguments], env=around, text=True, stdout=subprocess.PIPE
        )

    return begin


Start = Callable[..., "subprocess.Popen[str]"]


class TestProcesses:
    def test_one_killed_in_the_middle_costs_no_more_than_a_chunk(
        self, tmp_path: Path, root: DataRoot, start: Start
    ) -> None:
        killed = start(kill_after=3)
        killed.communicate(timeout=60)
        assert killed.returncode == -signal.SIGKILL
        before = (tmp_path / "log").read_text().split()
        assert len(before) == 12
        assert not stored_in(root)
        second = start()
        line, _ = second.communicate(timeout=60)
        assert second.returncode == 0
        assert line.startswith("a set: 9 of 21 documents encoded in ")
        assert sorted((tmp_path / "log").read_text().split()) == sorted(TEXTS)

    def test_two_at_once_do_the_work_once(self, tmp_path: Path, start: Start) -> None:
        both = [start(pause=0.1), start(pause=0.1)]
        lines = [process.communicate(timeout=60)[0] for process in both]
        assert [process.returncode for process in both] == [0, 0]
        assert sorted((tmp_path / "log").read_text().split()) == sorted(TEXTS)
        assert sum("21 of 21 documents encoded" in line for line in lines) == 1

    def test_a_process_that_waits_says_so(self, root: DataRoot, said: list[str], encoded: list[str]) -> None:
        encode(TEXTS, root, "a set")
        folder = stored_in(root)[0].parent
        (folder / "embedding.npy").unlink()
        held, go = threading.Event(), threading.Event()

        def hold() -> None:
            with encoder._alone(folder, replace(root, say=lambda text: None), "another"):
                held.set()
                go.wait(10)

        other = threading.Thread(target=hold)
        other.start()
        held.wait(10)

        def release(text: str) -> None:
            said.append(text)
            go.set()

        started = time.perf_counter()
        encode(TEXTS, replace(root, say=release), "a set")
        other.join()
        assert "a set: another process is encoding these documents; waiting for it" in said
        assert time.perf_counter() - started < 10


class TestTrouble:
    def test_a_chunk_that_is_not_whole_is_made_again(
        self, root: DataRoot, encoded: list[str], as_vectors: AsVectors
    ) -> None:
        encode(TEXTS, root, "a set")
        folder = stored_in(root)[0].parent
        (folder / "embedding.npy").unlink()
        for name, content in (("chunk-00000000.npy", b"\x93NUMPY"), ("chunk-00000004.npy", b""), ("chunk-8.npy", b"x")):
            (folder / name).write_bytes(content)
        np.save(folder / "chunk-00000008.npy", np.zeros((3, 384), dtype=np.float32))
        assert np.array_equal(encode(TEXTS, root, "a set"), as_vectors(TEXTS))

    @pytest.mark.parametrize("content", [b"", b"\x93NUMPY", b"text"])
    def test_embeddings_that_are_damaged(self, root: DataRoot, encoded: list[str], content: bytes) -> None:
        encode(TEXTS, root, "a set")
        path = stored_in(root)[0]
        path.write_bytes(content)
        with pytest.raises(RequestError) as caught:
            encode(TEXTS, root, "a set")
        assert str(caught.value).startswith(f"{path} is damaged (")
        assert str(caught.value).endswith(f"delete {path.parent} and run again")

    def test_a_cache_that_cannot_be_written(self, root: DataRoot, encoded: list[str], tmp_path: Path) -> None:
        (tmp_path / "file").write_text("in the way")
        with pytest.raises(RequestError, match=r"embeddings could not be kept in .*PUBENCH_CACHE"):
            encode(TEXTS, replace(root, cache=tmp_path / "file"), "a set")

    def test_a_full_disk_loses_nothing_that_was_done(
        self, root: DataRoot, encoded: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write, room = encoder._write, [2]

        def full(path: Path, array: Vectors) -> None:
            if not room[0]:
                raise OSError(28, "No space left on device")
            room[0] -= 1
            write(path, array)

        monkeypatch.setattr(encoder, "_write", full)
        with pytest.raises(RequestError, match="No space left on device; free the space"):
            encode(TEXTS, root, "a set")
        monkeypatch.setattr(encoder, "_write", write)
        encoded.clear()
        encode(TEXTS, root, "a set")
        assert len(encoded) == len(TEXTS) - 8

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_an_encoder_that_gives_no_numbers(
        self, root: DataRoot, encoded: list[str], monkeypatch: pytest.MonkeyPatch, value: float
    ) -> None:
        @contextmanager
        def broken(_: object) -> Iterator[Callable[[list[str]], Vectors]]:
            yield lambda texts: np.full((len(texts), 384), value, dtype=np.float32)

        monkeypatch.setattr(encoder, "loaded", broken)
        with pytest.raises(RequestError, match="gives vectors that are not finite") as caught:
            encode(TEXTS, root, "a set")
        assert "execution.encoder=PATH" in str(caught.value)
        assert not stored_in(root)
