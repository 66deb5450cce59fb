"""Answers of a person who checked rows: a filled sheet and the design that it was drawn by."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pubench_evaluate.audit import AuditResult, AuditSample, answered, audit_answers

from pubench_core.data.tables import read_table
from pubench_core.errors import RequestError, nearest

from .evidence import Checked

DESIGN = ".design.npz"


@dataclass(frozen=True)
class Audited:
    """``result``: what the answers say, by design of the draw; ``checked``: the rows; ``sample``: the draw."""

    result: AuditResult
    checked: Checked
    sample: AuditSample


def read_answers(sheet: Path, folder: Path) -> Audited:
    """A filled sheet; its design is looked for next to it and in ``folder``. Raises RequestError."""
    frame = read_table(sheet, texts=("answer",))
    if lacking := [name for name in ("audit", "row", "answer") if name not in frame]:
        raise RequestError(
            f"audited={sheet}: there is no column '{lacking[0]}' ({nearest(lacking[0], frame.columns)}); it must be a "
            "sheet that pubench wrote, filled in",
            field="audited",
        )
    keys = sorted(set(frame["audit"].dropna().astype(str)))
    if len(keys) != 1:
        raise RequestError(f"audited={sheet}: column 'audit' has {len(keys)} values; a sheet is of one audit")
    row = frame["row"]
    if row.dtype.kind not in "iuf" or row.isna().any() or (row % 1 != 0).any() or row.duplicated().any():
        raise RequestError(f"audited={sheet}: column 'row' must name every row once, by its whole number")
    sample = _design(sheet, folder, keys[0])
    given = dict(zip(row.astype(int).tolist(), frame["answer"].tolist(), strict=True))
    values = answered(sample, given)
    known = {int(number): int(value) for number, value in zip(sample.to_check, values, strict=True) if value >= 0}
    return Audited(audit_answers(sample, given), Checked.of(sample, known), sample)


def _design(sheet: Path, folder: Path, key: str) -> AuditSample:
    for path in sorted({*sheet.parent.glob(f"*{DESIGN}"), *folder.glob(f"*{DESIGN}")}):
        sample = AuditSample.load(path)
        if sample.key == key:
            return sample
    raise RequestError(
        f"audited={sheet}: no design of audit {key} is next to it or in {folder}; keep the file *{DESIGN} that was "
        "written with the sheet",
        field="audited",
    )
