"""ADNI, as PU-Bench uses it: magnetic resonance images of four classes of dementia.

Files in ``<root>/adni/``: ``train-*.parquet`` and ``test-*.parquet`` as on a public hub (there, or in ``data/``),
else ``train/`` and ``test/`` with a folder of JPEG or PNG images per class. Classes go by name, never by the order of
folders or by the number in a table: both differ from copy to copy. Copies differ in their bytes, too: no checksum.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from os.path import isdir
from pathlib import Path

import numpy as np
import numpy.typing as npt
from pubench_archives.archives import content, damaged, reading, shards

from pubench_core.data.dataset import ClassData, DataRoot
from pubench_core.data.source import DataSource
from pubench_core.errors import RequestError

from .images import channel_statistics, compared, decoded, images_by_class, names_in

PARTS = ("train", "test")
SIZE = (128, 128)
ENDINGS = (".jpg", ".jpeg", ".png")
CLASS_OF = {"nondemented": 0, "verymilddemented": 1, "moderatedemented": 2, "milddemented": 3}


def class_of(name: str) -> int | None:
    """Class index of ``NonDemented``, ``Non_Demented``, ``non demented``, ...; None if it names no class."""
    return CLASS_OF.get(re.sub(r"[\s_-]+", "", name).lower())


class Adni(DataSource):
    """(5120, 1, 128, 128) uint8, gray, and a test part of 1,280.

    An image of another size is resized to 128 x 128 (bilinear, antialiased, not cropped), which is said. Mean and
    deviation are computed from the training images.
    """

    def locate(self, root: DataRoot) -> tuple[Path, ...]:
        """The tables of both parts, or every image of both in order; RequestError names what is absent."""
        folders = root.folders(self.info)
        for place in (p for folder in folders for p in (folder, folder / "data")):
            tables = {part: shards(place, part) for part in PARTS}
            if any(tables.values()):
                if absent := [f"{part}-*.parquet" for part in PARTS if not tables[part]]:
                    raise root.missing(self.info, absent, [place])
                return tuple(path for part in PARTS for path in tables[part])
        for folder in (f for f in folders if isdir(f)):
            names = names_in(folder)
            parts = {part: [folder / name for name in names if name.lower() == part] for part in PARTS}
            if two := next((paths for paths in parts.values() if len(paths) > 1), None):
                raise RequestError(f"{folder} has {' and '.join(path.name for path in two)}; keep one")
            if any(parts.values()):
                if absent := [f"{part}/" for part in PARTS if not parts[part]]:
                    raise root.missing(self.info, absent, [folder])
                return tuple(
                    image
                    for (path,) in parts.values()
                    for image in images_by_class(path, class_of, self.info.classes, ENDINGS)
                )
            if any(class_of(name) is not None for name in names):
                raise RequestError(
                    f"{folder} has folders of classes, but not train/ and test/ above them: get the copy that is "
                    f"split into 5,120 and 1,280, or split it ({self.info.source})"
                )
        wanted = "train-*.parquet and test-*.parquet (or train/ and test/ with a folder per class)"
        raise root.missing(self.info, [wanted], folders)

    def read(self, files: tuple[Path, ...], root: DataRoot) -> ClassData:
        """See the class; RequestError names the table, its row, or the image that is damaged."""
        images: dict[str, list[npt.NDArray[np.uint8]]] = {part: [] for part in PARTS}
        classes: dict[str, list[int]] = {part: [] for part in PARTS}
        resized = 0
        with root.progress(f"reading {self.info.key}", 6_400) as advance:
            for part, index, place, found in _rows(files) if files[0].suffix == ".parquet" else _images(files):
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


def _images(files: tuple[Path, ...]) -> Iterator[tuple[str, int, str, bytes]]:
    """(part, class, place, bytes) of every image."""
    for path in files:
        index = class_of(path.parent.name)
        assert index is not None  # as ``locate`` found it
        yield path.parent.parent.name.lower(), index, str(path), content(path)


def _rows(files: tuple[Path, ...]) -> Iterator[tuple[str, int, str, bytes]]:
    """(part, class, place, bytes) of every row; a table's metadata name the classes that its labels mean."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for path in files:
        with reading(path, pa.ArrowException, LookupError), path.open("rb") as stream:
            table = pq.read_table(stream, columns=["image", "label"])
            rows = zip(
                table["image"].combine_chunks().field("bytes").to_pylist(), table["label"].to_pylist(), strict=True
            )
        try:
            names = json.loads(table.schema.metadata[b"huggingface"])["info"]["features"]["label"]["names"]
            index_of = [index for name in names if (index := class_of(name)) is not None]
        except (LookupError, TypeError, ValueError):
            names, index_of = None, []
        if names is None or len(names) != len(CLASS_OF) or sorted(index_of) != sorted(CLASS_OF.values()):
            raise RequestError(
                f"{path} does not say which class a label means (it names {names!r}): its metadata 'huggingface' must "
                "name Non_Demented, Very_Mild_Demented, Moderate_Demented and Mild_Demented "
                "(info.features.label.names); get a copy that does, or folders of images named by class"
            )
        for row, (image, label) in enumerate(rows, start=1):
            if image is None or label not in range(len(index_of)):
                raise damaged(path, f"row {row} has label {label!r} and {'an' if image else 'no'} image")
            yield path.name.split("-")[0], index_of[label], f"{path} (row {row})", image
