"""Seconds of every class-prior estimator and scorer at 1,000, 10,000 and 100,000 rows, and how they grow.

    nice -n 19 python -m benchmarks.timing.prior_time --out benchmarks/results/prior-time.csv

A fifth of the rows is labeled, a third of the others positive; features are two Gaussians of 20 dimensions, four
deviations apart. Estimators that read scores get those of the logistic scorer, whose own time has a row. ``seconds`` is
one call with its interval on the wall clock, ``cpu_seconds`` what a processor worked, the figure to compare where other
work runs alongside it; ``repeats``: how many resamples that takes; ``growth``: the exponent of the number of rows in
``cpu_seconds`` since the size before. What stands in the file is not measured again. One thread.
"""

from __future__ import annotations

import argparse
import csv
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pubench_priors_standard.held_out import held_out_scores

from benchmarks import raw_rows
from pubench_core.plugins.info import PriorInfo
from pubench_core.plugins.registry import load, registry
from pubench_core.prior import Samples

SIZES = (1_000, 10_000, 100_000)
SHARE, DISTANCE, DIMENSIONS = 1 / 3, 4.0, 20


def samples(n: int) -> Samples:
    """Two Gaussians; labeled and unlabeled rows are instances of their own."""
    rng = np.random.default_rng(n)
    n_labeled = n // 5
    positive = np.arange(n) < n_labeled + round(SHARE * (n - n_labeled))
    x = rng.normal(size=(n, DIMENSIONS))
    x[positive, 0] += DISTANCE
    rows = np.arange(n)
    return Samples(x[:n_labeled], x[n_labeled:], rows[:n_labeled], rows[n_labeled:])


def measured(what: str, reads: str, n: int) -> tuple[float, float, int | str, float | str]:
    """(seconds, seconds of the processor, repeats of the bootstrap, share)."""
    given, rng = samples(n), np.random.default_rng(0)
    torch.manual_seed(0)
    if reads == "scorer":
        started, worked = time.perf_counter(), time.process_time()
        held_out_scores(given, rng, what)  # type: ignore[arg-type]
        return time.perf_counter() - started, time.process_time() - worked, "", ""
    made = load(registry().find(PriorInfo, what))()
    positive, unlabeled = given.positive, given.unlabeled
    if reads == "scores":
        positive, unlabeled = held_out_scores(given, rng)
    started, worked = time.perf_counter(), time.process_time()
    found = made.estimate(positive, unlabeled, rng)
    seconds, work = time.perf_counter() - started, time.process_time() - worked
    return seconds, work, getattr(made, "repeats", ""), round(found.share, 4)


def tasks(wanted: list[str]) -> Iterator[tuple[str, str, int]]:
    """(what, what it reads, rows), the quick ones first."""
    listed = [("logistic", "scorer"), *((info.key, info.inputs) for info in registry().infos(PriorInfo))]
    listed.append(("bagged-nets", "scorer"))
    slow = {"km1": 2, "km2": 2, "bagged-nets": 1}
    for _, n, what, reads in sorted((slow.get(what, 0), n, what, reads) for what, reads in listed for n in SIZES):
        if not wanted or what in wanted:
            yield what, reads, n


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=[], metavar="KEY")
    parser.add_argument("--most", type=int, default=SIZES[-1], help="largest number of rows")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = list(csv.DictReader(options.out.open())) if options.out.exists() else []
    work_of = {(row["what"], int(row["rows"])): float(row["cpu_seconds"]) for row in rows}
    for what, reads, n in tasks(options.only):
        if n > options.most or (what, n) in work_of:
            continue
        seconds, work, repeats, share = measured(what, reads, n)
        work_of[what, n] = work
        before = work_of.get((what, n // 10))
        row: dict[str, Any] = {
            "what": what,
            "reads": reads,
            "rows": n,
            "labeled": n // 5,
            "repeats": repeats,
            "share": share,
        }
        row |= {"seconds": round(seconds, 3), "cpu_seconds": round(work, 3)}
        row["growth"] = round(math.log10(work / before), 2) if before else ""
        raw_rows.append(options.out, row)
        print(*row.values(), flush=True)


if __name__ == "__main__":
    main()
