"""Purpose of an answer: a ranking, decisions, or a review of so many rows; and how long it may take."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from pubench_core.errors import RequestError, shown

_TIME = re.compile(r"(?P<number>\d+(?:\.\d+)?)(?P<unit>s|m|h)")
_SECONDS = {"s": 1, "m": 60, "h": 3600}


@dataclass(frozen=True)
class Goal:
    """``budget``: how many unlabeled rows are to be reviewed; None unless that is the goal."""

    kind: Literal["rank", "classify", "review"] = "rank"
    budget: int | None = None

    def __str__(self) -> str:
        return self.kind if self.budget is None else f"{self.kind}:{self.budget}"


def goal_of(text: str) -> Goal:
    """``rank``, ``classify`` or ``review:200``. Raises RequestError for anything else."""
    kind, colon, number = text.partition(":")
    if kind in ("rank", "classify") and not colon:
        return Goal(kind)  # type: ignore[arg-type]
    if kind == "review" and number.isdecimal() and int(number) > 0:
        return Goal("review", int(number))
    raise RequestError(f"goal={shown(text)}: must be rank, classify or review:200", field="goal", value=text)


def seconds_of(text: str | float) -> float:
    """Seconds of ``90s``, ``10m``, ``1.5h`` or a number of seconds. Raises RequestError for anything else."""
    if isinstance(text, (int, float)) and not isinstance(text, bool) and text > 0:
        return float(text)
    match = _TIME.fullmatch(str(text).strip())
    if match is None or not float(match["number"]):
        raise RequestError(f"time={shown(text)}: must be a time such as 90s, 10m or 1h", field="time", value=text)
    return float(match["number"]) * _SECONDS[match["unit"]]


def in_words(seconds: float) -> str:
    """
    >>> in_words(5.2), in_words(95), in_words(4000)
    ('5 s', '1 min 35 s', '1 h 7 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min" + (f" {whole % 60} s" if whole % 60 and whole < 600 else "")
    minutes = round(whole / 60)
    return f"{minutes // 60} h {minutes % 60} min"
