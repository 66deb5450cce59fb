"""Carrying out one run: stored result or training, record, events.

``execute`` is what ``pubench run`` and the Python API call; ``prepare`` and ``train`` are its two halves, apart so that
a test can change the hidden labels between them.
"""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import platformdirs
import torch

from . import environment
from .backbones.base import Backbone, Normalise
from .data.dataset import DataRoot
from .engine.monitor import Evaluator, Monitor
from .engine.problem import Problem, build_problem
from .engine.resources import PeakMemory
from .engine.run import Run
from .engine.selection import Selection, Track, refuse_undefined
from .engine.snapshot import Snapshot
from .errors import PluginError, PubenchError, RecordError, RequestError, RunFailed
from .events import RunFinished, RunStarted
from .identity import code_of
from .info import BackboneInfo, MethodInfo, MetricInfo
from .listeners import Listeners
from .method import AnyMethod
from .metric import FloatArray, Scored
from .randomness import isolated, torch_seed
from .records import RESULT, RecordStore, write_json, write_rows, write_yaml
from .registry import Registry, load
from .resolve import method_class
from .specs import RunSpec

RECORD_VERSION = 1


@dataclass(frozen=True)
class Outcome:
    """``result``: the content of ``result.json``, in ``folder``; ``reused``: it was stored already."""

    result: Mapping[str, Any]
    folder: Path
    reused: bool


@dataclass(frozen=True)
class Trained:
    """What training left behind: per criterion its epoch and test scores; the epochs; the measured costs."""

    method: AnyMethod
    selection: Selection
    epochs: list[Any]
    scores: dict[str, dict[str, FloatArray]]
    seconds: dict[str, float]
    memory: dict[str, Any]


def execute(
    spec: RunSpec,
    *,
    registry: Registry,
    listeners: Iterable[Any] = (),
    force: bool = False,
    say: Callable[[str], None] = lambda text: None,
) -> Outcome:
    """Runs a spec, or returns its stored result if the same code already ran it; ``say`` is told which and why.

    Raises RequestError before anything is trained if the request cannot be met, RunFailed (with a failure record)
    if training fails, RecordError if the result cannot be stored; that error carries the result.
    """
    store = RecordStore(spec.execution.results)
    code = code_of(spec, registry)
    stored = None if force else store.find(spec.run_id)
    if stored is not None and stored["code"]["hash"] == code.hash:
        say(f"stored result of {stored['finished_at']}: same spec, same code (--force runs it again)")
        return Outcome(stored, store.folder(spec.run_id), reused=True)
    if stored is not None:
        changed = _difference(stored["code"]["parts"], code.parts)
        say(f"the stored result is of other code (changed: {changed}); running again, the older record is kept")

    store.check_writable()
    device = choose_device(spec, registry)
    told = Listeners([*listeners, *(registry.listeners if spec.execution.tracking else [])])
    with computing(spec, device):
        memory = PeakMemory(device)
        problem = prepare(spec, registry, device)
        told.tell(
            "pubench_run_started",
            RunStarted(spec.run_id, code.hash, spec.model_dump(mode="json"), str(device), problem.facts()),
        )
        try:
            trained = train(spec, problem, registry, told, memory)
        except (RequestError, KeyboardInterrupt):
            raise
        # Whatever a method raises ends this run and nothing else: it is recorded with its traceback and reported.
        except Exception as error:
            failed = _failure(error)
            path = store.write_failure(
                spec.run_id,
                {
                    "run_id": spec.run_id,
                    "code": {"hash": code.hash, "parts": code.parts},
                    "spec": spec.model_dump(mode="json"),
                    "stage": failed.stage,
                    "epoch": failed.epoch,
                    "batch": failed.batch,
                    "reason": failed.reason,
                    "traceback": traceback.format_exc(),
                    "environment": environment.capture(device),
                },
            )
            told.tell(
                "pubench_run_finished", RunFinished(spec.run_id, "failed", path.parent, {"reason": failed.reason})
            )
            raise RunFailed(
                f"{failed.reason}; failure record {path}",
                stage=failed.stage,
                epoch=failed.epoch,
                batch=failed.batch,
            ) from error
        around = environment.capture(device)
    result = _result(spec, problem, trained, registry, {"hash": code.hash, "parts": code.parts}, around)
    try:
        with store.write(spec.run_id) as folder:
            _fill(folder, spec, problem, trained, result, around)
    except RecordError as error:
        error.result = result
        raise
    told.tell(
        "pubench_run_finished", RunFinished(spec.run_id, "finished", store.folder(spec.run_id), result)
    )
    return Outcome(result, store.folder(spec.run_id), reused=False)


def data_root(given: Path | None) -> DataRoot:
    """``--data-root``, else ``PUBENCH_DATA``, else the user's cache folder."""
    if given is not None:
        return DataRoot(given, "--data-root")
    if from_environment := os.environ.get("PUBENCH_DATA"):
        return DataRoot(Path(from_environment), "PUBENCH_DATA")
    return DataRoot(platformdirs.user_cache_path("pubench"), "the user cache")


