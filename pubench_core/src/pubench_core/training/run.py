"""Argument ``run`` of a method's ``fit``: epochs, batches, networks, optimizers, steps, scores, views, randomness."""

from __future__ import annotations

import sys
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import EllipsisType
from typing import Any, Generic, Literal, TypeVar, cast

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.optim import Optimizer

from ..backbone import Backbone, channels_last_module
from ..errors import PluginError
from ..isolation import isolated
from ..randomness import stream, torch_seed
from ..specs.config import MethodConfig, TrainingConfig
from .batches import Batch, Cycle, Tail, shuffled_pass, whole
from .epochs import ENGINE, Epoch
from .losses import LossWatch
from .optimizers import new_optimizer, take_step
from .scoring import score_rows
from .views import PUData, PUPart, channels_last

ConfigT = TypeVar("ConfigT", bound=MethodConfig)
Network = TypeVar("Network", bound=nn.Module)
Side = Literal["joint", "labeled", "unlabeled"]


@contextmanager
def _off(flag: str, modules: Sequence[nn.Module]) -> Iterator[None]:
    """A block in which a flag that these modules have is False."""
    for module in modules:
        setattr(module, flag, False)
    try:
        yield
    finally:
        for module in modules:
            setattr(module, flag, True)


class Run(Generic[ConfigT]):
    """One training run, as its method sees it.

    ``device``; ``generator`` (torch, CPU) and ``numpy_rng`` for the method's own draws; ``threads`` for code that
    starts its own. Nothing that it holds leads to a hidden label.
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
    ) -> None:
        self.config = config
        self.device = device
        self.threads = threads
        self.generator = torch.Generator().manual_seed(torch_seed(seed, "method"))
        self.numpy_rng = stream(seed, "method-numpy")
        self._data, self._seed, self._build = data, seed, build
        self._draws = self.generator if device.type == "cpu" else self._generator_of("method")
        self._shuffles = torch.Generator().manual_seed(torch_seed(seed, "batches"))
        self._augmentation = self._generator_of("augmentation")
        self._cycles: dict[tuple[str, int, Tail], Cycle] = {}
        # Weak: a network of a finished phase that the method has dropped takes no memory.
        self._networks: weakref.WeakSet[nn.Module] = weakref.WeakSet()
        self._made = {"initialisation": 0, "module": 0}
        self._watch = LossWatch()
        self._total = 0
        self.warnings: list[str] = []

    def warn(self, text: str) -> None:
        """Tells the user something about this training, once: it becomes a warning of the result."""
        if text not in self.warnings:
            self.warnings.append(text)

    def _generator_of(self, purpose: str) -> torch.Generator:
        return torch.Generator(device=self.device).manual_seed(torch_seed(self._seed, purpose))

    # ---------------------------------------------------------------- networks

    def backbone(self, outputs: int = 1) -> Backbone:
        """A freshly initialized network on the device; each call takes the next initialization stream."""
        return self._initialized(lambda: self._build(outputs), "initialisation")

    def module(self, make: Callable[[], Network]) -> Network:
        """Any other module (generator, discriminator, projection) on the device.

        ``make()`` builds it; each call takes the next initialization stream, apart from those of backbones. Like a
        backbone, it is in training mode when an epoch starts.
        """
        return self._initialized(make, "module")

    def _initialized(self, make: Callable[[], Network], purpose: str) -> Network:
        seed = torch_seed(self._seed, purpose, self._made[purpose])
        self._made[purpose] += 1
        with isolated(seed, torch.device("cpu")):
            network = make()
        self._networks.add(network)
        return channels_last_module(network.to(self.device))

    @contextmanager
    def evaluation(self, *modules: nn.Module) -> Iterator[None]:
        """A block in which these modules are in evaluation mode; gradients pass. Modes are restored afterwards."""
        with _off("training", [m for module in modules for m in module.modules() if m.training]):
            yield

    @contextmanager
    def inference(self, *modules: nn.Module) -> Iterator[None]:
        """A block for a teacher's pass: :meth:`evaluation`, and no gradient is recorded for anything.

        What is computed here may be a target of a loss.
        """
        with self.evaluation(*modules), torch.no_grad():
            yield

    @contextmanager
    def frozen_statistics(self, *modules: nn.Module) -> Iterator[None]:
        """A block for a virtual step: batch norm uses the batch's statistics and keeps its running ones."""
        tracking = [
            m for module in modules for m in module.modules() if isinstance(m, _BatchNorm) and m.track_running_stats
        ]
        with _off("track_running_stats", tracking):
            yield

    def optimizer(
        self,
        parameters: Iterable[Any],
        *,
        lr: float | None = None,
        kind: Literal["adam", "adamw", "sgd"] | None = None,
        **options: Any,
    ) -> Optimizer:
        """The configured optimizer over the parameters (or parameter groups); ``kind``: another one, for one stage.

        ``options``: ``betas``, ``eps`` and ``amsgrad`` of the Adam family, ``nesterov`` and ``dampening`` of SGD; those
        of the family that is not configured are left out.
        """
        return new_optimizer(self._training_config, list(parameters), lr, options, kind)

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
        patience: int | EllipsisType | None = ...,
    ) -> Iterator[Epoch]:
        """``n`` turns of a training loop. After each: scoring and selection (if ``selectable``), tracing, timing.

        A criterion without improvement for ``patience`` selectable epochs of this stage is frozen (None: never; by
        default as a :class:`TrainingConfig` says); when no criterion is left that could change, this and every later
        loop end.
        """
        if isinstance(patience, EllipsisType):
            patience = self.config.patience if isinstance(self.config, TrainingConfig) else None
        # The engine is looked up each time: a local variable of a generator could be read from outside.
        ENGINE.get().start_stage()
        for in_stage in range(n):
            if ENGINE.get().exhausted:
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
            ENGINE.get().end_of_epoch(
                epoch, n, seconds=seconds, values=values, selectable=selectable, patience=patience
            )

    def step(
        self,
        *pairs: Tensor | Optimizer | tuple[Tensor, Optimizer],
        max_norm: float | None = None,
        name: str = "loss",
        report: dict[str, Tensor] | None = None,
    ) -> None:
        """One optimizer step, ``step(objective, optimizer)``, or one of several: ``step((o1, opt1), (o2, opt2))``.

        All gradients are taken before any step. An optimizer moves by the gradient of its own objective only, and no
        other parameter gets one. ``max_norm``: largest Euclidean norm of the gradient of each optimizer's parameters; a
        longer one is scaled down. The sum of the objectives is traced as ``name``: steps of different kinds have names
        of their own. ``report`` gives further values to trace. A non-finite value ends the run within 100 steps, as
        failed, and the first bad step is named.
        """
        steps = cast("list[tuple[Tensor, Optimizer]]", [pairs] if isinstance(pairs[0], Tensor) else [*pairs])
        take_step(steps, max_norm)
        objectives = [objective.detach() for objective, _ in steps]
        caller = sys._getframe(1)
        at = (caller.f_code.co_filename, caller.f_lineno)
        self._watch.add({name: sum(objectives[1:], objectives[0]), **(report or {})}, at)

    @property
    def position(self) -> dict[str, Any]:
        """Stage, epoch and step (both from 1) that are being worked on; for failure records."""
        return self._watch.position

    # ---------------------------------------------------------------- batches

    def joint_batches(self, rows: Tensor | None = None, size: int | None = None) -> Iterator[Batch]:
        """Batches of LP and U shuffled together: one pass, or ``config.steps_per_epoch`` steps.

        ``rows`` restricts them to part of the table; without any there is no batch. The last batch of a pass may be
        smaller, but never a single row (batch norm cannot train on one): that row joins the batch before.
        """
        size, steps = self._size(size), self._training_config.steps_per_epoch
        if rows is not None and not len(rows):
            return
        if steps is None:
            pool = self._all_rows() if rows is None else rows.to(self.device)
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
        tail: Tail | tuple[Tail, Tail] = "span",
        p_rows: Tensor | None = None,
        u_rows: Tensor | None = None,
    ) -> Iterator[tuple[Batch, Batch]]:
        """(P batch, U batch) pairs, the two sides cycling independently (over epochs) and reshuffled when exhausted.

        ``steps`` pairs; by default ``config.steps_per_epoch``, else one pass over ``epoch_of``. ``tail`` says what
        happens to an incomplete batch (of P and of U, if two are given): it spans the reshuffle, is kept smaller, or is
        dropped. A batch larger than
        its side is drawn with replacement (unless kept smaller).
        """
        p_tail, u_tail = (tail, tail) if isinstance(tail, str) else tail
        p = self._cycle("labeled", p_rows, self._size(p_size), p_tail)
        u = self._cycle("unlabeled", u_rows, self._size(u_size), u_tail)
        if steps is None:
            steps = self._training_config.steps_per_epoch or (p if epoch_of == "labeled" else u).pass_length
        for _ in range(steps):
            yield self._batch(next(p)), self._batch(next(u))

    def stacked_batches(self, size: int | None = None, *, tail: Tail = "span") -> Iterator[Batch]:
        """:meth:`paired_batches` as one batch: the P rows, then the U rows."""
        for p, u in self.paired_batches(size, size, tail=tail):
            yield Batch(*(torch.cat(pair) for pair in zip(p, u, strict=True)))

    def in_epochs(self, number: int, unit: Literal["epochs", "passes"]) -> int:
        """A length in epochs: the number itself, or that many passes over U in full batches, rounded.

        A length above 0 is one epoch at least. ``config.batch_size`` and ``config.steps_per_epoch`` say how long a pass
        and an epoch are; without the latter, an epoch is a pass.
        """
        steps = self._training_config.steps_per_epoch
        if unit == "epochs" or steps is None:
            return number
        one_pass = max(1, self._data.n_unlabeled // self._size(None))
        return max(min(number, 1), round(number * one_pass / steps))

    def batches(self, rows: Tensor, size: int | None = None, *, shuffle: bool = False) -> Iterator[Batch]:
        """One pass over the given rows, in their order or shuffled; nothing for no rows.

        Shuffled, the last batch may be smaller, but never a single row.
        """
        rows, size = rows.to(self.device), self._size(size)
        yield from map(self._batch, shuffled_pass(rows, size, self._shuffles) if shuffle else whole(rows.split(size)))

    def _all_rows(self) -> Tensor:
        return torch.arange(len(self._data), device=self.device)

    def _size(self, given: int | None) -> int:
        return self._training_config.batch_size if given is None else given

    def _cycle(self, side: Side, rows: Tensor | None, size: int, tail: Tail) -> Cycle:
        """Endless batches of one side of the table, going on where the epoch before stopped; given rows start again."""
        if rows is not None:
            return Cycle(rows.to(self.device), size, self._shuffles, tail)
        key = (side, size, tail)
        if key not in self._cycles:
            labeled, unlabeled = self._data.labeled_rows, self._data.unlabeled_rows
            sides = {"joint": self._all_rows(), "labeled": labeled, "unlabeled": unlabeled}
            self._cycles[key] = Cycle(sides[side], size, self._shuffles, tail)
        return self._cycles[key]

    def _batch(self, rows: Tensor) -> Batch:
        return Batch(self._data.take(rows), self._data.labeled[rows], rows)

    # ---------------------------------------------------------------- scoring, views, draws

    def scores(
        self, fn: Callable[[Tensor], Tensor], rows: Tensor | None = None, *, part: PUPart | None = None
    ) -> Tensor:
        """Applies ``fn`` to rows of the training table (or of ``part``): fixed order, evaluation mode, clean views.

        Every module that ``fn`` calls is in evaluation mode.
        """
        source = self._data if part is None else part
        rows = torch.arange(len(source), device=self.device) if rows is None else rows
        return score_rows(fn, source, rows)

    def augment(self, view: Callable[..., Tensor], x: Tensor, **options: Any) -> Tensor:
        """Calls ``view(x, generator, **options)`` with the run's stream for views on its device.

        ``view``: takes and gives rows (B, *shape), such as those of :mod:`pubench_formulas.augmentation`.
        """
        return channels_last(view(x, self._augmentation, **options))

    def permutation(self, n: int) -> Tensor:
        """The numbers below n in random order, (n,), on the device, from the run's stream as all draws here."""
        return torch.randperm(n, generator=self._draws, device=self.device)

    def integers(self, high: int, n: int) -> Tensor:
        """Independent uniform integers in [0, high), (n,)."""
        return torch.randint(high, (n,), generator=self._draws, device=self.device)

    def uniform(self, *shape: int) -> Tensor:
        """Independent uniform numbers in [0, 1), float32."""
        return torch.rand(shape, generator=self._draws, device=self.device)

    def normal(self, *shape: int) -> Tensor:
        """Independent standard normal numbers, float32."""
        return torch.randn(shape, generator=self._draws, device=self.device)
