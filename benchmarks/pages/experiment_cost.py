"""How many runs each shipped protocol has, and how long they take: medians of committed rows, no training.

A run takes the median of the rows of its method, data set and preset if there is one (one process, one thread). The
hours are of the runs for which there is; their share is next to them.
"""

from __future__ import annotations

from pubench_study.grid import cells_of
from pubench_study.study_file import find_study, protocols

from benchmarks.pages.parts import table
from benchmarks.raw_rows import study_rows
from pubench_core.data.dataset import data_root
from pubench_core.plugins.registry import registry
from pubench_core.specs import ExecutionSpec


def medians() -> dict[tuple[str, ...], float]:
    """(method, data, preset) -> median seconds of a run on a processor."""
    frame = study_rows()
    frame = frame[~frame.machine.str.contains("NVIDIA")].drop_duplicates(["run_id"])
    return {key: float(value) for key, value in frame.groupby(["method", "data", "preset"]).seconds.median().items()}


def cost(protocol: str, seconds: dict[tuple[str, ...], float]) -> tuple[int, int, float]:
    """(runs, runs with a known time, hours of these)."""
    cells = cells_of(find_study(protocol).spec, registry(), data_root(ExecutionSpec(offline=True)))
    found = [
        seconds.get((cell.values["method"]["key"], str(cell.facts["data"]), str(cell.facts["preset"] or "")))
        for cell in cells
    ]
    known = [value for value in found if value is not None]
    return len(found), len(known), sum(known) / 3600


def blocks() -> dict[str, str]:
    """The table of all shipped protocols."""
    seconds, lines = medians(), []
    for name in sorted(set(protocols()) - {"disdat"}):  # its species are counted in its files
        runs, known, hours = cost(name, seconds)
        lines.append((f"`{name}`", f"{runs:,}", f"{100 * known / runs:.0f} %", f"{hours:,.1f}"))
    return {"runs and time": table(("protocol", "runs", "time known", "hours"), lines)}
