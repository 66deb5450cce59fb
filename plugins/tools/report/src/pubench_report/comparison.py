"""Our results next to those of others: a published table, a board, or other records. Only what was run alike is
compared.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from pubench.field_names import in_words
from pubench.running import RunResult
from pubench_core.engine.layers import Layer
from pubench_core.errors import PluginError, RequestError, counted, nearest, shortened, unknown
from pubench_core.plugins.info import DatasetInfo, MethodInfo
from pubench_core.plugins.registry import registry
from pubench_core.specs import RunSpec
from pubench_core.specs.fields import about

from .cells import ShownMeasure, cell_of, mean_and_std
from .grouping import Grid, but_for_config, but_for_seed, by_path, in_short
from .published import (
    STANDINGS,
    Figure,
    Publication,
    PublishedCell,
    Reason,
    Verdict,
    names,
    source,
    standard_error,
    standing_of,
    verdict_of,
)
from .ranking import ranks_of
from .rendering import Printed, RenderedTable
from .results import Results, load_results
from .rows.files import Board, is_board, read_board
from .rows.record import assignments_of, by_itself, problem_of

if TYPE_CHECKING:
    from pandas import DataFrame

#: Columns of the printed table.
HEAD = ("method", "data", "ours", "theirs", "difference ± SE", "within 2 SE", "reason")
BOARD_HEAD = ("method", "data", "ours", "rank", "best of the board", "difference ± SE", "within 2 SE")
#: Fields of a row of :meth:`SideBySide.to_rows`.
FIELDS = (
    "theirs", "method", "data", "oracle", "measure", "criterion", "ours_mean", "ours_std", "ours_n", "ours_alike",
    "theirs_mean", "theirs_std", "theirs_n", "theirs_alike", "difference", "standard_error",
    "verdict", "standing", "reason", "evidence",
)  # fmt: skip
#: Characters of a list of cells that are printed.
_LISTED = 400


@dataclass(frozen=True)
class ComparedCell:
    """One method on one data set."""

    method: str
    data: str
    oracle: bool
    ours: Figure
    theirs: Figure
    reason: Reason | None = None
    """why ours is above or below, if that is known"""
    rank: int = 0
    """of ours among the methods of a board, 1 is best; 0 next to anything else"""
    of: int = 0
    """methods that are ranked, ours included"""
    best_method: str = ""
    """the method of the board that ``theirs`` is of: the best of the others"""

    @property
    def difference(self) -> float:
        """Ours minus theirs."""
        return self.ours.mean - self.theirs.mean

    @property
    def standard_error(self) -> float | None:
        """Standard error of the difference; None if a side has one run, and if neither side varies."""
        return standard_error(self.ours, self.theirs)

    @property
    def verdict(self) -> Verdict | None:
        """matched if the difference is less than two standard errors, else above or below; None without that error."""
        return verdict_of(self.ours, self.theirs)

    @property
    def standing(self) -> str:
        """One of :data:`STANDINGS`."""
        return standing_of(self.ours, self.theirs, self.reason)

    def texts(self) -> list[str]:
        """The cell as it is printed, in the order of :data:`HEAD`, or of :data:`BOARD_HEAD` next to a board."""
        error = self.standard_error
        within = {"matched": "yes", None: "not judged"}.get(self.verdict, f"no, {self.verdict}")
        difference = [f"{self.difference:+.2f}" + ("" if error is None else f" ± {error:.2f}"), within]
        if self.rank:
            rank = "oracle, not ranked" if self.oracle else f"{self.rank} of {self.of}"
            return [self.method, self.data, str(self.ours), rank, f"{self.best_method} {self.theirs}", *difference]
        reason = "unexplained" if self.standing == "unexplained" else ""
        if self.reason is not None:
            reason = f"{self.standing}: {self.reason.reason} ({self.reason.known}; {self.reason.evidence})"
        method = f"{self.method} (oracle)" if self.oracle else self.method
        return [method, self.data, str(self.ours), str(self.theirs), *difference, reason]


@dataclass(frozen=True)
class LeftOut:
    """A cell of ours that is not compared, and why."""

    method: str
    data: str
    why: str


@dataclass(frozen=True)
class SideBySide(Printed):
    """Our results next to those of others. Prints as text; in a notebook as a table."""

    theirs: str
    """what ours is compared with"""
    alike: str
    """what all compared runs have in common, in words"""
    measure: str
    criterion: str
    cells: tuple[ComparedCell, ...]
    left_out: tuple[LeftOut, ...]
    missing: tuple[tuple[str, str], ...]
    """(method, data) of theirs that nothing of ours is compared with"""
    notes: tuple[str, ...]
    citation: str = ""
    board: bool = False
    """whether theirs is a board, among whose methods ours are ranked"""

    @property
    def fields(self) -> tuple[str, ...]:
        """Fields of a row of plain data."""
        return (*FIELDS, "rank", "of", "best_method") if self.board else FIELDS

    def counts(self) -> dict[str, int]:
        """Number of cells that are matched, explained and so on, left out and missing."""
        standings = [cell.standing for cell in self.cells]
        known = {name: standings.count(name) for name in STANDINGS}
        return {**known, "left out": len(self.left_out), "missing": len(self.missing)}

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, for JSON."""
        return {
            **{name: getattr(self, name) for name in ("theirs", "citation", "alike")},
            "counts": self.counts(),
            "cells": self.to_rows(),
            "left_out": [vars(one) for one in self.left_out],
            "missing": [{"method": method, "data": data} for method, data in self.missing],
            "notes": list(self.notes),
        }

    def to_rows(self) -> list[dict[str, Any]]:
        """One row per compared cell, as plain data."""
        rows = []
        for cell in self.cells:
            sides = {"ours": cell.ours, "theirs": cell.theirs}
            row = {name: getattr(cell, name) for name in self.fields if hasattr(cell, name)}
            row |= {f"{side}_{name}": value for side, figure in sides.items() for name, value in vars(figure).items()}
            row |= {name: getattr(self, name) for name in ("theirs", "measure", "criterion")}
            row |= {name: getattr(cell.reason, name, None) for name in ("reason", "evidence")}
            row |= {"rank": None if cell.oracle else cell.rank}
            rows.append({n: round(row[n], 6) if isinstance(row[n], float) else row[n] for n in self.fields})
        return rows

    def to_frame(self) -> DataFrame:
        """:meth:`to_rows` as a frame."""
        import pandas

        return pandas.DataFrame(self.to_rows(), columns=list(self.fields))

    def shown(self) -> tuple[list[str], RenderedTable, list[str]]:
        """Title and :meth:`heading`, the cells as they are printed, :meth:`remarks`."""
        head, texts = (BOARD_HEAD, (4, 6)) if self.board else (HEAD, (5, 6))
        rows = [cell.texts() for cell in self.cells]
        table = RenderedTable.of(head, rows, left=2, texts=texts, wraps=(4,) if self.board else (6,))
        return [self.title(), *self.heading()], table, self.remarks()

    def title(self) -> str:
        """Title of the table."""
        unit = ", percent" if ShownMeasure.of(self.measure).percent else ""
        return f"{self.measure} (test{unit}) next to {self.theirs}: mean ± sample standard deviation (runs)"

    def heading(self) -> list[str]:
        """The publication or each method's rank, and what the compared runs have in common."""
        lines = [self.citation] if self.citation else []
        ranked = [cell for cell in self.cells if self.board and not cell.oracle]
        for method in dict.fromkeys(cell.method for cell in ranked):
            mine = [cell for cell in ranked if cell.method == method]
            ranks = ", ".join(f"{cell.rank} of {cell.of} on {cell.data}" for cell in mine)
            if len(mine) > 3:
                ranks = f"{median(cell.rank for cell in mine):g} (median of {len(mine)} problems)"
            below = fmean(cell.difference for cell in mine)
            lines.append(f"{method}: rank {ranks}; {below:+.2f} points to the best of the board on average")
        return [*lines, f"compared: {self.alike}"]

    def remarks(self) -> list[str]:
        """Counts; why cells are left out; what is missing; notes."""
        counts = {} if self.board else self.counts()
        said = ", ".join(f"{number} {name}" for name, number in counts.items() if number)
        lines = [said] if said else [] if self.cells else ["nothing to compare"]
        for why, number in Counter(one.why for one in self.left_out).items():
            cells = ", ".join(f"{one.method} on {one.data}" for one in self.left_out if one.why == why)
            lines.append(f"left out ({number}), {why}: {shortened(cells, _LISTED)}")
        if self.missing:
            listed = ", ".join(f"{method} on {data}" for method, data in self.missing)
            lines.append(f"missing ({len(self.missing)}), theirs and not run here alike: {shortened(listed, _LISTED)}")
        if any(cell.verdict is None for cell in self.cells):
            lines.append("not judged: one run on a side, or no spread on both, gives no standard error (SE)")
        if any(cell.ours.alike or cell.theirs.alike for cell in self.cells):
            lines.append("alike: runs that decide every test row alike")
        return [*lines, *(f"note: {note}" for note in self.notes)]


