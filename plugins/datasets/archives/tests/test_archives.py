"""Packed files are read as they are, and what is wrong with one is a line that names it."""

from __future__ import annotations

import bz2
import gzip
import lzma
import tarfile
from collections.abc import Callable
from functools import partial
from http.client import HTTPException
from pathlib import Path

import pytest
from made_archives import tar
from pubench_archives.archives import members, opened, reading
from pubench_archives.downloads import fetch_into
from refusals import refusal

from pubench_core.data.dataset import DataRoot
from pubench_core.plugins.info import DatasetInfo
from pubench_core.plugins.registry import registry

LONG = tar((f"{k}", bytes(range(256)) * 4) for k in range(40))
PACKED = gzip.compress(LONG)


@pytest.mark.parametrize(("suffix", "pack"), [("tar.gz", gzip.compress), ("tgz", gzip.compress), ("xz", lzma.compress)])
def test_wanted_files_come_in_the_order_of_the_archive(
    tmp_path: Path, suffix: str, pack: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / f"a.{suffix}"
    path.write_bytes(pack(tar([("b", b"1"), ("a", b"22"), ("c", b"")])))
    found = [(str(name), content) for name, _, content in members(path, lambda name: name.name != "c")]
    assert found == [("b", b"1"), ("a", b"22")]
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_links_folders_and_pipes_are_no_files(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tgz", "w:gz") as archive:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE):
            member = tarfile.TarInfo("x")
            member.type, member.linkname = kind, "/etc/passwd"
            archive.addfile(member)
    assert list(members(tmp_path / "a.tgz", lambda name: True)) == []


@pytest.mark.parametrize(("name", "pack"), [("x.gz", gzip.compress), ("x.bz2", bz2.compress), ("x.txt", bytes)])
def test_a_packed_file_is_unpacked_by_its_name(tmp_path: Path, name: str, pack: Callable[[bytes], bytes]) -> None:
    (tmp_path / name).write_bytes(pack(b"rows"))
    with opened(tmp_path / name) as file:
        assert file.read() == b"rows"


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"<html>not found</html>", id="a-web-page"),
        pytest.param(PACKED[: len(PACKED) // 2], id="half"),
        pytest.param(PACKED[:-4], id="without-its-end"),
        pytest.param(PACKED[:-8] + b"\0" * 8, id="other-checksum"),
        pytest.param(PACKED[:100] + b"\xff" * 100 + PACKED[200:], id="garbled"),
        pytest.param(gzip.compress(b"plain text, no tar archive at all" * 100), id="no-archive"),
        pytest.param(gzip.compress(LONG[: len(LONG) // 2]), id="half-an-archive"),
        # tarfile takes a header that it cannot read for the end of the archive
        pytest.param(gzip.compress(LONG[:10240] + b"?" * 10240 + LONG[20480:]), id="garbled-archive"),
    ],
)
def test_a_damaged_archive_is_named_whatever_is_wanted_of_it(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.tgz"
    path.write_bytes(content)
    line = refusal(lambda: list(members(path, lambda name: False)))
    assert line.startswith(f"{path} is damaged (")
    assert line.endswith("; remove it and get it again")


@pytest.mark.parametrize("name", ["x.gz", "x.bz2", "x.xz", "x.txt"])
def test_a_packed_file_that_is_none_or_cannot_be_read(tmp_path: Path, name: str) -> None:
    """A folder in its place stands for every way of not being readable, for every user."""
    path = tmp_path / name

    def read() -> str:
        with reading(path), opened(path) as file:
            return file.read().decode("ascii")

    path.write_bytes(b"caf\xe9")
    assert refusal(read).startswith(f"{path} is damaged (")
    path.unlink()
    path.mkdir()
    assert refusal(read) == f"cannot read {path}: Is a directory; check the file and its permissions"


@pytest.mark.parametrize("error", [OSError("no\nroute"), HTTPException("a"), RuntimeError("b"), ValueError("c")])
def test_a_download_is_there_as_a_whole_or_not_at_all(tmp_path: Path, error: Exception) -> None:
    """Errors of a network, and of checksums as torchvision and pooch raise them; the files before it stay."""
    said: list[str] = []
    folder, info = tmp_path / "usps", registry().find(DatasetInfo, "usps")
    root = DataRoot(tmp_path, "a test", say=said.append)

    def download(scratch: Path, error: BaseException | None = None) -> list[Path]:
        files = [scratch / name for name in ("usps.bz2", "usps.t.bz2")]
        files[0].write_bytes(b"the first bytes of" if error else b"whole")
        if error is not None:
            raise error
        files[1].write_bytes(b"whole")
        return files

    folder.mkdir()
    (folder / "usps.bz2").write_bytes(b"damaged")  # is replaced
    fetch_into(folder, info, root, download)
    assert said == [f"usps: downloading to {folder}"]
    line = refusal(lambda: fetch_into(folder, info, root, partial(download, error=error)))
    assert line.startswith(f"usps could not be downloaded to {folder} ({' '.join(str(error).split())}); try ")
    with pytest.raises(KeyboardInterrupt):
        fetch_into(folder, info, root, partial(download, error=KeyboardInterrupt()))
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {
        "usps.bz2": b"whole",
        "usps.t.bz2": b"whole",
    }
