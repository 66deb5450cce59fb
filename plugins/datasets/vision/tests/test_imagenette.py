"""Imagenette loads from folders and archive with the same arrays; a damaged image or another archive is named."""

from __future__ import annotations

import hashlib
import io
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_archives import tar_gz, write_files
from PIL import Image
from pubench_datasets_vision.imagenette import WNIDS
from refusals import read_files, refusal, source

from pubench_core.data.dataset import ClassData, DataRoot

INFO = source("imagenette").info
FOLDER = "imagenette2-160"
COUNTS = {"train": 2, "val": 1}


def colors(seed: int, width: int, height: int) -> Image.Image:
    """A smooth image: JPEG keeps it nearly as it is."""
    rng = np.random.default_rng(seed)
    coarse = rng.integers(0, 256, (4, 4, 3), dtype=np.uint8)
    return Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC)


def jpeg(image: Image.Image, kind: str = "JPEG") -> bytes:
    stream = io.BytesIO()
    image.save(stream, kind)
    return stream.getvalue()


def tree() -> dict[str, bytes]:
    """Path -> content, two training images and one test image of each class, of different shapes and modes."""
    files: dict[str, bytes] = {"noisy_imagenette.csv": b"path,noisy_labels_0\n"}
    for part, n in COUNTS.items():
        for index, wnid in enumerate(WNIDS):
            for k in range(n):
                image = colors(100 * index + k + (50 if part == "val" else 0), 160 + 20 * k, 200 if index % 2 else 160)
                image = image.convert("L") if index == 3 and k else image.convert("CMYK") if index == 4 else image
                files[f"{part}/{wnid}/{wnid}_{k}.JPEG"] = jpeg(image)
    return files


TREE = tree()
BAD = f"train/{WNIDS[2]}/{WNIDS[2]}_1.JPEG"


def packed(files: dict[str, bytes] = TREE, folder: str = f"{FOLDER}/") -> bytes:
    """In any order but that of the folders."""
    return tar_gz({name: files[name] for name in sorted(files, key=lambda name: name[::-1])}, folder)


def read(path: Path) -> ClassData:
    return read_files(INFO.key, path)


def refused(path: Path) -> str:
    return refusal(lambda: read(path))


def publish(monkeypatch: pytest.MonkeyPatch, archive: bytes) -> None:
    """The archive is the published one, of every size."""
    from torchvision import datasets

    md5 = hashlib.md5(archive).hexdigest()
    known = {size: (url, md5) for size, (url, _) in datasets.Imagenette._ARCHIVES.items()}
    monkeypatch.setattr(datasets.Imagenette, "_ARCHIVES", known)


@pytest.fixture(autouse=True)
def published(monkeypatch: pytest.MonkeyPatch) -> None:
    publish(monkeypatch, packed())


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> ClassData:
    root = tmp_path_factory.mktemp("imagenette")
    write_files(root / FOLDER, TREE)
    return read(root)


def test_images_are_cut_to_64_pixels_in_the_order_of_classes_and_gray_ones_have_three_channels(
    reference: ClassData,
) -> None:
    """The shorter side becomes 64 pixels, and the center is kept."""
    assert (reference.x.shape, reference.x.dtype) == ((20, 3, 64, 64), np.uint8)
    assert reference.y.tolist() == [index for index in range(10) for _ in range(2)]
    assert reference.y_test is not None
    assert reference.y_test.tolist() == list(range(10))
    with Image.open(io.BytesIO(TREE[f"train/{WNIDS[1]}/{WNIDS[1]}_0.JPEG"])) as image:
        assert image.size == (160, 200)
        small = np.asarray(image.resize((64, 80), Image.Resampling.BILINEAR))[8:72]
    assert np.array_equal(reference.x[2], small.transpose(2, 0, 1))
    assert np.array_equal(reference.x[7, 0], reference.x[7, 1])
    assert not np.array_equal(reference.x[6, 0], reference.x[6, 1])


