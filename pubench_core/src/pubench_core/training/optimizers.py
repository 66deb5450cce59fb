"""Optimizers as a configuration says, and one step of several of them: torch's own, without its compiler.

torch marks some methods of every optimizer as not to be compiled, and the first call of one imports its whole compiler:
longer than a short run takes, in a process that compiles nothing. A mark keeps the function that it wraps as
``__wrapped__``; the classes here call that function, so that every number is the same to the last bit.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from ..errors import PluginError
from ..specs.config import TrainingConfig

#: Options of each family besides those that a configuration has.
ADAM, SGD_ONLY = ("betas", "eps", "amsgrad"), ("nesterov", "dampening")

_add_param_group = inspect.unwrap(Optimizer.add_param_group)
_zero_grad = inspect.unwrap(Optimizer.zero_grad)


class _Uncompiled(Optimizer):
    """Before an optimizer of torch in the order of base classes: the methods that every step calls, without marks."""

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        _add_param_group(self, param_group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        _zero_grad(self, set_to_none)

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        loss: float | None = inspect.unwrap(super().step.__func__)(self, closure)  # type: ignore[attr-defined]
        return loss


class Adam(_Uncompiled, torch.optim.Adam):
    """See :class:`torch.optim.Adam`."""


class AdamW(_Uncompiled, torch.optim.AdamW):
    """See :class:`torch.optim.AdamW`."""


class SGD(_Uncompiled, torch.optim.SGD):
    """See :class:`torch.optim.SGD`."""


class Rprop(_Uncompiled, torch.optim.Rprop):
    """See :class:`torch.optim.Rprop`."""


def new_optimizer(
    config: TrainingConfig,
    groups: list[Any],
    lr: float | None,
    options: dict[str, Any],
    kind: Literal["adam", "adamw", "sgd"] | None = None,
) -> Optimizer:
    """The configured optimizer, or another ``kind``, over parameters or groups of them.

    Options of the other family are left out.
    """
    kind = config.optimizer if kind is None else kind
    if strange := sorted(set(options) - {*ADAM, *SGD_ONLY}):
        known = ", ".join(ADAM + SGD_ONLY)
        raise PluginError(f"run.optimizer has no option {', '.join(strange)}; options are {known}")
    family = SGD_ONLY if kind == "sgd" else ADAM
    chosen = {name: value for name, value in options.items() if name in family}
    rate, decay = config.lr if lr is None else lr, config.weight_decay
    if kind == "sgd":
        return SGD(groups, lr=rate, momentum=config.momentum, weight_decay=decay, fused=True, **chosen)
    adam = Adam if kind == "adam" else AdamW
    return adam(groups, lr=rate, weight_decay=decay, fused=True, **chosen)


def take_step(pairs: list[tuple[Tensor, Optimizer]], max_norm: float | None) -> None:
    """All gradients, then all steps; each objective's gradient is taken for its own optimizer's parameters alone.

    Other networks that an objective passes through, as a generator's does through a discriminator, get none: they would
    not use it, and it is up to half of the work. ``max_norm``: largest norm of the gradient of each optimizer's
    parameters.
    """
    for _, optimizer in pairs:
        optimizer.zero_grad()
    for index, (objective, optimizer) in enumerate(pairs):
        objective.backward(inputs=_trained_by(optimizer), retain_graph=index < len(pairs) - 1)
    for _, optimizer in pairs:
        if max_norm is not None:
            nn.utils.clip_grad_norm_(_trained_by(optimizer), max_norm)
        optimizer.step()


def _trained_by(optimizer: Optimizer) -> list[Tensor]:
    """Parameters of an optimizer that take gradients."""
    return [p for group in optimizer.param_groups for p in group["params"] if p.requires_grad]
