"""Results beside those of others: a published table, or another folder. Only what was run alike is compared."""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pubench_core.errors import PluginError, RequestError, unknown
from pubench_core.plugins.info import DatasetInfo, MechanismInfo, MethodInfo
from pubench_core.plugins.registry import registry
from pubench_core.specs import DataSpec, RunSpec
from pubench_core.specs.fields import about

from .grouping import Cell, Grid, grid_of
from .published import STANDINGS, Protocol, PublishedCell, Reason, Source, Verdict, source, standing_of, verdict_of
from .results import Results
from .running import RunResult

#: How the engine's warning on a collapsed model begins (pubench_core.execution.warnings).
_ALIKE = re.compile(r"all \d+ test rows are decided (positive|negative)\b")


@dataclass(frozen=True)
class Figure:
    """Mean and sample standard deviation over ``n`` runs; the deviation is None for one.

    ``alike``: runs among them that decide every test row alike, as far as that is known.
    """

    mean: float
    std: float | None
    n: int
    alike: int = 0

    def __str__(self) -> str:
        spread = "" if self.std is None else f" ± {self.std:.2f}"
        alike = f", {self.alike} alike" if self.alike else ""
        return f"{self.mean:.2f}{spread} ({self.n}{alike})"


@dataclass(frozen=True)
class ComparedCell:
    """One method on one data set. ``verdict``: None where no deviation of theirs, nor of ours, is known."""

    method: str
    data: str
    oracle: bool
    ours: Figure
    theirs: Figure
    verdict: Verdict | None
    reason: Reason | None = None

    @property
    def difference(self) -> float:
        """Ours minus theirs."""
        return self.ours.mean - self.theirs.mean

    @property
    def standing(self) -> str:
        """matched; explained, where the reason was run; known difference, where it was read in code and nobody has
        measured what it makes; unexplained; unknown, where no deviation is.
        """
        return standing_of(self.verdict, self.reason)


@dataclass(frozen=True)
class LeftOut:
    """A cell of ours that is not compared, and why."""

    method: str
    data: str
    why: str


@dataclass(frozen=True)
class Against:
    """``theirs``: what ours is compared with; ``alike``: what all compared runs have in common, in words; ``percent``:
    whether figures are in percent; ``missing``: (method, data) of theirs that nothing of ours is compared with.
    """

    theirs: str
    citation: str
    alike: str
    measure: str
    criterion: str
    percent: bool
    cells: tuple[ComparedCell, ...]
    left_out: tuple[LeftOut, ...]
    missing: tuple[tuple[str, str], ...]
    notes: tuple[str, ...] = ()

    def counts(self) -> dict[str, int]:
        """How many cells are matched, explained and so on, left out and missing."""
        standings = [cell.standing for cell in self.cells]
        known = {name: standings.count(name) for name in STANDINGS}
        return {**known, "left out": len(self.left_out), "missing": len(self.missing)}


def beside_published(
    results: Results, name: str, *, criterion: str | None = None, measure: str | None = None
) -> Against:
    """Results beside the tables of a publication, in percent.

    ``criterion``, ``measure``: of which the publication has figures; None means its main one. Within two standard
    deviations means two of the publication's.

    Raises RequestError for an unknown publication, and a criterion or measure of which it has no figures.
    """
    theirs = source(name)
    criterion = _one_of("criterion", criterion, theirs.criteria, theirs.name)
    measure = _one_of("measure", measure, theirs.measures, theirs.name)
    wanted = [cell for cell in theirs.cells if (cell.criterion, cell.measure) == (criterion, measure)]
    compared, left_out, met = [], [], set()
    several = theirs.protocol.draws and criterion in results.criteria
    chosen = results.best_of_draws(criterion) if several else results
    grid = _grid(chosen, drawn=theirs.protocol.draws)
    for row, column, cell in _cells(grid):
        spec = _first(cell).result.spec
        found = [one for one in wanted if (one.method, one.data) == (spec.method.key, spec.data.key)]
        why = _why_not(_first(cell), theirs.protocol, found, theirs.name)
        if why:
            left_out.append(LeftOut(row, column, why))
            continue
        figure = _figure(cell, criterion, measure, 100.0)
        if figure is None:
            left_out.append(LeftOut(row, column, f"no run has a value of {measure} by {criterion}"))
            continue
        printed = _fitting(spec, found)[0]
        met.add(printed)
        compared.append(_compared(row in grid.oracles, figure, printed, theirs))
    return Against(
        theirs=theirs.name,
        citation=theirs.citation,
        alike=f"{theirs.protocol}, epoch chosen by {criterion}",
        measure=measure,
        criterion=criterion,
        percent=True,
        cells=tuple(compared),
        left_out=tuple(left_out),
        missing=tuple(dict.fromkeys(_name_of(one) for one in wanted if one not in met)),
        notes=(*grid.notes, *chosen.notes, *([theirs.note] if theirs.note else [])),
    )


