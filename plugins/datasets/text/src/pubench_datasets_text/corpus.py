"""The documents of a text data set, as its files hold them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt


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

    def lacking(self) -> str:
        """Missing part of a corpus, in words; empty if it is complete."""
        if not self.texts:
            return "document"
        if self.test is None or len(np.unique(self.test)) == 2:
            return ""
        return "document of the training part" if self.test.all() else "document of the test part"
