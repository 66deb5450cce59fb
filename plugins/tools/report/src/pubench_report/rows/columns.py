"""The table of columns that a run's row has: name, type, source, forms, meaning, bounds.

A row is a run as one criterion chose its epoch. Shares and measures are fractions, sizes bytes, times seconds. Measures
are columns ``test_accuracy``, ``validation_pa`` and so on. Files of rows (CSV) and dated boards of format 1 have them
in percent, without ``test_``, and some columns under older names.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from pubench_core.plugins.registry import registry
from pubench_core.results import at_prior_name

if TYPE_CHECKING:
    from pandas import DataFrame

#: Forms that rows have: ``to_frame``, ``results.parquet`` (a row per measure), files of rows (CSV), dated boards.
FRAME, LONG, FILE, BOARD = "F", "L", "R", "B"
MIB = 2**20


@dataclass(frozen=True)
class RowColumn:
    """A column of a run's row."""

    name: str
    source: str
    """path of its value in a :class:`RowSource`, or a name there in ``_MADE``; empty if it is of one measure"""
    forms: str
    """letters of the forms that have it"""
    meaning: str
    type: str = "float64"
    """pandas' name of it"""
    low: float = -math.inf
    high: float = math.inf
    file: str = ""
    """name in files of rows and boards of format 1, if it is another one"""
    unit: float = 1.0
    """what a number of such a file is multiplied by"""
    since: bool = False
    """whether older files of rows lack it"""
    may_lack: bool = False
    """whether a row may have no number here"""

    @property
    def in_file(self) -> str:
        return self.file or self.name


_text, _flag = partial(RowColumn, type="string"), partial(RowColumn, type="bool")
_count, _amount = partial(RowColumn, type="int64", low=0.0), partial(RowColumn, low=0.0)
_share = partial(RowColumn, low=0.0, high=1.0, may_lack=True)

