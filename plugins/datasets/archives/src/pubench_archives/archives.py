"""Reading packed files and archives: nothing is unpacked to disk; what is wrong is one line that names the file."""

from __future__ import annotations

import bz2
import gzip
import lzma
import tarfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, cast

from pubench_core.errors import RequestError

_OPENERS: dict[str, Callable[..., Any]] = {
    ".gz": gzip.open,
    ".tgz": gzip.open,
    ".xz": lzma.open,
    ".bz2": bz2.open,
}


def one_line(error: BaseException) -> str:
    """The message of an error without line breaks; its class where it has none."""
    return " ".join(str(error).split()) or type(error).__name__


def damaged(place: Path | str, reason: str) -> RequestError:
    """The error for content that is not what the format says. ``place``: the file, or a member or row of it."""
    return RequestError(f"{place} is damaged ({reason}); remove it and get it again")


@contextmanager
def reading(path: Path, *damages: type[Exception]) -> Iterator[None]:
    """A block that reads a file: RequestError naming it if its content is damaged, or if it cannot be read.

    ``damages``: what the block raises at damaged content, besides the errors of the packers and of decoding.
    """
    kinds: tuple[type[Exception], ...] = (
        EOFError,
        zlib.error,
        lzma.LZMAError,
        tarfile.TarError,
        ValueError,
        MemoryError,
    )
    try:
        yield
    except kinds + damages as error:
        raise damaged(path, one_line(error)) from error
    except OSError as error:
        if error.errno is None:  # gzip, bz2 and pyarrow report bad bytes so, without the number of a system error
            raise damaged(path, one_line(error)) from error
        raise RequestError(f"cannot read {path}: {error.strerror}; check the file and its permissions") from error


def opened(path: Path) -> BinaryIO:
    """The content of a file, unpacked if its name ends in ``.gz``, ``.tgz``, ``.xz`` or ``.bz2``."""
    return cast("BinaryIO", _OPENERS.get(path.suffix.lower(), open)(path, "rb"))


def members(path: Path, wanted: Callable[[PurePosixPath], bool]) -> Iterator[tuple[PurePosixPath, str, bytes]]:
    """(name, place, bytes) of the wanted regular files of a packed tar archive, in its order.

    ``place`` is for error messages. The archive is read once, as a stream, to its very end: only there does gzip
    compare its checksum, and tarfile takes a header that it cannot read for the end. Raises RequestError naming the
    archive if it cannot be read, is damaged or cut short.
    """
    with reading(path), opened(path) as packed:
        with tarfile.open(fileobj=packed, mode="r|") as archive:
            for member in archive:
                name = PurePosixPath(member.name)
                if member.isfile() and wanted(name):
                    stream = archive.extractfile(member)
                    assert stream is not None  # a regular file
                    yield name, f"{path} (member {member.name!r})", stream.read()
        while rest := packed.read(1 << 20):
            if rest.strip(b"\0"):
                raise damaged(path, "something unreadable before its end")
