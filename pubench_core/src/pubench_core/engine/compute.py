"""Carrying a plan out: from opened data to everything that its record holds, as data.

What :func:`compute` returns can be stored by this process, by another one, or on another machine.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from ..data.dataset import DataRoot
from ..errors import PubenchError, RequestError, RunFailed, said_by
from ..isolation import isolated
from ..metric import FloatArray, Measurer
from ..plugins.events import EpochFinished, RunStarted
from ..plugins.listeners import Listeners
from ..records.files import Arrays, state_model
from ..records.measures import Measures, measures_of
from ..records.scores import MEASURED, rows_and_labels, scores_name
from ..records.thresholds import measures_at, threshold_in
from ..results import NEVER, RECORD_VERSION, Code, CriterionResult, Environment, Result, SavedModelFacts
from ..specs.run import TEST
from .build import build_problem
from .decision_warnings import warnings_of
from .environment import capture
from .model_file import model_bytes
from .peak_memory import PeakMemoryMeter
from .plan import Plan
from .problem import OpenedData, Problem
from .select import Track
from .train import Trained, state_name, train


@dataclass(frozen=True)
class Finished:
    """Everything that the record of a finished run holds, as plain data.

    ``trace``: one row per epoch; ``arrays``: the content of ``scores.npz``; ``samples``: that of ``samples.npz``;
    ``training``: that of ``training-scores.npz``; None where they are not to be kept.
    ``predictions``: (rows, scores) of the unlabeled rows of a user's table; ``ids``: column that names them -> their
    texts. ``model``: content of the model's file; ``models``: name of a file -> content, of a fold in the states that
    it keeps, or of all folds in the chosen one.
    """

    result: Result
    environment: Environment
    trace: list[dict[str, Any]] | None = None
    arrays: Arrays | None = None
    samples: Arrays | None = None
    training: Arrays | None = None
    predictions: tuple[npt.NDArray[np.int64], FloatArray] | None = None
    ids: dict[str, list[str]] = field(default_factory=dict)
    model: bytes | None = field(default=None, repr=False)
    models: dict[str, bytes] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Audience:
    """Who hears of a run while it trains. ``listeners`` get what needs no true label, ``display`` everything.

    ``epochs`` keeps every epoch for the end, when listeners are given the rest.
    """

    listeners: Listeners = field(default_factory=Listeners)
    display: Listeners = field(default_factory=Listeners)
    epochs: list[EpochFinished] = field(default_factory=list)

    def notify(self, hook: str, event: RunStarted | EpochFinished, device: torch.device) -> None:
        """Calls both; what they draw at random is not missing in the run."""
        if isinstance(event, EpochFinished):
            self.epochs.append(event)
        with isolated(0, device):
            self.display.notify(hook, event)
            self.listeners.notify(hook, event.without_truth())


def compute(
    plan: Plan,
    opened: OpenedData,
    root: DataRoot,
    device: torch.device,
    audience: Audience,
    ended: Callable[[], None] = lambda: None,
) -> Finished:
    """Trains, selects, scores and measures. ``ended`` is called when training is over.

    Raises RequestError if the request cannot be met on this split, RunFailed if training fails, PluginError if a plugin
    breaks its contract.
    """
    code = plan.code_reading(opened.digest)
    with computing(plan, device), staying():
        environment = capture(device)
        memory = PeakMemoryMeter(device)
        problem = build_problem(plan, device, opened=opened, root=root)

        def started() -> None:
            facts = problem.facts()
            labeled, unlabeled = facts.train.labeled or 0, facts.train.unlabeled or 0
            event = RunStarted(plan.run_id, code.hash, plan.spec, str(device), labeled, unlabeled, facts)
            audience.notify("pubench_run_started", event, device)

        def report(event: EpochFinished) -> None:
            audience.notify("pubench_epoch_finished", event, device)

        trained = train(plan, problem, memory=memory, started=started, report=report, ended=ended)
        return finished(plan, problem, trained, code, environment)


def finished(plan: Plan, problem: Problem, trained: Trained, code: Code, environment: Environment) -> Finished:
    """Result of a trained method, to be recorded."""
    spec = plan.spec
    model, why_not = _model(plan, problem, trained) if spec.execution.save_model else (None, "")
    predictions, ids = None, {}
    if problem.unlabeled_rows is not None:
        scores = trained.scores[spec.selection.criterion]["unlabeled"]
        predictions = (problem.unlabeled_rows, scores)
        ids = {name: texts[problem.unlabeled_rows].tolist() for name, texts in problem.opened.ids.items()}
    return Finished(
        result=_result(plan, problem, trained, code, environment, with_model=model is not None, why_not=why_not),
        environment=environment,
        trace=[_trace_row(event) for event in trained.epochs] if "trace" in spec.execution.artifacts else None,
        arrays=_arrays(problem, trained) if "scores" in spec.execution.artifacts else None,
        samples=dict(trained.samples) if "samples" in spec.execution.artifacts else None,
        training=_training(problem, trained) if "training-scores" in spec.execution.artifacts else None,
        predictions=predictions,
        ids=ids,
        model=model,
        models={} if model is None else dict(_kept_models(plan, problem, trained)),
    )


def _kept_models(plan: Plan, problem: Problem, trained: Trained) -> Iterator[tuple[str, bytes]]:
    """The models of the states that a fold keeps; of any other run, none."""
    for epoch, snapshot in trained.selection.checkpoints.items():
        snapshot.restore(trained.method)
        for candidate in trained.method.candidates():
            yield state_model(state_name(epoch, candidate)), model_bytes(plan, problem, trained.method, candidate)


def _model(plan: Plan, problem: Problem, trained: Trained) -> tuple[bytes | None, str]:
    """The content of the model's file, or why there is none."""
    candidate = trained.selection.tracks[plan.spec.selection.criterion].candidate
    try:
        return model_bytes(plan, problem, trained.method, candidate), ""
    except PubenchError as error:
        return None, model_warning(str(error))
    # A method may keep anything in what it scores with. What cannot be written costs the model and not the result.
    except Exception as error:  # noqa: BLE001
        return None, model_warning(said_by(error))


