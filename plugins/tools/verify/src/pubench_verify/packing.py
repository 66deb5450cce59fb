"""The archive of a submission: records with their scores, checksums, and what it is called."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from pubench_study.export import files_of, pack
from pubench_study.plan import read_plan
from pubench_study.study_file import folder_of

from pubench_core.errors import RequestError, shortened, unknown
from pubench_core.records.files import ENVIRONMENT, RESULT, SCORES, SPEC, TRACE, TRAINING_SCORES
from pubench_core.records.record import Record
from pubench_core.records.store import RecordStore

#: Facts of a submission, and their version.
SUBMISSION, FORMAT = "submission.json", 1
#: Files of a record that a submission has.
PACKED = frozenset({RESULT, SPEC, ENVIRONMENT, TRACE, SCORES, TRAINING_SCORES})
NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")


@dataclass(frozen=True)
class Submission:
    """``sha256``: of the archive."""

    archive: Path
    sha256: str
    records: tuple[Record, ...]


def pack_records(
    folder: Path, name: str, out: Path, *, study: str | None = None, methods: Collection[str] = ()
) -> Submission:
    """Packs the records of a folder as ``out/NAME.tar.gz``. The same records give the same bytes.

    Raises RequestError for a name of another form, a folder without records, a run on a user table, whose data nobody
    else has, and a run without stored scores. RecordError for records that cannot be read, links and devices.
    """
    if not NAME.fullmatch(name):
        raise RequestError(f"a submission is named in lower case, digits and hyphens, got {shortened(name)}")
    records = _records(folder, study, methods)
    for record in records:
        spec = record.result.spec
        if spec.data.own is not None:
            raise RequestError(
                f"{record.result.run_id} is a run on your table {spec.data.own.path}, which nobody else can check; "
                "--method and --study leave runs out"
            )
        if not (record.folder / SCORES).exists():
            raise RequestError(f"{record.result.run_id} has no {SCORES} to check its measures by; run it again")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RequestError(f"{out} cannot be a folder ({error.strerror}); --out names another one") from error
    _, sha256 = pack(out / f"{name}.tar.gz", name, _members(name, records))
    return Submission(out / f"{name}.tar.gz", sha256, tuple(records))


def _records(folder: Path, study: str | None, methods: Collection[str]) -> list[Record]:
    found = RecordStore(folder).all()
    if found.unreadable:
        raise found.unreadable[0]
    records = [record for record in found.readable if record.result.spec.validation.fold is None]
    if study is not None:
        plan = read_plan(folder_of(folder, study))
        assert plan is not None  # folder_of names studies that have one
        planned = {run.run_id for run in plan.runs}
        records = [record for record in records if record.result.run_id in planned]
    keys = {record.result.spec.method.key for record in records}
    for method in methods:
        if method not in keys:
            raise unknown("method of the records", method, keys)
    records = [record for record in records if not methods or record.result.spec.method.key in methods]
    if not records:
        raise RequestError(f"{shortened(str(folder))} holds no finished record to submit")
    return sorted(records, key=lambda record: record.result.run_id)


def _members(name: str, records: Sequence[Record]) -> Iterator[tuple[str, bytes]]:
    facts = {
        "format": FORMAT,
        "name": name,
        "pubench": version("pubench-core"),
        "methods": sorted({record.result.spec.method.key for record in records}),
        "data": sorted({record.result.spec.data.key for record in records}),
        "runs": [record.result.run_id for record in records],
    }
    yield SUBMISSION, (json.dumps(facts, indent=2) + "\n").encode()
    for record in records:
        for path in files_of(record.folder):
            if path.name in PACKED:
                yield f"{record.result.run_id}/{path.name}", path.read_bytes()


def issue_text(made: Submission, check: str) -> str:
    """The text of the issue, in the order of the form's fields. ``check``: what the check said, as Markdown."""
    methods = sorted({record.result.spec.method.key for record in made.records})
    return "\n\n".join(
        [
            "### Name", made.archive.name.removesuffix(".tar.gz"),
            "### Archive", f"(drop {made.archive.name} here)",
            "### SHA-256 of the archive", made.sha256,
            "### Package", "(NAME==VERSION, or an address of git with a commit; _No response_ for methods of pubench)",
            "### Method", f"{', '.join(methods)}: paper, official code, what differs",
            "### Who ran it, on what", "(name or handle; machine; time)",
            "### Check on your machine", check,
        ]
    ) + "\n"  # fmt: skip
