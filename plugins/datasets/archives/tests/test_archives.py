"""Packed files are read as they are, and what is wrong with one is a line that names it."""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path

import pytest
from pubench_archives.archives import members, opened

from pubench_core.errors import RequestError


def packed(path: Path, **files: bytes) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def test_the_wanted_members_come_in_the_order_of_the_archive(tmp_path: Path) -> None:
    path = packed(tmp_path / "a.tgz", b=b"1", a=b"22", c=b"")
    assert [(str(name), content) for name, _, content in members(path, lambda name: name.name != "c")] == [
        ("b", b"1"),
        ("a", b"22"),
    ]


def test_a_packed_file_is_unpacked_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "x.gz").write_bytes(gzip.compress(b"rows"))
    (tmp_path / "x.txt").write_bytes(b"rows")
    for name in ("x.gz", "x.txt"):
        with opened(tmp_path / name) as file:
            assert file.read() == b"rows"


@pytest.mark.parametrize("keep", [0.3, 0.9])
def test_an_archive_that_is_cut_short_is_named(tmp_path: Path, keep: float) -> None:
    path = packed(tmp_path / "a.tgz", a=bytes(range(256)) * 40)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(keep * len(whole))])
    with pytest.raises(RequestError, match=r"a\.tgz is damaged .*; remove it and get it again"):
        list(members(path, lambda name: True))


def test_a_member_that_leads_out_of_the_archive_is_refused(tmp_path: Path) -> None:
    path = packed(tmp_path / "a.tgz", **{"../../etc/passwd": b"x"})
    with pytest.raises(RequestError, match="leads out of the archive"):
        list(members(path, lambda name: False))
