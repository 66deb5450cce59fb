"""Files and archives in memory, as data sets are distributed."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Writes files, each by its path below a folder."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def tar(files: Iterable[tuple[str, bytes]], folder: str = "") -> bytes:
    """A tar archive of (name, content), each in a folder whose name ends in a slash."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, content in files:
            member = tarfile.TarInfo(folder + name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return stream.getvalue()


def tar_gz(files: Mapping[str, bytes], folder: str = "") -> bytes:
    """The same, packed; the same bytes each time."""
    return gzip.compress(tar(files.items(), folder), mtime=0)
