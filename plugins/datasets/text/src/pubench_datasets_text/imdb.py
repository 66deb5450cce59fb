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
from pubench_archives.archives import members, one_line, opened, reading
from pubench_archives.downloads import fetch_into

from pubench_core.data.dataset import DataRoot
from pubench_core.errors import RequestError

from .corpus import Corpus, content_of, documents, folders
from .model import hub
from .source import TextSource

JSONL = ("imdb.jsonl", "imdb.jsonl.xz", "imdb.jsonl.gz")
FOLDER, ARCHIVE = "aclImdb", "aclImdb_v1.tar.gz"
HUB = "stanfordnlp/imdb"
PARTS = ("train", "test")
UNLABELED = "unsup"


_SENTIMENT = {"neg": 0, "negative": 0, "pos": 1, "positive": 1}
_SHARDS = re.compile(r"-of-(\d+)\.parquet$")


class Review(NamedTuple):
    """``part``: index into PARTS. ``name``: as in the folder, ``train/pos/0_9.txt``, or empty."""

    part: int
    label: int
    name: str
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
            train, test = (tuple(sorted(place.glob(f"{part}-*.parquet"))) for part in PARTS)
            if train and test:
                for first, *others in (train, test):
                    said = _SHARDS.search(first.name)  # of how many
                    if said and int(said[1]) != 1 + len(others):
                        raise RequestError(
                            f"imdb: {place} has {1 + len(others)} of the {int(said[1])} files "
                            f"{first.name.split('-')[0]}-*.parquet; get the others too"
                        )
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
        return _corpus(_ordered(((path, content_of(path)) for path in files), first.parents[2]), first.parents[2])

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
        texts=[review.text.replace("<br />", " ") for review in found],
        labels=np.array([review.label for review in found], dtype=np.int64),
        test=np.array([review.part == 1 for review in found], dtype=bool),
        names=[review.name for review in found] if all(review.name for review in found) else None,
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
    for place, content in found:
        part, side, file_name = place.parts[-3:]
        name = f"{part}/{side}/{file_name}"
        if side not in ("neg", "pos"):
            raise RequestError(
                f"{where} has '{name}'; reviews lie in neg and pos (and {UNLABELED}, left out); get it again"
            )
        with reading(where / name):
            text = content.decode("utf-8")
        label = _SENTIMENT[side]
        key = PARTS.index(part), label, _number(file_name)
        reviews[key] = Review(key[0], label, name, text)  # a member that is there again replaces the first
    return [reviews[key] for key in sorted(reviews)]


# -------------------------------------------------------------------- tables


def _json_lines(path: Path) -> Iterator[Review]:
    with reading(path), opened(path) as stream:
        for number, line in enumerate(stream, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise RequestError(f"{path}: line {number} is not JSON ({one_line(error)}); get it again") from error
            if wrong := _wrong_row(row):
                raise RequestError(
                    f"{path}: line {number} has {wrong}; expected an object with split (train, test), label (0 "
                    "negative, 1 positive) and text"
                )
            yield Review(PARTS.index(row["split"]), row["label"], str(row.get("id", "")), row["text"])


def _wrong_row(row: object) -> str:
    if not isinstance(row, dict):
        return "no object"
    for field in ("split", "label", "text"):
        if field not in row:
            return f"no '{field}'"
    if row["split"] not in PARTS:
        return f"split {row['split']!r}"
    if type(row["label"]) is not int or row["label"] not in (0, 1):
        return f"label {row['label']!r}"
    return "" if isinstance(row["text"], str) else "a text that is no string"


def _parquet(path: Path) -> Iterator[Review]:
    import pyarrow
    from pyarrow import parquet

    columns = ["text", "label"]
    with reading(path, pyarrow.ArrowException), path.open("rb") as stream, parquet.ParquetFile(stream) as file:
        if absent := [name for name in columns if name not in file.schema_arrow.names]:
            raise RequestError(f"{path} has no column {' and '.join(absent)}; expected text and label")
        table = file.read(columns)
    part = PARTS.index(path.name.partition("-")[0])
    for number, (text, label) in enumerate(zip(table["text"].to_pylist(), table["label"].to_pylist(), strict=True)):
        if not isinstance(text, str) or label not in (0, 1):
            said = f"label {label!r}" if isinstance(text, str) else "no text"
            raise RequestError(
                f"{path}: row {number} has {said}; expected a text and label 0 (negative) or 1 (positive)"
            )
        yield Review(part, int(label), "", text)
