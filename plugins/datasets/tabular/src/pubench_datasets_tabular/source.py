"""The data source of every set in this package; what differs between them is in :data:`~.layouts.LAYOUTS`."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from pubench_archives.archives import complete, content, reading

from pubench_core.data.dataset import ClassData, DataRoot, digest_of
from pubench_core.data.source import DataSource
from pubench_core.errors import RequestError

from .layouts import LAYOUTS, Feature, Layout
from .openml_files import cached, download, read_cells, reading_download

if TYPE_CHECKING:
    from pandas import DataFrame, Series

FloatArray = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int64]


class Table(DataSource):
    """(n, d) float32 features and class indices; a test part where the set comes with one.

    Text files lie in ``<root>/<key>`` (or an alias) or else in ``<root>/uci``, plain or with ``.gz``; where they are
    not complete, OpenML's file of the pinned data set in its cache is taken. Rows are in the file's order except for
    Connect-4, whose copies differ in it: its rows are in the order of their squares.

    ``read`` raises RequestError if a file is unreadable or damaged, or the values are not the published ones.
    """

    @property
    def layout(self) -> Layout:
        """How this set's files are read."""
        return LAYOUTS[self.info.key]

    @property
    def downloadable(self) -> bool:
        """Whether OpenML has the set."""
        return self.layout.openml is not None

    def locate(self, root: DataRoot) -> tuple[Path, ...]:
        names = [*self.layout.files, *self.layout.test_files]
        folders = [*root.folders(self.info), root.path / "uci"]
        try:
            return complete(self.info, root, [(folder, names) for folder in folders], names, folders)
        except RequestError:
            copy = cached(root, self.layout.openml.number) if self.layout.openml else None
            if copy is None:
                raise
            return (copy,)

    def read(self, files: tuple[Path, ...], root: DataRoot) -> ClassData:
        if files[0].suffix in (".arff", ".pq"):  # of OpenML
            return self._openml(files[0], root)
        parts = []
        for path in files:
            with reading(path):
                cells = _text(path, self.layout)
                parts.append(encoded(cells, cells.columns[self.layout.label], self.layout.features, self.layout.codes))
        n = len(self.layout.files)
        x, y = _joined(parts[:n])
        data = self._parted(x, y)
        if self.layout.test_files:
            x_test, y_test = _joined(parts[n:])
            data = ClassData(x=x, y=y, x_test=x_test, y_test=y_test)
        names = ", ".join(path.name for path in files)
        again = f"get {names} again from {self.info.source}"
        if self.layout.digest and (found := digest_of(data)) != self.layout.digest:
            raise RequestError(
                f"{self.info.key}: the values in {files[0].parent} have the checksum {found}, those of the published "
                f"files {self.layout.digest}; {again}"
            )
        if self.layout.rows not in (None, len(x)):
            raise RequestError(
                f"{self.info.key}: the files in {files[0].parent} have {len(x):,} rows, the published ones "
                f"{self.layout.rows:,}; {again}"
            )
        return data

    def fetch(self, root: DataRoot) -> None:
        if self.layout.openml is None:
            super().fetch(root)
        else:
            download(self.info, root, self.layout.openml.number)

    def _openml(self, path: Path, root: DataRoot) -> ClassData:
        pinned = self.layout.openml
        assert pinned is not None
        if pinned.note:
            root.say(f"{self.info.key}: {pinned.note}")
        with reading_download(path, self.info.key):
            cells = read_cells(path)
            if pinned.recode is not None:
                cells = pinned.recode(cells)
            codes = self.layout.codes if pinned.codes is None else pinned.codes
            x, y = encoded(cells, "class", self.layout.features, codes)
            if len(x) != pinned.rows:
                raise ValueError(f"{len(x):,} rows, expected {pinned.rows:,}")
        return self._parted(x, y)

    def _parted(self, x: FloatArray, y: IntArray) -> ClassData:
        if self.layout.sort_rows:
            order = np.lexsort(x.T[::-1])
            x, y = x[order], y[order]
        n = len(x) - self.layout.last_rows_are_test
        if n == len(x):
            return ClassData(x=x, y=y)
        return ClassData(x=x[:n], y=y[:n], x_test=x[n:], y_test=y[n:])


def _text(path: Path, layout: Layout) -> DataFrame:
    """The cells of a file, as text. Raises ValueError if it is no table."""
    import pandas as pd

    cells = pd.read_csv(io.BytesIO(content(path)), sep=layout.separator, header=None, dtype=str, na_filter=False)
    if layout.svmlight:
        label, *features = (column for _, column in cells.items())
        cells = pd.concat([label.str.partition(";")[0], *(column.str.partition(":")[2] for column in features)], axis=1)
        cells.columns = range(cells.shape[1])
    is_number = pd.to_numeric(cells[0].iloc[:1], errors="coerce").notna().all()
    return cells if is_number or layout.label == 0 or layout.features[0] is not None else cells[1:]


def encoded(
    cells: DataFrame, label: object, features: tuple[Feature, ...], codes: Mapping[str, int] | None
) -> tuple[FloatArray, IntArray]:
    """(n, d) features and (n,) class indices of a table of text.

    Raises ValueError if it has other columns, or a cell that is no finite number, no declared value or no class.
    """
    if cells.shape[1] != 1 + len(features) or label not in cells or cells.empty:
        raise ValueError(f"{len(cells)} rows of {cells.shape[1]} columns, expected {1 + len(features)} and a class")
    columns = cells.drop(columns=label)
    with np.errstate(over="ignore"):
        parts = [_feature(columns.iloc[:, j], values) for j, values in enumerate(features)]
        x = np.column_stack(parts).astype(np.float32)
    if not np.isfinite(x).all():
        raise ValueError("a number is missing or not finite")
    if codes is None:
        values = cells[label].astype(np.float64).to_numpy()
        return x, np.asarray(values > values.mean(), dtype=np.int64)
    return x, _feature(cells[label], tuple(codes)).dot(list(codes.values())).astype(np.int64)


def _feature(column: Series[str], values: Feature) -> npt.NDArray[np.float64]:
    """A column of numbers, or one of 0 and 1 for each of ``values``."""
    if values is None:
        return np.array([float(cell) for cell in column])
    cells = column.to_numpy(object)
    hot: npt.NDArray[np.bool_] = cells[:, None] == np.array(values, dtype=object)
    if len(unknown := cells[~hot.any(axis=1)]):
        raise ValueError(f"value {unknown[0]!r} is none of {', '.join(values)}")
    return hot.astype(np.float64)


def _joined(parts: list[tuple[FloatArray, IntArray]]) -> tuple[FloatArray, IntArray]:
    return np.concatenate([x for x, _ in parts]), np.concatenate([y for _, y in parts])
