"""How often does the SCAR test of ECAI 2024 reject, with SCAR labels and with biased ones?

    nice python -m benchmarks.studies.scar_test_power scar-test.npz benchmarks/results/scar-power.csv

Teisseyre, Furmanczyk, Mielniczuk: Verifying the Selected Completely at Random Assumption (ECAI 2024). Assumed positives
are the labeled rows and the rows of U with the largest q = P(s = 1 | x); artificial SCAR labels are drawn among them.
SCAR is rejected if fewer than 5 % of the draws have a larger statistic than the observed labels. The functions are
checked against vectors of the published code first.

Tables are those of the other rows of the file: 3,000 rows, 600 positive, with five normal columns whose best score has
that AUC. A labeled positive is drawn in proportion to exp(shift x score). As published: q of a random forest in sample,
the true label frequency. Then q out of bag, and c from AlphaMax's prior on the scores out of bag.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from pubench_priors_standard.alphamax import alphamax
from scipy.stats import binomtest, norm, rankdata
from sklearn.ensemble import RandomForestClassifier

from benchmarks.raw_rows import append, keys

Array = np.ndarray
ROWS, POSITIVES, COLUMNS, DRAWS, LEVEL = 3000, 600, 5, 100, 0.05


def ks(x: Array, labeled: Array, positive: Array) -> Any:
    """Sum over columns of the distance of Kolmogorov and Smirnov between labeled rows and positives.

    ``labeled``: (n,) or (draws, n).
    """
    x, labeled = x[positive], labeled[..., positive]
    total, every = 0.0, np.arange(1, len(x) + 1) / len(x)
    for column in x.T:
        order = np.argsort(column, kind="stable")
        last = np.append(column[order][1:] != column[order][:-1], True)
        known = np.cumsum(labeled[..., order], -1) / labeled.sum(-1, keepdims=True)
        total = total + np.abs(known - every)[..., last].max(-1)
    return total


def nb_auc(x: Array, labeled: Array, positive: Array) -> float:
    """AUC - 1/2 of a Gaussian naive Bayes of positives (1) against labeled rows (0), which are in both, in sample."""
    rows = np.concatenate([x[positive], x[labeled]])
    y = np.repeat([1, 0], [positive.sum(), labeled.sum()])
    extra = 1e-9 * rows.var(0).max()
    log = [
        np.log((y == k).mean()) - 0.5 * (np.log(2 * np.pi * v) + (rows - rows[y == k].mean(0)) ** 2 / v).sum(1)
        for k, v in ((k, rows[y == k].var(0) + extra) for k in (0, 1))
    ]
    ranks = rankdata(1 / (1 + np.exp(np.clip(log[0] - log[1], -700, 700))))
    n = [(y == k).sum() for k in (0, 1)]
    return float((ranks[y == 1].sum() - n[1] * (n[1] + 1) / 2) / (n[0] * n[1]) - 0.5)


def kl(x: Array, labeled: Array, positive: Array) -> float:
    """Divergence of normal distributions with independent columns, labeled rows from positives."""
    a, b = x[labeled], x[positive]
    m, v, w = b.mean(0) - a.mean(0), b.var(0), a.var(0)
    return float(0.5 * (m**2 / v + w / v - np.log(w / v) - 1).sum())


def assumed(q: Array, labeled: Array, frequency: float) -> Array:
    """(n,) True for labeled rows and those of U with the largest q, as many as the label frequency asks for."""
    unlabeled, share = np.flatnonzero(~labeled), labeled.mean()
    count = min(max(int(len(q) * (share / frequency - share)), 10), len(unlabeled))
    found = labeled.copy()
    found[unlabeled[np.argsort(-q[unlabeled], kind="stable")[:count]]] = True
    return found


STATISTICS: dict[str, Callable[[Array, Array, Array], Any]] = {"KS": ks, "NB AUC": nb_auc, "KL": kl}


def rejected(x: Array, labeled: Array, positive: Array, frequency: float, rng: np.random.Generator) -> dict[str, bool]:
    """Statistic -> whether SCAR is rejected."""
    drawn = (rng.random((DRAWS, len(x))) < frequency) & positive
    drawn = drawn[drawn.sum(1) > 1]
    null = {
        name: of(x, drawn, positive) if of is ks else np.array([of(x, one, positive) for one in drawn])
        for name, of in STATISTICS.items()
    }
    return {name: (null[name] > of(x, labeled, positive)).mean() < LEVEL for name, of in STATISTICS.items()}


def table(auc: float, labels: int, shift: float, seed: int) -> tuple[Array, Array]:
    """Features, and who is labeled; the first rows are the positives."""
    rng = np.random.default_rng(seed)
    truth = np.arange(ROWS) < POSITIVES
    x = rng.normal(size=(ROWS, COLUMNS)) + truth[:, None] * np.sqrt(2 / COLUMNS) * norm.ppf(auc)
    weight = np.exp(shift * x[:POSITIVES].sum(1) / np.sqrt(COLUMNS))
    known = rng.choice(POSITIVES, labels, replace=False, p=weight / weight.sum())
    return x, np.isin(np.arange(ROWS), known)


def verdicts(auc: float, labels: int, shift: float, seed: int) -> dict[str, bool]:
    """Test -> whether it rejects SCAR on one table."""
    x, labeled = table(auc, labels, shift, seed)
    forest = RandomForestClassifier(oob_score=True, random_state=seed).fit(x, labeled)
    scores = {"in sample": forest.predict_proba(x)[:, 1], "out of bag": forest.oob_decision_function_[:, 1]}
    of_u = float(alphamax(scores["out of bag"][labeled], scores["out of bag"][~labeled]).share)
    estimated = labels / (labels + np.clip(of_u, 1e-3, 1) * (ROWS - labels))
    found = {}
    for q, c in (("in sample", "true"), ("out of bag", "true"), ("out of bag", "estimated")):
        frequency = labels / POSITIVES if c == "true" else estimated
        positive = assumed(scores[q], labeled, frequency)
        for statistic, yes in rejected(x, labeled, positive, frequency, np.random.default_rng(seed + 10_000)).items():
            found[f"ECAI 2024, {statistic}, q {q}, c {c}"] = yes
    return found


def check(vectors: Any) -> None:
    """The functions give the numbers of the published code."""
    fields = {"KS": "ks", "NB AUC": "nb_auc", "KL": "kl"}
    for case in sorted({name.partition("__")[0] for name in vectors.files if not name.startswith(("meta", "label_"))}):
        given = {name.partition("__")[2]: vectors[name] for name in vectors.files if name.startswith(f"{case}__")}
        labeled, positive = given["s" if "s" in given else "labeled"] == 1, given["positive"] == 1
        for name, field in fields.items() if "x" in given else ():
            np.testing.assert_allclose(STATISTICS[name](given["x"], labeled, positive), given[field], atol=1e-10)
            for one, value in zip(given.get("artificial_labels", ()), given.get(f"{field}_null", ()), strict=True):
                np.testing.assert_allclose(STATISTICS[name](given["x"], one == 1, positive), value, atol=1e-10)
        if "labeling_probability" in given:
            found = assumed(given["labeling_probability"], labeled, float(given["label_frequency"]))
            np.testing.assert_array_equal(found, positive)
    print("vectors agree", flush=True)


def main(vectors: Path, out: Path, tables: int) -> None:
    check(np.load(vectors, allow_pickle=True))
    for shift, auc, labels in product((0.0, 1.0, 0.5, 0.25), (0.8, 0.9), (60, 250)):
        if (str(auc), str(labels), str(shift), "ECAI 2024, KS, q in sample, c true") in keys(
            out, ["auc", "labeled", "shift", "test"]
        ):
            continue
        counts = Counter[str]()
        for seed in range(tables):
            counts.update({test: int(yes) for test, yes in verdicts(auc, labels, shift, seed).items()})
        for test, count in counts.items():
            interval = binomtest(count, tables).proportion_ci()
            row = {"auc": auc, "labeled": labels, "shift": shift, "test": test, "tables": tables}
            append(
                out, row | {"noticed": count / tables, "low": round(interval.low, 3), "high": round(interval.high, 3)}
            )
        print(shift, auc, labels, dict(counts), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 20)
