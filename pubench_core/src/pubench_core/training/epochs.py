"""Epochs, and who is called when one has ended."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True)
class Epoch:
    """One turn of a training loop. ``in_stage`` and ``total`` count finished epochs before it, from 0."""

    stage: str
    in_stage: int
    total: int


class EpochEnd:
    """End of a turn of a training loop, on the engine's side. Here nothing happens: a run that somebody tries out."""

    @property
    def exhausted(self) -> bool:
        """Whether no criterion can still change: training may end."""
        return False

    def start_stage(self) -> None:
        """Starts a new training loop: patience counts from here."""

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
        """Ends an epoch. ``values``: means of the reported losses."""


#: Who is called when an epoch has ended. No attribute of a run: it knows the truth, and a method holds its run.
ENGINE: ContextVar[EpochEnd] = ContextVar("engine", default=EpochEnd())  # noqa: B039 - it has no state


@contextmanager
def ending_epochs_with(engine: EpochEnd) -> Iterator[None]:
    """A block in which ``engine`` is called at the end of every epoch of a run."""
    token = ENGINE.set(engine)
    try:
        yield
    finally:
        ENGINE.reset(token)
