"""Scikit-learn's bundled data sets. They have no files and no test part: the generator splits one off.

The tables are read from scikit-learn's folder without importing it, which takes longer than an epoch on them; where it
keeps them elsewhere, its own loaders read them.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pubench_core.data.dataset import ClassData, DataRoot
from pubench_core.data.source import DataSource


class Digits(DataSource):
    """(1797, 64) gray values, scaled from 0..16 to [0, 1]."""

    def read(self, files: tuple[Path, ...], root: DataRoot) -> ClassData:
        x, y = bundled("digits.csv.gz", "load_digits")
        return ClassData(x=(x / 16).astype(np.float32), y=y.astype(np.int64))


class BreastCancer(DataSource):
    """(569, 30) measurements in their units."""

    def read(self, files: tuple[Path, ...], root: DataRoot) -> ClassData:
        x, y = bundled("breast_cancer.csv", "load_breast_cancer", header=True)
        return ClassData(x=x.astype(np.float32), y=y.astype(np.int64))


def bundled(name: str, loader: str, *, header: bool = False) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """(n, d) features and (n,) classes of a table that scikit-learn brings.

    ``loader``: scikit-learn's own, which is called if the table is elsewhere.
    """
    spec = importlib.util.find_spec("sklearn")
    folders = spec.submodule_search_locations if spec is not None else None
    file = Path(folders[0], "datasets", "data", name) if folders else None
    if file is None or not file.is_file():
        from sklearn import datasets

        x, y = getattr(datasets, loader)(return_X_y=True)
        return x, y
    table = np.loadtxt(file, delimiter=",", skiprows=int(header))
    return table[:, :-1], table[:, -1]
