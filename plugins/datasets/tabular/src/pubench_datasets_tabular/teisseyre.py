"""The tables of Teisseyre et al. (AISTATS 2025) as they are in their repository: one CSV for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
from pubench_archives.archives import opened, reading

from pubench_core.data.dataset import ClassData, DataRoot
from pubench_core.data.source import DataSource, Task
from pubench_core.errors import unknown
from pubench_core.plugins.info import DatasetInfo

from .cells import Remedy, as_number
from .source import _present
from .text import by_comma, read_cells

FOLDER = "teisseyre2025"


@dataclass(frozen=True)
class Size:
    """Name of a table's file, and its rows and features; None if the file was never seen."""

    name: str
    rows: int | None = None
    features: int | None = None


#: In the order of the published script.
TABLES: Mapping[str, Size] = {
    size.name.lower(): size
    for size in (
        Size("Breast-w", 699, 9),
        Size("Diabetes", 768, 8),
        Size("Kc1", 2109, 21),
        Size("Spambase"),
        Size("Wdbc", 569, 30),
        Size("Banknote-authentication", 1372, 4),
        Size("Heart-statlog", 270, 13),
        Size("Jm1"),
        Size("Ionosphere", 351, 34),
        Size("Sonar", 208, 60),
        Size("Haberman", 306, 3),
        Size("Segment", 2310, 19),
        Size("Waveform-5000", 5000, 40),
        Size("Yeast", 1484, 8),
        Size("Musk"),
        Size("Abalone", 4177, 8),
        Size("Isolet"),
        Size("Madelon"),
        Size("Semeion", 1593, 256),
        Size("Vehicle", 846, 18),
    )
}


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
        found = TABLES[name.lower()].name
        return replace(
            info, task=name.lower(), name=f"{found} (AISTATS 2025)", summary=f"{found}, a table of {info.key}"
        )

    def tasks(self, root: DataRoot) -> tuple[Task, ...]:
        """The tables that are here."""
        return tuple(Task(key, {"name": size.name}) for key, size in TABLES.items() if self._path(root, size))

    def parts(self, root: DataRoot) -> tuple[DataSource, ...]:
        """A source for each table that is here."""
        return (self,) if self.info.task else tuple(SuiteTable(self.task(self.info, t.name)) for t in self.tasks(root))

    def locate(self, root: DataRoot) -> tuple[Path, ...]:
        sizes = [TABLES[self.info.task]] if self.info.task else [TABLES[task.name] for task in self.tasks(root)]
        found = [self._path(root, size) for size in sizes]
        if not found or None in found:
            names = [f"{size.name}.csv" for size in sizes or TABLES.values()]
            raise root.missing(self.info, names, [root.path / FOLDER])
        return tuple(path for path in found if path is not None)

    def variant(self, root: DataRoot, files: tuple[Path, ...]) -> str:
        return self.info.task

    def read(self, files: tuple[Path, ...], root: DataRoot) -> ClassData:
        size, path = TABLES[self.info.task], files[0]
        remedy = Remedy(f"get it again from {self.info.source}")
        with reading(path), opened(path) as stream:
            width = stream.readline().count(b",") + 1
        cells = read_cells(path, split=by_comma, width=width, label=width - 2, header=None, remedy=remedy)
        values = np.array([[as_number(cell) for cell in column] for column in cells.columns]).T
        if size.rows is not None and (len(values), width - 2) != (size.rows, size.features):
            raise remedy.error(
                f"{path} has {len(values)} rows of {width - 2} features, expected {size.rows} of {size.features}"
            )
        if not np.isfinite(values).all():
            raise remedy.error(f"{path} has a cell that is no number")
        classes = values[:, -2].astype(np.int64)
        return ClassData(x=values[:, :-2].astype(np.float32), y=(classes == positive_class(classes)).astype(np.int64))

    def _path(self, root: DataRoot, size: Size) -> Path | None:
        return _present(root.path / FOLDER, f"{size.name}.csv")
