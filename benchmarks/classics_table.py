"""The classics next to the best PU methods: test measures and seconds of committed rows, in Markdown.

    python benchmarks/classics_table.py benchmarks/results/study-*.csv

Rows of SCAR and c = .1 with a true prior count. Every classic is shown; of the other methods, per data set and scheme,
the one with the highest mean accuracy by `pa`, by `last` and by `f1` (an oracle), of those with three seeds or more.
Oracle methods are left out. Which method is best is chosen on test rows, for all three.
"""

from __future__ import annotations

import argparse
import csv
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

CLASSICS = ("naive", "elkan-noto", "pu-bagging", "two-step", "pu-boost")
MEASURES = ("accuracy", "f1", "auc", "average-precision", "seconds")
Row = Mapping[str, str]
Group = dict[tuple[str, str, str], list[Row]]


def rows_of(files: Iterable[Path]) -> Group:
    """(data, method and what was set, criterion) -> rows, one per seed: the last file's, where several have it."""
    found: dict[tuple[str, str, str], dict[str, Row]] = defaultdict(dict)
    for file in files:
        with file.open(newline="") as lines:
            reader = csv.DictReader(lines)
            if "criterion" not in (reader.fieldnames or ()):
                continue  # rows of another kind
            for row in reader:
                usual = (row["mechanism"], row["c"], row["scheme"], row["prior"]) == (
                    "scar",
                    "0.1",
                    "case-control",
                    "true",
                )
                if usual and not row["draw"] and row["method"] != "pn" and row["accuracy"]:
                    chosen = [s for s in row["settings"].split() if s.startswith(("base=", "form="))]
                    name = " ".join([f"`{row['method']}`", *chosen])
                    found[f"{row['data']}, {row['scheme']}", name, row["criterion"]][row["seed"]] = row
    return {key: list(by_seed.values()) for key, by_seed in found.items()}


def mean(rows: list[Row], measure: str) -> float:
    return statistics.mean(float(row[measure]) for row in rows)


def line(name: str, by: str, rows: list[Row]) -> str:
    """A row of the table."""
    cells = [f"{mean(rows, m):.1f}" if all(row.get(m) for row in rows) else "" for m in MEASURES]
    return f"| {name} | {by} | {len(rows)} | " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, help="CSV files of study_rows.py")
    groups = rows_of(parser.parse_args().files)
    for data in dict.fromkeys(data for data, *_ in groups):
        mine = {k: v for k, v in groups.items() if k[0] == data and k[1].split("`")[1] in CLASSICS and k[2] == "last"}
        if not mine:
            continue
        print(f"\n**{data}**\n\n| method | epoch by | seeds | accuracy | F1 | AUC | AP | seconds |")
        print("|---|---|---:|---:|---:|---:|---:|---:|")
        for (_, name, _), rows in sorted(mine.items(), key=lambda item: -mean(item[1], "accuracy")):
            print(line(name, "last", rows))
        seeds = max(map(len, mine.values()))
        for criterion in ("pa", "last", "f1"):
            others = {
                name: rows
                for (where, name, by), rows in groups.items()
                if (where, by) == (data, criterion)
                and name.split("`")[1] not in CLASSICS
                and len(rows) >= min(3, seeds)
            }
            if others:
                best = max(others, key=lambda name: mean(others[name], "accuracy"))
                print(
                    line(
                        f"best PU method: {best}", criterion + (" (oracle)" if criterion == "f1" else ""), others[best]
                    )
                )


if __name__ == "__main__":
    main()
