"""Step 3: where the class prior lies, by what is known, what was checked, and what estimators say."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from pubench_core.errors import PubenchError
from pubench_core.randomness import stream
from pubench_core.records.files import replace_text
from pubench_core.specs.fields import short_hash

from ..prior_estimates import estimate_prior
from .evidence import Audited
from .fits import FitRows

#: Estimators read at most so many rows, a random part of the table.
MOST_ROWS = 10_000


@dataclass(frozen=True)
class Estimated:
    """Answers of the estimators. ``interval``: of those that count; ``summary``: in a sentence; ``each``: one row per
    estimator: key, prior, low, high, why it is left out.
    """

    interval: tuple[float, float] | None
    summary: str
    each: tuple[tuple[str, float | None, float | None, float | None, str], ...]


@dataclass(frozen=True)
class Prior:
    """``interval``: where π of the population lies, None if nothing is known. ``source``: in words.

    ``assumes_scar``: whether it rests on labels being a random draw of the positives. ``warnings``: what contradicts.
    """

    interval: tuple[float, float] | None
    source: str
    assumes_scar: bool
    estimated: Estimated | None = None
    warnings: tuple[str, ...] = ()

    @property
    def middle(self) -> float | None:
        """Prior for methods that cannot do without one."""
        return None if self.interval is None else sum(self.interval) / 2


def prior_of(given: tuple[float, float] | None, audited: Audited | None, estimated: Estimated | None) -> Prior:
    """Prior: checked rows outweigh a given value, and both outweigh estimators, which assume SCAR."""
    found = None if estimated is None or estimated.interval is None else _inside(estimated.interval)
    if audited is not None and audited.result.prior.low is not None and audited.result.prior.high is not None:
        checked = _inside((audited.result.prior.low, audited.result.prior.high))
        both = None if given is None else (max(given[0], checked[0]), min(given[1], checked[1]))
        if given is not None and (both is None or both[0] > both[1]):
            line = f"checked rows say {_said(checked)}, the given prior is {_said(given)}: the checked rows count"
            return Prior(checked, "checked rows", False, estimated, (line,))
        source = "checked rows" if both is None else "given, narrowed by checked rows"
        return Prior(both or checked, source, False, estimated)
    if given is not None:
        apart = found is not None and (found[1] < given[0] or found[0] > given[1])
        line = (
            f"estimators that assume SCAR say {_said(found)}, outside of the given {_said(given)}: labels are not "
            "SCAR, or the given prior is wrong"
            if apart and found is not None
            else ""
        )
        return Prior(given, "given", False, estimated, (line,) if line else ())
    if found is not None:
        return Prior(found, "estimated", True, estimated)
    return Prior(None, "unknown: no estimator counts here, and none was given", True, estimated)


def _inside(interval: tuple[float, float]) -> tuple[float, float]:
    """The interval without 0 and 1, which an estimate can reach and no prior can be."""
    low, high = (min(max(end, 0.001), 0.999) for end in interval)
    return low, high


def _said(interval: tuple[float, float]) -> str:
    return f"{interval[0]:.3g} to {interval[1]:.3g}"


def estimates(rows: FitRows, kept: Path, *, thorough: bool, progress: Callable[[str], None]) -> Estimated:
    """The installed estimators on the features, at most :data:`MOST_ROWS` rows of them; kept once they are made."""
    path = kept / f"prior-{short_hash([rows.table.notes, rows.scheme, rows.seed, thorough, len(rows.x)])}.json"
    try:
        stored = json.loads(path.read_text("utf-8"))
        return Estimated(
            None if stored["interval"] is None else (stored["interval"][0], stored["interval"][1]),
            stored["summary"],
            tuple(tuple(one) for one in stored["each"]),
        )
    except (OSError, ValueError, KeyError):
        pass
    part = stream(rows.seed, "rows for priors").permutation(len(rows.x))[:MOST_ROWS]
    x = rows.x[part]
    known = ~np.isnan(x).all(axis=0)
    try:
        found = estimate_prior(
            x[:, known], rows.labeled[part], thorough=thorough, scheme=rows.scheme, seed=rows.seed, progress=progress
        )
    except PubenchError as error:
        return Estimated(None, f"no estimate: {error}", ())
    each = tuple(
        (one.key, one.prior, *(one.prior_interval or (None, None)), one.left_out or one.note) for one in found.estimates
    )
    made = Estimated(found.interval, found.summary, each)
    kept.mkdir(parents=True, exist_ok=True)
    replace_text(path, json.dumps(asdict(made)))
    return made
