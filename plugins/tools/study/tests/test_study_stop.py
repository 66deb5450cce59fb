"""What Ctrl-C and SIGTERM do to a study, and what is said of it once."""

from __future__ import annotations

import os
import signal

import pytest
from pubench_study.scheduler import Stop


@pytest.mark.parametrize(
    ("signals", "everything", "said"),
    [
        ([signal.SIGINT], False, "those in work are waited for (Ctrl-C again gives them up)"),
        ([signal.SIGINT, signal.SIGINT], True, "those in work are waited for (Ctrl-C again gives them up)"),
        ([signal.SIGTERM], True, "those in work are given up"),
        ([signal.SIGTERM, signal.SIGINT], True, "those in work are given up"),
    ],
)
def test_a_signal_says_what_becomes_of_runs_in_work(signals: list[int], everything: bool, said: str) -> None:
    heard: list[str] = []
    stop = Stop(heard.append)
    before = signal.getsignal(signal.SIGTERM)
    with stop.listening():
        for number in signals:
            os.kill(os.getpid(), number)
    assert (stop.starting, stop.everything, stop.signal) == (True, everything, signals[-1])
    assert len(heard) == 1
    assert heard[0].startswith("no more runs are started")
    assert heard[0].endswith(said)
    assert signal.getsignal(signal.SIGTERM) is before
