"""Blocks that leave the process as they found it: random generators, and what code of others may turn on and forget."""

from __future__ import annotations

import gc
import os
import random
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.optim import optimizer

from .errors import OutOfTime, RunFailed, said_by


@contextmanager
def isolated(seed: int, device: torch.device) -> Iterator[None]:
    """Runs a block on freshly seeded global generators (torch on CPU and ``device``, NumPy, ``random``).

    What the caller had seeded neither influences the block nor is changed by it.
    """
    numpy_state, python_state = np.random.get_state(), random.getstate()
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.default_generator.manual_seed(seed)  # torch.manual_seed would seed every GPU as well, the caller's too
        if device.type == "cuda":
            with torch.cuda.device(device):
                torch.cuda.manual_seed(seed)
        np.random.seed(seed % 2**32)
        random.seed(seed)
        try:
            yield
        finally:
            np.random.set_state(numpy_state)
            random.setstate(python_state)


def _counts_tiny_as_zero() -> bool:
    return (torch.tensor(1e-39, dtype=torch.float32) * 1).item() == 0


@contextmanager
def tiny_numbers_as_zero() -> Iterator[None]:
    """While the block runs, denormal numbers (below 1.2e-38 in float32) count as zero on the CPU.

    Weight decay leaves nothing but such numbers of weights without a gradient, and a processor computes with them many
    times slower: the epochs of a network that decides every row alike took up to 17 times as long as its first ones.
    It holds for the calling thread and the threads that it starts, on processors where torch can do it.
    """
    before = _counts_tiny_as_zero()
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(before)


@dataclass(frozen=True)
class _Setting:
    """``tacit``: imports change it as well, so that a change says nothing about a method. ``usual``: its value where
    nobody has set it, for what decides numbers.
    """

    name: str
    read: Callable[[], Any]
    write: Callable[[Any], object]
    tacit: bool = False
    usual: Any = None


#: Variables that libraries read when they are imported, and that others set for them: no setting of a method.
_OF_LIBRARIES = ("KMP_", "OMP_", "MKL_", "TORCHINDUCTOR_", "TRITON_", "TOKENIZERS_", "HF_")


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(_OF_LIBRARIES)}


def _set_environment(before: dict[str, str]) -> None:
    for name in _environment().keys() - before.keys():
        del os.environ[name]
    os.environ.update({name: value for name, value in before.items() if os.environ.get(name) != value})


def _set_filters(before: list[Any]) -> None:
    warnings.simplefilter("default")  # what was shown once is forgotten
    warnings.filters[:] = before  # type: ignore[index] # a list, whatever its annotation says


def _folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # it was deleted
        return None


def _go_to(folder: str | None) -> None:
    if folder is not None:
        with suppress(OSError):
            os.chdir(folder)


def _flag(owner: Any, name: str, usual: bool) -> _Setting:
    """An attribute of one of torch's backends."""
    full = f"{owner.__name__}.{name}"
    return _Setting(full, lambda: getattr(owner, name), lambda value: setattr(owner, name, value), usual=usual)


#: Where torch keeps what is called for every module and every optimizer of the process.
_HOOKS: list[dict[Any, Any]] = [
    kept
    for module in (torch.nn.modules.module, optimizer)
    for name, kept in vars(module).items()
    if name.startswith("_global_") and isinstance(kept, dict)
]


def _set_hooks(before: list[dict[Any, Any]]) -> None:
    for kept, content in zip(_HOOKS, before, strict=True):
        kept.clear()
        kept.update(content)


_SETTINGS = (
    _Setting("torch's default dtype", torch.get_default_dtype, torch.set_default_dtype, usual=torch.float32),
    _Setting("torch's global hooks", lambda: [dict(kept) for kept in _HOOKS], _set_hooks, usual=[{} for _ in _HOOKS]),
    _Setting(
        "torch's default device",
        torch.get_default_device,
        lambda device: torch.set_default_device(None if device.type == "cpu" else device),
        usual=torch.device("cpu"),
    ),
    _Setting("torch's gradients", torch.is_grad_enabled, torch.set_grad_enabled, usual=True),
    _Setting("torch's anomaly detection", torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly),
    _Setting(
        "torch's matmul precision",
        torch.get_float32_matmul_precision,
        torch.set_float32_matmul_precision,
        usual="highest",
    ),
    _Setting("torch's number of threads", torch.get_num_threads, torch.set_num_threads),
    _Setting(
        "torch's deterministic mode", torch.get_deterministic_debug_mode, torch.set_deterministic_debug_mode, usual=0
    ),
    _Setting("torch's flushing of denormal numbers", _counts_tiny_as_zero, torch.set_flush_denormal),
    _flag(torch.backends.mkldnn, "enabled", usual=True),
    _flag(torch.backends.cudnn, "enabled", usual=True),
    _flag(torch.backends.cudnn, "benchmark", usual=False),
    _flag(torch.backends.cudnn, "allow_tf32", usual=False),  # torch's own default is True
    _Setting("NumPy's floating-point errors", np.geterr, lambda before: np.seterr(**before)),
    _Setting("the working folder", _folder, _go_to),
    _Setting("environment variables", _environment, _set_environment),
    _Setting("the recursion limit", sys.getrecursionlimit, sys.setrecursionlimit, tacit=True),
    _Setting("garbage collection", gc.isenabled, lambda on: gc.enable() if on else gc.disable()),
    _Setting("warning filters", lambda: list(warnings.filters), _set_filters, tacit=True),
)


@contextmanager
def usual_settings() -> Iterator[None]:
    """Runs a block with torch's settings as they are where nobody has set any, and no hooks on every module.

    A plugin that is merely installed, or the caller's notebook, does not change the numbers of a run.
    """
    kept = [(setting, setting.read()) for setting in _SETTINGS if setting.usual is not None]
    for setting, _ in kept:
        setting.write(setting.usual)
    try:
        yield
    finally:
        for setting, value in kept:
            setting.write(value)


@contextmanager
def left_as_found() -> Iterator[list[str]]:
    """Runs a block and undoes what it changed of the state of the process; the list then names what that was.

    A method that forgets to turn something off again does not spoil the next run of the process.
    """
    before = [setting.read() for setting in _SETTINGS]
    changed: list[str] = []
    try:
        yield changed
    finally:
        for setting, value in zip(_SETTINGS, before, strict=True):
            now = setting.read()
            if now == value:
                continue
            setting.write(value)
            if isinstance(value, dict):
                names = sorted(name for name in {*value, *now} if value.get(name) != now.get(name))
                changed.append(f"{setting.name} ({', '.join(names)})")
            elif not setting.tacit:
                changed.append(setting.name)


@contextmanager
def staying() -> Iterator[None]:
    """A block that calls plugins. What would end the process (SystemExit, say) is a failure of the run: RunFailed."""
    try:
        yield
    except (Exception, KeyboardInterrupt, OutOfTime):
        raise
    except BaseException as error:
        raise RunFailed(said_by(error)) from error
