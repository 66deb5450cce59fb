"""Rows of stored runs on species with surveys as truth.

    python -m benchmarks.studies.species_rows /work/rows/disdat/results

A row is a run under its selected criterion, PAUC. AUC, average precision, AUC-PRG and COR are of the survey's sites.
``pauc`` and ``spies`` are of the validation part, which holds out a fifth of the records: ``spies`` is the share of
these whose score is above 95 % of those of the held-out background. A row takes the place of the file's row of the same
method, species, background and seed; the file's other rows stay.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.raw_rows import RESULTS
from pubench_core.data.dataset import data_root
from pubench_core.data.source import source_of
from pubench_core.metric import MetricPlugin, Scored, measure
from pubench_core.plugins.info import DatasetInfo, MetricInfo
from pubench_core.plugins.registry import load, registry
from pubench_core.records.files import ENVIRONMENT
from pubench_core.records.record import Record
from pubench_core.records.store import RecordStore
from pubench_core.results import Environment
from pubench_core.specs import ExecutionSpec

FILE = RESULTS / "species.csv"
MEASURES = ("auc", "average-precision", "auc-prg", "correlation")
RUN = ["method", "source", "species", "seed"]


def rows(results: Path) -> Iterator[dict[str, Any]]:
    """A row for each record of a species, in the order of their names."""
    source = source_of(registry().find(DatasetInfo, "disdat"))
    facts = {task.name: task.facts for task in source.tasks(data_root(ExecutionSpec()))}
    infos = {info.key: info for info in registry().infos(MetricInfo) if info.key in MEASURES}
    metrics = {key: MetricPlugin(info, load(info), "") for key, info in infos.items()}
    for record in sorted(RecordStore(results).all()[0], key=lambda one: (one.result.spec.data.key, _row_name(one))):
        key, _, species = record.result.spec.data.key.partition("/")
        environment = Environment.model_validate_json((record.folder / ENVIRONMENT).read_bytes())
        if not key.startswith("disdat") or environment.git_dirty:
            continue
        result, chosen = record.result, record.result.chosen
        arrays = np.load(record.folder / "scores.npz")
        scored = Scored.of(arrays[f"test_scores_{chosen.snapshot}"].astype(float), truth=arrays["test_labels"])
        held, labeled = arrays[f"validation_scores_{chosen.snapshot}"], arrays["validation_labeled"]
        yield {
            "method": _row_name(record),
            "source": key,
            "species": species,
            "region": facts[species]["region"],
            "presences": facts[species]["presences"],
            "seed": result.spec.seed,
            "settings": _settings(record),
            "told_prior": result.data.prior.given,
            "share_present": round(float(arrays["test_labels"].mean()), 5),
            "epoch": chosen.epoch,
            "epochs": result.epochs,
            **{key: round(measure(m.function, m.info, scored).value, 6) for key, m in metrics.items()},
            "pauc": round(chosen.value or float("nan"), 6),
            "spies": round(float((held[labeled] > np.quantile(held[~labeled], 0.95)).mean()), 6),
            "seconds": round(result.seconds.total, 2),
            "run_id": result.run_id,
            "commit": (environment.git_commit or "")[:12],
        }


def _row_name(record: Record) -> str:
    spec = record.result.spec
    base = spec.method.config.get("base", "")
    return f"{spec.method.key} {base}" if spec.method.key in ("naive", "pu-bagging") else spec.method.key


def _settings(record: Record) -> str:
    """The preset, and epochs where there are several."""
    spec, epochs = record.result.spec, record.result.spec.method.config.get("epochs")
    return ", ".join([*([spec.method.preset] if spec.method.preset else []), *([f"epochs={epochs}"] if epochs else [])])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, help="folder of records")
    options = parser.parse_args()
    found = list(rows(options.results))
    if not found:
        sys.exit(f"{options.results}: no record of a species of committed code")
    merged = pd.concat([pd.read_csv(FILE), pd.DataFrame(found)])
    merged = merged.drop_duplicates(RUN, keep="last").sort_values(["source", "species", "method", "seed"])
    merged.to_csv(FILE, index=False, lineterminator="\n")
    print(f"{len(found)} rows of {len(merged)} in {FILE}", file=sys.stderr)


if __name__ == "__main__":
    main()