def choose_device(spec: RunSpec, registry: Registry) -> torch.device:
    """The device of a run; raises RequestError if it does not exist or the method cannot use it."""
    wanted, info = spec.execution.device, registry.find(MethodInfo, spec.method.key)
    if wanted == "auto":
        return torch.device("cuda" if "cuda" in info.devices and torch.cuda.is_available() else "cpu")
    device = torch.device(wanted)
    if device.type == "cuda":
        if not torch.cuda.is_available():
            raise RequestError(f"--device {wanted}: no CUDA device is available here; use --device cpu or auto")
        if (device.index or 0) >= torch.cuda.device_count():
            raise RequestError(f"--device {wanted}: this machine has {torch.cuda.device_count()} CUDA device(s)")
        device = torch.device("cuda", device.index or 0)
    if device.type not in info.devices:
        raise RequestError(f"--device {wanted}: {info.key} runs on {', '.join(info.devices)} only; use --device auto")
    return device


@contextmanager
def computing(spec: RunSpec, device: torch.device) -> Iterator[None]:
    """Thread count and deterministic kernels for the duration of a run; restored afterwards."""
    threads, deterministic = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    if spec.execution.threads is not None:
        torch.set_num_threads(spec.execution.threads)
    if device.type == "cuda":
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # read when cuBLAS is first used
        torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(deterministic, warn_only=warn_only)


def prepare(spec: RunSpec, registry: Registry, device: torch.device) -> Problem:
    """The problem of a spec, with data loaded and labelled; see :func:`build_problem` for its errors."""
    return build_problem(spec, registry, data_root(spec.execution.data_root), device, _granted(spec, registry))


def train(
    spec: RunSpec,
    problem: Problem,
    registry: Registry,
    listeners: Listeners | None = None,
    memory: PeakMemory | None = None,
) -> Trained:
    """Trains the method of a spec on a problem and scores the test part under every criterion.

    Raises RequestError if the criterion that names the result is undefined on this split.
    """
    told, device = listeners or Listeners(), problem.device
    memory = memory or PeakMemory(device)
    started = time.perf_counter()
    method = _method(spec, registry)
    measures = {
        info.key: (info, load(info))
        for info in registry.infos(MetricInfo)
        if info.key in {*spec.evaluation.metrics, *spec.selection.criteria}
    }
    evaluator = Evaluator(problem, method, measures, spec.seed, device)
    undefined = evaluator.undefined(spec.selection.criteria)
    refuse_undefined(
        spec.selection.criterion,
        undefined,
        counts=tuple(int((problem.data.y[_before_validation(problem)] == k).sum()) for k in (0, 1)),  # type: ignore[arg-type]
        c=spec.mechanism.c,
        known=spec.selection.criteria,
    )
    selection = Selection(spec.selection.criteria, undefined)
    data = problem.view(_granted(spec, registry))
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
        build=_backbone_builder(spec, problem, registry),
        monitor=monitor,
    )
    monitor.attach(data, run)
    with isolated(torch_seed(spec.seed, "fit"), device):
        try:
            method.fit(data, run)
        except (PubenchError, KeyboardInterrupt):
            raise
        except Exception as error:
            raise RunFailed(f"{type(error).__name__}: {error}", **run.position) from error
    if not monitor.epochs:
        raise PluginError(f"{type(method).__name__}.fit never went through run.epochs")
    monitor.refresh()
    selection.close(len(monitor.epochs), Snapshot.take(method), next(iter(method.candidates())))
    trained_at = time.perf_counter()
    scores = _scores_by_criterion(selection, evaluator, spec.selection.criterion)
    return Trained(
        method=method,
        selection=selection,
        epochs=monitor.epochs,
        scores=scores,
        seconds={
            "total": time.perf_counter() - started,
            "training": sum(e.seconds for e in monitor.epochs),
            "evaluation": sum(e.evaluation_seconds for e in monitor.epochs) + time.perf_counter() - trained_at,
            "per_epoch": sum(e.seconds + e.evaluation_seconds for e in monitor.epochs) / len(monitor.epochs),
            "per_epoch_training": sum(e.seconds for e in monitor.epochs) / len(monitor.epochs),
        },
        memory=memory.read(),
    )


def _granted(spec: RunSpec, registry: Registry) -> frozenset[str]:
    implementation = method_class(registry.find(MethodInfo, spec.method.key))
    return implementation.requires(implementation.Config.model_validate(spec.method.config))


def _method(spec: RunSpec, registry: Registry) -> AnyMethod:
    implementation = method_class(registry.find(MethodInfo, spec.method.key))
    return implementation(implementation.Config.model_validate(spec.method.config))


def _before_validation(problem: Problem) -> Any:
    return np.concatenate([problem.split.train.rows, problem.split.validation.rows])


