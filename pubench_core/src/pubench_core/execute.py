"""Carrying out one run: stored result or training, record, events.

:func:`execute` is what ``pubench run`` and the Python API call; :func:`prepare` and
:func:`pubench_core.engine.train.train` are its two halves, apart so that a test can change the hidden labels between
them.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from . import environment
from .data.dataset import DataRoot, Progress, silent
from .data.roots import data_root
from .data.store import located, open_dataset, source_of
from .engine.problem import Problem, build_problem
from .engine.report import MODEL, RECORD_VERSION, fill_folder, result_of
from .engine.resources import PeakMemory
from .engine.train import granted, train
from .errors import PubenchError, RecordError, RequestError, RunFailed
from .events import RunFinished, RunStarted
from .identity import CodeIdentity, code_of
from .info import DatasetInfo, MethodInfo
from .listeners import Listeners
from .records import RecordStore
from .registry import Registry
from .specs import RunSpec


@dataclass(frozen=True)
class Outcome:
    """``result``: the content of ``result.json``, in ``folder``; ``reused``: it was stored already."""

    result: Mapping[str, Any]
    folder: Path
    reused: bool


def execute(
    spec: RunSpec,
    *,
    registry: Registry,
    listeners: Iterable[Any] = (),
    force: bool = False,
    say: Callable[[str], None] = lambda text: None,
    progress: Progress = silent,
) -> Outcome:
    """Runs a spec, or returns its stored result if the same code already ran it; ``say`` is told which and why.

    Raises RequestError before anything is trained if the request cannot be met, RunFailed (with a failure record)
    if training fails, RecordError if the result cannot be stored; that error carries the result.
    """
    store = RecordStore(spec.execution.results)
    code = code_of(spec, registry)
    root = data_root(spec.execution, say, progress=progress)
    stored = None if force else store.find(spec.run_id)
    if stored is not None:
        code = _as_read(code, spec, registry, root, stored, say)
    if stored is not None and stored.get("record_version") != RECORD_VERSION:
        say("the stored record is of another format; running again, the older record is kept")
    elif stored is not None and spec.execution.save_model and not (store.folder(spec.run_id) / MODEL).exists():
        say("the stored record has no model; running again, the older record is kept")
    elif stored is not None and stored["code"]["hash"] == code.hash:
        say(f"stored result of {stored['finished_at']}: same spec, same code (--force runs it again)")
        return Outcome(stored, store.folder(spec.run_id), reused=True)
    elif stored is not None:
        changed = _difference(stored["code"]["parts"], code.parts)
        say(f"the stored result is of other code (changed: {changed}); running again, the older record is kept")

    store.check_writable()
    device = choose_device(spec, registry)
    told = Listeners([*listeners, *(registry.listeners if spec.execution.tracking else [])])
    with computing(spec, device):
        memory = PeakMemory(device)
        try:
            problem = prepare(spec, registry, device, root)
            code = code.reading(spec.data.key, problem.digest)
            start = RunStarted(spec.run_id, code.hash, spec.model_dump(mode="json"), str(device), problem.facts())
            trained = train(
                spec, problem, registry, told, memory, started=lambda: told.tell("pubench_run_started", start)
            )
        except (RequestError, KeyboardInterrupt):
            raise
        # Whatever a loader, a mechanism or a method raises ends this run and nothing else: it is recorded, with its
        # traceback, and reported.
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
                "pubench_run_finished",
                RunFinished(spec.run_id, "failed", path.parent, {"reason": failed.reason}),
            )
            raise RunFailed(
                f"{failed.reason}; failure record {path}",
                stage=failed.stage,
                epoch=failed.epoch,
                batch=failed.batch,
            ) from error
        around = environment.capture(device)
    result = result_of(spec, problem, trained, registry, {"hash": code.hash, "parts": code.parts}, around)
    try:
        with store.write(spec.run_id) as folder:
            fill_folder(folder, spec, problem, trained, result, around)
    except RecordError as error:
        error.result = result
        raise
    told.tell("pubench_run_finished", RunFinished(spec.run_id, "finished", store.folder(spec.run_id), result))
    return Outcome(result, store.folder(spec.run_id), reused=False)


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


def prepare(spec: RunSpec, registry: Registry, device: torch.device, root: DataRoot | None = None) -> Problem:
    """The problem of a spec, with data loaded and labeled; see :func:`build_problem` for its errors."""
    root = root or data_root(spec.execution)
    return build_problem(spec, registry, root, device, granted(spec, registry))


def _as_read(
    code: CodeIdentity,
    spec: RunSpec,
    registry: Registry,
    root: DataRoot,
    stored: Mapping[str, Any],
    say: Callable[[str], None],
) -> CodeIdentity:
    """The code with the digest of the data as they are now; as stored where they are not here to compare."""
    if spec.data.own is not None:
        return code
    info = registry.find(DatasetInfo, spec.data.key)
    try:
        files = located(info, source_of(info), root)
    except RequestError as error:
        say(f"the data behind the stored result are not here to compare: {error}")
        return code.reading(info.key, str(stored["code"]["parts"].get(f"data {info.key}", "")))
    if not files:
        return code
    return code.reading(info.key, open_dataset(info, root, preprocess=spec.data.preprocess).digest)


def _failure(error: Exception) -> RunFailed:
    if isinstance(error, RunFailed):
        return error
    return RunFailed(f"{error}" if isinstance(error, PubenchError) else f"{type(error).__name__}: {error}")


def _difference(old: Mapping[str, str], new: Mapping[str, str]) -> str:
    changed = sorted(name for name in {*old, *new} if old.get(name) != new.get(name))
    return ", ".join(changed)
