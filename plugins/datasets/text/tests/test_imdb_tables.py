"""IMDb reads from the hub's parquet files and the public table; whatever is wrong with one is one line."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from pyarrow import parquet
from refusals import refusal

from pubench_core.data.dataset import ClassData, DataRoot

Read = Callable[[str], ClassData]
Vectors = npt.NDArray[np.float32]

#: (part, class, text)
REVIEWS = [
    ("train", 0, "Dull.<br /><br />Very dull."),
    ("train", 0, 'He said "no", and\nleft.'),
    ("train", 1, "A café of wonders."),
    ("test", 0, "Not again."),
    ("test", 1, "Again, please."),
]
TEXTS = ["Dull.  Very dull.", 'He said "no", and\nleft.', "A café of wonders.", "Not again.", "Again, please."]


def write_table(path: Path, part: str) -> None:
    rows = [(text, label) for which, label, text in REVIEWS if which == part]
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.table({"text": [text for text, _ in rows], "label": [label for _, label in rows]}), path)


def as_parquet(folder: Path) -> None:
    for part in ("train", "test"):
        write_table(folder / f"{part}-00000-of-00001.parquet", part)
    (folder / "unsupervised-00000-of-00001.parquet").write_bytes(b"not even read")


def as_hub_parquet(folder: Path) -> None:
    as_parquet(folder / "plain_text")


def write_csv(
    path: Path, rows: Sequence[Sequence[str]] | None = None, head: Sequence[str] = ("review", "sentiment")
) -> None:
    sides = ("negative", "positive")
    with path.open("w", encoding="utf-8", newline="") as stream:
        table = csv.writer(stream)
        table.writerow(head)
        table.writerows([(text, sides[label]) for _, label, text in REVIEWS] if rows is None else rows)


@pytest.fixture
def folder(root: DataRoot) -> Path:
    found = root.path / "imdb"
    found.mkdir(parents=True)
    return found


@pytest.mark.usefixtures("encoded")
class TestForms:
    @pytest.mark.parametrize("write", [as_parquet, as_hub_parquet])
    def test_parquet_in_either_place(
        self,
        folder: Path,
        read: Read,
        as_vectors: Callable[[Sequence[str]], Vectors],
        write: Callable[[Path], None],
    ) -> None:
        write(folder)
        data = read("imdb")
        assert data.x_test is not None
        assert data.y_test is not None
        assert np.array_equal(data.x, as_vectors(TEXTS[:3]))
        assert np.array_equal(data.x_test, as_vectors(TEXTS[3:]))
        assert (data.y.tolist(), data.y_test.tolist()) == ([0, 0, 1], [0, 1])

    def test_a_table_without_a_split_has_no_test_part_which_is_said(
        self, folder: Path, read: Read, said: list[str], as_vectors: Callable[[Sequence[str]], Vectors]
    ) -> None:
        write_csv(folder / "IMDB Dataset.csv")
        data = read("imdb")
        assert np.array_equal(data.x, as_vectors(TEXTS))
        assert data.y.tolist() == [0, 0, 1, 0, 1]
        assert data.x_test is None
        assert data.y_test is None
        assert any("does not say which reviews are the test part" in line for line in said)

    def test_several_shards_are_one_part(self, folder: Path, read: Read, encoded: list[str]) -> None:
        as_parquet(folder)
        (folder / "train-00000-of-00001.parquet").rename(folder / "train-00000-of-00002.parquet")
        write_table(folder / "train-00001-of-00002.parquet", "test")
        assert len(read("imdb").x) == 5


def refused(read: Read) -> str:
    """The one line that reading ends with."""
    line = refusal(lambda: read("imdb"))
    assert "()" not in line  # a reason is given
    return line


class TestDamaged:
    """Each gives one line that names the file, what is wrong, and what to do; no encoder is needed before."""

    def test_a_table_that_cannot_be_read(self, folder: Path, read: Read) -> None:
        """A folder in its place stands for every way of not being readable, for every user."""
        (folder / "IMDB Dataset.csv").mkdir()
        assert refused(read).startswith(f"cannot read {folder / 'IMDB Dataset.csv'}: ")

    @pytest.mark.parametrize(
        "content", [b"", b"PAR1", b"<html>not found</html>", b"PAR1" + b"\xff" * 80 + b"PAR1"], ids=range(4)
    )
    def test_parquet_that_is_none(self, folder: Path, read: Read, content: bytes) -> None:
        as_parquet(folder)
        path = folder / "test-00000-of-00001.parquet"
        path.write_bytes(content)
        assert refused(read).startswith(f"{path} is damaged (")

    def test_parquet_cut_short_or_unreadable(self, folder: Path, read: Read) -> None:
        as_parquet(folder)
        path = folder / "train-00000-of-00001.parquet"
        path.write_bytes(path.read_bytes()[:-30])
        assert refused(read).startswith(f"{path} is damaged (")
        path.unlink()
        path.mkdir()
        assert refused(read).startswith(f"cannot read {path}: ")

    def test_parquet_with_other_columns_or_labels(self, folder: Path, read: Read) -> None:
        as_parquet(folder)
        path = folder / "train-00000-of-00001.parquet"
        parquet.write_table(pa.table({"text": ["a"], "stars": [1]}), path)
        assert refused(read).startswith(f"{path} has no column label")
        parquet.write_table(pa.table({"text": ["a", "b"], "label": [1, -1]}), path)
        assert refused(read).startswith(f"{path}: row 1 has label -1")
        parquet.write_table(pa.table({"text": ["a", None], "label": [1, 1]}), path)
        assert refused(read).startswith(f"{path}: row 1 has no text")

    def test_a_shard_that_is_missing(self, folder: Path, read: Read) -> None:
        as_parquet(folder)
        (folder / "train-00000-of-00001.parquet").rename(folder / "train-00000-of-00002.parquet")
        assert f"{folder} has 1 of the 2 files train-*" in refused(read)

    @pytest.mark.parametrize(
        ("rows", "words"),
        [
            ([("a", "negative"), ("b", "neutral")], "row 2 has 'neutral'"),
            ([("a", "negative", "more")], "row 1 has 3 cells"),
            ([], "has no document"),
        ],
    )
    def test_a_table_with_rows_that_are_not_reviews(
        self, folder: Path, read: Read, rows: list[tuple[str, ...]], words: str
    ) -> None:
        write_csv(folder / "IMDB Dataset.csv", rows)
        line = refused(read)
        assert line.startswith(str(folder / "IMDB Dataset.csv"))
        assert words in line

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            (b"", "has the columns ''"),
            (b"text,label\na,1\n", "has the columns 'text, label'"),
            (b'review,sentiment\n"cut in the mid', "is damaged (line 2: "),
            (b"review,sentiment\ncaf\xe9,positive\n", "is damaged ('utf-8'"),
        ],
    )
    def test_a_table_that_is_damaged(self, folder: Path, read: Read, content: bytes, words: str) -> None:
        (folder / "IMDB Dataset.csv").write_bytes(content)
        line = refused(read)
        assert line.startswith(str(folder / "IMDB Dataset.csv"))
        assert words in line
