"""Training one method on one problem, and scoring the test part under every criterion."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ..backbones.base import Backbone, Normalize
from ..errors import PluginError, PubenchError, RunFailed
from ..events import EpochFinished
from ..info import BackboneInfo, MethodInfo, MetricInfo
from ..listeners import Listeners
from ..method import AnyMethod
from ..metric import FloatArray
from ..randomness import isolated, torch_seed
from ..registry import Registry, load
from ..resolve import method_class
from ..specs import RunSpec
from .monitor import Evaluator, Measures, Monitor
from .problem import Problem
from .resources import PeakMemory
from .run import Run
from .selection import Selection, refuse_undefined
from .snapshot import Snapshot


@dataclass(frozen=True)
class Trained:
    """What training left behind: the method in its chosen state, per criterion its epoch and scores, the costs.

    ``scores``: criterion -> part (test, validation) -> scores; ``auxiliary``: the method's further outputs on the
    test part, and ``unlabeled``: scores of the unlabeled rows of a user's own table, both in its chosen state.
    """

    method: AnyMethod
    evaluator: Evaluator
    selection: Selection
    epochs: list[EpochFinished]
    scores: dict[str, dict[str, FloatArray]]
    auxiliary: dict[str, FloatArray]
    unlabeled: FloatArray | None
    seconds: dict[str, float]
    memory: dict[str, Any]


def train(
    spec: RunSpec,
    problem: Problem,
    registry: Registry,
    listeners: Listeners | None = None,
    memory: PeakMemory | None = None,
    started: Callable[[], None] = lambda: None,
) -> Trained:
    """Trains the method of a spec on a problem and scores the test part under every criterion.

    ``started`` is called when everything was checked and training begins.

    Raises RequestError if the criterion that names the result is undefined on this split.
    """
    told, device = listeners or Listeners(), problem.device
    memory = memory or PeakMemory(device)
    begun = time.perf_counter()
    method = _method(spec, registry)
    evaluator = Evaluator(
        problem,
        method,
        _measures(spec, registry),
        criterion=spec.selection.criterion,
        seed=spec.seed,
        device=device,
    )
    undefined = evaluator.undefined(spec.selection.criteria)
    refuse_undefined(
        spec.selection.criterion,
        undefined,
        counts=_before_validation(problem),
        c=spec.mechanism.c,
        known=spec.selection.criteria,
    )
    selection = Selection(spec.selection.criteria, undefined)
    build = _backbone_builder(spec, problem, registry)
    with isolated(0, torch.device("cpu")):
        build(1)  # a network that does not fit the data is refused before anything is announced
    started()
    data = problem.view(method.requires(method.config))
    monitor = Monitor(
        evaluator=evaluator,
        selection=selection,
        criterion=spec.selection.criterion,
        validation=data.validation,
        trace=spec.evaluation.trace,
        trace_metrics=spec.evaluation.metrics,
        run_id=spec.run_id,
        tell=lambda event: told.tell("pubench_epoch_finished", event),
    )
    run = Run(
        config=method.config,
        data=data,
        seed=spec.seed,
        device=device,
        threads=torch.get_num_threads(),
        build=build,
        monitor=monitor,
    )
    monitor.attach(data, run)
    with isolated(torch_seed(spec.seed, "fit"), device):
        try:
            method.fit(data, run)
        except (PubenchError, KeyboardInterrupt):
            raise
        # Whatever else a method raises is a failure of the run, at the place it had reached.
        except Exception as error:
            raise RunFailed(f"{type(error).__name__}: {error}", **run.position) from error
    if not monitor.epochs:
        raise PluginError(f"{type(method).__name__}.fit never went through run.epochs")
    monitor.refresh()
    selection.close(len(monitor.epochs), Snapshot.take(method), next(iter(method.candidates())))
    trained_at = time.perf_counter()
    scores = _scores_by_criterion(selection, evaluator, spec.selection.criterion)
    unlabeled = None
    if problem.unlabeled_rows is not None:
        candidate = method.candidates()[selection.tracks[spec.selection.criterion].candidate]
        rows = problem.rows(problem.unlabeled_rows)
        unlabeled = evaluator.scores(candidate, problem.features, rows, {"stage": "evaluation"})
    return Trained(
        method=method,
        evaluator=evaluator,
        selection=selection,
        epochs=monitor.epochs,
        scores=scores,
        auxiliary=evaluator.auxiliary(*problem.part("test")[:2]) if problem.truth_test is not None else {},
        unlabeled=unlabeled,
        seconds={
            "total": time.perf_counter() - begun,
            "training": sum(e.seconds for e in monitor.epochs),
            "evaluation": sum(e.evaluation_seconds for e in monitor.epochs) + time.perf_counter() - trained_at,
            "per_epoch": sum(e.seconds + e.evaluation_seconds for e in monitor.epochs) / len(monitor.epochs),
            "per_epoch_training": sum(e.seconds for e in monitor.epochs) / len(monitor.epochs),
        },
        memory=memory.read(),
    )


def granted(spec: RunSpec, registry: Registry) -> frozenset[str]:
    """What the method of a spec, as configured, is given beside features and labels."""
    method = _method(spec, registry)
    return method.requires(method.config)


def _method(spec: RunSpec, registry: Registry) -> AnyMethod:
    implementation = method_class(registry.find(MethodInfo, spec.method.key))
    return implementation(implementation.Config.model_validate(spec.method.config))


def _measures(spec: RunSpec, registry: Registry) -> Measures:
    wanted = {*spec.evaluation.metrics, *spec.selection.criteria}
    return {info.key: (info, load(info)) for info in registry.infos(MetricInfo) if info.key in wanted}


def _before_validation(problem: Problem) -> tuple[int, int] | None:
    """(negatives, positives) of the training part with the validation part put back; None without truth."""
    if problem.truth_train is None or problem.truth_validation is None:
        return None
    truth = np.concatenate([problem.truth_train, problem.truth_validation])
    return int((truth == 0).sum()), int((truth == 1).sum())


def _backbone_builder(spec: RunSpec, problem: Problem, registry: Registry) -> Callable[[int], Backbone]:
    info = registry.find(BackboneInfo, spec.backbone.key)
    factory, data = load(info), problem.data

    def build(outputs: int) -> Backbone:
        network = factory(data.shape, outputs)
        if not isinstance(network, Backbone):
            raise PluginError(f"backbone '{info.key}': {info.load} returned {type(network).__name__}, not a Backbone")
        if data.mean is not None and data.std is not None:
            network.normalize = Normalize(data.mean, data.std)
        return network

    return build


def _scores_by_criterion(selection: Selection, evaluator: Evaluator, chosen: str) -> dict[str, dict[str, FloatArray]]:
    """criterion -> part -> scores, each distinct snapshot scored once; ends with the chosen one restored."""
    problem, method = evaluator.problem, evaluator.method
    found: dict[str, dict[str, FloatArray]] = {}
    done: dict[tuple[int | None, str, bool], dict[str, FloatArray]] = {}
    order = sorted(selection.tracks.values(), key=lambda track: track.name == chosen)
    for track in order:
        if track.snapshot is None:
            continue
        key = (track.epoch, track.candidate, track.name == "last")
        if key not in done or track.name == chosen:
            track.snapshot.restore(method)
        if key not in done:
            fn, place = method.candidates()[track.candidate], {"stage": "evaluation", "epoch": track.epoch}
            done[key] = {
                **(
                    {"test": evaluator.scores(fn, *problem.part("test")[:2], place)}
                    if problem.truth_test is not None
                    else {}
                ),
                "validation": evaluator.scores(
                    fn, problem.features, problem.rows(problem.split.validation.rows), place
                ),
            }
        found[track.name] = done[key]
    return {track.name: found[track.name] for track in selection.tracks.values() if track.name in found}
