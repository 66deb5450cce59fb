"""The real console script in a separate process, and distributions that exist for one test."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(sys.executable).parent / "pubench"
WARM = Path(__file__).parent / "warm_interpreter.py"
#: What a run may learn of the machine; everything else, PUBENCH_DATA included, is given by the test or absent.
KEPT = (
    "PATH",
    "HOME",
    "PUBENCH_CACHE",
    "LANG",
    "TMPDIR",
    "LD_LIBRARY_PATH",
    "CUDA_VISIBLE_DEVICES",
    "NVIDIA_VISIBLE_DEVICES",
    "COVERAGE_PROCESS_CONFIG",  # make coverage measures the command too
    "COVERAGE_CORE",
)

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def clean_environment(**more: str) -> dict[str, str]:
    return {name: os.environ[name] for name in KEPT if name in os.environ} | more


class WarmInterpreter:
    """See :mod:`warm_interpreter`; one request at a time."""

    def __init__(self, scratch: Path) -> None:
        self._out, self._err = scratch / "out", scratch / "err"
        self._process = subprocess.Popen(
            [sys.executable, WARM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=clean_environment(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1"),  # no threads: it forks
        )

    def run(self, arguments: list[str], folder: Path, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        for path in (self._out, self._err):
            path.write_text("")
        request = {
            "script": str(SCRIPT),
            "arguments": arguments,
            "folder": str(folder),
            "env": dict(env),
            "out": str(self._out),
            "err": str(self._err),
        }
        print(json.dumps(request), file=self._process.stdin, flush=True)
        code = int(self._process.stdout.readline())
        command = [str(SCRIPT), *arguments]
        return subprocess.CompletedProcess(command, code, self._out.read_text(), self._err.read_text())

    def close(self) -> None:
        self._process.communicate()


@pytest.fixture(scope="session")
def _warm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmInterpreter | None]:
    if sys.platform != "linux":  # elsewhere, forking an interpreter that has loaded torch is not safe
        yield None
        return
    interpreter = WarmInterpreter(tmp_path_factory.mktemp("warm"))
    yield interpreter
    interpreter.close()


@pytest.fixture(scope="session")
def pubench_in(_warm: WarmInterpreter | None) -> Callable[[Path], Run]:
    """``pubench_in(folder)(*arguments)``: what the console script did there.

    ``cold=True`` starts it from nothing, for tests of what is imported and when; otherwise it starts in an interpreter
    that has imported torch before. ``env``: added to a clean environment.
    """

    def bind(folder: Path) -> Run:
        def run(
            *arguments: Any, cold: bool = False, env: Mapping[str, str] | None = None
        ) -> subprocess.CompletedProcess[str]:
            words = [str(a) for a in arguments]
            clean = clean_environment(**(env or {}))
            if _warm is not None and not cold:
                return _warm.run(words, folder, clean)
            return subprocess.run([SCRIPT, *words], cwd=folder, env=clean, capture_output=True, text=True, check=False)

        return run

    return bind


@pytest.fixture
def pubench(pubench_in: Callable[[Path], Run], tmp_path: Path) -> Run:
    """``pubench(*arguments)``: what the console script did in an empty folder."""
    return pubench_in(tmp_path)


@pytest.fixture(scope="session")
def make_distribution() -> Callable[..., Path]:
    """``make_distribution(folder, name, modules, entry_point)``: an installed distribution, for PYTHONPATH.

    ``modules``: module name -> source; ``entry_point``: the module in group ``pubench``, by default the first.
    """

    def make(folder: Path, name: str, modules: Mapping[str, str], entry_point: str | None = None) -> Path:
        facts = folder / f"{name.replace('-', '_')}-1.0.dist-info"
        facts.mkdir(parents=True)
        (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (facts / "entry_points.txt").write_text(f"[pubench]\n{name} = {entry_point or next(iter(modules))}\n")
        for module, source in modules.items():
            (folder / f"{module}.py").write_text(source)
        return folder

    return make
