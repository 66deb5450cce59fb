"""Runs the console script without waiting for torch to be imported each time.

Started once per test session. Imports and looks up what every run does, then reads one JSON request per line and forks
a process for it, whose number it answers: that process goes on as the script itself, with its own arguments,
environment, folder and output. A request to wait for a process answers its exit code.

The workers of a study, which the script starts as processes of their own, are forked as well. So are the trainings of
``pubench verify``, which must know nothing of the command that starts them: of a process that waits for such requests
at a socket. Modules of ours, and of the libraries in ``SHARED``, that a request imported are imported here, so that no
second one has to.
"""

import contextlib
import functools
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import safetensors.torch  # noqa: F401
import scipy.special  # noqa: F401
import torch
import typer.main
from pubench_study import local, worker
from pubench_verify import training

import pubench.method  # noqa: F401
import pubench_cli.commands.runs
import pubench_cli.describe
import pubench_cli.doctor
import pubench_cli.listing
import pubench_cli.main
import pubench_cli.run
from pubench.running import plan_of
from pubench_core.data.dataset import data_root
from pubench_core.data.source import source_of
from pubench_core.data.store import open_dataset
from pubench_core.engine import machine
from pubench_core.plugins import source_code
from pubench_core.plugins.info import DatasetInfo
from pubench_core.plugins.registry import registry
from pubench_core.plugins.replaced import refuse_replaced
from pubench_core.specs import ExecutionSpec

#: Packages of this repository, apart from those that import a library which starts threads.
OURS = {
    "pubench",
    *(path.name for path in Path(__file__).parents[1].glob("*/src/pubench_*")),
    *(path.name for path in Path(__file__).parents[1].glob("plugins/*/*/src/pubench_*")),
} - {"pubench_mlflow", "pubench_ray"}
#: Libraries that may be loaded before a process is forked: they start no threads when they are imported.
SHARED = {"filelock", "jinja2", "matplotlib", "numba", "pandas", "pydantic", "rich", "scipy", "sklearn", "typer"} | OURS
#: Caches that do not depend on the path: what was made of a file in some state, and the commit of this checkout.
KEPT = (source_code._made, machine._git)
WORKER = ["-m", "pubench_study.worker"]
TRAINING = "pubench_verify.training"
#: Names of the modules that were imported before the first request.
at_start: set[str] = set()
#: Address of the process that forks trainings, without a file.
TRAININGS = f"\0pubench-trainings-{os.getpid()}"


def serve() -> dict[str, Any] | None:
    """In the parent: answers every request, until stdin ends (None). In a child: its request."""
    prepare()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(TRAININGS)
    listener.listen()
    if not os.fork():
        return next_training(listener)
    listener.close()
    heard: dict[int, int] = {}
    for line in sys.stdin:
        request = json.loads(line)
        if "wait" in request:
            child = request["wait"]
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
            load_what_is_wanted(read_now(heard[child]))
            os.close(heard.pop(child))
            continue
        if is_tracked(request["arguments"]) and "mlflow" not in sys.modules:
            with contextlib.suppress(ImportError):
                importlib.import_module("pubench_mlflow.sink")
            gc.freeze()
        end_of_ours, said = os.pipe()
        child = os.fork()
        if not child:
            return {**request, "said": said}
        os.close(said)
        heard[child] = end_of_ours
        print(child, flush=True)
    return None


def prepare() -> None:
    """What every command asks for before it does anything, done once and kept."""
    os.fsync = lambda fd: None  # as in the tests
    typer.main.get_command = functools.cache(typer.main.get_command)
    typer.main.get_command(pubench_cli.main.app)
    registry()
    plan_of("nnpu", "digits", {}, {})
    for key in ("digits", "breast-cancer"):  # text that is parsed, and kept for the process
        open_dataset(source_of(registry().find(DatasetInfo, key)), data_root(ExecutionSpec()))
    refuse_replaced(registry().packages)
    machine.capture(torch.device("cpu"))
    gc.freeze()
    at_start.update(sys.modules)


def read_now(end: int) -> list[str]:
    """The words that were written to a pipe so far."""
    os.set_blocking(end, False)
    with contextlib.suppress(BlockingIOError):
        return os.read(end, 1 << 16).decode().split()
    return []


def load_what_is_wanted(names: list[str]) -> None:
    """Imports the modules that a request had to import."""
    missing = [name for name in names if name not in sys.modules]
    if not missing:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in missing:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
    gc.freeze()


def is_tracked(words: list[str]) -> bool:
    """Whether a command may send a run to MLflow, which takes seconds to import."""
    return words[:1] == ["track"] or (words[:1] == ["run"] and not {"--no-tracking", "--dry-run"} & set(words))


