"""Records as lines of a JSON Lines file. The writing is in :mod:`pubench_jsonl.sink`."""

from __future__ import annotations

from pubench_core import SinkInfo, hookimpl


@hookimpl
def pubench_sinks() -> list[SinkInfo]:
    return [
        SinkInfo(
            key="jsonl",
            name="JSON Lines",
            summary="A line for each record: its result.json.",
            load="pubench_jsonl.sink:JsonLines",
            address="a file; by default <results>/records.jsonl",
        )
    ]
