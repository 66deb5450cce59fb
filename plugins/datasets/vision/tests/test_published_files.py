"""MNIST, Fashion-MNIST, CIFAR-10 and USPS load from every form with the same arrays; only published files are read."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import itertools
import pickle
import struct
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_archives import tar_gz, write_files
from pubench_datasets_vision import usps
from pubench_datasets_vision.idx import FashionMnist, Mnist
from refusals import read_files, refusal, source

from pubench_core.data.dataset import DataRoot

Arrays = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def values_of(n: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(n).integers(0, 256, (n, *shape), dtype=np.uint8)


def labels_of(n: int) -> np.ndarray:
    return np.arange(n) % 10


# -------------------------------------------------------------------- MNIST and Fashion-MNIST


def idx(values: np.ndarray) -> bytes:
    """The IDX format: two zero bytes, type (8: uint8), number of dimensions, their sizes, the values."""
    head = bytes([0, 0, 8, values.ndim]) + struct.pack(f">{values.ndim}I", *values.shape)
    return head + values.astype(np.uint8).tobytes()


GRAY: Arrays = (values_of(20, 1, 28, 28), labels_of(20), values_of(10, 1, 28, 28), labels_of(10))
NAMES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
IDX = {name: idx(a[:, 0] if a.ndim == 4 else a) for name, a in zip(NAMES, GRAY, strict=True)}


def packed(*names: str) -> dict[str, bytes]:
    """The four files, some of them packed."""
    return {f"{n}.gz" if n in names else n: gzip.compress(c) if n in names else c for n, c in IDX.items()}


# -------------------------------------------------------------------- CIFAR-10

BATCHES = ("data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5", "test_batch")
COLORS: Arrays = (values_of(50, 3, 32, 32), labels_of(50), values_of(10, 3, 32, 32), labels_of(10))
PY, ARCHIVE = "cifar-10-batches-py", "cifar-10-python.tar.gz"


def python2(value: dict[str, Any]) -> bytes:
    """A pickle as Python 2 and numpy 1 wrote it: keys are byte strings, numpy._core is numpy.core."""
    found = pickle.dumps(value, protocol=2).replace(b"numpy._core.multiarray", b"numpy.core.multiarray")
    for name in map(str.encode, value):
        text = pickle.BINUNICODE + struct.pack("<I", len(name)) + name
        found = found.replace(text, pickle.SHORT_BINSTRING + bytes([len(name)]) + name)
    return found


def batch(k: int) -> bytes:
    x, y = (COLORS[0][10 * k :][:10], COLORS[1][10 * k :][:10]) if k < 5 else COLORS[2:]
    return python2({"batch_label": f"batch {k}", "labels": y.tolist(), "data": x.reshape(10, -1)})


PICKLES = {name: batch(k) for k, name in enumerate(BATCHES)}
IN_PY = {f"{PY}/{name}": content for name, content in PICKLES.items()}


# -------------------------------------------------------------------- USPS


def thousandths(n: int) -> np.ndarray:
    """Gray values in thousandths, as both distributions write them."""
    return np.random.default_rng(n).integers(-1000, 1001, (n, 256))


def plain(n: int) -> bytes:
    """A digit and 256 values; the training file writes four decimals and ends its lines with a blank."""
    rows = zip(labels_of(n), thousandths(n) / 1000, strict=True)
    return "".join(f"{d:.4f} " + " ".join(f"{v:.4f}" for v in row) + " \n" for d, row in rows).encode()


def libsvm(n: int) -> bytes:
    rows = zip(labels_of(n), thousandths(n) / 1000, strict=True)
    lines = (f"{d + 1} " + " ".join(f"{k}:{v:g}" for k, v in enumerate(row, 1)) + " \n" for d, row in rows)
    return bz2.compress("".join(lines).encode())


def digits_of(n: int) -> np.ndarray:
    return ((thousandths(n) / 1000 + 1) / 2).astype(np.float32).reshape(-1, 1, 16, 16)


DIGITS: Arrays = (digits_of(20), labels_of(20), digits_of(10), labels_of(10))
PLAIN = {"zip.train": plain(20), "zip.test": plain(10)}
ZIPPED = {f"{name}.gz": gzip.compress(content) for name, content in PLAIN.items()}
LIBSVM = {"usps.bz2": libsvm(20), "usps.t.bz2": libsvm(10)}

# -------------------------------------------------------------------- all of them

#: Key -> arrays, and form -> files.
SETS: dict[str, tuple[Arrays, dict[str, Mapping[str, bytes]]]] = {
    "mnist": (GRAY, {"unpacked": IDX, "packed": packed(*NAMES), "mixed": packed(NAMES[0])}),
    "fashion-mnist": (GRAY, {"packed": packed(*NAMES)}),
    "cifar10": (
        COLORS,
        {
            "pickles": {**IN_PY, f"{PY}/batches.meta": b"not read"},
            "pickles-here": PICKLES,
            "archive": {ARCHIVE: tar_gz(dict(reversed(PICKLES.items())), f"{PY}/")},
        },
    ),
    "usps": (
        DIGITS,
        {
            "text": PLAIN,
            "gzip": ZIPPED,
            "mixed": {"zip.train": PLAIN["zip.train"], "zip.test.gz": ZIPPED["zip.test.gz"]},
            "libsvm": LIBSVM,
        },
    ),
}
PLACES = {
    "mnist": ("mnist", "MNIST/raw"),
    "fashion-mnist": ("fashion-mnist", "f-mnist", "FashionMNIST/raw"),
    "cifar10": ("cifar10", "cifar-10", "."),
    "usps": ("usps", "."),
}


@pytest.fixture(autouse=True)
def published(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of these tests are the published ones, except where the real ones are read."""
    if "real" in request.fixturenames:
        return
    for kind in (Mnist, FashionMnist):
        monkeypatch.setattr(kind, "published", [hashlib.sha256(content).hexdigest() for content in IDX.values()])
    for name, text in PLAIN.items():
        monkeypatch.setitem(usps.PLAIN, name, hashlib.sha256(text).hexdigest())
    md5 = {name: hashlib.md5(content).hexdigest() for name, content in (PICKLES | LIBSVM).items()}
    monkeypatch.setattr("torchvision.datasets.CIFAR10.train_list", [[name, md5[name]] for name in BATCHES[:5]])
    monkeypatch.setattr("torchvision.datasets.CIFAR10.test_list", [["test_batch", md5["test_batch"]]])
    parts = zip(("train", "test"), LIBSVM, strict=True)
    published = {part: ["an address", name, md5[name]] for part, name in parts}
    monkeypatch.setattr("torchvision.datasets.USPS.split_list", published)


