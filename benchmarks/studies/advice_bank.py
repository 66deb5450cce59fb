"""The walk-through of ``docs/pages/advice-bank.md``: one command on the table of a bank, then 60 checked rows, and the
truth on the last screen only.

    PUBENCH_DATA=... OMP_NUM_THREADS=1 python -m benchmarks.studies.advice_bank /tmp/bank

Makes ``customers.csv`` (``bank_table.py``), asks ``pubench advise``, fills in its sheet from the truth, asks again, and
adds rows to ``results/advice-bank.csv``: of each answer, and of every method that was fitted for it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pubench_advise.fits import FitRows, out_of_fold
from pubench_advise.portfolio import PORTFOLIO, Candidate

import pubench
from benchmarks import raw_rows
from benchmarks.studies import bank_table, hidden_positives

#: What a person would try by hand next to the portfolio (docs/pages/advice-bank.md).
BY_HAND = (
    Candidate("random forest, P against U", "naive", {"base": "forest"}),
    Candidate("Elkan-Noto, boosting", "elkan-noto", {"base": "boosting"}),
)
ASKED = ["--label-col", "confirmed", "--drop", "customer_id", "--goal", "review:200", "--prior", "0.2..0.3"]


def asked(folder: Path, *more: str) -> tuple[dict[str, Any], float, float]:
    """Answer of the command, its seconds, and its processor seconds."""
    command = [
        str(Path(sys.executable).with_name("pubench")),
        "advise",
        "customers.csv",
        *ASKED,
        "--out",
        "answer",
        *more,
    ]
    began, used = time.perf_counter(), os.times()
    subprocess.run(command, cwd=folder, check=True)
    now = os.times()
    processor = now.children_user + now.children_system - used.children_user - used.children_system
    answer: dict[str, Any] = json.loads((folder / "answer" / "answer.json").read_text("utf-8"))
    return answer, time.perf_counter() - began, processor


def quality(scores: Any, labeled: Any, truth: Any) -> dict[str, float]:
    found = hidden_positives.quality(scores[~labeled], truth[~labeled])
    return {"auc": found["auc"], "top_200": found["top_200"]}


def row_of(when: str, answer: dict[str, Any], folder: Path, truth: Any) -> dict[str, Any]:
    ranked = pd.read_csv(folder / "answer" / "ranked.csv")
    scores, labeled = np.zeros(len(truth)), np.ones(len(truth), bool)
    scores[ranked["row"]], labeled[ranked["row"]] = ranked["score"], False
    found = quality(scores, labeled, truth)
    low, high, positives = answer["promise"]["low"], answer["promise"]["high"], round(200 * found["top_200"])
    prior = answer["prior"]["interval"]
    return {
        "when": when,
        "method": answer["answer"],
        **found,
        "promise_low": low,
        "promise_high": high,
        "promise_holds": low <= positives <= high,
        "prior_low": round(prior[0], 4),
        "prior_high": round(prior[1], 4),
        "prior_holds": prior[0] <= truth.mean() <= prior[1],
        "scar": answer["scar"]["status"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, default=raw_rows.RESULTS / "advice-bank.csv")
    parser.add_argument("--time", default="10m")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    frame, truth = bank_table.customers(bank_table.bank_full())
    frame.to_csv(given.folder / "customers.csv", index=False)
    first, seconds, processor = asked(given.folder, "--time", given.time)
    rows = [{**row_of("answer", first, given.folder, truth), "seconds": round(seconds), "processor": round(processor)}]
    sheet = pd.read_csv(given.folder / first["sheet"])
    sheet["answer"] = truth[sheet["row"]].astype(int)
    sheet.to_csv(given.folder / "checked.csv", index=False)
    then, seconds, processor = asked(given.folder, "--time", given.time, "--audited", "checked.csv")
    after = row_of("answer, 60 rows checked", then, given.folder, truth)
    rows.append({**after, "seconds": round(seconds), "processor": round(processor)})

    table = pubench.data(given.folder / "customers.csv", "confirmed", drop="customer_id")
    read = table._read()
    parts = FitRows(read.x, read.labeled, table)
    priors = {one["name"]: one["prior"] for one in then["methods"]}
    for one in (*PORTFOLIO, *BY_HAND):
        if one.name in priors or one in BY_HAND:
            found = out_of_fold(one, parts, given.folder / "answer" / "fits", prior=priors.get(one.name))
            assert found is not None
            blank = dict.fromkeys(set(rows[0]) - {"when", "method", "auc", "top_200", "seconds"}, "")
            when, cost = "by hand" if one in BY_HAND else "fit", {"seconds": round(found.seconds)}
            rows.append(
                {"when": when, "method": one.name, **quality(found.scores, parts.labeled, truth), **blank, **cost}
            )
    for row in rows:
        raw_rows.append(given.out, {**row, "command": "python -m benchmarks.studies.advice_bank FOLDER"})
    print(pd.DataFrame(rows).to_string())


if __name__ == "__main__":
    main()
