"""IMDb: the Large Movie Review Dataset v1.0, in whichever of its public forms lies in ``<root>/imdb/``.

``imdb.jsonl`` (or ``.xz``, ``.gz``; one object per line: id, split, label, text), the folder ``aclImdb`` (or what is
in it), ``aclImdb_v1.tar.gz``, or the hub's ``train-*.parquet`` and ``test-*.parquet`` (text, label; also in
``plain_text/`` or ``data/``).
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath
from typing import NamedTuple

import numpy as np
from pubench_archives.archives import members, opened, reading, shards
from pubench_archives.downloads import fetch_into

from pubench_core.data.dataset import DataRoot
from pubench_core.errors import RequestError

from .model import hub
from .source import Corpus, TextSource, contents, documents, folders

JSONL = ("imdb.jsonl", "imdb.jsonl.xz", "imdb.jsonl.gz")
FOLDER, ARCHIVE = "aclImdb", "aclImdb_v1.tar.gz"
HUB = "stanfordnlp/imdb"
PARTS = ("train", "test")
UNLABELED = "unsup"
_SENTIMENT = {"neg": 0, "negative": 0, "pos": 1, "positive": 1}
#: The labels that are reviews; the hub writes -1 for those without one.
_LABELS = {0: 0, 1: 1}
_BREAK = re.compile("<br />")


class Review(NamedTuple):
    """``part``: index into PARTS. Its text has spaces instead of breaks."""

    part: int
    label: int
    text: str


class Imdb(TextSource):
    """Reviews with ``<br />`` replaced by a space, in the order of the file; from the folder and the archive in that of
    train/neg, train/pos, test/neg, test/pos, each by review number.
    """

    layouts = (JSONL[1], f"{FOLDER}/", ARCHIVE, "train-*.parquet with test-*.parquet")

    def texts_in(self, folder: Path) -> tuple[Path, ...]:
        for name in JSONL:
            if (folder / name).exists():
                return (folder / name,)
        for unpacked in (folder / FOLDER, folder):
            if any((unpacked / part).is_dir() for part in PARTS):
                return self._reviews_in(unpacked)
        if (folder / ARCHIVE).exists():
            return (folder / ARCHIVE,)
        for place in (folder, folder / "plain_text", folder / "data"):
            train, test = (shards(place, part) for part in PARTS)
            if train and test:
                return train + test
        return ()

    def corpus(self, files: tuple[Path, ...], root: DataRoot) -> Corpus:
        first = files[0]
        if first.name in JSONL:
            return _corpus(_json_lines(first), first)
        if first.suffix == ".parquet":
            return _corpus((review for path in files for review in _parquet(path)), first.parent)
        if first.name == ARCHIVE:
            found = ((name, content) for name, _, content in members(first, _is_review))
            return _corpus(_ordered(found, first), first)
        return _corpus(_ordered(contents(files), first.parents[2]), first.parents[2])

    def class_of(self, name: str) -> int:
        return _SENTIMENT[name]

    def fetch(self, root: DataRoot) -> None:
        """Downloads the hub's parquet files; 42 MB."""

        def download(scratch: Path) -> list[Path]:
            patterns = [f"plain_text/{part}-*.parquet" for part in PARTS]
            with hub() as library:
                library.snapshot_download(HUB, repo_type="dataset", allow_patterns=patterns, local_dir=str(scratch))
            if absent := [pattern for pattern in patterns if not any(scratch.glob(pattern))]:
                raise OSError(f"{HUB} on the hub no longer has {' and '.join(absent)}")
            return [path for pattern in patterns for path in scratch.glob(pattern)]

        fetch_into(root.folders(self.info)[0] / "plain_text", self.info, root, download)

    def _reviews_in(self, folder: Path) -> tuple[Path, ...]:
        found: list[Path] = []
        for part in PARTS:
            if not (folder / part).is_dir():
                raise RequestError(f"imdb: {folder} lacks the folder {part}; unpack the whole archive there")
            for side in folders(folder / part):
                if side.name != UNLABELED:
                    found += sorted(documents(side, ".txt"), key=lambda path: _number(path.name))
        if not found:
            raise RequestError(f"imdb: {folder} has {PARTS[0]} and {PARTS[1]}, and no review in them")
        return tuple(found)


def _corpus(reviews: Iterable[Review], where: Path) -> Corpus:
    found = list(reviews)
    return Corpus(
        texts=[review.text for review in found],
        labels=np.array([review.label for review in found], dtype=np.int64),
        test=np.array([review.part == 1 for review in found], dtype=bool),
        where=where,
    )


# -------------------------------------------------------------------- the folder and the archive


def _is_review(place: PurePath) -> bool:
    """Whether a member of the archive is a labeled review; what else is in it (counts, addresses) is left."""
    part, side, name = ("", "", "", *place.parts)[-3:]
    return part in PARTS and side != UNLABELED and name.endswith(".txt") and not name.startswith(".")


def _number(name: str) -> tuple[int, str]:
    """Reviews are called NUMBER_RATING.txt and sorted by number; other names come last."""
    digits = re.match(r"\d+", name)
    return (int(digits[0]) if digits else sys.maxsize, name)


def _ordered(found: Iterable[tuple[PurePath, bytes]], where: Path) -> list[Review]:
    reviews: dict[tuple[int, int, tuple[int, str]], Review] = {}
    for place, text in found:
        part, side, name = place.parts[-3:]
        if side not in ("neg", "pos"):
            raise RequestError(
                f"{where} has '{part}/{side}/{name}'; reviews lie in neg and pos (and {UNLABELED}, left out); get it "
                "again"
            )
        with reading(where / part / side / name):
            key = PARTS.index(part), _SENTIMENT[side], _number(name)
            # a member that is there again replaces the first
            reviews[key] = Review(key[0], key[1], _BREAK.sub(" ", text.decode("utf-8")))
    return [reviews[key] for key in sorted(reviews)]


# -------------------------------------------------------------------- tables


def _json_lines(path: Path) -> Iterator[Review]:
    with reading(path, LookupError, TypeError, RecursionError), opened(path) as stream:
        for row in (json.loads(line) for line in stream if line.strip()):
            yield Review(PARTS.index(row["split"]), _LABELS[row["label"]], _BREAK.sub(" ", row["text"]))


def _parquet(path: Path) -> Iterator[Review]:
    import pyarrow
    from pyarrow import parquet

    part = PARTS.index(path.name.partition("-")[0])
    with reading(path, pyarrow.ArrowException, LookupError, TypeError), path.open("rb") as stream:
        table = parquet.read_table(stream, columns=["text", "label"])
        for text, label in zip(table["text"].to_pylist(), table["label"].to_pylist(), strict=True):
            yield Review(part, _LABELS[label], _BREAK.sub(" ", text))
