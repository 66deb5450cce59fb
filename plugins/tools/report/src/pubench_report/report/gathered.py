"""Content of a report: runs, in order and under the names of their rows."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pubench.running import RunResult
from pubench_core.errors import RequestError

from ..grouping import MISSING, FailedRun, Grid, grid_of


@dataclass(frozen=True)
class Gathered:
    """``runs``: with the names of their rows, in order; a run without a result is a FailedRun, whose cause is
    ``missing`` if it was never carried out. ``study``: its name; empty for a folder of records. ``drawn``: whether
    hyper-parameters were chosen among draws; ``unchosen``: finished draws that were not chosen.
    """

    results: Path
    study: str
    runs: tuple[tuple[str, RunResult | FailedRun], ...]
    grid: Grid
    notes: tuple[str, ...]
    drawn: bool = False
    unchosen: tuple[RunResult, ...] = ()

    @property
    def title(self) -> str:
        """The study's name, or the folder's."""
        return self.study or self.results.resolve().name

    @property
    def done(self) -> list[RunResult]:
        """Runs that have a result."""
        return [run for _, run in self.runs if isinstance(run, RunResult)]

    @property
    def missing(self) -> int:
        """Planned runs that were never carried out."""
        return sum(isinstance(run, FailedRun) and run.cause == MISSING for _, run in self.runs)

    @property
    def failed(self) -> list[FailedRun]:
        """Runs that failed or were refused."""
        return [run for _, run in self.runs if isinstance(run, FailedRun) and run.cause != MISSING]


def gathered_of(named: Sequence[tuple[str, RunResult | FailedRun]], results: Path) -> Gathered:
    """Runs that are at hand, in their order and under these names. ``results``: where they are said to be from.

    Raises RequestError if none has a result, a seed is there twice, or data files changed in between.
    """
    with collection_off():
        grid = grid_of(named)
    found = Gathered(results, "", tuple(named), grid, grid.notes)
    if not found.done:
        raise RequestError(f"there is no finished run to report: {len(found.failed)} failed")
    return found


@contextmanager
def collection_off() -> Iterator[None]:
    """No search for garbage in cycles, of which a report leaves little: it doubles the time of reading records."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()
