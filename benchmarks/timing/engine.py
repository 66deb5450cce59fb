"""Seconds and memory of methods next to nnPU."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from functools import partial
from typing import Any

from benchmarks.raw_rows import result_of
from benchmarks.timing.turns import SCRIPT, Case


def method_cost(
    methods: tuple[str, ...], epochs: int = 2, threads: int = 2, sets: tuple[str, ...] = ()
) -> Iterator[Case]:
    """Seconds per epoch and memory of methods on Fashion-MNIST, each next to nnPU, a process each."""
    for method in methods:
        sides = {
            name: partial(_cost, name, epochs, threads, sets if name == method else ()) for name in (method, "nnpu")
        }
        yield Case({"next_to": method, "epochs": epochs, "threads": threads}, sides, "method")


def _cost(method: str, epochs: int, threads: int, sets: tuple[str, ...]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as results:
        words = [
            SCRIPT, "run", "--method", method, "--data", "fashion-mnist", "--mech", "scar", "--c", "0.1", "--preset",
            "pubench", "--select", "last", "--threads", str(threads), "--device", "cpu", "--artifacts", "none",
            "--results", results, "--no-tracking", "--format", "json",
        ]  # fmt: skip
        for text in (f"epochs={epochs}", "patience=null", "validation.fraction=0.01", *sets):
            words += ["--set", text]
        result = result_of(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    peak = round(result.peak_memory.bytes / 2**20)
    training = round(result.seconds.per_epoch_training, 3)
    return {"seconds": result.seconds.per_epoch, "training_seconds": training, "peak_mib": peak}
