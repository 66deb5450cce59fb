"""Reading packed files and archives: nothing is unpacked to disk; what is wrong is one line that names the file."""

from __future__ import annotations

import gzip
import lzma
import tarfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import BinaryIO, cast

from pubench_core.errors import RequestError

#: What is raised where the packed bytes, and not the disk or the permissions, are at fault.
DAMAGE = (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError, tarfile.TarError)


def one_line(error: BaseException) -> str:
    """The message of an error without line breaks; its class where it has none."""
    return " ".join(str(error).split()) or type(error).__name__


def damaged(place: Path | str, reason: str) -> RequestError:
    """The error for content that is not what the format says. ``place``: the file, or a member or row of it."""
    return RequestError(f"{place} is damaged ({reason}); remove it and get it again")


def unreadable(place: Path | str, error: OSError) -> RequestError:
    """The error for a file that the operating system does not let us read."""
    return RequestError(f"cannot read {place}: {error.strerror or error}; check the file and its permissions")


def opened(path: Path) -> BinaryIO:
    """The content of a file, unpacked if its name ends in ``.gz``, ``.tgz`` or ``.xz``."""
    unpack = gzip.open if path.suffix.lower() in (".gz", ".tgz") else lzma.open if path.suffix == ".xz" else open
    return cast("BinaryIO", unpack(path, "rb"))


def members(path: Path, wanted: Callable[[PurePosixPath], bool]) -> Iterator[tuple[PurePosixPath, str, bytes]]:
    """(name, place, bytes) of the wanted regular files of a packed tar archive, in its order.

    ``place`` is for error messages. The archive is read once, as a stream, to its very end: only there does gzip
    compare its checksum, and tarfile takes a header that it cannot read for the end. Raises RequestError naming the
    archive if it cannot be read, is damaged or cut short, or has any member, wanted or not, whose name leads out of it.
    """
    try:
        with opened(path) as packed:
            with tarfile.open(fileobj=packed, mode="r|") as archive:
                for member in archive:
                    name = PurePosixPath(member.name)
                    if name.is_absolute() or ".." in name.parts:
                        raise RequestError(
                            f"{path} has a member {member.name!r} that leads out of the archive: it is not the "
                            "published one; remove it and get it again"
                        )
                    if not (member.isfile() and wanted(name)):
                        continue
                    place = f"{path} (member {member.name!r})"
                    stream = archive.extractfile(member)
                    assert stream is not None  # a regular file
                    yield name, place, stream.read()
            while rest := packed.read(1 << 20):
                if rest.strip(b"\0"):
                    raise damaged(path, "something unreadable before its end")
    except DAMAGE as error:
        raise damaged(path, one_line(error)) from error
    except OSError as error:
        raise unreadable(path, error) from error
