"""Cells of a study: every combination of its lists, less the excluded ones, as a request for a run."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

from pydantic.fields import FieldInfo

from pubench_core.data.dataset import DataRoot, data_root
from pubench_core.data.source import Task, source_of
from pubench_core.engine.layers import Layer
from pubench_core.engine.resolve_method import method_class
from pubench_core.errors import RequestError, shown, unknown
from pubench_core.plugins.info import DatasetInfo, MethodInfo, PriorInfo
from pubench_core.plugins.registry import Registry
from pubench_core.randomness import stream
from pubench_core.specs import DRAWN_SCHEMES, ExecutionSpec, MechanismSpec
from pubench_core.specs.fields import Choice, LogUniform, PowerOfTwo, Search, Uniform, about
from pubench_core.specs.run import GIVEN, USUAL_POSITIVE_RATE
from pubench_core.specs.schemes import Scheme

from .spec import ALL, Axes, Draws, LogRange, MechanismEntry, MethodEntry, StudySpec, same

if TYPE_CHECKING:
    from numpy.random import Generator

#: How rows were sampled where a study does not say.
USUAL_SCHEME: Scheme = "case-control"
#: A prior that stands for those of all installed estimators.
EVERY_ESTIMATOR = f"estimated:{ALL}"


@dataclass(frozen=True)
class GridCell:
    """One run that is asked for."""

    row: str
    """What its method is called."""
    facts: Mapping[str, Any]
    """What ``exclude`` may name."""
    values: Mapping[str, Any]
    """The request, as a run file would have it."""
    draw: int | None = None
    """Number of the hyper-parameter draw, from 0."""

    def __str__(self) -> str:
        left_out = ("method", "data")
        shown_facts = [f"{k} {value}" for k, value in self.facts.items() if k not in left_out and value is not None]
        return f"{self.row} on {self.facts['data']} ({', '.join(shown_facts)})"


def cells_of(study: StudySpec, registry: Registry, root: DataRoot | None = None) -> list[GridCell]:
    """Every run that a study asks for, in its order. ``root``: where sources with tasks have their files.

    Raises RequestError for a condition of ``exclude`` that leaves nothing out, and for a study without runs.
    """
    root = root or data_root(ExecutionSpec())
    blocks = [*([study] if study.methods is not None and study.data is not None else []), *study.include]
    _refuse_amounts_that_no_scheme_takes(study, blocks)
    cells = [cell for block in blocks for cell in _cells_of_block(block, study, registry, root)]
    _refuse_unknown_presets(study.presets, {cell.values["method"]["key"] for cell in cells}, registry)
    for name in study.config_where_known:
        if not any(name in cell.values["method"]["config"] for cell in cells):
            raise RequestError(
                f"config_where_known: no method of the study has a field {name!r}; correct it or leave it out"
            )
    cells += [_listed(values, study) for values in study.runs]
    for condition in study.exclude:
        kept = [cell for cell in cells if not _fits(cell.facts, condition)]
        if len(kept) == len(cells):
            raise RequestError(f"exclude {shown(condition)} matches no run; correct it or leave it out")
        cells = kept
    if not cells:
        raise RequestError("exclude leaves no run; exclude less")
    return cells


def _refuse_amounts_that_no_scheme_takes(study: StudySpec, blocks: Sequence[Axes]) -> None:
    """RequestError for ``c`` or ``positive_rates`` where none of the schemes it holds for takes it."""
    taking: dict[str, tuple[str, ...]] = {
        "c": tuple(scheme for scheme in get_args(Scheme) if scheme not in DRAWN_SCHEMES),
        "positive_rates": DRAWN_SCHEMES,
    }
    for name, takes in taking.items():
        for giver in (study, *study.include):
            if getattr(giver, name) is None:
                continue
            users = [block for block in blocks if block is giver or (giver is study and getattr(block, name) is None)]
            schemes = {scheme: None for block in users for scheme in _schemes(block, study)}
            if schemes and not set(takes).intersection(schemes):
                (other,) = set(taking) - {name}
                raise RequestError(
                    f"{name}: the study's schemes ({', '.join(schemes)}) take {other}, not {name}; give {other} "
                    f"instead, or name {' or '.join(takes)} in schemes",
                    field=name,
                    value=getattr(giver, name),
                )


def _cells_of_block(block: Axes, study: StudySpec, registry: Registry, root: DataRoot) -> Iterator[GridCell]:
    """The combinations of one block; a list that it does not have is the study's."""

    def axis(name: str, default: Any) -> Any:
        own, shared = getattr(block, name), getattr(study, name)
        return own if own is not None else shared if shared is not None else default

    settings = _settings(block, study)
    mechanism = settings.get("mechanism", {})
    c = MechanismSpec.model_fields["c"].default
    usual = {"c": mechanism.get("c", c), "positive_rate": mechanism.get("positive_rate", USUAL_POSITIVE_RATE)}

    methods = axis("methods", ())
    if methods == ALL:
        methods = tuple(MethodEntry(key=info.key) for info in registry.infos(MethodInfo))
    priors: list[float | str] = []
    for prior in axis("priors", (settings.get("prior", "true"),)):
        if prior == EVERY_ESTIMATOR:
            priors += [f"estimated:{info.key}" for info in registry.infos(PriorInfo)]
        else:
            priors.append(prior)
    usual_mechanism = MechanismEntry.model_construct(key=mechanism.get("key", "scar"), variant=mechanism.get("variant"))
    labelings = [
        {"data": {"scheme": scheme}, "mechanism": {**entry.model_dump(exclude_none=True), name: amount}}
        for scheme, entry in itertools.product(_schemes(block, study), axis("mechanisms", (usual_mechanism,)))
        for name, amounts in [("positive_rate", "positive_rates") if scheme in DRAWN_SCHEMES else ("c", "c")]
        for amount in axis(amounts, (usual[name],))
    ]
    told_apart = zip(methods, _told_apart(methods), strict=True)
    rows = [one for entry, told in told_apart for one in _configurations(entry, told, axis("draws", None), registry)]
    for data in each_task(axis("data", ()), registry, root):
        for labeling, prior, seed, (entry, info, row, config, draw) in itertools.product(
            [{}] if brings_labels(data, registry) else labelings,
            priors,
            axis("seeds", (settings.get("seed", 2),)),
            rows,
        ):
            values = _request(study, entry, info, config, data, labeling, prior, seed)
            facts = {
                "mechanism": GIVEN,
                **_facts(row, {**values, "data": {**data, **values["data"]}}),
                "prior": prior if entry.prior is None else entry.prior,
                "preset": values["method"].get("preset"),
            }
            if block is not study and block.settings:
                values = Layer.joined([Layer(dict(block.settings)), Layer(values)]).values
            yield GridCell(row, facts if draw is None else {**facts, "draw": draw}, values, draw)


