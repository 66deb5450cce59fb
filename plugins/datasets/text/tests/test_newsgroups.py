"""20 Newsgroups reads the same from every form it is distributed in; whatever is wrong with one is one line."""

from __future__ import annotations

import gzip
import lzma
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from made_archives import tar, tar_gz

from pubench_core.data.dataset import ClassData, DataRoot

Read = Callable[[str], ClassData]
Refused = Callable[[str], str]
Vectors = npt.NDArray[np.float32]

#: In no order; numbers whose order as numbers is not that as texts; a byte that is not UTF-8.
POSTS = {
    "20news-bydate-test/rec.autos/9": b"a car",
    "20news-bydate-train/talk.politics.misc/7": b"an opinion",
    "20news-bydate-train/comp.graphics/900": b"a triangle",
    "20news-bydate-train/comp.graphics/1000": b"caf\xe9 au lait",
    "20news-bydate-test/comp.graphics/5": b"a sphere",
    "20news-bydate-train/alt.atheism/3": b"a doubt",
    "20news-bydate-test/sci.space/4": b"a moon",
}
TRAIN = ["a doubt", "café au lait", "a triangle", "an opinion"]
TEST = ["a sphere", "a car", "a moon"]


def as_gz(folder: Path, posts: dict[str, bytes] = POSTS) -> None:
    (folder / "20news-bydate.tar.gz").write_bytes(tar_gz(posts))


def as_xz(folder: Path) -> None:
    (folder / "20news-bydate.tar.xz").write_bytes(lzma.compress(tar(POSTS.items(), "./")))


def as_folders(folder: Path, posts: dict[str, bytes] = POSTS) -> None:
    for place, content in posts.items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_bytes(content)


@pytest.fixture
def folder(root: DataRoot) -> Path:
    found = root.path / "20news"
    found.mkdir(parents=True)
    return found


@pytest.mark.usefixtures("encoded")
class TestForms:
    @pytest.mark.parametrize("write", [as_gz, as_xz, as_folders])
    @pytest.mark.parametrize("name", ["20news", "20newsgroups"])
    def test_posts_by_part_group_and_text_of_the_number(
        self,
        root: DataRoot,
        read: Read,
        as_vectors: Callable[[Sequence[str]], Vectors],
        write: Callable[[Path], None],
        name: str,
    ) -> None:
        (root.path / name).mkdir(parents=True)
        write(root.path / name)
        data = read("20news")
        assert data.x_test is not None
        assert data.y_test is not None
        assert np.array_equal(data.x, as_vectors(TRAIN))
        assert np.array_equal(data.x_test, as_vectors(TEST))
        assert (data.y.tolist(), data.y_test.tolist()) == ([0, 1, 1, 6], [1, 3, 4])
        assert (data.x.dtype, data.x_test.dtype, data.y.dtype) == (np.float32, np.float32, np.int64)

    def test_hidden_files_and_other_members_are_no_posts(self, folder: Path, read: Read) -> None:
        extra = {"20news-bydate-train/alt.atheism/._3": b"a Mac was here", "README": b"read me"}
        as_gz(folder, POSTS | extra)
        assert len(read("20news").x) == len(TRAIN)
        (folder / "20news-bydate.tar.gz").unlink()
        as_folders(folder)
        (folder / "20news-bydate-train" / ".DS_Store").write_bytes(b"x")
        (folder / "20news-bydate-train" / "alt.atheism" / ".DS_Store").write_bytes(b"x")
        assert len(read("20news").x) == len(TRAIN)

    def test_a_member_that_comes_twice_is_the_later_one_as_on_unpacking(
        self, folder: Path, read: Read, encoded: list[str]
    ) -> None:
        twice = tar([("20news-bydate-train/alt.atheism/3", b"an older doubt"), *POSTS.items()])
        (folder / "20news-bydate.tar.gz").write_bytes(gzip.compress(twice))
        assert len(read("20news").x) == len(TRAIN)
        assert {"a doubt", "an older doubt"} & set(encoded) == {"a doubt"}


OTHER = "which is no post of 20 Newsgroups"


@pytest.mark.parametrize(
    ("write", "posts", "words"),
    [
        (as_gz, {}, "{}/20news-bydate.tar.gz has no document of any part"),
        *(
            (as_gz, {k: v for k, v in POSTS.items() if f"-{part}/" in k}, "has no document of the other part")
            for part in ("train", "test")
        ),
        (as_folders, {"20news-bydate-train/alt.atheism/3": b""}, "{} lacks the folder 20news-bydate-test"),
        *(
            (write, POSTS | {f"20news-bydate-train/{place}": b"x"}, f"20news-bydate-train/{place}', {OTHER}")
            for write, place in (
                (as_gz, "humanities.misc/1"),
                (as_folders, "humanities.misc/1"),
                (as_gz, "stray"),
                (as_gz, "alt.atheism/deeper/1"),
            )
        ),
    ],
)
def test_what_is_damaged_is_one_line(
    folder: Path,
    refused: Refused,
    write: Callable[[Path, dict[str, bytes]], None],
    posts: dict[str, bytes],
    words: str,
) -> None:
    """It names the file and what is wrong; no encoder is needed before."""
    write(folder, posts)
    line = refused("20news")
    assert words.format(folder) in line
    assert str(folder) in line
