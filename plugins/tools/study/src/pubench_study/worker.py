"""A process that carries out one run after the other: ``python -m pubench_study.worker CHANNEL ALIVE``.

``CHANNEL``: number of a socket on which tasks come and what became of them goes. ``ALIVE``: number of a pipe that ends
when the process that started this one has gone; a run that still trains is then given up, a finished one is stored.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import suppress
from multiprocessing.connection import Connection

from pubench_core.results import Environment

from .task import Ended, RunTask, carry_out


def main(channel: int, alive: int) -> None:
    """Until the channel is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's Ctrl-C is for the parent, which decides
    threading.Thread(target=_end_with_parent, args=(alive,), daemon=True).start()
    connection = Connection(channel)
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):  # nobody is there any more
        connection.send(_prepared())  # it can take tasks
        while True:
            task: RunTask = connection.recv()
            ended: Ended = carry_out(task, connection.send)
            sys.stdout.flush()
            connection.send(ended)


def _end_with_parent(alive: int) -> None:
    while os.read(alive, 1):
        pass
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

    run_worker(int(sys.argv[1]), int(sys.argv[2]))
