"""Find, read and check published files: nothing is unpacked to disk; an error is one line that names the file."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import re
import tarfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from os.path import exists
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, cast

from pubench_core.data.dataset import DataRoot
from pubench_core.errors import Hint, RequestError
from pubench_core.plugins.info import DatasetInfo

_OPENERS: dict[str, Callable[..., Any]] = {
    ".gz": gzip.open,
    ".tgz": gzip.open,
    ".xz": lzma.open,
    ".bz2": bz2.open,
}
_SHARDS = re.compile(r"-of-(\d+)")


def one_line(error: BaseException) -> str:
    """The message of an error without line breaks, at most 200 characters; its class if it has none."""
    try:
        text = " ".join(str(error).split()) or type(error).__name__
    except TypeError:  # liac-arff cannot word its own error if the line in question has a percent sign
        text = type(error).__name__
    return text if len(text) <= 200 else f"{text[:197]}..."


def damaged(place: Path | str, reason: str, hint: Hint | None = None) -> RequestError:
    """The error for content that is not what the format says. ``place``: the file, or a member or row of it."""
    return RequestError(f"{place} is damaged ({reason}); remove it and get it again", hint=hint)


@contextmanager
def reading(path: Path | str, *damages: type[Exception], hint: Hint | None = None) -> Iterator[None]:
    """A block that reads a file: RequestError naming it if its content is damaged, or if it cannot be read.

    ``damages``: what the block raises at damaged content, besides the errors of the packers and of decoding; ``hint``:
    what gets the file again.
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
        raise damaged(path, one_line(error), hint) from error
    except OSError as error:
        if error.errno is None:  # gzip, bz2 and pyarrow report bad bytes so, without the number of a system error
            raise damaged(path, one_line(error), hint) from error
        raise RequestError(f"cannot read {path}: {error.strerror}; check the file and its permissions") from error


def opened(path: Path) -> BinaryIO:
    """The content of a file, unpacked if its name ends in ``.gz``, ``.tgz``, ``.xz`` or ``.bz2``."""
    return cast("BinaryIO", _OPENERS.get(path.suffix.lower(), open)(path, "rb"))


def present(folder: Path, name: str) -> Path | None:
    """A file by its name, packed with gzip or not; None if there is none or the folder cannot be entered."""
    names = (name, f"{name}.gz", name.removesuffix(".gz"))
    return next((path for path in (folder / name for name in names) if exists(path)), None)


def complete(
    info: DatasetInfo,
    root: DataRoot,
    candidates: Iterable[tuple[Path, Sequence[str]]],
    wanted: Sequence[str],
    places: list[Path],
) -> tuple[Path, ...]:
    """The files of the first candidate, a folder and names, of which every one is there.

    Raises RequestError with what is absent from the first candidate that has a file, else ``wanted`` and ``places``.
    """
    half: tuple[Path, list[str]] | None = None
    for folder, names in candidates:
        found = {name: path for name in names if (path := present(folder, name))}
        if len(found) == len(names):
            return tuple(found.values())
        if found and half is None:
            half = folder, [name for name in names if name not in found]
    if half is not None:
        raise root.missing(info, half[1], [half[0]])
    raise root.missing(info, list(wanted), places)


def shards(folder: Path, part: str) -> tuple[Path, ...]:
    """``<part>-*.parquet`` in order. Raises RequestError if, by their own numbering, some are absent."""
    found = sorted(folder.glob(f"{part}-*.parquet"))
    total = next((int(match[1]) for path in found if (match := _SHARDS.search(path.name))), len(found))
    if len(found) != total:
        raise RequestError(f"{folder} has {len(found)} of the {total} files {part}-*.parquet; get the others")
    return tuple(found)


def content(path: Path) -> bytes:
    """All bytes of a file, unpacked. Raises RequestError if it cannot be read, cannot be unpacked or is empty."""
    with reading(path), opened(path) as stream:
        found = stream.read()
    if not found:
        raise damaged(path, "it is empty")
    return found


def check(place: Path | str, found: io.BufferedReader | bytes, published: str, source: str) -> None:
    """Compares content with the checksum of the published file: MD5 if that has 32 digits, else the start of SHA-256.

    ``place``: the file, or the member of an archive; ``source``: where to get it. Raises RequestError with both sums.
    """
    kind = "md5" if len(published) == 32 else "sha256"
    stream = io.BytesIO(found) if isinstance(found, bytes) else found
    checksum = hashlib.file_digest(stream, kind).hexdigest()[: len(published)]
    if checksum != published:
        raise RequestError(
            f"{place} has the {kind} checksum {checksum}, the published file {published}; get it again from {source}"
        )


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
