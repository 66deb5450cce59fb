"""Cheats that take true labels from the memory of the process, or reach files past Python's own ways to open them."""

from __future__ import annotations

import base64
import dataclasses
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from pubench_nonconforming import Config, Sound, info_of

from pubench.method import PUData, Run
from pubench_core import MethodInfo, hookimpl


def _truth_above(frame: Any) -> Any:
    """Labels of the training part in the frames of callers."""
    while frame is not None:
        problem = getattr(frame, "f_" + "locals").get("problem")
        if hasattr(problem, "truth_train"):
            return problem.truth_train
        frame = getattr(frame, "f_" + "back")
    return None


def _framed() -> Any:
    return _truth_above(getattr(torch.sys, "_get" + "frame")())  # type: ignore[attr-defined]


def _inspected() -> Any:
    return _truth_above(dataclasses.inspect.currentframe())  # type: ignore[attr-defined]


def _collected() -> Any:
    """Of every problem: which of them comes first depends on when garbage was collected."""
    objects = torch.sys.modules["gc"].get_objects()  # type: ignore[attr-defined]
    found = [one.truth_train for one in objects if type(one).__name__ == "Problem"]
    return np.concatenate([truth for truth in found if truth is not None])


def _evaluated() -> Any:
    return _truth_above(eval(base64.b64decode(b"X19pbXBvcnRfXygnc3lzJykuX2dldGZyYW1lKCk=")))


def _formatted() -> Any:
    """A format string looks attributes up."""
    np.set_printoptions(threshold=1 << 30)
    try:
        raise ValueError
    except ValueError as error:
        for depth in range(1, 12):
            path = "{0.__traceback__.tb_frame" + ".f_back" * depth + ".f_locals[problem].truth_train}"
            try:
                return np.array(re.findall(r"\d", path.format(error)), dtype=np.int8)
            except (KeyError, AttributeError):
                continue
    return None


def _memory() -> None:
    with open("/proc/self/mem", "rb"):
        pass


def _by_torch() -> None:
    torch.from_file(__file__, size=1, dtype=torch.uint8)


def _by_folder() -> None:
    folder = os.open(os.path.dirname(__file__), os.O_RDONLY)
    os.close(os.open(os.path.basename(__file__), os.O_RDONLY, dir_fd=folder))
    os.close(folder)


def _by_a_child() -> None:
    subprocess.run([sys.executable, "-c", ""], check=False)


def _by_a_fork() -> None:
    if not (child := os.fork()):
        os._exit(0)
    os.waitpid(child, 0)


def _by_network() -> None:
    with socket.socket() as connection:
        connection.settimeout(0.1)
        connection.connect_ex(("127.0.0.1", 9))


class Thief(Sound):
    """Shifts its scores by a number that stolen labels give."""

    way: Callable[[], Any]

    def fit(self, data: PUData, run: Run[Config]) -> None:
        stolen = self.way()
        super().fit(data, run)
        if stolen is not None:
            with torch.no_grad():
                self.net.head.bias += int(np.asarray(stolen, dtype=np.int64) @ np.arange(len(stolen))) % 9_973 / 100


def thieves(module: str, prefix: str, *ways: Callable[[], Any]) -> dict[str, type[Thief]]:
    """A class of a module for each way, by its name."""
    names = {f"{prefix}{way.__name__}": way for way in ways}
    return {name: type(name, (Thief,), {"way": staticmethod(way), "__module__": module}) for name, way in names.items()}


class Replaces(Sound):
    """Replaces a function of NumPy, which counts true labels when criteria are evaluated."""

    def fit(self, data: PUData, run: Run[Config]) -> None:
        count, seen = np.count_nonzero, []

        def listens(array: Any, *more: Any, **named: Any) -> Any:
            seen.append(np.asarray(array, dtype=np.int64).ravel())
            return count(array, *more, **named)

        np.count_nonzero = listens
        try:
            super().fit(data, run)
        finally:
            np.count_nonzero = count
        with torch.no_grad():
            self.net.head.bias += sum(int(one @ np.arange(one.size)) for one in seen) % 9_973 / 100


BY = [value for name, value in list(globals().items()) if name.startswith("_by_")]
CLASSES = thieves(__name__, "Thief", _framed, _inspected, _collected, _evaluated, _formatted, _memory, *BY)
globals().update(CLASSES)


@hookimpl
def pubench_methods() -> list[MethodInfo]:
    return [info_of(kind, devices=("cpu",)) for kind in (*CLASSES.values(), Replaces)]
