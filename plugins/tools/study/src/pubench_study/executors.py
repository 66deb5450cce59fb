"""Who carries runs out: what an executor is asked for, and the one that comes with studies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pubench_core import ExecutorInfo, hookimpl

if TYPE_CHECKING:
    from .task import Orders


@dataclass(frozen=True)
class Wanted:
    """A pool to be made.

    ``devices``: of the runs that are in work at once, one each. ``gpus``: share of a GPU that a run takes, 0 if none
    was asked for. ``logs``: folder for what workers print. ``address``: None means the executor's default.
    """

    orders: Orders
    devices: Sequence[str]
    gpus: float
    logs: Path
    address: str | None = None


@hookimpl
def pubench_executors() -> list[ExecutorInfo]:
    return [
        ExecutorInfo(
            key="local",
            name="processes",
            summary="Processes of this machine, each of which takes one run after the other.",
            load="pubench_study.local:pool",
            here=True,
        )
    ]
