"""Downloading the files of a data set: an interrupted download leaves no file under its final name."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path

from pubench_core.data.dataset import DataRoot
from pubench_core.errors import RequestError
from pubench_core.plugins.info import DatasetInfo

from .archives import one_line


def fetch_into(folder: Path, info: DatasetInfo, root: DataRoot, download: Callable[[Path], list[Path]]) -> None:
    """Puts files into a folder, replacing files of the same names there.

    ``download`` is given an empty folder and returns the files in it that are to be kept; it must have compared their
    checksums. They are moved when all are there. Raises RequestError if the network fails, a checksum differs, or the
    folder cannot be written.
    """
    root.say(f"{info.key}: downloading to {folder}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".incoming-", dir=folder) as scratch:
            for file in download(Path(scratch)):
                file.replace(folder / file.name)
    # URLError is an OSError; a wrong checksum is a RuntimeError of torchvision, a ValueError of pooch
    except (OSError, HTTPException, RuntimeError, ValueError) as error:
        raise RequestError(
            f"{info.key} could not be downloaded to {folder} ({one_line(error)}); try again, or get it from "
            f"{info.source} and put it there"
        ) from error
