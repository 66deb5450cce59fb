"""Scores to be evaluated or audited: from a table of the user's own, or from the record of a run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pubench_cli.console import err
from pubench_cli.recorded_run import folder_of_run
from pubench_core.data.table_reader import table_reader
from pubench_core.errors import RecordError, RequestError, unknown
from pubench_core.plugins.registry import registry
from pubench_core.records.files import read_scores
from pubench_core.records.record import read_record
from pubench_core.records.scores import scores_of

if TYPE_CHECKING:
    from pandas import DataFrame

    from pubench_core.results import Result

#: Argument of the Python functions -> flag.
_FLAGS = {
    "answers": "--answers",
    "audited": "--audited",
    "budget": "--budget",
    "compare": "--compare",
    "design": "--design",
    "drop": "--drop",
    "estimators": "--estimators",
    "features": "--features",
    "goal": "--goal",
    "labeled": "--label-col",
    "n": "--n",
    "out": "--out",
    "positive_value": "--positive-value",
    "prior": "--prior",
    "purity": "--beta",
    "recall": "--recall",
    "resamples": "--resamples",
    "scheme": "--scheme",
    "scores": "--score-col",
    "seed": "--seed",
    "threshold": "--threshold",
    "time": "--time",
    "truth": "--truth-col",
}
_COLUMNS = re.compile(r"\((?P<argument>drop|features|labeled)\)")
_GIVEN = re.compile(rf"(?<![\w.-])(?P<argument>{'|'.join(_FLAGS)})=")
_NAMED = re.compile(rf"(?P<argument>{'|'.join(_FLAGS)})(?=:| must be )")


@dataclass(frozen=True)
class Columns:
    """Which column of a table is what. ``ids``: columns that name the rows; ``score_flag``: what names ``score``."""

    score: str | None = None
    label: str | None = None
    truth: str | None = None
    positive_value: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    groups: str | None = None
    score_flag: str = "--score-col"

    @property
    def given(self) -> dict[str, object]:
        """Flags that were given."""
        flags = {
            self.score_flag: self.score,
            "--label-col": self.label,
            "--truth-col": self.truth,
            "--positive-value": self.positive_value,
            "--ids": self.ids,
            "--groups": self.groups,
        }
        return {flag: value for flag, value in flags.items() if value}


@dataclass(frozen=True)
class ScoreTable:
    """Rows to evaluate. ``name``: as reports call it; ``rows``: (n,) numbers of the rows, counted from 0.

    ``ids``: name of a column -> (n,) texts that a reader sees of the rows. ``groups``: (n,) values such as patients.
    ``prior``, ``scheme``: of a run; None for a table. ``sheet``: the filled one that a model of advice comes from,
    ``folders``: where its design may be. ``n_unlabeled``, ``n_labeled``: how many such rows the
    table of a run has, if only some have a score.
    """

    name: str
    scores: npt.NDArray[np.float64]
    labeled: npt.NDArray[np.bool_]
    truth: npt.NDArray[np.bool_] | None
    rows: npt.NDArray[np.int64]
    ids: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    groups: npt.NDArray[Any] | None = None
    prior: float | tuple[float, float] | None = None
    scheme: str | None = None
    sheet: Path | None = None
    folders: tuple[Path, ...] = ()
    n_unlabeled: int | None = None
    n_labeled: int | None = None


@contextmanager
def flags_for_arguments() -> Iterator[None]:
    """A block whose errors name flags where the Python functions name arguments."""
    try:
        yield
    except RequestError as error:
        text = _COLUMNS.sub(lambda found: f"({_FLAGS[found['argument']]})", flags_in(str(error)))
        text = _NAMED.sub(lambda found: _FLAGS[found["argument"]], text, count=1) if _NAMED.match(text) else text
        raise RequestError(text, field=error.field, value=error.value, hint=error.hint) from None


def flags_in(text: str) -> str:
    """A line of the Python functions with flags for arguments: ``purity=0.9`` becomes ``--beta 0.9``."""
    return _GIVEN.sub(lambda found: f"{_FLAGS[found['argument']]} ", text)


def is_table(given: str) -> bool:
    """Whether a file of rows is meant and not a run."""
    return given.lower().endswith(table_reader(registry()).info.suffixes)


def subject_of(given: str, columns: Columns, results: Path) -> ScoreTable:
    """Scores of a table or of the validation part of a run. Raises RequestError, RecordError."""
    if is_table(given):
        return subject_of_table(Path(given), columns)
    refuse_columns_of_run(given, columns)
    return subject_of_run(folder_of_run(results, given))


def refuse_columns_of_run(given: str, columns: Columns) -> None:
    """RequestError if columns of scores or labels are named, which a run does not have."""
    if columns.given:
        flag = next(iter(columns.given))
        raise RequestError(f"{flag} needs a table (.csv, .parquet ...); {given} is a run")


def subject_of_table(path: Path, columns: Columns) -> ScoreTable:
    """The named columns of a file. Raises RequestError for what is not there or not readable as numbers or labels."""
    reader = table_reader(registry())
    frame = reader.frame(path, say=lambda text: err().print(text, markup=False))
    known = list(frame.columns)
    score = _column(columns.score or ("score" if "score" in known else None), columns.score_flag, path, known)
    label = _column(columns.label, "--label-col", path, known)
    labeled = reader.positives(frame, label, columns.positive_value, path.name)
    truth = None
    if columns.truth is not None:
        name = _column(columns.truth, "--truth-col", path, known)
        truth = reader.positives(frame, name, columns.positive_value, path.name, truth=True)
    for name in columns.ids:
        _column(name, "--ids", path, known)
    groups = None if columns.groups is None else frame[_column(columns.groups, "--groups", path, known)].astype(str)
    return ScoreTable(
        name=path.name,
        scores=_numbers(frame, score, path, columns.score_flag),
        labeled=labeled,
        truth=truth,
        rows=np.arange(len(frame)),
        ids=reader.as_written(path, frame, columns.ids),
        groups=None if groups is None else groups.to_numpy(),
    )


def _column(given: str | None, flag: str, path: Path, known: list[str]) -> str:
    if given is None:
        shown = ", ".join(known[:12]) + (", ..." if len(known) > 12 else "")
        raise RequestError(f"{flag} is missing: name a column of {path.name}: {shown}")
    if given not in known:
        raise unknown(f"column of {path.name} ({flag})", given, known)
    return given


def _numbers(frame: DataFrame, column: str, path: Path, flag: str) -> npt.NDArray[np.float64]:
    import pandas as pd

    values = frame[column]
    if values.dtype.kind not in "iuf":
        strange = pd.to_numeric(values, errors="coerce").isna().to_numpy()
        row = int(np.argmax(strange))  # of texts that are all numbers, the first
        raise RequestError(
            f"{path.name}: row {row} of column '{column}' ({flag}) is {values.iloc[row]!r}; expected numbers, higher "
            "means more positive"
        )
    return np.asarray(values, dtype=np.float64)


def subject_of_run(folder: Path) -> ScoreTable:
    """The validation part of a run, in the state that names its result: rows that it was not trained on.
    Of a joint record these are all rows of P and U, with their scores out of fold.

    ``n_unlabeled`` counts all unlabeled rows of a user's table, of which those held out are a random part.
    """
    result, arrays = read_record(folder).result, read_scores(folder)
    found = scores_of(arrays, result.chosen.snapshot)
    scores, labeled = found.get("validation"), arrays["validation_labeled"].astype(bool)
    if scores is None or not labeled.any():
        raise RecordError(
            f"run {result.run_id} has no labeled row that was held out of training; one with a validation part has "
            "(validation.fraction)"
        )
    truth, prior, sheet = arrays.get("validation_labels"), result.data.prior.given, None
    answer = folder.parent / "answer.json"
    if folder.name == "model" and answer.is_file():  # of pubench advise, which tells its models more than was given
        advice = json.loads(answer.read_text("utf-8"))
        prior, filled = advice.get("given"), advice.get("filled")
        sheet = Path(filled) if filled is not None and Path(filled).is_file() else None
    return ScoreTable(
        name=f"{_named(result)}, {'scores out of fold' if result.folds else 'validation part'}",
        scores=scores,
        labeled=labeled,
        truth=None if truth is None else truth == 1,
        rows=arrays["validation_rows"].astype(np.int64),
        prior=tuple(prior) if isinstance(prior, list) else prior,
        sheet=sheet,
        folders=(folder.parent,),
        scheme=result.spec.data.scheme,
        n_unlabeled=len(found["unlabeled"]) if "unlabeled" in found else None,
    )


def all_unlabeled_of_run(folder: Path) -> ScoreTable:
    """All unlabeled rows of the table of a run, most of which it was trained on, and the held-out labeled rows.

    The held-out rows, if the run is not on a user's table, or if they hold all of its rows.
    """
    held_out = subject_of_run(folder)
    result, arrays = read_record(folder).result, read_scores(folder)
    scores = scores_of(arrays, result.chosen.snapshot).get("unlabeled")
    if scores is None or len(scores) == int((~held_out.labeled).sum()):
        return held_out
    kept = held_out.labeled
    return ScoreTable(
        name=f"{_named(result)}, all unlabeled rows",
        scores=np.concatenate([held_out.scores[kept], scores]),
        labeled=np.repeat([True, False], [int(kept.sum()), len(scores)]),
        truth=None,
        rows=np.concatenate([held_out.rows[kept], arrays["unlabeled_rows"].astype(np.int64)]),
        scheme=held_out.scheme,
        n_labeled=result.labeled,
    )


def _named(result: Result) -> str:
    return f"{result.spec.method.key} on {result.spec.data.key}, run {result.run_id}"
