"""``pubench track``: records that sinks lack."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from os.path import isdir
from pathlib import Path

from pubench.tools import COMMAND_PACKAGES
from pubench_core.errors import PubenchError, RecordError, RequestError
from pubench_core.records.store import RecordStore
from pubench_core.sinks import Sink, SinkError, SinkUnavailable, chosen_sinks, open_sink
from pubench_core.specs.run import ExecutionSpec, sinks_in

from .console import err
from .machine import print_json
from .messages import said
from .visible import show


@dataclass(frozen=True)
class Sent:
    """Summary of :func:`send_missing` for a folder's records."""

    sent: int
    already_there: int
    left_out: tuple[PubenchError, ...] = ()
    """Why the others were left out."""

    def __str__(self) -> str:
        return f"{self.sent} sent, {self.already_there} already there, {len(self.left_out)} left out"


def send_missing(sink: Sink, results: Path) -> Sent:
    """Sends every record of a results folder that a sink lacks; one that cannot be read or sent is left out.

    What a sink prints goes to stderr. Raises SinkUnavailable if the sink cannot be reached.
    """
    records, unreadable = RecordStore(results).all()
    sent = there = 0
    left_out: list[PubenchError] = [*unreadable]
    with redirect_stdout(sys.stderr):
        for record in records:
            try:
                if sink.has(record):
                    there += 1
                else:
                    sink.send(record)
                    sent += 1
            except SinkUnavailable:
                raise
            except (RecordError, SinkError) as error:
                left_out.append(error)
    return Sent(sent, there, tuple(left_out))


def send_everywhere(results: Path, to: Sequence[str] = ()) -> Iterator[tuple[str, Sent]]:
    """Sends the records that sinks lack; yields each sink's place and summary, and prints what was left out on stderr.

    ``to``: ``KEY`` or ``KEY=ADDRESS``; none means the automatic sinks. Raises RequestError without a folder
    or a sink.
    """
    if not isdir(results):
        raise RequestError(f"no results folder {results}; name one with --results")
    sinks = sinks_in(to) or chosen_sinks(ExecutionSpec())
    if not sinks:
        raise RequestError(
            f"no sink is set up for every run; name one with --to, or pip install {COMMAND_PACKAGES['ui']}"
        )
    for sink in [open_sink(key, results, address) for key, address in sinks.items()]:
        sent = send_missing(sink, results)
        for reason in sent.left_out:
            err().print(f"left out: {said(reason)}", markup=False)
        yield sink.where, sent


def track(results: Path, to: Sequence[str], *, as_json: bool) -> None:
    """Prints for each sink how many records were sent and how many were there (see :func:`send_everywhere`)."""
    done = []
    for where, sent in send_everywhere(results, to):
        if not as_json:
            show(f"{sent}: {where}")
        left_out = list(map(said, sent.left_out))
        done.append({"sent": sent.sent, "already_there": sent.already_there, "left_out": left_out, "tracker": where})
    if as_json:
        print_json(done[0] if len(done) == 1 else done)
