"""What happens at the end of an epoch, on the evaluator's side: scoring, selection, tracing, events.

This is the only place where scores meet true labels while a method trains, and nothing flows back but the news that
no criterion can improve any more.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from ..data.views import Features, PUPart
from ..errors import PluginError, RunFailed, Undefined
from ..events import EpochFinished
from ..info import MetricInfo
from ..method import AnyMethod, Scorer
from ..metric import FloatArray, Metric, Scored, measure
from ..randomness import isolated, torch_seed
from .problem import Problem
from .scoring import modules_of, score_rows
from .selection import Selection
from .snapshot import Snapshot

if TYPE_CHECKING:
    from .run import Epoch, Run

Measures = dict[str, tuple[MetricInfo, Metric]]


class Evaluator:
    """Scores parts of a problem and measures them against what is known of their rows."""

    def __init__(
        self,
        problem: Problem,
        method: AnyMethod,
        measures: Measures,
        *,
        criterion: str,
        seed: int,
        device: torch.device,
    ) -> None:
        self.problem, self.method, self.measures = problem, method, measures
        self.failed: dict[str, str] = {}
        self._seed, self._device, self._indispensable = seed, device, criterion

    def scores(self, fn: Scorer, features: Features, rows: Tensor, place: dict[str, Any]) -> FloatArray:
        """(n,) scores. Raises RunFailed if there is not one finite number per row, PluginError on a wrong shape."""
        with isolated(torch_seed(self._seed, "scoring"), self._device):
            found = score_rows(fn, features, rows, modules_of(self.method))
        if found.shape != (len(rows),):
            raise PluginError(
                f"{type(self.method).__name__} returned scores of shape {tuple(found.shape)} for {len(rows)} rows; "
                f"({len(rows)},) is right"
            )
        scores: FloatArray = found.double().cpu().numpy()
        if not np.isfinite(scores).all():
            bad = int(np.flatnonzero(~np.isfinite(scores))[0])
            raise RunFailed(f"the score of row {bad} is {scores[bad]}", **place)
        return scores

    def auxiliary(self, features: Features, rows: Tensor) -> dict[str, FloatArray]:
        """The method's further outputs by name, (n,) each; empty for most methods."""
        with isolated(torch_seed(self._seed, "scoring"), self._device):
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
        part = self.problem.split.validation
        return Scored.of(
            scores,
            truth=self.problem.truth_validation,
            labeled=np.flatnonzero(part.labeled),
            unlabeled=part.unlabeled(self.problem.scheme),
            prior=self.problem.prior,
            scheme=self.problem.scheme,
        )

    def value(self, name: str, scored: Scored) -> float | None:
        """One metric, None where it is undefined or failed."""
        return self._ask(name, scored)[0]

    def undefined(self, names: tuple[str, ...]) -> dict[str, str]:
        """Criteria without a value on this split, with the reason; found by asking each with constant scores."""
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
            elif reason := self._ask(name, scored)[1]:
                reasons[name] = reason
        return reasons

    def _ask(self, name: str, scored: Scored) -> tuple[float | None, str]:
        """(value, why there is none). A metric that fails is noted and not asked again in this run.

        The criterion that names the result is different: its failure is the run's.
        """
        if name in self.failed:
            return None, self.failed[name]
        info, metric = self.measures[name]
        try:
            return measure(metric, info, scored).value, ""
        except Undefined as reason:
            return None, str(reason)
        # A stranger's metric may raise anything; it costs its own value and not the run.
        except Exception as error:
            if name == self._indispensable:
                raise
            self.failed[name] = f"metric '{name}' failed and has no value: {type(error).__name__}: {error}"
            return None, self.failed[name]


