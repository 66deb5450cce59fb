"""The archive of a submission: records with their scores, packed by their author, and unpacked from anybody.

Only plain files of records come out, in bounded time and memory.
"""

from __future__ import annotations

import gzip
import re
import shutil
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from pubench_study.export import SUMS, files_of, pack

from pubench_core.errors import RecordError, RequestError, counted, shortened
from pubench_core.records.files import (
    ENVIRONMENT,
    MOST_BYTES,
    MOST_TEXT,
    RESULT,
    SCORES,
    SPEC,
    TRACE,
    TRAINING_SCORES,
    open_regular,
)
from pubench_core.records.record import Record
from pubench_core.records.store import RecordStore

from .files import RUN_ID

#: Files of a record that a submission has.
PACKED = frozenset({RESULT, SPEC, ENVIRONMENT, TRACE, SCORES, TRAINING_SCORES})
#: What submissions of older versions have besides; nothing reads it.
_OLDER = "submission.json"
#: Most bytes of an archive and of what is in it, and most files.
MOST_ARCHIVE, MOST_UNPACKED, MOST_FILES = 1 << 28, 1 << 31, 20_000
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")


def pack_records(folder: Path, name: str, out: Path) -> tuple[Path, list[Record]]:
    """Packs the records of a folder as ``out/NAME.tar.gz``: the archive, and what is in it. The same records give the
    same bytes.

    Raises RequestError for a name of another form, a folder without records, a run on a user table, whose data nobody
    else has, and a run without stored scores. RecordError for records that cannot be read, links and devices.
    """
    if not _NAME.fullmatch(name):
        raise RequestError(f"a submission is named in lower case, digits and hyphens, got {shortened(name)}")
    found = RecordStore(folder).all()
    if found.unreadable:
        raise found.unreadable[0]
    records = [record for record in found.readable if record.result.spec.validation.fold is None]
    if not records:
        raise RequestError(f"{shortened(str(folder))} holds no finished record to submit")
    for record in records:
        run_id, own = record.result.run_id, record.result.spec.data.own
        if own is not None:
            raise RequestError(
                f"{run_id} is a run on your table {own.path}, which nobody else can check; move its record away"
            )
        if not (record.folder / SCORES).exists():
            raise RequestError(f"{run_id} has no {SCORES} to check its measures by; run it again")
    records.sort(key=lambda record: record.result.run_id)

    def members() -> Iterator[tuple[str, bytes]]:
        for record in records:
            for path in files_of(record.folder):
                if path.name in PACKED:
                    yield f"{record.result.run_id}/{path.name}", path.read_bytes()

    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RequestError(f"{out} cannot be a folder ({error.strerror}); --out names another one") from error
    target = out / f"{name}.tar.gz"
    pack(target, name, members())
    return target, records


# -------------------------------------------------------------------- unpacking what anybody may have made


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
        path, content = target / prefix / Path(*parts), members.extractfile(member)
        assert content is not None  # it is a plain file
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:
            shutil.copyfileobj(content, file)
    if not {f"{prefix}/{SUMS}" for prefix in prefixes} <= names or not names:
        raise Refused(f"it has no {SUMS}; make it with pubench verify --submit")
    return target / prefixes.pop()


def _place(member: tarfile.TarInfo) -> tuple[str, list[str]]:
    """The folder of all files, and where in it a member goes. Raises Refused for what no submission holds."""
    shown = shortened(member.name)
    if member.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or member.issparse():
        link, device = member.issym() or member.islnk(), member.ischr() or member.isblk()
        kind = "a link" if link else "a device" if device else "a pipe" if member.isfifo() else "of another type"
        raise Refused(f"{shown} is no plain file but {kind}")
    prefix, *parts = member.name.split("/")
    of_record = len(parts) == 2 and RUN_ID.fullmatch(parts[0]) and parts[1] in PACKED
    if not _NAME.fullmatch(prefix) or not (of_record or parts in ([_OLDER], [SUMS])):
        raise Refused(f"{shown} is no file of a submission; expected NAME/RUN/{SCORES} and the like")
    return prefix, parts