def become(request: dict[str, Any]) -> None:
    """Turns this process into one that was started with the request's arguments."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it: its children too
    os.chdir(request["folder"])
    for number, path in ((0, request.get("read", os.devnull)), (1, request["out"]), (2, request["err"])):
        os.dup2(os.open(path, os.O_WRONLY if number and stat.S_ISFIFO(os.stat(path).st_mode) else os.O_RDWR), number)
    os.environ.clear()
    os.environ.update(request["env"])
    sys.argv = [request["script"], *request["arguments"]]
    sys.path[0] = os.path.dirname(request["script"])
    places = [p for p in request["env"].get("PYTHONPATH", "").split(os.pathsep) if p]
    if places:
        forget()
    if any(name.startswith("_") for name in os.environ):  # typer reads some of these when it makes the commands
        typer.main.get_command.cache_clear()
    sys.path[1:1] = places
    own = {name.removesuffix(".py") for place in places if os.path.isdir(place) for name in os.listdir(place)}
    if own & {package_of(name) for name in sys.modules}:
        for name in list(sys.modules):  # what the request has a version of its own of, and what may have imported that
            if package_of(name) in own or (package_of(name) in OURS and name not in at_start):
                del sys.modules[name]
    local.subprocess = SimpleNamespace(**vars(subprocess) | {"Popen": worker_process})
    training.subprocess = SimpleNamespace(run=training_process)


def package_of(module: str) -> str:
    return module.partition(".")[0]


def forget() -> None:
    """Drops what is kept of this environment: with another path, other packages are found."""
    for name, module in list(sys.modules.items()):
        if package_of(name) in OURS:
            for value in list(vars(module).values()):
                if callable(clear := getattr(value, "cache_clear", None)) and value not in KEPT:
                    clear()


def run_script(path: str) -> int:
    """Exit code of the script, as the interpreter would give it."""
    try:
        if path == TRAINING:
            del sys.path[0]  # as -P does
            warnings.simplefilter("ignore")
            runpy.run_module(path, run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(path, run_name="__main__")
    except SystemExit as stop:
        return int(stop.code or 0)
    except BaseException:  # noqa: BLE001 (what an interpreter does with whatever a script raises)
        traceback.print_exc()
        return 1
    return 0


def end(code: int) -> NoReturn:
    """Without tearing down what was imported before."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


# -------------------------------------------------------------------- workers of a study


class Forked:
    """A child of this process, with what :class:`subprocess.Popen` has for one."""

    def __init__(self, pid: int) -> None:
        self.pid, self.returncode = pid, None

    def poll(self) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        deadline = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if deadline is not None and time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("worker", timeout)
            time.sleep(0.005)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def worker_process(words: list[str], *, pass_fds: tuple[int, ...] = (), **how: Any) -> Any:
    """A worker of a study, forked; any other process is started as ever.

    ``sitecustomize``, which only a new interpreter reads, makes it any other.
    """
    env = how.get("env") or {}
    places = env.get("PYTHONPATH", "").split(os.pathsep)
    if words[1:3] != WORKER or any(
        os.path.exists(os.path.join(place, "sitecustomize.py")) for place in places if place
    ):
        return subprocess.Popen(words, pass_fds=pass_fds, **how)
    sys.stdout.flush()
    sys.stderr.flush()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # a terminal's live view is drawn by a thread
        child = os.fork()
    if child:
        return Forked(child)
    os.setsid()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    output = how["stdout"].fileno()
    for number, source in ((0, os.open(os.devnull, os.O_RDONLY)), (1, output), (2, output)):
        os.dup2(source, number)
    opened = 3
    for kept in [*sorted(pass_fds), os.sysconf("SC_OPEN_MAX")]:
        os.closerange(opened, kept)
        opened = kept + 1
    sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
    os.environ.clear()
    os.environ.update(env)
    sys.argv = [worker.__file__, *words[3:]]
    try:
        worker.main(*map(int, words[3:]))
    except BaseException:  # noqa: BLE001 (what an interpreter does with whatever a script raises)
        traceback.print_exc()
        end(1)
    end(0)


# -------------------------------------------------------------------- trainings of ``pubench verify``


def next_training(listener: socket.socket) -> dict[str, Any]:
    """In a process that lives as long as its parent: answers exit codes. In a child of it: its request."""
    parent = os.getppid()
    for number in (0, 1):  # the parent's
        os.dup2(os.open(os.devnull, os.O_RDWR), number)
    listener.settimeout(0.5)
    while os.getppid() == parent:
        with contextlib.suppress(TimeoutError):
            connection, _ = listener.accept()
            with connection, connection.makefile() as lines:
                request: dict[str, Any] = json.loads(lines.readline())
                child = os.fork()
                if not child:
                    return request
                connection.sendall(str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])).encode())
    end(0)


def training_process(words: list[str], *, input: str, **how: Any) -> subprocess.CompletedProcess[str]:
    """What :func:`subprocess.run` gives of a training that ``pubench verify`` starts."""
    if words[-2:] != ["-m", TRAINING]:
        return subprocess.run(words, input=input, **how)
    with tempfile.TemporaryDirectory() as place:
        files = {name: os.path.join(place, name) for name in ("read", "out", "err")}
        for name, path in files.items():
            with open(path, "w", encoding="utf-8") as file:
                file.write(input if name == "read" else "")
        request = {**files, "script": TRAINING, "arguments": [], "folder": os.getcwd(), "env": dict(os.environ)}
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(TRAININGS)
            connection.sendall(json.dumps(request).encode() + b"\n")
            code = int(connection.recv(16))
        out, err = (open(files[name], encoding="utf-8").read() for name in ("out", "err"))  # noqa: SIM115
    return subprocess.CompletedProcess(words, code, out, err)


if __name__ == "__main__":
    request = serve()
    if request is not None:
        become(request)
        before = set(sys.modules)
        code = run_script(request["script"])
        new = [name for name in sys.modules if package_of(name) in SHARED and name not in before]
        if "said" in request:
            os.set_blocking(request["said"], False)
            with contextlib.suppress(OSError):  # the pipe is full, or its reader gone
                os.write(request["said"], " ".join(new).encode())
        end(code)
