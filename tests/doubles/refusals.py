"""The one line with which a call or a command refuses what it is given."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from pubench_core.data.dataset import ClassData, DataRoot
from pubench_core.data.source import DataSource, source_of
from pubench_core.errors import RequestError
from pubench_core.plugins.info import DatasetInfo
from pubench_core.plugins.registry import registry


def refusal(call: Callable[[], object], error: type[Exception] = RequestError) -> str:
    """The message of the error that a call raises: one line."""
    with pytest.raises(error) as caught:
        call()
    line = str(caught.value)
    assert "\n" not in line
    return line


def error_line(done: subprocess.CompletedProcess[str], code: int = 2) -> str:
    """The only line that a refused command printed."""
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert done.stderr.endswith("\n")
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ")
    return line


def source(address: str) -> DataSource:
    """The source of an installed data set, or of a task of one."""
    return source_of(registry().find(DatasetInfo, address))


def read_files(key: str, path: Path, said: list[str] | None = None) -> ClassData:
    """The arrays of a data set whose files are under ``path``, read without a prepared copy."""
    root, found = DataRoot(path, "a test", say=[].append if said is None else said.append), source(key)
    data = found.read(found.locate(root), root)
    assert isinstance(data, ClassData)
    return data