HIDDEN = {f"train/{WNIDS[0]}/._{WNIDS[0]}_0.JPEG": b"resource fork", "train/.DS_Store": b"", ".x/y": b""}


@pytest.mark.parametrize("hidden", [{}, HIDDEN], ids=["", "hidden"])
@pytest.mark.parametrize(
    "place",
    [
        *(f"imagenette/{FOLDER}", "imagenette", "imagenette2-320"),
        *(f"{FOLDER}.tgz", f"imagenette/{FOLDER}.tgz", "imagenette2.tgz"),
    ],
)
def test_folders_and_archives_have_the_same_images_and_hidden_files_are_none(
    tmp_path: Path, place: str, hidden: dict[str, bytes], reference: ClassData, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = TREE | hidden
    publish(monkeypatch, packed(files))
    write_files(tmp_path / place, files) if "tgz" not in place else write_files(tmp_path, {place: packed(files)})
    before = {path.name for path in tmp_path.rglob("*")}
    data = read(tmp_path)
    for name in ("x", "y", "x_test", "y_test"):
        assert np.array_equal(getattr(data, name), getattr(reference, name))
    assert {path.name for path in tmp_path.rglob("*")} == before


def test_torchvision_finds_the_same_images_in_the_same_order_and_an_archive_comes_first(tmp_path: Path) -> None:
    from torchvision import datasets

    write_files(tmp_path / FOLDER, TREE)
    found, root = source(INFO.key), DataRoot(tmp_path, "a test")
    theirs = [datasets.Imagenette(tmp_path, split=part, size="160px") for part in COUNTS]
    assert [str(path) for path in found.locate(root)] == [path for part in theirs for path, _ in part._samples]
    assert [names[0] for names in theirs[0].classes] == list(INFO.classes)
    assert theirs[0].wnids == list(WNIDS)
    write_files(tmp_path, {f"{FOLDER}.tgz": packed()})
    assert found.locate(root) == (tmp_path / f"{FOLDER}.tgz",)


DAMAGE = {
    "empty": b"",
    "half": TREE[BAD][: len(TREE[BAD]) // 2],
    "png-garbled": jpeg(colors(1, 70, 70), "PNG")[:60] + b"\xff" * 40,
    "another-format": jpeg(colors(1, 70, 70), "BMP"),
}


@pytest.mark.parametrize("form", ["folder", "archive"])
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_image_is_named(tmp_path: Path, damage: str, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    files = TREE | {BAD: DAMAGE[damage]}
    publish(monkeypatch, packed(files))
    write_files(tmp_path / FOLDER, files) if form == "folder" else write_files(
        tmp_path, {f"{FOLDER}.tgz": packed(files)}
    )
    line = refused(tmp_path)
    assert BAD in line
    assert str(tmp_path) in line


def _as_a_file(part: Path) -> None:
    shutil.rmtree(part)
    part.touch()


@pytest.mark.parametrize(
    ("gone", "spoil", "said"),
    [
        ("val", shutil.rmtree, "no val/ in {folder} "),
        (f"train/{WNIDS[7]}", shutil.rmtree, "{folder}/train has no .jpeg file of n03425413 (gas pump)"),
        ("val", _as_a_file, "cannot read {folder}/val: "),
    ],
)
def test_a_part_or_a_class_that_is_missing_is_named(tmp_path: Path, gone: str, spoil: Any, said: str) -> None:
    write_files(tmp_path / FOLDER, TREE)
    spoil(tmp_path / FOLDER / gone)
    assert said.format(folder=tmp_path / FOLDER) in refused(tmp_path)


def test_an_archive_that_is_not_the_published_one_is_named(tmp_path: Path) -> None:
    write_files(tmp_path, {f"{FOLDER}.tgz": packed()[:-4]})
    line = refused(tmp_path)
    assert line.startswith(f"{tmp_path / f'{FOLDER}.tgz'} has the md5 checksum ")
    assert line.endswith(f"get it again from {INFO.source}")
