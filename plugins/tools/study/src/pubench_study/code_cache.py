"""The code that would carry a plan's runs out, as it is installed now; kept next to the plan until it changes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field, ValidationError

from pubench_core.errors import Hint, RequestError
from pubench_core.plugins.registry import Registry
from pubench_core.plugins.source_code import looked_at
from pubench_core.records.files import replace_text
from pubench_core.records.requirements import Requirements
from pubench_core.results import Code
from pubench_core.results.result import Stored
from pubench_core.specs.fields import short_hash

from .plan import FrozenPlan, PlannedRun
from .study_file import StudyFolder

if TYPE_CHECKING:
    from pubench_core.engine.plan import Plan


class InstalledCode(Stored):
    """The content of ``code.json``: a cache, which may be deleted."""

    fingerprint: str = Field(description="of the files of core and of all plugins")
    files: tuple[str, ...] = Field(description="what else was hashed, wherever it is: files and folders")
    states: str = Field(description="hash of their times and sizes")
    plan: str = Field(description="hash of the run ids that it is for")
    codes: tuple[Code, ...] = Field(description="the distinct ones, without their data")
    of: dict[str, int] = Field(description="run id -> which of them")
    metrics: dict[str, str] = Field(description="metric -> hash of its code")

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


def installed_code(
    plan: FrozenPlan, folder: StudyFolder, registry: Registry, say: Callable[[str], None] = lambda text: None
) -> InstalledCode:
    """Code of a plan's runs. Imports nothing if no file of core or a plugin changed since the last call.

    Raises RequestError where what is installed now refuses a run of the plan, or understands it as another run.
    """
    fingerprint = fingerprint_of(registry)
    known = _read(folder.code)
    asked = (fingerprint, _ids(run.run_id for run in plan.runs))
    if known is not None and (known.fingerprint, known.plan) == asked and _states(known.files) == known.states:
        return known
    found = _resolved(plan, registry, fingerprint)
    write_code(folder, found, say)
    return found


def write_code(folder: StudyFolder, code: InstalledCode, say: Callable[[str], None] = lambda text: None) -> None:
    """Keeps it next to the plan."""
    try:
        replace_text(folder.code, code.model_dump_json() + "\n")
    except OSError as error:  # a folder that only its owner may change
        say(f"{folder.code} could not be written ({error.strerror or error}); looking takes longer next time")


def _resolved(plan: FrozenPlan, registry: Registry, fingerprint: str) -> InstalledCode:
    from pubench_core.engine.layers import Layer
    from pubench_core.engine.resolve import resolve  # torch, which nothing else here needs

    plans = []
    for run in plan.runs:
        try:
            now = resolve([Layer(run.resolved)], registry)
        except RequestError as error:
            reason = f"{error.field}: {error}" if error.field else str(error)
            raise RequestError(
                f"what is installed now refuses '{run}' of the plan ({reason}); freeze the plan again, or install "
                f"{_versions(plan)}",
                hint=Hint("plan again"),
            ) from error
        if now.run_id != run.run_id:
            raise RequestError(
                f"what is installed now understands '{run}' of the plan as another run ({now.run_id}, planned as "
                f"{run.run_id}); freeze the plan again, or install {_versions(plan)}",
                hint=Hint("plan again"),
            )
        plans.append(now)
    return code_of_plans(plans, fingerprint)


def code_of_plans(plans: Sequence[Plan], fingerprint: str) -> InstalledCode:
    """The code of resolved runs."""
    distinct = {plan.code.hash: plan.code for plan in plans}
    numbers = {digits: number for number, digits in enumerate(distinct)}
    files = tuple(sorted(looked_at))
    return InstalledCode(
        fingerprint=fingerprint,
        files=files,
        states=_states(files),
        plan=_ids(plan.run_id for plan in plans),
        codes=tuple(distinct.values()),
        of={plan.run_id: numbers[plan.code.hash] for plan in plans},
        metrics={name: metric.code for name, metric in plans[-1].metrics.items()},
    )


def _ids(run_ids: Iterable[str]) -> str:
    return short_hash(list(run_ids))


def _versions(plan: FrozenPlan) -> str:
    return ", ".join(f"{name} {version}" for name, version in plan.versions.items())


def _read(path: Path) -> InstalledCode | None:
    try:
        return InstalledCode.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):  # a cache: whatever is wrong with it, it is made again
        return None


def fingerprint_of(registry: Registry) -> str:
    """Changes whenever a source file of core or of a plugin changes, comes or goes."""
    packages = sorted({*registry.packages(), "pubench_core"})
    return short_hash([[name, *_files(name)] for name in packages])


def _states(files: Iterable[str]) -> str:
    found = [(file, os.stat(file)) for file in files if os.path.exists(file)]
    return short_hash([[file, state.st_mtime_ns, state.st_size] for file, state in found])


def _files(package: str) -> list[list[str | int]]:
    """[path, time of its last change, bytes] of every source file."""
    try:
        found = find_spec(package)
    except (ImportError, ValueError):
        found = None
    if found is None:
        return []
    paths = [
        os.path.join(folder, name)
        for place in found.submodule_search_locations or ()
        for folder, _, names in os.walk(place)
        for name in names
        if name.endswith((".py", ".so", ".yaml"))
    ]
    if found.submodule_search_locations is None and found.origin and os.path.isfile(found.origin):
        paths = [found.origin]
    return sorted([path, state.st_mtime_ns, state.st_size] for path in paths for state in [os.stat(path)])
