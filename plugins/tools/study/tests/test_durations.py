"""Lengths of time as texts."""

from __future__ import annotations

import pytest
from pubench_study.durations import seconds_of

from pubench_core.errors import RequestError


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("10m", 600), ("1.5h", 5400), ("1h30m", 5400), (7, 7)])
def test_times(text: str | float, seconds: float) -> None:
    assert seconds_of(text, "time") == seconds


@pytest.mark.parametrize("text", ["0s", "m", "ten", -1, True, "10 d", float("nan")])
def test_other_times_are_refused(text: str | float) -> None:
    with pytest.raises(RequestError, match="time must be a time such as 90s, 10m or 1h30m, got"):
        seconds_of(text, "time", least=1)
