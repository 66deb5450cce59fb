"""Where records are sent. Imports no mlflow."""

from __future__ import annotations

import os
import re
from pathlib import Path


def tracking_uri(results: Path, given: str | None) -> str:
    """``given``, else MLFLOW_TRACKING_URI, else the sqlite file ``<results>/mlflow.db``."""
    return given or os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{results.resolve() / 'mlflow.db'}"


def file_of(uri: str) -> Path | None:
    """The file of a sqlite database; None for anything else.

    >>> file_of("sqlite:////data/mlflow.db?timeout=5")
    PosixPath('/data/mlflow.db')
    """
    found = re.fullmatch(r"sqlite(\+\w+)?:///(?P<path>[^?]+).*", uri)
    return Path(found["path"]) if found is not None and ":memory:" not in uri else None
