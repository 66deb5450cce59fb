"""A method that keeps what it was given for a test to look at, and a metric that draws random numbers."""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
import torch
from pubench_nonconforming import Config, Sound, info_of

from pubench.method import PUData, Run
from pubench_core import MethodInfo, MetricInfo, hookimpl
from pubench_core.metric import MetricView


def found_from(*roots: Any) -> Iterator[Any]:
    """Everything that attributes, containers, closures, bound arguments and generators' frames lead to.

    Not followed: modules, classes and functions' globals, which hold the program and not a run.
    """
    seen: dict[int, Any] = {}
    waiting = list(roots)
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen or isinstance(thing, (type, types.ModuleType, str, bytes, int, float, type(None))):
            continue
        seen[id(thing)] = thing
        yield thing
        if isinstance(thing, Mapping):
            waiting += [*thing.keys(), *thing.values()]
        elif isinstance(thing, (list, tuple, set, frozenset)):
            waiting += thing
        waiting += vars(thing).values() if hasattr(thing, "__dict__") else []
        slots = [name for kind in type(thing).__mro__ for name in getattr(kind, "__slots__", ())]
        waiting += [getattr(thing, name) for name in slots if isinstance(name, str) and hasattr(thing, name)]
        if isinstance(thing, types.FunctionType):
            waiting += [cell.cell_contents for cell in thing.__closure__ or ()] + list(thing.__defaults__ or ())
        if isinstance(thing, types.MethodType):
            waiting.append(thing.__self__)
        if isinstance(thing, functools.partial):
            waiting += [thing.func, *thing.args, *thing.keywords.values()]
        if isinstance(thing, types.GeneratorType) and thing.gi_frame is not None:
            waiting += thing.gi_frame.f_locals.values()
            waiting.append(thing.gi_yieldfrom)


class Holds(Sound):
    """Trains, and keeps what it was given for the test to look at, in the middle of an epoch and after the last."""

    held: ClassVar[list[Any]] = []

    def fit(self, data: PUData, run: Run[Config]) -> None:
        self.net = run.backbone()
        optimizer = run.optimizer(self.net.parameters())
        epochs = run.epochs(self.config.epochs)
        Holds.held = [self, data, run, epochs]
        for _ in epochs:
            batches = run.joint_batches()
            Holds.held.append(batches)
            for batch in batches:
                self.learn(batch, data, run, optimizer)
                Holds.held.append(list(found_from(*Holds.held)))
                del Holds.held[5:-1]


def noisy(view: MetricView) -> float:
    """A metric that draws from every global generator, and seeds one."""
    np.random.seed(3)
    return float(torch.rand(1)) + float(np.random.rand())


@hookimpl
def pubench_methods() -> list[MethodInfo]:
    return [info_of(Holds)]


@hookimpl
def pubench_metrics() -> list[MetricInfo]:
    return [
        MetricInfo(
            key="noisy",
            name="noisy",
            summary="draws",
            load=f"{__name__}:noisy",
            needs=frozenset({"labeled"}),
            criterion=True,
        )
    ]
