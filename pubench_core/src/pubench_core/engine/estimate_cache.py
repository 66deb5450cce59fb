"""Estimates of the class prior, kept for the other runs on the same samples: a study asks for each once per method."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from ..data.checksum_cache import keep, kept
from ..results import Estimate


@dataclass(frozen=True)
class EstimateCache:
    """``folder``: where estimates lie; ``code``: hash of the code of the estimator that is asked."""

    folder: Path
    code: str

    def of(self, content: str, make: Callable[[], Estimate]) -> Estimate:
        """The estimate on samples of this content; made, and kept, if there is none.

        ``seconds`` are those that it took when it was made. What was cut short or altered is made again; a cache that
        cannot be written costs the time of that.
        """
        path = self.folder / f"{hashlib.sha256(f'{self.code} {content}'.encode()).hexdigest()[:32]}.json"
        found = _read(path)
        if found is None:
            found = make()
            keep(path, found.model_dump_json().encode())
        return found


def _read(path: Path) -> Estimate | None:
    content = kept(path)
    try:
        return None if content is None else Estimate.model_validate_json(content)
    except ValidationError:  # of another version
        return None