# -------------------------------------------------------------------- what is compared with what


def compare_with(
    results: Results, other: str | Path | Results, *, criterion: str | None = None, measure: str | None = None
) -> SideBySide:
    """Results and those of others, cell by cell: what ``pubench study compare`` prints.

    A cell is matched if the means differ by less than two standard errors of their difference, sqrt(s1^2 / n1 +
    s2^2 / n2). A side with one run has no deviation, so its cell is not judged.

    ``other``: a publication (``"pubench2026"``, ``"wang2026"``), a folder of records, a file of rows, results, or a
    dated board (``"board@2026.12"``, or its folder), among whose methods those of the results are ranked. Only runs of
    the same protocol (with a publication), or of the same spec except for their seeds (with results), are compared; the
    rest is left out with the reason. ``criterion``: by default the publication's main one, or the one that names
    ``results``. ``measure``: on test rows; by default the publication's main one, or accuracy.

    Raises InvalidRequest for another publication or folder, and a criterion or measure that is not there.

    >>> import pubench
    >>> mine = pubench.compare(["upu"], data="digits", seeds=[2], config={"epochs": 1}, tracking=False)
    >>> theirs = pubench.compare(["upu"], data="digits", seeds=[25, 42], config={"epochs": 1}, tracking=False)
    >>> [cell.theirs.n for cell in compare_with(mine, theirs).cells]
    [2]
    """
    with in_words():
        return side_by_side(results, other, criterion, measure)


