"""From a trained method to everything that its record holds."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import PubenchError, said_by
from ..metric import FloatArray, Measurer
from ..records.files import MODEL, Arrays, state_model
from ..records.scores import measured, scores_name
from ..results import NEVER, RECORD_VERSION, CriterionResult, Environment, Result, SavedModelFacts
from ..specs.run import TEST
from .decision_warnings import warnings_of
from .plan import Plan
from .problem import Problem
from .score import State, state_name
from .select import Track
from .train import Trained


@dataclass(frozen=True)
class Finished:
    """Everything that the record of a finished run holds, as plain data.

    ``trace``: one row per epoch; ``arrays``: the content of ``scores.npz``; ``samples``: that of ``samples.npz``;
    ``training``: that of ``training-scores.npz``; None where they are not to be kept.
    ``predictions``: (rows, scores) of the unlabeled rows of a user's table; ``ids``: column that names them -> their
    texts. ``models``: name of a file -> content, of the model, of a fold in the states that it keeps, or of all folds
    in the chosen one.
    """

    result: Result
    environment: Environment
    trace: list[dict[str, Any]] | None = None
    arrays: Arrays | None = None
    samples: Arrays | None = None
    training: Arrays | None = None
    predictions: tuple[npt.NDArray[np.int64], FloatArray] | None = None
    ids: dict[str, list[str]] = field(default_factory=dict)
    models: dict[str, bytes] = field(default_factory=dict, repr=False)


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
    models = {} if model is None else {MODEL: model}
    if model is not None:  # of the states that a fold keeps; any other run keeps none
        assert plan.model_writer is not None
        for epoch, snapshot in trained.selection.checkpoints.items():
            snapshot.restore(trained.method)
            for candidate in trained.method.candidates():
                name = state_model(state_name(epoch, candidate))
                models[name] = plan.model_writer(plan, problem, trained.method, candidate)
    arrays, part = problem.known(), problem.split.train
    for name, state in trained.states.items():
        arrays |= {scores_name(part_name, name): scores for part_name, scores in state.scores.items()}
        arrays |= {f"test_auxiliary_{output}_{name}": values for output, values in state.auxiliary.items()}
    training: Arrays = {"training_rows": part.rows, "training_labeled": part.labeled}
    if problem.truth_train is not None:
        training["training_labels"] = problem.truth_train
    training |= trained.training
    measurer = Measurer(plan.metrics, failed=trained.evaluator.measurer.failed)  # a finished run fails no more
    states = {name: trained.states[state] for name, state in trained.state_of.items()}
    chosen = trained.state_of[spec.selection.criterion]
    result = Result(
        record_version=RECORD_VERSION,
        run_id=plan.run_id,
        code=problem.opened.code,
        spec=spec,
        oracle="truth" in plan.method.requires or spec.prior == TEST,
        selected=spec.selection.criterion,
        decision=spec.decision.rule,
        criteria=criteria_of(plan, problem, trained.selection.tracks, states),
        metrics={name: plan.metrics[name].code for name in spec.evaluation.metrics},
        data=problem.facts(),
        epochs=len(trained.epochs),
        seconds=trained.seconds,
        peak_memory=trained.memory,
        model=SavedModelFacts(snapshot=chosen) if model is not None else None,
        warnings=(*(line for line in (trained.selection.ended, why_not) if line), *trained.warnings),
        device=environment.device,
        threads=environment.threads,
        finished_at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    )
    return Finished(
        result=with_measures(result, arrays | training, measurer),
        environment=environment,
        trace=trace if "trace" in spec.execution.artifacts else None,
        arrays=arrays if "scores" in spec.execution.artifacts else None,
        samples=dict(trained.samples) if "samples" in spec.execution.artifacts else None,
        training=training if "training-scores" in spec.execution.artifacts else None,
        predictions=predictions,
        ids=ids,
        models=models,
    )


def _model(plan: Plan, problem: Problem, trained: Trained) -> tuple[bytes | None, str]:
    """The content of the model's file, or why there is none."""
    chosen = trained.selection.tracks[plan.spec.selection.criterion].chosen
    assert plan.model_writer is not None
    assert chosen is not None
    try:
        return plan.model_writer(plan, problem, trained.method, chosen.candidate), ""
    except PubenchError as error:
        return None, model_warning(str(error))
    # A method may keep anything in what it scores with. What cannot be written costs the model and not the result.
    except Exception as error:  # noqa: BLE001
        return None, model_warning(said_by(error))


def model_warning(reason: str) -> str:
    """The line of a result that was to have a model and has none."""
    return f"no model was kept: {reason}; everything else of the run is there"


def with_measures(result: Result, arrays: Arrays, measurer: Measurer) -> Result:
    """A result with all measures of its states; metrics that failed are named first in its warnings."""
    criteria = measured(result, arrays, tuple(result.metrics), measurer)
    warnings = tuple(dict.fromkeys([*measurer.failed.values(), *result.warnings]))
    return result.model_copy(update={"criteria": criteria, "warnings": warnings})


def criteria_of(
    plan: Plan, problem: Problem, tracks: Mapping[str, Track], states: Mapping[str, State]
) -> dict[str, CriterionResult]:
    """Result of each criterion, without measures. ``states``: those that were chosen."""
    found = {}
    for name, track in tracks.items():
        plugin = plan.metrics.get(name)
        oracle, code = plugin is not None and plugin.info.oracle, plan.criterion_code(name)
        if track.chosen is None:
            found[name] = CriterionResult(oracle=oracle, undefined=track.undefined or NEVER, code=code)
            continue
        found[name] = CriterionResult(
            oracle=oracle,
            epoch=track.chosen.epoch,
            value=track.chosen.value,
            candidate=track.chosen.candidate,
            stopped_at=track.stopped_at,
            snapshot=states[name].name,
            code=code,
            warnings=warnings_of(plan, states[name], prior=problem.prior, labeled=problem.data.labeled),
        )
    return found
