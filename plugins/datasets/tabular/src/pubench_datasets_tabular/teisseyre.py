"""The tables of Teisseyre et al. (AISTATS 2025) as they are in their repository: one CSV for each."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
from pubench_archives.archives import check, content, damaged, present, reading

from pubench_core.data.dataset import ClassData, DataRoot
from pubench_core.data.source import DataSource, Task
from pubench_core.errors import unknown
from pubench_core.plugins.info import DatasetInfo

FOLDER = "teisseyre2025"


#: Table -> start of the SHA-256 of its CSV, empty if that was never seen; in the order of the published script.
PUBLISHED = {
    "Breast-w": "d6aebcfff6d6ca6b",
    "Diabetes": "b82903410f5e8a6f",
    "Kc1": "9ff86541de623231",
    "Spambase": "",
    "Wdbc": "ab366b225ca42eaf",
    "Banknote-authentication": "a44092ce44d8d6d6",
    "Heart-statlog": "c4084d37e9d85aa1",
    "Jm1": "",
    "Ionosphere": "a4cf923357127fd8",
    "Sonar": "0c348b10db20d799",
    "Haberman": "ceb1048eee84daaa",
    "Segment": "0a13d8be22263b7a",
    "Waveform-5000": "6b2855002857f172",
    "Yeast": "dc5c1bf9e27fabf0",
    "Musk": "",
    "Abalone": "c9382bd055cd1f0a",
    "Isolet": "",
    "Madelon": "",
    "Semeion": "c5bc48e45c5ff687",
    "Vehicle": "c7b18ae36ce034e7",
}
#: Key of a task -> its table.
TABLES = {name.lower(): name for name in PUBLISHED}


def positive_class(classes: npt.NDArray[np.int64]) -> int:
    """1 of two classes, else the most frequent one, the smallest code on a tie; ``classes``: (n,) codes."""
    values, counts = np.unique(classes, return_counts=True)
    return 1 if len(values) == 2 else int(values[counts.argmax()])


class SuiteTable(DataSource):
    """(n, d) float32 features as the file has them, and whether a row is of the positive class."""

    @classmethod
    def task(cls, info: DatasetInfo, name: str) -> DatasetInfo:
        """The record of a table. Raises RequestError if there is none of that name."""
        if name.lower() not in TABLES:
            raise unknown(f"table of {info.key}", name, TABLES, field="data.key")
        found = TABLES[name.lower()]
        return replace(
            info, task=name.lower(), name=f"{found} (AISTATS 2025)", summary=f"{found}, a table of {info.key}"
        )

    def tasks(self, root: DataRoot) -> tuple[Task, ...]:
        """The tables that are here."""
        return tuple(Task(key, {"name": name}) for key, name in TABLES.items() if self._path(root, name))

    def parts(self, root: DataRoot) -> tuple[DataSource, ...]:
        """A source for each table that is here."""
        return (self,) if self.info.task else tuple(SuiteTable(self.task(self.info, t.name)) for t in self.tasks(root))

    def locate(self, root: DataRoot) -> tuple[Path, ...]:
        names = [TABLES[self.info.task]] if self.info.task else [TABLES[task.name] for task in self.tasks(root)]
        found = [self._path(root, name) for name in names]
        if not found or None in found:
            wanted = [f"{name}.csv" for name in names or PUBLISHED]
            raise root.missing(self.info, wanted, [root.path / FOLDER])
        return tuple(path for path in found if path is not None)

    def variant(self, root: DataRoot, files: tuple[Path, ...]) -> str:
        return self.info.task

    def read(self, files: tuple[Path, ...], root: DataRoot) -> ClassData:
        import pandas as pd

        path, text = files[0], content(files[0])
        if published := PUBLISHED[TABLES[self.info.task]]:
            check(path, text, published, self.info.source)
        with reading(path):
            values = pd.read_csv(io.BytesIO(text), dtype=str, na_filter=False).to_numpy(object).astype(np.float64)
        if not np.isfinite(values).all():
            raise damaged(path, "a cell has no number")
        classes = values[:, -2].astype(np.int64)
        return ClassData(x=values[:, :-2].astype(np.float32), y=(classes == positive_class(classes)).astype(np.int64))

    def _path(self, root: DataRoot, name: str) -> Path | None:
        return present(root.path / FOLDER, f"{name}.csv")
