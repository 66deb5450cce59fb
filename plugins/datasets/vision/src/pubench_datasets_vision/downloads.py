"""Downloading with torchvision's downloaders, so that an interrupted download leaves no file under its final name."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path

from pubench_archives.archives import one_line

from pubench_core.data.dataset import DataRoot
from pubench_core.errors import RequestError
from pubench_core.plugins.info import DatasetInfo


def fetch_into_root(info: DatasetInfo, root: DataRoot, download: Callable[[Path], list[Path]]) -> None:
    """Puts files into ``<root>/<key>/``, replacing files of the same names there.

    ``download`` is given an empty folder and returns the files in it that are to be kept; it must have compared their
    checksums. They are moved when all are there. Raises RequestError where the root is offline, the network fails, a
    checksum differs, or the folder cannot be written.
    """
    folder = root.path / info.key
    if root.offline:
        raise RequestError(
            f"{info.key} is not here, and execution.offline forbids a download; leave that out, or get it from "
            f"{info.source} and put it into {folder}",
            field="execution.offline",
            value=True,
        )
    root.say(f"{info.key}: downloading to {folder}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".incoming-", dir=folder) as scratch:
            for file in download(Path(scratch)):
                file.replace(folder / file.name)
    # URLError is an OSError; torchvision reports a wrong checksum, or that every mirror failed, by RuntimeError
    except (OSError, HTTPException, RuntimeError) as error:
        raise RequestError(
            f"{info.key} could not be downloaded to {folder} ({one_line(error)}); try again, or get it from "
            f"{info.source} and put it there"
        ) from error
