"""20 Newsgroups reads the same from every form it is distributed in; whatever is wrong with one is one line."""

from __future__ import annotations

import gzip
import io
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
from pubench_core.errors import RequestError

Read = Callable[[str], ClassData]
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


def tar(posts: dict[str, bytes], *, prefix: str = "", before: Sequence[tuple[str, bytes]] = ()) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for place, content in (*before, *posts.items()):
            member = tarfile.TarInfo(prefix + place)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return stream.getvalue()


def as_gz(folder: Path) -> None:
    (folder / "20news-bydate.tar.gz").write_bytes(gzip.compress(tar(POSTS)))


def as_xz(folder: Path) -> None:
    (folder / "20news-bydate.tar.xz").write_bytes(lzma.compress(tar(POSTS, prefix="./")))


def as_folders(folder: Path) -> None:
    for place, content in POSTS.items():
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
        (folder / "20news-bydate.tar.gz").write_bytes(gzip.compress(tar({**POSTS, **extra})))
        assert len(read("20news").x) == len(TRAIN)
        (folder / "20news-bydate.tar.gz").unlink()
        as_folders(folder)
        (folder / "20news-bydate-train" / ".DS_Store").write_bytes(b"x")
        (folder / "20news-bydate-train" / "alt.atheism" / ".DS_Store").write_bytes(b"x")
        assert len(read("20news").x) == len(TRAIN)

    def test_a_member_that_comes_twice_is_the_later_one_as_on_unpacking(
        self, folder: Path, read: Read, encoded: list[str]
    ) -> None:
        twice = tar(POSTS, before=[("20news-bydate-train/alt.atheism/3", b"an older doubt")])
        (folder / "20news-bydate.tar.gz").write_bytes(gzip.compress(twice))
        assert len(read("20news").x) == len(TRAIN)
        assert "a doubt" in encoded
        assert "an older doubt" not in encoded

    def test_a_link_in_an_archive_is_not_followed(self, folder: Path, tmp_path: Path, read: Read) -> None:
        (tmp_path / "secret").write_bytes(b"secret")
        stream = io.BytesIO(tar(POSTS))
        with tarfile.open(fileobj=stream, mode="a") as archive:
            member = tarfile.TarInfo("20news-bydate-train/alt.atheism/4")
            member.type, member.linkname = tarfile.SYMTYPE, str(tmp_path / "secret")
            archive.addfile(member)
        (folder / "20news-bydate.tar.gz").write_bytes(gzip.compress(stream.getvalue()))
        assert len(read("20news").x) == len(TRAIN)

    def test_the_folder_is_left_as_it_was(self, folder: Path, read: Read) -> None:
        as_gz(folder)
        read("20news")
        assert [path.name for path in folder.iterdir()] == ["20news-bydate.tar.gz"]


def test_what_is_missing_where_it_comes_from_and_where_it_was_sought(root: DataRoot, read: Read) -> None:
    with pytest.raises(RequestError) as caught:
        read("20news")
    for words in (
        "20news-bydate.tar.gz",
        "20news-bydate.tar.xz",
        str(root.path / "20newsgroups"),
        "fetch_20newsgroups",
    ):
        assert words in str(caught.value)


def refused(read: Read) -> str:
    """The one line that reading ends with."""
    line = refusal(lambda: read("20news"))
    assert "()" not in line  # a reason is given
    return line


