"""Set-ups that the tests of methods share: short trainings by the engine, and a run on a small table in the test."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import torch
from torch import Tensor

from pubench.method import Backbone, MethodConfig
from pubench_core.specs import Scheme
from pubench_core.training.run import Run
from pubench_core.training.views import Features, PUData, PUPart

ConfigT = TypeVar("ConfigT", bound=MethodConfig)


def pu_table(
    x: Tensor,
    n_labeled: int,
    scheme: Scheme = "single-training-set",
    *,
    copied: bool = False,
    prior: float | None = None,
) -> PUData:
    """Rows x as training and validation data; the first ``n_labeled`` are labeled positives.

    ``copied``: the labeled rows are in U too, as in a calibrated case-control sample. ``prior`` is granted if given.
    """
    instance = torch.arange(len(x))
    if copied:
        instance = torch.cat([instance[:n_labeled], instance])
    labeled = torch.arange(len(instance)) < n_labeled
    part = PUPart(Features(x), instance, labeled, scheme)
    granted = frozenset() if prior is None else frozenset({"prior"})
    return PUData(Features(x), instance, labeled, scheme, validation=part, granted=granted, prior=prior, truth=None)


def run_on(data: PUData, config: ConfigT, build: Callable[[int], Backbone] | None = None) -> Run[ConfigT]:
    """A run of seed 2 on the CPU without an engine. ``build``: makes the backbone; without it, asking for one fails."""
    return Run(config=config, data=data, seed=2, device=torch.device("cpu"), threads=1, build=build or _no_backbone)


def _no_backbone(outputs: int) -> Backbone:
    raise AssertionError("this test has networks of its own")
