"""Which records were found to answer a plan: kept next to it, so that thousands of them are not read each time."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from pydantic import Field, ValidationError

from pubench_core.records.files import MEASURES, RESULT, SCORES, replace_text
from pubench_core.results.result import Stored


class Answering(Stored):
    """The content of ``answering.json``: a cache, which may be deleted."""

    of: str = Field(description="hash of the plan, the code and the data that the records answer for")
    runs: dict[str, tuple[str, float]] = Field(description="run id -> stamp of its record, seconds that it took")

    @classmethod
    def read(cls, path: Path | None, of: str) -> Answering:
        """Stored answers for this plan, code and data; empty if the file is of others."""
        if path is not None:
            with suppress(OSError, ValidationError):
                found = cls.model_validate_json(path.read_bytes())
                if found.of == of:
                    return found
        return cls(of=of, runs={})

    def write(self, path: Path) -> None:
        """Keeps it; where that cannot be done, looking takes longer the next time."""
        with suppress(OSError):
            replace_text(path, self.model_dump_json() + "\n")


def stamp_of(folder: Path) -> str:
    """Changes whenever a record's result, its scores or the list of its files do; empty if there is no record."""
    place = str(folder)
    try:
        listed = ",".join(sorted(os.listdir(place)))
        return " ".join(
            [_state(f"{place}/{RESULT}"), *(_optional(f"{place}/{name}") for name in (SCORES, MEASURES)), listed]
        )
    except OSError:
        return ""


def _optional(path: str) -> str:
    try:
        return _state(path)
    except OSError:
        return ""


def _state(path: str) -> str:
    found = os.stat(path)
    return f"{found.st_mtime_ns} {found.st_size} {found.st_ino}"
