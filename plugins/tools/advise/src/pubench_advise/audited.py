"""Answers of a person who checked rows: a filled sheet and the design that it was drawn by."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pubench_evaluate.audit import AuditResult, AuditSample, answered, audit_answers
from pubench_evaluate.audit.sheet import read_sheet

from .evidence import Checked


@dataclass(frozen=True)
class Audited:
    """``result``: what the answers say, by design of the draw; ``checked``: the rows; ``sample``: the draw."""

    result: AuditResult
    checked: Checked
    sample: AuditSample


def read_answers(sheet: Path, folder: Path) -> Audited:
    """A filled sheet; its design is looked for next to it and in ``folder``. Raises RequestError."""
    sample, given = read_sheet(sheet, field="audited", folders=[folder])
    values = answered(sample, given)
    known = {int(number): int(value) for number, value in zip(sample.to_check, values, strict=True) if value >= 0}
    return Audited(audit_answers(sample, given), Checked.of(sample, known), sample)
