"""USPS loads from both text formats with the same arrays, and the real set has the documented counts."""

from __future__ import annotations

import bz2
import gzip
import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from pubench_datasets_vision import pubench_datasets, usps
from refusals import read_files, refusal
from torchvision.datasets import USPS

from pubench_core.data.dataset import ClassData, DataRoot

INFO = {info.key: info for info in pubench_datasets()}["usps"]
N_TRAIN, N_TEST = 20, 10

Thousandths = npt.NDArray[np.int64]


def gray(n: int) -> Thousandths:
    """Gray values in thousandths, as both distributions write them."""
    return np.random.default_rng(n).integers(-1000, 1001, (n, 256))


def plain(values: Thousandths, digits: list[int]) -> bytes:
    """A digit and 256 values; the training file writes four decimals and ends its lines with a blank."""
    return "".join(
        f"{d:.4f} " + " ".join(f"{v / 1000:.4f}" for v in row) + " \n" for d, row in zip(digits, values, strict=True)
    ).encode()


def libsvm(values: Thousandths, digits: list[int]) -> bytes:
    return "".join(
        f"{d + 1} " + " ".join(f"{k}:{v / 1000:g}" for k, v in enumerate(row, 1)) + " \n"
        for d, row in zip(digits, values, strict=True)
    ).encode()


def digits(n: int) -> list[int]:
    return [k % 10 for k in range(n)]


def contents(write: Callable[[Thousandths, list[int]], bytes]) -> tuple[bytes, bytes]:
    return write(gray(N_TRAIN), digits(N_TRAIN)), write(gray(N_TEST), digits(N_TEST))


PLAIN, LIBSVM = contents(plain), contents(libsvm)
FORMS: dict[str, dict[str, bytes]] = {
    "gzip": {"zip.train.gz": gzip.compress(PLAIN[0]), "zip.test.gz": gzip.compress(PLAIN[1])},
    "text": {"zip.train": PLAIN[0], "zip.test": PLAIN[1]},
    "mixed": {"zip.train": PLAIN[0], "zip.test.gz": gzip.compress(PLAIN[1])},
    "libsvm": {"usps.bz2": bz2.compress(LIBSVM[0]), "usps.t.bz2": bz2.compress(LIBSVM[1])},
}


def write(folder: Path, files: dict[str, bytes]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)


def read(path: Path) -> ClassData:
    return read_files(INFO, path)


def refused(path: Path) -> str:
    return refusal(lambda: read(path))


@pytest.fixture(autouse=True)
def published(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of these tests are the published ones, except where the real ones are read."""
    if "real" in request.fixturenames:
        return
    for name, text in zip(("zip.train", "zip.test"), PLAIN, strict=True):
        monkeypatch.setitem(usps.PLAIN, name, hashlib.sha256(text).hexdigest())
    sums = {
        part: ["an address", name, hashlib.md5(FORMS["libsvm"][name]).hexdigest()]
        for part, name in zip(("train", "test"), FORMS["libsvm"], strict=True)
    }
    monkeypatch.setattr(USPS, "split_list", sums)


class TestForms:
    @pytest.mark.parametrize("place", ["usps", "."])
    @pytest.mark.parametrize("form", FORMS)
    def test_every_form_has_the_same_images(self, tmp_path: Path, form: str, place: str) -> None:
        write(tmp_path / place, FORMS[form])
        data = read(tmp_path)
        expected = ((gray(N_TRAIN) / 1000 + 1) / 2).astype(np.float32).reshape(-1, 1, 16, 16)
        assert data.x.dtype == np.float32
        assert np.array_equal(data.x, expected)
        assert data.y.tolist() == digits(N_TRAIN)
        assert data.x_test is not None
        assert data.x_test.shape == (N_TEST, 1, 16, 16)
        assert data.mean == (pytest.approx(float(expected.mean()), abs=5e-5),)
        assert data.std == (pytest.approx(float(expected.std()), abs=5e-5),)

    def test_torchvision_reads_the_same_up_to_its_256_gray_values(self, tmp_path: Path) -> None:
        write(tmp_path, FORMS["libsvm"])
        data, theirs = read(tmp_path), USPS(tmp_path, train=True)
        assert theirs.targets == data.y.tolist()
        assert np.abs(data.x[:, 0] * 255 - theirs.data).max() <= 1.001


def test_nothing_at_all(tmp_path: Path) -> None:
    line = refused(tmp_path)
    for words in ("zip.train.gz", "usps.t.bz2", str(tmp_path / "usps"), INFO.source):
        assert words in line


@pytest.mark.parametrize(
    ("files", "absent"),
    [
        *((FORMS["gzip"], name) for name in FORMS["gzip"]),
        *((FORMS["libsvm"], name) for name in FORMS["libsvm"]),
        ({"zip.train": PLAIN[0], "usps.t.bz2": FORMS["libsvm"]["usps.t.bz2"]}, "zip.test"),  # no pair
    ],
)
def test_one_of_two_files_is_missing(tmp_path: Path, files: dict[str, bytes], absent: str) -> None:
    write(tmp_path / "usps", {name: content for name, content in files.items() if name != absent})
    assert f"no {absent.removesuffix('.gz')} in {tmp_path / 'usps'} " in refused(tmp_path)


@pytest.mark.parametrize(
    ("form", "name", "other"),
    [
        ("text", "zip.test", PLAIN[1][:-9]),
        ("gzip", "zip.test.gz", gzip.compress(LIBSVM[1])),
        ("libsvm", "usps.t.bz2", bz2.compress(PLAIN[1])),
    ],
)
def test_a_file_that_is_not_the_published_one_is_one_line(tmp_path: Path, form: str, name: str, other: bytes) -> None:
    write(tmp_path / "usps", FORMS[form] | {name: other})
    line = refused(tmp_path)
    assert line.startswith(f"{tmp_path / 'usps' / name} has the {'md5' if form == 'libsvm' else 'sha256'} checksum ")
    assert "get it again from the data of The Elements of Statistical Learning" in line


def test_the_real_set_has_the_documented_digits_darker_at_the_edge(real: DataRoot) -> None:
    data = read(real.path)
    assert data.x_test is not None
    assert data.y_test is not None
    assert (data.x.shape, data.x_test.shape) == ((7291, 1, 16, 16), (2007, 1, 16, 16))
    assert (data.x.min(), data.x.max()) == (0, 1)
    assert np.bincount(data.y).tolist() == [1194, 1005, 731, 658, 652, 556, 664, 645, 542, 644]
    assert np.bincount(data.y_test).tolist() == [359, 264, 198, 166, 200, 160, 170, 147, 166, 177]
    mean = data.x.mean(axis=(0, 1))
    assert mean[4:12, 4:12].mean() > 2 * mean[0].mean()
