"""Mean ± standard deviation of test accuracy per method and data set from raw rows, as a Markdown table.

    python benchmarks/summary.py benchmarks/results/*-accuracy.csv --data spambase 20news connect-4 \
        --paper ../shared/reference/pubench_table1.csv

A cell says how many seeds it has, and ``missing`` where it has none; after the stroke stands the paper's figure. Rows
of a run that was told another prior than the true one are left out.
"""

from __future__ import annotations

import argparse
import csv
import statistics
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

#: How the published tables call what pubench calls by key.
PUBLISHED = {
    "20news": "20News", "imdb": "IMDb", "mnist": "MNIST", "fashion-mnist": "F-MNIST", "cifar10": "CIFAR-10",
    "adni": "ADNI", "connect-4": "Connect-4", "spambase": "Spambase", "nnpu": "nnPU", "pn": "PN",
    "upu": "uPU", "p3mix-c": "P3Mix-C", "nnpu-ga": "nnPU-GA",
    "dist-pu": "Dist-PU",
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="+", type=Path)
    parser.add_argument("--data", nargs="+", required=True)
    parser.add_argument("--measure", default="accuracy")
    parser.add_argument("--paper", type=Path)
    options = parser.parse_args()
    found: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for path in options.rows:
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                if row["prior"] == "true" and row[options.measure]:
                    found[row["method"], row["data"]][row["seed"]] = float(row[options.measure])
    paper = {}
    if options.paper:
        with options.paper.open(newline="") as file:
            paper = {(r["method"], r["dataset"]): f"{r['mean']} ± {r['std']}" for r in csv.DictReader(file)}
    methods = sorted({method for method, _ in found})
    print(line(["method", *options.data]))
    print(line(["---"] * (1 + len(options.data))))
    for method in methods:
        cells = [f"`{method}`"]
        for data in options.data:
            published = paper.get((PUBLISHED.get(method, method.upper()), PUBLISHED.get(data, data)))
            cells.append(cell(list(found[method, data].values())) + (f" / {published}" if published else ""))
        print(line(cells))


def cell(values: list[float]) -> str:
    """Mean, deviation, number of seeds."""
    if not values:
        return "missing"
    spread = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.2f}{spread} ({len(values)})"


def line(cells: Iterable[str]) -> str:
    """One row of a Markdown table."""
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    main()