def _backbone_builder(spec: RunSpec, problem: Problem, registry: Registry) -> Any:
    info = registry.find(BackboneInfo, spec.backbone.key)
    factory, data = load(info), problem.data

    def build(outputs: int) -> Backbone:
        network = factory(data.shape, outputs)
        if not isinstance(network, Backbone):
            raise PluginError(f"backbone '{info.key}': {info.load} returned {type(network).__name__}, not a Backbone")
        if data.mean is not None and data.std is not None:
            network.normalise = Normalise(data.mean, data.std)
        return network

    return build


def _scores_by_criterion(
    selection: Selection, evaluator: Evaluator, chosen: str
) -> dict[str, dict[str, FloatArray]]:
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
                "test": evaluator.scores(fn, *problem.part("test")[:2], place),
                "validation": evaluator.scores(
                    fn, problem.features, problem.rows(problem.split.validation.rows), place
                ),
            }
        found[track.name] = done[key]
    return {track.name: found[track.name] for track in selection.tracks.values() if track.name in found}


def _result(
    spec: RunSpec,
    problem: Problem,
    trained: Trained,
    registry: Registry,
    code: dict[str, Any],
    around: dict[str, Any],
) -> dict[str, Any]:
    infos = {m.key: m for m in registry.infos(MetricInfo)}
    criteria = {}
    for name, track in trained.selection.tracks.items():
        info = infos.get(name)
        entry: dict[str, Any] = {"oracle": info is not None and info.tag == "oracle"}
        if track.snapshot is None:
            entry["undefined"] = track.undefined or "it had no value at any epoch"
        else:
            entry |= _criterion_result(spec, problem, trained, registry, track)
        criteria[name] = entry
    return {
        "record_version": RECORD_VERSION,
        "run_id": spec.run_id,
        "status": "finished",
        "code": code,
        "spec": spec.model_dump(mode="json"),
        "oracle": "truth" in _granted(spec, registry),
        "selected": spec.selection.criterion,
        "test": criteria[spec.selection.criterion]["test"],
        "criteria": criteria,
        "data": problem.facts(),
        "epochs": len(trained.epochs),
        "seconds": {name: round(value, 4) for name, value in trained.seconds.items()},
        "peak_memory": trained.memory,
        "device": around["device"],
        "threads": around["threads"],
        "finished_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def _criterion_result(
    spec: RunSpec, problem: Problem, trained: Trained, registry: Registry, track: Track
) -> dict[str, Any]:
    scored = Scored.of(trained.scores[track.name]["test"], truth=problem.truth_test)
    measures = {m.key: (m, load(m)) for m in registry.infos(MetricInfo) if m.key in spec.evaluation.metrics}
    evaluator = Evaluator(problem, trained.method, measures, spec.seed, problem.device)
    return {
        "epoch": track.epoch,
        "value": track.best if track.name != "last" else None,
        "candidate": track.candidate,
        "stopped_at": track.stopped_at,
        "test": {name: evaluator.value(name, scored) for name in spec.evaluation.metrics},
    }


def _fill(
    folder: Path,
    spec: RunSpec,
    problem: Problem,
    trained: Trained,
    result: dict[str, Any],
    around: dict[str, Any],
) -> None:
    """Writes a record; ``result.json`` last."""
    write_yaml(folder / "spec.yaml", spec.model_dump(mode="json"))
    write_json(folder / "environment.json", around)
    if "trace" in spec.execution.artifacts:
        write_rows(folder / "trace.csv", [_trace_row(event) for event in trained.epochs])
    if "scores" in spec.execution.artifacts:
        validation = problem.split.validation
        np.savez_compressed(
            folder / "scores.npz",
            test_rows=problem.split.test_rows,
            test_labels=problem.truth_test,
            validation_rows=validation.rows,
            validation_labels=problem.truth_validation,
            validation_labeled=validation.labeled,
            **{
                f"{part}_scores_{name}": values
                for name, by_part in trained.scores.items()
                for part, values in by_part.items()
            },
        )
    if spec.execution.save_model:
        Snapshot.take(trained.method).save(
            folder / "model.safetensors",
            {"run_id": spec.run_id, "spec": spec.model_dump(mode="json"), "shape": list(problem.data.shape)},
        )
    write_json(folder / RESULT, result)


def _trace_row(event: Any) -> dict[str, Any]:
    return {
        "stage": event.stage,
        "epoch": event.epoch,
        "in_stage": event.in_stage,
        "seconds": round(event.seconds, 4),
        "evaluation_seconds": round(event.evaluation_seconds, 4),
        **event.values,
        **{f"criterion-{name}": value for name, value in event.criteria.items()},
    }


def _failure(error: Exception) -> RunFailed:
    if isinstance(error, RunFailed):
        return error
    return RunFailed(f"{error}" if isinstance(error, PubenchError) else f"{type(error).__name__}: {error}")


def _difference(old: Mapping[str, str], new: Mapping[str, str]) -> str:
    changed = sorted(name for name in {*old, *new} if old.get(name) != new.get(name))
    return ", ".join(changed)
