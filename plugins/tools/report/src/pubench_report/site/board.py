"""The front page: who is best, how sure that is, and what it rests on, from one JSON of values.

The page stands without JavaScript. With it, ``board.js`` computes the same for any choice of setting, criterion,
measure and data sets.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from itertools import product
from typing import Any

from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from pubench_core.errors import counted, visible
from pubench_core.plugins.info import MethodInfo
from pubench_core.plugins.registry import registry

from ..grouping import Cell as Runs
from ..report.model import Cell, Measure, Model, Setting
from ..report.page import document
from ..standing import (
    LEAST_SEEDS,
    LEVEL,
    RESAMPLES,
    Counted,
    Place,
    Standing,
    changes,
    counted_in,
    headline,
    percent,
    points,
    standing_of,
)
from .names import column_names, criterion_text, published, row_name, setting_name
from .protocols import Protocol, in_order

#: Measures that are won by deciding every row alike name no best method.
_WON_BY_NOTHING = ("precision", "recall")
#: Bytes of the front page's JSON; what does not fit is on the pages of the tables.
BUDGET = 110_000


@dataclass(frozen=True)
class Board:
    """A setting of the front page. ``criterion``, ``measure``: of its first view; ``names``: of rows; ``columns``:
    label -> name of a data set, those that count first.
    """

    one: Protocol
    setting: Setting
    title: str
    page: str
    criterion: str
    measure: Measure
    counts: Counted
    names: Mapping[str, str]
    columns: Mapping[str, str]

    @property
    def model(self) -> Model:
        """All runs of its table."""
        return self.one.model

    @property
    def rows(self) -> list[str]:
        """Methods that were run or planned here."""
        return self.model.rows_of(self.setting)

    @property
    def criteria(self) -> list[str]:
        """Criteria in the order in which they are offered."""
        return in_order(self.model.criteria)

    @property
    def oracle(self) -> str:
        """The criterion that shows what true labels would choose; empty if none was tracked."""
        return next((key for key in self.criteria if key in self.model.oracle_criteria), "")

    @property
    def measures(self) -> list[Measure]:
        """Those by which methods can be ranked, the one shown first leading."""
        good = [
            one
            for one in self.model.measures
            if one.percent and one.higher_is_better and not one.key.startswith(_WON_BY_NOTHING)
        ]
        return [self.measure, *(one for one in good if one.key != self.measure.key)]

    def standing(self, criterion: str) -> Standing:
        """Standing of its methods by its measure."""
        return standing_of(self.model, self.setting, self.measure, criterion, self.counts)


def boards_of(protocols: Sequence[Protocol]) -> list[Board]:
    """One for each setting of each table."""
    found = []
    for one in protocols:
        for setting in one.model.settings:
            measure, chosen = one.model.measure, one.model.criterion
            several = f": {setting_name(setting.columns[0].spec)}" if len(one.model.settings) > 1 else ""
            counts = counted_in(one.model, setting, one.model.cells(measure, chosen))
            names = {row: row_name(row, one.method_of[row]) for row in one.model.rows_of(setting)}
            names |= {row: f"{names[row]} ({key})" for row, key in _alike_names(names)}
            first = [column for column in setting.columns if column.label in counts.columns]
            columns = (*first, *(column for column in setting.columns if column not in first))
            ordered, called = replace(setting, columns=columns), column_names(columns)
            page = f"{one.key}.html"
            found.append(Board(one, ordered, one.name + several, page, chosen, measure, counts, names, called))
    return found


def _alike_names(names: Mapping[str, str]) -> list[tuple[str, str]]:
    """Rows whose names are those of others, with their keys."""
    return [(row, row) for row, name in names.items() if list(names.values()).count(name) > 1]


# -------------------------------------------------------------------- the page's JSON


def payload(boards: Sequence[Board], pages: Mapping[str, str]) -> str:
    """JSON of all settings that can stand between ``<script>`` tags. Values are hundredths of a percent, by seed.

    ``pages``: method -> its page. The measures of the largest settings come first, until the budget is spent.
    """
    settings = [_setting(board, pages) for board in boards]
    left = BUDGET - sum(len(json.dumps(setting, separators=(",", ":"))) for setting in settings)
    for rank in range(max(len(board.measures) for board in boards)):
        for board, setting in zip(boards, settings, strict=True):
            for measure, criterion in product(board.measures[rank : rank + 1], board.criteria):
                values = _values(board, measure, criterion, setting)
                left -= len(json.dumps(values, separators=(",", ":")))
                is_default = rank == 0 and criterion in (board.criterion, board.oracle)
                if left > 0 or is_default:
                    setting["values"].setdefault(measure.key, {})[criterion] = values
    text = json.dumps({"resamples": RESAMPLES, "settings": settings}, separators=(",", ":"), ensure_ascii=False)
    return visible(text).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _setting(board: Board, pages: Mapping[str, str]) -> dict[str, Any]:
    grid, model = board.model.gathered.grid, board.model
    infos = {info.key: info for info in registry().infos(MethodInfo)}
    rows, labels = board.rows, [column.label for column in board.setting.columns]
    cells: list[list[Any]] = []
    seeds: dict[tuple[int, ...], int] = {}
    for (r, row), (c, label) in product(enumerate(rows), enumerate(labels)):
        of = grid.cell(row, label)
        if of.seeds:
            cells.append(
                [
                    r,
                    c,
                    model.ids().get((row, label), ""),
                    seeds.setdefault(tuple(sorted(of.runs)), len(seeds)),
                    *_seconds(of),
                ]
            )
    return {
        "title": board.title,
        "tip": board.setting.words,
        "page": board.page,
        "runs": sum(len(grid.cell(row, label).runs) for row in rows for label in labels),
        "columns": [
            {
                "name": board.columns[column.label],
                "tip": column.label,
                "group": column.spec.data.key,
                "seeds": board.counts.seeds[column.label],
                "counts": column.label in board.counts.columns,
            }
            for column in board.setting.columns
        ],
        "rows": [
            {
                "name": board.names[row],
                "key": row,
                "from": published(key := board.one.method_of[row]),
                "page": f"{pages[key]}.html" if key in pages else "",
                "kind": _kind(model, row),
                "prior": key in infos and "prior" in infos[key].needs,
                "family": infos[key].family if key in infos else "",
            }
            for row in rows
        ],
        "cells": cells,
        "seeds": list(seeds),
        "criteria": [[key, *criterion_text(key), int(key in model.oracle_criteria)] for key in board.criteria],
        "criterion": board.criterion,
        "measures": [[one.key, one.name] for one in board.measures],
        "measure": board.measure.key,
        "values": {},
    }


def _kind(model: Model, row: str) -> str:
    return "oracle" if row in model.oracles else "baseline" if row in model.apart else ""


def _seconds(of: Runs) -> tuple[float | None, int]:
    """Median seconds of a cell's runs, and whether any shared the machine."""
    seconds = [run.result.seconds.total for run in of.runs.values()]
    shared = any((run.result.at_once or 1) > 1 for run in of.runs.values())
    return (round(statistics.median(seconds), 2) if seconds else None), int(shared)


