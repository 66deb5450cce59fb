"""A study as one archive: plan, records, failures, checksums. Unpacked, it is a folder of records again."""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from pubench_core.data.cache import sha256_of
from pubench_core.errors import RecordError, RequestError
from pubench_core.plugins.registry import part
from pubench_core.records.files import (
    ENVIRONMENT,
    FAILURE,
    MEASURES,
    MODEL,
    PREDICTIONS,
    RESULT,
    SAMPLES,
    SAMPLES_PICTURE,
    SCORES,
    SPEC,
    TRACE,
    TRAINING_SCORES,
    fold_model,
    read_scores,
    refuse_no_file,
)
from pubench_core.records.record import Record
from pubench_core.records.store import failures_in

from .plan import FrozenPlan
from .study_file import PLAN, STUDY, StudyFolder

SUMS = "SHA256SUMS"
#: Files that ``with_scores=False`` leaves out.
LARGE = (SCORES, TRAINING_SCORES, SAMPLES, PREDICTIONS, MODEL, SAMPLES_PICTURE.format("*"), fold_model("*"))
#: Files of a record or a failure; others that somebody put there are left out.
KNOWN = (*LARGE, RESULT, SPEC, ENVIRONMENT, TRACE, FAILURE, MEASURES)
#: The frame of all records of a folder, which pubench-report writes.
FRAME = "results.parquet"


def write_frame(path: Path, records: Sequence[Record] | None = None) -> list[str]:
    """Brings a frame up to date with its folder of records, or writes these; what is not in it.

    Raises RecordError if the folder cannot be read, or the frame not be written.
    """
    try:
        write = part("pubench_frame", FRAME)
    except RequestError as error:
        return [f"no frame: {error}"]
    return [f"not in the frame: {error}" for error in write(path, records)]


def export(
    folder: StudyFolder,
    plan: FrozenPlan,
    records: Sequence[Record],
    target: Path,
    *,
    with_scores: bool = True,
) -> tuple[int, str]:
    """Writes plan, records, failures and their frame to a ``.zip``, laid out as a folder of records.

    ``SHA256SUMS`` has the checksum of every file. Without scores, nothing can be measured again, and a request for them
    runs again; all that was measured is there.

    Files that no record has are left out. Returns how many files are in it, and the SHA-256 of the archive.

    Raises RecordError if a file cannot be read, is a link or device or a damaged archive, and as :func:`pack`.
    """

    def members() -> Iterator[tuple[str, bytes]]:
        for path in _files(folder, plan, records, with_scores=with_scores):
            yield path.relative_to(folder.results).as_posix(), path.read_bytes()
        with tempfile.TemporaryDirectory() as scratch:
            frame = Path(scratch) / FRAME
            if not write_frame(frame, records):
                yield FRAME, frame.read_bytes()

    return pack(target, plan.name, members())


def pack(target: Path, name: str, members: Iterable[tuple[str, bytes]]) -> tuple[int, str]:
    """Writes a ``.zip`` of files in a folder ``name`` with their ``SHA256SUMS``; how many, and its own SHA-256.

    ``members``: path in that folder and content. The same members give the same bytes.

    Raises RecordError if the target cannot be written or is there and no regular file; nothing is left of it then.
    """
    aside = target.parent / f".export-{os.getpid()}"  # not longer than a name may be
    sums: list[str] = []
    try:
        refuse_no_file(target)
        with zipfile.ZipFile(aside, "w") as archive:
            for inside, content in members:
                sums.append(f"{hashlib.sha256(content).hexdigest()}  {inside}\n")
                add_member(archive, f"{name}/{inside}", content)
            add_member(archive, f"{name}/{SUMS}", "".join(sums).encode())
        aside.replace(target)
        return len(sums), sha256_of(target)
    except OSError as error:
        raise RecordError(f"{target} could not be written: {error.filename or ''} {error.strerror or error}") from error
    finally:
        with suppress(OSError):  # it could not be made, which is raised
            aside.unlink(missing_ok=True)


def files_of(folder: Path, *, with_large: bool = True) -> Iterator[Path]:
    """The known files of a record or a failure. Raises RecordError for links, devices and damaged scores.

    ``with_large``: scores, samples, predictions and models as well.
    """
    if folder.is_symlink():
        raise RecordError(f"{folder} is a link to a folder elsewhere; move it away")
    for path in sorted(folder.iterdir()):
        if any(map(path.match, KNOWN)) and (with_large or not any(map(path.match, LARGE))):
            if _regular(path).name in (SCORES, TRAINING_SCORES):
                read_scores(folder, path.name)
            yield path


def _files(folder: StudyFolder, plan: FrozenPlan, records: Sequence[Record], *, with_scores: bool) -> Iterator[Path]:
    """Raises RecordError for links, devices and damaged scores."""
    yield from map(_regular, (folder.path / STUDY, folder.path / PLAN))
    for record in records:
        yield from files_of(record.folder, with_large=with_scores)
    failures = failures_in(folder.results)
    for run in plan.runs:
        for failed in failures.get(run.run_id, ()):
            yield from files_of(failed)


def _regular(path: Path) -> Path:
    """A file. Raises RecordError for a link, which may lead to a file that is nobody's business, or a device."""
    if not stat.S_ISREG(path.lstat().st_mode):
        raise RecordError(f"{path} is no regular file but a link or a device; move it away")
    return path


def add_member(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    """Without owner and time: the same study gives the same members."""
    member = zipfile.ZipInfo(name)
    member.compress_type, member.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
    archive.writestr(member, content)
