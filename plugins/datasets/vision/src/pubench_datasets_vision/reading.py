"""Steps of every loader of this package: open a file, name it if it is damaged, compare sizes at the end."""

from __future__ import annotations

from os.path import exists
from pathlib import Path

from pubench_archives.archives import damaged, opened, reading

from pubench_core.data.dataset import ClassData, DataRoot
from pubench_core.plugins.info import DatasetInfo


def present(folder: Path, name: str) -> Path | None:
    """``<folder>/<name>``, else ``<folder>/<name>.gz``; None if there is neither, or the folder cannot be entered."""
    return next((path for path in (folder / name, folder / f"{name}.gz") if exists(path)), None)


def content(path: Path) -> bytes:
    """The bytes of a file, unpacked if its name ends in ``.gz`` or ``.bz2``.

    Raises RequestError naming the file if it cannot be read, cannot be unpacked or is empty.
    """
    with reading(path), opened(path) as stream:
        found = stream.read()
    if not found:
        raise damaged(path, "it is empty")
    return found


def compared(info: DatasetInfo, data: ClassData, published: tuple[int, int], root: DataRoot) -> ClassData:
    """The data unchanged; it is said where the numbers of (training, test) images are not the published ones.

    Not an error: a part of a set is useful for trying things out, and some sets have revisions.
    """
    found = (len(data.x), len(data.x_test) if data.x_test is not None else 0)
    if found != published:
        root.say(
            f"{info.key}: {found[0]:,} training and {found[1]:,} test images; "
            f"the published set has {published[0]:,} and {published[1]:,}"
        )
    return data
