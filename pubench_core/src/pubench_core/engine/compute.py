"""Carrying a plan out: from opened data to everything that its record holds, as data.

What :func:`compute` returns can be stored by this process, by another one, or on another machine.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from ..data.dataset import DataRoot
from ..errors import PubenchError, said_by
from ..isolation import isolated
from ..metric import FloatArray, Measurer
from ..plugins.events import EpochFinished, RunStarted
from ..plugins.listeners import Listeners
from ..records.files import Arrays, state_model
from ..records.measures import Measures, measures_at, measures_of, threshold_in
from ..records.scores import MEASURED, rows_and_labels, scores_name
from ..results import NEVER, RECORD_VERSION, CriterionResult, Environment, Result, SavedModelFacts, said_alike
from ..specs import Scheme, is_one_sample, unlabeled_prior
from ..specs.run import TEST
from .build import build_problem
from .machine import PeakMemoryMeter, capture, computing, staying
from .model_file import model_bytes
from .open import OpenedData
from .plan import Plan
from .problem import Problem
from .score import State, state_name
from .select import Track
from .train import Trained, train


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
    with computing(plan, device), staying():
        environment = capture(device)
        memory = PeakMemoryMeter(device)
        problem = build_problem(plan, device, opened=opened, root=root)

        def started() -> None:
            facts = problem.facts()
            labeled, unlabeled = facts.train.labeled or 0, facts.train.unlabeled or 0
            event = RunStarted(plan.run_id, opened.code.hash, plan.spec, str(device), labeled, unlabeled, facts)
            audience.notify("pubench_run_started", event, device)

        def report(event: EpochFinished) -> None:
            audience.notify("pubench_epoch_finished", event, device)

        trained = train(plan, problem, memory=memory, started=started, report=report, ended=ended)
        return finished(plan, problem, trained, environment)


def finished(plan: Plan, problem: Problem, trained: Trained, environment: Environment) -> Finished:
    """Result of a trained method, to be recorded."""
    spec = plan.spec
    model, why_not = _model(plan, problem, trained) if spec.execution.save_model else (None, "")
    predictions, ids = None, {}
    if problem.unlabeled_rows is not None:
        scores = trained.scores[spec.selection.criterion]["unlabeled"]
        predictions = (problem.unlabeled_rows, scores)
        ids = {name: texts[problem.unlabeled_rows].tolist() for name, texts in problem.opened.ids.items()}
    trace = [
        {
            "stage": event.stage,
            "epoch": event.epoch,
            "in_stage": event.in_stage,
            "seconds": round(event.seconds, 4),
            "evaluation_seconds": round(event.evaluation_seconds, 4),
            **event.values,
            "positive_decisions": event.positive_decisions,
            **{f"criterion-{name}": value for name, value in event.criteria.items()},
        }
        for event in trained.epochs
    ]
    models = {}
    if model is not None:  # of the states that a fold keeps; any other run keeps none
        for epoch, snapshot in trained.selection.checkpoints.items():
            snapshot.restore(trained.method)
            for candidate in trained.method.candidates():
                name = state_model(state_name(epoch, candidate))
                models[name] = model_bytes(plan, problem, trained.method, candidate)
    return Finished(
        result=_result(plan, problem, trained, environment, with_model=model is not None, why_not=why_not),
        environment=environment,
        trace=trace if "trace" in spec.execution.artifacts else None,
        arrays=_arrays(problem, trained) if "scores" in spec.execution.artifacts else None,
        samples=dict(trained.samples) if "samples" in spec.execution.artifacts else None,
        training=_training(problem, trained) if "training-scores" in spec.execution.artifacts else None,
        predictions=predictions,
        ids=ids,
        model=model,
        models=models,
    )


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
        code=problem.opened.code,
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
    return arrays | trained.training


#: Decisions are far from the prior where a class is decided this many times as often as the prior says, or as seldom.
#: At 3 / 2 a third of the decisions for that class are wrong, or a third of its rows are missed, whatever is decided.
FAR = 1.5
#: Standard errors of a share of n rows that the difference must exceed as well.
STANDARD_ERRORS = 3.0


def warnings_of(
    plan: Plan, state: State, *, prior: float | None, labeled: npt.NDArray[np.bool_] | None
) -> tuple[str, ...]:
    """Lines on the decisions (score above 0) of one state, on rows that are a draw from the population.

    ``prior``: what the method was given. ``labeled``: of every row of a user's table; None for simulated labels.
    """
    part = "unlabeled" if "unlabeled" in state.scores else "test"
    lines = list(_one_sided(state))
    told = prior if "prior" in plan.method.granted or plan.spec.prior != "true" else None
    if part in state.scores and told is not None:
        expected = _expected_share(plan.spec.data.scheme, labeled, part, told)
        lines += _far_from_prior(part, state.scores[part], expected, told)
    return tuple(lines)


def _one_sided(state: State) -> Iterator[str]:
    """Decisions that are all the same: the accuracy is then the share of a class, no more."""
    part = next((name for name in ("test", "unlabeled") if name in state.scores), None)
    if part is None:
        return
    scores = state.scores[part]
    positive = scores > 0
    if len(scores) and (positive.all() or not positive.any()):
        begins = said_alike(part, positive=bool(positive.any()), rows=len(scores))
        yield (
            f"{begins} (scores from {scores.min():.4g} to {scores.max():.4g}, "
            "decided at 0): the order of the scores may mean something, the decisions do not; take as many of the "
            "highest scores as the prior says, or try another preset, prior or method"
        )


def _expected_share(scheme: Scheme, labeled: npt.NDArray[np.bool_] | None, part: str, told: float) -> float:
    """The share of positives that the prior ``told`` implies for the rows of a part.

    A data set's test part is a draw from the population. So are the unlabeled rows of a user's table, or what the
    labeled positives left of one; a test file of the user's own may be anything and is not looked at.
    """
    if part == "unlabeled" and labeled is not None and is_one_sample(scheme):
        return unlabeled_prior(told, int(labeled.sum()), len(labeled))
    return told


def _far_from_prior(part: str, scores: FloatArray, expected: float, prior: float) -> Iterator[str]:
    """A share of positive decisions far from the one expected, and further than sampling explains."""
    n, decided = len(scores), float((scores > 0).mean()) if len(scores) else 0.0
    if not 0 < decided < 1 or not 0 < expected < 1:
        return
    ratios = (decided / expected, (1 - decided) / (1 - expected))
    sampling_error = math.sqrt(expected * (1 - expected) / n)
    if max(*ratios, *(1 / ratio for ratio in ratios)) < FAR:
        return
    if abs(decided - expected) > STANDARD_ERRORS * sampling_error:
        yield (
            f"{_percent(decided)} of {n} {part} rows are decided positive; by the given prior ({prior:.4g}) "
            f"{_percent(expected)} are: if it is right, at least {_percent(abs(decided - expected))} of the decisions "
            "are wrong; compare the other criteria, correct the prior, or take as many of the highest scores as it says"
        )


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
