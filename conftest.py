"""Imported before any test: the folders ``pubench_core/`` and ``pubench_cli/`` have the names of the packages in them,
and pytest, which names a test module by its folders, must not take the folder for the package.
"""

import os
from collections.abc import Iterator

import pytest
import torch

import pubench_cli
import pubench_core

__all__ = ["pubench_cli", "pubench_core"]


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """Small tensors on a busy machine: a second thread costs more than it brings."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session", autouse=True)
def pubench_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Prepared copies and downloads of the tests go to a folder of this session, never to the user's cache."""
    before = os.environ.get("PUBENCH_CACHE")
    os.environ["PUBENCH_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    yield os.environ["PUBENCH_CACHE"]
    if before is None:
        del os.environ["PUBENCH_CACHE"]
    else:
        os.environ["PUBENCH_CACHE"] = before