def model_warning(reason: str) -> str:
    """The line of a result that was to have a model and has none."""
    return f"no model was kept: {reason}; everything else of the run is there"


# -------------------------------------------------------------------- the result


#: Measures by the decision at 0; the threshold at the prior, and the measures by it.
_Decided = tuple[Measures, float | None, Measures]


def _result(
    plan: Plan,
    problem: Problem,
    trained: Trained,
    code: Code,
    environment: Environment,
    *,
    with_model: bool,
    why_not: str,
) -> Result:
    spec, names = plan.spec, plan.spec.evaluation.metrics
    measurer = Measurer(plan.metrics, failed=trained.evaluator.measurer.failed)  # a finished run fails no more
    knowledge, facts = {part: problem.knowledge(part) for part in MEASURED}, problem.facts()
    chosen_states = {name: trained.states[name] for name in trained.state_of.values()}
    measures = {name: measures_of(state.scores, knowledge, names, measurer) for name, state in chosen_states.items()}
    arrays = _arrays(problem, trained) | _training(problem, trained)
    thresholds = {name: threshold_in(arrays, name, facts, spec) for name in chosen_states}
    at_prior = {
        name: measures_at(thresholds[name], state.scores, knowledge, names, measurer)
        for name, state in chosen_states.items()
    }
    decided = {name: (measures[name], thresholds[name], at_prior[name]) for name in chosen_states}
    criteria = {
        name: _criterion(plan, problem, trained, track, decided) for name, track in trained.selection.tracks.items()
    }
    chosen = trained.state_of[spec.selection.criterion]
    return Result(
        record_version=RECORD_VERSION,
        run_id=plan.run_id,
        code=code,
        spec=spec,
        oracle="truth" in plan.method.requires or spec.prior == TEST,
        selected=spec.selection.criterion,
        decision=spec.decision.rule,
        criteria=criteria,
        metrics={name: plan.metrics[name].code for name in names},
        data=facts,
        epochs=len(trained.epochs),
        seconds=trained.seconds,
        peak_memory=trained.memory,
        model=SavedModelFacts(snapshot=chosen) if with_model else None,
        warnings=(
            *measurer.failed.values(),
            *(line for line in (trained.selection.ended, why_not) if line),
            *trained.warnings,
        ),
        device=environment.device,
        threads=environment.threads,
        finished_at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    )


