"""The documents of a text data set, and the files and folders that hold them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from pubench_archives.archives import reading


@dataclass(frozen=True)
class Corpus:
    """``texts``: n documents, as the encoder gets them. ``labels``: (n,) class indices, int64.

    ``test``: (n,) True for the test part. ``names``: what each document is called in its files; None where they have no
    names. ``where``: the file or folder they came from, for messages.
    """

    texts: list[str]
    labels: npt.NDArray[np.int64]
    test: npt.NDArray[np.bool_]
    names: list[str] | None
    where: Path

    def lacking(self) -> str:
        """Missing part of a corpus, in words; empty if it is complete."""
        if not self.texts:
            return "document"
        if len(np.unique(self.test)) == 2:
            return ""
        return "document of the training part" if self.test.all() else "document of the test part"


def content_of(path: Path) -> bytes:
    """All bytes of one document. Raises RequestError if it cannot be read."""
    with reading(path):
        return path.read_bytes()


def documents(folder: Path, ending: str = "") -> Iterator[Path]:
    """Visible files of one folder whose names have the ending, in no order. Fast: no file is opened."""
    with reading(folder), os.scandir(folder) as found:
        for entry in found:
            if entry.name.endswith(ending) and not entry.name.startswith(".") and not entry.is_dir():
                yield folder / entry.name


def folders(folder: Path) -> list[Path]:
    """Visible folders in a folder, by name."""
    with reading(folder), os.scandir(folder) as found:
        return sorted(folder / entry.name for entry in found if entry.is_dir() and not entry.name.startswith("."))
