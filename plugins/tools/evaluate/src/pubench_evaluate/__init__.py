"""Tables without one known negative: advice, report cards of scores, class priors, sheets of rows to check.

``scored_rows`` is core's view of scores and labels; ``prior``, ``thresholds`` and ``measures`` compute; ``evaluation``
makes the report card, ``audit`` draws and reads sheets, ``advice`` is the way from a table to an answer. ``page``
is the form of every result: lines and tables for a terminal, JSON, and a page.
"""

from __future__ import annotations

from pubench_core import ApiInfo, CommandInfo, hookimpl

_EXAMPLES = {
    "advise": "pubench advise my.csv --label-col labeled --goal review:200",
    "evaluate": "pubench evaluate scores.csv --label-col labeled --prior 0.2..0.4 --budget 200",
    "audit": "pubench audit scores.csv --label-col labeled --ids id --n 60",
    "prior": "pubench prior my.csv --label-col labeled --estimators bbe,dedpul",
}
_PANEL, _IN = "Your own data", "pubench_evaluate.cli.commands"


@hookimpl
def pubench_commands() -> list[CommandInfo]:
    return [
        CommandInfo(path="advise", panel=_PANEL, load=f"{_IN}:advise", example=_EXAMPLES["advise"]),
        CommandInfo(path="evaluate", panel=_PANEL, load=f"{_IN}:evaluate", example=_EXAMPLES["evaluate"]),
        CommandInfo(path="audit", panel=_PANEL, load=f"{_IN}:audit", example=_EXAMPLES["audit"]),
        CommandInfo(path="prior", panel=_PANEL, load=f"{_IN}:prior", example=_EXAMPLES["prior"]),
    ]


@hookimpl
def pubench_api() -> list[ApiInfo]:
    return [
        ApiInfo(name="Advice", load="pubench_evaluate.advice.page:Advice"),
        ApiInfo(name="AuditResult", load="pubench_evaluate.audit:AuditResult"),
        ApiInfo(name="AuditSample", load="pubench_evaluate.audit:AuditSample"),
        ApiInfo(name="Evaluation", load="pubench_evaluate.evaluation:Evaluation"),
        ApiInfo(name="PriorEstimates", load="pubench_evaluate.prior:PriorEstimates"),
        ApiInfo(name="advise", load="pubench_evaluate.advice.advise:advise"),
        ApiInfo(name="audit_answers", load="pubench_evaluate.audit:audit_answers"),
        ApiInfo(name="audit_sample", load="pubench_evaluate.audit:audit_sample"),
        ApiInfo(name="estimate_prior", load="pubench_evaluate.prior:estimate_prior"),
        ApiInfo(name="evaluate", load="pubench_evaluate.evaluation:evaluate"),
    ]
