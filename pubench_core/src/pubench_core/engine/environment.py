"""Environment of a run: versions, source revision, processor, threads."""

from __future__ import annotations

import os
import platform
import subprocess
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch

from ..plugins.registry import registry, tools
from ..results import Environment

#: Packages whose version can change numbers; pubench's own and every plugin's are added.
NOTED = ("torch", "torchvision", "numpy", "scipy", "scikit-learn", "numba", "sentence-transformers", "openml")
#: Environment variables that choose kernels of torch, MKL, oneDNN, OpenBLAS, NumPy and CUDA.
_VARIABLES = (
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
    return Environment(
        python=platform.python_version(),
        platform=platform.platform(),
        packages=_versions(),
        git_commit=commit,
        git_dirty=dirty,
        cpu=_cpu_model(),
        cpu_count=os.cpu_count(),
        threads=torch.get_num_threads(),
        device=str(device),
        variables={name: os.environ[name] for name in _VARIABLES if name in os.environ},
        gpu=torch.cuda.get_device_name(device) if device.type == "cuda" else None,
        cuda=torch.version.cuda if device.type == "cuda" else None,
    )


@cache
def _versions() -> dict[str, str]:
    """Distributions that installers left behind without metadata have no name or no version, and are no package."""
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
def _cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
