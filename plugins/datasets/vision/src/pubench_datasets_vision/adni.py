"""ADNI, as PU-Bench uses it: magnetic resonance images of four classes of dementia.

Files in ``<root>/adni/``: ``train-*.parquet`` and ``test-*.parquet`` as on a public hub (there, or in ``data/``),
else ``train/`` and ``test/`` with a folder of JPEG or PNG images per class. Classes go by name, never by the order of
folders or by the number in a table: both differ from copy to copy.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from os.path import isdir
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from pubench_archives.archives import damaged, reading

from pubench_core.data.dataset import ClassData, DataRoot
from pubench_core.data.source import DataSource
from pubench_core.errors import RequestError

from .images import channel_statistics, decoded
from .reading import compared, content, images_by_class, names_in

if TYPE_CHECKING:
    import pyarrow.parquet

PARTS = ("train", "test")
SIZE = (128, 128)
ENDINGS = (".jpg", ".jpeg", ".png")
CLASS_OF = {"nondemented": 0, "verymilddemented": 1, "moderatedemented": 2, "milddemented": 3}
_SHARD = re.compile(r"-(\d{5})-of-(\d{5})")


def class_of(name: str) -> int | None:
    """Class index of ``NonDemented``, ``Non_Demented``, ``non demented``, ...; None if it names no class."""
    return CLASS_OF.get(re.sub(r"[\s_-]+", "", name).lower())


class Adni(DataSource):
    """(5120, 1, 128, 128) uint8, gray, and a test part of 1,280.

    An image of another size is resized to 128 x 128 (bilinear, antialiased, not cropped), which is said. Mean and
    deviation are computed from the training images.
    """

    downloadable = False  # a person has to get it

    def locate(self, root: DataRoot) -> tuple[Path, ...]:
        """The tables of both parts, or every image of both in order; RequestError names what is absent."""
        folders = root.folders(self.info)
        for place in (p for folder in folders for p in (folder, folder / "data")):
            shards = {part: _shards(place, part) for part in PARTS}
            if any(shards.values()):
                absent = [f"{part}-*.parquet" for part in PARTS if not shards[part]]
                if absent:
                    raise root.missing(self.info, absent, [place])
                return tuple(path for part in PARTS for path in shards[part])
        for folder in (f for f in folders if isdir(f)):
            parts = {part: _part(folder, part) for part in PARTS}
            if any(parts.values()):
                absent = [f"{part}/" for part in PARTS if parts[part] is None]
                if absent:
                    raise root.missing(self.info, absent, [folder])
                return tuple(
                    image
                    for path in parts.values()
                    if path is not None
                    for image in images_by_class(path, class_of, self.info.classes, ENDINGS)
                )
            if any(class_of(name) is not None for name in names_in(folder)):
                raise RequestError(
                    f"{folder} has folders of classes, but not train/ and test/ above them: get the copy that is "
                    f"split into 5,120 and 1,280, or split it ({self.info.source})"
                )
        wanted = "train-*.parquet and test-*.parquet (or train/ and test/ with a folder per class)"
        raise root.missing(self.info, [wanted], folders)

    def read(self, files: tuple[Path, ...], root: DataRoot) -> ClassData:
        """See the class; RequestError names the table and row, or the image, that is damaged."""
        contents = _rows(files) if files[0].suffix == ".parquet" else _images(files)
        images: dict[str, list[npt.NDArray[np.uint8]]] = {part: [] for part in PARTS}
        classes: dict[str, list[int]] = {part: [] for part in PARTS}
        resized = 0
        with root.progress(f"reading {self.info.key}", 6_400) as advance:
            for part, index, place, found in contents:
                image = decoded(found, place, "L")
                if image.size != SIZE:
                    from PIL.Image import Resampling

                    image, resized = image.resize(SIZE, Resampling.BILINEAR), resized + 1
                images[part].append(np.asarray(image, dtype=np.uint8)[None])
                classes[part].append(index)
                advance(1)
        for part in PARTS:
            if not images[part]:
                raise damaged(next(f for f in files if f.name.startswith(part)), "it has no row")
        if resized:
            n = sum(map(len, images.values()))
            root.say(f"{self.info.key}: {resized:,} of {n:,} images are not 128x128 and were resized")
        x, x_test = (np.stack(images[part]) for part in PARTS)
        y, y_test = (np.array(classes[part], dtype=np.int64) for part in PARTS)
        mean, std = channel_statistics(x)
        data = ClassData(x=x, y=y, x_test=x_test, y_test=y_test, mean=mean, std=std)
        return compared(self.info, data, (5_120, 1_280), root)

    def fetch(self, root: DataRoot) -> None:
        """Always a RequestError: the set has no download that pubench may use."""
        raise RequestError(
            f"{self.info.key} cannot be downloaded by pubench: get {self.info.source}, and put its "
            f"train-*.parquet and test-*.parquet, or train/ and test/, into {root.path / self.info.key}"
        )


# -------------------------------------------------------------------- folders of images


def _part(folder: Path, part: str) -> Path | None:
    """``train`` or ``Train``; RequestError if there are both."""
    found = [name for name in names_in(folder) if name.lower() == part]
    if len(found) > 1:
        raise RequestError(f"{folder} has {' and '.join(found)}; keep one")
    return folder / found[0] if found else None


def _images(files: tuple[Path, ...]) -> Iterator[tuple[str, int, str, bytes]]:
    """(part, class, place, bytes) of every image."""
    for path in files:
        index = class_of(path.parent.name)
        assert index is not None  # as ``locate`` found it
        yield path.parent.parent.name.lower(), index, str(path), content(path)


# -------------------------------------------------------------------- tables


def _shards(place: Path, part: str) -> list[Path]:
    """``<part>-*.parquet`` in order; RequestError if, by their own numbering, some are absent."""
    found = sorted(place.glob(f"{part}-*.parquet"))
    numbered = [match for path in found if (match := _SHARD.search(path.name))]
    if numbered and {int(m[1]) for m in numbered} != set(range(int(numbered[0][2]))):
        raise RequestError(
            f"{place} has {len(found)} of the {int(numbered[0][2])} files {part}-*.parquet; get the others"
        )
    return found


def _rows(files: tuple[Path, ...]) -> Iterator[tuple[str, int, str, bytes]]:
    """(part, class, place, bytes) of every row."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for path in files:
        row = 0
        with reading(path, pa.ArrowException), path.open("rb") as stream, pq.ParquetFile(stream) as table:
            index_of = _classes(table, path)
            for batch in table.iter_batches(batch_size=16, columns=["image", "label"]):
                columns = (batch.column(name).to_pylist() for name in ("image", "label"))
                for image, label in zip(*columns, strict=True):
                    row += 1
                    place = f"{path} (row {row})"
                    if label is None or not 0 <= label < len(index_of):
                        raise damaged(place, f"label {label} is not one of 0 to {len(index_of) - 1}")
                    if image is None or not image["bytes"]:
                        raise damaged(place, "it has no image bytes")
                    yield path.name.split("-")[0], index_of[label], place, image["bytes"]


