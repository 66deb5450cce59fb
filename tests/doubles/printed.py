"""What a command printed, read."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pubench_core.results import Result

Done = subprocess.CompletedProcess[str]
#: What ``pubench``, ``here`` or ``within`` of a test is.
Run = Callable[..., Done]


def one_json(done: Done, code: int = 0) -> Any:
    """The one JSON value on stdout."""
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)


def result_of(done: Done) -> Result:
    """The result in the JSON that a run printed."""
    plain = one_json(done)
    del plain["record"], plain["reused"]
    return Result.model_validate(plain)


def folder_of(done: Done, home: Path) -> Path:
    """The record that the last line of a run in the folder ``home`` names."""
    assert done.returncode == 0, done.stderr
    return home / done.stdout.splitlines()[-1].removeprefix("record: ")
