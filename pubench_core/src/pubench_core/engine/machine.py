"""The machine that a run is carried out on: device, threads, versions, source revision, peak memory."""

from __future__ import annotations

import ctypes
import os
import platform
import re
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch

from ..errors import RequestError
from ..isolation import usual_settings
from ..plugins.registry import registry, tools
from ..results import Environment, PeakMemory
from ..specs.run import Precision
from .plan import Plan

#: Packages whose version can change numbers; pubench's own and every plugin's are added.
NOTED = (
    *("torch", "torchvision", "numpy", "scipy", "scikit-learn", "numba", "sentence-transformers", "openml", "pandas"),
    *("lightgbm", "xgboost", "catboost", "statsmodels", "transformers", "timm", "jax", "tensorflow"),
)
#: Environment variables that choose kernels of torch, MKL, oneDNN, OpenBLAS, NumPy and CUDA.
KERNEL_VARIABLES = (
    "ATEN_CPU_CAPABILITY",
    "CUBLAS_WORKSPACE_CONFIG",
    "DNNL_MAX_CPU_ISA",
    "MKL_CBWR",
    "MKL_ENABLE_INSTRUCTIONS",
    "NPY_DISABLE_CPU_FEATURES",
    "NVIDIA_TF32_OVERRIDE",
    "ONEDNN_MAX_CPU_ISA",
    "OPENBLAS_CORETYPE",
)
_OURS = ("pubench", "pubench-core", "pubench-cli")


def capture(device: torch.device) -> Environment:
    """Environment of the present process."""
    commit, dirty = _git()
    on_gpu = device.type == "cuda"
    tf32 = torch.backends.cuda.matmul.allow_tf32 if on_gpu else torch.get_float32_matmul_precision() != "highest"
    return Environment(
        python=platform.python_version(),
        platform=platform.platform(),
        packages=versions(),
        git_commit=commit,
        git_dirty=dirty,
        cpu=_cpu_model(),
        cpu_count=os.cpu_count(),
        threads=torch.get_num_threads(),
        device=str(device),
        variables={name: os.environ[name] for name in KERNEL_VARIABLES if name in os.environ},
        products="tf32" if tf32 else "ieee",
        convolutions="tf32" if on_gpu and torch.backends.cudnn.allow_tf32 else "ieee",
        gpu=torch.cuda.get_device_name(device) if on_gpu else None,
        gpu_memory=torch.cuda.get_device_properties(device).total_memory if on_gpu else None,
        cuda=torch.version.cuda if on_gpu else None,
        cudnn=str(torch.backends.cudnn.version()) if on_gpu else None,
        driver=_driver() if on_gpu else None,
    )


@cache
def versions() -> dict[str, str]:
    """Distribution -> version, of those that can change numbers.

    Distributions that installers left behind without metadata have no name or no version, and are no package."""
    plugins = registry().distributions | tools().distributions
    found = {}
    for name in sorted({*NOTED, *_OURS, *plugins}):  # by name: reading what every installed package is takes .2 s
        with suppress(PackageNotFoundError, KeyError, ValueError):  # ValueError: metadata that are no text
            found[name] = version(name)
    return {name: text for name, text in found.items() if isinstance(text, str)}


@cache
def _git() -> tuple[str | None, bool | None]:
    """(commit, whether anything is uncommitted) of the source tree that core was imported from; None where it is not a
    checkout or git is absent.
    """
    here = Path(__file__).parent
    try:
        commit = _output("git", "-C", str(here), "rev-parse", "HEAD")
        return commit, bool(_output("git", "-C", str(here), "status", "--porcelain"))
    except (OSError, subprocess.SubprocessError):
        return None, None


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()


@cache
def _driver() -> str | None:
    """Version of NVIDIA's kernel driver, None if the system does not say it."""
    path = Path("/proc/driver/nvidia/version")
    found = re.search(r"Kernel Module.*?\s(\d+\.\d+[\d.]*)", path.read_text()) if path.exists() else None
    return found[1] if found else None


@cache
def _cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


# -------------------------------------------------------------------- device and threads


_DEVICE = "execution.device"


