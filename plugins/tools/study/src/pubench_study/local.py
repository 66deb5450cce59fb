"""Long-lived worker processes on this machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path

from pubench_core.errors import RecordError, shortened
from pubench_core.results import Environment

from .durations import duration
from .executors import Wanted
from .task import Ended, Orders, Progressed, RunTask

#: What says how many threads a library may use; read when it is loaded.
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
#: Seconds that a worker has to end by itself, and to end a run whose time is over.
GRACE = 5.0
#: Seconds without a word of a run, after which that is said.
QUIET = 60.0
#: Workers that die before they can take a task: then something is wrong with the installation, not with a run.
MOST_STILLBORN = 3


def pool(wanted: Wanted) -> LocalPool:
    """The executor ``local``."""
    return LocalPool(wanted.devices, wanted.orders, wanted.logs)


@dataclass
class _Worker:
    """A process, and the task that it has."""

    device: str
    """Where its runs compute."""
    process: subprocess.Popen[bytes]
    connection: Connection
    log: Path
    environment: Environment | None = None
    """None until it can take tasks."""
    task: RunTask | None = None
    deadline: float | None = None
    heard: float = 0.0
    """When it last said something."""
    told: float = 0.0
    """When that was last said to be long ago."""
    epoch: tuple[int, int] = (0, 1)
    retiring: bool = False


@dataclass
class LocalPool:
    """Workers, started when there is work for them. ``devices``: of each; several may share one.

    ``logs``: folder of what they print.
    """

    devices: Sequence[str]
    orders: Orders
    logs: Path
    #: What workers run on; None before the first has said it.
    environment: Environment | None = None
    _free: list[str] = field(init=False)
    _workers: list[_Worker] = field(default_factory=list)
    _waiting: list[RunTask] = field(default_factory=list)
    _ran_on: dict[str, str] = field(default_factory=dict)
    _started: int = 0
    _stillborn: int = 0

    def __post_init__(self) -> None:
        self._free = list(self.devices)

    @property
    def size(self) -> int:
        """How many runs can be in work at once."""
        return len(self._free) + sum(not worker.retiring for worker in self._workers)

    @property
    def in_work(self) -> list[RunTask]:
        """Tasks that were taken and have not ended."""
        return [worker.task for worker in self._workers if worker.task is not None] + self._waiting

    def submit(self, task: RunTask) -> None:
        """Gives a task to an idle worker, or to one that is started for it."""
        self._waiting.append(task)
        self._hand_out()

    def _hand_out(self) -> None:
        for worker in self._workers:
            if self._waiting and worker.environment is not None and worker.task is None and not worker.retiring:
                task = self._waiting.pop(0)
                self._ran_on[task.run_id] = worker.device
                worker.task = replace(task, execution=self.orders.execution(worker.device))
                worker.heard, worker.epoch = time.monotonic(), (0, 1)
                seconds = worker.task.timeout
                worker.deadline = None if seconds is None else time.monotonic() + seconds + GRACE
                with suppress(OSError):  # it has just died, which is noticed where answers are read
                    worker.connection.send(worker.task)
        starting = sum(worker.environment is None for worker in self._workers)
        while self._free and starting < len(self._waiting):
            self._start(self._free.pop(0))
            starting += 1

    def _start(self, device: str) -> None:
        self.logs.mkdir(parents=True, exist_ok=True)
        self._started += 1
        log = self.logs / f"worker-{os.getpid()}-{self._started}.log"
        ours, theirs = Pipe()
        threads = dict.fromkeys(THREAD_VARIABLES, str(self.orders.threads))
        with log.open("ab") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "pubench_study.worker", str(theirs.fileno())],
                env={**os.environ, **threads},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,  # a terminal's Ctrl-C is for this process alone
            )
        theirs.close()
        self._workers.append(_Worker(device, process, ours, log))

    def events(self, timeout: float) -> list[Ended | Progressed]:
        """Events of workers since the last call; waits up to ``timeout`` seconds for the first.

        Raises RecordError if no worker can be started.
        """
        found: list[Ended | Progressed] = []
        for worker in self._workers:
            if worker.task is not None and worker.deadline is not None and time.monotonic() > worker.deadline:
                worker.process.kill()  # it does not answer: it hangs in a call, or was stopped
        by_connection = {worker.connection: worker for worker in self._workers}
        for connection in wait(list(by_connection), timeout) if by_connection else []:
            worker = by_connection[connection]  # type: ignore[index]
            try:
                said = worker.connection.recv()
            except (EOFError, OSError):
                found += self._buried(worker)
                continue
            worker.heard = time.monotonic()
            if isinstance(said, Progressed):
                worker.epoch = (said.epoch, said.of)
            if isinstance(said, Environment):  # it can take tasks
                self.environment = worker.environment = said
                self._stillborn = 0
                continue
            if isinstance(said, Ended):
                worker.task = None
                if worker.retiring:
                    self._workers.remove(worker)
                    self._closed(worker)
            found.append(said)
        for worker in self._workers:  # it hangs, was stopped, or has a long epoch
            now = time.monotonic()
            if worker.task is not None and now - max(worker.heard, worker.told) > QUIET:
                worker.told = now
                quiet = f"nothing heard for {duration(now - worker.heard)}, after epoch"
                found.append(Progressed(worker.task.run_id, quiet, *worker.epoch))
        if not by_connection:
            time.sleep(min(timeout, 0.05))
        self._hand_out()
        return found

    def _buried(self, worker: _Worker) -> list[Ended | Progressed]:
        """A worker that has died: its place is free again, its run has ended."""
        self._workers.remove(worker)
        code = self._closed(worker)
        if not worker.retiring:
            self._free.append(worker.device)
        last = _last_line(worker.log)
        reason = f"its worker {_how(code)}" + (f"; the last it said: {last}" if last else "")
        if worker.environment is None:
            self._stillborn += 1
            if self._stillborn >= MOST_STILLBORN:
                raise RecordError(
                    f"no worker can be started: {_how(code)}; {last or 'nothing was said'} ({worker.log})"
                )
            return []
        if worker.task is None:
            return []
        if worker.deadline is not None and time.monotonic() > worker.deadline:
            reason = f"it did not end at its timeout of {worker.task.timeout:g} s, and its process was killed"
            return [Ended(worker.task.run_id, "died", reason, "timeout")]
        return [Ended(worker.task.run_id, "died", reason, "worker-died")]

    def fewer(self, run_id: str) -> bool:
        """Takes half of the places from the device on which a run was out of memory; whether any could go."""
        device = self._ran_on.get(run_id, "")
        workers = [worker for worker in self._workers if worker.device == device and not worker.retiring]
        places = len(workers) + self._free.count(device)
        surplus = places // 2
        for _ in range(min(surplus, self._free.count(device))):
            self._free.remove(device)
            surplus -= 1
        for worker in sorted(workers, key=lambda worker: worker.task is not None)[:surplus]:
            worker.retiring = True
            if worker.task is None:
                self._workers.remove(worker)
                self._closed(worker)
        return places > 1

    def close(self, *, abandon: bool = False) -> None:
        """Ends all workers: idle ones at once; what is in work is given up if ``abandon``, and otherwise waited for."""
        self._waiting.clear()
        for worker in self._workers:
            if abandon and worker.task is not None:
                worker.process.terminate()
            elif worker.task is None:
                worker.connection.close()
        deadline = time.monotonic() + GRACE if abandon else None
        for worker in self._workers:
            try:
                worker.process.wait(None if deadline is None else max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                worker.process.kill()
            self._closed(worker)
        self._workers.clear()

    def _closed(self, worker: _Worker) -> int:
        with suppress(OSError):
            worker.connection.close()
        try:
            code = worker.process.wait(GRACE)
        except subprocess.TimeoutExpired:
            worker.process.kill()
            code = worker.process.wait()
        with suppress(OSError):
            if worker.log.stat().st_size == 0:
                worker.log.unlink()
        return code


def _how(code: int) -> str:
    """How a process ended, in words."""
    if code >= 0:
        return f"ended with code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = str(-code)
    more = ", as when the machine runs out of memory" if -code == signal.SIGKILL else ""
    return f"was killed ({name}{more})"


def _last_line(log: Path) -> str:
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    except OSError:
        return ""
    return shortened(lines[-1], 200) if lines else ""
