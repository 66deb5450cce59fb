"""ADNI: classes go by name in every layout; tables without names, and damaged images, are refused in one line."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image
from pubench_datasets_vision.adni import class_of
from refusals import read_files, refusal

from pubench_core.data.dataset import ClassData

CLASSES = ("NonDemented", "VeryMildDemented", "ModerateDemented", "MildDemented")
#: The names of the public copy, in the order of its own labels.
HUB = ("Mild_Demented", "Moderate_Demented", "Non_Demented", "Very_Mild_Demented")
N = {"train": 3, "test": 2}  # images of each class


def scan(part: str, index: int, k: int, size: tuple[int, int] = (128, 128)) -> npt.NDArray[np.uint8]:
    """(height, width) gray values of the k-th image of a class."""
    seed = 1000 * index + 10 * k + (part == "test")
    return np.random.default_rng(seed).integers(0, 256, size[::-1], dtype=np.uint8)


def encoded(values: npt.NDArray[Any], kind: str = "PNG") -> bytes:
    stream = io.BytesIO()
    Image.fromarray(values).save(stream, kind)
    return stream.getvalue()


def write_folders(folder: Path, names: Sequence[str] = CLASSES, parts: Sequence[str] = ("train", "test")) -> None:
    for part, name_of_part in zip(N, parts, strict=True):
        for index, name in enumerate(names):
            (folder / name_of_part / name).mkdir(parents=True)
            for k in range(N[part]):
                (folder / name_of_part / name / f"{k}.png").write_bytes(encoded(scan(part, index, k)))


def hub_metadata(names: object = HUB) -> dict[bytes, bytes]:
    label = {"names": names, "_type": "ClassLabel"}
    features = {"info": {"features": {"image": {"_type": "Image"}, "label": label}}}
    return {b"huggingface": json.dumps(features).encode()}


def rows(part: str) -> list[tuple[bytes, int]]:
    """(image, class) with the classes taking turns, as in a shuffled table."""
    return [(encoded(scan(part, index, k)), index) for k in range(N[part]) for index in range(4)]


def hub_label(index: int) -> int:
    return [class_of(name) for name in HUB].index(index)


def write_table(
    path: Path, given: Sequence[tuple[bytes | None, Any]], metadata: dict[bytes, bytes] | None = None
) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    images = [None if image is None else {"bytes": image, "path": None} for image, _ in given]
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    table = pa.table({"image": pa.array(images, kind), "label": pa.array([label for _, label in given], pa.int64())})
    pq.write_table(table.replace_schema_metadata(hub_metadata() if metadata is None else metadata), path)


def write_hub(folder: Path) -> None:
    for part in N:
        write_table(
            folder / f"{part}-00000-of-00001-c08a401c53fe5312.parquet", [(i, hub_label(k)) for i, k in rows(part)]
        )


def read(path: Path, said: list[str] | None = None) -> ClassData:
    return read_files("adni", path, said)


def refused(path: Path) -> str:
    return refusal(lambda: read(path))


def assert_content(data: ClassData) -> None:
    """Every image of every class, whatever the order: it is known by its pixels."""
    for part, x, y in (("train", data.x, data.y), ("test", data.x_test, data.y_test)):
        assert x is not None
        assert y is not None
        assert (x.shape, x.dtype, y.dtype) == ((4 * N[part], 1, 128, 128), np.uint8, np.int64)
        expected = {scan(part, index, k).tobytes(): index for index in range(4) for k in range(N[part])}
        assert {image.tobytes(): int(label) for image, label in zip(x, y, strict=True)} == expected


class TestFolders:
    @pytest.mark.parametrize(
        ("names", "parts"),
        [
            (CLASSES, ("train", "test")),
            (("Non Demented", "Very Mild Demented", "Moderate Demented", "Mild Demented"), ("Train", "Test")),
            (("non-demented", "VERY-MILD-DEMENTED", "moderate_demented", "mildDemented"), ("train", "test")),
        ],
    )
    def test_every_spelling(self, tmp_path: Path, names: tuple[str, ...], parts: tuple[str, str]) -> None:
        write_folders(tmp_path / "adni", names, parts)
        assert_content(read(tmp_path))

    def test_rows_are_in_the_order_of_folders_and_others_are_made_gray_and_resized(self, tmp_path: Path) -> None:
        """Mean and deviation are those of the training images."""
        write_folders(tmp_path / "adni")
        first, other = tmp_path / "adni" / "train" / CLASSES[3], scan("train", 3, 0, (176, 208))
        (first / "0.png").write_bytes(encoded(other))
        gray = np.repeat(np.arange(0, 256, 2, dtype=np.uint8)[:, None], 128, axis=1)
        (first / "1.png").unlink()
        (first / "1.JPG").write_bytes(encoded(np.repeat(gray[:, :, None], 3, axis=2), "JPEG"))
        said: list[str] = []
        data = read(tmp_path, said)
        assert data.y.tolist() == [3, 3, 3, 2, 2, 2, 0, 0, 0, 1, 1, 1]
        expected = Image.fromarray(other).resize((128, 128), Image.Resampling.BILINEAR)
        assert np.array_equal(data.x[0, 0], np.asarray(expected))
        assert np.abs(data.x[1, 0].astype(int) - gray).max() <= 2
        assert said == [
            "adni: 1 of 20 images are not 128x128 and were resized",
            "adni: 12 training and 8 test images; the published set has 5,120 and 1,280",
        ]
        assert data.mean == (pytest.approx((data.x / 255).mean(), abs=5e-5),)
        assert data.std == (pytest.approx((data.x / 255).std(), abs=5e-5),)


class TestTables:
    @pytest.mark.parametrize("place", ["adni", "adni/data", "alzheimer-mri/data"])
    def test_each_table_goes_by_its_own_names(self, tmp_path: Path, place: str) -> None:
        write_hub(tmp_path / place)
        data = read(tmp_path)
        assert_content(data)
        assert data.y.tolist() == [0, 1, 2, 3] * 3  # its own labels would say 2, 3, 1, 0
        write_table(table_of_test(tmp_path / place), rows("test"), hub_metadata(CLASSES))
        assert_content(read(tmp_path))


BAD = f"test/{CLASSES[1]}/1.png"


def table_of_test(adni: Path) -> Path:
    return next(adni.glob("test-*"))


def _without_parts(adni: Path) -> None:
    for folder in (adni / "train").iterdir():
        folder.rename(adni / folder.name)
    shutil.rmtree(adni / "train")
    shutil.rmtree(adni / "test")


def _image(content: bytes) -> Callable[[Path], object]:
    return lambda adni: (adni / BAD).write_bytes(content)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda adni: shutil.rmtree(adni / "test"), "no test/ in {adni} "),
        (_without_parts, "has folders of classes, but not train/ and test/ above them"),
        (lambda adni: (adni / "train/Demented").mkdir(), "Demented is a folder of no known class"),
        (lambda adni: (adni / "train/non demented").mkdir(), "has two folders of one class, non demented and another"),
        (lambda adni: (adni / "Train").mkdir(), "adni has Train and train; keep one"),
        (_image(b""), f"{{adni}}/{BAD} is damaged (it is empty)"),
        (_image(encoded(scan("test", 1, 1)).replace(b"IDAT", b"IDXT")), f"{{adni}}/{BAD} is damaged ("),
        (_image(encoded(np.full((128, 128), 40_000, dtype=np.uint16))), f"{BAD} is an image of Pillow's mode I;16;"),
    ],
)
def test_folders_that_cannot_be_read_are_one_line(tmp_path: Path, spoil: Callable[[Path], object], said: str) -> None:
    adni = tmp_path / "adni"
    write_folders(adni)
    spoil(adni)
    assert said.format(adni=adni) in refused(tmp_path)


SPOILT: tuple[Callable[[Path], object], ...] = (
    lambda table: pq.write_table(pa.table({"label": [0]}).replace_schema_metadata(hub_metadata()), table),
    lambda table: pq.write_table(pa.table({"image": [{"path": ""}], "label": [0]}), table),
    lambda table: table.write_bytes(table.read_bytes()[:-400] + b"\xff" * 392 + table.read_bytes()[-8:]),
)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        *(
            ((None, metadata), " does not say which class a label means (")
            for metadata in (
                {b"pandas": b"{}"},
                {b"huggingface": b"{"},
                {b"huggingface": b'{"info": {"features": null}}'},
                hub_metadata(("Mild_Impairment", "Alzheimers", "Normal")),
                hub_metadata((*HUB[:3], HUB[2])),
                hub_metadata((*HUB, "Demented")),
                hub_metadata((0, 1, 2, 3)),
            )
        ),
        *(((b"x", label), f" is damaged (row 3 has label {label!r} and an image)") for label in (4, -1, None)),
        ((None, 0), " is damaged (row 3 has label 0 and no image)"),
        ((b"text", 0), " (row 3) is damaged (it is no JPEG or PNG image)"),
        (None, " is damaged (it has no row)"),
        *((spoil, "") for spoil in SPOILT),
    ],
)
def test_tables_that_cannot_be_read_are_one_line(tmp_path: Path, given: Any, said: str) -> None:
    """Metadata of all rows, a third row, no row at all, or another file."""
    write_hub(tmp_path / "adni")
    table = table_of_test(tmp_path / "adni")
    if callable(given):
        given(table)
    elif given is None:
        write_table(table, [])
    elif isinstance(given[1], dict):
        write_table(table, rows("test"), given[1])
    else:
        write_table(table, [*rows("test")[:2], given])
    assert refused(tmp_path).startswith(f"{table}{said}")
