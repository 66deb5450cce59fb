"""How long each measure of the distribution ``pubench-metrics-evaluation`` takes, and how that grows with the rows.

    OMP_NUM_THREADS=1 nice -n 19 python -m benchmarks.timing.measure_time --out benchmarks/results/measure-time.csv

Scores are two Gaussians (π = .3, a tenth of the rows labeled, one-sample); ``rounded`` scores have one decimal, so that
nearly all rows are tied with others. ``of`` is what was asked for: ``record`` (values, and the intervals that every
record has) or ``report`` (1,000 resamples and curves, up to 100,000 rows). What one measure leaves for the next
(``pu-auc`` for ``pu-ap``, ``recovered-auc`` for ``recovered-ap``) is kept, as in a report: the second one is quick.

``seconds`` is on the wall clock, ``cpu_seconds`` what a processor worked: the figure to compare where other work runs
alongside it. The least of ``repeats`` each.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from pubench_metrics_evaluation import pubench_metrics

from benchmarks import raw_rows
from pubench_core.metric import Scored, measure
from pubench_core.plugins.registry import load

MOST_REPORTED = 100_000


def problem(rows: int, *, rounded: bool, thorough: bool) -> Scored:
    """Scores of ``rows`` rows and what is known of them."""
    rng = np.random.default_rng(rows)
    y = rng.random(rows) < 0.3
    scores = rng.normal(np.where(y, 1.0, -1.0))
    labeled = np.flatnonzero(y)[: rows // 10]
    return Scored.of(
        scores.round(1) if rounded else scores,
        labeled=labeled,
        unlabeled=np.setdiff1d(np.arange(rows), labeled, assume_unique=True),
        prior=0.3,
        scheme="one-sample",
        thorough=thorough,
    )


def measured(sizes: list[int]) -> Iterator[dict[str, Any]]:
    """A row per measure, size, kind of scores, and kind of request."""
    functions = [(info, load(info)) for info in pubench_metrics()]
    for rows in sizes:
        for of in ("record", "report") if rows <= MOST_REPORTED else ("record",):
            for rounded in (False, True):
                scored = problem(rows, rounded=rounded, thorough=of == "report")
                for info, function in functions:
                    repeats = 1 if of == "report" or rows > 10**6 else 3
                    wall, cpu = [], []
                    for _ in range(repeats):
                        started = time.perf_counter(), time.process_time()
                        measure(function, info, scored)
                        wall.append(time.perf_counter() - started[0])
                        cpu.append(time.process_time() - started[1])
                    yield {
                        "measure": info.key,
                        "rows": rows,
                        "scores": "rounded" if rounded else "distinct",
                        "of": of,
                        "repeats": repeats,
                        "seconds": f"{min(wall):.4f}",
                        "cpu_seconds": f"{min(cpu):.4f}",
                    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sizes", type=int, nargs="*", default=[10**k for k in range(3, 8)])
    chosen = parser.parse_args()
    for row in measured(chosen.sizes):
        raw_rows.append(chosen.out, row)


if __name__ == "__main__":
    main()
