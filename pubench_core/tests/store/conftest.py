"""A data set of 45 rows whose source is a plugin's own module, with its files, its cache and what became of them."""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from pubench_core.data.cache import Prepared
from pubench_core.data.dataset import DataRoot
from pubench_core.data.source import source_of
from pubench_core.data.store import open_dataset
from pubench_core.errors import RequestError
from pubench_core.plugins.info import DatasetInfo

Open = Callable[..., Prepared]

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

#: What a child process runs first.
CHILD = """
import sys
import time
from pathlib import Path

from pubench_core.data import store
from pubench_core.data.dataset import DataRoot
from pubench_core.data.source import source_of
from acme_gray import INFO

root = DataRoot(Path(sys.argv[1]), "a test", cache=Path(sys.argv[2]))

def held(name, when=lambda *a: True):
    "Does what it did, says so, and goes no further."
    real = getattr(store, name)
    def call(*arguments):
        real(*arguments)
        if when(*arguments):
            print("held", flush=True)
            time.sleep(60)
    setattr(store, name, call)

"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    (folder / "acme_gray.py").write_text(GRAY)
    return folder


@pytest.fixture(scope="module")
def gray(site: Path) -> Iterator[ModuleType]:
    sys.path.insert(0, str(site))
    import acme_gray

    yield acme_gray
    sys.path.remove(str(site))
    del sys.modules["acme_gray"]


@pytest.fixture
def info(gray: ModuleType) -> DatasetInfo:
    found = gray.INFO
    assert isinstance(found, DatasetInfo)
    return found


@pytest.fixture
def table() -> np.ndarray:
    """45 rows: 12 of class 0, 24 of class 1, 4 of class 2; the last five are 0 0 1 1 1."""
    x = np.random.default_rng(0).integers(0, 256, (45, 4), dtype=np.uint8)
    y = np.array([0] * 12 + [1] * 24 + [2] * 4 + [0, 0, 1, 1, 1], dtype=np.uint8)
    return np.column_stack([x, y])


@pytest.fixture
def root(tmp_path: Path, table: np.ndarray) -> DataRoot:
    """A data root that holds the table, with an empty cache."""
    (tmp_path / "data" / "gray").mkdir(parents=True)
    (tmp_path / "data" / "gray" / "rows.bin").write_bytes(table.tobytes())
    return DataRoot(tmp_path / "data", "a test", cache=tmp_path / "cache")


@pytest.fixture
def rows(root: DataRoot) -> Path:
    """The data set's only source file."""
    return root.path / "gray" / "rows.bin"


@pytest.fixture
def opened(info: DatasetInfo, root: DataRoot) -> Open:
    """``opened(preprocess="l2")``: the data set as a run opens it."""
    return lambda **more: open_dataset(source_of(info), root, **more)


@pytest.fixture
def reads(root: DataRoot) -> Callable[[], int]:
    """``reads()``: how often the source was read so far, by any process."""

    def count() -> int:
        log = root.path / "reads"
        return len(log.read_text().splitlines()) if log.exists() else 0

    return count


@pytest.fixture
def left_in_cache(root: DataRoot) -> Callable[[], list[str]]:
    """``left_in_cache()``: what is under the folder of copies, lock files aside."""

    def files() -> list[str]:
        base = root.cache / "prepared"
        return sorted(str(p.relative_to(base)) for p in base.rglob("*") if p.suffix != ".lock" and p.is_file())

    return files


@pytest.fixture(scope="session")
def refused() -> Callable[..., str]:
    """``refused(call, error)``: the message of the error that the call raises, by default a RequestError."""

    def message(call: Callable[[], Any], error: type[Exception] = RequestError) -> str:
        with pytest.raises(error) as caught:
            call()
        return str(caught.value)

    return message


@pytest.fixture(scope="session")
def failing() -> Callable[[int], Callable[..., Any]]:
    """``failing(errno.EROFS)``: a call that the file system refuses with this code, whatever it is given."""

    def refusing(code: int) -> Callable[..., Any]:
        def call(*arguments: Any, **more: Any) -> Any:
            raise OSError(code, os.strerror(code))

        return call

    return refusing


@pytest.fixture(scope="session")
def sha256() -> Callable[[Path], str]:
    """``sha256(path)``: what a file holds, hashed by other code than the store's."""
    return lambda path: hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture(scope="session")
def later() -> Callable[[Path], None]:
    """``later(path)``: the file's time is a second later, its content as it was."""

    def touch(path: Path) -> None:
        stat = path.stat()
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns + 10**9))

    return touch


@pytest.fixture
def child(root: DataRoot, site: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """``child(code)``: a process that runs it with ``store``, ``INFO`` and ``root``; killed when the test ends."""
    with contextlib.ExitStack() as stack:

        def start(code: str, **env: str) -> subprocess.Popen[str]:
            process = subprocess.Popen(
                [sys.executable, "-c", CHILD + code, str(root.path), str(root.cache)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, "PYTHONPATH": str(site), **env},
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            return process

        yield start
