"""Training one method on one problem, and scoring every part under every criterion."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from ..backbone import NetworkBuilder
from ..errors import Cause, OutOfTime, PluginError, PubenchError, RunFailed, said_by
from ..isolation import isolated, tiny_numbers_as_zero
from ..method import AnyMethod, Scorer
from ..metric import FloatArray, Scored
from ..plugins.events import EpochFinished
from ..randomness import torch_seed
from ..results import PeakMemory, Seconds
from ..training.epochs import Epoch, EpochEnd, ending_epochs_with
from ..training.run import Run
from ..training.scoring import evaluation_mode
from ..training.views import PUData
from .machine import PeakMemoryMeter
from .plan import Plan
from .problem import Problem
from .score import Evaluator, State, scored_states
from .select import HeldOut, Selection, Snapshot, refuse_undefined


@dataclass(eq=False)
class Monitor(EpochEnd):
    """Ends every epoch: finalize, score the validation part, update all criteria, trace, report what happened."""

    plan: Plan
    evaluator: Evaluator
    selection: Selection
    data: PUData
    run: Run[Any]
    report: Callable[[EpochFinished], None]
    epochs: list[EpochFinished] = field(default_factory=list)

    @property
    def exhausted(self) -> bool:
        return self.selection.exhausted

    def start_stage(self) -> None:
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
        started = time.perf_counter()
        number = epoch.total + 1
        place = {"stage": epoch.stage, "epoch": number}
        method = self.evaluator.method
        criteria: dict[str, float | None] = {}
        known: FloatArray | None = None
        self.refresh()  # whether or not anybody scores: what is traced must not change what is trained
        if selectable:
            by_criterion, held_out, known = self._criteria(place)
            if by_criterion or self.selection.keeps_checkpoints:
                self.selection.update(number, by_criterion, held_out, patience, lambda: Snapshot.take(method))
            criteria = {
                name: self.selection.tracks[name].best_of(by_candidate)[1]
                for name, by_candidate in by_criterion.items()
            }
        traced = self._traced(place, known)
        metrics = self.evaluator.measurer.metrics
        oracle = {name for name in self.selection.tracks if name in metrics and metrics[name].info.oracle}
        event = EpochFinished(
            run_id=self.plan.run_id,
            stage=epoch.stage,
            epoch=number,
            in_stage=epoch.in_stage + 1,
            stage_epochs=stage_epochs,
            seconds=seconds,
            evaluation_seconds=time.perf_counter() - started,
            criterion=self.plan.spec.selection.criterion,
            criteria=criteria,
            values={**values, **traced},
            needs_truth=frozenset(traced) | oracle,
            positive_decisions=None if known is None or not len(known) else float((known > 0).mean()),
        )
        self.epochs.append(event)
        self.report(event)

    def refresh(self) -> None:
        """Lets the method refresh stored numbers before it is scored."""
        with isolated(torch_seed(self.evaluator.problem.seed, "finalize"), self.run.device):
            self.evaluator.method.finalize(self.data, self.run)

    def _criteria(
        self, place: dict[str, Any]
    ) -> tuple[dict[str, dict[str, float | None]], dict[str, HeldOut], FloatArray | None]:
        """criterion -> candidate -> value; candidate -> its state on the validation rows; the first one's scores there.

        Of all criteria, as long as one that needs scores is still active.
        """
        evaluator = self.evaluator
        scored_ones = [t for t in self.selection.tracks.values() if not t.undefined and t.name != "last"]
        wanted = [t.name for t in scored_ones] if any(t.active for t in scored_ones) else []
        values: dict[str, dict[str, float | None]] = {name: {} for name in wanted}
        held_out: dict[str, HeldOut] = {}
        if not wanted:
            return values, held_out, None
        features, rows, _ = evaluator.problem.part("validation")
        candidates = evaluator.method.candidates()
        scores, _ = evaluator.outputs(candidates, features, rows, place)
        for candidate, fn in candidates.items():
            scored = evaluator.validation(scores[candidate])
            held_out[candidate] = HeldOut.of(scored)
            for name in wanted:
                values[name][candidate] = self._native(fn, place) if name == "native" else evaluator.value(name, scored)
        return values, held_out, next(iter(scores.values()))

    def _native(self, fn: Scorer, place: dict[str, Any]) -> float:
        """The method's own criterion."""
        with isolated(torch_seed(self.evaluator.problem.seed, "native"), self.run.device):
            own = float(self.evaluator.method.selection_score(self.data.validation, fn, self.run))
        if not np.isfinite(own):
            raise RunFailed(f"the method's own selection score is {own}", **place)
        return own

    def _traced(self, place: dict[str, Any], validation: FloatArray | None) -> dict[str, float]:
        """Measures of the parts to trace, against the truth; scores that selection needed are not computed again."""
        evaluator = self.evaluator
        values: dict[str, float] = {}
        fn = next(iter(evaluator.method.candidates().values()))
        for part in self.plan.spec.evaluation.trace:
            features, rows, truth = evaluator.problem.part(part)
            if truth is None:
                continue
            known = validation if part == "validation" else None
            scores = evaluator.scores(fn, features, rows, place) if known is None else known
            with isolated(0, evaluator.problem.device):
                found = evaluator.measurer.measure_all(
                    self.plan.spec.evaluation.metrics, Scored.of(scores, truth=truth)
                )
            values |= {f"{part}-{name}": one.value for name, one in found.items() if one.value is not None}
        return values