def side_by_side(
    results: Results, other: str | Path | Results, criterion: str | None, measure: str | None, word: str = "other"
) -> SideBySide:
    """:func:`compare_with`, raising RequestErrors that call ``other`` by a word of the caller's."""
    if isinstance(other, Results):
        return beside_results(results, other, "other results", criterion, measure)
    if str(other) in names():
        return beside_published(results, str(other), criterion, measure)
    if is_board(str(other)):
        return beside_board(results, read_board(other), criterion, measure)
    if Path(other).exists():
        return beside_results(results, load_results(other), str(other), criterion, measure)
    raise RequestError(
        f"{word} must be a publication ({', '.join(names())}), a board (board@NAME), a folder of records or a file of "
        f"rows, got {shortened(str(other))}; {nearest(str(other), names())}"
    )


@dataclass(frozen=True)
class _OurCell:
    """Runs of ours in one place of a grid. ``figure``: None if none has a value; ``spec``: of the first."""

    row: str
    column: str
    oracle: bool
    runs: Sequence[RunResult]
    figure: Figure | None
    spec: RunSpec


def _cells(grid: Grid, measure: str, criterion: str) -> Iterator[_OurCell]:
    """Every cell that has a run, by column."""
    scale = ShownMeasure.of(measure).scale
    for column in grid.columns:
        for row in grid.rows:
            if (runs := grid.cell(row, column)).runs:
                values = cell_of(runs, measure, criterion)
                figure = _figure(values.values.values(), values.alike, scale)
                of = [*runs.runs.values()]
                yield _OurCell(row, column, row in grid.oracles, of, figure, of[0].result.spec)


def _figure(values: Iterable[float], alike: int, scale: float) -> Figure | None:
    found = [scale * value for value in values]
    mean, std = mean_and_std(found)
    return None if mean is None else Figure(mean, std, len(found), alike)


