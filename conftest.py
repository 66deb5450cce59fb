"""What all tests share: the console script in processes of its own, and distributions that exist for one test.

Imported before any test: the folders ``pubench_core/`` and ``pubench_cli/`` have the names of the packages in them, and
pytest, which names a test module by its folders, must not take the folder for the package.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import struct
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from filelock import FileLock

import pubench_cli
import pubench_core

__all__ = ["pubench_cli", "pubench_core"]

SCRIPT = Path(sys.executable).parent / "pubench"
WARM = Path(__file__).parent / "tests" / "warm_interpreter.py"
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

os.fsync = lambda fd: None  # every record waits for the disk six times; no test takes the power away

#: Files whose tests take longest, in that order: begun first, so that no worker is left with one of them at the end.
LONGEST = (
    "plugins/methods/puet/tests/test_puet.py",  # compiles trees, which others then load from numba's cache
    "tests/test_docs.py",
    "plugins/tools/verify/tests/test_verify_blind.py",
    "plugins/tools/verify/tests/test_honest_records.py",
    "plugins/tools/evaluate/tests/test_advise.py",
    "plugins/executors/ray/tests/test_study_ray.py",
    "plugins/tools/verify/tests/test_verify_altered.py",
    "tests/test_study_faults.py",
    "tests/test_worst_hour_tracking.py",
    "plugins/tools/report/tests/test_site.py",
    "plugins/tools/testkit/tests/test_device_discipline.py",
    "plugins/datasets/text/tests/test_real_text.py",
    "tests/test_pages.py",
    "tests/test_fuzz.py",
    "plugins/tools/evaluate/tests/test_cli_evaluate.py",
    "tests/test_carried_data.py",
    "plugins/tools/report/tests/test_study_report.py",
    "plugins/datasets/tabular/tests/disdat/test_runs.py",
    "tests/test_reproducibility.py",
    "plugins/methods/vae-pu/tests/test_vae_pu.py",
    "tests/test_worst_hour_inputs.py",
    "tests/test_cli_data.py",
    "tests/test_examples.py",
    "tests/test_first_hour_cli.py",
    "plugins/sinks/mlflow/tests/test_sink.py",
    "plugins/tools/testkit/tests/test_scaffold.py",  # by then `make types` has filled the cache of mypy
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first; the rest as collected. Tests of vectors are marked by the name of their file."""
    for item in items:
        if "reference" in item.path.stem:
            item.add_marker("reference")
    places = {str(Path(__file__).parent / name): place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(str(item.path), len(places)))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Collects no garbage meanwhile, which took a fifth of the time: what is imported stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_xdist_auto_num_workers() -> Generator[None, int, int]:
    """One more than cores, which were idle a fifth of the time: tests wait for disks, browsers and processes."""
    return (yield) + 1


def clean_environment(**more: str) -> dict[str, str]:
    from pubench_core.engine.machine import KERNEL_VARIABLES  # a command has the kernels of this process

    return {name: os.environ[name] for name in (*KEPT, *KERNEL_VARIABLES) if name in os.environ} | more


@dataclass
class Started:
    """A process of a script, with what :class:`subprocess.Popen` has for one."""

    args: list[str]
    pid: int
    _files: tuple[Path, Path]
    _ended: Callable[[], int]
    returncode: int | None = None

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        self.returncode = self._ended()
        return self.returncode

    def communicate(self) -> tuple[str, str]:
        """What it wrote, once it has ended."""
        self.wait()
        out, err = (file.read_text() for file in self._files)
        return out, err

    def done(self) -> subprocess.CompletedProcess[str]:
        """What :func:`subprocess.run` gives of it."""
        texts = self.communicate()
        return subprocess.CompletedProcess(self.args, self.returncode or 0, *texts)


