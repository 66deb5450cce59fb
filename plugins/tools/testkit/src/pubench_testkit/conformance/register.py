"""The register of checks, what they share, and the running of them on one method."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch

from pubench_core.errors import PubenchError

from .subject import Subject

Check = Callable[[Subject], None]

#: Seconds that two epochs on 200 rows may take, imports and a compiler's first run included.
PATIENCE = 90.0
#: Relative difference allowed between scoring rows together and one by one: kernels differ with the batch.
TOLERANCE = 1e-4

CHECKS: dict[str, Check] = {}
#: What may not be declared as a known failure.
UNDECLARABLE = frozenset(
    {
        *("hidden-labels", "order-of-the-file", "own-arguments", "reads-no-data", "order-of-rows", "earlier-runs"),
        *("same-seed-same-scores", "finite-scores", "prior-near-0-and-1", "one-label"),
        *("carries-no-data", "plausible-accuracy"),
    }
)


class NotApplicable(Exception):
    """The check does not concern this method; the text says why."""


def check(name: str) -> Callable[[Check], Check]:
    """Registers a function as the check of this name; its docstring says what must hold."""

    def register(function: Check) -> Check:
        CHECKS[name] = function
        return function

    return register


Verdict = Literal["passed", "failed", "declared", "not applicable", "passes although declared", "may not be declared"]


@dataclass(frozen=True)
class Finding:
    """Result of one check of one method."""

    check: str
    verdict: Verdict
    reason: str
    """Why it failed, was declared, or does not apply."""
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
    findings = [
        Finding(name, "may not be declared", f"there is no such check; checks are {', '.join(CHECKS)}", 0.0)
        for name in sorted(set(subject.info.declared_failures) - set(CHECKS))
    ]
    for name in CHECKS:
        findings.append(check_one(subject, name))
        report(findings[-1])
    return findings
