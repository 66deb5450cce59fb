"""Members of bagged trees, in the answer of ``advise`` and in one bag: AUC of hidden positives and seconds.

    PUBENCH_DATA=... nice python -m benchmarks.studies.bag_members benchmarks/results/bag-members.csv

Ten tables, at most 3,000 rows each, a tenth of the positives labeled: SCAR, or one side of a random line preferred
(fourth power of the rank). ``folds``: as ``advise`` fits its answer, five folds and a model of all rows. ``bag``: one
``pu-bagging``, rows of U out of bag. ``bag, drawn P``: positives are drawn with replacement, so that they have scores
out of bag too. A row is a fit: AUC on U in percent, hidden positives among the first 100, processor seconds.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pubench_evaluate.advice.choice import Candidate
from pubench_evaluate.advice.fits import fitted, folds_for, run_of
from scipy.stats import rankdata
from sklearn.metrics import roc_auc_score

import pubench
from benchmarks.raw_rows import append, keys

#: File, how it is read, column of the class, which values are positive.
TABLES: dict[str, tuple[str, dict[str, Any], Any, Any]] = {
    "page-blocks": ("uci/page-blocks.data", {"header": None, "sep": r"\s+"}, 10, lambda y: y != 1),
    "bank": ("uci/bank-full.csv.gz", {"sep": ";"}, "y", lambda y: y == "yes"),
    "letter": ("letter/letter-recognition.data", {"header": None}, 0, lambda y: y.isin(list("AEIOU"))),
    "shuttle": ("uci/shuttle.tst", {"header": None, "sep": " "}, 9, lambda y: y != 1),
    "wine": ("uci/winequality-white.csv", {"sep": ";"}, "quality", lambda y: y >= 7),
    "pima": ("uci/pima-indians-diabetes.data", {"header": None}, 8, lambda y: y == 1),
    "spambase": ("spambase/spambase.data", {"header": None}, 57, lambda y: y == 1),
    "mushroom": ("uci/agaricus-lepiota.data", {"header": None}, 0, lambda y: y == "p"),
    "pendigits": ("uci/pendigits.tra", {"header": None}, 16, lambda y: y % 2 == 0),
    "landsat": ("uci/sat.trn", {"header": None, "sep": " "}, 36, lambda y: y.isin([3, 4, 7])),
}
WAYS: dict[str, dict[str, Any]] = {"folds": {}, "bag": {}, "bag, drawn P": {"bootstrap_positives": True}}
#: Way and members, the cheap ones first.
MEASURED = (
    (("bag", 100), ("bag", 200), ("bag", 400), ("bag, drawn P", 200)),
    (("folds", 100), ("folds", 200)),
)


def sample(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Features and truth of at most 3,000 rows."""
    file, options, column, positive = TABLES[name]
    frame = pd.read_csv(Path(os.environ["PUBENCH_DATA"]) / file, **options)
    frame = frame.iloc[np.random.default_rng(0).permutation(len(frame))[:3000]].reset_index(drop=True)
    x = frame.drop(columns=column)
    x.columns = [f"x_{name}" for name in x.columns]
    return x.loc[:, x.nunique() > 1], positive(frame[column]).to_numpy()


def labels(x: pd.DataFrame, truth: np.ndarray, mechanism: str, seed: int) -> np.ndarray:
    """(n,) True for the tenth of the positives that is labeled."""
    rng, positive = np.random.default_rng(seed), np.flatnonzero(truth)
    chance = np.ones(len(positive))
    if mechanism == "direction":
        numbers = pd.get_dummies(x).to_numpy(float)
        line = ((numbers - numbers.mean(0)) / numbers.std(0)) @ rng.normal(size=numbers.shape[1])
        chance = rankdata(line[positive]) ** 4
    known = rng.choice(positive, round(len(positive) / 10), replace=False, p=chance / chance.sum())
    return np.isin(np.arange(len(x)), known)


def scores_of(table: Any, labeled: np.ndarray, way: str, members: int, seed: int, folder: Path) -> np.ndarray:
    """(n,) scores; of the rows of U by models that did not see them."""
    config = {"n_estimators": members, **WAYS[way]}
    if way == "folds":
        plan = run_of(Candidate("trees", "pu-bagging", config), table, folds_for(labeled), folder, threads=1, seed=seed)
        return fitted(Candidate("trees", "pu-bagging", config), plan, labeled).scores
    run = pubench.run(
        "pu-bagging", table, config=config, seed=seed, validation=0, select="last", results=folder, tracking=False,
        threads=1,
    )  # fmt: skip
    scores, listed = np.full(len(labeled), np.inf), pubench.predictions(run)
    scores[listed["row"].to_numpy()] = listed["score"].to_numpy()
    return scores


def main(out: Path) -> None:
    warnings.simplefilter("ignore")
    columns = ["table", "bias", "seed", "way", "members"]
    for bias, measured, name in product(("scar", "direction"), MEASURED, TABLES):
        seed = 2
        x, truth = sample(name)
        labeled = labels(x, truth, bias, seed)
        frame = x.assign(labeled=labeled.astype(int))
        for way, members in measured:
            key = dict(zip(columns, (name, bias, seed, way, members), strict=True))
            if tuple(map(str, key.values())) in keys(out, columns):
                continue
            with tempfile.TemporaryDirectory() as folder:
                table = pubench.data(frame, "labeled", name="table.csv")
                began = time.process_time()
                scores = scores_of(table, labeled, way, members, seed, Path(folder))
                seconds = round(time.process_time() - began, 2)
            hidden = truth[~labeled]
            first = hidden[np.argsort(-scores[~labeled], kind="stable")[:100]]
            auc = round(100 * roc_auc_score(hidden, scores[~labeled]), 3)
            facts = {"rows": len(truth), "labeled": int(labeled.sum()), "auc": auc}
            append(out, {**key, **facts, "found": int(first.sum()), "seconds": seconds})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
