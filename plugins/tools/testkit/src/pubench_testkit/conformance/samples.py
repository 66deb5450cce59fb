"""Three problems of 200 rows that every method is tried on: the same digits as images, as a table, as text vectors.

They are offered to the conformance checks only, and are in no listing.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pubench_core.data.dataset import ClassData, DataRoot
from pubench_core.data.source import DataSource
from pubench_core.plugins.hooks import hookimpl
from pubench_core.plugins.info import DatasetInfo

ROWS = 200
#: Most checks train on the table, with one hidden layer. The other networks have dropout and batch norm.
BACKBONES = {"tabular": "mlp-wang", "text": "mlp", "image": "cnn"}


class Sample(DataSource):
    """The first 200 rows of scikit-learn's digits: (200, 64), or (200, 1, 8, 8) uint8 as images."""

    def read(self, files: tuple[Path, ...], root: DataRoot) -> ClassData:
        from sklearn.datasets import load_digits

        x, y = load_digits(return_X_y=True)
        x, y = x[:ROWS], y[:ROWS].astype(np.int64)
        if self.info.modality == "image":
            return ClassData(x=(x * 15).astype(np.uint8).reshape(-1, 1, 8, 8), y=y, mean=(0.3,), std=(0.35,))
        return ClassData(x=(x / 16).astype(np.float32), y=y)


@hookimpl
def pubench_datasets() -> list[DatasetInfo]:
    return [
        DatasetInfo(
            key=f"conformance-{modality}",
            name=f"200 digits as {modality}",
            summary="for conformance checks",
            load="pubench_testkit.conformance.samples:Sample",
            modality=modality,  # type: ignore[arg-type]
            classes=tuple("0123456789"),
            positive=(0, 2, 4, 6, 8),
            negative=(1, 3, 5, 7, 9),
            backbone=backbone,
            preprocess="l2" if modality == "text" else "none",
        )
        for modality, backbone in BACKBONES.items()
    ]
