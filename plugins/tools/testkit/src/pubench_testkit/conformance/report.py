"""Running every check on one method, and what came out."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch

from pubench_core.errors import PubenchError

from .register import CHECKS, UNDECLARABLE, NotApplicable
from .subject import Subject

Verdict = Literal["passed", "failed", "declared", "not applicable", "passes although declared", "may not be declared"]


@dataclass(frozen=True)
class Finding:
    """One check of one method. ``reason``: why it failed, was declared, or does not apply."""

    check: str
    verdict: Verdict
    reason: str
    seconds: float

    @property
    def ok(self) -> bool:
        """Whether the method conforms in this point."""
        return self.verdict in ("passed", "declared", "not applicable")


def check_one(subject: Subject, name: str) -> Finding:
    """Runs one check, with regard to what the method declares."""
    started = time.perf_counter()
    declared = subject.info.declared_failures.get(name)

    def found(verdict: Verdict, reason: str = "") -> Finding:
        return Finding(name, verdict, reason, time.perf_counter() - started)

    if declared is not None and name in UNDECLARABLE:
        return found("may not be declared", declared)
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1)  # 200 rows: a second thread costs more than it brings
        CHECKS[name](subject)
    except NotApplicable as reason:
        return found("not applicable", str(reason))
    except (AssertionError, PubenchError) as error:
        return found("declared", f"{declared} ({error})") if declared is not None else found("failed", str(error))
    finally:
        torch.set_num_threads(threads)
    return found("passed") if declared is None else found("passes although declared", declared)


def check_method(subject: Subject, report: Callable[[Finding], None] = lambda finding: None) -> list[Finding]:
    """All checks in order; ``report`` is called with each finding as it is made."""
    unknown = sorted(set(subject.info.declared_failures) - set(CHECKS))
    findings = [
        Finding(name, "may not be declared", f"there is no such check; checks are {', '.join(CHECKS)}", 0.0)
        for name in unknown
    ]
    for name in CHECKS:
        findings.append(check_one(subject, name))
        report(findings[-1])
    return findings