def beside_results(
    results: Results, others: Results, title: str, *, criterion: str | None = None, measure: str | None = None
) -> Against:
    """Results beside those of another folder. Cells are compared whose runs have the same spec but for their seeds.

    ``criterion``: None means the one that names the results; ``measure``: None means accuracy. Within two standard
    deviations means two of theirs, or of ours where they have one run.

    Raises RequestError (InvalidRequest) where :meth:`Results.table` does.
    """
    measure = measure or "accuracy"
    mine = results.table(measure, criterion)  # says what is wrong with a measure or a criterion
    criterion = mine.criterion.removesuffix(" (oracle)")
    scale = 100.0 if mine.percent else 1.0
    grid, theirs = _grid(results), {_alike(_first(cell)): cell for _, _, cell in _cells(_grid(others))}
    compared, left_out, met = [], [], set()
    for row, column, cell in _cells(grid):
        key = _alike(_first(cell))
        if key not in theirs:
            left_out.append(LeftOut(row, column, f"{title} has no run of the same spec"))
            continue
        met.add(key)
        first, second = _figure(cell, criterion, measure, scale), _figure(theirs[key], criterion, measure, scale)
        if first is None or second is None:
            left_out.append(LeftOut(row, column, f"no run has a value of {measure} by {criterion}"))
            continue
        std = second.std if second.std is not None else first.std
        verdict = None if std is None else verdict_of(first.mean, second.mean, std)
        compared.append(ComparedCell(row, column, row in grid.oracles, first, second, verdict))
    specs = {key: _first(cell).result.spec for key, cell in theirs.items()}
    return Against(
        theirs=title,
        citation="",
        alike=f"the same spec but for seeds, epoch chosen by {mine.criterion}",
        measure=measure,
        criterion=criterion,
        percent=mine.percent,
        cells=tuple(compared),
        left_out=tuple(left_out),
        missing=tuple((spec.method.key, spec.data.key) for key, spec in specs.items() if key not in met),
        notes=grid.notes,
    )


def _one_of(what: str, given: str | None, known: Sequence[str], where: str) -> str:
    if given is None:
        return known[0]
    if given not in known:
        raise unknown(f"{what} of {where}", given, known)
    return given


def _grid(results: Results, *, drawn: bool = False) -> Grid:
    if not len(results):
        raise RequestError("there are no finished runs to compare")
    named = [(run.result.spec.method.key, run) for run in results]
    return grid_of(named, drawn={run.run_id for _, run in named} if drawn else ())


def _cells(grid: Grid) -> Iterator[tuple[str, str, Cell]]:
    """Row, column and runs of every cell that has a run, by column."""
    for column in grid.columns:
        for row in grid.rows:
            if (cell := grid.cell(row, column)).runs:
                yield row, column, cell


def _first(cell: Cell) -> RunResult:
    return next(iter(cell.runs.values()))


def _figure(cell: Cell, criterion: str, measure: str, scale: float) -> Figure | None:
    """None where no run has a value."""
    values, alike = [], 0
    for run in cell.runs.values():
        chosen = run.result.criteria.get(criterion)
        found = chosen.measures.get("test", {}).get(measure) if chosen is not None else None
        if chosen is not None and found is not None and found.value is not None:
            values.append(scale * found.value)
            alike += any(_ALIKE.match(text) for text in chosen.warnings)
    if not values:
        return None
    std = statistics.stdev(values) if len(values) > 1 else None
    return Figure(statistics.fmean(values), std, len(values), alike)


def _compared(oracle: bool, ours: Figure, printed: PublishedCell, theirs: Source) -> ComparedCell:
    method, data = _name_of(printed)
    verdict = verdict_of(ours.mean, printed.mean, printed.std)
    reason = theirs.reason_of(printed.method, printed.data, verdict)
    their_figure = Figure(printed.mean, printed.std, theirs.seeds)
    return ComparedCell(method, data, oracle, ours, their_figure, verdict, reason)


