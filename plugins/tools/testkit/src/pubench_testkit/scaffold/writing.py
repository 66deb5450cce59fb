"""Files written all or none."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from pubench_core.errors import RequestError


@contextmanager
def written(target: Path, files: Mapping[PurePosixPath, bytes]) -> Iterator[None]:
    """Inside the block, the new folder ``target`` holds the files; whatever the block raises, it is gone again.

    Folders above it that do not exist are made, and removed again likewise. Raises RequestError if the folder exists or
    cannot be written.
    """
    if os.path.lexists(target):
        raise RequestError(f"{target} exists already; choose another key or another folder")
    # Next to the target, so that the last step is a rename within one file system.
    aside = target.with_name(f".{target.name}.{os.getpid()}")
    above: list[Path] = []
    try:
        try:
            for place in reversed([place for place in target.parents if not place.exists()]):
                place.mkdir()
                above.append(place)
            aside.mkdir()
            for path, content in files.items():
                file = aside / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
            aside.rename(target)
        except OSError as error:
            reason = (error.strerror or type(error).__name__).lower()
            raise RequestError(f"{target} cannot be written: {reason}; choose another folder") from error
        yield
    except BaseException:  # an interrupt too: nothing half-made stays
        for folder in (aside, target):
            shutil.rmtree(folder, ignore_errors=True)
        for place in reversed(above):
            place.rmdir()
        raise
