"""Scikit-learn's bundled data sets. They have no files and no test part: the generator splits one off."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pubench_core.data.dataset import ClassData, DataRoot
from pubench_core.data.source import DataSource


class Digits(DataSource):
    """(1797, 64) gray values, scaled from 0..16 to [0, 1]."""

    def read(self, files: tuple[Path, ...], root: DataRoot) -> ClassData:
        from sklearn.datasets import load_digits

        x, y = load_digits(return_X_y=True)
        return ClassData(x=(x / 16).astype(np.float32), y=y.astype(np.int64))


class BreastCancer(DataSource):
    """(569, 30) measurements in their units."""

    def read(self, files: tuple[Path, ...], root: DataRoot) -> ClassData:
        from sklearn.datasets import load_breast_cancer

        x, y = load_breast_cancer(return_X_y=True)
        return ClassData(x=x.astype(np.float32), y=y.astype(np.int64))
