"""pubench: the public face of the benchmark for positive-unlabeled (PU) learning.

>>> import pubench
>>> result = pubench.run("nnpu", "digits", c=0.1, seed=2, config={"epochs": 2}, tracking=False)
>>> sorted(result.test)[:3]
['accuracy', 'accuracy-at-prior', 'auc']

Everything here is imported when it is first used: ``import pubench`` alone brings in neither torch nor NumPy. Authors
of methods import what they need from :mod:`pubench.method`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

#: Public name -> module of this package.
_HOMES = {
    "InvalidRequest": "field_names",
    "PubenchWarning": "field_names",
    "RunResult": "running",
    "list_backbones": "listing",
    "list_datasets": "listing",
    "list_mechanisms": "listing",
    "list_methods": "listing",
    "list_metrics": "listing",
    "list_priors": "listing",
    "run": "running",
}

if TYPE_CHECKING:
    from pubench_datasets_tables.frames import PUTable, data
    from pubench_evaluate.advice.advise import advise
    from pubench_evaluate.advice.page import Advice
    from pubench_evaluate.audit import AuditResult, AuditSample, audit_answers, audit_sample
    from pubench_evaluate.evaluation import evaluate
    from pubench_evaluate.prior import PriorEstimates, estimate_prior
    from pubench_models.decisions import decisions, predictions
    from pubench_models.estimator import PUClassifier
    from pubench_models.model_selection import PUKFold, pa_scorer, pauc_scorer, pulp_scorer, recovered_auc_scorer
    from pubench_models.predict import TrainedModel, load_model
    from pubench_report.comparing import compare
    from pubench_report.comparison import SideBySide, compare_with
    from pubench_report.results import Results, load_results
    from pubench_report.site.write import site
    from pubench_report.trace import trace
    from pubench_tune.api import tune
    from pubench_tune.result import Trial, Tuned
    from pubench_verify.findings import Verification
    from pubench_verify.reproduction import Reproduction, reproduce
    from pubench_verify.verification import verify

    from .field_names import InvalidRequest, PubenchWarning
    from .listing import list_backbones, list_datasets, list_mechanisms, list_methods, list_metrics, list_priors
    from .running import RunResult, run

__all__ = [
    "Advice",
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
    "TrainedModel",
    "Trial",
    "Tuned",
    "Verification",
    "advise",
    "audit_answers",
    "audit_sample",
    "compare",
    "compare_with",
    "data",
    "decisions",
    "estimate_prior",
    "evaluate",
    "list_backbones",
    "list_datasets",
    "list_mechanisms",
    "list_methods",
    "list_metrics",
    "list_priors",
    "load_model",
    "load_results",
    "pa_scorer",
    "pauc_scorer",
    "predictions",
    "pulp_scorer",
    "recovered_auc_scorer",
    "reproduce",
    "run",
    "site",
    "trace",
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
