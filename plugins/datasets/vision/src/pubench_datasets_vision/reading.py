"""Steps of the loaders of this package: find files, name one that is damaged, compare sizes at the end."""

from __future__ import annotations

from collections.abc import Callable
from os.path import exists, isdir
from pathlib import Path

from pubench_archives.archives import damaged, opened, reading

from pubench_core.data.dataset import ClassData, DataRoot
from pubench_core.errors import RequestError
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


def names_in(folder: Path) -> list[str]:
    """Names in a folder, sorted; hidden files (``.DS_Store``, ``._photo.jpg``) are left out.

    Raises RequestError if it cannot be listed.
    """
    with reading(folder):
        return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


def images_by_class(
    part: Path, class_of: Callable[[str], int | None], classes: tuple[str, ...], endings: tuple[str, ...]
) -> list[Path]:
    """The image files of one part (training, test), class folders and files in the order of their names.

    ``class_of``: class index of a folder's name, None if it is none. ``endings``: of file names, in lower case. A
    folder is opened once and no file is: thousands of paths take milliseconds. Raises RequestError if a folder is of
    no class or of the same as another, or a class has no image.
    """
    found: list[Path] = []
    folder_of: dict[int, str] = {}
    for name in names_in(part):
        if not isdir(part / name):
            continue
        index = class_of(name)
        if index is None:
            raise RequestError(
                f"{part / name} is a folder of no known class; the classes are {', '.join(classes)}: move it elsewhere"
            )
        if index in folder_of:
            raise RequestError(f"{part} has two folders of one class, {folder_of[index]} and {name}; keep one")
        folder_of[index] = name
        images = [part / name / file for file in names_in(part / name) if file.lower().endswith(endings)]
        if not images:
            raise RequestError(f"{part / name} has no {' or '.join(endings)} file; get the images again")
        found += images
    absent = [name for index, name in enumerate(classes) if index not in folder_of]
    if absent:
        raise RequestError(f"{part} has no folder for {', '.join(absent)}; get the whole set")
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
