"""The raw rows of a study: one per run and criterion, in an order of their own, so that they can be committed.

    python benchmarks/study_rows.py /work/study-results benchmarks/results/study-conventional-13.csv

Read from the run folders (what ``results.parquet`` is made of), so that a study which is still running can be read
too; nothing is written there. Measures are of the test part, in percent; a cell is empty if there is no value.
``settings`` is what was set beyond preset and data set (``validation.fraction=0.01``), as ``pubench run --set`` takes
it. ``draw`` is the number of a hyper-parameter draw, empty where a study has none. ``seconds`` are a method's own only
where ``at_once`` is 1. ``revision`` is the engine revision of the record. It is empty for a run of an uncommitted tree
(``-dirty``), whose code nobody can look up; such rows are reported, and a test refuses new ones.

With ``--add``, rows that stand in the file stay there where the folder has no record of the same run (the same
configuration and seed, whatever code computed it): so a study may be measured on several machines.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pubench_study.plan import read_plan
from pubench_study.study_file import folder_of
from pubench_submit.submitted_rows import commit_of, machine_of, revision_of, settings_of

from pubench_core.records.files import ENVIRONMENT
from pubench_core.records.record import Record
from pubench_core.records.store import RecordStore
from pubench_core.results import CriterionResult, Environment

MEASURES = ("accuracy", "precision", "recall", "f1", "macro-f1", "auc", "average-precision")
COLUMNS = (
    "method", "data", "mechanism", "c", "positive_rate", "scheme", "prior", "told_prior", "seed", "preset", "settings",
    "draw", "criterion", "criterion_oracle", "criterion_value", "selected", "epoch", "epochs", *MEASURES, "seconds",
    "peak_mib", "at_once", "threads", "run_id", "code", "revision", "commit", "machine", "study",
)  # fmt: skip
#: What decides which row stands before which.
ORDER = (
    "data", "method", "mechanism", "c", "positive_rate", "scheme", "prior", "preset", "settings", "seed", "run_id",
    "criterion",
)  # fmt: skip
NUMBERS = ("c", "positive_rate", "seed")
#: What is the same of two runs that measure the same.
RUN = (*(name for name in ORDER if name not in ("run_id", "criterion")), "draw")


def rows(results: Path, study: str | None) -> list[dict[str, Any]]:
    """The rows of a study's runs that are recorded. Records that cannot be read are said on stderr."""
    folder = folder_of(results, study)
    plan = read_plan(folder)
    assert plan is not None  # folder_of names studies that have one
    planned = {run.run_id: run.draw for run in plan.runs}
    records = RecordStore(results).all()
    for error in records.unreadable:
        print(f"left out: {error}", file=sys.stderr)
    mine = [record for record in records.readable if record.result.run_id in planned]
    print(f"{plan.name}: {len(mine)} of {len(planned)} runs are recorded", file=sys.stderr)
    asked: dict[str, str] = {}
    found = [row for record in mine for row in _rows(record, plan.name, planned[record.result.run_id], asked)]
    uncommitted = {row["run_id"] for row in found if row["commit"].endswith("-dirty")}
    if uncommitted:
        print(f"{len(uncommitted)} runs are of an uncommitted tree: commit, then run them again", file=sys.stderr)
    return sorted(found, key=_place)


def added(file: Path, found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of runs, and those of a file's rows that are of other runs."""
    with file.open(newline="") as lines:
        reader = csv.DictReader(lines)
        stored = reader.fieldnames or ()
        if [name for name in COLUMNS if name in stored] != list(stored) or not {*RUN, "criterion"} <= {*stored}:
            sys.exit(f"{file} has other columns than {', '.join(COLUMNS)}: leave --add out to write it again")
        known = {_run(row) for row in found}
        older = [{**dict.fromkeys(COLUMNS, ""), **row} for row in reader if _run(row) not in known]
    print(f"{len({_run(row) for row in older})} runs stay as {file} has them", file=sys.stderr)
    return sorted([*older, *found], key=_place)


def _run(row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in RUN)


def _place(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(float(row[name] or -1) if name in NUMBERS else row[name] for name in ORDER)


def _rows(record: Record, study: str, draw: int | None, asked: dict[str, str]) -> Iterator[dict[str, Any]]:
    result, spec = record.result, record.result.spec
    environment = Environment.model_validate_json((record.folder / ENVIRONMENT).read_bytes())
    for name, criterion in result.criteria.items():
        yield {
            "method": spec.method.key,
            "data": spec.data.key,
            "mechanism": spec.mechanism.key,
            "c": "" if spec.mechanism.c is None else spec.mechanism.c,
            "positive_rate": "" if spec.mechanism.positive_rate is None else spec.mechanism.positive_rate,
            "scheme": spec.data.scheme,
            "prior": str(spec.prior),
            "told_prior": result.data.prior.given,
            "seed": spec.seed,
            "preset": spec.method.preset or "",
            "settings": settings_of(spec, asked),
            "draw": "" if draw is None else draw,
            "criterion": name,
            "criterion_oracle": criterion.oracle,
            "criterion_value": "" if criterion.value is None else round(criterion.value, 6),
            "selected": name == result.selected,
            "epoch": criterion.epoch,
            "epochs": result.epochs,
            **{measure: _percent(criterion, measure) for measure in MEASURES},
            "seconds": round(result.seconds.total, 2),
            "peak_mib": round(result.peak_memory.bytes / 2**20),
            "at_once": result.at_once,
            "threads": result.threads,
            "run_id": result.run_id,
            "code": result.code.hash,
            "revision": "" if environment.git_dirty else revision_of(result),
            "commit": commit_of(environment),
            "machine": machine_of(environment),
            "study": study,
        }


def _percent(criterion: CriterionResult, metric: str) -> float | str:
    measure = criterion.measures.get("test", {}).get(metric)
    return round(100 * measure.value, 4) if measure is not None and measure.value is not None else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, help="folder of records")
    parser.add_argument("out", type=Path, help="the CSV file, written again")
    parser.add_argument("--add", action="store_true", help="keep its rows of runs that the folder has no record of")
    parser.add_argument("--study", help="its name, where the folder holds several")
    options = parser.parse_args()
    found = rows(options.results, options.study)
    if options.add:
        found = added(options.out, found)
    with options.out.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(found)


if __name__ == "__main__":
    main()