class Scripts:
    """Starts scripts, most of them in processes forked from an interpreter that has imported torch before: see
    :mod:`warm_interpreter`.
    """

    def __init__(self, scratch: Path) -> None:
        self._scratch, self._number = scratch, 0
        self._warm: subprocess.Popen[str] | None = None
        if sys.platform == "linux":  # elsewhere, forking an interpreter that has loaded torch is not safe
            env = clean_environment(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")  # no threads: it forks
            command = [sys.executable, WARM]
            self._warm = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)

    def start(
        self,
        words: Sequence[Any],
        folder: Path,
        env: Mapping[str, str],
        *,
        script: Path | str = SCRIPT,
        cold: bool = False,
        files: tuple[Path, Path] | None = None,
        read: Path | str = os.devnull,
    ) -> Started:
        """A process that goes on next to the test. ``cold``: from nothing; ``files``: where it writes, if they are
        there already; ``read``: its input.
        """
        self._number += 1
        out, err = files or (self._scratch / f"{self._number}-out", self._scratch / f"{self._number}-err")
        if files is None:
            out.touch()
            err.touch()
        command = [str(script), *map(str, words)]
        if self._warm is not None and not cold:
            places = {"folder": str(folder), "out": str(out), "err": str(err), "read": str(read)}
            pid = self._answer(script=command[0], arguments=command[1:], env=dict(env), **places)
            return Started(command, pid, (out, err), lambda: self._answer(wait=pid))
        how = [] if script == SCRIPT else [sys.executable]
        with open(read) as stdin, out.open("w") as stdout, err.open("w") as stderr:
            process = subprocess.Popen([*how, *command], cwd=folder, env=env, stdin=stdin, stdout=stdout, stderr=stderr)
        return Started(command, process.pid, (out, err), process.wait)

    def train(self, words: list[str], *, input: str, **_: Any) -> subprocess.CompletedProcess[str]:
        """What :func:`subprocess.run` gives of a training that :func:`pubench.verify` starts in this process."""
        read = self._scratch / "read"
        read.write_text(input)
        return self.start([], Path.cwd(), os.environ, script=words[-1], read=read).done()

    def _answer(self, **request: Any) -> int:
        """Number of a process that was started, or the exit code of one that is waited for."""
        assert self._warm is not None
        assert self._warm.stdin is not None
        assert self._warm.stdout is not None
        print(json.dumps(request), file=self._warm.stdin, flush=True)
        return int(self._warm.stdout.readline())

    def close(self) -> None:
        if self._warm is not None:
            self._warm.communicate()


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Small tensors on a busy machine: a second thread costs more than it brings."""
    import torch  # here, as the process that hands out the tests needs none

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """An optimizer of torch imports its whole compiler, for seconds, only to ask it to leave the optimizer alone."""
    import torch

    alone = SimpleNamespace(disable=lambda function, *_, **__: function, graph_break=lambda: None)
    monkeypatch.setitem(sys.modules, "torch._dynamo", alone)
    monkeypatch.setattr(torch, "_dynamo", alone, raising=False)


@pytest.fixture(scope="module", autouse=True)
def _browser_ends() -> Iterator[None]:
    """A browser that tests of a module opened pages in ends with the module."""
    yield
    if "browser" in sys.modules:
        sys.modules["browser"].close()


def shared_by_workers(factory: pytest.TempPathFactory) -> Path:
    """The folder of a session, which is the same for all workers of pytest-xdist."""
    base = factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture(scope="session", autouse=True)
def pubench_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Prepared copies and downloads of the tests go to a folder of this session, never to the user's cache. Workers
    share it: each would prepare the larger data sets again.
    """
    before = os.environ.get("PUBENCH_CACHE")
    os.environ["PUBENCH_CACHE"] = str(shared_by_workers(tmp_path_factory) / "cache")
    yield os.environ["PUBENCH_CACHE"]
    if before is None:
        del os.environ["PUBENCH_CACHE"]
    else:
        os.environ["PUBENCH_CACHE"] = before


@pytest.fixture(scope="session")
def _scripts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scripts]:
    scripts = Scripts(tmp_path_factory.mktemp("scripts"))
    yield scripts
    scripts.close()


@pytest.fixture(scope="session")
def pubench_started(_scripts: Scripts) -> Callable[..., Started]:
    """``pubench_started(folder, *arguments)``: a process of the console script that goes on next to the test.

    ``cold=True`` starts it from nothing, for tests of what is imported and when; otherwise it starts in an interpreter
    that has imported torch before. ``env``: added to a clean environment. Of what it gives, ``communicate`` waits for
    its end.
    """

    def start(folder: Path, *arguments: Any, env: Mapping[str, str] | None = None, **how: Any) -> Started:
        return _scripts.start(arguments, folder, clean_environment(**(env or {})), **how)

    return start


@pytest.fixture(scope="session")
def pubench_in(pubench_started: Callable[..., Started]) -> Callable[[Path], Run]:
    """``pubench_in(folder)(*arguments)``: what the console script did there; ``cold``, ``env``: as it is started."""
    return lambda folder: lambda *arguments, **how: pubench_started(folder, *arguments, **how).done()


@pytest.fixture(scope="session")
def forked_trainings(_scripts: Scripts) -> Iterator[None]:
    """:func:`pubench.verify` in this process repeats runs without waiting for torch to be imported each time."""
    from pubench_verify import training

    with pytest.MonkeyPatch.context() as patch:
        if sys.platform == "linux":
            patch.setattr(training, "subprocess", SimpleNamespace(run=_scripts.train))
        yield


@pytest.fixture(scope="session")
def script_in(pubench_started: Callable[..., Started]) -> Callable[..., subprocess.CompletedProcess[str]]:
    """``script_in(folder, path)``: what a Python script did there; ``env`` as of ``pubench_started``."""
    return lambda folder, path, **how: pubench_started(folder, script=path, **how).done()


@pytest.fixture(scope="session")
def pubench_at_once(pubench_started: Callable[..., Started]) -> Callable[..., list[subprocess.CompletedProcess[str]]]:
    """``pubench_at_once(4, folder, *arguments)``: what four processes of the console script did side by side."""

    def run(times: int, folder: Path, *arguments: Any, **how: Any) -> list[subprocess.CompletedProcess[str]]:
        started = [pubench_started(folder, *arguments, **how) for _ in range(times)]
        return [one.done() for one in started]

    return run


