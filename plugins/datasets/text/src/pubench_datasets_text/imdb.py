"""IMDb: the Large Movie Review Dataset v1.0, in whichever of its public forms lies in ``<root>/imdb/``.

``imdb.jsonl`` (or ``.xz``, ``.gz``; one object per line: id, split, label, text), the folder ``aclImdb`` (or what is
in it), ``aclImdb_v1.tar.gz``, the hub's ``train-*.parquet`` and ``test-*.parquet`` (text, label; also in
``plain_text/`` or ``data/``), or ``IMDB Dataset.csv`` (review, sentiment), which does not say which reviews are the
test part.
"""

from __future__ import annotations

import csv
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
from pubench_archives.archives import members, one_line, opened

from pubench_core.data.dataset import DataRoot
from pubench_core.errors import RequestError

from .corpus import Corpus
from .files import content_of, documents, folders, reading
from .model import hub, network_errors
from .source import TextSource

JSONL = ("imdb.jsonl", "imdb.jsonl.xz", "imdb.jsonl.gz")
FOLDER, ARCHIVE, CSV = "aclImdb", "aclImdb_v1.tar.gz", "IMDB Dataset.csv"
HUB = "stanfordnlp/imdb"
PARTS = ("train", "test")
UNLABELED = "unsup"


_SENTIMENT = {"neg": 0, "negative": 0, "pos": 1, "positive": 1}
_SHARDS = re.compile(r"-of-(\d+)\.parquet$")


class Review(NamedTuple):
    """``part``: index into PARTS, None where not known. ``name``: as in the folder, ``train/pos/0_9.txt``, or empty."""

    part: int | None
    label: int
    name: str
    text: str


class Imdb(TextSource):
    """Reviews with ``<br />`` replaced by a space, in the order of the file; from the folder and the archive in that of
    train/neg, train/pos, test/neg, test/pos, each by review number.
    """

    layouts = (JSONL[1], f"{FOLDER}/", ARCHIVE, "train-*.parquet with test-*.parquet", CSV)

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
                for shards in (train, test):
                    _all_shards(shards)
                return train + test
        return (folder / CSV,) if (folder / CSV).exists() else ()

    def corpus(self, files: tuple[Path, ...], root: DataRoot) -> Corpus:
        first = files[0]
        if first.name in JSONL:
            return _corpus(_json_lines(first), first)
        if first.name == CSV:
            root.say(
                f"{first.name} does not say which reviews are the test part of the Large Movie Review Dataset: a test "
                "part is drawn, and results are not those of the published split"
            )
            return _corpus(_table(first), first)
        if first.suffix == ".parquet":
            return _corpus((review for path in files for review in _parquet(path)), first.parent)
        if first.name == ARCHIVE:
            found = ((name, content) for name, _, content in members(first, _is_review))
            return _corpus(_ordered(found, first), first)
        return _corpus(_ordered(((path, content_of(path)) for path in files), first.parents[2]), first.parents[2])

    def class_of(self, name: str) -> int:
        return _SENTIMENT[name]

    def download(self, root: DataRoot) -> None:
        target = root.folders(self.info)[0] / "plain_text"
        patterns = [f"plain_text/{part}-*.parquet" for part in PARTS]
        try:
            target.mkdir(parents=True, exist_ok=True)
            with TemporaryDirectory(prefix=".incoming-", dir=target.parent) as aside, hub() as library:
                root.say(f"imdb: downloading {HUB} from the Hugging Face hub to {target}")
                library.snapshot_download(HUB, repo_type="dataset", allow_patterns=patterns, local_dir=aside)
                complete = sorted(Path(aside, "plain_text").glob("*.parquet"))
                for part in PARTS:
                    if not any(path.name.startswith(f"{part}-") for path in complete):
                        raise RequestError(
                            f"imdb: {HUB} on the hub no longer has plain_text/{part}-*.parquet; get {ARCHIVE} from its "
                            f"authors and put it in {target.parent}"
                        )
                for path in complete:
                    os.replace(path, target / path.name)
        except network_errors() as error:
            raise RequestError(
                f"imdb could not be downloaded to {target}: {one_line(error)}; try again, or get it by other means "
                f"({self.info.source}) and put it in {target.parent}"
            ) from error

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
    split = [review.part for review in found]
    return Corpus(
        texts=[review.text.replace("<br />", " ") for review in found],
        labels=np.array([review.label for review in found], dtype=np.int64),
        test=None if None in split else np.array([part == 1 for part in split], dtype=bool),
        names=[review.name for review in found] if all(review.name for review in found) else None,
        where=where,
    )


