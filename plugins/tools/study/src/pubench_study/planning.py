"""Resolves every combination of a study once; invalid ones are skipped with a reason."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from pubench_core.data.cache import manifest_of
from pubench_core.data.dataset import ClassData, DataRoot, IntArray, binarize
from pubench_core.data.generator import generate, given_split
from pubench_core.data.sampling import draw
from pubench_core.data.source import DataSource
from pubench_core.data.store import folder_of, located, open_dataset
from pubench_core.engine.build import sizes_of
from pubench_core.engine.criteria import Installed
from pubench_core.engine.layers import Layer
from pubench_core.engine.open import open_data
from pubench_core.engine.plan import Plan
from pubench_core.engine.resolve import resolve
from pubench_core.errors import PluginError, RequestError, in_names, shortened
from pubench_core.plugins.info import PriorInfo
from pubench_core.plugins.registry import Registry
from pubench_core.specs import ExecutionSpec, RunSpec
from pubench_core.specs.fields import short_hash

from .cache import Say, StudyCache, cache_of_plans, fingerprint_of
from .folds import parts_of
from .grid import EVERY_ESTIMATOR, GridCell, cells_of
from .plan import PLAN_VERSION, Excluded, FrozenPlan, PlannedRun
from .study_file import StudyFile


def freeze(
    file: StudyFile, registry: Registry, root: DataRoot, say: Say = lambda text: None
) -> tuple[FrozenPlan, StudyCache]:
    """Every run of a study, resolved, and the cache with the code that would carry them out.

    ``root``: where data lie; only studies with scaled priors or tasks look at them. ``say`` is called with warnings.

    Raises RequestError for what cannot be resolved and for two runs that are the same; PluginError for a broken plugin.
    """
    where = {path[1:]: line for path, line in file.origins.items() if len(path) > 1 and path[0] == "settings"}
    of_all = Layer(dict(file.spec.settings), where)
    fingerprint = fingerprint_of(registry)  # before anything is read: what changes meanwhile is noticed
    runs: dict[str, PlannedRun] = {}
    excluded: list[Excluded] = []
    plans: list[Plan] = []
    known: dict[tuple[object, str], Any] = {}
    warned: set[str] = set()

    def warn(text: str) -> None:
        if text not in warned:
            say(text)
        warned.add(text)

    try:
        cells = cells_of(file.spec, registry, root)
    except RequestError as error:
        raise RequestError(f"{file.origin}: {error}", field=error.field, value=error.value, hint=error.hint) from None
    every_estimator = any(EVERY_ESTIMATOR in (block.priors or ()) for block in (file.spec, *file.spec.include))
    if every_estimator and not registry.infos(PriorInfo):
        excluded.append(Excluded(cell=EVERY_ESTIMATOR, reason="no estimator of the class prior is installed"))
    installed = Installed.of(registry)  # once, since it hashes the code of every metric
    for cell in cells:
        plan = _resolved(cell, file, of_all, registry, warn, installed)
        if reason := _beyond_one(plan, root, known):
            excluded.append(Excluded(cell=str(cell), reason=reason))
            continue
        held_out = _of_data(held_out_labels, plan, root, known)
        run = planned_run(plan, cell.row, cell.facts, cell.draw, held_out)
        other = runs.setdefault(run.run_id, run)
        if other is not run:
            if other.row == run.row and run.draw is not None and other.draw != run.draw:
                reason = f"the same hyper-parameters as draw {other.draw}"
                excluded.append(Excluded(cell=str(cell), reason=reason))
                continue
            raise RequestError(f"{file.origin}: '{cell}' is the same run as '{other}'; leave one of the two out")
        plans.append(plan)
        for one in parts_of(plan):
            facts = {**cell.facts, "fold": one.spec.validation.fold}
            runs[one.run_id] = planned_run(one, cell.row, facts, cell.draw)
            plans.append(one)
    if not runs:
        raise RequestError(f"{file.origin}: no run is left: {excluded[0].cell}: {excluded[0].reason}")
    versions = {name: version for plan in plans for name, version in plan.code.versions.items()}
    frozen = FrozenPlan(
        plan_version=PLAN_VERSION,
        name=file.spec.name,
        sha256=file.sha256,
        made_at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        versions=dict(sorted(versions.items())),
        runs=tuple(runs.values()),
        excluded=tuple(excluded),
    )
    return frozen, cache_of_plans(plans, fingerprint)


def resolved(cell: GridCell, of_all: Layer, registry: Registry, warn: Say, installed: Installed) -> Plan:
    """The plan of a cell. ``of_all``: the settings of its study, with where each was written."""
    return resolve([of_all, Layer(dict(cell.values))], registry, warn, installed)


def _resolved(
    cell: GridCell, file: StudyFile, of_all: Layer, registry: Registry, warn: Say, installed: Installed
) -> Plan:
    try:
        return resolved(cell, of_all, registry, warn, installed)
    except (RequestError, PluginError) as error:
        # what a run is given as prior=0.3, a study lists
        words = in_names(str(error), lambda name, value: f"priors: [{value}]" if name == "prior" and value else None)
        text = f"{file.origin}: {shortened(str(cell), 160)}: {words}"
        raise type(error)(text, field=error.field, value=error.value, hint=error.hint) from None


def planned_run(
    plan: Plan, row: str, facts: Mapping[str, Any] | None = None, draw: int | None = None, held_out: int | None = None
) -> PlannedRun:
    """A resolved run as a plan keeps it."""
    return PlannedRun(
        run_id=plan.run_id,
        row=row,
        facts=dict(facts or {}),
        draw=draw,
        held_out=held_out,
        resolved=plain(plan.spec),
    )


def plain(spec: RunSpec) -> dict[str, Any]:
    """A spec without where and how it is carried out: what is to be kept of a run stays."""
    kept = {name: getattr(spec.execution, name) for name in ("artifacts", "save_model", "timeout")}
    return spec.model_copy(update={"execution": ExecutionSpec(**kept)}).model_dump(mode="json")


def _beyond_one(plan: Plan, root: DataRoot, known: dict[tuple[object, str], Any]) -> str:
    """Why a scaled prior is none; empty where it is one, or where the data are not here to say."""
    word, _, factor = str(plan.spec.prior).partition(":")
    if word != "scaled" or plan.data.source is None:
        return ""
    share = _of_data(_share, plan, root, known)
    if share is None or share * float(factor) < 1:
        return ""
    return (
        f"{factor} times the share of positives, {share:.4g}, is no prior: {share * float(factor):.4g} is not below 1"
    )


def _of_data(
    ask: Callable[[Plan, DataRoot], Any], plan: Plan, root: DataRoot, known: dict[tuple[object, str], Any]
) -> Any:
    """What ``ask`` gives for the data of a plan; None if it raises RequestError, as the run will.

    ``known``: answers so far; runs with the same data, share of labels and validation have one.
    """
    spec = plan.spec
    decides = [spec.data.model_dump(mode="json"), spec.mechanism.amount, spec.validation.model_dump(mode="json")]
    key = ask, short_hash(decides)
    if key not in known:
        try:
            known[key] = ask(plan, root)
        except RequestError:
            known[key] = None
    return known[key]


def _share(plan: Plan, root: DataRoot) -> float | None:
    """Share of positives; None if the true labels are not known."""
    assert plan.data.source is not None
    opened = open_dataset(plan.data.source, root, preprocess=plan.spec.data.preprocess)
    assert isinstance(opened.data, ClassData)  # data that bring their labels have no share to scale
    y = binarize(plan.data.info, opened.data, plan.spec.data).y
    return None if y is None else float(np.mean(y))


def held_out_labels(plan: Plan, root: DataRoot) -> int | None:
    """Labeled positives of the validation part of a plan; None if its data are not prepared here.

    How many there are is the same for every mechanism and seed, so that no mechanism is asked.

    Raises RequestError as :func:`~pubench_core.engine.build.build_problem`.
    """
    spec, source = plan.spec, plan.data.source
    if source is not None and not _is_prepared(source, root, spec.data.preprocess):
        return None
    data, scheme, sizes = open_data(plan, replace(root, say=lambda text: None)).data, spec.data.scheme, sizes_of(spec)

    def first(pool: IntArray, rows: IntArray, n: int, rng: np.random.Generator) -> IntArray:
        return np.arange(n)

    if plan.mechanism is None:
        split = given_split(data, scheme=scheme, **sizes)
    elif (rate := spec.mechanism.positive_rate) is not None:
        split = draw(data, scheme=scheme, choose=first, positive_rate=rate, total=spec.data.total, **sizes)
    else:
        assert spec.mechanism.c is not None
        split = generate(data, scheme=scheme, choose=first, c=spec.mechanism.c, **sizes)
    if spec.validation.folds is None:
        return split.validation.n_labeled
    return split.train.n_labeled // (1 if spec.validation.joint else spec.validation.folds)


def _is_prepared(source: DataSource, root: DataRoot, preprocess: str) -> bool:
    """Whether data are opened without reading or preparing anything but a copy that is here."""
    try:
        files = located(source, root)
    except (RequestError, PluginError):
        return False
    return not files or manifest_of(folder_of(source, files, root, preprocess)) is not None