@pytest.fixture(scope="session")
def pubench_into(pubench_started: Callable[..., Started]) -> Callable[..., int]:
    """``pubench_into(folder, out, err, *arguments)``: exit code of the console script that wrote to these two files,
    which are there: a device, a named pipe; ``env`` as of ``pubench_started``.
    """
    return lambda folder, out, err, *arguments, **how: pubench_started(
        folder, *arguments, files=(out, err), **how
    ).wait()


@pytest.fixture(scope="session")
def pubench_on_terminal(pubench_into: Callable[..., int]) -> Callable[..., tuple[int, str]]:
    """``pubench_on_terminal(folder, width, *arguments)``: exit code, and what the console script wrote on a pseudo
    terminal of that width, which stdout and stderr were.
    """

    def run(folder: Path, width: int, *arguments: Any) -> tuple[int, str]:
        import fcntl
        import pty
        import termios

        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
        written: list[bytes] = []

        def read() -> None:
            with contextlib.suppress(OSError):  # EIO: the other end is closed
                while block := os.read(ours, 65536):
                    written.append(block)

        reader = threading.Thread(target=read)
        reader.start()
        terminal, env = Path(os.ttyname(theirs)), {"TERM": "xterm-256color", "OMP_NUM_THREADS": "1"}
        code = pubench_into(folder, terminal, terminal, *arguments, env=env)
        os.close(theirs)
        reader.join()
        os.close(ours)
        return code, b"".join(written).decode("utf-8", "surrogateescape")

    return run


@pytest.fixture
def pubench(pubench_in: Callable[[Path], Run], tmp_path: Path) -> Run:
    """``pubench(*arguments)``: what the console script did in an empty folder."""
    return pubench_in(tmp_path)


@pytest.fixture
def pubench_within(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """``pubench_within(*arguments)``: what the command did in this process, in an empty folder.

    For what carries nothing out - listings, helps, refused requests - and would take ten times as long in a process.
    """
    from pubench_cli import machine
    from pubench_cli.main import app
    from pubench_cli.process import carried_out

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PUBENCH_DATA", raising=False)

    def run(*arguments: Any) -> subprocess.CompletedProcess[str]:
        monkeypatch.setattr(sys, "argv", ["pubench", *map(str, arguments)])
        monkeypatch.setattr(machine, "_printed", False)  # as a process begins
        code = carried_out(app)
        return subprocess.CompletedProcess(sys.argv, code, *capsys.readouterr())

    return run


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the test module."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def here(pubench_in: Callable[[Path], Run], home: Path) -> Run:
    """``here(*arguments)``: what the console script did in the folder of the test module."""
    return pubench_in(home)


@pytest.fixture
def within(pubench_within: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """``within(*arguments)``: as ``here``, in this process, for what trains nothing."""
    monkeypatch.chdir(home)
    return pubench_within


@pytest.fixture(scope="session")
def make_distribution() -> Callable[..., Path]:
    """``make_distribution(folder, name, modules, entry_point)``: an installed distribution, for PYTHONPATH.

    ``modules``: module name -> source; ``entry_point``: the module in ``group``, by default the first.
    """

    def make(
        folder: Path, name: str, modules: Mapping[str, str], entry_point: str | None = None, group: str = "pubench"
    ) -> Path:
        facts = folder / f"{name.replace('-', '_')}-1.0.dist-info"
        facts.mkdir(parents=True)
        (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (facts / "entry_points.txt").write_text(f"[{group}]\n{name} = {entry_point or next(iter(modules))}\n")
        for module, source in modules.items():
            (folder / f"{module}.py").write_text(source)
        return folder

    return make


@pytest.fixture
def with_plugin(make_distribution: Callable[..., Path], tmp_path: Path) -> Callable[..., dict[str, str]]:
    """``with_plugin("acme-moon", source)``: an environment in which a distribution with the module ``acme_moon`` is
    installed, next to those of earlier calls. ``more``: further modules.
    """

    def install(name: str, source: str, group: str = "pubench", **more: str) -> dict[str, str]:
        modules = {name.replace("-", "_"): source, **more}
        return {"PYTHONPATH": str(make_distribution(tmp_path / "site", name, modules, group=group))}

    return install


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Callable[[Path], object]], Path]:
    """``made_once(name, make)``: what ``make`` writes at a path, file or folder, once for all workers."""
    shared = shared_by_workers(tmp_path_factory)

    def once(name: str, make: Callable[[Path], object]) -> Path:
        found, new = shared / "once" / name, shared / "unfinished" / name
        with FileLock(shared / f"{name}.lock"):
            if not found.exists():
                found.parent.mkdir(exist_ok=True)
                new.parent.mkdir(exist_ok=True)
                make(new)
                new.rename(found)
        return found

    return once


@pytest.fixture(scope="session")
def tracking_database(made_once: Callable[[str, Callable[[Path], object]], Path]) -> Path:
    """A database of MLflow's in which no run is: making its tables takes longer than what most tests look at."""

    def make(file: Path) -> None:
        sink = pytest.importorskip("pubench_mlflow.sink")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # MLflow's own
            sink._create_or_check(file)

    return made_once("mlflow.db", make)
