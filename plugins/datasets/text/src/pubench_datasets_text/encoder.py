"""Sentence embeddings of texts, made once and kept in the cache: resumed where a process was killed, and made by one
process at a time.

``<cache>/embeddings/<id>/`` holds ``embedding.npy`` when all is done and ``about.json`` with it; before that one file
per chunk of documents. The id depends on the texts, the encoder's fingerprint and the maximum length.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import filelock
import numpy as np
import numpy.typing as npt
from pubench_archives.archives import one_line

from pubench_core.data.dataset import DataRoot
from pubench_core.errors import RequestError

from .model import NAME, SentenceModel, find, fingerprint, fingerprint_in_use, remember_as_last

Vectors = npt.NDArray[np.float32]
#: Texts to (n, d) vectors.
Encode = Callable[[list[str]], Vectors]

#: Word pieces; longer texts are cut. All-MiniLM-L6-v2's own setting, and PU-Bench's.
MAX_LENGTH = 256
#: Documents whose encoding is lost, at most, when a process is killed: seconds of work on two CPU cores.
CHUNK = 128
#: Documents in one pass of the network: more gains nothing on a CPU and little on a GPU with a model so small.
BATCH = 32
#: Raised when anything below changes what is stored.
LAYOUT = 1


def encode(texts: Sequence[str], root: DataRoot, label: str) -> Vectors:
    """(n, d) float32 embeddings of n texts, memory-mapped, in the order of the texts; d is 384 for all-MiniLM-L6-v2.

    ``label``: what is being encoded, for the user. Raises RequestError if there is no encoder, if it is broken, or
    if the cache cannot be written.
    """
    texts = list(texts)
    content = _digest(texts)
    stored = _stored(_folder(root, content, fingerprint_in_use(root)), len(texts))
    if stored is not None:
        return stored
    model = find(root)
    mark = fingerprint(model, root.cache)
    folder = _folder(root, content, mark)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _alone(folder, root, label):
            stored = _stored(folder, len(texts))
            if stored is None:  # else another process made it while this one waited
                _make(folder, texts, model, mark, root, label)
    except OSError as error:
        raise RequestError(
            f"{label}: embeddings could not be kept in {folder}: {error.strerror or error}; free the space or name "
            "another folder with PUBENCH_CACHE"
        ) from error
    remember_as_last(root, mark)
    stored = _stored(folder, len(texts))
    assert stored is not None
    return stored


@contextlib.contextmanager
def loaded(model: SentenceModel) -> Iterator[Encode]:
    """The encoder in memory, on a GPU where there is one: a function from texts to (n, d) float32 vectors.

    Raises RequestError if the model cannot be loaded. The library writes and downloads nothing meanwhile.
    """
    with _environment(TOKENIZERS_PARALLELISM="false", HF_HUB_DISABLE_TELEMETRY="1"):
        from safetensors import SafetensorError
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging as library

        bars, level = library.is_progress_bar_enabled(), library.get_verbosity()
        library.disable_progress_bar()
        library.set_verbosity_error()
        try:
            network = SentenceTransformer(str(model.folder), local_files_only=True).float().eval()
        except (
            *(ImportError, AttributeError, KeyError, OSError, RuntimeError, TypeError, ValueError),
            SafetensorError,
        ) as error:
            raise RequestError(
                f"the sentence encoder in {model.folder} (from {model.said_by}) cannot be loaded: {one_line(error)}; "
                f"execution.encoder=PATH names a folder with a good copy of {NAME}",
                field="execution.encoder",
            ) from error
        finally:
            library.set_verbosity(level)
            if bars:
                library.enable_progress_bar()
        network.max_seq_length = min(MAX_LENGTH, network.max_seq_length or MAX_LENGTH)

        def run(texts: list[str]) -> Vectors:
            found = network.encode(texts, batch_size=BATCH, show_progress_bar=False, convert_to_numpy=True)
            return np.asarray(found, dtype=np.float32)

        yield run


# -------------------------------------------------------------------- making


def _make(folder: Path, texts: list[str], model: SentenceModel, mark: str, root: DataRoot, label: str) -> None:
    """Encodes what no earlier process has encoded, and keeps the whole."""
    # texts of one length together: a batch is padded to its longest
    order = np.argsort([-len(text) for text in texts], kind="stable")
    parts, done, seconds = _chunks(folder, [texts[row] for row in order], model, root, label)
    whole = np.empty((len(texts), parts[0].shape[1]), dtype=np.float32)
    whole[order] = np.concatenate(parts)
    about = {
        "texts": len(texts),
        "label": label,
        "encoder": str(model.folder),
        "from": model.said_by,
        "revision": model.revision,
        "fingerprint": mark,
        "max_length": MAX_LENGTH,
        "seconds": round(seconds, 1),
        "encoded_by_the_last_process": done,
    }
    (folder / "about.json").write_text(json.dumps(about, indent=1), encoding="utf-8")
    _write(folder / "embedding.npy", whole)
    for path in folder.glob("chunk-*"):
        path.unlink()
    if done:
        root.say(
            f"{label}: {done} of {len(texts)} documents encoded in {seconds:.1f} s ({done / max(seconds, 1e-9):.0f} "
            f"documents per second) by the encoder from {model.said_by}"
        )


def _chunks(
    folder: Path, texts: list[str], model: SentenceModel, root: DataRoot, label: str
) -> tuple[list[Vectors], int, float]:
    """(vectors of every chunk, documents encoded by this process, seconds that took), each chunk kept when it is done.

    The model is loaded where a chunk is missing.
    """
    parts: list[Vectors] = []
    done, started = 0, time.perf_counter()
    with contextlib.ExitStack() as stack:
        advance = stack.enter_context(root.progress(f"encoding {label}", len(texts)))
        run: Encode | None = None
        for first in range(0, len(texts), CHUNK):
            some = texts[first : first + CHUNK]
            path = folder / f"chunk-{first:08d}.npy"
            part = _chunk(path, len(some))
            if part is None:
                if run is None:
                    run = stack.enter_context(loaded(model))
                    started = time.perf_counter()  # loading the model is not encoding
                part = _usable(run(some), len(some), model)
                _write(path, part)
                done += len(some)
            parts.append(part)
            advance(len(some))
    return parts, done, time.perf_counter() - started


def _usable(part: Any, n: int, model: SentenceModel) -> Vectors:
    """The vectors of one chunk, if they are vectors; RequestError if the encoder is broken."""
    if part.ndim != 2 or len(part) != n or not np.isfinite(part).all():
        raise RequestError(
            f"the sentence encoder in {model.folder} (from {model.said_by}) gives vectors that are not finite or not "
            f"one per text; execution.encoder=PATH names a folder with a good copy of {NAME}",
            field="execution.encoder",
        )
    return np.asarray(part, dtype=np.float32)


def _chunk(path: Path, n: int) -> Vectors | None:
    """A chunk that an earlier process finished; one that is not whole (power was lost) is made again."""
    try:
        found = np.load(path, allow_pickle=False)
    except (FileNotFoundError, ValueError, EOFError):
        return None
    return np.asarray(found, dtype=np.float32) if found.ndim == 2 and len(found) == n else None


def _write(path: Path, array: Vectors) -> None:
    aside = path.with_name(f"{path.name}.incoming")  # the lock is held: no other process writes here
    with aside.open("wb") as stream:
        np.save(stream, array, allow_pickle=False)
        stream.flush()
        os.fsync(stream.fileno())
    aside.replace(path)


# -------------------------------------------------------------------- keeping


def _digest(texts: list[str]) -> str:
    digest = hashlib.sha256()
    for text in texts:
        raw = text.encode("utf-8", "surrogatepass")
        digest.update(len(raw).to_bytes(8, "little"))
        digest.update(raw)
    return digest.hexdigest()


def _folder(root: DataRoot, content: str, mark: str) -> Path:
    identity = json.dumps([LAYOUT, MAX_LENGTH, CHUNK, mark, content])
    return root.cache / "embeddings" / hashlib.sha256(identity.encode()).hexdigest()[:16]


def _stored(folder: Path, n: int) -> Vectors | None:
    path = folder / "embedding.npy"
    try:
        found = np.load(path, mmap_mode="r", allow_pickle=False)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, EOFError) as error:
        raise RequestError(f"{path} is damaged ({one_line(error)}); delete {folder} and run again") from error
    if len(found) != n:
        raise RequestError(f"{path} is damaged ({len(found)} rows for {n} documents); delete {folder} and run again")
    mapped: Vectors = found
    return mapped


@contextlib.contextmanager
def _alone(folder: Path, root: DataRoot, label: str) -> Iterator[None]:
    lock = filelock.FileLock(folder.with_name(f"{folder.name}.lock"))
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        root.say(f"{label}: another process is encoding these documents; waiting for it")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


@contextlib.contextmanager
def _environment(**values: str) -> Iterator[None]:
    """Environment variables that the user has not set, for a while."""
    added = [name for name in values if name not in os.environ]
    os.environ.update({name: values[name] for name in added})
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)
