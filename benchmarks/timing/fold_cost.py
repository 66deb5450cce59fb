"""Cost of five folds: processor time of a run of five folds over that of one run with a fifth held out, in turns.

    PUBENCH_DATA=... OMP_NUM_THREADS=1 python -m benchmarks.timing.fold_cost

On the table of a bank (``bank_table.py``), after one run of each kind as a warm-up. Both train on four fifths of the
rows and keep the same artifacts. A row per turn in ``results/fold-cost.csv``.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from pathlib import Path

import pandas as pd

import pubench
from benchmarks import raw_rows
from benchmarks.studies import bank_table

METHODS, TURNS, FOLDS = ("pu-bagging", "nnpu"), 3, 5


def seconds(method: str, table: pubench.PUTable, turn: int, folds: int) -> float:
    """Processor seconds of a run whose rows no other run had."""
    held_out = {"folds": folds} if folds else {"validation": 1 / FOLDS}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", pubench.PubenchWarning)
        began = time.process_time()
        pubench.run(method, table, prior=0.25, seed=turn, results=folder, tracking=False, threads=1, **held_out)
        return time.process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=raw_rows.RESULTS / "fold-cost.csv")
    given = parser.parse_args()
    frame, _ = bank_table.customers(bank_table.bank_full())
    table = pubench.data(frame, "confirmed", drop="customer_id", name="customers.csv")
    for method in METHODS:
        for turn in range(TURNS + 1):
            one, whole = (seconds(method, table, turn, folds) for folds in (0, FOLDS))
            if turn:
                row = {"method": method, "turn": turn, "one_run": round(one, 2), "five_folds": round(whole, 2)}
                row |= {"ratio": round(whole / one, 2), "command": "python -m benchmarks.timing.fold_cost"}
                raw_rows.append(given.out, row)
    print(pd.read_csv(given.out).groupby("method").ratio.describe())


if __name__ == "__main__":
    main()
