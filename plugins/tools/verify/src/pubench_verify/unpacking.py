"""Opening an archive that anybody may have made: only plain files of records come out, in bounded time and memory."""

from __future__ import annotations

import gzip
import re
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from pubench_study.export import SUMS

from pubench_core.errors import RecordError, counted, shortened
from pubench_core.records.files import MOST_BYTES, MOST_TEXT, SCORES, TRAINING_SCORES, open_regular

from .packing import NAME, PACKED, SUBMISSION

#: Most bytes of an archive and of what is in it, and most files.
MOST_ARCHIVE, MOST_UNPACKED, MOST_FILES = 1 << 28, 1 << 31, 20_000
_RECORD = re.compile(r"[0-9a-f]{16}")


class Refused(RecordError):
    """An archive that is not unpacked."""


class _Bounded(gzip.GzipFile):
    """Raises Refused where more is asked for than an archive may hold, before any memory is taken."""

    def read(self, size: int | None = -1) -> bytes:
        if size is None or size < 0 or size > MOST_TEXT:
            raise Refused(f"a header names {size:,} bytes at once; at most {MOST_TEXT:,} are read")
        self._refuse_beyond(self.tell() + size)
        return super().read(size)

    def seek(self, offset: int, whence: int = 0) -> int:
        self._refuse_beyond(offset)
        return super().seek(offset, whence)

    def _refuse_beyond(self, place: int) -> None:
        if place > MOST_UNPACKED + 64 * 1024 * MOST_FILES:
            raise Refused(f"it unpacks to more than {MOST_UNPACKED:,} bytes")


def unpack(archive: Path, target: Path) -> Path:
    """Writes the files of an archive into ``target``; the folder that holds them.

    Raises Refused (a RecordError) for what is no archive of a submission: links, devices, pipes, paths that lead
    elsewhere, names that no record has, two files of one name, and more or larger files than records have.
    """
    try:
        with open_regular(archive) as file:
            size = file.seek(0, 2)
            if size > MOST_ARCHIVE:
                raise Refused(f"it has {size:,} bytes; at most {MOST_ARCHIVE:,} are read")
            file.seek(0)
            with _Bounded(fileobj=file, mode="rb") as unzipped, tarfile.open(fileobj=unzipped, mode="r:") as members:
                return _written(members, target)
    except (OSError, EOFError, zlib.error, tarfile.TarError, ValueError, OverflowError) as error:
        raise Refused(f"it cannot be read as a .tar.gz: {shortened(str(error))}") from error


def _written(members: tarfile.TarFile, target: Path) -> Path:
    total, names, prefixes = 0, set[str](), set[str]()
    for member in members:
        prefix, parts = _place(member)
        total += member.size
        prefixes.add(prefix)
        most = MOST_BYTES if parts[-1] in (SCORES, TRAINING_SCORES) else MOST_TEXT
        if member.size > most:
            raise Refused(f"{shortened(member.name)} has {member.size:,} bytes; at most {most:,} are read")
        if total > MOST_UNPACKED:
            raise Refused(f"it unpacks to more than {MOST_UNPACKED:,} bytes")
        if member.name in names or len(prefixes) > 1:
            raise Refused(f"{shortened(member.name)} is in it twice, or in another folder than the rest")
        names.add(member.name)
        if len(names) > MOST_FILES:
            raise Refused(f"it holds more than {counted(MOST_FILES, 'file')}")
        path = target / prefix / Path(*parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:
            for piece in _content(members, member):
                file.write(piece)
    if not {f"{prefix}/{name}" for prefix in prefixes for name in (SUBMISSION, SUMS)} <= names or not names:
        raise Refused(f"it has no {SUBMISSION} or no {SUMS}; make it with pubench submit")
    return target / prefixes.pop()


def _place(member: tarfile.TarInfo) -> tuple[str, list[str]]:
    """The folder of all files, and where in it a member goes. Raises Refused for what no submission holds."""
    shown = shortened(member.name)
    if member.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or member.issparse():
        raise Refused(f"{shown} is no plain file but {_kind(member)}")
    prefix, *parts = member.name.split("/")
    of_record = len(parts) == 2 and _RECORD.fullmatch(parts[0]) and parts[1] in PACKED
    if not NAME.fullmatch(prefix) or not (of_record or parts in ([SUBMISSION], [SUMS])):
        raise Refused(f"{shown} is no file of a submission; expected NAME/RUN/{SCORES} and the like")
    return prefix, parts


def _kind(member: tarfile.TarInfo) -> str:
    kinds = {
        tarfile.SYMTYPE: "a link",
        tarfile.LNKTYPE: "a link",
        tarfile.CHRTYPE: "a device",
        tarfile.BLKTYPE: "a device",
        tarfile.FIFOTYPE: "a pipe",
        tarfile.DIRTYPE: "a folder",
    }
    return kinds.get(member.type, "of another type")


def _content(members: tarfile.TarFile, member: tarfile.TarInfo) -> Iterator[bytes]:
    file = members.extractfile(member)
    assert file is not None  # it is a plain file
    while piece := file.read(1 << 20):
        yield piece
