"""The runs of a study in the calling process, one after the other: ``run --seeds``, ``compare``, ``compare-methods``.

A table may be in this process's memory, and its listeners follow every epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from pubench_core.data.dataset import Progress, data_root, silent
from pubench_core.engine.criteria import Installed
from pubench_core.engine.explain import explain
from pubench_core.engine.layers import Layer
from pubench_core.errors import PubenchError, RecordError, RequestError
from pubench_core.plugins.registry import Registry
from pubench_core.records.store import RecordStore
from pubench_core.results import Result

from .cache import Say
from .grid import cells_of
from .lines import Lines
from .planning import resolved
from .spec import StudySpec
from .task import Ended, ended_by, ended_with

if TYPE_CHECKING:
    from pubench_core.engine.plan import DataChoice, Plan


@dataclass(frozen=True)
class NamedPlan:
    """A run of a study, resolved. ``name``: of its row."""

    name: str
    plan: Plan

    @property
    def run_id(self) -> str:
        """Hash of what decides its scores."""
        return self.plan.run_id

    def __str__(self) -> str:
        return f"{self.name} on {self.plan.spec.data.key}, seed {self.plan.spec.seed}"


@dataclass(frozen=True)
class Done:
    """Outcome of a run. ``result``: also if it could not be stored, when there is no ``folder``."""

    run: NamedPlan
    event: Ended
    result: Result | None = None
    folder: Path | None = None
    error: PubenchError | None = None


def study_of(axes: Mapping[str, Any], settings: Layer) -> StudySpec:
    """The study of lists that are no file's. Raises RequestError for what is wrong in it."""
    try:
        return StudySpec.model_validate({"name": "runs", **axes, "settings": settings.values})
    except ValidationError as error:
        raise explain(error, StudySpec, (), {}, owner="a study") from None


def plans_of(study: StudySpec, settings: Layer, registry: Registry, warn: Say) -> list[NamedPlan]:
    """Every run of a study, resolved before the first one trains; those on one table hold it once.

    ``settings``: those of the study, with where each was written. Raises RequestError for what cannot be resolved and
    for two runs that are the same; PluginError for a broken plugin.
    """
    held: dict[str, DataChoice] = {}
    found: dict[str, NamedPlan] = {}
    installed = Installed.of(registry)
    for cell in cells_of(study, registry):
        plan = resolved(cell, settings, registry, warn, installed)
        data = held.setdefault(plan.spec.data.model_dump_json(), plan.data)
        run = NamedPlan(cell.row, replace(plan, data=data))
        if (other := found.setdefault(plan.run_id, run)) is not run:
            raise RequestError(
                f"'{run}' is the same run as '{other}': the same method, settings and data; leave one out"
            )
    return list(found.values())


def refuse_absent(runs: Sequence[NamedPlan], *, force: bool = False) -> None:
    """RequestError where the files of a data set are not here, said once and not by every run on it. Runs that are
    recorded need none.
    """
    from pubench_core.data.store import located

    for plan in {run.plan.spec.data.key: run.plan for run in runs if force or not _is_recorded(run.plan)}.values():
        if plan.data.source is not None:
            located(plan.data.source, data_root(plan.spec.execution))


def _is_recorded(plan: Plan) -> bool:
    try:
        return RecordStore(plan.spec.execution.results).find(plan.run_id) is not None
    except RecordError:  # damaged, or of another version: the run says what becomes of it
        return False


def carried_out(
    runs: Sequence[NamedPlan],
    said: Callable[[PubenchError | str], str],
    *,
    force: bool = False,
    say: Say | None = None,
    display: Callable[[], AbstractContextManager[Any]] = nullcontext,
    progress: Progress = silent,
    lines: Lines | None = None,
) -> Iterator[Done]:
    """Yields the outcome of each run, as soon as it is over; a run that fails ends no other.

    ``said``: an error or a line in the caller's words. ``say``: called with what core says of a run and its data, each
    once; None puts it in the line of the run. ``display``: of the epochs of one run, ``progress``: of preparing data;
    ``lines``: gets a line per run.
    """
    from pubench_core.engine.execute import execute
    from pubench_core.sinks import listeners_of

    before: set[str] = set()
    for run in runs:
        heard: list[str] = []

        def hear(text: str, heard: list[str] = heard) -> None:
            if (words := said(text)) not in before:
                before.add(words)
                heard.append(words) if say is None else say(words)

        listeners = listeners_of(run.plan.spec.execution)
        try:
            with display() as shown:
                done = execute(run.plan, listeners=listeners, display=shown, force=force, say=hear, progress=progress)
        except PubenchError as error:  # refused, failed or not to be recorded: this run's own, whichever it is
            result = error.result if isinstance(error, RecordError) else None
            over = Done(run, replace(ended_by(run.run_id, error), text=said(error)), result, error=error)
        else:
            event = ended_with(
                done.result, "found" if done.reused else "finished", "" if done.reused else "; ".join(heard)
            )
            over = Done(run, event, done.result, done.folder)
        if lines is not None:
            lines.ended(run, over.event, None)
        yield over
