"""What a method is given to train with: epochs, batches, networks, optimizers, steps, randomness."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar, overload

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from ..backbones.base import Backbone
from ..config import MethodConfig
from ..data.views import PUData, PUPart
from ..errors import RunFailed
from ..randomness import isolated, stream, torch_seed
from . import augment
from .scoring import score_rows

if TYPE_CHECKING:
    from .monitor import Monitor

ConfigT = TypeVar("ConfigT", bound=MethodConfig)
Tail = Literal["span", "keep", "drop"]
Side = Literal["joint", "labeled", "unlabeled"]

#: Steps between two looks at the losses: one synchronization with the device per look.
LOOK_EVERY = 100


class Batch(NamedTuple):
    """``x``: (B, *shape) float32. ``labeled``: (B,) bool. ``row``: (B,) positions in the training table LP ‖ U."""

    x: Tensor
    labeled: Tensor
    row: Tensor


@dataclass(frozen=True)
class Epoch:
    """``in_stage`` and ``total`` count finished epochs before this one: both start at 0."""

    stage: str
    in_stage: int
    total: int


class FromConfig:
    """Marks 'what the method's config says'."""


FROM_CONFIG = FromConfig()


class Run(Generic[ConfigT]):
    """One training run, as its method sees it.

    ``device``; ``generator`` (torch, CPU) and ``numpy_rng`` for the method's own draws; ``threads`` for code that
    starts its own.
    """

    def __init__(
        self,
        *,
        config: ConfigT,
        data: PUData,
        seed: int,
        device: torch.device,
        threads: int,
        build: Callable[[int], Backbone],
        monitor: Monitor,
    ) -> None:
        self.config = config
        self.device = device
        self.threads = threads
        self.generator = torch.Generator().manual_seed(torch_seed(seed, "method"))
        self.numpy_rng = stream(seed, "method-numpy")
        self._data, self._seed, self._build, self._monitor = data, seed, build, monitor
        self._shuffles = torch.Generator().manual_seed(torch_seed(seed, "batches"))
        self._augmentation = torch.Generator(device=device).manual_seed(torch_seed(seed, "augmentation"))
        self._cycles: dict[tuple[str, int, Tail], _Cycle] = {}
        self._networks: list[Backbone] = []
        self._watch = _LossWatch()
        self._total = 0

    # ---------------------------------------------------------------- networks

    def backbone(self, outputs: int = 1) -> Backbone:
        """A freshly initialized network on the device; each call takes the next initialization stream."""
        with isolated(torch_seed(self._seed, "initialisation", len(self._networks)), torch.device("cpu")):
            network = self._build(outputs)
        self._networks.append(network)
        return network.to(self.device)

    def optimizer(self, parameters: Iterable[Any], *, lr: float | None = None, **options: Any) -> Optimizer:
        """The configured optimizer over the parameters (or parameter groups).

        ``options`` (``betas``, ``eps``) speak to the Adam family and are left out for SGD.
        """
        c = self.config
        rate = c.lr if lr is None else lr
        groups = list(parameters)
        if c.optimizer == "sgd":
            return torch.optim.SGD(groups, lr=rate, momentum=c.momentum, weight_decay=c.weight_decay)
        kind = torch.optim.Adam if c.optimizer == "adam" else torch.optim.AdamW
        return kind(groups, lr=rate, weight_decay=c.weight_decay, fused=True, **options)

    # ---------------------------------------------------------------- epochs

    def epochs(
        self,
        n: int,
        *,
        stage: str = "train",
        selectable: bool = True,
        patience: int | FromConfig | None = FROM_CONFIG,
    ) -> Iterator[Epoch]:
        """``n`` turns of a training loop. After each: scoring and selection (if ``selectable``), tracing, timing.

        A criterion without improvement for ``patience`` selectable epochs of this stage is frozen; when none is
        left that could change, this and every later loop end.
        """
        limit = self.config.patience if isinstance(patience, FromConfig) else patience
        self._monitor.begin_stage()
        for in_stage in range(n):
            if self._monitor.exhausted:
                return
            epoch = Epoch(stage, in_stage, self._total)
            self._watch.begin(epoch)
            for network in self._networks:
                network.train()
            started = time.perf_counter()
            yield epoch
            values = self._watch.finish()
            if self.device.type == "cuda":
                torch.cuda.synchronize(self.device)
            seconds = time.perf_counter() - started
            self._total += 1
            self._monitor.end_of_epoch(epoch, n, seconds=seconds, values=values, selectable=selectable, patience=limit)

    @overload
    def step(self, objective: Tensor, optimizer: Optimizer, /, *, report: dict[str, Tensor] | None = None) -> None: ...
    @overload
    def step(self, *pairs: tuple[Tensor, Optimizer], report: dict[str, Tensor] | None = None) -> None: ...
    def step(self, *args: Any, report: dict[str, Tensor] | None = None) -> None:
        """One optimizer step, or one of several optimizers: all gradients are taken before any step.

        Each objective's gradient goes to its own optimizer's parameters only. ``report`` gives values to trace
        where they differ from the objective. A non-finite value ends the run within 100 steps, as failed, and the
        first bad batch is named.
        """
        pairs = [args] if isinstance(args[0], Tensor) else list(args)
        for _, optimizer in pairs:
            optimizer.zero_grad()
        if len(pairs) == 1:
            pairs[0][0].backward()
        else:
            for index, (objective, optimizer) in enumerate(pairs):
                parameters = [p for group in optimizer.param_groups for p in group["params"] if p.requires_grad]
                objective.backward(inputs=parameters, retain_graph=index < len(pairs) - 1)
        for _, optimizer in pairs:
            optimizer.step()
        objectives = [objective.detach() for objective, _ in pairs]
        self._watch.add({"loss": sum(objectives[1:], objectives[0]), **(report or {})})

    @property
    def position(self) -> dict[str, Any]:
        """Stage, epoch and batch (both from 1) that are being worked on; for failure records."""
        return self._watch.position

    # ---------------------------------------------------------------- batches

    def joint_batches(self, rows: Tensor | None = None, size: int | None = None) -> Iterator[Batch]:
        """Batches of LP and U shuffled together: one pass, or ``config.steps_per_epoch`` steps.

        ``rows`` restricts them to part of the table. The last batch of a pass may be smaller, but never a single
        row (batch norm cannot train on one): that row joins the batch before.
        """
        size = self.config.batch_size if size is None else size
        pool = torch.arange(len(self._data)) if rows is None else rows.cpu()
        steps = self.config.steps_per_epoch
        if steps is None:
            order = pool[torch.randperm(len(pool), generator=self._shuffles)]
            chunks = list(order.split(size))
            if len(chunks) > 1 and len(chunks[-1]) == 1:
                chunks[-2:] = [torch.cat(chunks[-2:])]
            yield from map(self._batch, chunks)
        else:
            cycle = self._cycle("joint", rows, size, "span")
            for _ in range(steps):
                yield self._batch(next(cycle))

    def paired_batches(
        self,
        p_size: int | None = None,
        u_size: int | None = None,
        *,
        steps: int | None = None,
        epoch_of: Literal["labeled", "unlabeled"] = "unlabeled",
        tail: Tail = "span",
        p_rows: Tensor | None = None,
        u_rows: Tensor | None = None,
    ) -> Iterator[tuple[Batch, Batch]]:
        """(P batch, U batch) pairs, the two sides cycling independently (over epochs) and reshuffled when exhausted.

        ``steps`` pairs; by default ``config.steps_per_epoch``, else one pass over ``epoch_of``. ``tail`` says what
        happens to an incomplete batch: it spans the reshuffle, is kept smaller, or is dropped. A batch larger than
        its side is drawn with replacement (unless kept smaller).
        """
        p = self._cycle("labeled", p_rows, p_size, tail)
        u = self._cycle("unlabeled", u_rows, u_size, tail)
        if steps is None:
            steps = self.config.steps_per_epoch or (p if epoch_of == "labeled" else u).pass_length
        for _ in range(steps):
            yield self._batch(next(p)), self._batch(next(u))

    def stacked_batches(self, size: int | None = None, *, tail: Tail = "span") -> Iterator[Batch]:
        """:meth:`paired_batches` as one batch: the P rows, then the U rows."""
        for p, u in self.paired_batches(size, size, tail=tail):
            yield Batch(*(torch.cat(pair) for pair in zip(p, u, strict=True)))

    def batches(self, rows: Tensor, size: int | None = None, *, shuffle: bool = False) -> Iterator[Batch]:
        """One pass over the given rows, in their order or shuffled."""
        order = rows.cpu()
        if shuffle:
            order = order[torch.randperm(len(order), generator=self._shuffles)]
        for chunk in order.split(self.config.batch_size if size is None else size):
            yield self._batch(chunk)

    def _cycle(self, side: Side, rows: Tensor | None, size: int | None, tail: Tail) -> _Cycle:
        """Endless batches of one side of the table, going on where the epoch before left off; given rows start anew."""
        size = self.config.batch_size if size is None else size
        if rows is not None:
            return _Cycle(rows.cpu(), size, self._shuffles, tail)
        key = (side, size, tail)
        if key not in self._cycles:
            everyone = torch.arange(len(self._data))
            sides = {"joint": everyone, "labeled": self._data.labeled_rows, "unlabeled": self._data.unlabeled_rows}
            self._cycles[key] = _Cycle(sides[side].cpu(), size, self._shuffles, tail)
        return self._cycles[key]

    def _batch(self, rows: Tensor) -> Batch:
        rows = rows.to(self.device, non_blocking=True)
        return Batch(self._data.take(rows), self._data.labeled[rows], rows)

    # ---------------------------------------------------------------- scoring and views

    def scores(
        self, fn: Callable[[Tensor], Tensor], rows: Tensor | None = None, *, part: PUPart | None = None
    ) -> Tensor:
        """``fn`` over rows of the training table (or of ``part``): fixed order, evaluation mode, clean views."""
        source = self._data if part is None else part
        rows = torch.arange(len(source), device=self.device) if rows is None else rows
        modules = [fn] if isinstance(fn, nn.Module) else []
        return score_rows(fn, source, rows, [*self._monitor.modules(), *self._networks, *modules])

    def weak(self, x: Tensor) -> Tensor:
        """A weakly augmented view (see :mod:`pubench_core.engine.augment`)."""
        return augment.weak(x, self._augmentation)

    def strong(self, x: Tensor) -> Tensor:
        """A strongly augmented view."""
        return augment.strong(x, self._augmentation)


