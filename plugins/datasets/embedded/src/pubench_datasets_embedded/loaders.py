"""Scikit-learn's bundled data sets. They have no files and no test part: the generator splits one off.

The tables are read from scikit-learn's folder without importing it, which takes longer than an epoch on them; where it
keeps them elsewhere, its own loaders read them.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pubench_core.data.dataset import ClassData, DataRoot
from pubench_core.data.source import DataSource


class Digits(DataSource):
    """(1797, 64) gray values, scaled from 0..16 to [0, 1]."""

    def read(self, files: tuple[Path, ...], root: DataRoot) -> ClassData:
        table = bundled("digits.csv.gz")
        if table is None:
            from sklearn.datasets import load_digits

            x, y = load_digits(return_X_y=True)
        else:
            x, y = table[:, :-1], table[:, -1]
        return ClassData(x=(x / 16).astype(np.float32), y=y.astype(np.int64))


class BreastCancer(DataSource):
    """(569, 30) measurements in their units."""

    def read(self, files: tuple[Path, ...], root: DataRoot) -> ClassData:
        table = bundled("breast_cancer.csv", header=True)
        if table is None:
            from sklearn.datasets import load_breast_cancer

            x, y = load_breast_cancer(return_X_y=True)
        else:
            x, y = table[:, :-1], table[:, -1]
        return ClassData(x=x.astype(np.float32), y=y.astype(np.int64))


def bundled(name: str, *, header: bool = False) -> npt.NDArray[np.float64] | None:
    """(rows, columns) of a table that scikit-learn brings, the class in its last column; None where it is not there."""
    spec = importlib.util.find_spec("sklearn")
    folders = spec.submodule_search_locations if spec is not None else None
    file = Path(folders[0], "datasets", "data", name) if folders else None
    if file is None or not file.is_file():
        return None
    return np.loadtxt(file, delimiter=",", skiprows=int(header))
