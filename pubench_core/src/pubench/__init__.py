"""pubench: the public face of the benchmark for positive-unlabeled (PU) learning.

>>> import pubench
>>> result = pubench.run("nnpu", "digits", c=0.1, seed=2, config={"epochs": 2}, tracking=False)
>>> sorted(result.test)[:3]
['accuracy', 'auc', 'average-precision']

Everything here is imported when it is first used: ``import pubench`` alone brings in neither torch nor NumPy. Authors
of methods import what they need from :mod:`pubench.method`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

#: Public name -> module of this package.
_HOMES = {
    "AuditResult": "scored.audit",
    "AuditSample": "scored.audit",
    "Evaluation": "scored.evaluation",
    "InvalidRequest": "words",
    "PUClassifier": "estimator",
    "PUKFold": "model_selection",
    "PUTable": "tables",
    "PriorEstimates": "scored.prior_estimates",
    "PubenchWarning": "words",
    "Results": "results",
    "Reproduction": "reproducing",
    "RunResult": "running",
    "SideBySide": "beside",
    "Trial": "tuning.result",
    "Tuned": "tuning.result",
    "Verification": "verifying",
    "audit_answers": "scored.audit",
    "audit_sample": "scored.audit",
    "compare": "comparing",
    "compare_with": "beside",
    "data": "tables",
    "estimate_prior": "scored.prior_estimates",
    "evaluate": "scored.evaluation",
    "list_backbones": "listing",
    "list_datasets": "listing",
    "list_mechanisms": "listing",
    "list_methods": "listing",
    "list_metrics": "listing",
    "list_priors": "listing",
    "load_results": "results",
    "pa_scorer": "model_selection",
    "pauc_scorer": "model_selection",
    "pulp_scorer": "model_selection",
    "recovered_auc_scorer": "model_selection",
    "run": "running",
    "site": "publishing",
    "tune": "tuning.front",
    "verify": "verifying",
}

if TYPE_CHECKING:
    from .beside import SideBySide, compare_with
    from .comparing import compare
    from .estimator import PUClassifier
    from .listing import list_backbones, list_datasets, list_mechanisms, list_methods, list_metrics, list_priors
    from .model_selection import PUKFold, pa_scorer, pauc_scorer, pulp_scorer, recovered_auc_scorer
    from .publishing import site
    from .reproducing import Reproduction
    from .results import Results, load_results
    from .running import RunResult, run
    from .scored.audit import AuditResult, AuditSample, audit_answers, audit_sample
    from .scored.evaluation import Evaluation, evaluate
    from .scored.prior_estimates import PriorEstimates, estimate_prior
    from .tables import PUTable, data
    from .tuning.front import tune
    from .tuning.result import Trial, Tuned
    from .verifying import Verification, verify
    from .words import InvalidRequest, PubenchWarning

__all__ = [
    "AuditResult",
    "AuditSample",
    "Evaluation",
    "InvalidRequest",
    "PUClassifier",
    "PUKFold",
    "PUTable",
    "PriorEstimates",
    "PubenchWarning",
    "Reproduction",
    "Results",
    "RunResult",
    "SideBySide",
    "Trial",
    "Tuned",
    "Verification",
    "audit_answers",
    "audit_sample",
    "compare",
    "compare_with",
    "data",
    "estimate_prior",
    "evaluate",
    "list_backbones",
    "list_datasets",
    "list_mechanisms",
    "list_methods",
    "list_metrics",
    "list_priors",
    "load_results",
    "pa_scorer",
    "pauc_scorer",
    "pulp_scorer",
    "recovered_auc_scorer",
    "run",
    "site",
    "tune",
    "verify",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is not None:
        found = getattr(importlib.import_module(f".{home}", __name__), name)
    elif name.startswith("_"):
        raise AttributeError(f"module 'pubench' has no attribute '{name}'")
    else:
        from .tools import tool

        found = tool(name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    from .tools import names

    return sorted({*_HOMES, *names()})
