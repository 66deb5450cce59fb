"""Image sets that are folders: one per part, in it one per class. Names only; no image is opened here."""

from __future__ import annotations

from collections.abc import Callable
from os.path import isdir
from pathlib import Path

from pubench_archives.archives import reading

from pubench_core.errors import RequestError


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
