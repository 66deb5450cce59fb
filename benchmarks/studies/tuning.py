"""How often what `pubench tune` finds by PA alone is better on test rows than the defaults.

    PUBENCH_DATA=... OMP_NUM_THREADS=1 nice -n 19 python -m benchmarks.studies.tuning \\
        --out benchmarks/results/tuning.csv --results DIR --data breast-cancer digits letter

One search per method, data set and split: 16 trials by PA with one seed, the methods' own ranges, 20 epochs (the
methods' defaults are 40, and 120 for dist-pu, whose first 60 warm up; here 10 do). A row per search: PA and test
accuracy of the defaults and of the best by PA. The search does not see test rows; the accuracies are looked up when it
is over. Searches whose rows are there are not made again; one that was interrupted goes on. The page about tuning
counts the rows.
"""

from __future__ import annotations

import argparse
import csv
import json
import time
import warnings
from pathlib import Path
from typing import Any

import pubench
from benchmarks import raw_rows

EPOCHS, TRIALS = 20, 16
#: Method -> what its short run needs besides the epochs.
METHODS: dict[str, dict[str, Any]] = {
    "nnpu": {},
    "vpu": {},
    "dist-pu": {"warm_up": 10},
    "upu": {},
    "pusb": {},
    "count-loss": {},
}
SEEDS = (2, 25, 42)


def row_of(method: str, data: str, seed: int, trials: int, results: Path) -> dict[str, Any]:
    """One search."""
    config = {"epochs": EPOCHS, **METHODS[method]}
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pubench.PubenchWarning)
        found = pubench.tune(
            method, data, criterion="pa", trials=trials, seeds=[seed], config=config, threads=1, results=results
        )
    if found.interrupted:
        raise SystemExit(f"{method} on {data}, seed {seed}: {found.interrupted}; the same command goes on")
    seconds = time.perf_counter() - started
    default, best = found.default, found.best
    counts = {state: sum(trial.state == state for trial in found.trials) for state in ("done", "pruned", "failed")}
    return {
        "method": method,
        "data": data,
        "seed": seed,
        "trials": trials,
        **counts,
        "best_trial": best.number,
        "default_pa": default.value,
        "best_pa": best.value,
        "default_test_accuracy": found.measure(default),
        "best_test_accuracy": found.measure(best),
        "best_chosen": json.dumps(dict(best.chosen)),
        "space": json.dumps(dict(found.space)),
        "seconds": round(seconds, 1),
        "command": f"tuning.py --trials {trials} --data {data} --methods {method} --seeds {seed}",
    }


def rows_in(path: Path) -> list[dict[str, str]]:
    """The rows of earlier calls."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def main() -> None:
    """Makes the searches that are missing, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/tuning.csv"))
    parser.add_argument("--results", type=Path, default=Path("results"), help="folder of records")
    parser.add_argument("--data", nargs="+", default=["breast-cancer", "digits", "letter"])
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS))
    parser.add_argument("--trials", type=int, default=TRIALS)
    given = parser.parse_args()
    done = {(row["method"], row["data"], int(row["seed"]), int(row["trials"])) for row in rows_in(given.out)}
    for seed in given.seeds:
        for data in given.data:
            for method in given.methods:
                if (method, data, seed, given.trials) not in done:
                    raw_rows.append(given.out, row_of(method, data, seed, given.trials, given.results))


if __name__ == "__main__":
    main()
