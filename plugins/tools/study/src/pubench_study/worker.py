"""A process that carries out one run after the other: ``python -m pubench_study.worker CHANNEL``.

``CHANNEL``: number of the socket that brings tasks and takes their outcomes back. It closes when the process that
started this one has gone or no longer needs it. A run that still trains is then given up; a finished one is stored.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import suppress
from multiprocessing.connection import Connection
from queue import Queue

from pubench_core.results import Environment

from .task import RunTask, carry_out


def main(channel: int) -> None:
    """Until the channel is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's Ctrl-C is for the parent, which decides
    connection, tasks = Connection(channel), Queue[RunTask]()
    threading.Thread(target=_take, args=(connection, tasks), daemon=True).start()
    with suppress(BrokenPipeError, ConnectionResetError):  # nobody is there any more
        connection.send(_prepared())  # it can take tasks
        while True:
            ended = carry_out(tasks.get(), connection.send)
            sys.stdout.flush()
            connection.send(ended)


def _take(connection: Connection, tasks: Queue[RunTask]) -> None:
    with suppress(EOFError, OSError):
        while True:
            tasks.put(connection.recv())
    os.kill(os.getpid(), signal.SIGTERM)  # held back while a result is stored


def _prepared() -> Environment:
    """Imports what every run needs, and takes one step, so that no run pays for what torch loads then."""
    import torch

    from pubench_core.engine.machine import capture, keep_freed_memory
    from pubench_core.plugins.registry import registry
    from pubench_core.training.optimizers import Adam

    keep_freed_memory()
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    weight = torch.nn.Parameter(torch.zeros(2, 2))
    optimizer = Adam([weight])
    (torch.ones(1, 2) @ weight).sum().backward()
    optimizer.step()
    registry()
    import pubench_core.engine.execute  # noqa: F401

    return capture(torch.device("cpu"))


if __name__ == "__main__":
    # Under its own name, so that what is sent through the channel is of the classes that the parent knows.
    from .worker import main as run_worker

    run_worker(int(sys.argv[1]))
