"""Effects of a method on a GPU: whether it mixes devices, and for what the host waits within a training step.

A training step is what lies between the ends of two calls of ``run.step`` in the same turn of ``run.epochs``: the batch
is fetched, the objective computed, the gradient taken, the step made. What comes before the first step of a turn, and
after the last, happens once per epoch.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from pubench_core.engine.resolve_method import method_class
from pubench_core.engine.train import Trained
from pubench_core.training.epochs import Epoch
from pubench_core.training.run import Run

from .fake_device import pretended_device, replaced
from .register import NotApplicable, check
from .source_location import SourceLine, place
from .subject import Subject

#: What torch says of an operation for which the host waits, if requested.
_WARNING = "called a synchronizing CUDA operation"


@dataclass(frozen=True)
class Wait:
    """The host waited for the device. ``epoch``: None outside of turns of ``run.epochs``; ``step``: steps before it."""

    operation: str
    place: SourceLine
    epoch: Epoch | None = None
    step: int = 0


@dataclass
class Watch:
    """Observations on ``device``. ``steps``: per epoch (by number, from 0), how many steps it had."""

    device: torch.device
    waits: list[Wait] = field(default_factory=list)
    steps: Counter[int] = field(default_factory=Counter)
    epochs: dict[int, Epoch] = field(default_factory=dict)
    _epoch: Epoch | None = None

    def saw(self, operation: str, where: SourceLine) -> None:
        """The host waits for an operation."""
        step = self.steps[self._epoch.total] if self._epoch else 0
        self.waits.append(Wait(operation, where, self._epoch, step))

    def within_steps(self) -> dict[tuple[str, int, int], list[Wait]]:
        """(stage, epoch, step) -> its waits, of every step but the first of an epoch."""
        found: dict[tuple[str, int, int], list[Wait]] = {
            (epoch.stage, number, step): []
            for number, epoch in self.epochs.items()
            for step in range(1, self.steps[number])
        }
        for wait in self.waits:
            if wait.epoch is not None and (key := (wait.epoch.stage, wait.epoch.total, wait.step)) in found:
                found[key].append(wait)
        return found

    @contextmanager
    def counting_steps(self) -> Iterator[None]:
        """Inside this block, turns of ``run.epochs`` and calls of ``run.step`` are noted."""
        epochs, step = Run.epochs, Run.step

        def watched_epochs(run: Run[Any], *args: Any, **kwargs: Any) -> Iterator[Epoch]:
            for epoch in epochs(run, *args, **kwargs):
                self._epoch = self.epochs[epoch.total] = epoch
                yield epoch
                self._epoch = None

        def watched_step(run: Run[Any], *args: Any, **kwargs: Any) -> None:
            step(run, *args, **kwargs)
            if self._epoch is not None:
                self.steps[self._epoch.total] += 1

        with replaced(Run, "epochs", watched_epochs), replaced(Run, "step", watched_step):
            yield


@contextmanager
def watched() -> Iterator[Watch]:
    """A device to run on: the GPU where there is one, else a pretended one. What the host waits for is noted."""
    watch = Watch(torch.device("cuda", 0))
    with watch.counting_steps(), _real_device(watch) if torch.cuda.is_available() else pretended_device(watch.saw):
        yield watch


@contextmanager
def _real_device(watch: Watch) -> Iterator[None]:
    """Torch warns where the host waits; what it would mix it refuses itself."""
    synchronize, show, mode = torch.cuda.synchronize, warnings.showwarning, torch.cuda.get_sync_debug_mode()

    def noted_synchronize(device: Any = None) -> None:
        watch.saw("torch.cuda.synchronize", place())
        synchronize(device)

    def noted_warning(message: Any, *args: Any, **kwargs: Any) -> None:
        if _WARNING in str(message):
            watch.saw("wait", place())
        else:
            show(message, *args, **kwargs)

    with ExitStack() as stack:
        stack.enter_context(replaced(torch.cuda, "synchronize", noted_synchronize))
        stack.enter_context(warnings.catch_warnings())
        warnings.filterwarnings("ignore", "Synchronization debug mode is a prototype feature")
        warnings.filterwarnings("always", _WARNING)
        stack.enter_context(replaced(warnings, "showwarning", noted_warning))
        stack.callback(torch.cuda.set_sync_debug_mode, mode)
        torch.cuda.set_sync_debug_mode("warn")
        yield


def three_steps(subject: Subject) -> tuple[str, ...]:
    """Function that gives a subject epochs of three steps on the sample problems."""
    known = method_class(subject.info).Config.model_fields
    return tuple(f"{name}={value}" for name, value in (("batch_size", 32), ("steps_per_epoch", 3)) if name in known)


def trained_on_device(subject: Subject, *sets: str, **problem: Any) -> tuple[Watch, Trained]:
    """Trains and scores a subject on the device, in epochs of :func:`three_steps`.

    ``sets``, ``problem``: as of :meth:`Subject.plan`. Raises what the engine raises where devices are mixed (RunFailed,
    whose text names the operation and the place).
    """
    with watched() as watch:
        there = subject.on(watch.device)
        return watch, there.train(there.plan(*three_steps(subject), *sets, **problem))


@check("device-discipline")
def device_discipline(subject: Subject) -> None:
    """On a GPU, or on one that is pretended: tensors of host and device are not mixed, NumPy is given none of it."""
    if "cuda" not in subject.info.devices:
        raise NotApplicable("declared for the CPU only")
    try:
        trained_on_device(subject, modality="image")
    except (
        RuntimeError
    ) as error:  # of torch, or a DeviceError: in scoring; in training the engine has made it RunFailed
        raise AssertionError(str(error)) from error
