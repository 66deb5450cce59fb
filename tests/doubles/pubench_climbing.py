"""Cheats that climb the frames of their callers: to the rows of a file, and, from a listener, to the truth."""

from __future__ import annotations

import sys
from typing import Any

import torch
from pubench_nonconforming import Config, Sound, info_of

from pubench.method import PUData, Run
from pubench_core import MethodInfo, hookimpl

OVERHEARD: list[float] = []


class Climbs(Sound):
    """Climbs the frames of its callers to the rows of the file, which is often sorted by class."""

    def fit(self, data: PUData, run: Run[Config]) -> None:
        super().fit(data, run)
        frame: Any = sys._getframe()
        while "evaluator" not in frame.f_locals:
            frame = frame.f_back
        rows = frame.f_locals["evaluator"].problem.split.train.rows
        with torch.no_grad():
            self.net.head.bias += float(rows[:20].mean()) / 1000


class Overhears(Sound):
    """Moves its threshold by what the listener has heard."""

    def fit(self, data: PUData, run: Run[Config]) -> None:
        OVERHEARD.clear()
        super().fit(data, run)
        with torch.no_grad():
            self.net.head.bias += sum(OVERHEARD)


@hookimpl
def pubench_epoch_finished(event: Any) -> None:
    frame: Any = sys._getframe()
    while not hasattr(frame.f_locals.get("self"), "evaluator"):
        frame = frame.f_back
    truth = frame.f_locals["self"].evaluator.problem.truth_validation
    OVERHEARD.append(float((truth * range(len(truth))).mean()))


@hookimpl
def pubench_methods() -> list[MethodInfo]:
    return [info_of(Climbs), info_of(Overhears)]