def _settings(block: Axes, study: StudySpec) -> dict[str, Any]:
    """Settings of the runs of a block: of an axis without a list, they say the one value."""
    blocks = [study] if block is study else [study, block]
    return Layer.joined(Layer(dict(one.settings)) for one in blocks).values


def _schemes(block: Axes, study: StudySpec) -> Sequence[str]:
    given = block.schemes or study.schemes
    return given or (_settings(block, study).get("data", {}).get("scheme", USUAL_SCHEME),)


def _request(
    study: StudySpec,
    entry: MethodEntry,
    info: MethodInfo,
    config: Mapping[str, Any],
    data: Mapping[str, Any],
    labeling: Mapping[str, Any],
    prior: float | str,
    seed: int,
) -> dict[str, Any]:
    """Request of one combination. ``labeling``: sections of its data and mechanism; empty for given labels."""
    known = method_class(info).Config.model_fields if study.config_where_known else {}
    of_all = {name: value for name, value in study.config_where_known.items() if name in known}
    method = {
        "key": entry.key,
        "config": {**of_all, **config},
        "preset": entry.preset or next((name for name in study.presets if name in info.presets), None),
        "calibrate": entry.calibrate,
    }
    prior = prior if entry.prior is None else entry.prior
    section = {name: value for name, value in data.items() if name != "key" or "own" not in data}
    found = {
        "method": {name: value for name, value in method.items() if value is not None},
        "data": {**section, **labeling.get("data", {})},
        "mechanism": labeling.get("mechanism"),
        "prior": prior if prior != "true" or labeling else None,
        "backbone": entry.backbone,
        "seed": seed,
    }
    return {name: value for name, value in found.items() if value is not None}