def choose_device(plan: Plan) -> torch.device:
    """The device of a run; raises RequestError if it does not exist or the method cannot use it."""
    wanted, info, precision = plan.spec.execution.device, plan.method.info, plan.spec.precision
    if wanted == "auto":
        device = torch.device("cuda" if "cuda" in info.devices and torch.cuda.is_available() else "cpu")
    else:
        device = device_here(wanted)
        if device.type not in info.devices:
            raise RequestError(
                f"execution.device={wanted}: {info.key} runs on {', '.join(info.devices)} only; use auto",
                field=_DEVICE,
                value=wanted,
            )
    if precision not in precisions_of(device):
        raise RequestError(
            f"precision={precision}: {device} computes in {' or '.join(precisions_of(device))} only",
            field="precision",
            value=precision,
        )
    return device


def precisions_of(device: torch.device) -> tuple[Precision, ...]:
    """Precisions that a device can compute in. A processor without instructions for bfloat16 computes it slowly."""
    if device.type != "cuda":
        return ("ieee", "bf16")
    ampere = torch.cuda.get_device_capability(device) >= (8, 0)
    return ("ieee", "tf32", "bf16") if ampere else ("ieee",)


def device_here(wanted: str) -> torch.device:
    """``cpu`` or a CUDA device of this machine, with its number. Raises RequestError for one that is not here."""
    device = torch.device(wanted)
    if device.type != "cuda":
        return device
    if not torch.cuda.is_available():
        raise RequestError(
            f"execution.device={wanted}: no CUDA device is available here; use cpu or auto", field=_DEVICE, value=wanted
        )
    last = torch.cuda.device_count() - 1
    if (device.index or 0) > last:
        raise RequestError(
            f"execution.device={wanted}: expected cuda:0{f' to cuda:{last}' if last else ''} on this machine",
            field=_DEVICE,
            value=wanted,
        )
    return torch.device("cuda", device.index or 0)


def captured(plan: Plan, device: torch.device) -> Environment:
    """Environment of a plan, before or after it runs."""
    with computing(plan, device):
        return capture(device)


@contextmanager
def computing(plan: Plan, device: torch.device) -> Iterator[None]:
    """Threads, kernels, precision and all settings of torch for the duration of a run; restored afterwards."""
    threads = torch.get_num_threads()
    try:
        with usual_settings():
            if plan.spec.precision == "tf32":
                torch.set_float32_matmul_precision("high")
                torch.backends.cudnn.allow_tf32 = True
            if plan.spec.execution.threads is not None:
                torch.set_num_threads(plan.spec.execution.threads)
            if device.type == "cuda":
                os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # read when cuBLAS is first used
                # use_deterministic_algorithms would import torch's compiler
                torch.set_deterministic_debug_mode("warn")
            yield
    finally:
        torch.set_num_threads(threads)


# -------------------------------------------------------------------- memory

_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4  # malloc.h of glibc


def keep_freed_memory() -> None:
    """Lets the C library keep large blocks that are freed: a step takes and frees the same ones again.

    For processes that do nothing but train. Without glibc, nothing happens.
    """
    if platform.libc_ver()[0] == "glibc":
        libc = ctypes.CDLL(None)
        libc.mallopt(_M_MMAP_MAX, 0)
        libc.mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)


_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")


class PeakMemoryMeter:
    """Starts measuring when created."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._resettable = False
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(device)
        elif _CLEAR.exists():
            with suppress(OSError):  # not permitted in a container: the peak since the process started is reported
                _CLEAR.write_text("5")  # resets the high-water mark of resident memory (Linux, proc(5))
                self._resettable = True

    def read(self) -> PeakMemory:
        """The peak since this object was made."""
        if self._device.type == "cuda":
            peak = torch.cuda.max_memory_allocated(self._device)
            return PeakMemory(bytes=peak, what="peak allocated on the GPU")
        if self._resettable:
            line = next(row for row in _STATUS.read_text().splitlines() if row.startswith("VmHWM:"))
            return PeakMemory(bytes=int(line.split()[1]) * 1024, what="peak resident during the run")
        unit = 1 if sys.platform == "darwin" else 1024
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
        return PeakMemory(bytes=peak, what="peak resident since the process started")
