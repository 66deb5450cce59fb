"""pubench core: what a PU-learning data set, labeling mechanism, method, metric, prior estimator and backbone is.

Importing this package is cheap: it brings in no torch. Method authors import from :mod:`pubench_core.method`.
"""

from .plugins.hooks import hookimpl
from .plugins.info import (
    ApiInfo,
    BackboneInfo,
    CommandInfo,
    DatasetInfo,
    ExecutorInfo,
    MechanismInfo,
    MethodInfo,
    MetricInfo,
    Preset,
    PriorInfo,
    Reference,
    SinkInfo,
    TableInfo,
)

__all__ = [
    "ApiInfo",
    "BackboneInfo",
    "CommandInfo",
    "DatasetInfo",
    "ExecutorInfo",
    "MechanismInfo",
    "MethodInfo",
    "MetricInfo",
    "Preset",
    "PriorInfo",
    "Reference",
    "SinkInfo",
    "TableInfo",
    "hookimpl",
]
