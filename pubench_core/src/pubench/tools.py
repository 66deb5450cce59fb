"""Names of this package that tools provide, and methods of results that they carry out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pubench_core.errors import RequestError
from pubench_core.plugins.info import ApiInfo
from pubench_core.plugins.registry import provided, tools

#: Name -> what installs it, for those that say so when they are used and are not there.
PACKAGES: Mapping[str, str] = {
    "Advice": "pubench-advise",
    "advise": "pubench-advise",
    "PUTable": "pubench-datasets-tables",
    "RunResult.decisions": "pubench-datasets-tables",
    "RunResult.predictions": "pubench-datasets-tables",
    "data": "pubench-datasets-tables",
    "run.decisions": "pubench-datasets-tables",
    "AuditResult": "pubench-evaluate",
    "AuditSample": "pubench-evaluate",
    "Evaluation": "pubench-evaluate",
    "PriorEstimates": "pubench-evaluate",
    "audit_answers": "pubench-evaluate",
    "audit_sample": "pubench-evaluate",
    "estimate_prior": "pubench-evaluate",
    "evaluate": "pubench-evaluate",
    "Results": "pubench-report",
    "SideBySide": "pubench-report",
    "compare": "pubench-report",
    "compare_with": "pubench-report",
    "load_results": "pubench-report",
    "site": "pubench-report",
    "RunResult.draw_scores": "pubench-report",
    "RunResult.trace": "pubench-report",
    "PUClassifier": "pubench-sklearn",
    "PUKFold": "pubench-sklearn",
    "pa_scorer": "pubench-sklearn",
    "pauc_scorer": "pubench-sklearn",
    "pulp_scorer": "pubench-sklearn",
    "recovered_auc_scorer": "pubench-sklearn",
    "run.folds": "pubench-crossfit",
    "run.model": "pubench-predict",
    "results.parquet": "pubench-report",
    "run.seeds": "pubench-report",
    "Trial": "pubench-tune",
    "Tuned": "pubench-tune",
    "tune": "pubench-tune",
    "Reproduction": "pubench-verify",
    "RunResult.reproduce": "pubench-verify",
    "Verification": "pubench-verify",
    "verify": "pubench-verify",
}


def tool(name: str) -> Any:
    """Object that an installed tool provides under a name (``tune``, ``RunResult.reproduce``).

    Raises ModuleNotFoundError if its package is not installed, PluginError if that is broken, AttributeError if no
    package is known to provide it.
    """
    package = PACKAGES.get(name)
    if package is None and not any(entry.kind == "api" for entry in tools().named(name)):
        raise AttributeError(f"module 'pubench' has no attribute '{name}'")
    try:
        return provided(name, f"pubench.{name}", package or name)
    except RequestError as error:
        raise ModuleNotFoundError(str(error), name=package) from None


def names() -> list[str]:
    """Names of the package that installed tools provide."""
    return sorted(info.name for info in tools().infos(ApiInfo) if "." not in info.name)
