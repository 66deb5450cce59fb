"""CIFAR-10 loads unpacked or packed, with the same arrays; only published pickles are opened."""

from __future__ import annotations

import hashlib
import pickle
import struct
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from made_archives import tar_gz
from pubench_datasets_vision import pubench_datasets
from refusals import read_files, refusal

from pubench_core.data.dataset import ClassData, DataRoot
from pubench_core.data.source import source_of

INFO = {info.key: info for info in pubench_datasets()}["cifar10"]
NAMES = ("data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5", "test_batch")
N = 10  # images in each batch

Pixels = npt.NDArray[np.uint8]


def pixels(batch: int) -> Pixels:
    return np.random.default_rng(batch).integers(0, 256, (N, 3072), dtype=np.uint8)


def labels(batch: int) -> list[int]:
    return [(k + batch) % 10 for k in range(N)]


def python2(value: dict[str, object]) -> bytes:
    """A pickle as Python 2 and numpy 1 wrote it: keys are byte strings, numpy._core is numpy.core."""
    found = pickle.dumps(value, protocol=2).replace(b"numpy._core.multiarray", b"numpy.core.multiarray")
    for name in map(str.encode, value):
        text = pickle.BINUNICODE + struct.pack("<I", len(name)) + name
        found = found.replace(text, pickle.SHORT_BINSTRING + bytes([len(name)]) + name)
    return found


def batch_dict(batch: int) -> dict[str, object]:
    return {"batch_label": f"training batch {batch + 1} of 5", "labels": labels(batch), "data": pixels(batch)}


PICKLED = {name: python2(batch_dict(k)) for k, name in enumerate(NAMES)}


def write_folder(folder: Path, contents: dict[str, bytes]) -> None:
    folder.mkdir(parents=True)
    for name, content in contents.items():
        (folder / name).write_bytes(content)


PY, ARCHIVE = "cifar-10-batches-py", "cifar-10-python.tar.gz"
FORMS: dict[str, Callable[[Path], None]] = {
    "pickled": lambda place: write_folder(place / PY, PICKLED | {"batches.meta": b"not read"}),
    "pickled-here": lambda place: write_folder(place, PICKLED),
    "archive": lambda place: write_folder(place, {ARCHIVE: tar_gz(dict(reversed(PICKLED.items())), f"{PY}/")}),
}


@pytest.fixture(autouse=True)
def published(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pickles of these tests are the published ones."""
    from torchvision.datasets import CIFAR10

    sums = [[name, hashlib.md5(content).hexdigest()] for name, content in PICKLED.items()]
    monkeypatch.setattr(CIFAR10, "train_list", sums[:5])
    monkeypatch.setattr(CIFAR10, "test_list", sums[5:])


def read(path: Path) -> ClassData:
    return read_files(INFO, path)


def refused(path: Path) -> str:
    return refusal(lambda: read(path))


class TestForms:
    @pytest.mark.parametrize("place", ["cifar10", "cifar-10", "."])
    @pytest.mark.parametrize("form", FORMS)
    def test_every_form_in_every_place_has_the_same_images(self, tmp_path: Path, form: str, place: str) -> None:
        root = tmp_path / "root"
        FORMS[form](root / place)
        data = read(root)
        assert data.x.dtype == np.uint8
        assert np.array_equal(data.x, np.concatenate([pixels(k) for k in range(5)]).reshape(-1, 3, 32, 32))
        assert data.y.tolist() == [label for k in range(5) for label in labels(k)]
        assert data.x_test is not None
        assert np.array_equal(data.x_test, pixels(5).reshape(-1, 3, 32, 32))
        assert data.y_test is not None
        assert data.y_test.tolist() == labels(5)
        assert (data.mean, data.std) == ((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616))

    def test_torchvision_reads_the_same_from_the_pickles(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        from torchvision.datasets import CIFAR10

        FORMS["pickled"](tmp_path)
        monkeypatch.setattr(CIFAR10, "_check_integrity", lambda self: True)
        monkeypatch.setattr(CIFAR10, "_load_meta", lambda self: None)
        data = read(tmp_path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numpy 2 on the old name of its module
            for train, x, y in ((True, data.x, data.y), (False, data.x_test, data.y_test)):
                theirs = CIFAR10(tmp_path, train=train)
                assert x is not None
                assert y is not None
                assert np.array_equal(theirs.data, x.transpose(0, 2, 3, 1))
                assert theirs.targets == y.tolist()

    def test_folders_are_taken_before_archives(self, tmp_path: Path) -> None:
        for form, place, first in (("archive", tmp_path / "cifar10", ARCHIVE), ("pickled", tmp_path, "data_batch_1")):
            FORMS[form](place)
            assert source_of(INFO).locate(DataRoot(tmp_path, "a test"))[0].name == first


class TestMissing:
    def test_nothing_at_all(self, tmp_path: Path) -> None:
        line = refused(tmp_path)
        for words in (ARCHIVE, str(tmp_path / "cifar10"), INFO.source):
            assert words in line

    def test_one_batch_of_six(self, tmp_path: Path) -> None:
        FORMS["pickled"](tmp_path / "cifar10")
        (tmp_path / "cifar10" / PY / "data_batch_4").unlink()
        assert f"no data_batch_4 in {tmp_path / 'cifar10' / PY} " in refused(tmp_path)


class TestDamaged:
    @pytest.mark.parametrize("packed", [False, True])
    def test_one_that_is_not_published_is_never_opened(
        self, tmp_path: Path, packed: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        contents = PICKLED | {"data_batch_1": python2(batch_dict(7))}
        if packed:
            write_folder(tmp_path / "cifar10", {ARCHIVE: tar_gz(contents, f"{PY}/")})
        else:
            write_folder(tmp_path / PY, contents)
        monkeypatch.setattr(pickle, "loads", lambda *given, **named: pytest.fail("a pickle was opened"))
        assert "data_batch_1" in refused(tmp_path)

    def test_the_line_names_the_file_and_both_sums(self, tmp_path: Path) -> None:
        write_folder(tmp_path / PY, PICKLED | {"data_batch_3": PICKLED["data_batch_4"]})
        sums = [hashlib.md5(PICKLED[name]).hexdigest() for name in ("data_batch_4", "data_batch_3")]
        assert refused(tmp_path).startswith(
            f"{tmp_path / PY / 'data_batch_3'} has the md5 checksum {sums[0]}, the published file {sums[1]}; get it "
        )

    def test_an_archive_that_lacks_a_batch(self, tmp_path: Path) -> None:
        contents = {name: PICKLED[name] for name in NAMES[:5]}
        write_folder(tmp_path / "cifar10", {ARCHIVE: tar_gz(contents)})
        assert refused(tmp_path).startswith(f"{tmp_path / 'cifar10' / ARCHIVE} is damaged (it has no test_batch")
