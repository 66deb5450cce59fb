"""Results next to those of others: a published table, other records, or a board."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pubench.running import RunResult
from pubench_core.errors import PluginError, RequestError, counted, unknown
from pubench_core.plugins.info import DatasetInfo, MethodInfo
from pubench_core.plugins.registry import registry
from pubench_core.specs import RunSpec
from pubench_core.specs.fields import about

from ..cells import cell_of, mean_and_std
from ..grouping import Grid, RunGroup, but_for_seed
from ..published import Figure, PublishedCell, PublishedProtocol, read_as, source, verdict_of
from ..report.gather import but_for_config
from ..results import Results
from ..rows import Board, problem_of
from ..rows.record import assignments_of, by_itself
from .result import ComparedCell, LeftOut, SideBySide

if TYPE_CHECKING:
    pass

#: What a cell of a grid is compared with, or why it is left out.
Look = Callable[[str, str, RunGroup], ComparedCell | str]


def beside_published(
    results: Results, name: str, *, criterion: str | None = None, measure: str | None = None
) -> SideBySide:
    """Results and the tables of a publication, cell by cell, in percent.

    ``criterion``, ``measure``: of which the publication has figures; None means its main one.

    Raises RequestError for an unknown publication, and a criterion or measure of which it has no figures.
    """
    theirs = source(name)
    criterion = _one_of(f"criterion of {theirs.name}", criterion, theirs.criteria)
    measure = _one_of(f"measure of {theirs.name}", measure, theirs.measures)
    theirs = read_as(theirs, criterion, measure)
    wanted = [cell for cell in theirs.cells if (cell.criterion, cell.measure) == (criterion, measure)]
    met = set[PublishedCell]()
    chosen = (
        results.best_of_draws(criterion) if theirs.protocol.draws > 1 and criterion in results.criteria else results
    )
    draws = Counter(map(but_for_config, results))
    grid = chosen.grid

    def look(row: str, column: str, cell: RunGroup) -> ComparedCell | str:
        spec = _first_of(cell).result.spec
        found = [one for one in wanted if (one.method, one.data) == (spec.method.key, spec.data.key)]
        if why := why_not(_first_of(cell), theirs.protocol, found, theirs.name):
            return why
        if (figure := _figure_of(cell, criterion, measure, 100.0)) is None:
            return f"no run has a value of {measure} by {criterion}"
        printed = fitting(spec, found)[0]
        met.add(printed)
        fewest = min(draws[but_for_config(run)] for run in cell.runs.values())
        reason = theirs.reason_of(printed.method, printed.data, verdict_of(figure, printed.figure), fewest)
        return ComparedCell(*_name_of(printed), row in grid.oracles, figure, printed.figure, reason)

    return _beside(
        grid,
        look,
        theirs=theirs.name,
        citation=theirs.citation,
        alike=f"{theirs.protocol}, epoch chosen by {criterion}",
        measure=measure,
        criterion=criterion,
        missing=lambda: dict.fromkeys(_name_of(one) for one in wanted if one not in met),
        notes=lambda: (*chosen.notes, *([theirs.note] if theirs.note else [])),
    )


def beside_results(
    results: Results, others: Results, title: str, *, criterion: str | None = None, measure: str | None = None
) -> SideBySide:
    """Results and those of another folder. Cells are compared whose runs have the same spec except for their seeds.

    ``criterion``: None means the one that names the results; ``measure``: None means accuracy.

    Raises RequestError (InvalidRequest) where :meth:`Results.table` does.
    """
    model = results.model(measure or "accuracy", criterion)
    criterion, measure, grid = model.criterion, model.measure.key, model.grid
    shared, runs = list[int](), list[int]()
    theirs = {
        but_for_seed(_first_of(cell).result.spec): (row, column, cell) for row, column, cell in _cells_of(others.grid)
    }
    missing = {key: (row, column) for key, (row, column, _) in theirs.items()}

    def look(row: str, column: str, cell: RunGroup) -> ComparedCell | str:
        key = but_for_seed(_first_of(cell).result.spec)
        if key not in theirs:
            return f"{title} has no run of the same spec"
        missing.pop(key, None)
        other = theirs[key][2]
        first, second = (_figure_of(one, criterion, measure, model.measure.scale) for one in (cell, other))
        if first is None or second is None:
            return f"no run has a value of {measure} by {criterion}"
        shared.append(len(cell.runs.keys() & other.runs.keys()))
        runs.append(len(cell.runs))
        return ComparedCell(row, column, row in grid.oracles, first, second)

    both = "{} of {} compared have the same seed and spec on both sides"
    return _beside(
        grid,
        look,
        theirs=title,
        alike=f"the same spec except for seeds, epoch chosen by {model.criterion_name(criterion)}",
        measure=measure,
        criterion=criterion,
        percent=model.measure.percent,
        missing=missing.values,
        notes=lambda: [both.format(sum(shared), counted(sum(runs), "run"))] if any(shared) else [],
    )


def beside_board(
    results: Results, board: Board, *, criterion: str | None = None, measure: str | None = None
) -> SideBySide:
    """The rank of each method of the results on each problem, among the methods of a board with runs on it.

    A problem is all that decides a run but method, network and seed. Oracle methods are not ranked. The board's own
    runs of a method of the results do not count against it.

    ``criterion``: None means the one that names the results; ``measure``: None means accuracy.

    Raises RequestError for a measure or criterion that the board does not have.
    """
    measure = _one_of(f"measure of {board}", measure or "accuracy", board.measures)
    model = results.model(measure, criterion)
    criterion, grid, older = model.criterion, model.grid, set[str]()
    _one_of(f"criterion of {board}", criterion, sorted(set(board.rows["criterion"])))
    rows = board.rows[(board.rows["criterion"] == criterion) & ~board.rows["oracle"]].dropna(subset=[f"test_{measure}"])

    def look(row: str, column: str, cell: RunGroup) -> ComparedCell | str:
        there = rows[rows["problem"] == problem_of(_first_of(cell).result.spec)]
        own = set(there[there["run_id"].isin([run.run_id for run in cell.runs.values()])]["name"]) | {row}
        others = there[~there["name"].isin(own)].groupby("name")
        figures = {
            str(name): _figure([100 * value for value in of[f"test_{measure}"]], int(of["alike"].sum()))
            for name, of in others
        }
        if not figures:
            return f"{board} has no other method on the same problem"
        if (figure := _figure_of(cell, criterion, measure, 100.0)) is None:
            return f"no run has a value of {measure} by {criterion}"
        older.update(there[there["revision"] != str(board.facts.get("engine_revision"))]["run_id"])
        best = max(figures, key=lambda name: figures[name].mean)
        rank = 1 + sum(one.mean > figure.mean for one in figures.values())
        return ComparedCell(row, column, row in grid.oracles, figure, figures[best], None, rank, 1 + len(figures), best)

    said = "{} of the board: another engine revision than its own, or unknown"
    return _beside(
        grid,
        look,
        theirs=str(board),
        alike=f"the same data, labeling, prior and validation part, epoch chosen by {model.criterion_name(criterion)}",
        measure=measure,
        criterion=criterion,
        board=True,
        notes=lambda: [said.format(counted(len(older), "run"))] if older else [],
    )


def _beside(
    grid: Grid,
    look: Look,
    *,
    notes: Callable[[], Sequence[str]],
    missing: Callable[[], Any] = tuple,
    **facts: Any,
) -> SideBySide:
    """Every cell of a grid as it is looked up; what depends on that is asked for afterwards."""
    if not grid.cells:
        raise RequestError("there are no finished runs to compare")
    found = [(row, column, look(row, column, cell)) for row, column, cell in _cells_of(grid)]
    return SideBySide(
        cells=tuple(one for _, _, one in found if isinstance(one, ComparedCell)),
        left_out=tuple(LeftOut(row, column, why) for row, column, why in found if isinstance(why, str)),
        missing=tuple(missing()),
        notes=(*grid.notes, *notes()),
        **facts,
    )


def _one_of(what: str, given: str | None, known: Sequence[str]) -> str:
    """The first if none is named. Raises RequestError for one that is not known."""
    if given is not None and given not in known:
        raise unknown(what, given, known)
    return known[0] if given is None else given


def _cells_of(grid: Grid) -> Iterator[tuple[str, str, RunGroup]]:
    """Row, column and runs of every cell that has a run, by column."""
    for column in grid.columns:
        for row in grid.rows:
            if (cell := grid.cell(row, column)).runs:
                yield row, column, cell


def _first_of(cell: RunGroup) -> RunResult:
    return next(iter(cell.runs.values()))


def _figure_of(cell: RunGroup, criterion: str, measure: str, scale: float) -> Figure | None:
    """Mean and deviation of the runs that have a value; None without any."""
    found = cell_of(cell, measure, criterion)
    return _figure([scale * value for value in found.values.values()], found.alike) if found.values else None


def _figure(values: Collection[float], alike: int) -> Figure:
    mean, std = mean_and_std(values)
    assert mean is not None  # there are values
    return Figure(mean, std, len(values), alike)


def _name_of(printed: PublishedCell) -> tuple[str, str]:
    """Method and data set by their keys, with what the publication says of calibration and case."""
    method = f"{printed.method}-c" if printed.calibrate == "on" else printed.method
    return method, f"{printed.data} {printed.binarization}".strip()


# -------------------------------------------------------------------- protocols of publications

#: Fields that :func:`fitting` compares: the names of classes and calibration differ between publications.
_FITTED = ("data.positive", "data.negative", "data.binarization", "method.calibrate")


def why_not(run: RunResult, protocol: PublishedProtocol, printed: Sequence[PublishedCell], name: str) -> str:
    """Why a run is not of the protocol, or not in the tables; empty where it is both.

    The run of the protocol is what method, data set and preset give with the fields that the publication names. Of a
    publication that chose among draws, hyper-parameters that a method declares a range for may be others.
    """
    spec, prior = run.result.spec, "true" if protocol.prior is None else protocol.prior
    if not printed:
        return f"{name} has no figure for it"
    other = "other protocol: other classes, or calibrated otherwise"
    if spec.data.own is not None:
        return other
    if spec.prior != prior:
        return f"other protocol: prior {spec.prior}, theirs {prior}"
    from pubench_core.engine.resolve_method import method_class  # only the Config of a method has its ranges

    drawn = protocol.draws > 1
    unchecked = f"{spec.method.key} with preset {protocol.preset} is not installed, so its values cannot be checked"
    try:
        theirs = by_itself(json.dumps(_request(spec, protocol), sort_keys=True))
        fields = method_class(registry().find(MethodInfo, spec.method.key)).Config.model_fields if drawn else {}
    except (PluginError, RequestError):
        return unchecked
    free = [f"method.config.{name}" for name, field in fields.items() if about(field, "search") is not None]
    mine = assignments_of(spec)
    for field in sorted(theirs, key=lambda field: (field.startswith("method.config."), field != "method.preset")):
        if mine.get(field) != theirs[field] and field not in (*_FITTED, *free):
            return f"other protocol: {field} {mine.get(field)}, theirs {theirs[field]}"
    return "" if fitting(spec, printed) else other


def _request(spec: RunSpec, protocol: PublishedProtocol) -> dict[str, Any]:
    """The run of the protocol on the classes of a spec, as a request."""
    data = {"key": spec.data.key, "scheme": protocol.scheme, "positive": spec.data.positive}
    found: dict[str, Any] = {
        "method": {"key": spec.method.key, "preset": protocol.preset, "calibrate": spec.method.calibrate},
        "data": {**data, "negative": spec.data.negative},
        "mechanism": {"key": protocol.mechanism, **dict([protocol.amount])},
        "validation": {"fraction": protocol.validation},
        "prior": "true" if protocol.prior is None else protocol.prior,
    }
    for field, value in protocol.data.get(spec.data.key, {}).items():
        section, _, name = (field if "." in field else f"{field}.key").partition(".")
        found.setdefault(section, {})[name] = value
    return found


def fitting(spec: RunSpec, printed: Sequence[PublishedCell]) -> list[PublishedCell]:
    """The figures that are of these classes and this calibration."""
    info = next((one for one in registry().infos(DatasetInfo) if one.key == spec.data.key), None)
    classes = {} if info is None else {"": (info.positive, info.negative), **info.binarizations}
    return [
        one
        for one in printed
        if (found := classes.get(one.binarization)) is not None
        and tuple(map(tuple, map(sorted, found))) == (spec.data.positive, spec.data.negative)
        and one.calibrate in ("", spec.method.calibrate)
    ]
