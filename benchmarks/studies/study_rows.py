"""The raw rows of a study: one per run and criterion, in an order of their own, so that they can be committed.

    python -m benchmarks.studies.study_rows /work/study-results benchmarks/results/study-conventional-13.csv

Read from the run folders (what ``results.parquet`` is made of), so that a study which is still running can be read
too; nothing is written there. Measures are of the test part, in percent; a cell is empty if there is no value. A run
without a validation part has no row of a criterion that needs one. ``settings`` is what was set beyond preset and data
set (``validation.fraction=0.01``), as ``pubench run --set`` takes it; ``draw`` the number of a hyper-parameter draw.
``seconds`` are a method's own only where ``at_once`` is 1. ``revision`` is the engine revision of the record. A test
refuses rows of a changed checkout.

With ``--add``, rows that stand in the file stay there where the folder has no record of the same run (the same
configuration and seed, whatever code computed it): so a study may be measured on several machines.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pubench_report.rows.columns import FILE, file_column, typed, types
from pubench_report.rows.files import file_rows, sources_in
from pubench_report.rows.record import rows_of
from pubench_study.plan import read_plan
from pubench_study.study_file import folder_of

from pubench_core.errors import RecordError

COLUMNS = tuple(types(FILE))
#: What decides which row stands before which.
ORDER = (
    "data", "method", "mechanism", "c", "positive_rate", "scheme", "prior", "preset", "settings", "seed", "run_id",
    "criterion",
)  # fmt: skip
NUMBERS = ("c", "positive_rate", "seed")
NO_VALIDATION = "validation.fraction=0.0"
#: What is the same of two runs that measure the same.
RUN = (*(name for name in ORDER if name not in ("run_id", "criterion")), "draw")


def rows(results: Path, study: str | None) -> list[dict[str, str]]:
    """The rows of a study's runs that are recorded. Records that cannot be read are said on stderr."""
    folder = folder_of(results, study)
    plan = read_plan(folder)
    assert plan is not None  # folder_of names studies that have one
    errors: list[RecordError] = []
    columns = [file_column(name).name for name in COLUMNS]
    mine, found = 0, list[dict[str, Any]]()
    for source in sources_in(results, errors, plans=[plan]):
        if source.study == plan.name:
            mine += 1
            found += rows_of(source, columns)
    for error in errors:
        print(f"left out: {error}", file=sys.stderr)
    print(f"{plan.name}: {mine} of {len({run.run_id for run in plan.runs})} runs are recorded", file=sys.stderr)
    uncommitted = {row["run_id"] for row in found if row["commit"].endswith("-dirty")}
    if uncommitted:
        print(
            f"{len(uncommitted)} runs are of a changed checkout: commit, then run them again",
            file=sys.stderr,
        )
    made = [row for row in file_rows(typed(found, columns)) if row["epoch"] or NO_VALIDATION not in row["settings"]]
    return sorted(made, key=_place)


def added(file: Path, found: list[dict[str, Any]]) -> tuple[list[str], list[dict[str, Any]]]:
    """Columns in the order of a file, new ones last; rows of runs, and those of the file that are of other runs."""
    with file.open(newline="") as lines:
        reader = csv.DictReader(lines)
        stored = list(reader.fieldnames or ())
        if not {*RUN, "criterion"} <= {*stored} <= {*COLUMNS}:
            sys.exit(f"{file} has other columns than {', '.join(COLUMNS)}: leave --add out to write it again")
        known = {_run(row) for row in found}
        older = [{**dict.fromkeys(COLUMNS, ""), **row} for row in reader if _run(row) not in known]
    print(f"{len({_run(row) for row in older})} runs stay as {file} has them", file=sys.stderr)
    return [*stored, *(name for name in COLUMNS if name not in stored)], sorted([*older, *found], key=_place)


def _run(row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in RUN)


def _place(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(float(row[name] or -1) if name in NUMBERS else row[name] for name in ORDER)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, help="folder of records")
    parser.add_argument("out", type=Path, help="the CSV file, written again")
    parser.add_argument("--add", action="store_true", help="keep its rows of runs that the folder has no record of")
    parser.add_argument("--study", help="its name, where the folder holds several")
    options = parser.parse_args()
    columns, found = list(COLUMNS), rows(options.results, options.study)
    if options.add:
        columns, found = added(options.out, found)
    with options.out.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(found)


if __name__ == "__main__":
    main()
