"""Seconds per epoch and peak memory of methods on Fashion-MNIST, each next to nnPU, one run at a time.

    python -m benchmarks.timing.method_cost --out benchmarks/results/method-cost.csv --method vpu pulda --repeats 2

Every repeat runs the method and then nnPU in processes of their own, so that both meet the same machine; ``ratio`` is
the method's seconds per epoch over nnPU's of the same repeat. The runs are short (``--epochs``) with the ``pubench``
preset; an epoch is what the method calls one, with its share of scoring. Rows are appended; run it on a quiet machine.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import raw_rows


def measured(method: str, epochs: int, threads: int, sets: list[str]) -> dict[str, Any]:
    """The costs that one short run reports."""
    with tempfile.TemporaryDirectory() as results:
        words = [
            "pubench", "run", "--method", method, "--data", "fashion-mnist", "--mech", "scar", "--c", "0.1",
            "--preset", "pubench", "--set", f"epochs={epochs}", "--set", "patience=null",
            "--set", "validation.fraction=0.01", "--select", "last", "--threads", str(threads), "--device", "cpu",
            "--artifacts", "none", "--results", results, "--no-tracking", "--format", "json",
            *(word for text in sets for word in ("--set", text)),
        ]  # fmt: skip
        done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{method}: {done.stderr.strip().splitlines()[-1]}")
    result = raw_rows.result_of(done.stdout)
    return {
        "epochs": result.epochs,
        "seconds_per_epoch": round(result.seconds.per_epoch, 3),
        "training_seconds_per_epoch": round(result.seconds.per_epoch_training, 3),
        "peak_mib": round(result.peak_memory.bytes / 2**20),
        "threads": result.threads,
        "command": " ".join(word for word in words if word != results),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--method", nargs="+", required=True)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--set", action="append", default=[], help="shortens the method: warm_up=1")
    options = parser.parse_args()
    for repeat in range(options.repeats):
        for method in options.method:
            here = measured(method, options.epochs, options.threads, options.set)
            beside = measured("nnpu", options.epochs, options.threads, [])
            row = {
                "method": method,
                "repeat": repeat,
                **here,
                "nnpu_seconds_per_epoch": beside["seconds_per_epoch"],
                "ratio": round(here["seconds_per_epoch"] / beside["seconds_per_epoch"], 3),
                "nnpu_peak_mib": beside["peak_mib"],
            }
            raw_rows.append(options.out, row)
            print(
                f"{method}: {row['seconds_per_epoch']} s per epoch, {row['ratio']} x nnPU, {row['peak_mib']} MiB",
                flush=True,
            )


if __name__ == "__main__":
    main()
