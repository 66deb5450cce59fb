"""Names of this package that tools provide."""

from __future__ import annotations

from typing import Any

from pubench_core.errors import RequestError
from pubench_core.plugins.info import ApiInfo
from pubench_core.plugins.registry import provided, tools

#: What installs names, for those that say so when they are used and are not there.
_INSTALLS = {
    "pubench-datasets-tables": "PUTable data decisions predictions",
    "pubench-evaluate": "Advice AuditResult AuditSample Evaluation PriorEstimates advise audit_answers audit_sample "
    "estimate_prior evaluate",
    "pubench-report": "Results SideBySide compare compare_with draw_scores load_results site trace",
    "pubench-models": "PUClassifier PUKFold pa_scorer pauc_scorer pulp_scorer recovered_auc_scorer",
    "pubench-tune": "Trial Tuned tune",
    "pubench-verify": "Reproduction Verification reproduce verify",
}
PACKAGES = {name: package for package, given in _INSTALLS.items() for name in given.split()}


def tool(name: str) -> Any:
    """Object that an installed tool provides under a name (``tune``).

    Raises ModuleNotFoundError if its package is not installed, PluginError if that is broken, AttributeError if no
    package is known to provide it.
    """
    package = PACKAGES.get(name)
    if package is None and not any(entry.kind == "api" for entry in tools().named(name)):
        raise AttributeError(f"module 'pubench' has no attribute '{name}'")
    try:
        return provided(ApiInfo, name, f"pubench.{name}", package or name)
    except RequestError as error:
        raise ModuleNotFoundError(str(error), name=package) from None


def names() -> list[str]:
    """Names of the package that installed tools provide."""
    return sorted(info.name for info in tools().infos(ApiInfo))
