"""Installed plugins, as info records. Imports no implementation."""

from __future__ import annotations

import warnings

from pubench_core.plugins.info import BackboneInfo, DatasetInfo, MechanismInfo, MethodInfo, MetricInfo, PriorInfo
from pubench_core.plugins.registry import InfoT, registry

from .field_names import PubenchWarning


def _installed(kind: type[InfoT]) -> tuple[InfoT, ...]:
    """Usable info records, by key; of each broken plugin a warning says why."""
    for entry in registry().entries(kind.kind):
        if entry.status != "ok":
            broken = f"{entry.distribution} {entry.version} is broken: {entry.reason}"
            warnings.warn(broken, PubenchWarning, stacklevel=3)
    return tuple(registry().infos(kind))


def list_methods() -> tuple[MethodInfo, ...]:
    """Every installed method: key, name, summary, setting, what it needs, reference, presets.

    >>> "nnpu" in [method.key for method in list_methods()]
    True
    """
    return _installed(MethodInfo)


def list_datasets() -> tuple[DatasetInfo, ...]:
    """Every installed data set: key, classes, source, license, reference."""
    return _installed(DatasetInfo)


def list_mechanisms() -> tuple[MechanismInfo, ...]:
    """Every installed labeling mechanism."""
    return _installed(MechanismInfo)


def list_metrics() -> tuple[MetricInfo, ...]:
    """Every installed metric; ``oracle`` says which need true labels, ``criterion`` which can choose an epoch."""
    return _installed(MetricInfo)


def list_priors() -> tuple[PriorInfo, ...]:
    """Every installed class-prior estimator."""
    return _installed(PriorInfo)


def list_backbones() -> tuple[BackboneInfo, ...]:
    """Every installed network."""
    return _installed(BackboneInfo)
