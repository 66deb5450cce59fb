"""Measures that were derived from a record's scores after its run, kept next to it.

The record stays as its run left it. The file is a cache: one that is of another record, or damaged, is not read.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, ValidationError

from ..results import CriterionResult, Result, Stored
from ..specs.fields import short_hash
from .files import MEASURES, read_small, replace_text


class Later(Stored):
    """The content of ``measures.json``."""

    of: str = Field(description="hash of the run, its code and its scores")
    metrics: dict[str, str] = Field(description="metric -> hash of the code that measured it, as in the result")
    criteria: dict[str, CriterionResult] = Field(description="as in the result, with the later measures")
    warnings: tuple[str, ...] = Field(description="those of the result, with what failed")


def with_later(folder: Path, result: Result) -> Result:
    """A result with the measures that were derived from its scores since, if there are any."""
    try:
        later = Later.model_validate_json(read_small(folder / MEASURES))
    except (OSError, ValidationError):
        return result
    if later.of != _key(result) or later.criteria.keys() != result.criteria.keys():
        return result
    update = {"criteria": later.criteria, "metrics": later.metrics, "warnings": later.warnings}
    return result.model_copy(update=update)


def write_later(folder: Path, result: Result) -> None:
    """Keeps the measures of a result next to its record. Raises OSError."""
    later = Later(of=_key(result), metrics=result.metrics, criteria=result.criteria, warnings=result.warnings)
    replace_text(folder / MEASURES, later.model_dump_json() + "\n")


def _key(result: Result) -> str:
    return short_hash([result.run_id, result.code.hash, result.scores, result.finished_at])
