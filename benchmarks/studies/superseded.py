"""Removes rows of uncommitted trees from the studies' files if another row has the same run of a clean commit.

    python -m benchmarks.studies.superseded            # says how many rows of uncommitted trees each file still has

A run is the same if configuration and seed are. After it, lower the counts in ``benchmarks/uncommitted.toml``.
"""

from __future__ import annotations

import csv
from pathlib import Path

from benchmarks.raw_rows import RESULTS
from benchmarks.studies.study_rows import RUN

Row = dict[str, str]


def superseded(rows: dict[Path, list[Row]]) -> dict[Path, list[Row]]:
    """The rows of each file that stay."""
    clean = {_run(row) for found in rows.values() for row in found if not uncommitted(row)}
    return {
        path: [row for row in found if not uncommitted(row) or _run(row) not in clean] for path, found in rows.items()
    }


def uncommitted(row: Row) -> bool:
    """Whether a row is of a tree with uncommitted changes."""
    return row["commit"].endswith("-dirty")


def _run(row: Row) -> tuple[str, ...]:
    return tuple(row[name] for name in RUN)


def read(results: Path) -> dict[Path, list[Row]]:
    """The rows of every study's file in a folder."""
    found = {}
    for path in sorted(results.glob("study-*.csv")):
        with path.open(newline="") as file:
            reader = csv.DictReader(file)
            if {*RUN, "commit"} <= {*(reader.fieldnames or ())}:
                found[path] = list(reader)
    return found


def main(results: Path = RESULTS) -> None:
    before = read(results)
    for path, rows in superseded(before).items():
        if len(rows) < len(before[path]):
            with path.open("w", newline="") as file:
                writer = csv.DictWriter(file, list(before[path][0]), lineterminator="\n")
                writer.writeheader()
                writer.writerows(rows)
        print(f"{path.name}: {len(before[path]) - len(rows)} rows removed, {sum(map(uncommitted, rows))} left")


if __name__ == "__main__":
    main()