def _criterion(
    plan: Plan, problem: Problem, trained: Trained, track: Track, decided: dict[str, _Decided]
) -> CriterionResult:
    """``decided``: of every state, by name."""
    plugin = plan.metrics.get(track.name)
    oracle, code = plugin is not None and plugin.info.oracle, plan.criterion_code(track.name)
    if track.snapshot is None:
        reason = track.undefined or NEVER
        return CriterionResult(oracle=oracle, undefined=reason, code=code)
    state = trained.states[trained.state_of[track.name]]
    measures, threshold, at_prior = decided[state.name]
    return CriterionResult(
        oracle=oracle,
        epoch=track.epoch,
        value=track.best,
        candidate=track.candidate,
        stopped_at=track.stopped_at,
        snapshot=state.name,
        code=code,
        warnings=warnings_of(plan, state, prior=problem.prior, labeled=problem.data.labeled),
        measures=measures,
        threshold=threshold,
        at_prior=at_prior,
    )


def _trace_row(event: EpochFinished) -> dict[str, Any]:
    return {
        "stage": event.stage,
        "epoch": event.epoch,
        "in_stage": event.in_stage,
        "seconds": round(event.seconds, 4),
        "evaluation_seconds": round(event.evaluation_seconds, 4),
        **event.values,
        "positive_decisions": event.positive_decisions,
        **{f"criterion-{name}": value for name, value in event.criteria.items()},
    }


def _arrays(problem: Problem, trained: Trained) -> Arrays:
    """The content of ``scores.npz``; see :mod:`pubench_core.records.scores`."""
    arrays = rows_and_labels(problem.split, problem.truth_test, problem.truth_validation, problem.unlabeled_rows)
    for name, state in trained.states.items():
        arrays |= {scores_name(part, name): scores for part, scores in state.scores.items()}
        arrays |= {f"test_auxiliary_{output}_{name}": values for output, values in state.auxiliary.items()}
    return arrays


def _training(problem: Problem, trained: Trained) -> Arrays:
    """The content of ``training-scores.npz``."""
    part = problem.split.train
    arrays: Arrays = {"training_rows": part.rows, "training_labeled": part.labeled}
    if problem.truth_train is not None:
        arrays["training_labels"] = problem.truth_train
    return arrays | {scores_name("training", state): scores for state, scores in trained.training.items()}


# -------------------------------------------------------------------- the machine


_DEVICE = "execution.device"


def choose_device(plan: Plan) -> torch.device:
    """The device of a run; raises RequestError if it does not exist or the method cannot use it."""
    wanted, info = plan.spec.execution.device, plan.method.info
    if wanted == "auto":
        return torch.device("cuda" if "cuda" in info.devices and torch.cuda.is_available() else "cpu")
    device = device_here(wanted)
    if device.type not in info.devices:
        raise RequestError(
            f"execution.device={wanted}: {info.key} runs on {', '.join(info.devices)} only; use auto",
            field=_DEVICE,
            value=wanted,
        )
    return device


def device_here(wanted: str) -> torch.device:
    """``cpu`` or a CUDA device of this machine, with its number. Raises RequestError for one that is not here."""
    device = torch.device(wanted)
    if device.type != "cuda":
        return device
    if not torch.cuda.is_available():
        raise RequestError(
            f"execution.device={wanted}: no CUDA device is available here; use cpu or auto", field=_DEVICE, value=wanted
        )
    if (device.index or 0) >= torch.cuda.device_count():
        raise RequestError(
            f"execution.device={wanted}: this machine has {torch.cuda.device_count()} CUDA device(s)",
            field=_DEVICE,
            value=wanted,
        )
    return torch.device("cuda", device.index or 0)


def captured(plan: Plan, device: torch.device) -> Environment:
    """Environment of a plan, before or after it runs."""
    with computing(plan, device):
        return capture(device)


@contextmanager
def staying() -> Iterator[None]:
    """A block that calls plugins. What would end the process (SystemExit, say) is a failure of the run: RunFailed."""
    try:
        yield
    except (Exception, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise RunFailed(said_by(error)) from error


@contextmanager
def computing(plan: Plan, device: torch.device) -> Iterator[None]:
    """Thread count and deterministic kernels for the duration of a run; restored afterwards."""
    threads, deterministic = torch.get_num_threads(), torch.get_deterministic_debug_mode()
    if plan.spec.execution.threads is not None:
        torch.set_num_threads(plan.spec.execution.threads)
    if device.type == "cuda":
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # read when cuBLAS is first used
        torch.set_deterministic_debug_mode("warn")  # use_deterministic_algorithms would import torch's compiler
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.set_deterministic_debug_mode(deterministic)