def beside_published(
    results: Results, name: str, criterion: str | None = None, measure: str | None = None
) -> SideBySide:
    """Results and the tables of a publication, in percent; by default its main criterion and measure."""
    theirs = source(name)
    criterion = _one_of(f"criterion of {theirs.name}", criterion, theirs.criteria)
    measure = _one_of(f"measure of {theirs.name}", measure, theirs.measures)
    wanted = [cell for cell in theirs.cells if (cell.criterion, cell.measure) == (criterion, measure)]
    chosen = results
    if theirs.draws > 1 and criterion in results.criteria:
        chosen = results.best_of_draws(criterion)
    draws = Counter(map(but_for_config, results))

    def look(ours: _OurCell) -> ComparedCell | str | None:
        found = [one for one in wanted if (one.method, one.data) == (ours.spec.method.key, ours.spec.data.key)]
        if why := why_not(ours.runs[0], theirs, found):
            return why
        if ours.figure is None:
            return None
        printed = fitting(ours.spec, found)[0]
        fewest = min(draws[but_for_config(run)] for run in ours.runs)
        reason = theirs.reason_of(printed.method, printed.data, verdict_of(ours.figure, printed.figure), fewest)
        return ComparedCell(*_name_of(printed), ours.oracle, ours.figure, printed.figure, reason)

    fields = (in_short(field, json.dumps(value)) for field, value in by_path(theirs.protocol).items())
    alike = f"{', '.join(fields)}, epoch chosen by {criterion}"
    notes = (*chosen.notes, *([theirs.note] if theirs.note else []))
    found = _beside(chosen, look, theirs.name, alike, measure, criterion, notes=notes, citation=theirs.citation)
    there = {(cell.method, cell.data) for cell in found.cells}
    return replace(found, missing=tuple(dict.fromkeys(one for one in map(_name_of, wanted) if one not in there)))


def beside_results(
    results: Results, others: Results, title: str, criterion: str | None = None, measure: str | None = None
) -> SideBySide:
    """Results and those of another folder: cells whose runs have the same spec except for their seeds; by default
    accuracy, by the criterion that names the results.
    """
    model = results.model(measure or "accuracy", criterion)
    criterion, measure = model.criterion, model.measure.key
    theirs = {but_for_seed(one.spec): one for one in _cells(others.grid, measure, criterion)}
    missing, same = dict(theirs), list[bool]()

    def look(ours: _OurCell) -> ComparedCell | str | None:
        if (other := theirs.get(key := but_for_seed(ours.spec))) is None:
            return f"{title} has no run of the same spec"
        missing.pop(key, None)
        if ours.figure is None or other.figure is None:
            return None
        seeds = {run.result.spec.seed for run in other.runs}
        same.extend(run.result.spec.seed in seeds for run in ours.runs)
        return ComparedCell(ours.row, ours.column, ours.oracle, ours.figure, other.figure)

    alike = f"the same spec except for seeds, epoch chosen by {model.criterion_name(criterion)}"
    found = _beside(results, look, title, alike, measure, criterion)
    both = f"{sum(same)} of {counted(len(same), 'run')} compared have the same seed and spec on both sides"
    left = tuple((one.row, one.column) for one in missing.values())
    return replace(found, missing=left, notes=(*found.notes, *([both] if any(same) else [])))


def beside_board(
    results: Results, board: Board, criterion: str | None = None, measure: str | None = None
) -> SideBySide:
    """The rank of each method of the results on each problem, among the methods of a board with runs on it.

    A problem is all that decides a run except method, network and seed. Oracle methods are not ranked. The board's own
    runs of a method of the results do not count against it. By default as :func:`beside_results`.
    """
    measure = _one_of(f"measure of {board}", measure or "accuracy", board.measures)
    model, older = results.model(measure, criterion), set[str]()
    criterion = _one_of(f"criterion of {board}", model.criterion, sorted(set(board.rows["criterion"])))
    rows = board.rows[(board.rows["criterion"] == criterion) & ~board.rows["oracle"]].dropna(subset=[f"test_{measure}"])

    def look(ours: _OurCell) -> ComparedCell | str | None:
        there = rows[rows["problem"] == problem_of(ours.spec)]
        own = {*there[there["run_id"].isin([run.run_id for run in ours.runs])]["name"], ours.row}
        others = there[~there["name"].isin(own)].groupby("name")
        figures = {
            str(name): figure
            for name, of in others
            if (figure := _figure(of[f"test_{measure}"], int(of["alike"].sum()), model.measure.scale)) is not None
        }
        if not figures:
            return f"{board} has no other method on the same problem"
        if ours.figure is None:
            return None
        older.update(there[there["revision"] != str(board.facts.get("engine_revision"))]["run_id"])
        best, mean = max(figures, key=lambda name: figures[name].mean), ours.figure.mean
        rank, *_ = ranks_of([mean, *(one.mean for one in figures.values())], larger_is_better=True)
        place = (rank, 1 + len(figures), best)
        return ComparedCell(ours.row, ours.column, ours.oracle, ours.figure, figures[best], None, *place)

    chosen = model.criterion_name(criterion)
    alike = f"the same data, labeling, prior and validation part, epoch chosen by {chosen}"
    found = _beside(results, look, str(board), alike, measure, criterion, board=True)
    said = f"{counted(len(older), 'run')} of the board: another engine revision than its own, or unknown"
    return replace(found, notes=(*found.notes, *([said] if older else [])))


