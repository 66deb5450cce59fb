"""A table as a user has it, made of real data whose truth is kept aside: 3,000 customers of a bank, of whom some who
said yes are known, and how well methods find the others.

    PUBENCH_DATA=... python -m benchmarks.studies.bank_table customers.csv
    PUBENCH_DATA=... OMP_NUM_THREADS=1 nice -n 10 python -m benchmarks.studies.bank_table --measure

The first writes the table and ``customers-truth.csv``. It has a customer number, a date, gaps, numbers and texts. A
share .233 said yes, 252 of them are labeled: the longer the call, the likelier (the square of its rank), and three
times likelier by mobile phone. So labels are not SCAR.

With ``--folds``, the second writes ``results/bank-folds.csv``: one validation part and five folds, by every criterion.

The second runs methods with their default settings, as ``pubench run --data customers.csv --label-col confirmed
--prior ...`` does, and adds a row per run and criterion to ``results/bank-table.csv``. Runs whose rows are there under
the same engine revision are not made again.
"""

from __future__ import annotations

import argparse
import os
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import pubench
from benchmarks import raw_rows
from benchmarks.studies import hidden_positives
from pubench_core.engine.identity import ENGINE_REVISION

ROWS, POSITIVES, LABELED = 3000, 699, 252
METHODS = ("nnpu", "count-loss", "nnpu-ga", "vpu", "dist-pu", "pusb", "upu", "self-pu", "robust-pu")
PRIORS = (0.2, 0.25, 0.3)
SEEDS = (2, 25, 42)
TREES = "bagged-trees"
#: What tells rows of different runs apart. ``prior``: what the method was given.
KEY = ("revision", "true_prior", "labeled", "method", "prior", "seed")


def customers(
    bank: pd.DataFrame, positives: int = POSITIVES, labeled: int = LABELED, seed: int = 0
) -> tuple[pd.DataFrame, Any]:
    """The table with its column ``confirmed``, and the (3000,) truth. ``bank``: the file bank-full, as it is."""
    rng = np.random.default_rng(seed)
    yes = (bank["y"] == "yes").to_numpy()
    sides = (np.flatnonzero(yes), positives), (np.flatnonzero(~yes), ROWS - positives)
    rows = rng.permutation(np.concatenate([rng.choice(side, n, replace=False) for side, n in sides]))
    frame, truth = bank.iloc[rows].drop(columns="y").reset_index(drop=True), yes[rows]
    likely = frame["duration"][truth].rank(pct=True) ** 2 * frame["contact"][truth].map({"cellular": 3.0}).fillna(1.0)
    known = rng.choice(likely.index, labeled, replace=False, p=likely / likely.sum())
    frame = frame.replace({"unknown": None})
    for column in ("balance", "age"):
        frame.loc[rng.random(ROWS) < 0.05, column] = np.nan
    days = pd.to_timedelta(rng.integers(0, 900, ROWS), unit="D")
    frame.insert(0, "customer_id", 100_000 + rng.permutation(ROWS))
    frame.insert(1, "called_on", (pd.Timestamp("2008-05-05") + days).strftime("%Y-%m-%d"))
    frame["confirmed"] = np.isin(np.arange(ROWS), known).astype(int)
    return frame, truth


def bank_full() -> pd.DataFrame:
    """The file, from the folder of data files."""
    return pd.read_csv(Path(os.environ["PUBENCH_DATA"]) / "uci" / "bank-full.csv.gz", sep=";")


def numbers(frame: pd.DataFrame) -> Any:
    """(n, d) features for trees: medians for gaps, a column for each value of a text."""
    features = pd.get_dummies(frame.drop(columns=["customer_id", "called_on", "confirmed"]), dummy_na=True)
    return features.fillna(features.median()).to_numpy(float)


def measure_folds(path: Path, given: argparse.Namespace) -> None:
    """Adds the missing rows of one validation part (``folds`` 0) and of five folds, by every criterion that needs no
    truth; what 200 reviewed rows find is one of them.
    """
    frame, truth = customers(bank_full(), given.positives, given.labeled)
    table = pubench.data(frame, "confirmed", name="customers.csv")
    key_names = (*KEY, "folds")
    done = raw_rows.keys(path, key_names)
    for seed, method, prior, folds in product(given.seeds, given.methods, given.priors, (0, 5)):
        values = (ENGINE_REVISION, given.positives / ROWS, given.labeled, method, prior, seed, folds)
        if tuple(map(str, values)) not in done:
            more = {"folds": folds} if folds else {}
            for state in hidden_positives.of_run(
                method, table, truth, at_prior=True, prior=prior, seed=seed, goal="review:200", **more
            ):
                raw_rows.append(path, {**dict(zip(key_names, values, strict=True)), **state})


def measure(path: Path, given: argparse.Namespace) -> None:
    """Adds the rows that are missing."""
    frame, truth = customers(bank_full(), given.positives, given.labeled)
    labeled = frame["confirmed"].to_numpy() == 1
    table = pubench.data(frame, "confirmed", name="customers.csv")
    done = raw_rows.keys(path, KEY)
    asked = [*product(given.methods, given.priors, given.seeds), *product([TREES], [""], given.seeds)]
    for method, prior, seed in asked:
        values = (ENGINE_REVISION, given.positives / ROWS, given.labeled, method, prior, seed)
        key = dict(zip(KEY, values, strict=True))
        if tuple(map(str, values)) in done:
            continue
        if method == TREES:
            found = [hidden_positives.of_trees(numbers(frame), labeled, truth, seed)]
        else:
            found = [*hidden_positives.of_run(method, table, truth, prior=prior, seed=seed)]
        command = (
            f"python -m benchmarks.studies.bank_table --measure --positives {given.positives} --labeled {given.labeled}"
        )
        command += f" --methods {method} --priors {prior or 0.25} --seeds {seed}"
        for state in found:
            raw_rows.append(path, {**key, **state, "command": command})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", nargs="?", type=Path, help="the table, or the file of rows if --measure")
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("--folds", action="store_true", help="with --measure: one validation part next to five folds")
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--priors", nargs="+", type=float, default=list(PRIORS), help="priors given to methods")
    parser.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS))
    parser.add_argument("--positives", type=int, default=POSITIVES, help=f"of {ROWS} rows")
    parser.add_argument("--labeled", type=int, default=LABELED)
    given = parser.parse_args()
    if given.measure and given.folds:
        measure_folds(given.out or Path("benchmarks/results/bank-folds.csv"), given)
    elif given.measure:
        measure(given.out or Path("benchmarks/results/bank-table.csv"), given)
    else:
        frame, truth = customers(bank_full(), given.positives, given.labeled)
        out = given.out or Path("customers.csv")
        frame.to_csv(out, index=False)
        pd.DataFrame({"customer_id": frame["customer_id"], "yes": truth.astype(int)}).to_csv(
            out.with_name(f"{out.stem}-truth.csv"), index=False
        )


if __name__ == "__main__":
    main()