def _values(board: Board, measure: Measure, criterion: str, setting: Mapping[str, Any]) -> list[Any]:
    """Of each cell: how many runs decide every row alike, and a value for each of its seeds (None: it has none)."""
    of = board.model.cells(measure, criterion)
    rows, labels = board.rows, [column.label for column in board.setting.columns]
    found = []
    for r, c, _, seeds, *_ in setting["cells"]:
        cell = of[rows[r], labels[c]]
        by_seed = [
            round(100 * float(measure.text(cell.values[s]))) if s in cell.values else None
            for s in setting["seeds"][seeds]
        ]
        found.append([cell.alike, *by_seed])
    return found


# -------------------------------------------------------------------- the table without JavaScript

#: Width of the strip of dots, its margins, and the points that it spans.
STRIP, MARGIN, SPAN = 150, 6, 26.0
#: Points below the best at which a cell has no shade left.
UNSHADED = 12.0


@dataclass(frozen=True)
class Shown:
    """A cell of the table. ``state``: ``value``, ``alike`` (every run decides every row alike) or ``none``."""

    text: str
    state: str
    shade: float = 0.0
    few: int = 0
    best: bool = False
    link: str = ""
    tip: str = ""


@dataclass(frozen=True)
class Line:
    """A row of the table. ``place``: None if it is not ranked; ``below``: of it, or of a baseline."""

    row: str
    name: str
    source: str
    page: str
    kind: str
    place: Place | None
    below: float | None
    alike: str
    seconds: str
    shared: bool
    cells: Sequence[Shown]


def lines_of(board: Board, standing: Standing, pages: Mapping[str, str]) -> list[Line]:
    """Ranked methods, then those that lack values, then baselines and oracles."""
    places = {place.row: place for place in standing.places}
    kinds = {row: _kind(board.model, row) for row in board.rows}
    order = {row: k for k, row in enumerate(places)}
    rows = sorted(
        board.rows,
        key=lambda row: (
            ["", "baseline", "oracle"].index(kinds[row]),
            order.get(row, len(order)),
            board.names[row].lower(),
        ),
    )
    cells = board.model.cells(board.measure, board.criterion)
    best = {column.label: _best(board, column.label, cells) for column in board.setting.columns}
    found = []
    for row in rows:
        key = board.one.method_of[row]
        of = {c.label: board.model.gathered.grid.cell(row, c.label) for c in board.setting.columns}
        runs = sum(len(cell.runs) for cell in of.values())
        alike = sum(cells[row, label].alike for label in of)
        seconds = [
            _seconds(cell)
            for label, cell in of.items()
            if cell.runs and (row not in places or label in standing.columns)
        ]
        typical = statistics.median(value for value, _ in seconds if value is not None) if seconds else None
        shown = [_shown(board, row, label, cells[row, label], best[label]) for label in of]
        place = places.get(row)
        found.append(
            Line(
                row=row,
                name=board.names[row],
                source=published(key),
                page=f"{pages[key]}.html" if key in pages else "",
                kind=kinds[row],
                place=place,
                below=place.below if place is not None else standing.baselines.get(row),
                alike=percent(alike / runs) if alike else "0" if runs else "",
                seconds="" if typical is None else seconds_text(typical),
                shared=any(shared for _, shared in seconds),
                cells=shown,
            )
        )
    return found


