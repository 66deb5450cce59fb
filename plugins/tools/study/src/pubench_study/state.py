"""Status of each planned run, read from stored results."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, median_high
from typing import Any, Literal

from pubench_core.data.dataset import DataRoot
from pubench_core.data.source import source_of
from pubench_core.data.store import digest_now, located
from pubench_core.data.table_reader import table_reader
from pubench_core.errors import Cause, PluginError, RecordError, RequestError
from pubench_core.plugins.info import DatasetInfo
from pubench_core.plugins.registry import Registry
from pubench_core.records.record import read_failure
from pubench_core.records.requirements import lacks, unmeasured
from pubench_core.records.store import RecordStore, failures_in
from pubench_core.results import Failure
from pubench_core.specs.fields import short_hash

from .cache import StudyCache, stamp_of
from .plan import PlannedRun
from .study_file import StudyFolder

#: ``done``: a record answers for it. ``to measure``: one does except for measures that its scores give. ``failed``: it
#: failed or was refused by the code that would run now.
Status = Literal["done", "to measure", "failed", "missing"]
#: Causes that belong to the machine and not to the run: it is tried again, until it has failed so this many times.
OF_THE_MACHINE: frozenset[Cause] = frozenset({"worker-died", "out-of-memory"})
MOST_DEATHS = 2


@dataclass(frozen=True)
class RunState:
    """A planned run and its status."""

    run: PlannedRun
    status: Status
    why: str = ""
    """Why no result answers."""
    seconds: float | None = None
    """That its record took, if one answers."""
    failure: Failure | None = None
    """The latest by the code that would run now."""
    unreadable: bool = False
    """Whether there is a record that cannot be read."""


@dataclass
class Digests:
    """Digests of data as they are here, each computed when it is first asked for.

    ``absent``: data set -> why it is not here.
    """

    registry: Registry
    root: DataRoot
    absent: dict[str, str] = field(default_factory=dict)
    _known: dict[tuple[str, str], str | None] = field(default_factory=dict)

    def of(self, run: PlannedRun, stored: Mapping[str, str]) -> str:
        """Digests of the arrays that a run reads; if they are absent, the parts of a record's code (``stored``)."""
        if run.own_table:
            return ""
        key = (run.data, run.preprocess)
        if key not in self._known:
            source = source_of(self.registry.find(DatasetInfo, run.data))
            try:
                files = located(source, self.root)
                self._known[key] = digest_now(source, files, self.root, preprocess=run.preprocess)
            except (RequestError, PluginError) as error:
                self.absent[run.data], self._known[key] = str(error), None
        found = self._known[key]
        return stored.get(f"data {run.data}", "") if found is None else found

    def check(self, runs: Sequence[PlannedRun]) -> dict[str, str]:
        """Data set or table -> why its files are not here as they were planned, of all that these runs read."""
        found: dict[str, str] = {}
        seen: set[tuple[Any, ...]] = set()
        for run in runs:
            own = run.resolved["data"].get("own") or {}
            name = str(run.facts.get("data", run.data)) if own else run.data
            tables = ((own.get("path"), own.get("sha256")), (own.get("test"), own.get("test_sha256")))
            if name in found or (name, tables) in seen:
                continue
            seen.add((name, tables))
            try:
                if not own:
                    located(source_of(self.registry.find(DatasetInfo, run.data)), self.root)
                for path, sha256 in tables:
                    if path is not None:
                        self._refuse_changed(path, sha256)
            except (RequestError, PluginError) as error:
                found[name] = str(error)
        return found

    def _refuse_changed(self, path: str, sha256: Any) -> None:
        now = table_reader(self.registry).checksum(Path(path))
        if now != sha256:
            planned = f"sha256 {now[:16]}, planned {str(sha256)[:16]}"
            raise RequestError(
                f"{path} changed since the plan was frozen ({planned}); restore it, or freeze the plan again"
            )


