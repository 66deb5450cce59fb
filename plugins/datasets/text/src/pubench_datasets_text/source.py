"""What the text data sets share: documents are found, read, and become one sentence embedding each."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pubench_core.data.dataset import ClassData, DataRoot
from pubench_core.data.source import DataSource
from pubench_core.errors import RequestError

from .encoder import encode
from .model import fingerprint_in_use

#: Embeddings of all documents beside the texts: taken instead of encoding, once they have been checked.
EMBEDDINGS = "minilm_l6_v2.npz"


@dataclass(frozen=True)
class Corpus:
    """``texts``: n documents, as the encoder gets them. ``labels``: (n,) class indices, int64.

    ``test``: (n,) True for the test part; None where the files have no split. ``names``: what each document is called
    in its files; None where they have no names. ``where``: the file or folder they came from, for messages.
    """

    texts: list[str]
    labels: npt.NDArray[np.int64]
    test: npt.NDArray[np.bool_] | None
    names: list[str] | None
    where: Path


class TextSource(DataSource):
    """(n, 384) float32: one embedding of all-MiniLM-L6-v2 (or of the encoder that the user named) per document."""

    #: Files of which one is enough, for the error when there is none.
    layouts: tuple[str, ...]

    @abstractmethod
    def texts_in(self, folder: Path) -> tuple[Path, ...]:
        """The files with the texts in one folder, always in the same order; empty if there are none.

        Raises RequestError for a folder that cannot be read, or that lacks a part of what it begins.
        """

    @abstractmethod
    def corpus(self, files: tuple[Path, ...], root: DataRoot) -> Corpus:
        """The documents. Raises RequestError naming the file that is damaged and what to do."""

    @abstractmethod
    def class_of(self, name: str) -> int:
        """Index of the class that a name in the files means. Raises KeyError if it means none."""

    @abstractmethod
    def download(self, root: DataRoot) -> None:
        """Downloads the texts. Raises RequestError if they cannot be had."""

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
        """``npz`` for embeddings beside the texts, else the fingerprint of the encoder; imports nothing heavy.

        Raises RequestError if there is no encoder, never used one before, and none can be downloaded.
        """
        return "npz" if files[-1].name == EMBEDDINGS else fingerprint_in_use(root)

    def read(self, files: tuple[Path, ...], root: DataRoot) -> ClassData:
        given = files[-1] if files[-1].name == EMBEDDINGS else None
        corpus = self.corpus(files[:-1] if given else files, root)
        if absent := _absent(corpus):
            raise RequestError(f"{corpus.where} has no {absent}; get it again from {self.info.source}")
        if given is not None:
            from .stored import checked_embeddings

            x = checked_embeddings(given, corpus, self.class_of, root)
        else:
            x = encode(corpus.texts, root, self.info.key)
        if corpus.test is None:
            return ClassData(x=x, y=corpus.labels)
        return ClassData(
            x=x[~corpus.test],
            y=corpus.labels[~corpus.test],
            x_test=x[corpus.test],
            y_test=corpus.labels[corpus.test],
        )

    def fetch(self, root: DataRoot) -> None:
        if root.offline:
            raise RequestError(
                f"{self.info.key} is not downloaded with --offline; get it from {self.info.source} and put it in "
                f"{root.folders(self.info)[0]}"
            )
        self.download(root)


def _absent(corpus: Corpus) -> str:
    """What a corpus cannot do without and has none of; empty if nothing."""
    if not corpus.texts:
        return "document"
    if corpus.test is None or len(np.unique(corpus.test)) == 2:
        return ""
    return "document of the training part" if corpus.test.all() else "document of the test part"
