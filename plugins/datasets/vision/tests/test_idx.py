"""IDX files load in every layout, damaged ones are named, and the real sets have the published counts."""

from __future__ import annotations

import csv
import gzip
import os
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from pubench_datasets_vision import pubench_datasets
from pubench_testkit.testing import reference_folder

from pubench_cli.yaml_layers import parse_assignment
from pubench_core.data.dataset import ClassData, DataRoot
from pubench_core.data.source import source_of
from pubench_core.data.store import open_dataset
from pubench_core.engine.build import build_problem
from pubench_core.engine.layers import Layer
from pubench_core.engine.resolve import resolve
from pubench_core.errors import RequestError
from pubench_core.plugins.registry import registry

Bytes = npt.NDArray[np.uint8]
NAMES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
N_TRAIN, N_TEST = 20, 10


def idx(values: Bytes, kind: int = 8) -> bytes:
    """The IDX format: two zero bytes, type (8: uint8), number of dimensions, their sizes, the values."""
    return bytes([0, 0, kind, values.ndim]) + struct.pack(f">{values.ndim}I", *values.shape) + values.tobytes()


def images(n: int, height: int = 28, width: int = 28) -> Bytes:
    return np.random.default_rng(n).integers(0, 256, (n, height, width), dtype=np.uint8)


def labels(n: int) -> Bytes:
    return (np.arange(n) % 10).astype(np.uint8)


CONTENT = dict(
    zip(NAMES, (idx(images(N_TRAIN)), idx(labels(N_TRAIN)), idx(images(N_TEST)), idx(labels(N_TEST))), strict=True)
)


def packed(folder: Path) -> None:
    folder.mkdir(parents=True)
    for name, content in CONTENT.items():
        (folder / f"{name}.gz").write_bytes(gzip.compress(content))


def unpacked(folder: Path) -> None:
    folder.mkdir(parents=True)
    for name, content in CONTENT.items():
        (folder / name).write_bytes(content)


INFOS = {info.key: info for info in pubench_datasets()}


def read(key: str, path: Path, said_by: str = "a test") -> ClassData:
    """What the loader finds under a root."""
    root, source = DataRoot(path, said_by), source_of(INFOS[key])
    return source.read(source.locate(root), root)


class TestLayouts:
    @pytest.mark.parametrize("write", [packed, unpacked])
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
        self, tmp_path: Path, key: str, folder: str, write: Callable[[Path], None]
    ) -> None:
        write(tmp_path / folder)
        found = read(key, tmp_path)
        assert found.x.dtype == np.uint8
        assert np.array_equal(found.x, images(N_TRAIN)[:, None])
        assert np.array_equal(found.y, labels(N_TRAIN))
        assert found.x_test is not None
        assert np.array_equal(found.x_test, images(N_TEST)[:, None])
        assert np.array_equal(found.y_test, labels(N_TEST))

    def test_loading_leaves_the_folder_as_it_was(self, tmp_path: Path) -> None:
        packed(tmp_path / "mnist")
        read("mnist", tmp_path)
        assert {path.name for path in tmp_path.rglob("*")} == {"mnist", *(f"{name}.gz" for name in NAMES)}

    def test_the_user_is_told_that_the_set_is_not_the_published_one(self, tmp_path: Path) -> None:
        packed(tmp_path / "mnist")
        said: list[str] = []
        root, source = DataRoot(tmp_path, "a test", say=said.append), source_of(INFOS["mnist"])
        source.read(source.locate(root), root)
        assert said == ["mnist: 20 training and 10 test images; the published set has 60,000 and 10,000"]

    def test_the_first_folder_that_is_complete_is_taken(self, tmp_path: Path) -> None:
        packed(tmp_path / "mnist")
        (tmp_path / "mnist" / f"{NAMES[0]}.gz").unlink()
        packed(tmp_path / "MNIST" / "raw")
        assert len(read("mnist", tmp_path).x) == N_TRAIN

    def test_a_mixture_of_packed_and_unpacked_files_loads(self, tmp_path: Path) -> None:
        packed(tmp_path / "mnist")
        (tmp_path / "mnist" / NAMES[0]).write_bytes(CONTENT[NAMES[0]])
        (tmp_path / "mnist" / f"{NAMES[0]}.gz").unlink()
        assert len(read("mnist", tmp_path).x) == N_TRAIN


