"""``pubench study run``: who carries the runs out, and what is shown meanwhile."""

from __future__ import annotations

import re
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from pubench_cli.console import err, out
from pubench_cli.machine import print_json
from pubench_cli.messages import said, say
from pubench_core.errors import RequestError, counted
from pubench_core.plugins.info import ExecutorInfo
from pubench_core.plugins.registry import load, registry
from pubench_core.records.store import RecordStore
from pubench_core.specs import ExecutionSpec

from ..durations import duration, seconds_of
from ..executors import Wanted
from ..export import FRAME, write_frame
from ..lines import Lines, PrintableRun, what
from ..scheduler import Pool, Stop, Study, Summary, conduct
from ..state import Expected, states_of
from ..task import Ended, Orders, Progressed
from .study import Looked, StudyRequest, absent, counts, looked, of_failed, prepared


@dataclass(frozen=True)
class RunOptions:
    """The options of the command that say how."""

    jobs: int
    gpus: str | None
    slots_per_gpu: int
    device: str
    threads: int
    timeout: str | None
    executor: str
    address: str | None
    retry_failed: bool
    max_time: str | None
    soft: bool
    track: bool
    replan: bool
    encoder: Path | None
    offline: bool


def run_study(request: StudyRequest, how: RunOptions, *, as_json: bool) -> int:
    """Carries out what is missing; the exit code."""
    if any(map(of_failed, request.only)):
        how = replace(how, retry_failed=True)
    devices = _devices(how)
    executor = registry().find(ExecutorInfo, how.executor)
    if how.address is not None and not executor.address:
        raise RequestError(f"--address {how.address}: the executor {executor.key} takes no address; leave it out")
    if executor.here:
        _refuse_absent_devices(devices, how)
    max_seconds = None if how.max_time is None else seconds_of(how.max_time, "--max-time")
    started = time.monotonic()
    folder, plan, _ = prepared(request, replan=how.replan)
    store = RecordStore(folder.results)
    store.check_writable()
    if how.soft:
        store.lease()
    found = looked(request, folder, plan)
    wanted = ["missing", "to measure", *(["failed"] if how.retry_failed else [])]
    todo = [state for state in found.states if state.status in wanted]
    if todo:
        refuse_absent(found)
    number = counts(found)
    failed = f", {number['failed']:,} failed earlier" if number["failed"] and not how.retry_failed else ""
    say(f"{plan.name}: {counted(len(found.states), 'run')}, {number['done']:,} done, {len(todo):,} to run{failed}")
    summary = Summary()
    stop = Stop(say)
    if todo:
        pool: Pool = load(executor)(_wanted(request, how, devices, found))
        with display(len(todo)) as audience, stop.listening():
            study = Study(
                store, found.code, found.digests, Expected.of(found.states), pool, audience, max_seconds=max_seconds
            )
            summary = conduct(study, todo, stop)
    chosen = plan.model_copy(update={"runs": tuple(state.run for state in found.states)})
    there = states_of(chosen, found.code, store, found.digests) if todo else found.states
    done = sum(state.status == "done" for state in there)
    code = _told(found, done, summary, stop, time.monotonic() - started, request, how, as_json=as_json)
    for line in write_frame(folder.results / FRAME):
        say(said(line))
    if how.track:
        from pubench_cli.track import send_everywhere

        for where, sent in send_everywhere(request.results):
            say(f"{sent}: {where}")
    return code


def _told(
    found: Looked,
    done: int,
    summary: Summary,
    stop: Stop,
    seconds: float,
    request: StudyRequest,
    how: RunOptions,
    *,
    as_json: bool,
) -> int:
    """Says how it ended; the exit code. ``done``: runs whose records are in the folder now."""
    before = 0 if how.retry_failed else found.count("failed")
    failed, frame = len(summary.failed) + before, found.folder.results / FRAME
    gone = max(0, found.count("done") + len(summary.finished) + len(summary.found) - done)
    if as_json:
        print_json(
            {
                "name": found.plan.name,
                "runs": len(found.states),
                "done": done,
                "trained": len(summary.finished),
                "found": len(summary.found),
                "failed": failed,
                "left": len(summary.left) + len(summary.unstored),
                "why_left": summary.why_left,
                "seconds": round(seconds, 1),
                "frame": str(frame),
            }
        )
    else:
        lost = f", {len(summary.unstored)} not stored" if summary.unstored else ""
        lost += f", {gone} no longer in {found.folder.results}" if gone else ""
        left = f", {len(summary.left)} left ({summary.why_left})" if summary.left else ""
        out().print(
            f"{found.plan.name}: {done} of {counted(len(found.states), 'run')} done "
            f"({len(summary.finished)} trained now), {failed} failed{lost}{left}; {duration(seconds)}; {frame}",
            markup=False,
            soft_wrap=True,
        )
    for run, reason in summary.unstored:
        say(f"not stored: {run}: {reason}")
    if failed:
        say(f"'pubench study failures {found.plan.name} --results {request.results}' lists what failed")
    if summary.left or summary.unstored or gone:
        say("the same command again goes on with what is left")
    if stop.starting and summary.left:
        return 128 + (stop.signal or signal.SIGINT)
    return 1 if failed or summary.left or summary.unstored or gone else 0


