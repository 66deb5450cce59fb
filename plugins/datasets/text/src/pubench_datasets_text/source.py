"""Base of the text data sets: documents are found, read, and become one sentence embedding each."""

from __future__ import annotations

import io
import os
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from pubench_archives.archives import check, content, reading

from pubench_core.data.dataset import ClassData, DataRoot
from pubench_core.data.source import DataSource
from pubench_core.errors import RequestError

from .encoder import Vectors, encode
from .model import fingerprint_in_use

#: Embeddings of all documents next to the texts: taken instead of encoding.
EMBEDDINGS = "minilm_l6_v2.npz"
#: SHA-256 of that file of each set.
PUBLISHED = {
    "20news": "cd13b8654d75d2230b639e8f08338aee3349340ec56324c33728e02e8b6fe52b",
    "imdb": "14dc97ce25b8fd947aea106ccfce6b0a6d63401a73b9610708da609e00f29381",
}


@dataclass(frozen=True)
class Corpus:
    """The documents of a set."""

    texts: list[str]
    """n documents, as the encoder gets them."""
    labels: npt.NDArray[np.int64]
    """(n,) class indices."""
    test: npt.NDArray[np.bool_]
    """(n,) True for the test part."""
    where: Path
    """File or folder that they came from, for messages."""


class TextSource(DataSource):
    """(n, 384) float32: one embedding of all-MiniLM-L6-v2 (or of the encoder that the user named) per document."""

    #: Files of which one is enough, for the error when there is none.
    layouts: tuple[str, ...]

    @abstractmethod
    def texts_in(self, folder: Path) -> tuple[Path, ...]:
        """The files with the texts in one folder, always in the same order; empty if there are none.

        Raises RequestError for a folder that cannot be read, or that holds a part of the set only.
        """

    @abstractmethod
    def corpus(self, files: tuple[Path, ...], root: DataRoot) -> Corpus:
        """The documents. Raises RequestError naming the file that is damaged and what to do."""

    @abstractmethod
    def class_of(self, name: str) -> int:
        """Index of the class that a name in the files means."""

    def locate(self, root: DataRoot) -> tuple[Path, ...]:
        folders = root.folders(self.info)
        for folder in folders:
            found = self.texts_in(folder)
            if found:
                beside = folder / EMBEDDINGS
                # an encoder that the user names is used: embeddings by another one would answer a different question
                return (*found, beside) if root.encoder is None and beside.exists() else found
        raise root.missing(self.info, [" or ".join(self.layouts)], folders)

    def variant(self, root: DataRoot, files: tuple[Path, ...]) -> str:
        """``npz`` for embeddings next to the texts, else the fingerprint of the encoder; imports nothing heavy.

        Raises RequestError if there is no encoder, never used one before, and none can be downloaded.
        """
        return "npz" if files[-1].name == EMBEDDINGS else fingerprint_in_use(root)

    def read(self, files: tuple[Path, ...], root: DataRoot) -> ClassData:
        given = files[-1] if files[-1].name == EMBEDDINGS else None
        corpus = self.corpus(files[:-1] if given else files, root)
        labels, test = corpus.labels, corpus.test
        if test.all() or not test.any():
            raise RequestError(
                f"{corpus.where} has no document of {'the other' if corpus.texts else 'any'} part; get it again "
                f"from {self.info.source}"
            )
        x = self._stored(given, corpus) if given is not None else encode(corpus.texts, root, self.info.key)
        return ClassData(x=x[~test], y=labels[~test], x_test=x[test], y_test=labels[test])

    def _stored(self, path: Path, corpus: Corpus) -> Vectors:
        """(n, d) vectors of a file with ``embedding``, ``split`` and ``target``, maybe an index into ``target_names``.

        Raises RequestError if it is not the published file, or its rows are not those of the documents.
        """
        found = content(path)
        check(
            path, found, PUBLISHED[self.info.key], "where it came from, or delete it: the texts are then encoded here"
        )
        with np.load(io.BytesIO(found), allow_pickle=False) as arrays:
            vectors: Vectors = arrays["embedding"].astype(np.float32)
            target, split = arrays["target"], arrays["split"]
            if "target_names" in arrays:
                target = np.array([self.class_of(str(name)) for name in arrays["target_names"]])[target]
        if not (np.array_equal(target, corpus.labels) and np.array_equal(split == "test", corpus.test)):
            raise RequestError(
                f"{path} has other rows than {corpus.where}; get the same documents, or delete it: the texts are then "
                "encoded here"
            )
        return vectors


def contents(files: Iterable[Path]) -> Iterator[tuple[Path, bytes]]:
    """(path, bytes) of each file. Raises RequestError naming one that cannot be read."""
    for path in files:
        with reading(path):
            found = path.read_bytes()
        yield path, found


def documents(folder: Path, ending: str = "") -> list[Path]:
    """Visible files of one folder whose names have the ending, in no order. Fast: no file is opened."""
    with reading(folder), os.scandir(folder) as found:
        names = [entry.name for entry in found if entry.name.endswith(ending) and not entry.is_dir()]
    return [folder / name for name in names if not name.startswith(".")]


def folders(folder: Path) -> list[Path]:
    """Visible folders in a folder, by name."""
    with reading(folder), os.scandir(folder) as found:
        return sorted(folder / entry.name for entry in found if entry.is_dir() and not entry.name.startswith("."))
