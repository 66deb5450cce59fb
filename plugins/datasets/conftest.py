"""The real files of all data sets, for the tests that count what is in them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pubench_core.data.dataset import DataRoot


@pytest.fixture(scope="session")
def real(pubench_cache: str) -> DataRoot:
    """The data root that holds the real files."""
    given = os.environ.get("PUBENCH_DATA")
    if not given:
        pytest.skip("PUBENCH_DATA is not set: it names the folder that holds the real files")
    return DataRoot(Path(given), "PUBENCH_DATA", cache=Path(pubench_cache))
