"""The data set of these tests: installed for a module of tests, with files and a cache for each."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
from gray_data import GRAY, GrayData

from pubench_core.data.dataset import DataRoot

#: What a child process runs first.
CHILD = """
import sys
import time
from pathlib import Path

from pubench_core.data import store
from pubench_core.data.dataset import DataRoot
from pubench_core.data.source import source_of
from acme_gray import INFO

root = DataRoot(Path(sys.argv[1]), "a test", cache=Path(sys.argv[2]))

def held(name, when=lambda *a: True):
    "Does what it did, says so, and goes no further."
    real = getattr(store, name)
    def call(*arguments):
        real(*arguments)
        if when(*arguments):
            print("held", flush=True)
            time.sleep(60)
    setattr(store, name, call)

"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    (folder / "acme_gray.py").write_text(GRAY)
    return folder


@pytest.fixture(scope="module")
def gray_module(site: Path) -> Iterator[ModuleType]:
    sys.path.insert(0, str(site))
    import acme_gray

    yield acme_gray
    sys.path.remove(str(site))
    del sys.modules["acme_gray"]


@pytest.fixture
def gray(gray_module: ModuleType, tmp_path: Path) -> GrayData:
    """The data set in a data root with an empty cache."""
    return GrayData(gray_module, DataRoot(tmp_path / "data", "a test", cache=tmp_path / "cache"))


@pytest.fixture
def child(gray: GrayData, site: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """``child(code)``: a process that runs it with ``store``, ``INFO`` and ``root``; killed when the test ends."""
    with contextlib.ExitStack() as stack:

        def start(code: str, **env: str) -> subprocess.Popen[str]:
            process = subprocess.Popen(
                [sys.executable, "-c", CHILD + code, str(gray.root.path), str(gray.root.cache)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, "PYTHONPATH": str(site), **env},
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            return process

        yield start


@pytest.fixture
def printed(
    gray: GrayData, site: Path, script_in: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> Callable[[str], str]:
    """``printed(code)``: what a process of ``child`` printed, forked where all but the data set is imported."""

    def run(code: str) -> str:
        script, words = tmp_path / "child.py", [str(gray.root.path), str(gray.root.cache)]
        script.write_text(f"import sys\nsys.argv[1:] = {words}\n{CHILD}{code}")
        done = script_in(tmp_path, script, env={"PYTHONPATH": str(site)})
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
