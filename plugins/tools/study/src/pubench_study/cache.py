"""Cache of a study, next to its plan: the code that would carry its runs out now, and which records answer for them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from pydantic import Field, ValidationError

from pubench_core.errors import Hint, RequestError
from pubench_core.plugins.registry import Registry
from pubench_core.plugins.source_code import looked_at
from pubench_core.records.files import MEASURES, RESULT, SCORES, replace_text
from pubench_core.records.requirements import Requirements
from pubench_core.results import Code, Stored
from pubench_core.specs.fields import short_hash

from .plan import FrozenPlan, PlannedRun
from .study_file import StudyFolder
from .task import RunTask, plan_of

if TYPE_CHECKING:
    from pubench_core.engine.plan import Plan

Say = Callable[[str], None]


class StudyCache(Stored):
    """The content of ``cache.json``, which may be deleted."""

    fingerprint: str = Field(description="of the files of core and of all plugins")
    files: tuple[str, ...] = Field(description="what else was hashed, wherever it is: files and folders")
    states: str = Field(description="hash of their times and sizes")
    plan: str = Field(description="hash of the run ids that it is for")
    codes: tuple[Code, ...] = Field(description="the distinct ones, without their data")
    of: dict[str, int] = Field(description="run id -> which of them")
    metrics: dict[str, str] = Field(description="metric -> hash of its code")
    data: str = Field("", description="hash of the data that the records answer for")
    answering: dict[str, tuple[str, float]] = Field(
        default_factory=dict, description="run id -> stamp of the record that answers, seconds that it took"
    )

    def code(self, run: PlannedRun, digest: str) -> Code:
        """The code of a run that reads data of this digest (empty for a user table)."""
        found = self.codes[self.of[run.run_id]]
        if not digest:
            return found
        return Code.of({**found.parts, f"data {run.data}": digest}, found.versions)

    def requirements(self, run: PlannedRun) -> Requirements:
        """Requirements that a record must meet to answer for a run."""
        criteria = {name: self.metrics.get(name, "") for name in run.spec.selection.criteria}
        metrics = {name: self.metrics.get(name, "") for name in run.spec.evaluation.metrics}
        return Requirements(run.spec, criteria, metrics, own_table=run.own_table)

    def write(self, folder: StudyFolder, say: Say = lambda text: None) -> None:
        """Keeps it next to the plan."""
        try:
            replace_text(folder.cache, self.model_dump_json() + "\n")
        except OSError as error:  # a folder that only its owner may change
            say(f"{folder.cache} could not be written ({error.strerror or error}); looking takes longer next time")


def cache_of(plan: FrozenPlan, folder: StudyFolder, registry: Registry, say: Say = lambda text: None) -> StudyCache:
    """Cache of a plan. Imports nothing if no file of core or a plugin changed since the last call.

    Raises RequestError if the installed plugins reject a run of the plan, or resolve it to another run.
    """
    fingerprint = fingerprint_of(registry)
    try:
        known = StudyCache.model_validate_json(folder.cache.read_bytes())
        if (known.fingerprint, known.plan, known.states) == (
            fingerprint,
            short_hash([run.run_id for run in plan.runs]),
            _states(known.files),
        ):
            return known
    except (OSError, ValidationError):  # whatever is wrong with a cache, it is made again
        pass
    found = cache_of_plans(_resolved(plan, registry), fingerprint)
    found.write(folder, say)
    return found


def _resolved(plan: FrozenPlan, registry: Registry) -> list[Plan]:
    """Plans of the runs of a plan. Raises RequestError if one cannot be resolved as it was planned."""
    plans = []
    for run in plan.runs:
        try:
            plans.append(plan_of(RunTask(run.run_id, run.resolved, {}, at_once=1), registry))
        except RequestError as error:
            why = f"{error.field}: {error}" if error.field else str(error)
            versions = ", ".join(f"{name} {version}" for name, version in plan.versions.items())
            raise RequestError(
                f"the installed plugins reject '{run}' of the plan ({why}); freeze the plan again, or install "
                f"{versions}",
                hint=Hint("plan again"),
            ) from None
    return plans


def cache_of_plans(plans: Sequence[Plan], fingerprint: str) -> StudyCache:
    """Cache of resolved runs, before any record was found to answer."""
    distinct = {plan.code.hash: plan.code for plan in plans}
    numbers = {digits: number for number, digits in enumerate(distinct)}
    files = tuple(sorted(looked_at))
    return StudyCache(
        fingerprint=fingerprint,
        files=files,
        states=_states(files),
        plan=short_hash([plan.run_id for plan in plans]),
        codes=tuple(distinct.values()),
        of={plan.run_id: numbers[plan.code.hash] for plan in plans},
        metrics={name: metric.code for name, metric in plans[-1].metrics.items()},
    )


def fingerprint_of(registry: Registry) -> str:
    """Changes whenever a source file of core or of a plugin changes, comes or goes."""
    packages = sorted({*registry.packages, "pubench_core"})
    return short_hash([[name, _states(_sources(name))] for name in packages])


def _states(files: Iterable[str]) -> str:
    """Hash of paths, times of the last change and sizes."""
    found = [(file, os.stat(file)) for file in files if os.path.exists(file)]
    return short_hash([[file, state.st_mtime_ns, state.st_size] for file, state in found])


def _sources(package: str) -> list[str]:
    """Every source file of a package."""
    try:
        found = find_spec(package)
    except (ImportError, ValueError):
        return []
    if found is None:
        return []
    if found.submodule_search_locations is None:
        return [found.origin] if found.origin else []
    return sorted(
        os.path.join(folder, name)
        for place in found.submodule_search_locations
        for folder, _, names in os.walk(place)
        for name in names
        if name.endswith((".py", ".so", ".yaml"))
    )


def stamp_of(record: str) -> str:
    """Changes whenever a record's result, its scores or the list of its files do; empty if there is no record."""
    try:
        names = sorted(os.listdir(record))
        found = [(name, os.stat(f"{record}/{name}")) for name in names if name in (RESULT, SCORES, MEASURES)]
    except OSError:
        return ""
    states = [f"{name} {state.st_mtime_ns} {state.st_size} {state.st_ino}" for name, state in found]
    return ",".join([*states, *names]) if RESULT in names else ""
