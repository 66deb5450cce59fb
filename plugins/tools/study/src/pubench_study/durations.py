"""Lengths of time as texts."""

from __future__ import annotations

import re

from pubench_core.errors import RequestError, shown

_SECONDS = {"s": 1, "m": 60, "h": 3600}


def duration(seconds: float) -> str:
    """Seconds in words.

    >>> duration(42.2), duration(95), duration(1210), duration(7300)
    ('42 s', '1 min 35 s', '20 min', '2 h 2 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min" + (f" {whole % 60} s" if whole % 60 and whole < 600 else "")
    minutes = round(whole / 60)
    return f"{minutes // 60} h {minutes % 60} min"


def seconds_of(given: str | float, name: str, least: float = 0.0) -> float:
    """Seconds of ``90s``, ``1h30m``, ``1.5h`` or of a number of seconds. ``name``: of the value, for the error.

    Raises RequestError for anything else, and for fewer seconds than ``least``.

    >>> seconds_of("90s", "time"), seconds_of("1h30m", "time"), seconds_of("1.5h", "time"), seconds_of(7, "time")
    (90.0, 5400.0, 5400.0, 7.0)
    """
    found = -1.0
    if isinstance(given, (int, float)) and not isinstance(given, bool):
        found = float(given)
    elif re.fullmatch(r"\s*(\d+(\.\d+)?[smh])+\s*", str(given)):
        found = sum(float(number) * _SECONDS[unit] for number, unit in re.findall(r"([\d.]+)([smh])", str(given)))
    if not 0 <= least <= found:
        raise RequestError(
            f"{name} must be a time such as 90s, 10m or 1h30m, got {shown(given)}", field=name, value=given
        )
    return found
