"""Accuracy of methods on data sets, one row per run, resumable: rows that are in the file are not run again.

    python benchmarks/accuracy.py --out benchmarks/results/nnpu-accuracy.csv --method nnpu \
        --data fashion-mnist mnist --seeds 2 25 42 --jobs 2

Each run is the real command in a process of its own, with one thread, so that ``--jobs`` of them share a machine
without changing each other's numbers. The setting is PU-Bench's conventional one: case-control, SCAR, c = 0.1,
validation fraction 0.01, the method's ``pubench`` preset, epoch chosen by validation F1 (an oracle criterion).
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import raw_rows

from pubench_core.results import CriterionResult, Result

MEASURES = ("accuracy", "precision", "recall", "f1", "macro-f1", "auc")
CRITERIA = ("f1", "macro-f1", "oa", "pa", "pauc", "last")
_lock = threading.Lock()


def command(method: str, data: str, seed: int, options: argparse.Namespace) -> list[str]:
    """The command line of one run."""
    return [
        "pubench", "run", "--method", method, "--data", data, "--mech", "scar", "--c", options.c,
        "--scheme", options.scheme, "--preset", options.preset,
        "--set", f"validation.fraction={options.validation}", "--select", "f1",
        "--seed", str(seed), "--prior", options.prior, "--threads", "1", "--device", "cpu", "--artifacts", "none",
        *(word for pair in options.set for word in ("--set", pair)),
        "--results", str(options.results), "--no-tracking", "--format", "json",
    ]  # fmt: skip


def row(words: list[str], result: Result) -> dict[str, Any]:
    """One row: what was run, what came out under every criterion, where and by which command."""
    spec = result.spec
    return {
        "method": spec.method.key,
        "data": spec.data.key,
        "seed": spec.seed,
        "prior": spec.prior,
        "told_prior": result.data.prior.given,
        "selected_by": result.selected,
        "epoch": result.chosen.epoch,
        **{name: percent(result.chosen, name) for name in MEASURES},
        **{f"accuracy_by_{name}": percent(result.criteria.get(name), "accuracy") for name in CRITERIA},
        "epochs": result.epochs,
        "seconds_per_epoch": result.seconds.per_epoch,
        "peak_mib": round(result.peak_memory.bytes / 2**20),
        "threads": result.threads,
        "run_id": result.run_id,
        "code": result.code.hash,
        "commit": raw_rows.commit(),
        "machine": raw_rows.machine(),
        "command": " ".join(word for word in words if word != "json").replace("--format", "").strip(),
    }


def percent(criterion: CriterionResult | None, metric: str) -> float | str:
    """A test measure under a criterion, in percent; empty where it has no value."""
    measure = criterion.measures.get("test", {}).get(metric) if criterion is not None else None
    return round(100 * measure.value, 4) if measure is not None and measure.value is not None else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--method", nargs="+", required=True)
    parser.add_argument("--data", nargs="+", required=True)
    parser.add_argument("--seeds", nargs="+", type=int, default=[2, 25, 42])
    parser.add_argument("--prior", default="true", help="class prior given to the method, as for pubench run")
    parser.add_argument("--c", default="0.1")
    parser.add_argument("--scheme", default="case-control")
    parser.add_argument("--preset", default="pubench")
    parser.add_argument("--validation", default="0.01", help="fraction; such rows belong in another file too")
    parser.add_argument("--set", nargs="+", default=[], help="as for pubench run; such rows belong in another file")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--results", type=Path, default=Path("results"))
    options = parser.parse_args()
    have: set[tuple[str, ...]] = set()
    if options.out.exists():
        with options.out.open(newline="") as file:
            have = {(r["method"], r["data"], r["seed"], r["prior"]) for r in csv.DictReader(file)}
    wanted = [
        (method, data, seed)
        for seed in options.seeds
        for method in options.method
        for data in options.data
        if (method, data, str(seed), options.prior) not in have
    ]

    def work(item: tuple[str, str, int]) -> bool:
        words = command(*item, options)
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode:
            print(f"{item}: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
            return False
        found = row(words, raw_rows.result_of(done.stdout))
        with _lock:
            raw_rows.append(options.out, found)
            print(f"{item}: accuracy {found['accuracy']}, AUC {found['auc']}", flush=True)
        return True

    with ThreadPoolExecutor(options.jobs) as pool:
        finished = list(pool.map(work, wanted))
    sys.exit(0 if all(finished) else 1)


if __name__ == "__main__":
    main()
