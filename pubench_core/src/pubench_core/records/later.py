"""Measures that were derived from a record's scores after its run, kept next to it.

The record stays as its run left it. The file is a cache: one that is of another record, or damaged, is not read.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from pydantic import Field, ValidationError

from ..results import Measure, Result, Stored
from ..specs.fields import short_hash
from .files import MEASURES, read_small, replace_text

#: part -> metric -> measure
_ByPart = dict[str, dict[str, Measure]]


class LaterCriterion(Stored):
    """Measures derived of the state that one criterion chose."""

    threshold: float | None = Field(description="decision at the prior, as in the result")
    measures: _ByPart = Field(description="by decisions at 0, as in the result")
    at_prior: _ByPart = Field(description="by decisions at the prior, as in the result")


class Later(Stored):
    """The content of ``measures.json``."""

    of: str = Field(description="hash of the run, its code and its scores")
    metrics: dict[str, str] = Field(description="metric -> hash of the code that measured it")
    criteria: dict[str, LaterCriterion] = Field(description="of every criterion that has a value")
    warnings: tuple[str, ...] = Field(description="those of the result, with what failed")


def with_later(folder: Path, result: Result) -> Result:
    """A result with the measures that were derived from its scores since, if there are any."""
    try:
        later = Later.model_validate_json(read_small(folder / MEASURES))
    except (OSError, ValidationError):
        return result
    known = {name for name, criterion in result.criteria.items() if not criterion.undefined}
    if later.of != _key(result) or later.criteria.keys() != known:
        return result
    criteria = {
        name: criterion.model_copy(
            update={
                "threshold": later.criteria[name].threshold,
                "measures": updated(criterion.measures, later.criteria[name].measures, later.metrics),
                "at_prior": updated(criterion.at_prior, later.criteria[name].at_prior, later.metrics),
            }
        )
        if name in known
        else criterion
        for name, criterion in result.criteria.items()
    }
    update = {"criteria": criteria, "metrics": {**result.metrics, **later.metrics}, "warnings": later.warnings}
    return result.model_copy(update=update)


def write_later(folder: Path, stored: Result, result: Result) -> None:
    """Keeps what ``result`` has besides ``stored``, the result as its run left it. Raises OSError."""
    older = any(one.threshold != result.criteria[name].threshold for name, one in stored.criteria.items())
    new = {name: code for name, code in result.metrics.items() if older or stored.metrics.get(name) != code}
    criteria = {
        name: LaterCriterion(
            threshold=one.threshold, measures=_only(one.measures, new), at_prior=_only(one.at_prior, new)
        )
        for name, one in result.criteria.items()
        if not one.undefined
    }
    later = Later(of=_key(stored), metrics=new, criteria=criteria, warnings=result.warnings)
    replace_text(folder / MEASURES, later.model_dump_json() + "\n")


def updated(old: _ByPart, new: _ByPart, names: Collection[str]) -> _ByPart:
    """``old`` with the measures of ``names`` as they are in ``new``."""
    kept = {part: {name: one for name, one in found.items() if name not in names} for part, found in old.items()}
    both = {part: {**kept.get(part, {}), **new.get(part, {})} for part in {**old, **new}}
    return {part: measures for part, measures in both.items() if measures}


def _only(measures: _ByPart, names: Collection[str]) -> _ByPart:
    kept = {part: {name: one for name, one in found.items() if name in names} for part, found in measures.items()}
    return {part: found for part, found in kept.items() if found}


def _key(result: Result) -> str:
    return short_hash([result.run_id, result.code.hash, result.scores, result.finished_at])
