"""The one line with which a call or a command refuses what it is given."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from pubench_core.data.dataset import ClassData, DataRoot
from pubench_core.data.source import source_of
from pubench_core.errors import RequestError
from pubench_core.plugins.info import DatasetInfo


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


def read_files(info: DatasetInfo, path: Path, said: list[str] | None = None) -> ClassData:
    """The arrays of a data set whose files are under ``path``, read without a prepared copy."""
    root, source = DataRoot(path, "a test", say=[].append if said is None else said.append), source_of(info)
    data = source.read(source.locate(root), root)
    assert isinstance(data, ClassData)
    return data
