"""Cheats that hide what they reach for, keep what they saw, or read what an earlier process left."""

from __future__ import annotations

import glob
import operator
import os
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pubench_nonconforming import Config, Sound, info_of
from pubench_thieving import thieves

from pubench.method import PUData, Run
from pubench_core import MethodInfo, hookimpl


def _callers() -> Iterator[Any]:
    """Frames of callers, named in patterns alone."""
    try:
        raise ValueError
    except ValueError as error:
        match error:
            case BaseException(__traceback__=link):
                match link:
                    case object(tb_frame=frame):
                        pass
    while frame is not None:
        yield frame
        match frame:
            case object(f_back=frame):
                pass


def _problems(frame: Any) -> Any:
    match frame:
        case object(f_locals=names):
            return next((one for one in names.values() if hasattr(one, "truth_train")), None)


def _first(problems: list[Any]) -> Any:
    return next((one.truth_train for one in problems if one is not None), None)


def _matched() -> Any:
    return _first([_problems(frame) for frame in _callers()])


def _outermost() -> Any:
    return _first([_problems(frame) for frame in _callers()][::-1])


def _walked() -> Any:
    """Frames by the module traceback, attributes by a name that is made."""
    names = operator.attrgetter("f_" + "locals")
    found = [names(frame) for frame, _ in traceback.walk_stack(None)]
    return _first([one for local in found for one in local.values() if hasattr(one, "truth_train")])


def _remembered() -> Any:
    """What it saw first in this process."""
    if not hasattr(torch.nn, "seen"):
        torch.nn.seen = _matched()  # type: ignore[attr-defined]
    return torch.nn.seen


def _left() -> Any:
    """A file that an earlier process left."""
    path = Path(tempfile.gettempdir(), "pubench-left")
    return np.frombuffer(path.read_bytes(), dtype=np.int8) if path.exists() else None


def _environment() -> Any:
    return np.frombuffer(os.environb.get(b"PUBENCH_LEFT", b""), dtype=np.int8)


def _recorded() -> Any:
    """Labels of test rows in a record of an earlier run."""
    for path in sorted(glob.glob("results/*/scores.npz")):
        return np.load(path)["test_labels"]
    return None


class Seeded(Sound):
    """Has the seed of the run from its generator, and from that the order in which rows of the file were drawn."""

    def fit(self, data: PUData, run: Run[Config]) -> None:
        seed = run.numpy_rng.bit_generator.seed_seq
        super().fit(data, run)
        with torch.no_grad():
            self.net.head.bias += int(np.sum(seed.generate_state(1))) % 9_973 / 100


class Waits(Sound):
    """Learns from the last epoch of a loop without a patient criterion how long a criterion of true labels improved."""

    def fit(self, data: PUData, run: Run[Config]) -> None:
        self.net, turns = run.backbone(), 0
        optimizer = run.optimizer(self.net.parameters(), lr=0.1)
        for _ in run.epochs(30, patience=1):
            turns += 1
            for batch in run.joint_batches():
                run.step(-self.net(batch.x).mean() * (-1) ** turns, optimizer)
        with torch.no_grad():
            self.net.head.bias += turns


class Interface(Sound):
    """Reads memory that is not its own by an address."""

    def fit(self, data: PUData, run: Run[Config]) -> None:
        class Memory:
            __array_interface__ = {  # noqa: RUF012
                "data": (id(data), True),
                "shape": (16,),
                "typestr": "|u1",
                "version": 3,
            }

        super().fit(data, run)
        assert len(np.asarray(Memory())) == 16


CLASSES = thieves(__name__, "Schemer", _matched, _outermost, _walked, _remembered, _left, _environment, _recorded)
globals().update(CLASSES)


@hookimpl
def pubench_methods() -> list[MethodInfo]:
    return [info_of(kind, devices=("cpu",)) for kind in (*CLASSES.values(), Seeded, Waits, Interface)]
