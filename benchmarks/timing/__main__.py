"""Measures seconds of one of the timings here and appends the rows to ``benchmarks/results/NAME.csv``.

    python -m benchmarks.timing published-code folder=PU-BENCH
    PUBENCH_DATA=... python -m benchmarks.timing method-cost methods=[vpu,pulda] --rounds 2 --out /tmp/rows.csv

``NAME=VALUE`` sets a parameter of the timing, in YAML. Sides of a case take turns; run it on a quiet machine.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from benchmarks.raw_rows import RESULTS, append, parser_of
from benchmarks.timing.published import published_code
from benchmarks.timing.turns import SCRIPT, Case, rounds, summary


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
        result = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    seconds, peak = result["seconds"], round(result["peak_memory"]["bytes"] / 2**20)
    training = round(seconds["per_epoch_training"], 3)
    return {"seconds": seconds["per_epoch"], "training_seconds": training, "peak_mib": peak}


TIMINGS: dict[str, Callable[..., Iterator[Case]]] = {
    "method-cost": method_cost,
    "published-code": published_code,
}


def main() -> None:
    parser = parser_of(__doc__, timing=TIMINGS)
    parser.add_argument("--rounds", type=int, default=5, help="besides the first, which is not kept")
    given = parser.parse_args()
    for case in TIMINGS[given.timing](**dict(given.parameters)):
        rows = list(rounds(case, given.rounds))
        for row in rows:
            append(given.out or RESULTS / f"{given.timing}.csv", row)
        print(*case.facts.values(), summary(rows, case.column), sep=", ", flush=True)


if __name__ == "__main__":
    main()