def refused(key: str, path: Path) -> str:
    return refusal(lambda: read_files(key, path))


@pytest.mark.parametrize(
    ("key", "form", "place"), [(key, form, place) for key in SETS for form in SETS[key][1] for place in PLACES[key]]
)
def test_every_form_in_every_place_has_the_same_arrays_and_is_not_unpacked_to_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, form: str, place: str
) -> None:
    """A process that is killed while it prepares a copy leaves no temporary file."""
    arrays, forms = SETS[key]
    write_files(tmp_path / place, forms[form])
    for name in ("mkdtemp", "mkstemp"):
        monkeypatch.setattr(tempfile, name, lambda *given, **named: pytest.fail("a temporary file was made"))
    data = read_files(key, tmp_path)
    assert data.x.dtype == arrays[0].dtype
    for found, expected in zip((data.x, data.y, data.x_test, data.y_test), arrays, strict=True):
        assert np.array_equal(found, expected)  # type: ignore[arg-type]
    if key == "usps":
        assert (data.mean, data.std) == (
            (pytest.approx(float(arrays[0].mean()), abs=5e-5),),
            (pytest.approx(float(arrays[0].std()), abs=5e-5),),
        )
    if key == "cifar10":
        assert (data.mean, data.std) == ((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616))
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == len(forms[form])


@pytest.mark.parametrize(
    ("key", "files", "first"),
    [
        ("cifar10", SETS["cifar10"][1]["archive"] | IN_PY, f"{PY}/data_batch_1"),
        ("mnist", {f"mnist/{NAMES[1]}": b"", **{f"MNIST/raw/{n}": c for n, c in IDX.items()}}, f"MNIST/raw/{NAMES[0]}"),
    ],
)
def test_folders_come_before_archives_and_complete_ones_before_others(
    tmp_path: Path, key: str, files: dict[str, bytes], first: str
) -> None:
    write_files(tmp_path, files)
    assert source(key).locate(DataRoot(tmp_path, "a test"))[0] == tmp_path / first


@pytest.mark.parametrize(
    ("key", "files", "absent"),
    [
        ("mnist", IDX, NAMES[3]),
        ("cifar10", IN_PY, f"{PY}/data_batch_4"),
        *(("usps", files, name) for files in (ZIPPED, LIBSVM) for name in files),
        ("usps", {"zip.train": PLAIN["zip.train"], **LIBSVM}, "usps.bz2"),  # the rest is no pair
    ],
)
def test_what_is_missing_is_named_and_nothing_else(
    tmp_path: Path, key: str, files: dict[str, bytes], absent: str
) -> None:
    write_files(tmp_path / key, {name: content for name, content in files.items() if name != absent})
    folder, name = (tmp_path / key / absent).parent, Path(absent).name.removesuffix(".gz")
    name = "zip.test" if "zip.train" in files else name
    line = refused(key, tmp_path)
    assert f"{key}: no {name}" in line
    assert f" in {folder} " in line
    assert NAMES[0] not in line