class _Cycle:
    """Endless shuffled batches of row numbers."""

    def __init__(self, rows: Tensor, size: int, generator: torch.Generator, tail: Tail) -> None:
        if not len(rows):
            raise RunFailed("a batch was asked of an empty set of rows")
        self.rows, self.size, self.generator, self.tail = rows, size, generator, tail
        self._left = rows[:0]

    @property
    def pass_length(self) -> int:
        """Batches in one pass."""
        whole = len(self.rows) // self.size
        return max(1, whole if self.tail == "drop" else math.ceil(len(self.rows) / self.size))

    def __next__(self) -> Tensor:
        if self.size > len(self.rows) and self.tail != "keep":
            return self.rows[torch.randint(len(self.rows), (self.size,), generator=self.generator)]
        if len(self._left) < self.size and (self.tail == "drop" or not len(self._left)):
            self._left = self._shuffled()
        if len(self._left) < self.size and self.tail == "span":
            self._left = torch.cat([self._left, self._shuffled()])
        batch, self._left = self._left[: self.size], self._left[self.size :]
        return batch

    def _shuffled(self) -> Tensor:
        return self.rows[torch.randperm(len(self.rows), generator=self.generator)]


class _LossWatch:
    """Collects reported values on the device and looks at them every ``LOOK_EVERY`` steps."""

    def __init__(self) -> None:
        self.begin(Epoch("train", 0, 0))

    def begin(self, epoch: Epoch) -> None:
        self._epoch = epoch
        self._recent: dict[str, list[tuple[int, Tensor]]] = {}
        self._sums: dict[str, float] = {}
        self._counts: dict[str, int] = {}
        self._steps = 0

    def add(self, values: dict[str, Tensor]) -> None:
        self._steps += 1
        for name, value in values.items():
            self._recent.setdefault(name, []).append((self._steps, value.detach()))
        if self._steps % LOOK_EVERY == 0:
            self._look()

    @property
    def position(self) -> dict[str, Any]:
        return {"stage": self._epoch.stage, "epoch": self._epoch.total + 1, "batch": self._steps + 1}

    def finish(self) -> dict[str, float]:
        """Means over the epoch, each over the steps that reported it."""
        self._look()
        return {name: total / self._counts[name] for name, total in self._sums.items()}

    def _look(self) -> None:
        bad: list[tuple[int, str, float]] = []
        for name, reported in self._recent.items():
            values = torch.stack([value for _, value in reported]).double().cpu()
            bad += [(reported[i][0], name, float(values[i])) for i in torch.nonzero(~torch.isfinite(values)).flatten()]
            self._sums[name] = self._sums.get(name, 0.0) + float(values.sum())
            self._counts[name] = self._counts.get(name, 0) + len(reported)
        self._recent = {}
        if bad:
            step, name, value = min(bad)
            raise RunFailed(f"{name} is {value}", stage=self._epoch.stage, epoch=self._epoch.total + 1, batch=step)
