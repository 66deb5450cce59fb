"""Loaders of scikit-learn's bundled data sets. They have no test part: the generator splits one off."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits

from pubench_core.data.dataset import ClassData, DataRoot


def digits(root: DataRoot) -> ClassData:
    """(1797, 64) grey values, scaled from 0..16 to [0, 1]."""
    x, y = load_digits(return_X_y=True)
    return ClassData(x=(x / 16).astype(np.float32), y=y.astype(np.int64))


def breast_cancer(root: DataRoot) -> ClassData:
    """(569, 30) measurements in their units."""
    x, y = load_breast_cancer(return_X_y=True)
    return ClassData(x=x.astype(np.float32), y=y.astype(np.int64))
