"""How well the ranks of the protocol `lite` agree with those of the whole board, as far as committed rows tell.

    python -m benchmarks.pages.lite benchmarks/results/study-*.csv [--criterion pa] [--measure accuracy]

A method's place is its mean difference to the best method of each data set, in points. Methods count that have runs on
every data set of a comparison. The correlation of ranks (Spearman) is between `lite`'s data sets that have rows and
other data sets, of which one more joins in each line: the one that leaves most methods, as long as FEWEST are left. Its
interval is of resampled methods. Single data sets are compared with all others of the last line. Seconds are medians of
runs on a machine that others used as well, scaled by the number of training rows; they are an estimate.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from pandas import DataFrame
from pubench_study.study_file import find_study
from pubench_submit.submitted_rows import board_rows
from scipy.stats import spearmanr

COUNTS = Path(__file__).parents[2] / "docs" / "data_counts.json"
RESAMPLES = 2000
#: Methods that must have rows on all data sets of the comparison.
FEWEST = 10


def means(rows: DataFrame, criterion: str, measure: str) -> DataFrame:
    """Mean of a measure over seeds by method and data set, in the main comparison's setting."""
    main = rows[
        (rows["scheme"] == "case-control")
        & (rows["mechanism"] == "scar")
        & (rows["c"] == 0.1)
        & (rows["criterion"] == criterion)
        & ~rows["settings"].str.contains("data.preprocess")
        & ~rows["oracle"]
    ]
    return main.pivot_table(index="name", columns="data", values=f"test_{measure}", aggfunc="mean")


def agreement(table: DataFrame, part: list[str], rest: list[str]) -> tuple[float, float, float, int]:
    """Rank correlation of the mean distance to the best on two sets of data sets; 95 % interval; number of methods."""
    complete = table[[*part, *rest]].dropna()
    below = complete - complete.max()
    first, second = below[part].mean(axis=1).to_numpy(), below[rest].mean(axis=1).to_numpy()
    rng = np.random.default_rng(0)
    drawn = [rng.integers(0, len(first), len(first)) for _ in range(RESAMPLES)]
    resampled = [spearmanr(first[one], second[one]).statistic for one in drawn if len(set(one)) > 2]
    low, high = np.nanpercentile(resampled, [2.5, 97.5])
    return float(spearmanr(first, second).statistic), float(low), float(high), len(complete)


def minutes(rows: DataFrame, data: list[str], seeds: int) -> DataFrame:
    """Estimated minutes by method on one thread: seconds per training row on Spambase, times the rows of all tables."""
    counts = {
        key: sum(found["training"]) * (1 if "test" in found else 0.8)  # without a test part, a fifth is drawn
        for key, found in json.loads(COUNTS.read_text()).items()
    }
    runs = rows[(rows["data"] == "spambase") & (rows["scheme"] == "case-control")].drop_duplicates("run_id")
    seconds = runs.groupby("method")["seconds"].median()
    return (seconds / counts["spambase"] * sum(counts[key] for key in data) * seeds / 60).to_frame("minutes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, help="files of rows, folders of records")
    parser.add_argument("--criterion", default="pa")
    parser.add_argument("--measure", default="accuracy")
    options = parser.parse_args()
    lite = find_study("lite").spec
    data = [one["key"] for one in lite.data]
    rows, _ = board_rows(options.files)
    table = means(rows, options.criterion, options.measure)
    there = [key for key in data if key in table]
    print(f"lite: {', '.join(data)}; no rows of: {', '.join(key for key in data if key not in table) or 'none'}")
    rest, pairs = [key for key in table if key not in data], []
    whole: list[str] = []
    while there and rest:
        best = max(rest, key=lambda key: len(table[[*there, *whole, key]].dropna()))
        if len(table[[*there, *whole, best]].dropna()) < FEWEST:
            break
        whole.append(best)
        rest.remove(best)
        pairs.append((there, list(whole)))
    pairs += [([key], [other for other in [*there, *whole] if other != key]) for key in whole]
    for part, others in pairs:
        rho, low, high, number = agreement(table, part, others)
        print(f"{', '.join(part)} with {', '.join(others)}: {rho:.2f} [{low:.2f}, {high:.2f}], {number} methods")
    cost = minutes(rows, data, lite.seeds if isinstance(lite.seeds, int) else len(lite.seeds))["minutes"].sort_values()
    cheap = f"under 15 for {int((cost < 15).sum())} of {len(cost)}, with eight at once for {int((cost < 120).sum())}"
    print(f"minutes on one thread, estimated: median {cost.median():.1f}; {cheap}")
    print(", ".join(f"{method} {value:.1f}" for method, value in cost.items()))


if __name__ == "__main__":
    main()
