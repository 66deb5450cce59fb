"""A case of an experiment, as ``python -m benchmarks.studies`` measures it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Case:
    """Rows that are measured together."""

    key: Mapping[str, object]
    """Columns of one of its rows, by which it is found in the file."""
    rows: Callable[[], Iterable[Mapping[str, Any]]]
    """Measures them."""
