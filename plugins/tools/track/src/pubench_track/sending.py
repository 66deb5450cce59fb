"""``pubench track``: records that sinks lack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os.path import isdir
from pathlib import Path

from pubench_cli.console import err
from pubench_cli.installed import PACKAGES
from pubench_cli.machine import print_json
from pubench_cli.messages import said
from pubench_cli.visible import show
from pubench_core.errors import PubenchError, RecordError, RequestError
from pubench_core.records.store import RecordStore
from pubench_core.sinks import Sink, SinkError, SinkUnavailable, chosen_sinks, open_sink
from pubench_core.specs.run import ExecutionSpec, sinks_in


@dataclass(frozen=True)
class Sent:
    """Summary of :func:`send_missing` for a folder's records. ``left_out``: why the others were left out."""

    sent: int
    already_there: int
    left_out: tuple[PubenchError, ...] = ()


def send_missing(sink: Sink, results: Path) -> Sent:
    """Sends every record of a results folder that a sink lacks; one that cannot be read or sent is left out.

    Raises SinkUnavailable if the sink cannot be reached.
    """
    records = RecordStore(results).all()
    sent = there = 0
    left_out: list[PubenchError] = list(records.unreadable)
    for record in records.readable:
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


def track(results: Path, to: Sequence[str], uri: str | None, *, as_json: bool) -> None:
    """Sends the records that sinks lack; prints for each how many were sent and how many were there.

    ``to``: ``KEY`` or ``KEY=ADDRESS``; none means the automatic sinks, at ``uri``.
    """
    if not isdir(results):
        raise RequestError(f"no results folder {results}; name one with --results")
    sinks = sinks_in(to) or chosen_sinks(ExecutionSpec(tracking_uri=uri))
    if not sinks:
        raise RequestError(f"no sink is set up for every run; name one with --to, or pip install {PACKAGES['ui']}")
    done = []
    for sink in [open_sink(key, results, address) for key, address in sinks.items()]:
        sent = send_missing(sink, results)
        left_out = [said(reason) for reason in sent.left_out]
        for reason in left_out:
            err().print(f"left out: {reason}", markup=False)
        if not as_json:
            show(f"{sent.sent} sent, {sent.already_there} already there, {len(left_out)} left out: {sink.where}")
        done.append(
            {"sent": sent.sent, "already_there": sent.already_there, "left_out": left_out, "tracker": sink.where}
        )
    if as_json:
        print_json(done[0] if len(done) == 1 else done)
