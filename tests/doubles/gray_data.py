"""A data set of 45 rows whose source is a plugin's own module, with its files, its cache and what became of them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from pubench_core.data.cache import Prepared
from pubench_core.data.dataset import DataRoot
from pubench_core.data.source import source_of
from pubench_core.data.store import open_dataset
from pubench_core.plugins.info import DatasetInfo

#: A distribution's module, as a plugin's author would write it. A row of ``rows.bin`` is four gray values and a class;
#: the last five rows are the test part. Every reading leaves a line in ``<root>/reads``.
GRAY = """
import os
import time

import numpy as np

from pubench_core.data.dataset import ClassData
from pubench_core.data.source import DataSource
from pubench_core.plugins.info import DatasetInfo


class Gray(DataSource):
    def locate(self, root):
        folder = root.path / self.info.key
        if not (folder / "rows.bin").is_file():
            raise root.missing(self.info, ["rows.bin"], [folder])
        return (folder / "rows.bin",)

    def read(self, files, root):
        with (root.path / "reads").open("a") as log:
            print(os.getpid(), file=log)
        time.sleep(float(os.environ.get("SECONDS_TO_READ", 0)))
        table = np.frombuffer(files[0].read_bytes(), np.uint8).reshape(-1, 5)
        x, y = table[:, :4], table[:, 4].astype(np.int64)
        return ClassData(x=x[:-5], y=y[:-5], x_test=x[-5:], y_test=y[-5:], mean=(0.5,), std=(0.25,))


class Packaged(Gray):
    def locate(self, root):
        return ()

    def read(self, files, root):
        return super().read((root.path / "gray" / "rows.bin",), root)


INFO = DatasetInfo(
    key="gray",
    name="Gray",
    summary="rows of four gray values",
    load="acme_gray:Gray",
    modality="tabular",
    classes=("no", "yes", "neither"),
    positive=(1,),
    negative=(0,),
    backbone="mlp",
    source="the shelf",
)
"""


@dataclass
class GrayData:
    """45 rows of four gray values: 12 of class 0, 24 of class 1, 4 of class 2; the last five are 0 0 1 1 1."""

    module: ModuleType
    root: DataRoot
    table: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        x = np.random.default_rng(0).integers(0, 256, (45, 4), dtype=np.uint8)
        y = np.array([0] * 12 + [1] * 24 + [2] * 4 + [0, 0, 1, 1, 1], dtype=np.uint8)
        self.table = np.column_stack([x, y])
        self.rows.parent.mkdir(parents=True)
        self.rows.write_bytes(self.table.tobytes())

    @property
    def info(self) -> DatasetInfo:
        found = self.module.INFO
        assert isinstance(found, DatasetInfo)
        return found

    @property
    def rows(self) -> Path:
        """The only source file."""
        return self.root.path / "gray" / "rows.bin"

    def opened(self, **more: Any) -> Prepared:
        """The data set as a run opens it."""
        return open_dataset(source_of(self.info), self.root, **more)

    def reads(self) -> int:
        """How often the source was read so far, by any process."""
        log = self.root.path / "reads"
        return len(log.read_text().splitlines()) if log.exists() else 0

    def left_in_cache(self) -> list[str]:
        """What is under the folder of copies, lock files aside."""
        base = self.root.cache / "prepared"
        return sorted(str(p.relative_to(base)) for p in base.rglob("*") if p.suffix != ".lock" and p.is_file())


def failing(code: int) -> Callable[..., Any]:
    """A call that the file system refuses with this code, whatever it is given."""

    def call(*arguments: Any, **more: Any) -> Any:
        raise OSError(code, os.strerror(code))

    return call


def sha256(path: Path) -> str:
    """What a file holds, hashed by other code than the store's."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def later(path: Path) -> None:
    """The file's time is a second later, its content as it was."""
    stat = path.stat()
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns + 10**9))
