"""A request that has been understood: everything a run needs, looked up, loaded and validated once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..backbone import Backbone, NetworkBuilder
from ..data.dataset import PNDataset
from ..data.labeled import LabeledData
from ..data.source import DataSource
from ..mechanism import Mechanism
from ..method import AnyMethod
from ..metric import MetricPlugin
from ..plugins.info import BackboneInfo, DatasetInfo, MechanismInfo, MethodInfo, PriorInfo
from ..prior import PriorEstimator
from ..results import Code
from ..specs import RunSpec
from ..specs.config import MethodConfig


@dataclass(frozen=True)
class MethodChoice:
    """``config``: validated; ``requires``: what the method, so configured, cannot do without besides features and
    labels; ``uses``: what else it reads if it is known.
    """

    info: MethodInfo
    implementation: type[AnyMethod]
    config: MethodConfig
    requires: frozenset[str]
    uses: frozenset[str] = frozenset()

    @property
    def granted(self) -> frozenset[str]:
        """Knowledge that the method is given, if it is there."""
        return self.requires | self.uses


@dataclass(frozen=True)
class DataChoice:
    """``source``: reads a data set; ``table``: the rows of a user's table, with their labels. One of them is None."""

    info: DatasetInfo
    source: DataSource | None
    table: LabeledData | None

    @property
    def truth_in_pool(self) -> bool:
        """Whether the true labels of the rows to train on are known."""
        return self.info.labels == "simulated" if self.table is None else self.table.truth is not None

    @property
    def can_be_tested(self) -> bool:
        """Whether there are test rows of known truth, or rows of known truth to split some off."""
        return self.table is None or self.table.can_be_tested


@dataclass(frozen=True)
class MechanismChoice:
    """A labeling mechanism in one of its variants."""

    info: MechanismInfo
    mechanism: Mechanism


@dataclass(frozen=True)
class BackboneChoice:
    """A network's factory."""

    info: BackboneInfo
    factory: Callable[[tuple[int, ...], int], Backbone]
    in_bf16: bool = False

    def builder(self, data: PNDataset) -> NetworkBuilder:
        """Makes networks for the rows of a data set."""
        return NetworkBuilder(self.info.key, self.factory, data.shape, data.mean, data.std, self.in_bf16)


@dataclass(frozen=True)
class EstimatorChoice:
    """A class-prior estimator."""

    info: PriorInfo
    estimator: PriorEstimator


@dataclass(frozen=True)
class Plan:
    """A run that can be carried out without asking any registry.

    ``metrics``: every installed metric that loads, whether the spec names it or not. ``mechanism``: None where the
    labels are given. ``estimator``: None where the prior is not estimated. ``code``: what computes, except the data,
    whose digest is known when they have been opened. ``joined_by``: makes the work of a run that joins folds, None for
    any other (:class:`~pubench_core.engine.execute.Work`). ``model_writer``: (plan,
    problem, method, candidate) -> content of ``model.safetensors``; None if no model is kept.
    """

    spec: RunSpec
    run_id: str
    data: DataChoice
    mechanism: MechanismChoice | None
    method: MethodChoice
    backbone: BackboneChoice
    estimator: EstimatorChoice | None
    metrics: Mapping[str, MetricPlugin]
    code: Code
    joined_by: Callable[..., Any] | None = None
    model_writer: Callable[..., bytes] | None = None

    def code_reading(self, digest: str) -> Code:
        """The code with the digest of the arrays that it reads; that of a user's table is among its parts already."""
        if not digest:
            return self.code
        return Code.of({**self.code.parts, f"data {self.data.info.address}": digest}, self.code.versions)

    def criterion_code(self, name: str) -> str:
        """Hash of a criterion's code; empty for ``native``, which is the method's, and ``last``."""
        return "" if name in ("native", "last") else self.metrics[name].code
