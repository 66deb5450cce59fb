"""Prints the tables of ``pages/failure-modes.md``, each after its heading.

    python docs/failure_modes.py FOLDER

Runs that are in FOLDER already are not run again. About six minutes on one core from an empty folder.
"""

from __future__ import annotations

import statistics
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from page_parts import table

import pubench

SEEDS = (2, 25, 42)
#: Cells that name a line, arguments of its runs, and what is shown of them: (measure, criterion), ("warned", criterion)
#: or ("labeled", part).
Line = tuple[Sequence[object], Mapping[str, Any], Sequence[tuple[str, str]]]

USUAL = (("accuracy", "last"), ("recall", "last"), ("auc", "last"), ("warned", "last"))
CRITERIA: list[Line] = [
    ((f"`{method}`, {data}", f"`{name}`"), {"method": method, "data": data},
     [(what, name) for what in ("accuracy", "recall", "auc", "warned")])
    for method, data in (("nnpu", "digits"), ("vpu", "digits"), ("nnpu", "breast-cancer"), ("vpu", "breast-cancer"))
    for name in ("pa", "pauc", "f1", "last")
]  # fmt: skip
COLLAPSE: list[Line] = [
    ((f"`{loss}`",), {"method": "nnpu", "data": "digits", "positive": [0, 1, 2], "config": {"surrogate": loss}}, USUAL)
    for loss in ("sigmoid", "logistic")
]
PRIORS: list[Line] = [
    ((prior,), {"method": "nnpu", "data": "breast-cancer", "c": 0.3, "prior": prior},
     [(what, "last") for what in ("accuracy", "precision", "recall", "auc", "warned")])
    for prior in (0.2, 0.3, "true", 0.5, 0.6)
]  # fmt: skip
LABELS: list[Line] = [
    ((f"{c:g}",), {"method": "nnpu", "data": "digits", "c": c},
     [("labeled", "train"), ("labeled", "validation"), ("accuracy", "pa"), ("auc", "pa"), *USUAL[::2]])
    for c in (0.01, 0.03, 0.1, 0.3, 0.5)
]  # fmt: skip
VALIDATION: list[Line] = [
    ((f"{fraction:g}",), {"method": "nnpu", "data": "digits", "c": 0.1, "validation": fraction},
     [("labeled", "validation"), *(("accuracy", name) for name in ("pa", "oa", "last"))])
    for fraction in (0.02, 0.05, 0.1, 0.2)
]  # fmt: skip
MECHANISMS: list[Line] = [
    ((f"`{mechanism}`", f"`{method}`"), {"method": method, "data": "digits", "c": 0.3, "mechanism": mechanism},
     [("accuracy", "last"), ("auc", "last"), ("accuracy", "pa")])
    for mechanism in ("scar", "sar-lbe-a", "sar-lbe-b", "sar-pusb")
    for method in ("nnpu", "pusb", "lbe-pu", "puet")
]  # fmt: skip


def file_numbers() -> list[Line]:
    """A file sorted by diagnosis, with a running number; later rows are numbered on."""
    from sklearn.datasets import load_breast_cancer

    measured = ["mean texture", "mean smoothness", "mean symmetry"]
    x, y = load_breast_cancer(return_X_y=True, as_frame=True)
    x = x[measured].assign(malignant=(y == 0).astype(int))
    later = x.sample(frac=0.3, random_state=0)
    x = x.drop(later.index).sort_values("malignant", ascending=False, ignore_index=True)
    x["number"] = np.arange(len(x))
    later = later.assign(number=len(x) + np.arange(len(later)))
    labeled = np.zeros(len(x), dtype=int)
    labeled[np.random.default_rng(0).choice(np.flatnonzero(x["malignant"]), 40, replace=False)] = 1
    x["labeled"] = labeled
    lines: list[Line] = []
    for named, columns in (("without", measured), ("with `number`", [*measured, "number"])):
        for name, test in (("rows of the file", None), ("later rows", later)):
            patients = pubench.data(x, "labeled", truth="malignant", features=columns, test=test, name="patients")
            runs = {"method": "puet", "data": patients, "prior": 0.37}
            lines.append(((named, name), runs, (("accuracy", "last"), ("auc", "last"))))
    return lines


def cells(folder: Path, line: Line) -> list[object]:
    """A line of a table: means and sample standard deviations over seeds, in percent."""
    names, arguments, shown = line
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pubench.PubenchWarning)
        results = [
            pubench.run(seed=seed, results=folder, threads=1, tracking=False, **arguments).result for seed in SEEDS
        ]
    found = list(names)
    for what, where in shown:
        if what == "labeled":
            (number,) = {getattr(result.data, where).labeled for result in results}
            found.append(number)
        elif what == "warned":
            found.append(f"{sum(bool(result.criteria[where].warnings) for result in results)} of {len(results)}")
        else:
            values = [result.criteria[where].measures["test"][what].value for result in results]
            percent = [100 * value for value in values if value is not None]
            found.append(f"{statistics.mean(percent):.1f} ± {statistics.stdev(percent):.1f}")
    return found


def main(folder: Path) -> None:
    measures = ("accuracy", "recall", "AUC", "warned")
    by = ("accuracy, `pa`", "AUC, `pa`", "accuracy, `last`", "AUC, `last`")
    for heading, columns, lines in (
        ("criteria", ("run", "chosen by", *measures), CRITERIA),
        ("collapse", ("loss", *measures), COLLAPSE),
        ("priors", ("given prior", "accuracy", "precision", "recall", "AUC", "warned"), PRIORS),
        ("labels", ("c", "labeled", "of validation", *by), LABELS),
        ("validation", ("validation fraction", "labeled in it", "by `pa`", "by `oa` (oracle)", "`last`"), VALIDATION),
        ("mechanisms", ("labels", "method", "accuracy, `last`", "AUC, `last`", "accuracy, `pa`"), MECHANISMS),
        ("file numbers", ("features", "tested on", "accuracy", "AUC"), file_numbers()),
    ):
        print(f"\n## {heading}\n\n{table(columns, (cells(folder, line) for line in lines))}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
