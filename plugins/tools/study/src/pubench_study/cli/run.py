"""``pubench study run``: who carries the runs out, and what is shown meanwhile."""

from __future__ import annotations

import re
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from pydantic import ValidationError
from rich.markup import escape

from pubench_cli.console import out
from pubench_cli.machine import print_json
from pubench_cli.messages import said, say
from pubench_cli.progress import stage_progress
from pubench_core.errors import RequestError, counted
from pubench_core.plugins.info import ExecutorInfo
from pubench_core.plugins.registry import load, registry
from pubench_core.records.store import RecordStore
from pubench_core.specs import ExecutionSpec

from ..durations import duration
from ..executors import Wanted
from ..export import FRAME, write_frame
from ..lines import Lines
from ..scheduler import Pool, Stop, Study, Summary
from ..state import states_of
from ..study_file import LOGS
from ..task import NO_RESULT, Orders
from .study import Looked, StudyRequest, counts, looked, of_failed, prepared


@dataclass(frozen=True)
class RunOptions:
    """The options of the command that say how."""

    orders: Orders
    jobs: int
    gpus: str | None
    slots_per_gpu: int
    device: str
    executor: str
    address: str | None
    retry_failed: bool
    max_seconds: float | None
    soft: bool
    replan: bool


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
        share = 0.0 if how.gpus is None else 1 / how.slots_per_gpu
        pool: Pool = load(executor)(Wanted(how.orders, devices, share, folder.path / LOGS, how.address))
        with display(len(todo)) as audience, stop.listening():
            study = Study(store, found.cache, found.digests, found.expected, pool, audience, how.max_seconds)
            summary = study.conduct(todo, stop)
    there = states_of(found.runs(), found.cache, store, found.digests) if todo else found.states
    done = sum(state.status == "done" for state in there)
    frame, trained = folder.results / FRAME, len(summary.of("finished"))
    unstored, left = summary.of("unstored"), len(summary.left)
    failures = len(summary.of(*NO_RESULT)) + (0 if how.retry_failed else number["failed"])
    gone = max(0, len(found.runs("done")) + trained + len(summary.of("found")) - done)
    seconds = time.monotonic() - started
    if as_json:
        print_json(
            {
                "name": plan.name,
                "runs": len(found.states),
                "done": done,
                "trained": trained,
                "found": len(summary.of("found")),
                "failed": failures,
                "left": left + len(unstored),
                "why_left": summary.why_left,
                "seconds": round(seconds, 1),
                "frame": str(frame),
            }
        )
    else:
        parts = [
            f"{plan.name}: {done} of {counted(len(found.states), 'run')} done ({trained} trained now)",
            f"{failures} failed",
            *([f"{len(unstored)} not stored"] if unstored else []),
            *([f"{gone} no longer in {folder.results}"] if gone else []),
            *([f"{left} left ({summary.why_left})"] if left else []),
        ]
        out().print(f"{', '.join(parts)}; {duration(seconds)}; {frame}", markup=False, soft_wrap=True)
    for run, event in unstored:
        say(f"not stored: {run}: {event.text}")
    if failures:
        say(f"'pubench study status {plan.name} --results {request.results}' lists what failed")
    if goes_on := bool(left or unstored or gone):
        say("the same command again goes on with what is left")
    for line in write_frame(frame):
        say(said(line))
    if stop.starting and left:
        return 128 + (stop.signal or signal.SIGINT)
    return 1 if failures or goes_on else 0


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
            if how.gpus is None:
                raise
            text = str(error).replace(f"{error.field}={error.value}", f"--gpus {how.gpus}")
            raise RequestError(text, field=error.field) from None


def refuse_absent(found: Looked) -> None:
    """RequestError where files of a data set are not here: its runs could not even be refused."""
    if missing := found.digests.check(found.runs("missing")):
        reason = next(iter(missing.values()))
        here = [k for k in dict.fromkeys(str(s.run.facts.get("data")) for s in found.states) if k not in missing]
        others = f"; --only data={','.join(here)} runs the others" if here else ""
        names = ", ".join(missing)
        raise RequestError(f"{names} {'is' if len(missing) == 1 else 'are'} not here{others}. {said(reason)}")


# -------------------------------------------------------------------- what is shown


@contextmanager
def display(total: int) -> Iterator[Lines]:
    """The display that fits where stderr goes."""
    if sys.stderr.isatty():
        with stage_progress() as show:
            yield Lines(total, say, said, lambda line: show(escape(line)))
    else:
        yield Lines(total, words=said)
