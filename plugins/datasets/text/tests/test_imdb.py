"""IMDb reads the same from lines, folder, archive and the hub's parquet files; what is wrong with one is one line."""

from __future__ import annotations

import gzip
import json
import lzma
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from made_archives import tar_gz
from pyarrow import parquet

from pubench_core.data.dataset import ClassData, DataRoot

Read = Callable[[str], ClassData]
Refused = Callable[[str], str]
Vectors = npt.NDArray[np.float32]

#: In the order of the archive: by part, class and number of the review.
REVIEWS = [
    ("train", 0, "train/neg/2_3.txt", "Dull.<br /><br />Very dull."),
    ("train", 0, "train/neg/10_1.txt", 'He said "no", and\nleft.'),
    ("train", 1, "train/pos/0_9.txt", "A café of wonders."),
    ("test", 0, "test/neg/0_2.txt", "Not again."),
    ("test", 1, "test/pos/0_10.txt", "Again, please."),
]
TEXTS = ["Dull.  Very dull.", 'He said "no", and\nleft.', "A café of wonders.", "Not again.", "Again, please."]
LINES = [
    json.dumps({"id": name, "split": part, "label": label, "rating": 3, "text": text})
    for part, label, name, text in REVIEWS
]
CONTENT = {name: text.encode() for _, _, name, text in reversed(REVIEWS)}
UNLABELED = {"train/unsup/0_0.txt": b"Nobody knows.", "train/urls_neg.txt": b"an address", "README": b"read me"}


def lines(rows: Sequence[str] = LINES) -> bytes:
    return "".join(f"{row}\n" for row in rows).encode()


def write_folder(folder: Path) -> None:
    for name, content in (UNLABELED | CONTENT).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def write_parquet(path: Path, part: str) -> None:
    rows = [(text, label) for which, label, _, text in REVIEWS if which == part]
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.table({"text": [text for text, _ in rows], "label": [label for _, label in rows]}), path)


def write_shards(folder: Path) -> None:
    for part in ("train", "test"):
        write_parquet(folder / f"{part}-00000-of-00001.parquet", part)
    (folder / "unsupervised-00000-of-00001.parquet").write_bytes(b"not even read")


#: Each writes the whole set into a folder.
FORMS: dict[str, Callable[[Path], object]] = {
    "lines": lambda folder: (folder / "imdb.jsonl").write_bytes(lines() + b"\n"),
    "lines-xz": lambda folder: (folder / "imdb.jsonl.xz").write_bytes(lzma.compress(lines())),
    "lines-gz": lambda folder: (folder / "imdb.jsonl.gz").write_bytes(gzip.compress(lines())),
    "folder": lambda folder: write_folder(folder / "aclImdb"),
    "contents": write_folder,
    "archive": lambda folder: (folder / "aclImdb_v1.tar.gz").write_bytes(tar_gz(UNLABELED | CONTENT, "aclImdb/")),
    "parquet": write_shards,
    "hub-parquet": lambda folder: write_shards(folder / "plain_text"),
}


@pytest.fixture
def folder(root: DataRoot) -> Path:
    found = root.path / "imdb"
    found.mkdir(parents=True)
    return found


@pytest.mark.usefixtures("encoded")
class TestForms:
    @pytest.mark.parametrize("form", FORMS)
    def test_reviews_with_breaks_as_spaces(
        self, folder: Path, read: Read, as_vectors: Callable[[Sequence[str]], Vectors], form: str
    ) -> None:
        FORMS[form](folder)
        data = read("imdb")
        assert data.x_test is not None
        assert data.y_test is not None
        assert np.array_equal(data.x, as_vectors(TEXTS[:3]))
        assert np.array_equal(data.x_test, as_vectors(TEXTS[3:]))
        assert (data.y.tolist(), data.y_test.tolist()) == ([0, 0, 1], [0, 1])
        assert (data.x.dtype, data.x_test.dtype, data.y.dtype) == (np.float32, np.float32, np.int64)

    def test_several_shards_are_one_part(self, folder: Path, read: Read) -> None:
        write_shards(folder)
        (folder / "train-00000-of-00001.parquet").rename(folder / "train-00000-of-00002.parquet")
        write_parquet(folder / "train-00001-of-00002.parquet", "test")
        assert len(read("imdb").x) == 5


def lines_of(*rows: object) -> Callable[[Path], object]:
    """Writes these reviews as lines."""
    written = lines([row if isinstance(row, str) else json.dumps(row) for row in rows])
    return lambda folder: (folder / "imdb.jsonl").write_bytes(written)


def shard_of(table: dict[str, list[Any]]) -> Callable[[Path], object]:
    """Writes parquet files, of which the one of the training part is this."""

    def write(folder: Path) -> None:
        write_shards(folder)
        parquet.write_table(pa.table(table), folder / "train-00000-of-00001.parquet")

    return write


def review(content: bytes | None) -> Callable[[Path], object]:
    """Writes a folder, of which one review is this, or a link to nothing."""

    def write(folder: Path) -> None:
        write_folder(folder / "aclImdb")
        path = folder / "aclImdb" / "train" / "neg" / "2_3.txt"
        path.unlink()
        path.symlink_to(folder / "nowhere") if content is None else path.write_bytes(content)

    return write


def missing_shard(folder: Path) -> None:
    write_shards(folder)
    (folder / "train-00000-of-00001.parquet").rename(folder / "train-00000-of-00002.parquet")


ARCHIVE = "aclImdb_v1.tar.gz"
OTHERS: list[object] = [
    *({**json.loads(LINES[1]), **change} for change in ({"label": 2}, {"split": "unsup"}, {"text": None})),
    {"label": 1, "text": "x"},
    [1, 2],
]


@pytest.mark.parametrize(
    ("write", "words"),
    [
        (lambda folder: (folder / "imdb.jsonl.xz").write_bytes(lzma.compress(lines())[:-4]), "{}/imdb.jsonl.xz is dam"),
        *((lines_of(LINES[0], row), "{}/imdb.jsonl is damaged (") for row in OTHERS),
        (lines_of('{"label": 1, "te'), "{}/imdb.jsonl is damaged (Invalid control character"),
        (lines_of(*LINES[:3]), "{}/imdb.jsonl has no document of the other part"),
        (
            lambda folder: (folder / ARCHIVE).write_bytes(
                tar_gz({**CONTENT, "train/neutral/1_5.txt": b"x"}, "aclImdb/")
            ),
            f"{{}}/{ARCHIVE} has 'train/neutral/1_5.txt'; reviews lie in neg and pos",
        ),
        (review(b"caf\xe9"), "{}/aclImdb/train/neg/2_3.txt is damaged ('utf-8' codec"),
        (review(None), "cannot read {}/aclImdb/train/neg/2_3.txt: "),
        (lambda folder: (folder / "aclImdb" / "train" / "neg").mkdir(parents=True), "{}/aclImdb lacks the folder test"),
        *(
            (shard_of(table), "{}/train-00000-of-00001.parquet is damaged (")
            for table in (
                {"text": ["a"], "stars": [1]},
                {"text": ["a", "b"], "label": [1, -1]},
                {"text": [None], "label": [1]},
            )
        ),
        (missing_shard, "{} has 1 of the 2 files train-*"),
    ],
)
def test_what_is_damaged_is_one_line(
    folder: Path, refused: Refused, write: Callable[[Path], object], words: str
) -> None:
    """It names the file and what is wrong; no encoder is needed before."""
    write(folder)
    assert words.format(folder) in refused("imdb")
