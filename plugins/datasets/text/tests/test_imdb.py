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


def test_what_is_missing_where_it_comes_from_and_where_it_was_sought(root: DataRoot, refused: Refused) -> None:
    line = refused("imdb")
    for words in ("imdb.jsonl.xz", "aclImdb_v1.tar.gz", str(root.path / "imdb"), "stanfordnlp/imdb"):
        assert words in line


class TestDamaged:
    """Each gives one line that names the file, what is wrong, and what to do; no encoder is needed before."""

    @pytest.mark.parametrize(
        ("name", "content"),
        [
            ("imdb.jsonl.xz", lzma.compress(lines())[:-4]),
            ("aclImdb_v1.tar.gz", tar_gz(CONTENT, "aclImdb/")[:-4]),
        ],
    )
    def test_a_file_that_is_cut_short_or_not_text(
        self, folder: Path, refused: Refused, name: str, content: bytes
    ) -> None:
        (folder / name).write_bytes(content)
        line = refused("imdb")
        assert line.startswith(f"{folder / name} is damaged (")
        assert line.endswith("get it again")

    @pytest.mark.parametrize(
        "row",
        [
            *({**json.loads(LINES[1]), **change} for change in ({"label": 2}, {"split": "unsup"}, {"text": None})),
            {"label": 1, "text": "x"},
            [1, 2],
        ],
    )
    def test_a_line_that_is_no_review(self, folder: Path, refused: Refused, row: object) -> None:
        (folder / "imdb.jsonl").write_bytes(lines([LINES[0], json.dumps(row)]))
        assert refused("imdb").startswith(f"{folder / 'imdb.jsonl'} is damaged (")

    def test_a_line_that_is_no_json(self, folder: Path, refused: Refused) -> None:
        (folder / "imdb.jsonl").write_bytes(lines(['{"label": 1, "te']))
        assert refused("imdb").startswith(f"{folder / 'imdb.jsonl'} is damaged (Invalid control character")

    def test_lines_of_one_part_only(self, folder: Path, refused: Refused) -> None:
        (folder / "imdb.jsonl").write_bytes(lines(LINES[:3]))
        assert refused("imdb").startswith(f"{folder / 'imdb.jsonl'} has no document of the other part")

    def test_a_class_that_is_not_known(self, folder: Path, refused: Refused) -> None:
        (folder / "aclImdb_v1.tar.gz").write_bytes(tar_gz({**CONTENT, "train/neutral/1_5.txt": b"x"}, "aclImdb/"))
        line = refused("imdb")
        assert line.startswith(
            f"{folder / 'aclImdb_v1.tar.gz'} has 'train/neutral/1_5.txt'; reviews lie in neg and pos"
        )

    def test_a_review_that_is_not_utf8_or_cannot_be_opened(self, folder: Path, refused: Refused) -> None:
        write_folder(folder / "aclImdb")
        path = folder / "aclImdb" / "train" / "neg" / "2_3.txt"
        path.write_bytes(b"caf\xe9")
        assert refused("imdb").startswith(f"{path} is damaged ('utf-8' codec")
        path.unlink()
        path.symlink_to(folder / "nowhere")
        assert refused("imdb").startswith(f"cannot read {path}: ")

    def test_one_part_of_the_folder_without_the_other(self, folder: Path, refused: Refused) -> None:
        (folder / "aclImdb" / "train" / "neg").mkdir(parents=True)
        assert f"{folder / 'aclImdb'} lacks the folder test" in refused("imdb")
        (folder / "aclImdb" / "test").mkdir()
        assert "no review in them" in refused("imdb")

    @pytest.mark.parametrize("content", [b"", b"PAR1" + b"\xff" * 80 + b"PAR1"])
    def test_parquet_that_is_none(self, folder: Path, refused: Refused, content: bytes) -> None:
        write_shards(folder)
        path = folder / "test-00000-of-00001.parquet"
        path.write_bytes(content)
        assert refused("imdb").startswith(f"{path} is damaged (")

    @pytest.mark.parametrize(
        "table", [{"text": ["a"], "stars": [1]}, {"text": ["a", "b"], "label": [1, -1]}, {"text": [None], "label": [1]}]
    )
    def test_parquet_with_other_columns_or_labels(
        self, folder: Path, refused: Refused, table: dict[str, list[Any]]
    ) -> None:
        write_shards(folder)
        path = folder / "train-00000-of-00001.parquet"
        parquet.write_table(pa.table(table), path)
        assert refused("imdb").startswith(f"{path} is damaged (")

    def test_a_shard_that_is_missing(self, folder: Path, refused: Refused) -> None:
        write_shards(folder)
        (folder / "train-00000-of-00001.parquet").rename(folder / "train-00000-of-00002.parquet")
        assert f"{folder} has 1 of the 2 files train-*" in refused("imdb")