def seconds_text(seconds: float) -> str:
    """``0.5``, ``12``, as a browser rounds."""
    return points(seconds) if seconds < 10 else f"{math.floor(seconds + 0.5)}"


def _best(board: Board, label: str, cells: Mapping[tuple[str, str], Cell]) -> float | None:
    """The best mean of a column over its shared seeds; None in a column with one seed."""
    seeds = board.counts.seeds[label]
    means = [
        mean
        for row in board.rows
        if row not in board.model.apart and not cells[row, label].alike
        and (mean := _mean(board, cells[row, label], seeds)) is not None
    ]  # fmt: skip
    return max(means) if means and len(seeds) >= LEAST_SEEDS else None


def _mean(board: Board, cell: Cell, seeds: Sequence[int]) -> float | None:
    """Over these seeds; None if one has no value."""
    if not seeds or not cell.values.keys() >= set(seeds):
        return None
    return statistics.fmean(float(board.measure.text(cell.values[seed])) for seed in seeds)


def _shown(board: Board, row: str, label: str, cell: Cell, best: float | None) -> Shown:
    name = f"{board.names[row]} on {board.columns[label]}"
    if not cell.seeds:
        return Shown("–", "none", tip=f"{name}: not run")
    link = f"{board.page}#{cell.id}" if cell.id else ""
    if not cell.values:
        return Shown("–", "none", link=link, tip=f"{name}: {'; '.join(cell.why) or 'no value'}")
    seeds = board.counts.seeds[label]
    shared = _mean(board, cell, seeds)
    mean = shared if shared is not None else _mean(board, cell, sorted(cell.values))
    assert mean is not None
    n = len(cell.values) if shared is None else len(seeds)
    tip = (
        f"{name}: {mean:.2f} over {counted(n, 'seed')}{f', {cell.alike} decide every row alike' if cell.alike else ''}"
    )
    if cell.alike == cell.seeds:
        return Shown(points(mean), "alike", few=n if n < 3 else 0, link=link, tip=tip)
    competes = best is not None and row not in board.model.apart and not cell.alike and shared is not None
    shade = max(0.0, 1 - max(0.0, best - mean) / UNSHADED) if best is not None and not cell.alike else 0.0
    return Shown(
        points(mean), "value", round(0.55 * shade, 2), n if n < 3 else 0,
        best=competes and mean >= (best or 0.0) - 1e-9, link=link, tip=tip,
    )  # fmt: skip


# -------------------------------------------------------------------- the page


def front_page(
    title: str,
    boards: Sequence[Board],
    pages: Mapping[str, str],
    lists: Mapping[str, str],
    origins: str,
    notes: Sequence[str],
    home: str,
) -> str:
    """The HTML. ``lists``: heading -> HTML of a table; ``origins``: HTML of the table of sources; ``notes``: on these;
    ``home``: address of the documentation.
    """
    board = boards[0]
    standing = board.standing(board.criterion)
    oracle = None
    if board.oracle and board.oracle != board.criterion:
        oracle = (criterion_text(board.oracle)[0], board.standing(board.oracle))
    sources = {column.spec.data.key: board.columns[column.label].partition(",")[0] for column in board.setting.columns}
    lines = lines_of(board, standing, pages)
    compared = sum(not line.kind for line in lines)
    environment = Environment(
        loader=PackageLoader(__package__ or "", "templates"), autoescape=True, trim_blocks=True, lstrip_blocks=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
    )  # fmt: skip
    body = environment.get_template("board.html.j2").render(
        title=title, home=home, board=board, lines=lines, boards=boards, lists=lists, sources=origins, notes=notes,
        headline=headline(standing, board.names), changes=changes(standing, board.names, sources, oracle),
        setting=f"{board.title}; test {board.measure.name} at the epoch chosen by {criterion_text(board.criterion)[0]}"
        f"{' (oracle)' if board.criterion in board.model.oracle_criteria else ', without labels'}; "
        f"{counted(len(standing.columns), 'data set')}; {len(standing.places)} of {counted(compared, 'method')} have "
        "every value there.",
        data=Markup(payload(boards, pages)),
        strip={"width": STRIP, "marks": [0, 10, 20]},
        x=lambda value: round(MARGIN + min(value, SPAN) / SPAN * (STRIP - 2 * MARGIN), 1),
        percent=percent, points=points, level=f"{100 * LEVEL:.0f}", resamples=RESAMPLES,
    )  # fmt: skip
    return document(title, [body], style=_asset("board.css"), script=_asset("charts.js") + _asset("board.js"))


def _asset(name: str) -> str:
    return (files(__package__ or "") / "templates" / name).read_text(encoding="utf-8")