# -------------------------------------------------------------------- options


def _devices(how: RunOptions) -> list[str]:
    """Where each run that is in work at once computes. Raises RequestError for what names no device."""
    if how.gpus is None:
        try:
            ExecutionSpec(device=how.device)
        except ValidationError:
            raise RequestError(
                f"--device must be auto, cpu, cuda or cuda:NUMBER, got {how.device!r}",
                field="execution.device",
                value=how.device,
            ) from None
        return [how.device] * how.jobs
    if not re.fullmatch(r"\d{1,3}(,\d{1,3})*", how.gpus):
        raise RequestError(f"--gpus must be numbers with commas between (0,1), got {how.gpus}")
    if how.jobs > 1:
        raise RequestError("--jobs and --gpus exclude each other; --slots-per-gpu says how many runs share a GPU")
    numbers = list(dict.fromkeys(how.gpus.split(",")))
    return [f"cuda:{number}" for _ in range(how.slots_per_gpu) for number in numbers]


def _refuse_absent_devices(devices: Sequence[str], how: RunOptions) -> None:
    """RequestError where this machine lacks a GPU that runs are to compute on: every one of them would be refused."""
    from pubench_core.engine.machine import device_here

    for device in dict.fromkeys(name for name in devices if name.startswith("cuda")):
        try:
            device_here(device)
        except RequestError as error:
            asked = f"--gpus {how.gpus}" if how.gpus is not None else f"--device {device}"
            raise RequestError(f"{asked}: {str(error).partition(': ')[2]}", field=error.field) from None


def refuse_absent(found: Looked) -> None:
    """RequestError where files of a data set are not here: its runs could not even be refused."""
    missing = absent(found)
    if missing:
        reason = next(iter(missing.values()))
        here = [k for k in dict.fromkeys(str(s.run.facts.get("data")) for s in found.states) if k not in missing]
        others = f"; --only data={','.join(here)} runs the others" if here else ""
        names = ", ".join(missing)
        raise RequestError(f"{names} {'is' if len(missing) == 1 else 'are'} not here{others}. {said(reason)}")


def _wanted(request: StudyRequest, how: RunOptions, devices: Sequence[str], found: Looked) -> Wanted:
    timeout = None if how.timeout is None else seconds_of(how.timeout, "--timeout")
    orders = Orders(request.results, request.data_root, how.encoder, how.offline, how.threads, timeout=timeout)
    share = 0.0 if how.gpus is None else 1 / how.slots_per_gpu
    return Wanted(orders, devices, share, found.folder.logs, how.address)


# -------------------------------------------------------------------- what is shown


@dataclass
class Bars(Lines):
    """A bar over all runs, and a line for each that is in work."""

    progress: Progress = field(default_factory=Progress)
    _overall: TaskID | None = None
    _lines: dict[str, TaskID] = field(default_factory=dict)

    def begin(self, name: str) -> None:
        """Shows the bar over all runs."""
        self._overall = self.progress.add_task(name, total=self.total, said="")

    def started(self, run: PrintableRun) -> None:
        """A line for it."""
        self._lines[run.run_id] = self.progress.add_task(f"  {run}", total=None, said="")

    def progressed(self, run: PrintableRun, event: Progressed) -> None:
        """How far it is."""
        if run.run_id in self._lines:
            self.progress.update(self._lines[run.run_id], total=event.of, completed=event.epoch, said=event.stage)

    def ended(self, run: PrintableRun, event: Ended, expected_left: float | None) -> None:
        """The bar moves; what has no result stays to be read."""
        self.done += 1
        if run.run_id in self._lines:
            self.progress.remove_task(self._lines.pop(run.run_id))
        if event.status not in ("finished", "found"):
            self.failed += 1
            self.progress.console.print(f"{run}: {said(what(event))}", markup=False)
        left = f"about {duration(expected_left)} left" if expected_left else ""
        failed = f"{self.failed} failed" if self.failed else ""
        assert self._overall is not None
        self.progress.update(
            self._overall, completed=self.done, said=", ".join(text for text in (left, failed) if text)
        )


@contextmanager
def display(total: int) -> Iterator[Any]:
    """The display that fits where stderr goes."""
    if not sys.stderr.isatty():
        yield Lines(total, words=said)
        return
    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TextColumn("{task.fields[said]}", markup=False),
        TimeElapsedColumn(),
        console=err(),
        transient=True,
    ) as progress:
        bars = Bars(total, words=said, progress=progress)
        bars.begin("all runs")
        yield bars
