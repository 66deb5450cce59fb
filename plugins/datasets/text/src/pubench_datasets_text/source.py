"""Base of the text data sets: documents are found, read, and become one sentence embedding each."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path

from pubench_core.data.dataset import ClassData, DataRoot
from pubench_core.data.source import DataSource
from pubench_core.errors import RequestError

from .corpus import Corpus
from .encoder import encode
from .model import fingerprint_in_use
from .stored import checked_embeddings

#: Embeddings of all documents next to the texts: taken instead of encoding, once they have been checked.
EMBEDDINGS = "minilm_l6_v2.npz"


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
        """Index of the class that a name in the files means. Raises KeyError if it means none."""

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
        if lacking := corpus.lacking():
            raise RequestError(f"{corpus.where} has no {lacking}; get it again from {self.info.source}")
        if given is not None:
            x = checked_embeddings(given, corpus, self.class_of, root)
        else:
            x = encode(corpus.texts, root, self.info.key)
        return ClassData(
            x=x[~corpus.test],
            y=corpus.labels[~corpus.test],
            x_test=x[corpus.test],
            y_test=corpus.labels[corpus.test],
        )
