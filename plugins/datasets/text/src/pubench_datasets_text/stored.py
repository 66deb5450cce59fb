"""Embeddings that is next to the texts, taken once they are shown to be those of these texts.

``minilm_l6_v2.npz``: ``embedding`` (n, d) float16 or float32, ``target`` (n,) class (or index into ``target_names``),
``split`` (n,) train or test; ``filename`` or ``index`` (n,) say which document a row is, where present.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from pubench_archives.archives import reading

from pubench_core.data.dataset import DataRoot
from pubench_core.errors import RequestError

from .corpus import Corpus
from .encoder import Vectors, loaded
from .model import find_local

#: Documents encoded here and compared; below the cosine they are not by this encoder, or not of these texts.
SAMPLE, LEAST_COSINE = 16, 0.999
#: Half precision moves the length of a unit vector of 384 values by less than 0.001.
NORM_TOLERANCE = 0.01
_REMEDY = "get the right one, or delete it and the texts are encoded here"

Arrays = dict[str, npt.NDArray[Any]]


def checked_embeddings(path: Path, corpus: Corpus, class_of: Callable[[str], int], root: DataRoot) -> Vectors:
    """(n, d) float32 vectors of the corpus's documents, in its order.

    Compares labels, split, names and order with the texts, and a sample with what an encoder on this machine makes of
    it. Raises RequestError naming the file and the first or worst row that differs.
    """
    arrays = _arrays(path)
    vectors = _vectors(path, arrays["embedding"], len(corpus.texts))
    for what, stored, found in _comparable(path, arrays, corpus, class_of):
        if len(stored) != len(found):
            raise _wrong(path, f"has {len(found)} documents and {len(stored)} values of {what}")
        differing = np.flatnonzero(np.asarray(stored) != np.asarray(found))
        if len(differing):
            row = int(differing[0])
            raise _wrong(
                path,
                f"does not fit the texts: {what} of row {row} is {stored[row]!s}, that of the document there is "
                f"{found[row]!s} ({len(differing)} rows differ)",
            )
    _check_sample(path, vectors, corpus, root)
    return vectors


def _arrays(path: Path) -> Arrays:
    with reading(path, zipfile.BadZipFile, KeyError), path.open("rb") as stream:
        found = np.load(stream, allow_pickle=False)  # numpy leaves a damaged file open that it opened itself
        if not isinstance(found, np.lib.npyio.NpzFile):
            raise _wrong(path, "is no npz file")
        with found:
            arrays = dict(found)
    if absent := [name for name in ("embedding", "target", "split") if name not in arrays]:
        raise _wrong(path, f"has no array {' and '.join(absent)}")
    return arrays


def _vectors(path: Path, stored: npt.NDArray[Any], n: int) -> Vectors:
    if stored.ndim != 2 or stored.dtype not in (np.float16, np.float32):
        raise _wrong(path, f"has embeddings of type {stored.dtype} and shape {stored.shape}; expected (n, 384) float16")
    if len(stored) != n:
        raise _wrong(path, f"has {len(stored)} rows for {n} documents")
    vectors = stored.astype(np.float32)
    norms = np.linalg.norm(vectors, axis=1)
    off = ~(np.abs(norms - 1) <= NORM_TOLERANCE)  # also where it is not a number
    if off.any():
        row = int(off.argmax())
        raise _wrong(path, f"has a vector of length {norms[row]:.4g} in row {row}; expected unit length")
    return vectors


def _comparable(
    path: Path, arrays: Arrays, corpus: Corpus, class_of: Callable[[str], int]
) -> list[tuple[str, npt.NDArray[Any], npt.NDArray[Any]]]:
    """(what, as stored, as in the texts) for everything that both say."""
    target = arrays["target"]
    if "target_names" in arrays:
        try:
            classes = np.array([class_of(str(name)) for name in arrays["target_names"]])
        except KeyError as error:
            raise _wrong(path, f"has a class {error} among its target_names, which this data set has not") from error
        if target.dtype.kind not in "iu" or (len(target) and not 0 <= target.min() <= target.max() < len(classes)):
            raise _wrong(path, f"has a target that is none of its {len(classes)} target_names")
        target = classes[target]
    found = [("target", target, corpus.labels), ("split", arrays["split"], np.where(corpus.test, "test", "train"))]
    if "filename" in arrays and corpus.names is not None:
        found.append(("filename", arrays["filename"], np.array(corpus.names)))
    if "index" in arrays:
        found.append(("index", arrays["index"], np.arange(len(corpus.texts))))
    return found


def _check_sample(path: Path, vectors: Vectors, corpus: Corpus, root: DataRoot) -> None:
    model = find_local(root)
    if model is None:
        root.say(f"{path.name}: taken without comparing a sample, there is no sentence encoder on this machine")
        return
    rows = np.unique(np.linspace(0, len(vectors) - 1, SAMPLE).astype(np.int64))
    with loaded(model) as run:
        made = run([corpus.texts[row] for row in rows])
    if made.shape[1] != vectors.shape[1]:
        raise _wrong(path, f"has {vectors.shape[1]} values in a row, {made.shape[1]} are made by {model.said_by}")
    stored = vectors[rows]
    cosines = (made * stored).sum(axis=1) / np.linalg.norm(made, axis=1) / np.linalg.norm(stored, axis=1)
    worst = int(cosines.argmin())
    if not cosines[worst] > LEAST_COSINE:
        raise _wrong(
            path,
            f"holds other vectors than the encoder from {model.said_by} makes: row {rows[worst]} has cosine "
            f"{cosines[worst]:.4f} with it, expected above {LEAST_COSINE}",
        )


def _wrong(path: Path, what: str) -> RequestError:
    return RequestError(f"{path} {what}; {_REMEDY}")