def test_a_prepared_copy_is_opened_without_torchvision(tmp_path: Path) -> None:
    packed(tmp_path / "root" / "mnist")
    open_dataset(source_of(INFOS["mnist"]), DataRoot(tmp_path / "root", "a test", cache=tmp_path / "cache"))
    script = (
        "import sys; from pathlib import Path\n"
        "from pubench_core.data.dataset import DataRoot\n"
        "from pubench_core.data.source import source_of\n"
        "from pubench_core.data.store import open_dataset\n"
        "from pubench_datasets_vision import pubench_datasets\n"
        f"root = DataRoot(Path({str(tmp_path / 'root')!r}), 'a test', cache=Path({str(tmp_path / 'cache')!r}))\n"
        "x = open_dataset(source_of(pubench_datasets()[0]), root).data.x\n"
        "print(x.shape, [m for m in ('torchvision', 'torch', 'PIL', 'pyarrow') if m in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == f"({N_TRAIN}, 1, 28, 28) []\n"


class TestMissing:
    def test_every_file_folder_and_source_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(RequestError) as caught:
            read("fashion-mnist", tmp_path)
        for words in (*NAMES, str(tmp_path / "fashion-mnist"), str(tmp_path / "FashionMNIST" / "raw"), "a test"):
            assert words in str(caught.value)
        assert "Fashion-MNIST distribution" in str(caught.value)

    def test_only_the_absent_file_is_named(self, tmp_path: Path) -> None:
        packed(tmp_path / "mnist")
        (tmp_path / "mnist" / f"{NAMES[3]}.gz").unlink()
        with pytest.raises(RequestError, match=r"no t10k-labels-idx1-ubyte.gz in ") as caught:
            read("mnist", tmp_path)
        assert NAMES[0] not in str(caught.value)


def cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


class TestDamaged:
    """Each gives one RequestError that names the file, or both files of the part, and the folder."""

    def refused(self, tmp_path: Path, name: str, content: bytes, *, suffix: str = "") -> str:
        unpacked(tmp_path / "mnist")
        (tmp_path / "mnist" / name).unlink()
        (tmp_path / "mnist" / (name + suffix)).write_bytes(content)
        with pytest.raises(RequestError) as caught:
            read("mnist", tmp_path)
        line = str(caught.value)
        assert "\n" not in line
        assert "files ()" not in line  # a reason is given
        assert str(tmp_path / "mnist") in line
        return line

    @pytest.mark.parametrize("name", NAMES)
    @pytest.mark.parametrize(
        "content",
        [
            cut(gzip.compress(CONTENT[NAMES[0]])),
            gzip.compress(CONTENT[NAMES[0]])[:-4],
            b"",
            b"\x1f\x8b",
            b"not gzip at all",
            gzip.compress(CONTENT[NAMES[0]])[:40] + b"\xff" * 40,
        ],
        ids=["half", "without-its-end", "empty", "only-its-magic", "text", "garbled"],
    )
    def test_a_packed_file_that_cannot_be_unpacked(self, tmp_path: Path, name: str, content: bytes) -> None:
        assert name in self.refused(tmp_path, name, content, suffix=".gz")

    @pytest.mark.parametrize("name", NAMES)
    @pytest.mark.parametrize(
        "damage",
        [
            pytest.param(lambda content: b"", id="empty"),
            pytest.param(lambda content: content[:3], id="half-a-magic-number"),
            pytest.param(lambda content: content[:6], id="half-a-header"),
            pytest.param(lambda content: content[:-5], id="five-bytes-short"),
            pytest.param(lambda content: content + b"\0" * 5, id="five-bytes-long"),
            pytest.param(lambda content: b"\x89PNG" + content[4:], id="wrong-magic-number"),
            pytest.param(lambda content: b"\0\0\x0a" + content[3:], id="unknown-type"),
            pytest.param(lambda content: b"\0\0\x0d" + content[3:], id="floating-point"),
            pytest.param(lambda content: b"\0\0\x08\x02" + content[4:], id="two-dimensions"),
            pytest.param(lambda content: content[:4] + b"\xff" * 4 + content[8:], id="impossible-size"),
        ],
    )
    def test_a_file_that_is_not_idx(self, tmp_path: Path, name: str, damage: Callable[[bytes], bytes]) -> None:
        assert name in self.refused(tmp_path, name, damage(CONTENT[name]))

    @pytest.mark.parametrize(
        ("name", "content", "words"),
        [
            (NAMES[0], idx(images(N_TRAIN, 27, 28)), ("train", "(27, 28)", "28x28")),
            (NAMES[2], idx(images(N_TEST, 32, 32)), ("test", "(32, 32)", "28x28")),
            (NAMES[0], idx(images(N_TRAIN - 1)), ("train", "20 labels")),
            (NAMES[3], idx(labels(N_TEST + 1)), ("test", "11 labels")),
            (NAMES[1], idx(labels(N_TRAIN) + 1), ("train", "0 to 9")),
            (NAMES[0], CONTENT[NAMES[1]], ("train-images-idx3-ubyte",)),
            (NAMES[1], CONTENT[NAMES[0]], ("train-labels-idx1-ubyte",)),
        ],
        ids=["low", "large", "one-image-less", "one-label-more", "label-10", "labels-as-images", "images-as-labels"],
    )
    def test_files_that_do_not_fit_together(
        self, tmp_path: Path, name: str, content: bytes, words: tuple[str, ...]
    ) -> None:
        line = self.refused(tmp_path, name, content)
        for word in words:
            assert word in line

    @pytest.mark.parametrize("part", ["train", "t10k"])
    def test_a_part_without_a_row(self, tmp_path: Path, part: str) -> None:
        unpacked(tmp_path / "mnist")
        (tmp_path / "mnist" / f"{part}-images-idx3-ubyte").write_bytes(idx(images(0)))
        (tmp_path / "mnist" / f"{part}-labels-idx1-ubyte").write_bytes(idx(labels(0)))
        with pytest.raises(RequestError) as caught:
            read("mnist", tmp_path)
        assert str(tmp_path / "mnist") in str(caught.value)

    def test_nothing_is_unpacked_to_the_disk(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A process that is killed while it prepares a copy leaves no temporary file."""
        packed(tmp_path / "mnist")
        for name in ("mkdtemp", "mkstemp"):
            monkeypatch.setattr(tempfile, name, lambda *given, **named: pytest.fail("a temporary file was made"))
        assert read("mnist", tmp_path).x.shape == (N_TRAIN, 1, 28, 28)

    @pytest.mark.parametrize("suffix", ["", ".gz"])
    def test_a_file_that_cannot_be_read(self, tmp_path: Path, suffix: str) -> None:
        """A folder in its place stands for every way of not being readable, for every user."""
        unpacked(tmp_path / "mnist")
        (tmp_path / "mnist" / NAMES[0]).unlink()
        (tmp_path / "mnist" / (NAMES[0] + suffix)).mkdir()
        with pytest.raises(RequestError) as caught:
            read("mnist", tmp_path)
        assert str(caught.value).startswith(f"cannot read {tmp_path / 'mnist' / (NAMES[0] + suffix)}: ")


# ------------------------------------------------------------------------------------------------ the real sets

MNIST_DIGITS = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]


@pytest.fixture(scope="module", params=["mnist", "fashion-mnist"])
def real(request: pytest.FixtureRequest) -> tuple[str, ClassData]:
    """Key and content of a real data set."""
    key = request.param
    given = os.environ.get("PUBENCH_DATA")
    if not given:
        pytest.skip("PUBENCH_DATA is not set: it names the folder that holds the real MNIST and Fashion-MNIST files")
    return key, read(key, Path(given), "PUBENCH_DATA")


class TestRealSets:
    def test_shapes_and_types(self, real: tuple[str, ClassData]) -> None:
        _, data = real
        assert data.x_test is not None
        assert (data.x.shape, data.x_test.shape) == ((60_000, 1, 28, 28), (10_000, 1, 28, 28))
        assert (data.x.dtype, data.x_test.dtype, data.y.dtype) == (np.uint8, np.uint8, np.int64)
        assert (data.x.min(), data.x.max()) == (0, 255)

    def test_class_counts(self, real: tuple[str, ClassData]) -> None:
        key, data = real
        assert data.y_test is not None
        found = np.bincount(data.y).tolist(), np.bincount(data.y_test).tolist()
        if key == "mnist":
            assert found[0] == MNIST_DIGITS
            assert (sum(found[1][0::2]), sum(found[1][1::2])) == (4926, 5074)
        else:
            assert found == ([6000] * 10, [1000] * 10)

    def test_mean_and_deviation_are_those_of_the_training_images(self, real: tuple[str, ClassData]) -> None:
        _, data = real
        counts = np.bincount(data.x.ravel(), minlength=256) / data.x.size
        gray = np.arange(256) / 255
        mean = float(counts @ gray)
        deviation = float(np.sqrt(counts @ (gray - mean) ** 2))
        assert data.mean == (pytest.approx(mean, abs=5e-5),)
        assert data.std == (pytest.approx(deviation, abs=5e-5),)

    @pytest.mark.reference
    @pytest.mark.parametrize("scheme", ["case-control", "single-training-set"])
    def test_a_split_has_the_published_counts(self, real: tuple[str, ClassData], scheme: str) -> None:
        """PU-Bench, Table D.1: validation fraction 0.01, c = 0.1. Its U keeps the labeled positives (case-control)."""
        key, _ = real
        published = {"mnist": "MNIST", "fashion-mnist": "F-MNIST"}[key]
        table = csv.DictReader((reference_folder() / "pubench_splits.csv").read_text().splitlines())
        row = next(row for row in table if row["dataset"] == published)
        layer = Layer()
        for text in (
            f"data.key={key}",
            f"data.scheme={scheme}",
            "method.key=nnpu",
            "mechanism.c=0.1",
            "validation.fraction=0.01",
        ):
            path, value = parse_assignment(text)
            layer.put(path, value, text)
        facts = build_problem(resolve([layer], registry())).facts()
        train, labeled = facts.train, int(row["pu_labeled"])
        assert facts.test is not None
        kept = labeled if scheme == "single-training-set" else 0
        assert (train.positive, train.negative) == (int(row["pn_train_pos"]), int(row["pn_train_neg"]))
        assert train.labeled == labeled
        assert train.unlabeled_positive == int(row["pu_unlab_pos"]) - kept
        assert train.unlabeled_negative == int(row["pu_unlab_neg"])
        assert facts.validation.positive + facts.validation.negative == int(row["val_size"])
        assert (facts.test.positive, facts.test.negative) == (int(row["test_pos"]), int(row["test_neg"]))

    def test_the_default_classes_are_the_published_ones(self) -> None:
        table = csv.DictReader((reference_folder() / "pubench_splits.csv").read_text().splitlines())
        published = {row["dataset"]: row["pos_vs_neg"] for row in table}
        for key, name in (("mnist", "MNIST"), ("fashion-mnist", "F-MNIST")):
            sides = (",".join(map(str, side)) for side in (INFOS[key].positive, INFOS[key].negative))
            assert " VS. ".join(sides) == published[name]
