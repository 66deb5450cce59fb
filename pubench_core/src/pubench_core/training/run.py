"""What a method's ``fit`` is given: epochs, batches, networks, optimizers, steps, scores, views, randomness."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, Literal, Protocol, TypeVar, overload

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from ..backbones.base import Backbone
from ..errors import PluginError
from ..formulas import augmentation
from ..isolation import isolated
from ..randomness import stream, torch_seed
from ..specs.config import MethodConfig, TrainingConfig
from .batches import Batch, Cycle, Tail, shuffled_pass
from .losses import LossWatch
from .scoring import score_rows
from .views import PUData, PUPart

ConfigT = TypeVar("ConfigT", bound=MethodConfig)
Side = Literal["joint", "labeled", "unlabeled"]


@dataclass(frozen=True)
class Epoch:
    """``in_stage`` and ``total`` count finished epochs before this one: both start at 0."""

    stage: str
    in_stage: int
    total: int


class EpochEnd(Protocol):
    """What the engine does when a turn of a training loop has ended."""

    @property
    def exhausted(self) -> bool:
        """No criterion can still change: training may end."""

    def start_stage(self) -> None:
        """A new training loop starts."""

    def end_of_epoch(
        self,
        epoch: Epoch,
        stage_epochs: int,
        *,
        seconds: float,
        values: dict[str, float],
        selectable: bool,
        patience: int | None,
    ) -> None:
        """``values``: means of the reported losses."""

    def modules(self) -> list[nn.Module]:
        """The method's modules."""


class _FromConfig:
    """Marks 'what the method's config says'."""


_FROM_CONFIG = _FromConfig()


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
        epoch_end: EpochEnd,
    ) -> None:
        self.config = config
        self.device = device
        self.threads = threads
        self.generator = torch.Generator().manual_seed(torch_seed(seed, "method"))
        self.numpy_rng = stream(seed, "method-numpy")
        self._data, self._seed, self._build, self._epoch_end = data, seed, build, epoch_end
        self._shuffles = torch.Generator().manual_seed(torch_seed(seed, "batches"))
        self._augmentation = torch.Generator(device=device).manual_seed(torch_seed(seed, "augmentation"))
        self._cycles: dict[tuple[str, int, Tail], Cycle] = {}
        self._networks: list[Backbone] = []
        self._watch = LossWatch()
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

        ``options`` (``betas``, ``eps``) belong to the Adam family and are left out for SGD.
        """
        c = self._training_config
        rate = c.lr if lr is None else lr
        groups = list(parameters)
        if c.optimizer == "sgd":
            return torch.optim.SGD(groups, lr=rate, momentum=c.momentum, weight_decay=c.weight_decay)
        kind = torch.optim.Adam if c.optimizer == "adam" else torch.optim.AdamW
        return kind(groups, lr=rate, weight_decay=c.weight_decay, fused=True, **options)

    @property
    def _training_config(self) -> TrainingConfig:
        if not isinstance(self.config, TrainingConfig):
            raise PluginError(
                f"{type(self.config).__qualname__} has no optimizer, learning rate or batch size, which run.optimizer "
                "and run's batches read; derive it from TrainingConfig"
            )
        return self.config

    # ---------------------------------------------------------------- epochs

    def epochs(
        self,
        n: int,
        *,
        stage: str = "train",
        selectable: bool = True,
        patience: int | _FromConfig | None = _FROM_CONFIG,
    ) -> Iterator[Epoch]:
        """``n`` turns of a training loop. After each: scoring and selection (if ``selectable``), tracing, timing.

        A criterion without improvement for ``patience`` selectable epochs of this stage is frozen (none: never; by
        default what a :class:`TrainingConfig` says); when no criterion is left that could change, this and every later
        loop end.
        """
        if isinstance(patience, _FromConfig):
            patience = self.config.patience if isinstance(self.config, TrainingConfig) else None
        self._epoch_end.start_stage()
        for in_stage in range(n):
            if self._epoch_end.exhausted:
                return
            epoch = Epoch(stage, in_stage, self._total)
            self._watch.start(stage, self._total + 1)
            for network in self._networks:
                network.train()
            started = time.perf_counter()
            yield epoch
            values = self._watch.finish()
            if self.device.type == "cuda":
                torch.cuda.synchronize(self.device)
            seconds = time.perf_counter() - started
            self._total += 1
            self._epoch_end.end_of_epoch(
                epoch, n, seconds=seconds, values=values, selectable=selectable, patience=patience
            )

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
        size, steps = self._size(size), self._training_config.steps_per_epoch
        if steps is None:
            pool = torch.arange(len(self._data)) if rows is None else rows.cpu()
            yield from map(self._batch, shuffled_pass(pool, size, self._shuffles))
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
        p = self._cycle("labeled", p_rows, self._size(p_size), tail)
        u = self._cycle("unlabeled", u_rows, self._size(u_size), tail)
        if steps is None:
            steps = self._training_config.steps_per_epoch or (p if epoch_of == "labeled" else u).pass_length
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
        for chunk in order.split(self._size(size)):
            yield self._batch(chunk)

    def _size(self, given: int | None) -> int:
        return self._training_config.batch_size if given is None else given

    def _cycle(self, side: Side, rows: Tensor | None, size: int, tail: Tail) -> Cycle:
        """Endless batches of one side of the table, going on where the epoch before stopped; given rows start anew."""
        if rows is not None:
            return Cycle(rows.cpu(), size, self._shuffles, tail)
        key = (side, size, tail)
        if key not in self._cycles:
            everyone = torch.arange(len(self._data))
            sides = {"joint": everyone, "labeled": self._data.labeled_rows, "unlabeled": self._data.unlabeled_rows}
            self._cycles[key] = Cycle(sides[side].cpu(), size, self._shuffles, tail)
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
        return score_rows(fn, source, rows, [*self._epoch_end.modules(), *self._networks, *modules])

    def weak(self, x: Tensor) -> Tensor:
        """A weakly augmented view (see :mod:`pubench_core.formulas.augmentation`)."""
        return augmentation.weak(x, self._augmentation)

    def strong(self, x: Tensor) -> Tensor:
        """A strongly augmented view."""
        return augmentation.strong(x, self._augmentation)
