"""End of an epoch, on the evaluator's side: scoring, selection, tracing, events.

This is the only place where scores meet true labels while a method trains, and nothing flows back but the news that
no criterion can improve any more.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import RunFailed
from ..isolation import isolated
from ..method import Scorer
from ..metric import FloatArray, Scored
from ..plugins.events import EpochFinished
from ..randomness import torch_seed
from ..training.epochs import Epoch
from ..training.memory import remembering_outputs
from ..training.run import Run
from ..training.views import PUPart
from .score import Evaluator
from .select import HeldOut, Selection
from .snapshot import Snapshot


class Monitor:
    """Ends every epoch: finalize, score the validation part, update all criteria, trace, report what happened."""

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
        report: Callable[[EpochFinished], None],
    ) -> None:
        self.evaluator, self.selection, self.criterion = evaluator, selection, criterion
        self.epochs: list[EpochFinished] = []
        self._validation, self._trace, self._trace_metrics = validation, trace, trace_metrics
        self._run_id, self._report = run_id, report
        metrics = evaluator.measurer.metrics
        self._oracle_criteria = frozenset(
            name for name in selection.tracks if name in metrics and metrics[name].info.oracle
        )
        self._context: tuple[Any, Run[Any]] | None = None
        self._validation_scores: FloatArray | None = None

    def attach(self, data: Any, run: Run[Any]) -> None:
        """Gives the monitor what ``Method.finalize`` and ``selection_score`` are called with."""
        self._context = (data, run)

    @property
    def exhausted(self) -> bool:
        """No criterion can still change."""
        return self.selection.exhausted

    def start_stage(self) -> None:
        """A new training loop: patience counts from here."""
        self.selection.start_stage()

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
        self._validation_scores = None
        with remembering_outputs():
            self.refresh()  # whether or not anybody scores: what is traced must not change what is trained
            if selectable:
                by_criterion, held_out = self._criteria(place)
                if by_criterion or self.selection.keeps_checkpoints:
                    self.selection.update(number, by_criterion, held_out, patience, lambda: Snapshot.take(method))
                criteria = {
                    name: self.selection.tracks[name].best_of(by_candidate)[1]
                    for name, by_candidate in by_criterion.items()
                }
            traced = self._traced(place)
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
            values={**values, **traced},
            needs_truth=frozenset(traced) | self._oracle_criteria,
            positive_decisions=self._positive_decisions(),
        )
        self.epochs.append(event)
        self._report(event)

    def _positive_decisions(self) -> float | None:
        """Share of validation rows called positive by scores that selection needed; none are computed for it."""
        scores = self._validation_scores
        return None if scores is None or not len(scores) else float((scores > 0).mean())

    def refresh(self) -> None:
        """Lets the method refresh stored numbers before it is scored."""
        assert self._context is not None
        data, run = self._context
        with isolated(torch_seed(self.evaluator.problem.seed, "finalize"), run.device):
            self.evaluator.method.finalize(data, run)

    def _criteria(self, place: dict[str, Any]) -> tuple[dict[str, dict[str, float | None]], dict[str, HeldOut]]:
        """criterion -> candidate -> value, and candidate -> its state on the validation rows.

        Of all criteria, as long as one that needs scores is still active.
        """
        assert self._context is not None
        evaluator, (_, run) = self.evaluator, self._context
        scored_ones = [t for t in self.selection.tracks.values() if not t.undefined and t.name != "last"]
        wanted = [t.name for t in scored_ones] if any(t.active for t in scored_ones) else []
        values: dict[str, dict[str, float | None]] = {name: {} for name in wanted}
        held_out: dict[str, HeldOut] = {}
        if not wanted:
            return values, held_out
        features, rows, _ = evaluator.problem.part("validation")
        candidates = evaluator.method.candidates()
        scores, _ = evaluator.outputs(candidates, features, rows, place)
        for candidate, fn in candidates.items():
            scored = evaluator.validation(scores[candidate])
            held_out[candidate] = HeldOut.of(scored)
            for name in wanted:
                values[name][candidate] = (
                    self._native(fn, run, place) if name == "native" else evaluator.value(name, scored)
                )
        self._validation_scores = next(iter(scores.values()))
        return values, held_out

    def _native(self, fn: Scorer, run: Run[Any], place: dict[str, Any]) -> float:
        """The method's own criterion."""
        with isolated(torch_seed(self.evaluator.problem.seed, "native"), run.device):
            own = float(self.evaluator.method.selection_score(self._validation, fn, run))
        if not np.isfinite(own):
            raise RunFailed(f"the method's own selection score is {own}", **place)
        return own

    def _traced(self, place: dict[str, Any]) -> dict[str, float]:
        """Measures of the parts to trace, against the truth; scores that selection needed are not computed again."""
        evaluator = self.evaluator
        values: dict[str, float] = {}
        fn = next(iter(evaluator.method.candidates().values()))
        for part in self._trace:
            features, rows, truth = evaluator.problem.part(part)
            if truth is None:
                continue
            known = self._validation_scores if part == "validation" else None
            scores = evaluator.scores(fn, features, rows, place) if known is None else known
            found = evaluator.values(self._trace_metrics, Scored.of(scores, truth=truth))
            values |= {f"{part}-{name}": value for name, value in found.items()}
        return values
