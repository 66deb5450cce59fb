"""Scoring parts of a problem, and measuring the scores against what is known of their rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..errors import PluginError, RunFailed
from ..isolation import isolated
from ..method import AnyMethod, Scorer
from ..metric import FloatArray, Measurer, MetricPlugin, Scored
from ..randomness import torch_seed
from ..training.scoring import score_outputs
from ..training.views import Features
from .problem import Problem

#: What scores may be: the methods of another kind of tensor would be called with the order of the rows.
KINDS: set[type] = {Tensor}


class Evaluator:
    """Holds the truth; a method never sees it. ``measurer``: applies the run's metrics."""

    def __init__(
        self,
        problem: Problem,
        method: AnyMethod,
        metrics: Mapping[str, MetricPlugin],
        *,
        criterion: str,
        seed: int,
    ) -> None:
        self.problem, self.method = problem, method
        self.measurer = Measurer(metrics, indispensable=criterion)
        self._seed = seed
        self._validation = problem.knowledge("validation")

    def scores(self, fn: Scorer, features: Features, rows: Tensor, place: dict[str, Any]) -> FloatArray:
        """(n,) scores. Raises RunFailed if there is not one finite number per row, PluginError on a wrong shape."""
        return self.outputs({"": fn}, features, rows, place)[0][""]

    def outputs(
        self,
        scorers: Mapping[str, Scorer],
        features: Features,
        rows: Tensor,
        place: dict[str, Any],
        *,
        auxiliary: bool = False,
        in_order: bool = False,
    ) -> tuple[dict[str, FloatArray], dict[str, FloatArray]]:
        """Scores of several scorers, and the method's further outputs if asked for: name -> (n,), in one pass.

        Rows are shown in random order, whatever order they have in a file, unless ``in_order``. Raises as
        :meth:`scores`.
        """
        method = self.method

        def every_output(x: Tensor) -> dict[str, Tensor]:
            found = {f"score {name}": self._checked(scorer(x), len(x), scorer) for name, scorer in scorers.items()}
            if auxiliary:
                more = method.auxiliary_scores(x).items()
                found |= {f"auxiliary {name}": self._checked(v, len(x), method.auxiliary_scores) for name, v in more}
            return found

        order = self._order(len(rows), in_order=in_order).to(rows.device)
        with isolated(torch_seed(self._seed, "scores"), self.problem.device):  # not the stream that the order is of
            shown = score_outputs(every_output, features, rows[order])
        found: dict[str, dict[str, FloatArray]] = {"score": {}, "auxiliary": {}}
        for name, values in shown.items():
            kind, _, own = name.partition(" ")
            found[kind][own] = torch.empty_like(values).index_copy_(0, order, values).double().cpu().numpy()
        for name, scores in found["score"].items():
            if not np.isfinite(scores).all():
                bad = int(np.flatnonzero(~np.isfinite(scores))[0])
                failed = RunFailed(f"the score of row {bad} is {scores[bad]}", cause="non-finite", **place)
                failed.about = scorers[name]
                raise failed
        return found["score"], found["auxiliary"]

    def _checked(self, values: Tensor, n: int, fn: Callable[..., Any]) -> Tensor:
        """What ``fn`` returned for n rows. Raises PluginError unless it is a tensor of shape (n,)."""
        name = type(self.method).__name__
        wrong = ""
        if type(values) not in KINDS:
            wrong = f"{name} must return scores as a torch.Tensor, got {type(values).__name__}"
        elif values.shape != (n,):
            wrong = f"{name} must return scores of shape ({n},) for {n} rows, got shape {tuple(values.shape)}"
        if wrong:
            error = PluginError(wrong)
            error.about = fn
            raise error
        return values

    def _order(self, n: int, *, in_order: bool) -> Tensor:
        if in_order:
            return torch.arange(n)
        return torch.randperm(n, generator=torch.Generator().manual_seed(torch_seed(self._seed, "scoring")))

    def validation(self, scores: FloatArray) -> Scored:
        """Validation scores with everything that is known of these rows; a metric sees what it declared."""
        return Scored.of(scores, self._validation)

    def value(self, name: str, scored: Scored) -> float | None:
        """One metric, None where it is undefined or failed; what it draws at random is not missing in the run."""
        with isolated(0, self.problem.device):
            return self.measurer.measure(name, scored).value

    def values(self, names: Iterable[str], scored: Scored) -> dict[str, float]:
        """Every metric for which enough is known and that has a value."""
        with isolated(0, self.problem.device):
            measures = self.measurer.measure_all(names, scored)
        return {name: measure.value for name, measure in measures.items() if measure.value is not None}

    def undefined(self, names: tuple[str, ...]) -> dict[str, str]:
        """Criteria without a value on this split, with the reason; found by measuring constant scores."""
        part = self.problem.split.validation
        scored = self.validation(np.zeros(len(part.rows)))
        reasons = {}
        for name in names:
            if name == "last":
                continue
            if not len(part.rows):
                reasons[name] = "there is no validation part"
            elif name == "native":
                if not part.n_labeled:
                    reasons[name] = "no labeled validation positive"
            else:
                with isolated(0, self.problem.device):
                    reason = self.measurer.measure(name, scored).undefined
                if reason:
                    reasons[name] = reason
        return reasons
