"""Training one method on one problem, and scoring every part under every criterion."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from ..errors import Cause, PluginError, PubenchError, RunFailed, said_by
from ..isolation import isolated, tiny_numbers_as_zero
from ..method import AnyMethod
from ..metric import FloatArray
from ..plugins.events import EpochFinished
from ..randomness import torch_seed
from ..results import PeakMemory, Seconds
from ..training.epochs import ending_epochs_with
from ..training.networks import NetworkBuilder
from ..training.run import Run
from ..training.scoring import evaluation_mode
from ..training.views import PUData
from .monitor import Monitor
from .peak_memory import PeakMemoryMeter
from .plan import Plan
from .problem import Problem
from .score import Evaluator
from .select import Selection, Track, refuse_undefined
from .snapshot import Snapshot

#: Rows that are kept of each of a method's generators.
SAMPLES = 64

#: What is raised where memory runs out, of the machine or of a GPU.
OUT_OF_MEMORY = (MemoryError, torch.OutOfMemoryError)


@dataclass(frozen=True)
class State:
    """Scores of one distinct state of a method.

    ``scores``: part (test, validation, and unlabeled for a user's table) -> (n,) scores; ``auxiliary``: the method's
    further outputs on the test part.
    """

    name: str
    scores: dict[str, FloatArray]
    auxiliary: dict[str, FloatArray] = field(default_factory=dict)


@dataclass(frozen=True)
class Trained:
    """Outcome of training: the method in its chosen state, per criterion its epoch and state, the costs.

    ``samples``: rows that a generative method drew, (n, *shape) by name; empty where none are kept.
    ``training``: state -> scores of the training part; empty where neither a file nor a threshold needs them.
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
    method = plan.method.new()
    evaluator = Evaluator(problem, method, plan.metrics, criterion=spec.selection.criterion, seed=spec.seed)
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
    samples = _samples(method, run, spec.seed) if drawn else {}
    trained_at = time.perf_counter()
    # a user's rows of U are scored anyway, and those of folds when they are joined
    decides = problem.prior is not None and problem.unlabeled_rows is None and spec.validation.folds is None
    kept = decides or "training-scores" in spec.execution.artifacts
    states, state_of, training = _scored_states(selection, evaluator, spec.selection.criterion, training=kept)
    ended_at = time.perf_counter()
    return Trained(
        method=method,
        evaluator=evaluator,
        selection=selection,
        epochs=epochs,
        states=states,
        state_of=state_of,
        seconds=_seconds(epochs, ended_at - started_at, ended_at - trained_at),
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
    monitor = Monitor(
        evaluator=evaluator,
        selection=selection,
        criterion=chosen,
        validation=data.validation,
        trace=spec.evaluation.trace,
        trace_metrics=spec.evaluation.metrics,
        run_id=plan.run_id,
        report=report,
    )
    run = Run(
        config=method.config,
        data=data,
        seed=spec.seed,
        device=problem.device,
        threads=torch.get_num_threads(),
        build=build,
    )
    monitor.attach(data, run)
    with ending_epochs_with(monitor), isolated(torch_seed(spec.seed, "fit"), problem.device):
        try:
            method.fit(data, run)
            ended()
        except RunFailed as error:
            if error.cause != "non-finite" or spec.selection.non_finite == "fail" or not selection.chosen(chosen):
                raise
            selection.close_without_last(f"training ended: {error}")
            ended()
            return monitor.epochs, run
        except (PubenchError, KeyboardInterrupt):
            raise
        # Whatever else a method raises is a failure of the run, at the place it had reached; so is its wish to end the
        # process (SystemExit), which it has no say in.
        except BaseException as error:
            cause: Cause = "out-of-memory" if isinstance(error, OUT_OF_MEMORY) else "error"
            raise RunFailed(said_by(error), cause=cause, **run.position) from error
    if not monitor.epochs:
        raise PluginError(f"{type(method).__name__}.fit never went through run.epochs")
    monitor.refresh()
    selection.close(len(monitor.epochs), Snapshot.take(method), next(iter(method.candidates())))
    return monitor.epochs, run


def _samples(method: AnyMethod, run: Run[Any], seed: int) -> dict[str, npt.NDArray[np.float32]]:
    """What the method generates. Raises PluginError for another number or shape of rows than the data have."""
    with isolated(torch_seed(seed, "samples"), run.device), torch.no_grad(), evaluation_mode():
        drawn = method.samples(SAMPLES, run)
    shape = (SAMPLES, *run.row_shape)
    for name, rows in drawn.items():
        if tuple(rows.shape) != shape:
            raise PluginError(f"{type(method).__name__}.samples gave {name} of shape {tuple(rows.shape)}, not {shape}")
    return {name: rows.float().cpu().contiguous().numpy() for name, rows in drawn.items()}


def _selection(plan: Plan, evaluator: Evaluator) -> Selection:
    """All criteria; RequestError if the one that names the result has no value on this split."""
    chosen, problem = plan.spec.selection, evaluator.problem
    undefined = evaluator.undefined(chosen.criteria)
    refuse_undefined(
        chosen.criterion,
        undefined,
        counts=_before_validation(problem),
        c=plan.spec.mechanism.c,
        known=chosen.criteria,
    )
    infos = {name: plan.metrics[name].info for name in chosen.criteria if name in plan.metrics}
    lower = {name for name, info in infos.items() if not info.higher_is_better}
    oracle = {name for name, info in infos.items() if info.oracle}
    folded = plan.spec.validation.fold is not None
    return Selection(chosen.criteria, undefined, lower, oracle, keeps_checkpoints=folded)


def _before_validation(problem: Problem) -> tuple[int, int] | None:
    """(negatives, positives) of the training part with the validation part put back; None without truth."""
    if problem.truth_train is None or problem.truth_validation is None:
        return None
    truth = np.concatenate([problem.truth_train, problem.truth_validation])
    return int((truth == 0).sum()), int((truth == 1).sum())


def _seconds(epochs: list[EpochFinished], total: float, final_scoring: float) -> Seconds:
    training, evaluation = sum(e.seconds for e in epochs), sum(e.evaluation_seconds for e in epochs)
    return Seconds(
        total=round(total, 4),
        training=round(training, 4),
        evaluation=round(evaluation + final_scoring, 4),
        per_epoch=round((training + evaluation) / len(epochs), 4),
        per_epoch_training=round(training / len(epochs), 4),
    )


# -------------------------------------------------------------------- scoring what was kept


def _scored_states(
    selection: Selection, evaluator: Evaluator, chosen: str, *, training: bool
) -> tuple[dict[str, State], dict[str, str], dict[str, FloatArray]]:
    """Every distinct kept state by name, and criterion -> name; ends with the chosen one restored.

    Last: state -> scores of the training part, each instance once, where ``training`` asks for them.
    """
    states: dict[str, State] = {}
    found: dict[str, str] = {}
    scored_as: dict[str, Track] = {}
    kept = [track for track in selection.tracks.values() if track.snapshot is not None]
    for track in sorted(kept, key=lambda track: track.name == chosen):
        name = _state_name(track)
        if name not in states or track.name == chosen:
            assert track.snapshot is not None
            track.snapshot.restore(evaluator.method)
        if name not in states:
            state = _score_state(name, track.epoch, track.candidate, evaluator)
            name = next((other for other, known in states.items() if _same_scores(known, state)), name)
            states.setdefault(name, state)
        scored_as.pop(name, None)
        scored_as[name] = track  # the chosen one's state comes last
        found[track.name] = name
    states |= _checkpoints(selection, evaluator, states)
    of_training = _training_scores(scored_as, evaluator) if training else {}
    _score_unlabeled(states, scored_as, evaluator)
    if selection.checkpoints:  # of which the last was restored last
        snapshot = selection.tracks[chosen].snapshot
        assert snapshot is not None
        snapshot.restore(evaluator.method)
    return states, {track.name: found[track.name] for track in kept}, of_training


def _state_name(track: Track) -> str:
    """``last`` is apart: a method may still change after its last epoch."""
    return "last" if track.name == "last" else state_name(track.epoch or 0, track.candidate)


def state_name(epoch: int, candidate: str) -> str:
    """Name of the state after an epoch, as one of the method's candidates scores in it."""
    return f"epoch-{epoch}" + (f"-{candidate}" if candidate else "")


def _checkpoints(selection: Selection, evaluator: Evaluator, known: Collection[str]) -> dict[str, State]:
    """The states that a fold keeps, as every candidate scores in them, except for those that are known."""
    found: dict[str, State] = {}
    for epoch, snapshot in selection.checkpoints.items():
        snapshot.restore(evaluator.method)
        for candidate in evaluator.method.candidates():
            name = state_name(epoch, candidate)
            if name not in known:
                found[name] = _score_state(name, epoch, candidate, evaluator)
    return found


def _score_state(name: str, epoch: int | None, candidate: str, evaluator: Evaluator) -> State:
    """The restored method's outputs on every part, each part in one pass."""
    problem, place = evaluator.problem, {"stage": "evaluation", "epoch": epoch}
    scorer = {"": evaluator.method.candidates()[candidate]}
    scores: dict[str, FloatArray] = {}
    auxiliary: dict[str, FloatArray] = {}
    if problem.truth_test is not None:
        found, auxiliary = evaluator.outputs(scorer, *problem.part("test")[:2], place, auxiliary=True)
        scores["test"] = found[""]
    scores["validation"] = evaluator.outputs(scorer, *problem.part("validation")[:2], place)[0][""]
    return State(name, scores, auxiliary)


def _training_scores(scored_as: Mapping[str, Track], evaluator: Evaluator) -> dict[str, FloatArray]:
    """State -> scores of the training part. It comes after everything that is measured, and no measure reads it."""
    found = {}
    for name, track in scored_as.items():
        assert track.snapshot is not None
        track.snapshot.restore(evaluator.method)
        scorer = {"": evaluator.method.candidates()[track.candidate]}
        place = {"stage": "evaluation", "epoch": track.epoch}
        found[name] = evaluator.outputs(scorer, *evaluator.problem.part("train")[:2], place)[0][""]
    return found


def _score_unlabeled(states: dict[str, State], scored_as: dict[str, Track], evaluator: Evaluator) -> None:
    """Adds every state's scores of a user's unlabeled rows, in the table's order, as a saved model would score them.

    It comes after everything that is measured: the order of a table may tell the truth.
    """
    unlabeled = evaluator.problem.unlabeled_features()
    if unlabeled is None:
        return
    for name, track in scored_as.items():
        assert track.snapshot is not None
        track.snapshot.restore(evaluator.method)
        scorer = {"": evaluator.method.candidates()[track.candidate]}
        place = {"stage": "evaluation", "epoch": track.epoch}
        states[name].scores["unlabeled"] = evaluator.outputs(scorer, *unlabeled, place, in_order=True)[0][""]


def _same_scores(one: State, other: State) -> bool:
    return all(
        ours.keys() == theirs.keys() and all(np.array_equal(ours[name], theirs[name]) for name in ours)
        for ours, theirs in ((one.scores, other.scores), (one.auxiliary, other.auxiliary))
    )
