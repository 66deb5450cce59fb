"""IDX files load in every layout, others are refused, and the real sets have the published counts."""

from __future__ import annotations

import gzip
import hashlib
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from pubench_datasets_vision import pubench_datasets
from pubench_datasets_vision.idx import FashionMnist, Mnist
from refusals import read_files, refusal

from pubench_core.data.dataset import ClassData, DataRoot
from pubench_core.data.source import source_of
from pubench_core.data.store import open_dataset

Bytes = npt.NDArray[np.uint8]
NAMES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
N_TRAIN, N_TEST = 20, 10
INFOS = {info.key: info for info in pubench_datasets()}


def idx(values: Bytes) -> bytes:
    """The IDX format: two zero bytes, type (8: uint8), number of dimensions, their sizes, the values."""
    return bytes([0, 0, 8, values.ndim]) + struct.pack(f">{values.ndim}I", *values.shape) + values.tobytes()


def images(n: int) -> Bytes:
    return np.random.default_rng(n).integers(0, 256, (n, 28, 28), dtype=np.uint8)


def labels(n: int) -> Bytes:
    return (np.arange(n) % 10).astype(np.uint8)


ARRAYS = (images(N_TRAIN), labels(N_TRAIN), images(N_TEST), labels(N_TEST))
CONTENT = dict(zip(NAMES, map(idx, ARRAYS), strict=True))


def write(folder: Path, *packed: str, **other: bytes) -> None:
    """The four files; ``packed``: names of those that are packed."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in (CONTENT | other).items():
        path = folder / (f"{name}.gz" if name in packed else name)
        path.write_bytes(gzip.compress(content) if name in packed else content)


def read(key: str, path: Path) -> ClassData:
    return read_files(INFOS[key], path)


def refused(path: Path) -> str:
    return refusal(lambda: read("mnist", path))


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of these tests are the published ones."""
    sums = tuple(hashlib.sha256(content).hexdigest() for content in CONTENT.values())
    for kind in (Mnist, FashionMnist):
        monkeypatch.setattr(kind, "published", sums)


@pytest.mark.usefixtures("published")
class TestLayouts:
    @pytest.mark.parametrize("packed", [(), NAMES, NAMES[:1]], ids=["unpacked", "packed", "mixed"])
    @pytest.mark.parametrize(
        ("key", "folder"),
        [
            ("mnist", "mnist"),
            ("mnist", "MNIST/raw"),
            ("fashion-mnist", "fashion-mnist"),
            ("fashion-mnist", "f-mnist"),
            ("fashion-mnist", "FashionMNIST/raw"),
        ],
    )
    def test_files_as_distributed_or_in_torchvision_s_folder(
        self, tmp_path: Path, key: str, folder: str, packed: tuple[str, ...]
    ) -> None:
        write(tmp_path / folder, *packed)
        found = read(key, tmp_path)
        assert found.x.dtype == np.uint8
        assert found.x_test is not None
        for array, expected in zip((found.x[:, 0], found.y, found.x_test[:, 0], found.y_test), ARRAYS, strict=True):
            assert np.array_equal(array, expected)

    def test_nothing_is_unpacked_to_the_disk(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A process that is killed while it prepares a copy leaves no temporary file."""
        write(tmp_path / "mnist", *NAMES)
        for name in ("mkdtemp", "mkstemp"):
            monkeypatch.setattr(tempfile, name, lambda *given, **named: pytest.fail("a temporary file was made"))
        read("mnist", tmp_path)
        assert {path.name for path in tmp_path.rglob("*")} == {"mnist", *(f"{name}.gz" for name in NAMES)}

    def test_the_first_folder_that_is_complete_is_taken(self, tmp_path: Path) -> None:
        write(tmp_path / "mnist")
        (tmp_path / "mnist" / NAMES[0]).unlink()
        write(tmp_path / "MNIST" / "raw")
        assert len(read("mnist", tmp_path).x) == N_TRAIN

    def test_a_prepared_copy_is_opened_and_loaders_are_imported_without_what_only_reading_needs(
        self, tmp_path: Path
    ) -> None:
        write(tmp_path / "root" / "mnist")
        open_dataset(source_of(INFOS["mnist"]), DataRoot(tmp_path / "root", "a test", cache=tmp_path / "cache"))
        script = (
            "import importlib, sys; from pathlib import Path\n"
            "from pubench_core.data.dataset import DataRoot\n"
            "from pubench_core.data.source import source_of\n"
            "from pubench_core.data.store import open_dataset\n"
            "from pubench_datasets_vision import pubench_datasets\n"
            "for info in pubench_datasets(): importlib.import_module(info.load.split(':')[0])\n"
            f"root = DataRoot(Path({str(tmp_path / 'root')!r}), 'a test', cache=Path({str(tmp_path / 'cache')!r}))\n"
            "x = open_dataset(source_of(pubench_datasets()[0]), root).data.x\n"
            "print(x.shape, [m for m in ('torchvision', 'torch', 'PIL', 'pyarrow') if m in sys.modules])\n"
        )
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        assert done.stdout == f"({N_TRAIN}, 1, 28, 28) []\n"


def test_what_is_missing_is_named_with_folders_and_source(tmp_path: Path) -> None:
    line = refusal(lambda: read("fashion-mnist", tmp_path))
    for words in (*NAMES, str(tmp_path / "fashion-mnist"), str(tmp_path / "FashionMNIST" / "raw"), "a test"):
        assert words in line
    assert "Fashion-MNIST distribution" in line
    write(tmp_path / "mnist")
    (tmp_path / "mnist" / NAMES[3]).unlink()
    line = refused(tmp_path)
    assert "no t10k-labels-idx1-ubyte.gz in " in line
    assert NAMES[0] not in line


@pytest.mark.usefixtures("published")
@pytest.mark.parametrize("name", NAMES)
def test_another_file_is_named_with_both_checksums(tmp_path: Path, name: str) -> None:
    content = CONTENT[name][:-5]
    write(tmp_path / "mnist", **{name: content})
    found, published = (hashlib.sha256(of).hexdigest() for of in (content, CONTENT[name]))
    assert refused(tmp_path) == (
        f"{tmp_path / 'mnist' / name} has the sha256 checksum {found}, the published file {published}; "
        f"get it again from {INFOS['mnist'].source}"
    )


# ------------------------------------------------------------------------------------------------ the real sets


@pytest.mark.parametrize(
    ("key", "train", "test"),
    [
        (
            "mnist",
            [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949],
            [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009],
        ),
        ("fashion-mnist", [6000] * 10, [1000] * 10),
    ],
)
def test_real_sets_have_the_published_counts_and_statistics(
    real: DataRoot, key: str, train: list[int], test: list[int]
) -> None:
    data = read(key, real.path)
    assert data.x_test is not None
    assert data.y_test is not None
    assert (data.x.shape, data.x_test.shape) == ((60_000, 1, 28, 28), (10_000, 1, 28, 28))
    assert (data.x.dtype, data.x_test.dtype, data.y.dtype) == (np.uint8, np.uint8, np.int64)
    assert (np.bincount(data.y).tolist(), np.bincount(data.y_test).tolist()) == (train, test)
    counts = np.bincount(data.x.ravel(), minlength=256) / data.x.size
    gray = np.arange(256) / 255
    mean = float(counts @ gray)
    deviation = float(np.sqrt(counts @ (gray - mean) ** 2))
    assert (data.mean, data.std) == ((pytest.approx(mean, abs=5e-5),), (pytest.approx(deviation, abs=5e-5),))
