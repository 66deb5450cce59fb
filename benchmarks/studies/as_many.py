"""Measures of stored scores if as many rows were called positive as there are: is the order good and the threshold bad?

    python -m benchmarks.studies.as_many DIR [DIR ...] --out benchmarks/results/as-many-positive.csv

Of every record in these folders that has scores and a test part: a row for the epoch that names the result, and one for
the last. ``share``: of test rows decided positive; ``*_as_many``: with the highest scores called positive, as many as
there are positives. In percent. Rows of other runs stay in the file; a run measured again replaces its rows.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from pubench_report.rows.record import commit_of, machine_of

import pubench
from pubench import RunResult
from pubench_core.records.files import ENVIRONMENT, read_scores
from pubench_core.records.scores import scores_of
from pubench_core.results import Environment

COLUMNS = (
    "method", "data", "scheme", "c", "seed", "preset", "criterion", "epoch", "share", "positive", "accuracy", "f1",
    "accuracy_as_many", "f1_as_many", "run_id", "code", "commit", "machine",
)  # fmt: skip


def rows(run: RunResult) -> Iterator[dict[str, Any]]:
    """The rows of a run; none without scores or a test part."""
    arrays = read_scores(run.folder)
    if "test_labels" not in arrays:
        return
    truth, result = arrays["test_labels"] == 1, run.result
    environment = Environment.model_validate_json((run.folder / ENVIRONMENT).read_bytes())
    for criterion in dict.fromkeys((result.selected, "last")):
        chosen = result.criteria.get(criterion)
        if chosen is None or not chosen.snapshot:
            continue
        scores = scores_of(arrays, chosen.snapshot)["test"]
        highest = np.zeros(len(truth), dtype=bool)
        highest[np.argsort(-scores, kind="stable")[: truth.sum()]] = True
        yield {
            "method": result.spec.method.key,
            "data": result.spec.data.key,
            "scheme": result.spec.data.scheme,
            "c": result.spec.mechanism.c,
            "seed": result.spec.seed,
            "preset": result.spec.method.preset,
            "criterion": criterion,
            "epoch": chosen.epoch,
            "share": _percent((scores > 0).mean()),
            "positive": _percent(truth.mean()),
            "accuracy": _percent(((scores > 0) == truth).mean()),
            "f1": _percent(_f1(scores > 0, truth)),
            "accuracy_as_many": _percent((highest == truth).mean()),
            "f1_as_many": _percent(_f1(highest, truth)),
            "run_id": run.run_id,
            "code": result.code.hash,
            "commit": commit_of(environment),
            "machine": machine_of(environment),
        }


def _f1(decided: np.ndarray, truth: np.ndarray) -> float:
    return float(2 * (decided & truth).sum() / (decided.sum() + truth.sum()))


def _percent(share: float) -> float:
    return round(100 * float(share), 4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--method", nargs="*", help="of these methods only")
    options = parser.parse_args()
    found = {}
    if options.out.exists():
        with options.out.open(newline="", encoding="utf-8") as file:
            found = {(row["run_id"], row["criterion"]): row for row in csv.DictReader(file)}
    for folder in options.folders:
        for run in pubench.load_results(folder):
            if not options.method or run.result.spec.method.key in options.method:
                found |= {(row["run_id"], row["criterion"]): row for row in rows(run)}
    ordered = sorted(
        found.values(), key=lambda row: [str(row[name]) for name in ("data", "method", "seed", "run_id", "criterion")]
    )
    with options.out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(ordered)


if __name__ == "__main__":
    main()
