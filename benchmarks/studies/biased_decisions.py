"""Accuracy on test rows of ``teisseyre2025``, decided at 1/2, at true and estimated priors, and by NTC-tMI.

    PUBENCH_DATA=... nice python -m benchmarks.studies.biased_decisions benchmarks/results/decisions-biased.csv 2 25 42

A row per run of bagged trees, in percent. Thresholds are quantiles of the test scores, which are a draw from the same
population as U; no label is read. ``estimate``: the prior by ``estimated:bbe``, the estimator that the documentation
names first; empty if it has none. Its interval is not needed and not drawn.
"""

from __future__ import annotations

import sys
import tempfile
from itertools import product
from pathlib import Path

import numpy as np
from pubench_ntc_tmi.method import threshold
from pubench_priors_standard.scores import BestBin

import pubench
from benchmarks.raw_rows import append, keys
from pubench_core.errors import PubenchError
from pubench_core.records.files import read_scores
from pubench_core.records.scores import scores_of

TABLES = (
    "haberman", "heart-statlog", "breast-w", "diabetes", "ionosphere", "sonar", "wdbc", "vehicle", "yeast",
    "banknote-authentication", "kc1", "segment", "semeion", "abalone", "waveform-5000",
)  # fmt: skip
#: Mechanism -> c as published.
MECHANISMS = {"s1": 0.1, "s2": 0.1, "s3": 0.18242552380635635, "s4": 0.5}


def measured(data: str, mechanism: str, seed: int, folder: str, prior: str) -> pubench.RunResult:
    return pubench.run(
        "pu-bagging", data, mechanism=f"teisseyre-{mechanism}", c=MECHANISMS[mechanism], scheme="single-training-set",
        config={"threshold": "half"}, prior=prior, seed=seed, select="last", validation=0, threads=1, tracking=False,
        results=folder, settings={"data.test_fraction": 0.25},
    )  # fmt: skip


def main(out: Path, seeds: list[int]) -> None:
    BestBin.repeats = 1
    for seed, table, mechanism in product(seeds, TABLES, MECHANISMS):
        key = {"data": f"teisseyre2025/{table}", "mechanism": f"teisseyre-{mechanism}", "seed": seed}
        if tuple(map(str, key.values())) in keys(out, [*key]):
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                run = measured(key["data"], mechanism, seed, folder, "estimated:bbe")
            except PubenchError as error:
                print(*key.values(), error, flush=True)
                try:
                    run = measured(key["data"], mechanism, seed, folder, "true")
                except PubenchError:  # fewer labels than bagged trees ask for
                    continue
            arrays, found = read_scores(run.folder), run.result.data.prior
        truth, scores = arrays["test_labels"] == 1, scores_of(arrays, "last")["test"]
        prior, estimate = found.true, found.given if found.given != found.true else None
        shares = {f"prior_x{f:g}": min(f * prior, 1) for f in (0.5, 1, 2)}
        cuts = {"half": 0.0, **{name: np.quantile(scores, 1 - share) for name, share in shares.items()}}
        cuts["tmi"] = threshold(scores.astype(float), 3, 100, "all")
        cuts |= {} if estimate is None else {"prior_estimated": np.quantile(scores, 1 - estimate)}
        accuracy = {name: round(100 * float(((scores > cut) == truth).mean()), 4) for name, cut in cuts.items()}
        facts = {"run_id": run.run_id, "method": "pu-bagging", **key, "prior": prior, "estimate": estimate}
        append(out, {**facts, "prior_estimated": None, **accuracy})


if __name__ == "__main__":
    main(Path(sys.argv[1]), [*map(int, sys.argv[2:])])