#: Rows that are kept of each of a method's generators.
SAMPLES = 64

#: What is raised where memory runs out, of the machine or of a GPU.
OUT_OF_MEMORY = (MemoryError, torch.OutOfMemoryError)


@dataclass(frozen=True)
class Trained:
    """Outcome of training: the method in its chosen state, per criterion its epoch and state, the costs.

    ``samples``: rows that a generative method drew, (n, *shape) by name; empty where none are kept.
    ``training``: arrays of the training part; empty where neither a file nor a threshold needs them.
    ``warnings``: what the method said of its training.
    """

    method: AnyMethod
    evaluator: Evaluator
    selection: Selection
    epochs: list[EpochFinished]
    states: dict[str, State]
    state_of: dict[str, str]
    seconds: Seconds
    memory: PeakMemory
    samples: dict[str, npt.NDArray[np.float32]]
    training: dict[str, FloatArray]
    warnings: tuple[str, ...] = ()

    @property
    def scores(self) -> dict[str, dict[str, FloatArray]]:
        """criterion -> part -> scores."""
        return {name: self.states[state].scores for name, state in self.state_of.items()}


@tiny_numbers_as_zero()
def train(
    plan: Plan,
    problem: Problem,
    *,
    memory: PeakMemoryMeter | None = None,
    started: Callable[[], None] = lambda: None,
    report: Callable[[EpochFinished], None] = lambda event: None,
    ended: Callable[[], None] = lambda: None,
) -> Trained:
    """Trains the method of a plan on a problem and scores every part under every criterion.

    ``started`` is called when everything was checked and training starts, ``report`` after every epoch, ``ended`` when
    training is over and scoring starts.

    Raises RequestError if the criterion that names the result is undefined on this split.
    """
    spec, device = plan.spec, problem.device
    memory = memory or PeakMemoryMeter(device)
    method = plan.method.implementation(plan.method.config)
    evaluator = Evaluator(problem, method, plan.metrics, spec.selection.criterion)
    selection = _selection(plan, evaluator)
    build = plan.backbone.builder(problem.data)
    with isolated(0, torch.device("cpu")):
        build(1)  # a network that does not fit the data is refused before the run is announced
    data = problem.view(plan.method.granted)
    with isolated(torch_seed(spec.seed, "check"), device):
        method.check(data)
    started_at = time.perf_counter()
    started()
    epochs, run = _fit(plan, evaluator, selection, build, data, report, ended)
    drawn = "samples" in spec.execution.artifacts and not selection.ended
    samples = _samples(method, run, problem) if drawn else {}
    trained_at = time.perf_counter()
    # a user's rows of U are scored anyway, and those of folds when they are joined
    decides = problem.prior is not None and problem.unlabeled_rows is None and spec.validation.folds is None
    stored = "training-scores" in spec.execution.artifacts
    states, state_of, training = scored_states(
        selection, evaluator, spec.selection.criterion, training=decides or stored, auxiliary=stored
    )
    ended_at = time.perf_counter()
    training_s, evaluation_s = sum(e.seconds for e in epochs), sum(e.evaluation_seconds for e in epochs)
    return Trained(
        method=method,
        evaluator=evaluator,
        selection=selection,
        epochs=epochs,
        states=states,
        state_of=state_of,
        seconds=Seconds(
            total=round(ended_at - started_at, 4),
            training=round(training_s, 4),
            evaluation=round(evaluation_s + ended_at - trained_at, 4),
            per_epoch=round((training_s + evaluation_s) / len(epochs), 4),
            per_epoch_training=round(training_s / len(epochs), 4),
        ),
        memory=memory.read(),
        samples=samples,
        training=training,
        warnings=tuple(run.warnings),
    )