def _listed(values: Mapping[str, Any], study: StudySpec) -> GridCell:
    """A run that is written out, as a run file would be."""
    run = Layer.joined([Layer(dict(study.settings)), Layer(dict(values))]).values
    row = run.get("method", {}).get("key")
    if not isinstance(row, str):
        raise RequestError(f"runs: each names its method, given {shown(values)}", field="runs")
    return GridCell(row, _facts(row, run), values)


def _facts(row: str, run: Mapping[str, Any]) -> dict[str, Any]:
    """What ``exclude`` may name of a request."""
    data = run.get("data", {})
    own = data.get("own")
    mechanism = run.get("mechanism", {})
    found = {
        "method": row,
        "data": data.get("key") or (own.get("path") if isinstance(own, Mapping) else None),
        "mechanism": mechanism.get("key"),
        "c": mechanism.get("c"),
        "positive_rate": mechanism.get("positive_rate"),
        "scheme": data.get("scheme"),
        "prior": run.get("prior"),
        "seed": run.get("seed", 2),
    }
    return {name: value for name, value in found.items() if value is not None}


def _refuse_unknown_presets(wanted: tuple[str, ...], methods: set[str], registry: Registry) -> None:
    """RequestError for a preset that none of these methods has."""
    known = {name: None for key in sorted(methods) for name in registry.find(MethodInfo, key).presets}
    for name in wanted:
        if known and name not in known:
            raise unknown("preset", name, known, field="presets", where="presets, which no method of the study has")


# -------------------------------------------------------------------- data with tasks


def each_task(entries: Sequence[Mapping[str, Any]], registry: Registry, root: DataRoot) -> Iterator[dict[str, Any]]:
    """The entries, those of a source with tasks replaced by one for each task.

    ``tasks`` of an entry chooses by facts: ``{min_presences: 30, region: [nsw, nz]}``; without it all are meant.

    Raises RequestError for an unknown fact, a choice that no task meets, and files that are absent.
    """
    sources = [info for info in registry.infos(DatasetInfo) if info.tasks]
    for given in entries:
        entry = dict(given)
        chosen = entry.pop("tasks", None)
        info = next((info for info in sources if entry.get("key") in (info.key, *info.aliases)), None)
        if info is None:
            if chosen is not None:
                raise RequestError(f"data: {shown(entry.get('key'))} has no tasks to choose from", field="data")
            yield entry
            continue
        found = source_of(info).tasks(root)
        tasks = found if chosen is None else [task for task in found if _meets(task, chosen, info)]
        if not tasks:
            raise RequestError(
                f"data: none of the {len(found)} tasks of {info.key} meets {shown(chosen)}", field="data"
            )
        separator = info.tasks[len(info.key)]
        yield from ({**entry, "key": f"{info.key}{separator}{task.name}"} for task in tasks)


def brings_labels(entry: Mapping[str, Any], registry: Registry) -> bool:
    """Whether an entry's labels are given: a table of the user's own, or a data set that brings them."""
    key = str(entry.get("key", "")).replace(":", "/").partition("/")[0]
    infos = registry.infos(DatasetInfo)
    return "own" in entry or any(i.labels != "simulated" and key in (i.key, *i.aliases) for i in infos)


def _meets(task: Task, chosen: Any, info: DatasetInfo) -> bool:
    """Whether a task has the facts that are asked for: a value, one of a list, or ``min_``/``max_`` a number."""
    if not isinstance(chosen, Mapping):
        raise RequestError(
            f"data.tasks must be a mapping such as {{min_presences: 30}}, got {shown(chosen)}", field="data"
        )
    for name, wanted in chosen.items():
        bound, fact = str(name)[:4], str(name)[4:] if str(name)[:4] in ("min_", "max_") else str(name)
        if fact not in task.facts:
            raise unknown(f"fact of {info.key}'s tasks", fact, task.facts, field="data")
        value = task.facts[fact]
        if fact == name:
            met = value in (wanted if isinstance(wanted, (list, tuple)) else (wanted,))
        elif isinstance(value, str) or not isinstance(wanted, (int, float)):
            raise RequestError(
                f"data.tasks.{name} must be a number, of a fact that is a number, got {shown(wanted)}", field="data"
            )
        else:
            met = value >= wanted if bound == "min_" else value <= wanted
        if not met:
            return False
    return True