def _name_of(printed: PublishedCell) -> tuple[str, str]:
    """Method and data set by their keys, with what the publication says of calibration and case."""
    method = f"{printed.method}-c" if printed.calibrate == "on" else printed.method
    return method, f"{printed.data} {printed.binarization}".strip()


def _alike(run: RunResult) -> str:
    """Equal for runs of the same spec but for their seeds."""
    identity = {name: value for name, value in run.result.spec.identity().items() if name != "seed"}
    return json.dumps(identity, sort_keys=True)


# -------------------------------------------------------------------- the same protocol


def _why_not(run: RunResult, protocol: Protocol, printed: Sequence[PublishedCell], name: str) -> str:
    """Why a run is not of the protocol, or not in the tables; empty where it is both."""
    spec, (amount, number) = run.result.spec, protocol.amount
    if not printed:
        return f"{name} has no figure for it"
    for what, mine, theirs in (
        ("scheme", spec.data.scheme, protocol.scheme),
        ("mechanism", spec.mechanism.key, protocol.mechanism),
        (amount.replace("_", " "), getattr(spec.mechanism, amount), number),
        ("prior", spec.prior, "true" if protocol.prior is None else protocol.prior),
        ("validation fraction", spec.validation.fraction, protocol.validation),
        ("preset", spec.method.preset, protocol.preset),
    ):
        if mine != theirs:
            return f"other protocol: {what} {mine}, theirs {theirs}"
    if not _fitting(spec, printed):
        return "other protocol: other classes, or calibrated otherwise"
    return _changed(spec, protocol)


def _fitting(spec: RunSpec, printed: Sequence[PublishedCell]) -> list[PublishedCell]:
    """The figures that are of these classes and this calibration."""
    info = next((one for one in registry().infos(DatasetInfo) if one.key == spec.data.key), None)
    if info is None or spec.data.own is not None:
        return []
    classes = {"": (info.positive, info.negative), **info.binarizations}
    return [
        one
        for one in printed
        if (found := classes.get(one.binarization)) is not None
        and tuple(map(tuple, map(sorted, found))) == (spec.data.positive, spec.data.negative)
        and one.calibrate in ("", spec.method.calibrate)
    ]


def _changed(spec: RunSpec, protocol: Protocol) -> str:
    """Names the first field that is not what the protocol, or data set, mechanism, method and preset by themselves
    give, if any.
    """
    data = next(one for one in registry().infos(DatasetInfo) if one.key == spec.data.key)
    mechanism = next((one for one in registry().infos(MechanismInfo) if one.key == spec.mechanism.key), None)
    by_itself = (
        ("data.total", spec.data.total, None),
        ("data.preprocess", spec.data.preprocess, data.preprocess),
        ("data.test", spec.data.test, DataSpec.model_fields["test"].default),
        ("data.test_fraction", spec.data.test_fraction, DataSpec.model_fields["test_fraction"].default),
        ("backbone", spec.backbone.key, data.backbone),
        ("mechanism.variant", spec.mechanism.variant, mechanism.variants[0] if mechanism else spec.mechanism.variant),
    )
    theirs = protocol.data.get(spec.data.key, {})
    for field, mine, own in by_itself:
        if mine != theirs.get(field, own):
            whose = f"theirs {theirs[field]}" if field in theirs else f"by itself {own}"
            return f"other protocol: {field} {mine}, {whose}"
    return _changed_config(spec, drawn=protocol.draws)


def _changed_config(spec: RunSpec, *, drawn: bool) -> str:
    """A hyper-parameter that is not the preset's. The method is imported for it: only its Config has the defaults.

    ``drawn``: those that a method declares a range for may be others.
    """
    from pubench_core.request.resolving import method_class

    info = next((one for one in registry().infos(MethodInfo) if one.key == spec.method.key), None)
    preset = info.presets.get(spec.method.preset or "") if info is not None else None
    unchecked = f"{spec.method.key} with preset {spec.method.preset} is not installed, so its values cannot be checked"
    if info is None or preset is None:
        return unchecked
    try:
        config = method_class(info).Config
    except PluginError:
        return unchecked
    own: Mapping[str, Any] = config.model_validate(preset.resolve(spec.data.key)).model_dump(mode="json")
    free = {name for name, field in config.model_fields.items() if drawn and about(field, "search") is not None}
    changed = next(
        (name for name, value in spec.method.config.items() if own.get(name) != value and name not in free), None
    )
    return (
        "" if changed is None else f"other protocol: {changed} {spec.method.config[changed]}, preset {own.get(changed)}"
    )
