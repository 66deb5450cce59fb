"""CPU seconds of an epoch with torch's fused optimizers and with its loops over tensors, taking turns.

    python -m benchmarks.timing.fused_optimizers --out benchmarks/results/fused-optimizers.csv --data-root DIR

Every cell runs one method for one epoch per round through the engine, once with each implementation. Times are the
process's CPU time with one thread, so that other programs on the machine count little. Fashion-MNIST has 40 steps an
epoch, the others a pass. ``fused`` False is what revision 4 did for SGD; its Adam was fused already.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

import pubench
import pubench_core.training.run as training_run
from benchmarks import raw_rows
from pubench_core.training import optimizers

CASES = [(method, data) for data in ("spambase", "20news", "fashion-mnist") for method in ("nnpu", "vpu")]


def training_seconds(method: str, data: str, optimizer: str, fused: bool, root: Path | None, seed: int) -> float:
    """CPU seconds of the training steps of one epoch."""
    for name in ("Adam", "SGD"):
        base: Any = getattr(torch.optim, name)

        def init(self: Any, *args: Any, base: Any = base, **options: Any) -> None:
            base.__init__(self, *args, **{**options, "fused": fused})

        getattr(optimizers, name).__init__ = init
    config: dict[str, Any] = {"epochs": 1, "optimizer": optimizer}
    if data == "fashion-mnist":
        config["steps_per_epoch"] = 40
    with tempfile.TemporaryDirectory() as folder:
        result = pubench.run(
            method, data, c=0.1, seed=seed, config=config, tracking=False, results=folder, data_root=root, threads=1
        ).result
    return result.seconds.training


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path)
    parser.add_argument("--data-root", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    training_run.time = SimpleNamespace(perf_counter=time.process_time)  # type: ignore[attr-defined]
    for method, data in CASES:
        for optimizer in ("adam", "sgd"):
            seconds: dict[bool, list[float]] = {False: [], True: []}
            for round_ in range(options.rounds + 1):
                for fused in (False, True):
                    found = training_seconds(method, data, optimizer, fused, options.data_root, round_)
                    if round_:  # the first round is not kept
                        seconds[fused].append(found)
            ratios = [b / a for a, b in zip(seconds[False], seconds[True], strict=True)]
            row = {
                "method": method,
                "data": data,
                "optimizer": optimizer,
                "loop_seconds": round(statistics.median(seconds[False]), 4),
                "fused_seconds": round(statistics.median(seconds[True]), 4),
                "median_ratio": round(statistics.median(ratios), 3),
                "smallest_ratio": round(min(ratios), 3),
                "largest_ratio": round(max(ratios), 3),
                "rounds": options.rounds,
                "commit": raw_rows.commit(),
                "machine": raw_rows.machine(),
                "command": f"fused_optimizers.py --rounds {options.rounds}",
            }
            print(row, flush=True)
            if options.out:
                raw_rows.append(options.out, row)


if __name__ == "__main__":
    main()
