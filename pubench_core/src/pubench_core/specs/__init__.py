"""Requests as validated models: run specs, hyper-parameters, sampling schemes."""

from .run import (
    GIVEN,
    BackboneSpec,
    DataSpec,
    DecisionSpec,
    EvaluationSpec,
    ExecutionSpec,
    MechanismSpec,
    MethodSpec,
    RunSpec,
    SelectionSpec,
    UserTableSpec,
    ValidationSpec,
)
from .schemes import DRAWN_SCHEMES, Scheme, is_one_sample, population_prior, unlabeled_prior

__all__ = [
    "DRAWN_SCHEMES",
    "GIVEN",
    "BackboneSpec",
    "DataSpec",
    "DecisionSpec",
    "EvaluationSpec",
    "ExecutionSpec",
    "MechanismSpec",
    "MethodSpec",
    "RunSpec",
    "Scheme",
    "SelectionSpec",
    "UserTableSpec",
    "ValidationSpec",
    "is_one_sample",
    "population_prior",
    "unlabeled_prior",
]