# -------------------------------------------------------------------- hyper-parameters


#: What an entry of a method may set besides hyper-parameters.
_OWN_OF_ENTRY = ("preset", "backbone", "calibrate", "prior")


def _told_apart(entries: Sequence[MethodEntry]) -> list[dict[str, Any]]:
    """Settings of each entry that another one of its name lacks or sets otherwise."""
    given = [
        {name: v for name in _OWN_OF_ENTRY if (v := getattr(one, name)) is not None} | one.config for one in entries
    ]
    found = []
    for entry, mine in zip(entries, given, strict=True):
        alike = [other for one, other in zip(entries, given, strict=True) if one.row == entry.row]
        found.append({k: value for k, value in mine.items() if any(other.get(k, ...) != value for other in alike)})
    return found


def _configurations(
    entry: MethodEntry, told: Mapping[str, Any], draws: Draws | None, registry: Registry
) -> Iterator[tuple[MethodEntry, MethodInfo, str, dict[str, Any], int | None]]:
    """(entry, its method, row, hyper-parameters, number of the draw) of everything that a method is run with.

    ``told``: what tells it from other entries of its name.
    """
    info = registry.find(MethodInfo, entry.key)
    for values in itertools.product(*entry.grid.values()):
        chosen = dict(zip(entry.grid, values, strict=True))
        said = ", ".join(f"{name}={value}" for name, value in {**told, **chosen}.items())
        row = f"{entry.row} [{said}]" if said else entry.row
        config = {**entry.config, **chosen}
        if draws is None:
            yield entry, info, row, config, None
            continue
        for number in range(draws.number):
            plain = draws.with_default and number == 0
            yield entry, info, row, config if plain else {**_drawn(info, entry, draws, number), **config}, number


def _drawn(info: MethodInfo, entry: MethodEntry, draws: Draws, number: int) -> dict[str, Any]:
    """Values from the ranges that the method declares; what the entry gives is not drawn.

    They depend on the method, the seed of the draws and the number of the draw, and on nothing else.
    """
    rng = stream(draws.seed, f"draws of {info.key}", number)
    fields = method_class(info).Config.model_fields
    for name in entry.ranges:
        if name not in fields:
            raise unknown(f"hyper-parameter of {info.key}", name, fields, where="ranges")
    found = {
        name: drawn(search, rng) for name, field in fields.items() if (search := _range_of(name, field, entry, draws))
    }
    if not found:
        raise RequestError(f"draws: {info.key} declares no ranges to draw from; give it a grid, or a list of its own")
    return {name: value for name, value in found.items() if name not in entry.config and name not in entry.grid}


def drawn(search: Search, rng: Generator) -> Any:
    """A value drawn from a range."""
    match search:
        case LogUniform(low, high):
            return math.exp(rng.uniform(math.log(low), math.log(high)))
        case Uniform(low, high):
            return float(rng.uniform(low, high))
        case PowerOfTwo(low, high):
            return int(2 ** int(rng.uniform(low, high)))
        case Choice(values):
            return values[int(rng.integers(len(values)))]


def _range_of(name: str, field: FieldInfo, entry: MethodEntry, draws: Draws) -> Search | None:
    """What a hyper-parameter is drawn from; None where it is not drawn."""
    declared: Search | None = about(field, "search")
    given = entry.ranges.get(name) or (draws.ranges.get(name) if declared is not None else None)
    if given is None:
        return declared
    return LogUniform(*given.log) if isinstance(given, LogRange) else Choice(given)


# -------------------------------------------------------------------- conditions


def _fits(facts: Mapping[str, Any], condition: Mapping[str, Any]) -> bool:
    """Whether every name of a condition has one of its values; a method also by its name without what tells its rows
    apart.
    """
    return all(
        name in facts
        and any(
            same(value, option)
            for value in ([facts[name], str(facts[name]).partition(" [")[0]] if name == "method" else [facts[name]])
            for option in (wanted if isinstance(wanted, (list, tuple)) else (wanted,))
        )
        for name, wanted in condition.items()
    )
