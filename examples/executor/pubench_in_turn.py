"""An executor: the runs of a study in the process of the command, one after the other, as a debugger needs them.

pip install -e examples/executor
python -m pdb -m pubench study run quick --executor in-turn
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pubench_core import ExecutorInfo, hookimpl

if TYPE_CHECKING:
    from pubench_study.executors import Wanted
    from pubench_study.task import Ended, Progressed, RunTask

    from pubench_core.results import Environment


@hookimpl
def pubench_executors() -> list[ExecutorInfo]:
    """The row of 'pubench list executors'."""
    return [
        ExecutorInfo(
            key="in-turn",
            name="this process",
            summary="One run after the other in the process of the command.",
            load="pubench_in_turn:pool",
            here=True,
        )
    ]


@dataclass
class InTurn:
    """A pool of one place. A task that it takes is carried out when it is asked for events."""

    wanted: Wanted
    environment: Environment | None = None
    task: RunTask | None = None

    @property
    def size(self) -> int:
        """How many runs can be in work at once."""
        return 1

    @property
    def in_work(self) -> list[RunTask]:
        """Tasks that were taken and have not ended."""
        return [] if self.task is None else [self.task]

    def submit(self, task: RunTask) -> None:
        """Takes a task."""
        self.task = replace(task, execution=self.wanted.orders.execution(self.wanted.devices[0]))

    def events(self, timeout: float) -> list[Ended | Progressed]:
        """Carries out the task that was taken."""
        from pubench_study.task import carry_out

        if self.task is None:
            return []
        found: list[Ended | Progressed] = []
        found.append(carry_out(self.task, found.append))
        self.task = None
        return found

    def fewer(self, run_id: str) -> bool:
        """There is one place."""
        return False

    def close(self, *, abandon: bool = False) -> None:
        """Nothing to end."""


def pool(wanted: Wanted) -> InTurn:
    """Makes the pool that a study asks for."""
    return InTurn(wanted)
