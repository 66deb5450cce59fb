"""Which measure keeps its order of classifiers when labels are hidden? Rank correlations as in PULP's Table 1.

    PUBENCH_DATA=... nice -n 19 python benchmarks/pulp_rank.py --out benchmarks/results/pulp-rank.csv

A configuration is a data set and a classifier, trained on true labels; the source has SVMs trained on PU labels, with
weights for unlabeled rows. Scores are out of fold (8 folds, at most 1,000 rows). Then a share of the positives stays
labeled: at random, the most representative ones (scenario 1: the least representative are hidden) or the least
representative ones (scenario 2). Representative is what is dense in a Gaussian mixture of all positives. A row is one
scenario and share: Spearman's correlation, over configurations, of a measure on true labels and on these; and the
mean of that over the classifiers of one data set, which is what a choice of a classifier needs: between data sets, a
measure that reads the share of positives is right for that alone. The source has 260 configurations. ``--summary``
prints means over the shares next to the published ones, which average over the share of positives in U.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import raw_rows
from pubench_metrics_evaluation.operating import averages
from pubench_metrics_evaluation.pulp import pulp
from recovered_error import table_of
from scipy.stats import spearmanr
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

Array = npt.NDArray[Any]

SETS = ("breast-cancer", "digits", "landsat", "mushroom", "pageblock", "pendigit", "pima", "spambase", "wine")
ROWS, FOLDS, SEED = 1000, 8, 0
SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)
CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "logistic": lambda: LogisticRegression(max_iter=500),
    "lda": LinearDiscriminantAnalysis,
    "naive-bayes": GaussianNB,
    "stump": lambda: DecisionTreeClassifier(max_depth=1, random_state=SEED),
    "tree": lambda: DecisionTreeClassifier(min_samples_leaf=5, random_state=SEED),
    "neighbors-1": lambda: KNeighborsClassifier(1),
    "neighbors-15": lambda: KNeighborsClassifier(15),
    "forest": lambda: RandomForestClassifier(50, random_state=SEED),
}


def measures(scores: Array, labels: Array, rng: np.random.Generator) -> dict[str, float]:
    """Every measure of Table 1; equal scores in random order where a measure reads an order."""
    order = np.lexsort((rng.random(len(scores)), -scores))
    found = averages(labels[order])
    return {
        "AUC": float(roc_auc_score(labels, scores)),
        "F1": found.f1,
        "L&L": found.lee_liu,
        "MI": found.mutual_information,
        "PEAR": found.phi,
        "MAP": found.average_precision,
        "PULP": pulp(scores, labels).value,
        "PseudoF": found.pseudo_f,
    }


def labeled(x: Array, y: Array, share: float, scenario: str, rng: np.random.Generator) -> Array:
    """(n,) True for the positives that stay labeled."""
    positives = np.flatnonzero(y)
    n = max(1, round(share * len(positives)))
    if scenario == "Random":
        chosen = rng.choice(len(positives), n, replace=False)
    else:
        mixture = GaussianMixture(min(3, len(positives)), covariance_type="diag", reg_covar=1e-3, random_state=SEED)
        density = mixture.fit(x[positives]).score_samples(x[positives])
        chosen = np.argsort(-density if scenario == "Scenario 1" else density)[:n]
    kept = np.zeros(len(y), dtype=bool)
    kept[positives[chosen]] = True
    return kept


def rows() -> list[dict[str, Any]]:
    """A row per scenario, share and measure."""
    truly: dict[str, list[float]] = defaultdict(list)
    hidden: dict[tuple[str, float, str], list[float]] = defaultdict(list)
    for data in SETS:
        rng = np.random.default_rng(SEED)
        x, y = table_of(data)
        some = rng.permutation(len(y))[:ROWS]
        x, y = x[some], y[some].astype(bool)
        for make in CLASSIFIERS.values():
            scores = cross_val_predict(make(), x, y, cv=FOLDS, method="predict_proba")[:, 1]
            for name, value in measures(scores, y, rng).items():
                truly[name].append(value)
            for scenario in ("Random", "Scenario 1", "Scenario 2"):
                for share in SHARES:
                    for name, value in measures(scores, labeled(x, y, share, scenario, rng), rng).items():
                        hidden[scenario, share, name].append(value)
        print(data, flush=True)
    return [
        {
            "scenario": scenario,
            "share": share,
            "measure": name,
            "configurations": len(values),
            "rank_correlation": round(float(spearmanr(truly[name], values).statistic), 4),
            "within_data_sets": round(_within(truly[name], values), 4),
            "mean_absolute_deviation": round(float(np.mean(np.abs(np.subtract(truly[name], values)))), 4),
        }
        for (scenario, share, name), values in hidden.items()
    ]


def _within(true: list[float], hidden: list[float]) -> float:
    """Mean over data sets of Spearman's correlation over the classifiers of one; 0 where all have one value."""
    pairs = zip(*(np.reshape(values, (-1, len(CLASSIFIERS))) for values in (true, hidden)), strict=True)
    return float(np.mean([spearmanr(a, b).statistic if np.ptp(b) else 0.0 for a, b in pairs]))


def summary(path: Path, column: str, published: Path | None) -> None:
    """Mean rank correlation per scenario and measure, as a Markdown table."""
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            found[row["scenario"], row["measure"]].append(float(row[column]))
    theirs: dict[str, dict[str, str]] = {}
    if published is not None:
        with published.open(newline="") as file:
            theirs = {r["scenario"]: r for r in csv.DictReader(file) if r["statistic"] == "rank_correlation"}
    names = list(dict.fromkeys(name for _, name in found))
    print("| scenario | " + " | ".join(names) + " |\n" + "|---" * (len(names) + 1) + "|")
    for scenario in dict.fromkeys(scenario for scenario, _ in found):
        cells = (math.fsum(found[scenario, name]) / len(found[scenario, name]) for name in names)
        beside = theirs.get(scenario, {})
        print(
            f"| {scenario} | "
            + " | ".join(f"{ours:.3f} ({beside.get(n, '-')})" for n, ours in zip(names, cells, strict=True))
            + " |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--summary", action="store_true")
    parser.add_argument("--published", type=Path, help="pulp2014_table1.csv")
    options = parser.parse_args()
    if options.summary:
        summary(options.out, "rank_correlation", options.published)
        summary(options.out, "within_data_sets", None)
        return
    found = rows()
    options.out.unlink(missing_ok=True)
    for row in found:
        raw_rows.append(options.out, row)


if __name__ == "__main__":
    main()
