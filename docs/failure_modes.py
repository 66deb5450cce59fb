"""Prints the tables of ``pages/failure-modes.md``, each after its heading.

    python docs/failure_modes.py FOLDER

Runs that are in FOLDER already are not run again. About six minutes on one core from an empty folder.
"""

from __future__ import annotations

import statistics
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from page_parts import table

import pubench

SEEDS = (2, 25, 42)


class Runs:
    """The runs of one setting, one per seed."""

    def __init__(self, folder: Path, method: str, data: Any, **arguments: Any) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pubench.PubenchWarning)
            self.results = [
                pubench.run(method, data, seed=seed, results=folder, threads=1, tracking=False, **arguments).result
                for seed in SEEDS
            ]

    def test(self, measure: str, criterion: str) -> str:
        """Mean and sample standard deviation of a test measure, in percent."""
        found = [result.criteria[criterion].measures["test"][measure].value for result in self.results]
        values = [100 * value for value in found if value is not None]
        return f"{statistics.mean(values):.1f} ± {statistics.stdev(values):.1f}"

    def warned(self, criterion: str) -> str:
        """Number of runs in which the state that a criterion chose carries a warning."""
        return f"{sum(bool(result.criteria[criterion].warnings) for result in self.results)} of {len(self.results)}"

    def labeled(self, part: str) -> int:
        """Labeled positives of a part; the same for every seed."""
        (found,) = {getattr(result.data, part).labeled for result in self.results}
        return int(found)


def show(heading: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    print(f"\n## {heading}\n\n{table(columns, rows)}", flush=True)


def criteria(folder: Path) -> None:
    rows = []
    for method, data in (("nnpu", "digits"), ("vpu", "digits"), ("nnpu", "breast-cancer"), ("vpu", "breast-cancer")):
        runs = Runs(folder, method, data)
        for name in ("pa", "pauc", "f1", "last"):
            cells = (runs.test(measure, name) for measure in ("accuracy", "recall", "auc"))
            rows.append((f"`{method}`, {data}", f"`{name}`", *cells, runs.warned(name)))
    show("criteria", ("run", "chosen by", "accuracy", "recall", "AUC", "warned"), rows)


def collapse(folder: Path) -> None:
    rows = []
    for surrogate in ("sigmoid", "logistic"):
        runs = Runs(folder, "nnpu", "digits", positive=[0, 1, 2], config={"surrogate": surrogate})
        cells = (runs.test(measure, "last") for measure in ("accuracy", "recall", "auc"))
        rows.append((f"`{surrogate}`", *cells, runs.warned("last")))
    show("collapse", ("loss", "accuracy", "recall", "AUC", "warned"), rows)


def priors(folder: Path) -> None:
    rows = []
    for prior in (0.2, 0.3, "true", 0.5, 0.6):
        runs = Runs(folder, "nnpu", "breast-cancer", c=0.3, prior=prior)
        cells = (runs.test(measure, "last") for measure in ("accuracy", "precision", "recall", "auc"))
        rows.append((prior, *cells, runs.warned("last")))
    show("priors", ("given prior", "accuracy", "precision", "recall", "AUC", "warned"), rows)


def labels(folder: Path) -> None:
    rows = []
    for c in (0.01, 0.03, 0.1, 0.3, 0.5):
        runs = Runs(folder, "nnpu", "digits", c=c)
        cells = (runs.test(measure, name) for name in ("pa", "last") for measure in ("accuracy", "auc"))
        rows.append((f"{c:g}", runs.labeled("train"), runs.labeled("validation"), *cells))
    columns = ("c", "labeled", "of validation", "accuracy, `pa`", "AUC, `pa`", "accuracy, `last`", "AUC, `last`")
    show("labels", columns, rows)


def validation(folder: Path) -> None:
    rows = []
    for fraction in (0.02, 0.05, 0.1, 0.2):
        runs = Runs(folder, "nnpu", "digits", c=0.1, validation=fraction)
        cells = (runs.test("accuracy", name) for name in ("pa", "oa", "last"))
        rows.append((f"{fraction:g}", runs.labeled("validation"), *cells))
    show("validation", ("validation fraction", "labeled in it", "by `pa`", "by `oa` (oracle)", "`last`"), rows)


def mechanisms(folder: Path) -> None:
    rows = []
    for mechanism in ("scar", "sar-lbe-a", "sar-lbe-b", "sar-pusb"):
        for method in ("nnpu", "pusb", "lbe-pu", "puet"):
            runs = Runs(folder, method, "digits", c=0.3, mechanism=mechanism)
            cells = (runs.test(*each) for each in (("accuracy", "last"), ("auc", "last"), ("accuracy", "pa")))
            rows.append((f"`{mechanism}`", f"`{method}`", *cells))
    show("mechanisms", ("labels", "method", "accuracy, `last`", "AUC, `last`", "accuracy, `pa`"), rows)


def file_numbers(folder: Path) -> None:
    """A file sorted by diagnosis, with a running number; later rows are numbered on."""
    from sklearn.datasets import load_breast_cancer

    x, y = load_breast_cancer(return_X_y=True, as_frame=True)
    x = x[["mean texture", "mean smoothness", "mean symmetry"]].assign(malignant=(y == 0).astype(int))
    later = x.sample(frac=0.3, random_state=0)
    x = x.drop(later.index).sort_values("malignant", ascending=False, ignore_index=True)
    x["number"] = np.arange(len(x))
    later = later.assign(number=len(x) + np.arange(len(later)))
    labeled = np.zeros(len(x), dtype=int)
    labeled[np.random.default_rng(0).choice(np.flatnonzero(x["malignant"]), 40, replace=False)] = 1
    x["labeled"] = labeled
    measured = ["mean texture", "mean smoothness", "mean symmetry"]
    rows = []
    for columns in (measured, [*measured, "number"]):
        for name, test in (("rows of the file", None), ("later rows", later)):
            table_ = pubench.data(x, "labeled", truth="malignant", features=columns, test=test, name="patients")
            runs = Runs(folder, "puet", table_, prior=0.37)
            named = "with `number`" if "number" in columns else "without"
            rows.append((named, name, runs.test("accuracy", "last"), runs.test("auc", "last")))
    show("file numbers", ("features", "tested on", "accuracy", "AUC"), rows)


def main(folder: Path) -> None:
    for part in (criteria, collapse, priors, labels, validation, mechanisms, file_numbers):
        part(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
