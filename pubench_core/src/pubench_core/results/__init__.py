"""What a run leaves behind, as typed objects: results, failures, the environment. No torch, no files."""

from .failure import Failure
from .plain import plain_data
from .result import (
    NEVER,
    RECORD_VERSION,
    Code,
    CriterionResult,
    DataFacts,
    Environment,
    Estimate,
    Measure,
    PartFacts,
    PeakMemory,
    PriorFacts,
    Result,
    SavedModelFacts,
    Seconds,
    said_alike,
)

__all__ = [
    "NEVER",
    "RECORD_VERSION",
    "Code",
    "CriterionResult",
    "DataFacts",
    "Environment",
    "Estimate",
    "Failure",
    "Measure",
    "PartFacts",
    "PeakMemory",
    "PriorFacts",
    "Result",
    "SavedModelFacts",
    "Seconds",
    "plain_data",
    "said_alike",
]