def states_of(
    runs: Sequence[PlannedRun],
    cache: StudyCache,
    store: RecordStore,
    digests: Digests,
    keep: StudyFolder | None = None,
) -> list[RunState]:
    """The state of every run, in this order.

    ``keep``: folder of the whole plan, whose cache keeps which records were found to answer; one whose files are as
    they were then is not read again while code and data are the same.
    """
    failures = failures_in(store.root)
    stamps = {run.run_id: stamp_of(str(store.folder(run.run_id))) for run in runs}
    here = {(r.data, r.preprocess, digests.of(r, {})) for r in runs if stamps[r.run_id] and not r.own_table}
    data = short_hash(sorted(here))
    before = cache.answering if keep is not None and cache.data == data else {}
    answering: dict[str, tuple[str, float]] = {}
    states = []
    for run in runs:
        stamp, known = stamps[run.run_id], before.get(run.run_id)
        if known is not None and known[0] == stamp:
            state = RunState(run, "done", seconds=known[1])
        else:
            state = state_of(run, cache, store, digests, failures.get(run.run_id, ()))
        if state.status == "done" and state.seconds is not None and stamp:
            answering[run.run_id] = (stamp, state.seconds)
        states.append(state)
    if keep is not None and answering != before:
        cache.model_copy(update={"data": data, "answering": answering}).write(keep)
    return states


def state_of(
    run: PlannedRun, cache: StudyCache, store: RecordStore, digests: Digests, failures: Sequence[Path]
) -> RunState:
    """The state of one run. ``failures``: folders of its failures, oldest first."""
    why, record, unreadable = "", None, False
    try:
        record = store.find(run.run_id)
    except RecordError as error:
        why, unreadable = str(error), True
    if record is not None:
        stored = record.result.code
        now = cache.code(run, digests.of(run, stored.parts))
        asked = cache.requirements(run)
        if stored.hash != now.hash:
            why = f"the stored result is of other code (changed: {', '.join(now.changed_since(stored))})"
        elif missing := list(lacks(asked, record)):
            why = f"the stored record has {', '.join(missing)}"
        else:
            todo = unmeasured(asked, record.result)
            return RunState(run, "to measure" if todo else "done", seconds=record.result.seconds.total)
    read = [failure for failure in map(read_failure, failures) if failure is not None]
    # those of the code that would run now, with the data as they were
    same = [f for f in read if cache.code(run, f.code.parts.get(f"data {run.data}", "")).hash == f.code.hash]
    if not same:
        return RunState(run, "missing", why, unreadable=unreadable)
    reason = f"{same[-1].cause}: {same[-1].reason}"
    if all(failure.cause in OF_THE_MACHINE for failure in same) and len(same) < MOST_DEATHS:
        return RunState(run, "missing", why or reason, failure=same[-1], unreadable=unreadable)
    return RunState(run, "failed", reason, failure=same[-1])


# -------------------------------------------------------------------- how long


@dataclass
class Expected:
    """Seconds that runs are expected to take: medians of recorded ones, of the nearest kind there is."""

    _seen: dict[tuple[str, ...], list[float]] = field(default_factory=dict)

    @classmethod
    def of(cls, states: Sequence[RunState]) -> Expected:
        """Expected time, from finished runs."""
        found = cls()
        for state in states:
            if state.seconds is not None:
                found.add(state.run, state.seconds)
        return found

    def add(self, run: PlannedRun, seconds: float) -> None:
        """One more that is known."""
        for kind in _kinds(run):
            self._seen.setdefault(kind, []).append(seconds)

    def is_measured(self, run: PlannedRun) -> bool:
        """Whether a run of the same row on the same data was recorded; otherwise :meth:`seconds` is a guess."""
        return _kinds(run)[0] in self._seen

    def seconds(self, run: PlannedRun) -> float | None:
        """None where nothing like it was recorded."""
        return next((median_high(self._seen[kind]) for kind in _kinds(run) if kind in self._seen), None)

    def total(self, runs: Sequence[PlannedRun]) -> float | None:
        """Seconds of all these runs; one that nothing is known of counts as the mean of the others. None if all are."""
        seconds = [self.seconds(run) for run in runs]
        known = [value for value in seconds if value is not None]
        if not known:
            return None if runs else 0.0
        return sum(known) + fmean(known) * (len(seconds) - len(known))


def _kinds(run: PlannedRun) -> list[tuple[str, ...]]:
    return [("row", run.row, run.data), ("data", run.data), ("method", run.method)]


def by_length(runs: Sequence[PlannedRun], expected: Expected) -> list[PlannedRun]:
    """Longest first, those of which nothing is known before them, and those that join others after them."""

    def order(run: PlannedRun) -> tuple[bool, float]:
        seconds = expected.seconds(run)
        return run.spec.validation.joint, -math.inf if seconds is None else -seconds

    return sorted(runs, key=order)
