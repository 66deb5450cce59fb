"""CIFAR-10 loads unpacked or packed, with the same arrays; only published pickles are opened."""

from __future__ import annotations

import hashlib
import pickle
import struct
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

    def test_folders_are_taken_before_archives(self, tmp_path: Path) -> None:
        for form, place, first in (("archive", tmp_path / "cifar10", ARCHIVE), ("pickled", tmp_path, "data_batch_1")):
            FORMS[form](place)
            assert source_of(INFO).locate(DataRoot(tmp_path, "a test"))[0].name == first


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    line = refused(tmp_path)
    for words in (ARCHIVE, str(tmp_path / "cifar10"), INFO.source):
        assert words in line
    write_folder(tmp_path / "cifar10" / PY, {name: PICKLED[name] for name in NAMES if name != "data_batch_4"})
    assert f"no data_batch_4 in {tmp_path / 'cifar10' / PY} " in refused(tmp_path)
    write_folder(tmp_path / "other" / "cifar10", {ARCHIVE: tar_gz({name: PICKLED[name] for name in NAMES[:5]})})
    archive = tmp_path / "other" / "cifar10" / ARCHIVE
    assert refused(tmp_path / "other").startswith(f"{archive} is damaged (it has no test_batch")


@pytest.mark.parametrize("packed", [False, True])
def test_a_pickle_that_is_not_published_is_named_with_both_sums_and_never_opened(
    tmp_path: Path, packed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    contents = PICKLED | {"data_batch_1": python2(batch_dict(7))}
    if packed:
        write_folder(tmp_path / "cifar10", {ARCHIVE: tar_gz(contents, f"{PY}/")})
    else:
        write_folder(tmp_path / PY, contents)
    monkeypatch.setattr(pickle, "loads", lambda *given, **named: pytest.fail("a pickle was opened"))
    found, published = (hashlib.md5(of["data_batch_1"]).hexdigest() for of in (contents, PICKLED))
    line = refused(tmp_path)
    assert line.startswith(str(tmp_path))
    assert f" has the md5 checksum {found}, the published file {published}; get it " in line
    assert "data_batch_1" in line
