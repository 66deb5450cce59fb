"""Estimates of the class prior, kept for the other runs on the same samples: a study asks for each once per method."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from ..results import Estimate

_MARK = "\n"


@dataclass(frozen=True)
class Kept:
    """``folder``: where estimates lie; ``code``: hash of the code of the estimator that is asked."""

    folder: Path
    code: str

    def of(self, content: str, make: Callable[[], Estimate]) -> Estimate:
        """The estimate on samples of this content; made, and kept, where there is none.

        ``seconds`` are those that it took when it was made. What was cut short or altered is made again; a cache that
        cannot be written costs the time of that.
        """
        path = self.folder / f"{hashlib.sha256(f'{self.code} {content}'.encode()).hexdigest()[:32]}.json"
        found = _read(path)
        if found is None:
            found = make()
            _write(path, found)
        return found


def _read(path: Path) -> Estimate | None:
    try:
        digest, _, text = path.read_text(encoding="utf-8").partition(_MARK)
        return Estimate.model_validate_json(text) if digest == _digest(text) else None
    except (OSError, UnicodeDecodeError, ValidationError):
        return None


def _write(path: Path, estimate: Estimate) -> None:
    text, aside = estimate.model_dump_json(), path.with_name(f"{path.name}.{os.getpid()}")
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            aside.write_text(f"{_digest(text)}{_MARK}{text}", encoding="utf-8")
            aside.replace(path)
        finally:
            aside.unlink(missing_ok=True)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