#: Every column of a run's row, in order; measures come after ``criterion_value``.
COLUMNS: tuple[RowColumn, ...] = (
    _text("run_id", "result.run_id", "FLRB", "hash of what decides the scores; name of the record's folder"),
    _text("name", "name", "FB", "name of the method in tables, with what was set of it", file="row", since=True),
    _text("method", "spec.method.key", "FLRB", "key of the method"),
    _text("data", "spec.data.key", "FLRB", "key of the data set"),
    _text("mechanism", "spec.mechanism.key", "FLRB", "key of the labeling mechanism"),
    _text("variant", "spec.mechanism.variant", "L", "variant of the mechanism"),
    _share("c", "spec.mechanism.c", "FLRB", "p(labeled | positive); none if labels were given"),
    _share("positive_rate", "spec.mechanism.positive_rate", "FLRB", "labeled share of P and U; none if c says it",
           since=True),
    _text("scheme", "spec.data.scheme", "FLRB", "sampling scheme"),
    _share("prior", "result.data.prior.given", "FLRB", "class prior that the method was given", file="told_prior"),
    _text("prior_from", "spec.prior", "FLRB", "how it came about: true, a number, estimated:KEY, ...", file="prior"),
    _share("prior_true", "result.data.prior.true", "FL", "share of positives in the training pool"),
    _count("seed", "spec.seed", "FLRB", "seed of split, labels and training"),
    _text("preset", "spec.method.preset", "FLRB", "preset of the method"),
    _text("settings", "settings", "RB", "what was set beyond preset, data set and labeling"),
    _text("calibrate", "spec.method.calibrate", "L", "calibration of the method"),
    _text("backbone", "spec.backbone.key", "FL", "network"),
    _text("config", "config", "L", "hyper-parameters as a JSON object"),
    _share("validation_fraction", "spec.validation.fraction", "L", "share of P and U that is held out"),
    _text("problem", "problem", "B", "equal for runs that may be compared: all but method, network and seed",
          since=True),
    _text("draw", "draw", "R", "number of a hyper-parameter draw", since=True),
    _flag("oracle", "result.oracle", "FLB", "whether the method was granted true labels", since=True),
    _text("criterion", "criterion", "FLRB", "criterion that chose the epoch"),
    _flag("criterion_selected", "selected", "LRB", "whether it is the one that names the result", file="selected"),
    _flag("criterion_oracle", "chosen.oracle", "FLRB", "whether it reads true labels"),
    RowColumn("criterion_value", "chosen.value", "FLRB", "its value on the validation part", since=True, may_lack=True),
    _count("epoch", "chosen.epoch", "FLRB", "epoch that it chose, from 1", type="Int64", may_lack=True),
    RowColumn("threshold", "chosen.threshold", "L", "threshold of the decision at the prior"),
    _text("threshold_from", "quantile_of", "R", "scores it is a quantile of: U; test for older records", since=True),
    _count("epochs", "result.epochs", "FLRB", "epochs that were trained"),
    _text("part", "", "L", "rows that were measured: test, validation"),
    _text("measure", "", "L", "metric; METRIC-at-prior by the decision at the prior"),
    _text("tag", "", "L", "oracle if the metric reads true labels, else pu"),
    RowColumn("value", "", "L", "its value"),
    RowColumn("low", "", "L", "lower end of its interval"),
    RowColumn("high", "", "L", "upper end of its interval"),
    _text("undefined", "", "L", "why there is no value"),
    _flag("alike", "chosen.decided_alike", "B", "whether all test rows are decided alike", since=True),
    _amount("seconds", "result.seconds.total", "FLRB", "wall-clock time of the run"),
    _amount("seconds_training", "result.seconds.training", "L", "wall-clock time of its training"),
    _count("memory_bytes", "result.peak_memory.bytes", "LRB", "most memory that the run took", file="peak_mib",
           unit=MIB),
    _text("memory_of", "result.peak_memory.what", "L", "what memory_bytes is of"),
    _count("at_once", "result.at_once", "LRB", "runs of studies that shared the machine, at most", type="Int64", low=1,
           may_lack=True),
    _text("device", "result.device", "L", "what it was computed on"),
    _count("threads", "result.threads", "LRB", "CPU threads"),
    _text("code", "result.code.hash", "LRB", "hash of what computed it"),
    _text("versions", "versions", "L", "distribution -> version as a JSON object"),
    _text("revision", "revision", "RB", "engine revision; empty for a checkout with changes", since=True),
    _text("commit", "commit", "RB", "commit of the checkout, -dirty with changes", since=True),
    _text("machine", "machine", "RB", "system, architecture, processor or GPU", since=True),
    _text("study", "study", "RB", "study that the run is of"),
    _text("scores", "scores_digest", "B", "SHA-256 of the test scores at this epoch, little-endian doubles",
          since=True),
    _text("warnings", "warnings", "FL", "of the run and of the criterion, with semicolons between"),
    _text("finished_at", "result.finished_at", "L", "UTC, ISO 8601"),
)  # fmt: skip
BY_NAME: Mapping[str, RowColumn] = {column.name: column for column in COLUMNS}
#: The column that measures follow.
BEFORE_MEASURES = "criterion_value"
#: Columns that a file must have to be one of rows, measures apart.
NEEDED = tuple(column.in_file for column in COLUMNS if FILE in column.forms and not column.since)


def names(form: str) -> list[str]:
    """Columns of a form, measures apart."""
    return [column.name for column in COLUMNS if form in column.forms]


def types(form: str) -> dict[str, str]:
    """Column of a form -> type; of files and boards with the measures that come first, under the names of files."""
    if form not in (FILE, BOARD):
        return {column.name: column.type for column in COLUMNS if form in column.forms}
    found: dict[str, str] = {}
    for column in COLUMNS:
        if form in column.forms:
            found[column.in_file] = column.type if column.unit == 1 else "float64"
        if column.name == BEFORE_MEASURES:
            at_prior = map(at_prior_name, ("accuracy", "f1")) if form == FILE else ()
            found |= dict.fromkeys([*registry().headline(), *at_prior], "float64")
    return found


@cache
def file_column(name: str) -> RowColumn:
    """The column that files call so; one that is not declared is a measure on test rows, ``accuracy``, in percent."""
    declared = (column for column in COLUMNS if column.in_file == name and {FILE, BOARD} & {*column.forms})
    return next(declared, _share(f"test_{name}", "", FILE + BOARD, "measure on test rows", file=name, unit=0.01))


def typed(rows: Iterable[Any], columns: Iterable[str]) -> DataFrame:
    """Rows as a frame of these columns; those that are not declared are measures. A text that is not there is empty."""
    import pandas

    wanted = {name: BY_NAME[name].type if name in BY_NAME else "float64" for name in columns}
    frame = pandas.DataFrame(rows, columns=list(wanted)).astype(wanted)
    texts = [name for name, kind in wanted.items() if kind == "string"]
    return frame.assign(**{name: frame[name].fillna("") for name in texts})