def _classes(table: pyarrow.parquet.ParquetFile, path: Path) -> list[int]:
    """Our class index of each label of a table, by the class names in its metadata."""
    from pyarrow import types

    schema = table.schema_arrow
    fields = {name: schema.field(name).type for name in schema.names}
    image, label = fields.get("image"), fields.get("label")
    encoded = image is not None and types.is_struct(image) and image.get_field_index("bytes") >= 0
    if not encoded or label is None or not types.is_integer(label):
        raise RequestError(
            f"{path} has no column 'image' of encoded images (a struct with 'bytes') next to one 'label' of integers; "
            "get another copy"
        )
    try:
        names = json.loads((schema.metadata or {})[b"huggingface"])["info"]["features"]["label"]["names"]
    except (KeyError, TypeError, ValueError) as error:
        raise RequestError(
            f"{path} does not say which class a label means: the metadata 'huggingface' with the names of the classes "
            "(info.features.label.names) is needed; get a copy that has it, or folders of images named by class"
        ) from error
    found = [class_of(name) if isinstance(name, str) else None for name in names] if isinstance(names, list) else []
    indices = [index for index in found if index is not None]
    if len(found) != len(CLASS_OF) or sorted(indices) != sorted(CLASS_OF.values()):
        raise RequestError(
            f"{path} has the classes {names!r}, expected Non_Demented, Very_Mild_Demented, Moderate_Demented and "
            "Mild_Demented; get another copy"
        )
    return indices
