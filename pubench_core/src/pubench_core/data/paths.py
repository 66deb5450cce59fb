"""Where the data of a run lie, from what the user said and the environment."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from ..specs import ExecutionSpec
from .dataset import DataRoot, Progress, silent, user_cache


def data_root(
    given: ExecutionSpec, say: Callable[[str], None] = lambda text: None, *, progress: Progress = silent
) -> DataRoot:
    """``data_root`` of the spec, else ``PUBENCH_DATA``, else ``data`` in the user's cache folder.

    The encoder is the spec's, else ``PUBENCH_ENCODER``, else found by the data set that needs it.
    """
    if given.data_root is not None:
        path, said_by = given.data_root, "execution.data_root"
    elif from_environment := os.environ.get("PUBENCH_DATA"):
        path, said_by = Path(from_environment), "PUBENCH_DATA"
    else:
        path, said_by = user_cache() / "data", "the user cache"
    from_environment = os.environ.get("PUBENCH_ENCODER")
    encoder = given.encoder or (Path(from_environment) if from_environment else None)
    return DataRoot(path, said_by, offline=given.offline, encoder=encoder, say=say, progress=progress)
