"""What the host waits for while a method trains on a device, a GPU or a pretended one, and in which training step.

A training step is what lies between the ends of two calls of ``run.step`` in the same turn of ``run.epochs``: the batch
is fetched, the objective computed, the gradient taken, the step made. What comes before the first step of a turn, and
after the last, happens once per epoch.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import fake_device as fake
import torch
from fake_device import SKIPPED, SourceLine, place, train_on
from pubench_testkit.conformance import Subject
from torch import Tensor

from pubench_core.engine.train import Trained
from pubench_core.training.epochs import Epoch
from pubench_core.training.run import Run

#: Called with an operation for which the host waits, and the place.
Report = Callable[[str, SourceLine], None]
#: What torch says of an operation for which the host waits, if requested.
_WARNING = "called a synchronizing CUDA operation"
#: The host reads a value, or a shape that depends on values. Indices wait for masks only, which is looked at apart.
_READS = {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape}
#: Reads its weights to check them, which no tag says.
_CHECKS = {torch.ops.aten.multinomial}

SKIPPED.append(__file__)


class WaitingMode(fake.DeviceMode):
    """Reports, besides, for what the host would wait. The rules are those of torch's CUDA sources."""

    def __init__(self, report: Report) -> None:
        super().__init__()
        self.report = report
        self._forward: dict[int, SourceLine] = {}  # by the number of the operation's node in the graph

    def synchronized(self) -> None:
        self.report("torch.cuda.synchronize", place())

    def place(self) -> SourceLine:
        """The present line; in a backward pass, the line whose gradient is computed, if that is known."""
        node = torch._C._current_autograd_node()
        return place() if node is None else self._forward.get(node._sequence_nr()) or place()

    def examine(self, func: Any, args: Any, kwargs: Any, tensors: list[Tensor], to_device: bool) -> None:
        super().examine(func, args, kwargs, tensors, to_device)
        operation, named = func.overloadpacket, fake.arguments_of(func, args, kwargs)
        if operation in fake.COPIES:
            here = fake.is_here(tensors[0]) if operation is torch.ops.aten.copy_ else to_device
            self._copied(tensors[-1], here, named)
        elif operation in fake.INDEXES:
            self._indexed(operation, named["self"], named["indices"], named.get("values"))
        elif (_READS & fake.tags_of(func) and named.get("output_size") is None) or operation in _CHECKS:
            self._waits(fake.name_of(func))

    def _copied(self, source: Tensor, to_device: bool, named: dict[str, Any]) -> None:
        """A copy between the two waits, except for one to the device that says ``non_blocking``."""
        if fake.is_here(source) == to_device or not source.numel():
            return
        if not to_device:
            self._waits("copy to the host")
        elif not named.get("non_blocking"):
            self._waits("copy to the device")

    def _indexed(self, operation: Any, target: Tensor, indices: list[Tensor | None], value: Tensor | None) -> None:
        """A mask waits for the number of its rows, unless a number is written where it is True."""
        given = [index for index in indices if index is not None]
        if torch.is_grad_enabled() and target.requires_grad:
            self._forward[torch._C._autograd._get_sequence_nr() - 1] = place()
        masks = [index for index in given if index.dtype in (torch.bool, torch.uint8)]
        number_comes = value is not None and value.dim() == 0 and not fake.is_here(value)
        if number_comes and len(masks) == len(given) == 1:
            return
        for _ in masks:
            self._waits(f"{fake.name_of(operation)} by a mask")
        if number_comes:
            self._waits("copy to the device")

    def _waits(self, operation: str) -> None:
        gradient = torch._C._current_autograd_node() is not None
        self.report(f"{operation} (gradient)" if gradient else operation, self.place())


def waiting_device(report: Report) -> AbstractContextManager[torch.device]:
    """A pretended device; ``report`` gets what the host waits for."""
    return fake.pretended_device(WaitingMode(report))


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

        with fake.replaced(Run, "epochs", watched_epochs), fake.replaced(Run, "step", watched_step):
            yield


@contextmanager
def watched() -> Iterator[Watch]:
    """A device to run on: the GPU where there is one, else a pretended one. What the host waits for is noted."""
    watch = Watch(torch.device("cuda", 0))
    with watch.counting_steps(), _real_device(watch) if torch.cuda.is_available() else waiting_device(watch.saw):
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
        stack.enter_context(fake.replaced(torch.cuda, "synchronize", noted_synchronize))
        stack.enter_context(warnings.catch_warnings())
        warnings.filterwarnings("ignore", "Synchronization debug mode is a prototype feature")
        warnings.filterwarnings("always", _WARNING)
        stack.enter_context(fake.replaced(warnings, "showwarning", noted_warning))
        stack.callback(torch.cuda.set_sync_debug_mode, mode)
        torch.cuda.set_sync_debug_mode("warn")
        yield


def trained_on_device(subject: Subject, *sets: str, **problem: Any) -> tuple[Watch, Trained]:
    """Trains and scores a subject on the device, see :func:`train_on`, and what was seen meanwhile."""
    with watched() as watch:
        return watch, train_on(watch.device, subject, *sets, **problem)
