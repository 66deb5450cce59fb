"""Scoring parts of a problem, and measuring the scores against what is known of their rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from torch import Tensor

from ..errors import PluginError, RunFailed
from ..isolation import isolated
from ..method import AnyMethod, Scorer
from ..metric import FloatArray, Measurer, MetricPlugin, Scored
from ..randomness import torch_seed
from ..training.scoring import modules_of, score_rows
from ..training.views import Features
from .problem import Problem


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
        with isolated(torch_seed(self._seed, "scoring"), self.problem.device):
            found = score_rows(fn, features, rows, modules_of(self.method))
        if found.shape != (len(rows),):
            raise PluginError(
                f"{type(self.method).__name__} returned scores of shape {tuple(found.shape)} for {len(rows)} rows; "
                f"({len(rows)},) is right"
            )
        scores: FloatArray = found.double().cpu().numpy()
        if not np.isfinite(scores).all():
            bad = int(np.flatnonzero(~np.isfinite(scores))[0])
            raise RunFailed(f"the score of row {bad} is {scores[bad]}", cause="non-finite", **place)
        return scores

    def auxiliary(self, features: Features, rows: Tensor) -> dict[str, FloatArray]:
        """The method's further outputs by name, (n,) each; empty for most methods."""
        with isolated(torch_seed(self._seed, "scoring"), self.problem.device):
            names = list(self.method.auxiliary_scores(features.take(rows[:1])))
            found = {
                name: score_rows(
                    lambda x, name=name: self.method.auxiliary_scores(x)[name],  # type: ignore[misc]
                    features,
                    rows,
                    modules_of(self.method),
                )
                for name in names
            }
        return {name: values.double().cpu().numpy() for name, values in found.items()}

    def validation(self, scores: FloatArray) -> Scored:
        """Validation scores with everything that is known of these rows; a metric sees what it declared."""
        return Scored.of(scores, self._validation)

    def value(self, name: str, scored: Scored) -> float | None:
        """One metric, None where it is undefined or failed."""
        return self.measurer.measure(name, scored).value

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
            elif reason := self.measurer.measure(name, scored).undefined:
                reasons[name] = reason
        return reasons
