"""Reported losses: collected on the device, read every so many steps, and refused when they are not finite."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..errors import RunFailed

#: Steps between two readings of the losses: one synchronization with the device per reading.
READ_EVERY = 100


class LossWatch:
    """Collects reported values on the device and reads them every ``READ_EVERY`` steps."""

    def __init__(self) -> None:
        self.start("train", 1)

    def start(self, stage: str, epoch: int) -> None:
        """Starts a new epoch, counted from 1 over all stages."""
        self._stage, self._epoch = stage, epoch
        self._recent: dict[str, list[tuple[int, Tensor, tuple[str, int]]]] = {}
        self._sums: dict[str, float] = {}
        self._counts: dict[str, int] = {}
        self._steps = 0

    def add(self, values: dict[str, Tensor], at: tuple[str, int]) -> None:
        """Adds the values that one step reported, by name. ``at``: (file, line) of the step."""
        self._steps += 1
        for name, value in values.items():
            self._recent.setdefault(name, []).append((self._steps, value.detach(), at))
        if self._steps % READ_EVERY == 0:
            self._read()

    @property
    def position(self) -> dict[str, Any]:
        """Stage, epoch and step (both from 1) that are being worked on."""
        return {"stage": self._stage, "epoch": self._epoch, "step": self._steps + 1}

    def finish(self) -> dict[str, float]:
        """Means over the epoch, each over the steps that reported it."""
        self._read()
        return {name: total / self._counts[name] for name, total in self._sums.items()}

    def _read(self) -> None:
        bad: list[tuple[int, str, float, tuple[str, int]]] = []
        for name, reported in self._recent.items():
            values = torch.stack([value for _, value, _ in reported]).double().cpu()
            for i in torch.nonzero(~torch.isfinite(values)).flatten():
                bad.append((reported[i][0], name, float(values[i]), reported[i][2]))
            self._sums[name] = self._sums.get(name, 0.0) + float(values.sum())
            self._counts[name] = self._counts.get(name, 0) + len(reported)
        self._recent = {}
        if bad:
            step, name, value, at = min(bad)
            failed = RunFailed(
                f"{name} is {value}", cause="non-finite", stage=self._stage, epoch=self._epoch, step=step
            )
            failed.about = at
            raise failed
