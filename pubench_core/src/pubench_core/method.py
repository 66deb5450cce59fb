"""The contract of a PU method: hyper-parameters, training, scores.

A method's file holds its algorithm and nothing else. Data loading, devices, batching, evaluation, choice of epoch,
logging and records are the engine's (:class:`pubench_core.training.run.Run`). Authors import from
:mod:`pubench.method`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Generic, TypeVar, get_args

import numpy as np
import numpy.typing as npt
from torch import Tensor

from .backbone import NetworkBuilder
from .specs.config import MethodConfig
from .training.run import Run
from .training.views import PUData, PUPart

#: (B, *shape) float32 rows -> (B,) real-valued scores, positive iff above 0.
Scorer = Callable[[Tensor], Tensor]
ConfigT = TypeVar("ConfigT", bound=MethodConfig)


class Method(ABC, Generic[ConfigT]):
    """A PU learning method.

    Networks, teachers and stored numbers are plain attributes. ``scored_by`` names the attributes that
    ``decision_function`` (or ``candidates``) reads: modules, tensors, arrays, numbers, or objects with
    ``state_dict``/``load_state_dict``. Only those are kept when an epoch is the best so far.
    """

    Config: ClassVar[type[MethodConfig]] = MethodConfig
    scored_by: ClassVar[tuple[str, ...]] = ("net",)

    def __init_subclass__(cls, **options: Any) -> None:
        """``class NNPU(Method[Config])`` says what the configuration is; ``NNPU.Config`` is where it is found."""
        super().__init_subclass__(**options)
        for base in getattr(cls, "__orig_bases__", ()):
            for argument in get_args(base):
                if isinstance(argument, type) and issubclass(argument, MethodConfig):
                    cls.Config = argument

    def __init__(self, config: ConfigT) -> None:
        self.config = config

    @classmethod
    def requires(cls, config: ConfigT) -> frozenset[str]:
        """Inputs that ``fit`` needs besides features and labels: a subset of {"prior", "truth"}."""
        return frozenset()

    @classmethod
    def uses(cls, config: ConfigT) -> frozenset[str]:
        """Inputs that ``fit`` reads if they are known, and does without otherwise: {"prior"} or nothing."""
        return frozenset()

    @classmethod
    def takes_gaps(cls, config: ConfigT) -> bool:
        """Whether ``fit`` and ``decision_function`` take missing values (NaN). If not, medians stand for them."""
        return False

    @classmethod
    def takes_sparse(cls, config: ConfigT) -> bool:
        """Whether ``fit`` and ``decision_function`` take sparse rows, as a tensor of layout ``torch.sparse_csr``.

        If not, they get dense ones, a batch at a time.
        """
        return False

    @classmethod
    def takes_weights(cls, config: ConfigT) -> bool:
        """Whether ``fit`` heeds ``data.weight``. If not, a table whose rows weigh differently is refused."""
        return False

    def assemble(self, build: NetworkBuilder) -> None:
        """Sets the attributes that ``scored_by`` names, untrained, before a saved model is put back.

        Only for modules that are more than a backbone, and for objects of another package; ``build(outputs)`` makes a
        backbone for rows of ``build.shape``. Backbones, tensors, arrays, numbers and the package's own objects come
        back by themselves.
        """
        return

    def check(self, data: PUData) -> None:
        """Raises RequestError for what a split must offer and does not; called before the run is announced."""
        return

    @abstractmethod
    def fit(self, data: PUData, run: Run[ConfigT]) -> None:
        """Trains on the table LP ‖ U; epochs are turns of ``run.epochs``."""

    @abstractmethod
    def decision_function(self, x: Tensor) -> Tensor:
        """Scores rows: (B, *shape) -> (B,) real numbers; above 0 is decided positive. Scoring changes no state."""

    def finalize(self, data: PUData, run: Run[ConfigT]) -> None:
        """Refreshes stored numbers (thresholds, normalizers) before an epoch is scored."""
        return

    def candidates(self) -> dict[str, Scorer]:
        """The scorers among which the best is chosen, where the result is the best of several networks."""
        return {"": self.decision_function}

    def selection_score(self, validation: PUPart, score: Scorer, run: Run[ConfigT]) -> float:
        """The method's own PU-only criterion (``native``), higher is better. Override it to make it selectable."""
        raise NotImplementedError

    def auxiliary_scores(self, x: Tensor) -> dict[str, Tensor]:
        """Further outputs by name (propensity, discriminator), each (B,); they read only what ``scored_by`` names."""
        return {}

    def out_of_bag_scores(self) -> Tensor | None:
        """Scores of the rows of the table LP ‖ U by members that did not see them, (n,); None if there are none.

        NaN for a row that every member saw. The list of a user's unlabeled rows has them. Only for a method that trains
        in one epoch: they are of the state after ``fit``.
        """
        return None

    def feature_importances(self) -> npt.NDArray[np.float64] | None:
        """How much each of the d features of a vector mattered to the scores, (d,); None if the method cannot say.

        It reads only what ``scored_by`` names.
        """
        return None

    def coefficients(self) -> npt.NDArray[np.float64] | None:
        """(d,) weights of the features if the scores rise with a weighted sum of them; else None."""
        return None

    def samples(self, n: int, run: Run[ConfigT]) -> dict[str, Tensor]:
        """Rows that the method generates, by name, (n, *shape) each; empty if it generates nothing.

        They are recorded where ``execution.artifacts`` names ``samples``, as they are after the last epoch.
        """
        return {}


AnyMethod = Method[Any]
