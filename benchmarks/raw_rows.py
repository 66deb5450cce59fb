"""Raw rows, as every script here keeps them: appended to a CSV file, each with the commit and the machine.

:func:`result_of` reads what ``pubench run --format json`` printed.
"""

from __future__ import annotations

import csv
import json
import platform
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # some scripts here measure something else and need no pubench
    from pubench_core.results import Result


def result_of(printed: str) -> Result:
    """The result in the JSON object that ``pubench run --format json`` printed."""
    from pubench_core.results import Result

    plain = json.loads(printed)
    del plain["record"], plain["reused"]  # where it is stored, and whether it was: about the call, not the result
    return Result.model_validate(plain)


def append(path: Path, row: Mapping[str, Any]) -> None:
    """Adds a row to a file; a new file gets the row's names as its header."""
    new = not path.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, list(row))
        if new:
            writer.writeheader()
        writer.writerow(row)


@cache
def commit() -> str:
    """What the checkout in the current folder is at, ``-dirty`` where it was changed."""
    words = ["git", "describe", "--always", "--dirty", "--abbrev=12"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


@cache
def machine() -> str:
    """System, architecture, model name of the processor."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "?")
    return f"{platform.system()} {platform.machine()}, {model}"
