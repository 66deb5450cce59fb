"""The harness of all timings: sides take turns, every round is a row with seconds on the clock and of the processor."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCRIPT = Path(sys.executable).with_name("pubench")
#: Prints the largest resident memory of a command in MiB: of all children, so each has a process of its own.
_PROBE = (
    "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); "
    "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)"
)


@dataclass(frozen=True)
class Case:
    """Measures things next to each other."""

    facts: Mapping[str, Any]
    """Columns that all rows of the case share."""
    sides: Mapping[str, Callable[[], Mapping[str, Any] | None]]
    """Name -> work of one round. What it returns are further columns, or better values of ``seconds``."""
    column: str = "what"
    """Name of the column that has the side's name."""


def rounds(case: Case, number: int) -> Iterator[dict[str, Any]]:
    """A row per round and side. The first round is not kept: it fills caches and compiles."""
    for turn in range(number + 1):
        for name, work in case.sides.items():
            spent = timed(work)
            if turn:
                rounded = {k: round(v, 6) if isinstance(v, float) else v for k, v in spent.items()}
                yield {**case.facts, case.column: name, "round": turn, **rounded}


def timed(work: Callable[[], Mapping[str, Any] | None]) -> dict[str, Any]:
    """Seconds on the clock and of the processor, and what the work returns."""
    started, worked = time.perf_counter(), processor()
    more = work() or {}
    return {"seconds": time.perf_counter() - started, "cpu_seconds": processor() - worked} | dict(more)


def processor() -> float:
    """Seconds that processors worked for this process and for those that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def process(*command: str | Path, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> dict[str, Any]:
    """Runs a command that ends well. Its largest resident memory, and the load of the machine after it."""
    words = [sys.executable, "-c", _PROBE, *command]
    done = subprocess.run(words, env=env, cwd=cwd, check=True, capture_output=True, text=True)
    return {"peak_mib": round(float(done.stdout.split()[-1])), "load": round(os.getloadavg()[0], 1)}


def summary(rows: Iterable[Mapping[str, Any]], column: str) -> str:
    """Median seconds of each side, and its ratio to the first."""
    sides: dict[str, list[float]] = {}
    for row in rows:
        sides.setdefault(str(row[column]), []).append(float(row["seconds"]))
    medians = {name: statistics.median(values) for name, values in sides.items()}
    first = next(iter(medians.values()))
    return ", ".join(f"{name} {value:.4g} s ({value / first:.2f} x)" for name, value in medians.items())