def test_an_archive_without_a_batch_is_damaged(tmp_path: Path) -> None:
    write_files(tmp_path, {ARCHIVE: tar_gz({name: PICKLES[name] for name in BATCHES[:5]})})
    assert refused("cifar10", tmp_path).startswith(f"{tmp_path / ARCHIVE} is damaged (it has no test_batch")


OTHER = PICKLES | {"data_batch_1": python2({"labels": [7], "data": 0})}


@pytest.mark.parametrize(
    ("key", "file", "content", "inside", "right"),
    [
        *(("mnist", name, IDX[name][:-5], IDX[name][:-5], IDX[name]) for name in NAMES),
        ("usps", "zip.test", PLAIN["zip.test"][:-9], PLAIN["zip.test"][:-9], PLAIN["zip.test"]),
        ("usps", "zip.test.gz", gzip.compress(b"1"), b"1", PLAIN["zip.test"]),
        ("usps", "usps.t.bz2", bz2.compress(b"1"), bz2.compress(b"1"), LIBSVM["usps.t.bz2"]),
        ("cifar10", "data_batch_1", OTHER["data_batch_1"], OTHER["data_batch_1"], PICKLES["data_batch_1"]),
        ("cifar10", ARCHIVE, tar_gz(OTHER, f"{PY}/"), OTHER["data_batch_1"], PICKLES["data_batch_1"]),
    ],
    ids=itertools.count(),
)
def test_another_file_is_named_with_both_checksums_and_never_opened(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    key: str,
    file: str,
    content: bytes,
    inside: bytes,
    right: bytes,
) -> None:
    form = next(files for files in SETS[key][1].values() if file in files)
    write_files(tmp_path / key, {**form, file: content})
    monkeypatch.setattr(pickle, "loads", lambda *given, **named: pytest.fail("a pickle was opened"))
    kind = "md5" if key == "cifar10" or file.endswith("bz2") else "sha256"
    sums = [hashlib.new(kind, of).hexdigest() for of in (inside, right)]
    member = f" (member '{PY}/data_batch_1')" if file == ARCHIVE else ""
    assert refused(key, tmp_path) == (
        f"{tmp_path / key / file}{member} has the {kind} checksum {sums[0]}, the published file {sums[1]}; "
        f"get it again from {source(key).info.source}"
    )


def test_torchvision_reads_the_same_digits_up_to_its_256_gray_values(tmp_path: Path) -> None:
    from torchvision.datasets import USPS

    write_files(tmp_path, LIBSVM)
    data, theirs = read_files("usps", tmp_path), USPS(tmp_path, train=True)
    assert theirs.targets == data.y.tolist()
    assert np.abs(data.x[:, 0] * 255 - theirs.data).max() <= 1.001


@pytest.mark.parametrize(
    ("key", "shape", "train", "test"),
    [
        (
            "mnist",
            (1, 28, 28),
            [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949],
            [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009],
        ),
        ("fashion-mnist", (1, 28, 28), [6000] * 10, [1000] * 10),
        (
            "usps",
            (1, 16, 16),
            [1194, 1005, 731, 658, 652, 556, 664, 645, 542, 644],
            [359, 264, 198, 166, 200, 160, 170, 147, 166, 177],
        ),
    ],
)
def test_real_sets_have_the_published_counts_and_statistics(
    real: DataRoot, key: str, shape: tuple[int, ...], train: list[int], test: list[int]
) -> None:
    data = read_files(key, real.path)
    assert data.x_test is not None
    assert data.y_test is not None
    assert (data.x.shape, data.x_test.shape) == ((sum(train), *shape), (sum(test), *shape))
    assert (data.x.dtype, data.y.dtype) == (np.float32 if key == "usps" else np.uint8, np.int64)
    assert (np.bincount(data.y).tolist(), np.bincount(data.y_test).tolist()) == (train, test)
    scale = 1 if key == "usps" else 255
    assert (data.x.min(), data.x.max()) == (0, scale)
    mean, deviation = (float(of(data.x, dtype=np.float64)) / scale for of in (np.mean, np.std))
    assert (data.mean, data.std) == ((pytest.approx(mean, abs=5e-5),), (pytest.approx(deviation, abs=5e-5),))
    edge = data.x.mean(axis=(0, 1))
    assert edge[4:12, 4:12].mean() > edge[0].mean()
