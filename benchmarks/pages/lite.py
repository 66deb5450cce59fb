"""The blocks of ``boards.md`` on the protocol `lite`: what it costs, and whether its ranks are those of other data.

A method's place is its mean difference to the best method of each data set, in points of test accuracy, epoch by PA.
Methods count that have runs on every data set of a line. Intervals are of resampled methods.
"""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
from pubench_study.study_file import find_study
from scipy.stats import rankdata

from benchmarks.pages.parts import table
from benchmarks.raw_rows import ROOT, study_rows

RESAMPLES = 2000
#: Other data sets, those with most methods first.
OTHERS = ("20news", "connect-4", "fashion-mnist", "mnist")


def rows() -> pd.DataFrame:
    """The main comparison's rows with default settings, the newest of every run; those of `lite` hold out more rows."""
    frame = pd.concat([study_rows(), study_rows("lite.csv")])
    frame = frame[
        (frame.scheme == "case-control")
        & (frame.mechanism == "scar")
        & (frame.c == 0.1)
        & frame.settings.isin(["", "validation.fraction=0.01"])
        & (frame.method != "pn")
    ]
    run = ["data", "method", "seed", "criterion"]
    return frame.sort_values("revision", kind="stable").drop_duplicates(run, keep="last")


def agreement(means: pd.DataFrame, part: list[str], rest: list[str]) -> tuple[str, str]:
    """Number of methods; Spearman's correlation of the mean distance to the best, with a 95 % interval."""
    below = means[[*part, *rest]].dropna()
    below = below - below.max()
    first, second = below[part].mean(axis=1).to_numpy(), below[rest].mean(axis=1).to_numpy()
    drawn = np.random.default_rng(0).integers(0, len(first), (RESAMPLES, len(first)))
    drawn[0] = np.arange(len(first))
    ranks = [rankdata(side[drawn], axis=1) for side in (first, second)]
    a, b = (side - side.mean(axis=1, keepdims=True) for side in ranks)
    found = (a * b).sum(1) / np.sqrt((a**2).sum(1) * (b**2).sum(1))
    low, high = np.nanpercentile(found[1:], [2.5, 97.5])
    return str(len(first)), f"{found[0]:.2f} [{low:.2f}, {high:.2f}]".replace("0.", ".")


def cost(frame: pd.DataFrame, data: list[str], seeds: int) -> str:
    """Minutes by method on one thread: seconds per training row on Spambase, times the rows of all tables."""
    counts = {
        key: sum(found["training"]) * (1 if "test" in found else 0.8)  # without a test part, a fifth is drawn
        for key, found in json.loads((ROOT / "docs" / "data_counts.json").read_text()).items()
    }
    runs = frame[frame.data == "spambase"].drop_duplicates("run_id")
    seconds = runs.groupby("method").seconds.median()
    minutes = seconds / counts["spambase"] * sum(counts[key] for key in data) * seeds / 60
    return (
        f"A median of {minutes.median():.0f} minutes on one thread, under 15 minutes for {int((minutes < 15).sum())}\n"
        f"of {len(minutes)} methods; with eight runs at once (`-j 8`) for {int((minutes < 120).sum())}."
    )


def blocks() -> dict[str, str]:
    """Cost and agreement."""
    frame, spec = rows(), find_study("lite").spec
    data = [one["key"] for one in spec.data]
    means = frame[frame.criterion == "pa"].pivot_table(
        index="method", columns="data", values="accuracy", aggfunc="mean"
    )
    there = [key for key in data if key in means]
    lines = [
        (name, ", ".join(OTHERS[:number]), *agreement(means, part, [*OTHERS[:number]]))
        for name, part in (("four tables", there), ("Spambase", ["spambase"]))
        for number in (2, 4)
    ]
    seeds = spec.seeds if isinstance(spec.seeds, int) else len(spec.seeds)
    return {
        "cost of lite": cost(frame, data, seeds),
        "agreement of lite": table(("part of `lite`", "next to", "methods", "correlation"), lines),
    }