class Monitor:
    """Ends every epoch: finalize, score the validation part, update all criteria, trace, tell the listeners."""

    def __init__(
        self,
        *,
        evaluator: Evaluator,
        selection: Selection,
        criterion: str,
        validation: PUPart,
        trace: tuple[str, ...],
        trace_metrics: tuple[str, ...],
        run_id: str,
        tell: Callable[[EpochFinished], None],
    ) -> None:
        self.evaluator, self.selection, self.criterion = evaluator, selection, criterion
        self.epochs: list[EpochFinished] = []
        self._validation, self._trace, self._trace_metrics = validation, trace, trace_metrics
        self._run_id, self._tell = run_id, tell
        self._context: tuple[Any, Run[Any]] | None = None

    def attach(self, data: Any, run: Run[Any]) -> None:
        """Gives the monitor what ``Method.finalize`` and ``selection_score`` are called with."""
        self._context = (data, run)

    @property
    def exhausted(self) -> bool:
        """No criterion can still change."""
        return self.selection.exhausted

    def begin_stage(self) -> None:
        """A new training loop begins: patience counts from here."""
        self.selection.begin_stage()

    def modules(self) -> list[nn.Module]:
        """The method's modules."""
        return modules_of(self.evaluator.method)

    def end_of_epoch(
        self,
        epoch: Epoch,
        stage_epochs: int,
        *,
        seconds: float,
        values: dict[str, float],
        selectable: bool,
        patience: int | None,
    ) -> None:
        """Called by ``run.epochs`` when a turn of the loop has ended."""
        started = time.perf_counter()
        number = epoch.total + 1
        place = {"stage": epoch.stage, "epoch": number}
        method = self.evaluator.method
        criteria: dict[str, float | None] = {}
        if selectable or self._trace:
            self.refresh()
        if selectable:
            by_criterion = self._criteria(place)
            self.selection.update(number, by_criterion, patience, lambda: Snapshot.take(method))
            criteria = {
                name: max((v for v in by_name.values() if v is not None), default=None)
                for name, by_name in by_criterion.items()
            }
        values = {**values, **self._traced(place)}
        event = EpochFinished(
            run_id=self._run_id,
            stage=epoch.stage,
            epoch=number,
            in_stage=epoch.in_stage + 1,
            stage_epochs=stage_epochs,
            seconds=seconds,
            evaluation_seconds=time.perf_counter() - started,
            criterion=self.criterion,
            criteria=criteria,
            values=values,
        )
        self.epochs.append(event)
        self._tell(event)

    def refresh(self) -> None:
        """Lets the method refresh stored numbers before it is scored."""
        assert self._context is not None
        data, run = self._context
        with isolated(torch_seed(self.evaluator.problem.seed, "finalize"), run.device):
            self.evaluator.method.finalize(data, run)

    def _criteria(self, place: dict[str, Any]) -> dict[str, dict[str, float | None]]:
        """criterion -> candidate -> value, of all criteria, as long as one that needs scores is still active."""
        assert self._context is not None
        evaluator, (_, run) = self.evaluator, self._context
        scored_ones = [t for t in self.selection.tracks.values() if not t.undefined and t.name != "last"]
        wanted = [t.name for t in scored_ones] if any(t.active for t in scored_ones) else []
        values: dict[str, dict[str, float | None]] = {name: {} for name in wanted}
        if not wanted:
            return values
        problem = evaluator.problem
        rows = problem.rows(problem.split.validation.rows)
        for candidate, fn in evaluator.method.candidates().items():
            scored = evaluator.validation(evaluator.scores(fn, problem.features, rows, place))
            for name in wanted:
                if name == "native":
                    with isolated(torch_seed(problem.seed, "native"), run.device):
                        own = float(evaluator.method.selection_score(self._validation, fn, run))
                    if not np.isfinite(own):
                        raise RunFailed(f"the method's own selection score is {own}", **place)
                    values[name][candidate] = own
                else:
                    values[name][candidate] = evaluator.value(name, scored)
        return values

    def _traced(self, place: dict[str, Any]) -> dict[str, float]:
        problem, values = self.evaluator.problem, {}
        for part in self._trace:
            features, rows, truth = problem.part(part)
            if truth is None:
                continue
            fn = next(iter(self.evaluator.method.candidates().values()))
            scored = Scored.of(self.evaluator.scores(fn, features, rows, place), truth=truth)
            for name in self._trace_metrics:
                value = self.evaluator.value(name, scored)
                if value is not None:
                    values[f"{part}-{name}"] = value
        return values
