"""Reading packed files and archives: nothing is unpacked to disk; what is wrong is one line that names the file.

A few bytes can unpack to any number: the reader says how many a sound file of the kind can have, and reading stops
there.
"""

from __future__ import annotations

import gzip
import io
import lzma
import tarfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any

from ..errors import RequestError

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

#: What is raised where the packed bytes, and not the disk or the permissions, are at fault.
DAMAGE = (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError, tarfile.TarError)
_BLOCK = 1 << 20


def one_line(error: BaseException) -> str:
    """The message of an error without line breaks; its class where it has none."""
    return " ".join(str(error).split()) or type(error).__name__


def damaged(place: Path | str, reason: str) -> RequestError:
    """The error for content that is not what the format says. ``place``: the file, or a member or row of it."""
    return RequestError(f"{place} is damaged ({reason}); remove it and get it again")


def unreadable(place: Path | str, error: OSError) -> RequestError:
    """The error for a file that the operating system does not let us read."""
    return RequestError(f"cannot read {place}: {error.strerror or error}; check the file and its permissions")


class _Bounded(io.RawIOBase):
    """The bytes of another stream. Raises what ``refusal`` says where there are more than ``limit``."""

    def __init__(self, stream: io.BufferedIOBase, limit: int, refusal: Callable[[], RequestError]) -> None:
        self._stream, self._limit, self._refusal, self._read = stream, limit, refusal, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        found = self._stream.read(len(buffer))
        self._read += len(found)
        if self._read > self._limit:
            raise self._refusal()
        buffer[: len(found)] = found
        return len(found)

    def close(self) -> None:
        self._stream.close()
        super().close()


def too_large(place: Path | str, limit: int) -> RequestError:
    """The error for content of more bytes than a sound file, member or line of the kind can have."""
    return damaged(place, f"more than {limit:,} bytes, unpacked; the published one has fewer")


def opened(path: Path, limit: int, refusal: Callable[[], RequestError] | None = None) -> io.BufferedReader:
    """The content of a file, unpacked if its name ends in ``.gz``, ``.tgz`` or ``.xz``.

    Reading raises RequestError behind byte ``limit``: ``refusal()``, by default :func:`too_large`.
    """
    return io.BufferedReader(_Bounded(_unpacked(path), limit, refusal or (lambda: too_large(path, limit))), _BLOCK)


def _unpacked(path: Path) -> io.BufferedIOBase:
    if path.suffix.lower() in (".gz", ".tgz"):
        return gzip.open(path)
    return lzma.open(path) if path.suffix == ".xz" else path.open("rb")


def lines(stream: IO[bytes], path: Path, limit: int) -> Iterator[bytes]:
    """The lines of a file, each with its end. Raises RequestError at one of more than ``limit`` bytes."""
    number = 0
    while line := stream.readline(limit + 1):
        number += 1
        if len(line) > limit:
            raise too_large(f"{path} (line {number})", limit)
        yield line


def check_parquet(table: ParquetFile, path: Path, *, rows: int, limit: int) -> None:
    """Raises RequestError where a Parquet file says that it holds more than ``rows`` rows or ``limit`` bytes."""
    facts = table.metadata
    if facts.num_rows > rows:
        raise damaged(path, f"{facts.num_rows:,} rows; the published one has fewer than {rows:,}")
    if sum(facts.row_group(k).total_byte_size for k in range(facts.num_row_groups)) > limit:
        raise too_large(path, limit)


def members(
    path: Path, wanted: Callable[[PurePosixPath], bool], *, limit: int, total: int
) -> Iterator[tuple[PurePosixPath, str, bytes]]:
    """(name, place, bytes) of the wanted regular files of a packed tar archive, in its order.

    ``place`` is for error messages; ``limit``: the most bytes that one member may have, ``total``: the archive. It is
    read once, as a stream, to its very end: only there does gzip compare its checksum, and tarfile takes a header that
    it cannot read for the end. Raises RequestError naming the archive if it cannot be read, is damaged or cut short, is
    larger, holds a larger member, or has any member, wanted or not, whose name leads out of it.
    """
    given = 0
    try:
        with opened(path, total) as packed:
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
                    if member.size > limit:  # of a sparse one: with its holes, which take no bytes in the archive
                        raise damaged(place, f"{member.size} bytes; expected at most {limit}")
                    given += member.size
                    if given > total:
                        raise too_large(path, total)
                    stream = archive.extractfile(member)
                    assert stream is not None  # a regular file
                    yield name, place, stream.read()
            while rest := packed.read(_BLOCK):
                if rest.strip(b"\0"):
                    raise damaged(path, "something unreadable before its end")
    except DAMAGE as error:
        raise damaged(path, one_line(error)) from error
    except OSError as error:
        raise unreadable(path, error) from error