def _beside(
    results: Results,
    look: Callable[[_OurCell], ComparedCell | str | None],
    theirs: str,
    alike: str,
    measure: str,
    criterion: str,
    notes: Iterable[str] = (),
    **more: Any,
) -> SideBySide:
    """Every cell of results as it is looked up: compared, left out for a reason, or without a value (None)."""
    if not results.grid.cells:
        raise RequestError("there are no finished runs to compare")
    no_value = f"no run has a value of {measure} by {criterion}"
    found = [(one, look(one) or no_value) for one in _cells(results.grid, measure, criterion)]
    cells = tuple(cell for _, cell in found if isinstance(cell, ComparedCell))
    left_out = tuple(LeftOut(one.row, one.column, why) for one, why in found if isinstance(why, str))
    return SideBySide(theirs, alike, measure, criterion, cells, left_out, (), (*results.grid.notes, *notes), **more)


def _one_of(what: str, given: str | None, known: Sequence[str]) -> str:
    """The first if none is named. Raises RequestError for one that is not known."""
    if given is not None and given not in known:
        raise unknown(what, given, known)
    return known[0] if given is None else given


def _name_of(printed: PublishedCell) -> tuple[str, str]:
    """Method and data set by their keys, with what the publication says of calibration and case."""
    method = f"{printed.method}-c" if printed.calibrate == "on" else printed.method
    return method, f"{printed.data} {printed.binarization}".strip()


# -------------------------------------------------------------------- protocols of publications

#: Fields that :func:`fitting` compares: the names of classes and calibration differ between publications.
_FITTED = ("data.positive", "data.negative", "data.binarization", "method.calibrate")


def why_not(run: RunResult, theirs: Publication, printed: Sequence[PublishedCell]) -> str:
    """Why a run is not of the protocol, or not in the tables; empty where it is both.

    The run of the protocol is what method, data set and preset give with the fields that the publication names. Of a
    publication that chose among draws, hyper-parameters that a method declares a range for may be others.
    """
    spec, prior = run.result.spec, theirs.protocol["prior"]
    if not printed:
        return f"{theirs.name} has no figure for it"
    other = "other protocol: other classes, or calibrated otherwise"
    if spec.data.own is not None:
        return other
    if spec.prior != prior:
        return f"other protocol: prior {spec.prior}, theirs {prior}"
    from pubench_core.engine.resolve_method import method_class  # only the Config of a method has its ranges

    preset, drawn = theirs.protocol["method"]["preset"], theirs.draws > 1
    try:
        wanted = by_itself(json.dumps(_request(spec, theirs), sort_keys=True))
        fields = method_class(registry().find(MethodInfo, spec.method.key)).Config.model_fields if drawn else {}
    except (PluginError, RequestError):
        return f"{spec.method.key} with preset {preset} is not installed, so its values cannot be checked"
    free = [f"method.config.{name}" for name, field in fields.items() if about(field, "search") is not None]
    mine = assignments_of(spec)
    for field in sorted(wanted, key=lambda field: (field.startswith("method.config."), field != "method.preset")):
        if mine.get(field) != wanted[field] and field not in (*_FITTED, *free):
            return f"other protocol: {field} {mine.get(field)}, theirs {wanted[field]}"
    return "" if fitting(spec, printed) else other


def _request(spec: RunSpec, theirs: Publication) -> Mapping[str, Any]:
    """The run of the protocol on the classes of a spec, as a request."""
    method = {"key": spec.method.key, "calibrate": spec.method.calibrate}
    data = {"key": spec.data.key, "positive": spec.data.positive, "negative": spec.data.negative}
    layers = (theirs.protocol, {"method": method, "data": data}, theirs.on.get(spec.data.key, {}))
    return Layer.joined(Layer(dict(values)) for values in layers).values


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
