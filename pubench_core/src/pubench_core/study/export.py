"""A study as one archive: plan, records, failures, checksums. Unpacked, it is a folder of records again."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import RecordError
from ..plugins.registry import Registry
from ..records.files import MODEL, PREDICTIONS, SAMPLES, SAMPLES_PICTURE, SCORES, TRAINING_SCORES
from ..records.frame import FRAME, frame_bytes
from ..records.record import Record
from ..records.store import failures_in
from .files import PLAN, STUDY, StudyFolder
from .plan import FrozenPlan

SUMS = "SHA256SUMS"
#: Files that ``with_scores=False`` leaves out.
LARGE = frozenset({SCORES, TRAINING_SCORES, SAMPLES, PREDICTIONS, MODEL})


@dataclass(frozen=True)
class Packed:
    """``sha256``: of the archive."""

    records: int
    files: int
    sha256: str


def export(
    folder: StudyFolder,
    plan: FrozenPlan,
    records: Sequence[Record],
    target: Path,
    registry: Registry,
    *,
    with_scores: bool = True,
) -> Packed:
    """Writes plan, records, failures and their frame to a ``.tar.gz``, laid out as a folder of records.

    ``SHA256SUMS`` has the checksum of every file. Without scores, nothing can be measured anew and a request for scores
    runs again; all that was measured is there.

    Raises RecordError if a file cannot be read or the archive not be written; nothing of it is left then.
    """
    aside = target.with_name(f".{target.name}-{os.getpid()}")
    sums: list[str] = []
    try:
        with tarfile.open(aside, "w:gz", compresslevel=6) as archive:

            def add(inside: str, content: bytes) -> None:
                sums.append(f"{hashlib.sha256(content).hexdigest()}  {inside}\n")
                _add(archive, f"{plan.name}/{inside}", content)

            for path in _files(folder, plan, records, with_scores=with_scores):
                add(path.relative_to(folder.results).as_posix(), path.read_bytes())
            add(FRAME, frame_bytes(records, registry))
            _add(archive, f"{plan.name}/{SUMS}", "".join(sums).encode())
        aside.replace(target)
        return Packed(len(records), len(sums), _sha256(target))
    except OSError as error:
        raise RecordError(f"{target} could not be written: {error.filename or ''} {error.strerror or error}") from error
    finally:
        aside.unlink(missing_ok=True)


def _files(folder: StudyFolder, plan: FrozenPlan, records: Sequence[Record], *, with_scores: bool) -> Iterator[Path]:
    yield from (folder.path / STUDY, folder.path / PLAN)
    for record in records:
        yield from (p for p in sorted(record.folder.iterdir()) if p.is_file() and (with_scores or not _is_large(p)))
    failures = failures_in(folder.results)
    for run in plan.runs:
        for failed in failures.get(run.run_id, ()):
            yield from (p for p in sorted(failed.iterdir()) if p.is_file())


def _is_large(path: Path) -> bool:
    return path.name in LARGE or path.match(SAMPLES_PICTURE.format("*"))


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    """Without owner and time: the same study gives the same members."""
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(content), 0o644
    archive.addfile(member, io.BytesIO(content))


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
