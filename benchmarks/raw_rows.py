"""Raw rows, as every script here keeps them: appended to a CSV file, each with the commit and the machine.

:func:`result_of` reads what ``pubench run --format json`` printed.
"""

from __future__ import annotations

import csv
import json
import platform
import subprocess
from collections.abc import Mapping, Sequence
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


def keys(path: Path, names: Sequence[str]) -> set[tuple[str, ...]]:
    """The values of some columns of a file's rows, as texts; none if there is no file."""
    if not path.exists():
        return set()
    with path.open(newline="") as file:
        return {tuple(row[name] for name in names) for row in csv.DictReader(file)}


def origin(command: str) -> dict[str, str]:
    """The last columns of a row: commit, machine, and the command that measured it."""
    return {"commit": commit(), "machine": machine(), "command": command}


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
