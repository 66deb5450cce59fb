"""How often is a wrong claim of SCAR noticed? Simulated scores of 3,000 rows, 600 of them positive.

    OMP_NUM_THREADS=1 python -m benchmarks.studies.scar_power

Scores are normal, positives ``apart`` higher. A labeled positive is drawn in proportion to exp(shift x its score), so
labeled rows score ``shift`` standard deviations higher than positives do; 0 is SCAR. Two tests, each as
``pubench advise`` makes it: does the lowest possible prior contradict scores and labels by more than chance, and do 60
checked rows reject SCAR? A row per setting in ``results/scar-power.csv``, with Clopper-Pearson intervals.
"""

from __future__ import annotations

import argparse
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pubench_evaluate.audit import audit_answers, audit_sample
from pubench_evaluate.prior_input import belief_in, shares_of
from pubench_evaluate.scored_rows import scored_rows
from pubench_evaluate.thresholds import Cuts
from scipy.stats import binomtest, norm

from benchmarks import raw_rows

TABLES, ROWS, POSITIVES, CHECKED = 100, 3000, 600, 60
LABELED, AUCS, SHIFTS = (60, 250), (0.8, 0.9), (0.0, 0.25, 0.5, 1.0)
#: Lowest prior that is given, as a share of the true one.
LOWEST = (1.0, 0.8)


def table(auc: float, labels: int, shift: float, seed: int) -> tuple[Any, Any, Any]:
    """Scores, who is labeled, who is positive."""
    rng = np.random.default_rng(seed)
    truth = np.arange(ROWS) < POSITIVES
    scores = rng.normal(truth * np.sqrt(2) * norm.ppf(auc))
    weight = np.exp(shift * scores[:POSITIVES])
    known = rng.choice(POSITIVES, labels, replace=False, p=weight / weight.sum())
    return scores, np.isin(np.arange(ROWS), known), truth


def contradicted(scores: Any, labeled: Any, prior: float, seed: int) -> bool:
    """Whether a number of positives exceeds its rows by more than chance, as in ``pubench_advise``."""
    rows = scored_rows(scores, labeled, truth=None, scheme="one-sample", purity=1.0, pos_label=None)
    cuts = Cuts(rows, shares_of(belief_in(prior, rows, ()), rows), seed, None)
    budget = POSITIVES - int(labeled.sum())
    return any(
        cut.contradicted for cut in (cuts.chosen(None, budget, None), *cuts.budgets(budget), *cuts.recalls(None))
    )


def rejected(scores: Any, labeled: Any, truth: Any, seed: int) -> bool:
    sample = audit_sample(scores, labeled, n=CHECKED, budget=POSITIVES - int(labeled.sum()), seed=seed)
    return audit_answers(sample, truth[sample.to_check].astype(int)).scar.rejected


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=raw_rows.RESULTS / "scar-power.csv")
    given = parser.parse_args()
    for auc, labels, shift in product(AUCS, LABELED, SHIFTS):
        tables = [(seed, *table(auc, labels, shift, seed)) for seed in range(TABLES)]
        noticed: dict[str, int] = {
            f"prior, lowest end {share:g} of the true one": sum(
                contradicted(scores, labeled, share * POSITIVES / ROWS, seed) for seed, scores, labeled, _ in tables
            )
            for share in LOWEST
        }
        noticed[f"{CHECKED} checked rows"] = sum(rejected(s, labeled, y, seed) for seed, s, labeled, y in tables)
        for test, count in noticed.items():
            interval = binomtest(count, TABLES).proportion_ci()
            row = {"auc": auc, "labeled": labels, "shift": shift, "test": test, "tables": TABLES}
            row |= {"noticed": count / TABLES, "low": round(interval.low, 3), "high": round(interval.high, 3)}
            raw_rows.append(given.out, {**row, "command": "python -m benchmarks.studies.scar_power"})
    print(pd.read_csv(given.out).pivot_table("noticed", ["auc", "labeled", "test"], "shift"))


if __name__ == "__main__":
    main()
