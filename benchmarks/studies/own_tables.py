"""Which values of a method serve users' tables: ten tables of real data, labels SCAR or biased, and one table at priors
from .02 to .98.

    PUBENCH_DATA=... OMP_NUM_THREADS=1 nice -n 10 python -m benchmarks.studies.own_tables tables
    PUBENCH_DATA=... OMP_NUM_THREADS=1 nice -n 10 python -m benchmarks.studies.own_tables priors

``tables``: at most 3,000 rows of each, the true prior given, c = .1, 40 epochs, no patience. Biased labels:
standardized features are projected on a random direction, and a positive is labeled in proportion to the fourth power
of its rank there. A row per run and criterion in ``results/own-tables.csv``.

``priors``: 200 labeled rows and 2,800 unlabeled ones, a share of which is positive (``two-sample``), of three data sets
that have enough of both classes. Rows in ``results/own-priors.csv``.

Runs whose rows are there under the same engine revision are not made again.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Iterable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import pubench
from benchmarks import raw_rows
from benchmarks.studies import hidden_positives
from pubench_core.engine.identity import ENGINE_REVISION

ROWS, C, EPOCHS = 3000, 0.1, 40
#: Of a table at a chosen prior.
LABELED, UNLABELED = 200, 2800
PRIORS = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.98)
TREES = "bagged-trees"

SIGMOID, LOGISTIC = {"surrogate": "sigmoid"}, {"surrogate": "logistic"}
PAIRED = {"batching": "paired"}
#: Robust-PU's preset for users' tables, and what it replaces.
ROBUST = {"pre_training": 40, "pre_training_lr": 3e-4, "pre_training_selectable": True}
ROBUST_AS_WAS = {"pre_training": 20, "pre_training_lr": 1e-4, "pre_training_selectable": False}
#: Method -> settings that are compared, besides its defaults.
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "nnpu": [SIGMOID, LOGISTIC, LOGISTIC | PAIRED],
    "upu": [SIGMOID, LOGISTIC],
    "nnpu-ga": [SIGMOID, LOGISTIC],
    "count-loss": [{}],
    "vpu": [{}],
    "pusb": [{}],
    "dist-pu": [{"warm_up": 20}],
    "robust-pu": [{"epochs": 5} | ROBUST_AS_WAS | SIGMOID, {"epochs": 5} | ROBUST | LOGISTIC],
    "self-pu": [SIGMOID, LOGISTIC],
}


def _read(name: str, **options: Any) -> pd.DataFrame:
    return pd.read_csv(Path(os.environ["PUBENCH_DATA"]) / name, **options)


def _plain(name: str, positive: Callable[[Any], Any], **options: Any) -> tuple[pd.DataFrame, Any]:
    """A file without a header whose last column is the class."""
    frame = _read(name, header=None, **options)
    return frame.iloc[:, :-1], positive(frame.iloc[:, -1]).to_numpy()


def _letter(positive: str) -> tuple[pd.DataFrame, Any]:
    frame = _read("letter/letter-recognition.data", header=None)
    return frame.iloc[:, 1:], frame[0].isin(list(positive)).to_numpy()


def _bank() -> tuple[pd.DataFrame, Any]:
    frame = _read("uci/bank-full.csv.gz", sep=";")
    return pd.get_dummies(frame.drop(columns="y")), (frame["y"] == "yes").to_numpy()


def _wine() -> tuple[pd.DataFrame, Any]:
    frame = _read("uci/winequality-white.csv", sep=";")
    return frame.drop(columns="quality"), (frame["quality"] >= 7).to_numpy()


def _mushroom() -> tuple[pd.DataFrame, Any]:
    frame = _read("uci/agaricus-lepiota.data", header=None)
    return pd.get_dummies(frame.drop(columns=0)), (frame[0] == "p").to_numpy()


#: Name -> features and who is positive, of all rows. The share of positives is that of the file.
TABLES: dict[str, Callable[[], tuple[pd.DataFrame, Any]]] = {
    "page-blocks": lambda: _plain("uci/page-blocks.data", lambda y: y != 1, sep=r"\s+"),  # no text, .10
    "bank": _bank,  # .12
    "letter": lambda: _letter("AEIOU"),  # vowels, .19
    "shuttle": lambda: _plain("uci/shuttle.tst", lambda y: y != 1, sep=" "),  # .21
    "wine": _wine,  # quality 7 and more, .22
    "pima": lambda: _plain("uci/pima-indians-diabetes.data", lambda y: y == 1),  # .35
    "spambase": lambda: _plain("spambase/spambase.data", lambda y: y == 1),  # .39
    "mushroom": _mushroom,  # poisonous, .48
    "pendigits": lambda: _plain("uci/pendigits.tra", lambda y: y % 2 == 0),  # even digits, .51
    "landsat": lambda: _plain("uci/sat.trn", lambda y: y.isin([3, 4, 7]), sep=" "),  # grey soils, .55
}
#: Tables with enough rows of both classes for any prior.
AT_ANY_PRIOR: dict[str, Callable[[], tuple[pd.DataFrame, Any]]] = {
    "pendigits": TABLES["pendigits"],
    "letter": lambda: _letter("ABCDEFGHIJKLM"),
    "bank": _bank,
}


def sample(name: str) -> tuple[Any, Any]:
    """(n, d) features and (n,) bool truth of at most 3,000 rows; columns that are constant there are left out."""
    frame, truth = TABLES[name]()
    rows = np.random.default_rng(0).permutation(len(frame))[:ROWS]
    x = frame.to_numpy(np.float64)[rows]
    return x[:, x.std(0) > 0], truth[rows]


def labels(x: Any, truth: Any, mechanism: str, seed: int, c: float = C) -> Any:
    """(n,) bool: a share c of the positives, each with the same chance (``scar``) or not (``biased``)."""
    rng = np.random.default_rng(seed)
    positives = np.flatnonzero(truth)
    weight = np.ones(len(positives))
    if mechanism == "biased":
        projected = ((x - x.mean(0)) / x.std(0) @ rng.normal(size=x.shape[1]))[positives]
        weight = (projected.argsort().argsort() + 1.0) ** 4
    known = rng.choice(positives, round(c * len(positives)), replace=False, p=weight / weight.sum())
    return np.isin(np.arange(len(x)), known)


def at_prior(name: str, prior: float, seed: int) -> tuple[Any, Any, Any]:
    """Features, truth and labels of 200 labeled rows and 2,800 unlabeled ones with that share of positives."""
    frame, truth = AT_ANY_PRIOR[name]()
    rng = np.random.default_rng(seed)
    positive = round(prior * UNLABELED)
    p = rng.choice(np.flatnonzero(truth), LABELED + positive, replace=False)
    n = rng.choice(np.flatnonzero(~truth), UNLABELED - positive, replace=False)
    rows = np.concatenate([p, n])
    x = frame.to_numpy(np.float64)[rows]
    return x[:, x.std(0) > 0], truth[rows], np.arange(len(rows)) < LABELED


def measure(
    path: Path, key: dict[str, Any], x: Any, truth: Any, labeled: Any, told: float, scheme: str, command: str
) -> None:
    """Adds the rows of one run, or of bagged trees, unless they are there."""
    if tuple(map(str, key.values())) in raw_rows.keys(path, list(key)):
        return
    method, seed = key["method"], key["seed"]
    if method == TREES:
        found: Iterable[dict[str, Any]] = [hidden_positives.of_trees(x, labeled, truth, seed)]
    else:
        table = pubench.data(
            x, labeled, scheme=scheme, name=key["table"], features=[f"x_{k}" for k in range(x.shape[1])]
        )
        config = {"epochs": EPOCHS, "patience": None, **json.loads(key["config"])}
        found = hidden_positives.of_run(method, table, truth, prior=told, seed=seed, config=config)
    for state in found:
        raw_rows.append(path, {**key, **state, "command": command})


def tables(out: Path, given: argparse.Namespace) -> None:
    for mechanism, seed, method, name in product(given.mechanisms, given.seeds, given.methods, given.tables):
        x, truth = sample(name)
        prior = float(truth.mean())
        command = f"python -m benchmarks.studies.own_tables tables --methods {method} --tables {name} --seeds {seed}"
        for config in VARIANTS.get(method, [{}]):
            key = {
                "revision": ENGINE_REVISION,
                "table": name,
                "true_prior": round(prior, 3),
                "mechanism": mechanism,
                "method": method,
                "config": json.dumps(config),
                "seed": seed,
            }
            measure(out, key, x, truth, labels(x, truth, mechanism, seed), prior, "one-sample", command)


def priors(out: Path, given: argparse.Namespace) -> None:
    for seed, method, name in product(given.seeds, given.methods, given.tables):
        command = f"python -m benchmarks.studies.own_tables priors --methods {method} --tables {name} --seeds {seed}"
        for config, prior in product(VARIANTS.get(method, [{}]), PRIORS):
            key = {
                "revision": ENGINE_REVISION,
                "table": name,
                "true_prior": prior,
                "method": method,
                "config": json.dumps(config),
                "seed": seed,
            }
            x, truth, labeled = at_prior(name, prior, seed)
            measure(out, key, x, truth, labeled, prior, "two-sample", command)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["tables", "priors"])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--methods", nargs="+", default=[TREES, *VARIANTS], choices=[TREES, *VARIANTS])
    parser.add_argument("--tables", nargs="+", help="by default all that the part has")
    parser.add_argument("--mechanisms", nargs="+", default=["scar", "biased"], help="not used by priors")
    parser.add_argument("--seeds", nargs="+", type=int, default=[2])
    given = parser.parse_args()
    given.tables = given.tables or list(TABLES if given.part == "tables" else AT_ANY_PRIOR)
    out = given.out or Path(f"benchmarks/results/own-{given.part}.csv")
    (tables if given.part == "tables" else priors)(out, given)


if __name__ == "__main__":
    main()