def _fit(
    plan: Plan,
    evaluator: Evaluator,
    selection: Selection,
    build: NetworkBuilder,
    data: PUData,
    report: Callable[[EpochFinished], None],
    ended: Callable[[], None],
) -> tuple[list[EpochFinished], Run[Any]]:
    """Calls the method's ``fit``; its epochs and its run, with the last state kept in ``selection``."""
    spec, problem, method = plan.spec, evaluator.problem, evaluator.method
    chosen = spec.selection.criterion
    threads = torch.get_num_threads()
    run = Run(config=method.config, data=data, seed=spec.seed, device=problem.device, threads=threads, build=build)
    monitor = Monitor(plan, evaluator, selection, data, run, report)
    with ending_epochs_with(monitor), isolated(torch_seed(spec.seed, "fit"), problem.device):
        try:
            method.fit(data, run)
            ended()
        except RunFailed as error:
            if (
                error.cause != "non-finite"
                or spec.selection.non_finite == "fail"
                or not selection.tracks[chosen].chosen
            ):
                raise
            selection.close_without_last(f"training ended: {error}")
            ended()
            return monitor.epochs, run
        except (PubenchError, KeyboardInterrupt):
            raise
        # Whatever else a method raises is a failure of the run, at the place it had reached; so is its wish to end the
        # process (SystemExit), which it has no say in.
        except BaseException as error:
            timeout = isinstance(error, OutOfTime)
            cause: Cause = "timeout" if timeout else "out-of-memory" if isinstance(error, OUT_OF_MEMORY) else "error"
            reason = str(error) if timeout else said_by(error)
            if cause == "out-of-memory":  # torch goes on for 400 characters about its allocator
                reason = f"{reason.partition('. ')[0]}; a smaller batch_size or fewer runs at once need less"
            raise RunFailed(reason, cause=cause, **run.position) from error
    if not monitor.epochs:
        raise PluginError(f"{type(method).__name__}.fit never went through run.epochs")
    monitor.refresh()
    selection.close(len(monitor.epochs), Snapshot.take(method), next(iter(method.candidates())))
    return monitor.epochs, run


def _samples(method: AnyMethod, run: Run[Any], problem: Problem) -> dict[str, npt.NDArray[np.float32]]:
    """What the method generates. Raises PluginError for another number or shape of rows than the data have."""
    with isolated(torch_seed(problem.seed, "samples"), run.device), torch.no_grad(), evaluation_mode():
        drawn = method.samples(SAMPLES, run)
    shape = (SAMPLES, *problem.features.shape)
    for name, rows in drawn.items():
        if tuple(rows.shape) != shape:
            raise PluginError(f"{type(method).__name__}.samples gave {name} of shape {tuple(rows.shape)}, not {shape}")
    return {name: rows.float().cpu().contiguous().numpy() for name, rows in drawn.items()}


def _selection(plan: Plan, evaluator: Evaluator) -> Selection:
    """All criteria; RequestError if the one that names the result has no value on this split."""
    chosen = plan.spec.selection
    undefined = evaluator.undefined(chosen.criteria)
    refuse_undefined(chosen.criterion, undefined, chosen.criteria)
    infos = {name: plan.metrics[name].info for name in chosen.criteria if name in plan.metrics}
    return Selection(chosen.criteria, undefined, infos, keeps_checkpoints=plan.spec.validation.fold is not None)
