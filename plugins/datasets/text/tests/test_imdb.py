"""IMDb reads the same from lines, folder and archive; whatever is wrong with one is one line."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from refusals import refusal

from pubench_core.data.dataset import ClassData, DataRoot

Read = Callable[[str], ClassData]
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
UNLABELED = {"train/unsup/0_0.txt": "Nobody knows.", "train/urls_neg.txt": "an address", "README": "read me"}


def lines(rows: Sequence[str] = LINES) -> bytes:
    return "".join(f"{row}\n" for row in rows).encode()


def as_jsonl(folder: Path) -> None:
    (folder / "imdb.jsonl").write_bytes(lines())


def as_jsonl_xz(folder: Path) -> None:
    (folder / "imdb.jsonl.xz").write_bytes(lzma.compress(lines()))


def as_jsonl_gz(folder: Path) -> None:
    (folder / "imdb.jsonl.gz").write_bytes(gzip.compress(lines()))


def as_contents(folder: Path) -> None:
    for name, text in [*UNLABELED.items(), *((name, text) for _, _, name, text in reversed(REVIEWS))]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def as_folder(folder: Path) -> None:
    as_contents(folder / "aclImdb")


def tar(members: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for place, content in members.items():
            member = tarfile.TarInfo(f"aclImdb/{place}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return stream.getvalue()


CONTENT = {name: text.encode() for _, _, name, text in reversed(REVIEWS)}


def as_archive(folder: Path) -> None:
    extra = {name: text.encode() for name, text in UNLABELED.items()}
    (folder / "aclImdb_v1.tar.gz").write_bytes(tar({**extra, **CONTENT}))


@pytest.fixture
def folder(root: DataRoot) -> Path:
    found = root.path / "imdb"
    found.mkdir(parents=True)
    return found


@pytest.mark.usefixtures("encoded")
class TestForms:
    @pytest.mark.parametrize(
        "write",
        [
            as_jsonl,
            as_jsonl_xz,
            as_jsonl_gz,
            as_folder,
            as_contents,
            as_archive,
        ],
    )
    def test_reviews_with_breaks_as_spaces(
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
        assert (data.x.dtype, data.x_test.dtype, data.y.dtype) == (np.float32, np.float32, np.int64)

    def test_an_empty_line_is_no_review(self, folder: Path, read: Read) -> None:
        (folder / "imdb.jsonl").write_bytes(lines() + b"\n")
        assert len(read("imdb").x) == 3


def refused(read: Read) -> str:
    """The one line that reading ends with."""
    line = refusal(lambda: read("imdb"))
    assert "()" not in line  # a reason is given
    return line


def test_what_is_missing_where_it_comes_from_and_where_it_was_sought(root: DataRoot, read: Read) -> None:
    line = refused(read)
    for words in (
        "imdb.jsonl.xz",
        "aclImdb_v1.tar.gz",
        "IMDB Dataset.csv",
        str(root.path / "imdb"),
        "stanfordnlp/imdb",
    ):
        assert words in line


#: File name and content, for every form that is one file.
FORMS: dict[str, bytes] = {
    "imdb.jsonl": lines(),
    "imdb.jsonl.xz": lzma.compress(lines()),
    "imdb.jsonl.gz": gzip.compress(lines()),
    "aclImdb_v1.tar.gz": tar(CONTENT),
}


class TestDamaged:
    """Each gives one line that names the file, what is wrong, and what to do; no encoder is needed before."""

    @pytest.mark.parametrize("name", FORMS)
    @pytest.mark.parametrize(
        "damage",
        [
            pytest.param(lambda content: content[: len(content) // 2 + 3], id="half"),
            pytest.param(lambda content: content[:20] + b"\xff" * 30 + content[50:], id="garbled"),
            pytest.param(lambda content: b"", id="empty"),
            pytest.param(lambda content: b"<html>not found</html>", id="a-web-page"),
        ],
    )
    def test_a_file_that_is_not_what_its_name_says(
        self, folder: Path, read: Read, name: str, damage: Callable[[bytes], bytes]
    ) -> None:
        (folder / name).write_bytes(damage(FORMS[name]))
        line = refused(read)
        assert line.startswith(str(folder / name))
        assert "get it again" in line

    @pytest.mark.parametrize("name", FORMS)
    def test_a_file_that_cannot_be_read(self, folder: Path, read: Read, name: str) -> None:
        """A folder in its place stands for every way of not being readable, for every user."""
        (folder / name).mkdir()
        assert refused(read).startswith(f"cannot read {folder / name}: ")

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"label": 2}, "label 2"),
            ({"label": True}, "label True"),
            ({"label": "pos"}, "label 'pos'"),
            ({"split": "unsup"}, "split 'unsup'"),
            ({"split": ["train"]}, "split ['train']"),
            ({"text": None}, "a text that is no string"),
        ],
    )
    def test_a_line_with_a_value_that_is_not_known(
        self, folder: Path, read: Read, change: dict[str, Any], words: str
    ) -> None:
        row = {**json.loads(LINES[1]), **change}
        (folder / "imdb.jsonl").write_bytes(lines([LINES[0], json.dumps(row)]))
        assert refused(read).startswith(f"{folder / 'imdb.jsonl'}: line 2 has {words}; ")

    @pytest.mark.parametrize(("row", "words"), [('{"label": 1, "text": "x"}', "no 'split'"), ("[1, 2]", "no object")])
    def test_a_line_of_another_shape(self, folder: Path, read: Read, row: str, words: str) -> None:
        (folder / "imdb.jsonl").write_bytes(lines([row]))
        assert f"line 1 has {words}" in refused(read)

    def test_a_line_that_is_not_json(self, folder: Path, read: Read) -> None:
        (folder / "imdb.jsonl").write_bytes(lines([*LINES, '{"label": 1, "te']))
        assert f"{folder / 'imdb.jsonl'}: line 6 is not JSON" in refused(read)

    def test_lines_of_one_part_only(self, folder: Path, read: Read) -> None:
        (folder / "imdb.jsonl").write_bytes(lines(LINES[:3]))
        assert refused(read).startswith(f"{folder / 'imdb.jsonl'} has no document of the test part")

    @pytest.mark.parametrize("place", ["../../train/neg/1_1.txt", "../train/neg/1_1.txt"])
    def test_a_member_outside_the_folder(self, folder: Path, read: Read, place: str) -> None:
        (folder / "aclImdb_v1.tar.gz").write_bytes(tar({**CONTENT, place: b"x"}))
        assert f"has a member 'aclImdb/{place}' that leads out" in refused(read)

    @pytest.mark.parametrize("in_folder", [False, True])
    def test_a_class_that_is_not_known(self, folder: Path, read: Read, in_folder: bool) -> None:
        if in_folder:
            as_folder(folder)
            (folder / "aclImdb" / "train" / "neutral").mkdir()
            (folder / "aclImdb" / "train" / "neutral" / "1_5.txt").write_text("x")
        else:
            (folder / "aclImdb_v1.tar.gz").write_bytes(tar({**CONTENT, "train/neutral/1_5.txt": b"x"}))
        line = refused(read)
        assert "has 'train/neutral/1_5.txt'; reviews lie in neg and pos" in line
        assert str(folder) in line

    def test_a_review_that_is_not_utf8(self, folder: Path, read: Read) -> None:
        as_folder(folder)
        (folder / "aclImdb" / "train" / "neg" / "2_3.txt").write_bytes(b"caf\xe9")
        assert f"train/neg/2_3.txt in {folder / 'aclImdb'} is damaged (not UTF-8" in refused(read)

    def test_a_review_that_cannot_be_opened(self, folder: Path, read: Read) -> None:
        as_folder(folder)
        (folder / "aclImdb" / "train" / "neg" / "2_3.txt").unlink()
        (folder / "aclImdb" / "train" / "neg" / "2_3.txt").symlink_to(folder / "nowhere")
        assert refused(read).startswith(f"cannot read {folder / 'aclImdb' / 'train' / 'neg' / '2_3.txt'}: ")

    def test_one_part_of_the_folder_without_the_other(self, folder: Path, read: Read) -> None:
        (folder / "aclImdb" / "train" / "neg").mkdir(parents=True)
        assert f"{folder / 'aclImdb'} lacks the folder test" in refused(read)
        (folder / "aclImdb" / "test").mkdir()
        assert "no review in them" in refused(read)