class TestDamaged:
    """Each gives one line that names the file, what is wrong, and what to do; no encoder is needed before."""

    @pytest.mark.parametrize(("suffix", "pack"), [("gz", gzip.compress), ("xz", lzma.compress)])
    @pytest.mark.parametrize(
        "damage",
        [
            pytest.param(lambda packed: packed[: len(packed) // 2], id="half"),
            pytest.param(lambda packed: packed[:-4], id="without-its-end"),
            pytest.param(lambda packed: packed[:40] + b"\xff" * 60 + packed[100:], id="garbled"),
            pytest.param(lambda packed: b"", id="empty"),
            pytest.param(lambda packed: b"<html>not found</html>", id="a-web-page"),
        ],
    )
    def test_an_archive_that_cannot_be_unpacked(
        self, folder: Path, read: Read, suffix: str, pack: Callable[[bytes], bytes], damage: Callable[[bytes], bytes]
    ) -> None:
        path = folder / f"20news-bydate.tar.{suffix}"
        path.write_bytes(damage(pack(tar(POSTS))))
        line = refused(read)
        assert line.startswith(f"{path} is damaged (")
        assert line.endswith("get it again")

    def test_a_packed_file_that_is_no_archive(self, folder: Path, read: Read) -> None:
        (folder / "20news-bydate.tar.gz").write_bytes(gzip.compress(b"plain text, no tar archive at all" * 100))
        assert refused(read).startswith(f"{folder / '20news-bydate.tar.gz'} is damaged (")

    def test_an_archive_whose_middle_is_not_an_archive(self, folder: Path, read: Read) -> None:
        """Tarfile takes a header that it cannot read for the end of the archive."""
        posts = {f"20news-bydate-train/alt.atheism/{n}": b"x" * 400 for n in range(100)}
        content = tar({**POSTS, **posts})
        (folder / "20news-bydate.tar.gz").write_bytes(gzip.compress(content[:10240] + b"?" * 10240 + content[20480:]))
        assert "is damaged" in refused(read)

    def test_an_archive_without_a_post(self, folder: Path, read: Read) -> None:
        (folder / "20news-bydate.tar.gz").write_bytes(gzip.compress(tar({})))
        assert refused(read).startswith(f"{folder / '20news-bydate.tar.gz'} has no document")

    @pytest.mark.parametrize(("kept", "absent"), [("train", "test"), ("test", "training")])
    def test_an_archive_without_one_of_its_parts(self, folder: Path, read: Read, kept: str, absent: str) -> None:
        posts = {place: content for place, content in POSTS.items() if f"-{kept}/" in place}
        (folder / "20news-bydate.tar.gz").write_bytes(gzip.compress(tar(posts)))
        assert f"has no document of the {absent} part" in refused(read)

    @pytest.mark.parametrize("place", ["../20news-bydate-train/alt.atheism/1", "/20news-bydate-train/alt.atheism/1"])
    def test_a_member_outside_the_folder(self, folder: Path, read: Read, place: str) -> None:
        (folder / "20news-bydate.tar.gz").write_bytes(gzip.compress(tar({**POSTS, place: b"x"})))
        line = refused(read)
        assert line.startswith(f"{folder / '20news-bydate.tar.gz'} has a member '{place}' that leads out")
        assert not list(folder.parent.parent.rglob("alt.atheism"))

    @pytest.mark.parametrize("in_folders", [False, True])
    def test_a_group_that_is_none_of_the_twenty(self, folder: Path, read: Read, in_folders: bool) -> None:
        place = "20news-bydate-train/humanities.misc/1"
        if in_folders:
            as_folders(folder)
            (folder / place).parent.mkdir()
            (folder / place).write_bytes(b"x")
        else:
            (folder / "20news-bydate.tar.gz").write_bytes(gzip.compress(tar({**POSTS, place: b"x"})))
        line = refused(read)
        assert "has a group 'humanities.misc'" in line
        assert str(folder) in line
        assert "alt, comp, misc, rec, sci, soc, talk" in line

    @pytest.mark.parametrize("place", ["20news-bydate-train/stray", "20news-bydate-train/alt.atheism/deeper/1"])
    def test_a_file_where_no_post_is(self, folder: Path, read: Read, place: str) -> None:
        (folder / "20news-bydate.tar.gz").write_bytes(gzip.compress(tar({**POSTS, place: b"x"})))
        assert f"has '{place}'; posts lie in" in refused(read)

    @pytest.mark.parametrize("suffix", ["gz", "xz"])
    def test_an_archive_that_cannot_be_read(self, folder: Path, read: Read, suffix: str) -> None:
        """A folder in its place stands for every way of not being readable, for every user."""
        (folder / f"20news-bydate.tar.{suffix}").mkdir()
        assert refused(read).startswith(f"cannot read {folder / f'20news-bydate.tar.{suffix}'}: ")

    def test_a_post_that_may_not_be_read(self, folder: Path, read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
        as_folders(folder)
        mine = folder / "20news-bydate-train/alt.atheism/3"
        opened = Path.open

        def forbid(path: Path, *arguments: Any, **options: Any) -> object:
            if path == mine:
                raise PermissionError(13, "Permission denied")
            return opened(path, *arguments, **options)

        monkeypatch.setattr(Path, "open", forbid)
        assert refused(read) == f"cannot read {mine}: Permission denied; check the file and its permissions"

    def test_one_folder_without_the_other(self, folder: Path, read: Read) -> None:
        (folder / "20news-bydate-train" / "alt.atheism").mkdir(parents=True)
        assert f"{folder} lacks the folder 20news-bydate-test" in refused(read)

    def test_folders_without_a_post(self, folder: Path, read: Read) -> None:
        (folder / "20news-bydate-train" / "alt.atheism").mkdir(parents=True)
        (folder / "20news-bydate-test").mkdir()
        assert "no post in them" in refused(read)
