"""Accuracy on test rows of stored runs of ``teisseyre2025``, decided at 1/2, at shares of the prior, and by NTC-tMI.

    python -m benchmarks.studies.biased_decisions DIR benchmarks/results/decisions-biased.csv

A row per run of bagged trees and of P against U with trees, in percent. Thresholds are quantiles of the test scores,
which are a draw from the same population as U; no label is read.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from pubench_ntc_tmi.method import threshold
from pubench_report.rows.record import commit_of, machine_of

import pubench
from benchmarks.raw_rows import append
from pubench_core.records.files import ENVIRONMENT, read_scores
from pubench_core.records.scores import scores_of
from pubench_core.results import Environment


def main() -> None:
    for run in pubench.load_results(Path(sys.argv[1])):
        spec, arrays = run.result.spec, read_scores(run.folder)
        config, prior = dict(spec.method.config), run.result.data.prior.true
        if spec.method.key not in ("naive", "pu-bagging") or config["base"] != "trees" or prior is None:
            continue
        truth = arrays["test_labels"] == 1
        scores = scores_of(arrays, "last")["test"]
        cuts = {"half": 0.0, **{f"prior_x{f:g}": np.quantile(scores, 1 - min(f * prior, 1)) for f in (0.5, 1, 2)}}
        cuts["tmi"] = threshold(scores.astype(float), 3, 100, "all")
        environment = Environment.model_validate_json((run.folder / ENVIRONMENT).read_bytes())
        found = {name: round(100 * float(((scores > cut) == truth).mean()), 4) for name, cut in cuts.items()}
        facts = {"run_id": run.run_id, "method": spec.method.key, "data": spec.data.key}
        facts |= {"mechanism": spec.mechanism.key, "seed": spec.seed, "prior": prior}
        append(
            Path(sys.argv[2]), {**facts, **found, "commit": commit_of(environment), "machine": machine_of(environment)}
        )


if __name__ == "__main__":
    main()
