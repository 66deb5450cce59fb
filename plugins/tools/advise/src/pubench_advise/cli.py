"""``pubench advise``: the command."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pubench.words import InvalidRequest
from pubench_core.errors import RequestError
from pubench_core.results import plain_data

from .advise import advise
from .answer import Advice
from .goals import in_words

#: Argument of :func:`advise` -> flag.
_FLAGS = {"audited": "--audited", "goal": "--goal", "out": "--out", "prior": "--prior", "time": "--time"}
_COLUMNS = {"label": "--label-col", "labeled": "--label-col", "scheme": "--scheme", "drop": "--drop"}
_NAMED = re.compile(rf"(?<![\w.-])({'|'.join([*_FLAGS, *_COLUMNS])})=")
_RANGE = re.compile(r"(?P<low>[^.]*(?:\.\d*)?)\.\.(?P<high>.+)")


def prior_in(text: str | None) -> float | tuple[float, float] | None:
    """``0.3`` or ``0.2..0.4``. Raises RequestError for anything else."""
    if text is None:
        return None
    match = _RANGE.fullmatch(text.strip())
    try:
        return float(text) if match is None else (float(match["low"]), float(match["high"]))
    except ValueError:
        raise RequestError(f"--prior {text}: must be a number (0.3) or an interval (0.2..0.4)", field="prior") from None


@contextmanager
def flags_for_arguments() -> Iterator[None]:
    """A block whose errors name flags where the Python function names arguments."""
    try:
        yield
    except InvalidRequest as error:
        text = _NAMED.sub(lambda found: f"{ {**_FLAGS, **_COLUMNS}[found[1]] } ", str(error))
        raise RequestError(text, field=error.field, value=error.value, hint=error.hint) from None


def lines_of(advice: Advice) -> list[str]:
    """What the terminal shows: the answer, what to know first, the methods, and where everything is."""
    lines = [advice.headline, *(f"warning: {line}" for line in advice.warnings), ""]
    if advice.before is not None:
        was = advice.before["prior"]
        shown = "unknown" if was is None else f"{was[0]:.3f} to {was[1]:.3f}"
        lines.append(f"before the checked rows: {advice.before['answer']}, prior {shown}")
    interval = advice.prior.interval
    prior = "unknown" if interval is None else f"{interval[0]:.3f} to {interval[1]:.3f}"
    lines += [f"prior: {prior} ({advice.prior.source})", advice.scar.sentence, ""]
    width = max(len(one.name) for one in advice.compared)
    for one in advice.compared:
        held = f"held-out PAUC {one.pauc:.3f}"
        checked = (
            ""
            if one.checked is None
            else f"; checked rows {one.checked.difference:+.3f} ({one.checked.interval[0]:+.3f} to "
            f"{one.checked.interval[1]:+.3f})"
        )
        lines.append(f"  {one.name:<{width}}  {held}{checked}  {in_words(one.seconds)}")
    lines += [f"  {one.candidate.name:<{width}}  not fitted: {one.reason}" for one in advice.not_fitted]
    lines += ["", f"page: {advice.folder / 'advice.html'}", f"ranked rows: {advice.folder / 'ranked.csv'}"]
    if advice.sheet is not None and advice.audited is None:
        lines.append(f"rows to check: {advice.sheet} (then --audited {advice.sheet})")
    if advice.model is not None:
        lines.append(f"new rows: pubench predict {advice.model} new.csv")
    return lines


def advised(file: Path, own: dict[str, Any], prior: str | None, **asked: Any) -> Advice:
    """Carries the command out; ``own``: the options about columns, by argument of :func:`pubench.data`."""
    with flags_for_arguments():
        return advise(str(file), own.pop("label", None), prior=prior_in(prior), **own, **asked)


def plain(advice: Advice) -> dict[str, Any]:
    """What ``--format json`` prints."""
    return dict(plain_data(advice.to_dict()))