# -------------------------------------------------------------------- the folder and the archive


def _is_review(place: PurePath) -> bool:
    """Whether a member of the archive is a labeled review; what else is in it (counts, addresses) is left."""
    return (
        len(place.parts) >= 3
        and place.parts[-3] in PARTS
        and place.parts[-2] != UNLABELED
        and place.suffix == ".txt"
        and not place.name.startswith(".")
    )


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
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise RequestError(f"{name} in {where} is damaged (not UTF-8: {error.reason}); get it again") from error
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
            wrong = _wrong_row(row)
            if wrong:
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


def _table(path: Path) -> Iterator[Review]:
    with reading(path), opened(path) as stream:
        rows = csv.reader(_texts(stream), strict=True)
        try:
            head = next(rows, [])
            if sorted(head) != ["review", "sentiment"]:
                raise RequestError(f"{path} has the columns {', '.join(head)!r}; expected review and sentiment")
            review, sentiment = head.index("review"), head.index("sentiment")
            for number, row in enumerate(rows, start=1):
                if len(row) != 2 or row[sentiment] not in ("negative", "positive"):
                    said = repr(row[sentiment][:40]) if len(row) == 2 else f"{len(row)} cells"
                    raise RequestError(f"{path}: row {number} has {said}; expected a review and negative or positive")
                yield Review(None, _SENTIMENT[row[sentiment]], "", row[review])
        except csv.Error as error:
            raise RequestError(f"{path} is damaged (line {rows.line_num}: {one_line(error)}); get it again") from error


def _texts(found: Iterable[bytes]) -> Iterator[str]:
    """Lines as text; the first may begin with the mark of UTF-8."""
    for number, line in enumerate(found):
        yield line.decode("utf-8" if number else "utf-8-sig")


def _parquet(path: Path) -> Iterator[Review]:
    import pyarrow
    from pyarrow import parquet

    columns = ["text", "label"]
    with reading(path), path.open("rb") as stream:
        try:
            file = parquet.ParquetFile(stream)
            if absent := [name for name in columns if name not in file.schema_arrow.names]:
                raise RequestError(f"{path} has no column {' and '.join(absent)}; expected text and label")
            table = file.read(columns)
        except pyarrow.ArrowException as error:
            raise RequestError(f"{path} is damaged ({one_line(error)}); get it again") from error
    part = PARTS.index(path.name.partition("-")[0])
    for number, (text, label) in enumerate(zip(table["text"].to_pylist(), table["label"].to_pylist(), strict=True)):
        if not isinstance(text, str) or label not in (0, 1):
            said = f"label {label!r}" if isinstance(text, str) else "no text"
            raise RequestError(
                f"{path}: row {number} has {said}; expected a text and label 0 (negative) or 1 (positive)"
            )
        yield Review(part, int(label), "", text)


def _all_shards(shards: tuple[Path, ...]) -> None:
    """Raises RequestError if files are missing of the number that their names give (``-00000-of-00002``)."""
    said = _SHARDS.search(shards[0].name)
    if said and int(said[1]) != len(shards):
        raise RequestError(
            f"imdb: {shards[0].parent} has {len(shards)} of the {int(said[1])} files {shards[0].name.split('-')[0]}-*"
            ".parquet; get the others too"
        )
