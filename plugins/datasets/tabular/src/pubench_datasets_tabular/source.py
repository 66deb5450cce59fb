"""The data source of every set in this package; what differs between them is in :data:`~.layouts.LAYOUTS`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from pubench_core.data.dataset import ClassData, DataRoot
from pubench_core.data.source import DataSource
from pubench_core.errors import Hint, RequestError

from .cells import Cells, Remedy
from .encoding import FloatArray, IntArray, above_mean, encode_classes, encode_features
from .layouts import LAYOUTS, File, Layout
from .openml_files import cached, download, is_openml, read_openml
from .text import read_cells


class Table(DataSource):
    """(n, d) float32 features and class indices; a test part where the set comes with one.

    Text files lie in ``<root>/<key>`` (or an alias) or else in ``<root>/uci``, plain or with ``.gz``; where they are
    not complete, OpenML's file of the pinned data set in its cache is taken. Rows are in the file's order except for
    Connect-4, whose copies differ in it: its rows are in the order of their squares.

    ``read`` raises RequestError where a file is unreadable, damaged, cut short, or of another format.
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
        names = [file.name for file in (*self.layout.files, *self.layout.test_files)]
        folders = [*root.folders(self.info), root.path / "uci"]
        for folder in folders:
            found = [_present(folder, name) for name in names]
            if all(found):
                return tuple(path for path in found if path is not None)
        if self.layout.openml is not None:
            copy = cached(root, self.layout.openml.number)
            if copy is not None:
                return (copy,)
        nearest = max(folders, key=lambda folder: sum(_present(folder, name) is not None for name in names))
        absent = [name for name in names if _present(nearest, name) is None]
        raise root.missing(self.info, absent, [folders[0], folders[-1]])

    def read(self, files: tuple[Path, ...], root: DataRoot) -> ClassData:
        if is_openml(files[0]):
            x, y = self._openml(files[0], root)
            return self._parted(x, y)
        n = len(self.layout.files)
        x, y = self._texts(files[:n], self.layout.files)
        if not self.layout.test_files:
            return self._parted(x, y)
        x_test, y_test = self._texts(files[n:], self.layout.test_files)
        return ClassData(x=x, y=y, x_test=x_test, y_test=y_test)

    def fetch(self, root: DataRoot) -> None:
        if self.layout.openml is None:
            raise RequestError(
                f"{self.info.key} cannot be downloaded by pubench: get "
                f"{', '.join(file.name for file in (*self.layout.files, *self.layout.test_files))} from "
                f"{self.info.source} and put that into {root.path / self.info.key}"
            )
        download(self.info, root, self.layout.openml.number)

    def _texts(self, paths: tuple[Path, ...], files: tuple[File, ...]) -> tuple[FloatArray, IntArray]:
        parts = []
        for path, file in zip(paths, files, strict=True):
            cells = read_cells(
                path,
                split=self.layout.split,
                width=self.layout.width,
                label=self.layout.label,
                header=self.layout.header,
                remedy=Remedy(f"get it again from {self.info.source}"),
            )
            parts.append(self._encoded(cells, file.rows, self.layout.codes))
        return np.concatenate([x for x, _ in parts]), np.concatenate([y for _, y in parts])

    def _openml(self, path: Path, root: DataRoot) -> tuple[FloatArray, IntArray]:
        pinned = self.layout.openml
        assert pinned is not None
        remedy = Remedy("delete it and get it again", Hint("fetch", self.info.key))
        cells = read_openml(path, width=self.layout.width, remedy=remedy)
        if pinned.recode is not None:
            cells = pinned.recode(cells)
        if pinned.note:
            root.say(f"{self.info.key}: {pinned.note}")
        rows = sum(file.rows for file in self.layout.files)
        return self._encoded(cells, rows, self.layout.codes if pinned.codes is None else pinned.codes)

    def _encoded(self, cells: Cells, rows: int, codes: Mapping[str, int] | None) -> tuple[FloatArray, IntArray]:
        x = encode_features(cells, self.layout.features)
        y = above_mean(cells) if codes is None else encode_classes(cells, codes)
        if cells.rows != rows:
            raise cells.damaged(
                f"has {cells.rows:,} rows, expected {rows:,}: it was cut short, joined, or is another version"
            )
        return x, y

    def _parted(self, x: FloatArray, y: IntArray) -> ClassData:
        if self.layout.sort_rows:
            order = np.lexsort(x.T[::-1])
            x, y = x[order], y[order]
        n = len(x) - self.layout.last_rows_are_test
        if n == len(x):
            return ClassData(x=x, y=y)
        return ClassData(x=x[:n], y=y[:n], x_test=x[n:], y_test=y[n:])


def _present(folder: Path, name: str) -> Path | None:
    return next((path for path in (folder / name, folder / f"{name}.gz") if path.exists()), None)
