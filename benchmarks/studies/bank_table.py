"""A table as a user has it, made of real data whose truth is kept aside: 3,000 customers of a bank, of whom some who
said yes are known.

    PUBENCH_DATA=... python -m benchmarks.studies.bank_table customers.csv

Writes the table and ``customers-truth.csv``. It has a customer number, a date, gaps, numbers and texts. A share .233
said yes, 252 of them are labeled: the longer the call, the likelier (the square of its rank), and three times likelier
by mobile phone. So labels are not SCAR.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

ROWS, POSITIVES, LABELED = 3000, 699, 252


def customers(bank: pd.DataFrame) -> tuple[pd.DataFrame, Any]:
    """The table with its column ``confirmed``, and the (3000,) truth. ``bank``: the file bank-full, as it is."""
    rng = np.random.default_rng(0)
    yes = (bank["y"] == "yes").to_numpy()
    sides = (np.flatnonzero(yes), POSITIVES), (np.flatnonzero(~yes), ROWS - POSITIVES)
    rows = rng.permutation(np.concatenate([rng.choice(side, n, replace=False) for side, n in sides]))
    frame, truth = bank.iloc[rows].drop(columns="y").reset_index(drop=True), yes[rows]
    likely = frame["duration"][truth].rank(pct=True) ** 2 * frame["contact"][truth].map({"cellular": 3.0}).fillna(1.0)
    known = rng.choice(likely.index, LABELED, replace=False, p=likely / likely.sum())
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


def main() -> None:
    out = Path(sys.argv[1])
    frame, truth = customers(bank_full())
    frame.to_csv(out, index=False)
    kept = pd.DataFrame({"customer_id": frame["customer_id"], "yes": truth.astype(int)})
    kept.to_csv(out.with_name(f"{out.stem}-truth.csv"), index=False)


if __name__ == "__main__":
    main()
