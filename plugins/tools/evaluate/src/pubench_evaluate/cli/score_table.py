"""Scores to be evaluated or audited: from a table of the user's own, or from the record of a run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from pubench_datasets_tables.files import as_written
from pubench_datasets_tables.labels import labels_of

from pubench_cli.messages import say
from pubench_cli.recorded_run import folder_of_run
from pubench_core.data.table_reader import table_reader
from pubench_core.errors import RecordError, RequestError, in_names, unknown
from pubench_core.plugins.registry import registry
from pubench_core.records.files import ids_in, read_scores
from pubench_core.records.record import read_record
from pubench_core.records.scores import scores_of

from ..audit.sheet import MOST_SHOWN, columns_of_table, most_used

Texts = Mapping[str, npt.NDArray[Any]]

_SAME = (
    "answers", "audited", "budget", "design", "drop", "estimators", "features", "goal", "n", "out",
    "positive_value", "prior", "recall", "resamples", "scheme", "seed", "threshold", "time",
)  # fmt: skip
#: Argument of the Python functions -> flag.
_FLAGS = {name: f"--{name.replace('_', '-')}" for name in _SAME} | {
    "labeled": "--label-col",
    "purity": "--beta",
    "scores": "--score-col",
    "truth": "--truth-col",
}


@contextmanager
def flags_for_arguments() -> Iterator[None]:
    """A block whose errors name flags where the Python functions name arguments."""
    try:
        yield
    except RequestError as raised:
        error: RequestError = getattr(raised, "unnamed", None) or raised
        text = flags_in(str(error))
        if error.field in _FLAGS and text.startswith(error.field):
            text = _FLAGS[error.field] + text.removeprefix(error.field)
        raise RequestError(text, field=error.field, value=error.value, hint=error.hint) from None


def flags_in(text: str) -> str:
    """A line of the Python functions with flags for arguments: ``purity=0.9`` becomes ``--beta 0.9``."""

    def flag(name: str, value: str | None) -> str | None:
        return f"{_FLAGS[name]} {value}" if name in _FLAGS and value is not None else None

    return in_names(text, flag)


@dataclass(frozen=True)
class ScoreTable:
    """Rows to evaluate."""

    name: str
    """as reports call it"""
    scores: npt.NDArray[np.float64]
    labeled: npt.NDArray[np.bool_]
    truth: npt.NDArray[np.bool_] | None
    rows: npt.NDArray[np.int64]
    """(n,) numbers of the rows, counted from 0"""
    ids: Texts = field(default_factory=dict)
    """name of a column -> (n,) texts that a reader sees of the rows"""
    groups: npt.NDArray[Any] | None = None
    """(n,) values such as patients"""
    prior: float | tuple[float, float] | None = None
    """of a run, as ``scheme``; None for a table"""
    scheme: str | None = None
    sheet: Path | None = None
    """the filled one that a model of advice comes from"""
    folders: tuple[Path, ...] = ()
    """where its design may be"""
    n_unlabeled: int | None = None
    """how many such rows the table of a run has, if only some have a score; as ``n_labeled``"""
    n_labeled: int | None = None


def _flag(column: str) -> str:
    """Flag that names a column of a table: of its scores, or ids, say."""
    return f"--{column}-col" if column in ("score", "label", "truth") else f"--{column.replace('_', '-')}"


def is_table(given: str) -> bool:
    """Whether a file of rows is meant and not a run."""
    return given.lower().endswith(table_reader(registry()).info.suffixes)


def subject_of(given: str, results: Path, **columns: Any) -> ScoreTable:
    """Scores of a table, or of the validation part of a run. Raises RequestError, RecordError.

    ``columns``: as :func:`subject_of_table` has them.
    """
    if is_table(given):
        return subject_of_table(Path(given), **columns)
    return subject_of_run(folder_of(given, results, **columns))


def folder_of(run: str, results: Path, **columns: Any) -> Path:
    """The folder of a run. Raises RequestError if columns are named, of scores or labels, which a run does not have."""
    for name, value in columns.items():
        if value:
            raise RequestError(f"{_flag(name)} needs a table (.csv, .parquet ...); {run} is a run")
    return folder_of_run(results, run)


# -------------------------------------------------------------------- of a table


def subject_of_table(
    path: Path,
    *,
    label: str | None,
    score: str | None = None,
    truth: str | None = None,
    positive_value: Sequence[str] = (),
    ids: Sequence[str] = (),
    groups: str | None = None,
) -> ScoreTable:
    """The named columns of a file; ``ids`` name the rows.

    Raises RequestError for what is not there or not readable as numbers or labels.
    """
    import pandas as pd

    frame = table_reader(registry()).frame(path, say=say)
    known = list(frame.columns)

    def column(given: str | None, what: str) -> str:
        flag = _flag(what)
        if given is None:
            shown = ", ".join(known[:12]) + (", ..." if len(known) > 12 else "")
            raise RequestError(f"{flag} is missing: name a column of {path.name}: {shown}")
        if given not in known:
            raise unknown(f"column of {path.name} ({flag})", given, known)
        return given

    values = frame[score := column(score or ("score" if "score" in known else None), "score")]
    labeled = labels_of(frame, column(label, "label"), positive_value, path.name).positive
    for name in ids:
        column(name, "ids")
    if values.dtype.kind not in "iuf":
        strange = pd.to_numeric(values, errors="coerce").isna().to_numpy()
        row = int(np.argmax(strange))  # of texts that are all numbers, the first
        raise RequestError(
            f"{path.name}: row {row} of column '{score}' (--score-col) is {values.iloc[row]!r}; expected "
            "numbers, higher means more positive"
        )
    return ScoreTable(
        name=path.name,
        scores=np.asarray(values, dtype=np.float64),
        labeled=labeled,
        truth=None
        if truth is None
        else labels_of(frame, column(truth, "truth"), positive_value, path.name, truth=True).positive,
        rows=np.arange(len(frame)),
        ids=as_written(path, frame, ids),
        groups=None if groups is None else frame[column(groups, "groups")].astype(str).to_numpy(),
    )


# -------------------------------------------------------------------- of a run


def subject_of_run(folder: Path, *, everything: bool = False) -> ScoreTable:
    """The validation part of a run, in the state that names its result: rows that it was not trained on.
    Of a joint record these are all rows of P and U, with their scores out of fold.

    ``n_unlabeled`` counts all unlabeled rows of a user's table, of which those held out are a random part.
    ``everything``: all of these, most of which it was trained on, and the held-out labeled rows.
    """
    result, arrays = read_record(folder).result, read_scores(folder)
    found = scores_of(arrays, result.chosen.snapshot)
    scores, labeled = found.get("validation"), arrays["validation_labeled"].astype(bool)
    if scores is None or not labeled.any():
        raise RecordError(
            f"run {result.run_id} has no labeled row that was held out of training; one with a validation part has "
            "(validation.fraction)"
        )
    truth, rows = arrays.get("validation_labels"), arrays["validation_rows"]
    prior, sheet = result.data.prior.given, None
    answer, n_labeled = folder.parent / "answer.json", None
    part, of_table = "scores out of fold" if result.folds else "validation part", found.get("unlabeled")
    if folder.name == "model" and answer.is_file():  # of pubench advise, which tells its models more than was given
        advice = json.loads(answer.read_text("utf-8"))
        prior, filled = advice.get("given"), advice.get("filled")
        if filled is not None and Path(filled).is_file():  # its rows speak by their design: the model trained on them
            sheet, kept = Path(filled), ~np.isin(rows, table_reader(registry()).frame(Path(filled))["row"])
            scores, labeled, rows = scores[kept], labeled[kept], rows[kept]
            truth = None if truth is None else truth[kept]
    if everything and of_table is not None and len(of_table) > (~labeled).sum():
        part, truth, n_labeled = "all unlabeled rows", None, result.labeled
        scores, rows = np.append(scores[labeled], of_table), np.append(rows[labeled], arrays["unlabeled_rows"])
        labeled = np.arange(len(scores)) < labeled.sum()
    return ScoreTable(
        name=f"{result.spec.method.key} on {result.spec.data.key}, run {result.run_id}, {part}",
        scores=scores,
        labeled=labeled,
        truth=None if truth is None else truth == 1,
        rows=rows.astype(np.int64),
        prior=tuple(prior) if isinstance(prior, list) else prior,
        sheet=sheet,
        folders=(folder.parent,),
        scheme=result.spec.data.scheme,
        n_unlabeled=None if of_table is None else len(of_table),
        n_labeled=n_labeled,
    )


def columns_of_run(folder: Path, subject: ScoreTable, named: Sequence[str]) -> Texts:
    """Columns that name the rows, and features: name -> (n,) texts for each row of ``subject``, as the file has them.

    ``named``: the naming columns; by default those by which the record names its rows. Raises RequestError for a column
    that is not in the table or says what a person must not see, and if the table is needed and is not there any more.
    """
    result, rows = read_record(folder).result, subject.rows
    own = result.spec.data.own
    if own is None:
        if named:
            raise RequestError(f"--ids {named[0]}: run {result.run_id} is on {result.spec.data.key}, not on a table")
        return {}
    if not own.path.is_file() or table_reader(registry()).checksum(own.path) != own.sha256:
        state = "was changed since" if own.path.is_file() else "no longer exists"
        if named:
            raise RequestError(f"--ids {named[0]}: {own.path}, the table of run {result.run_id}, {state}")
        say(f"{own.path} {state}: the sheet has no features")
        return _ids_in_record(folder, rows)
    ids = list(named or _ids_in_record(folder, rows[:0]))
    ids += [own.groups] if own.groups is not None and own.groups not in ids else []
    features = [str(column["name"]) for column in result.data.encoding or ()]
    if len(features) > MOST_SHOWN:
        say(f"the sheet shows the {MOST_SHOWN} of {len(features)} features that the scores follow most")
        features = most_used(table_reader(registry()).read(own), rows, subject.scores)
    known = table_reader(registry()).rows(own) if named else ()
    for name in named:
        if name not in known:
            raise unknown(f"column of {own.path.name} (--ids)", name, list(known))
        if name in (own.label_col, own.truth_col):
            raise RequestError(f"--ids {name} is a column of labels, which the person who checks rows must not see")
    shown = [*ids, *(name for name in features if name not in ids)]
    return {name: texts[rows] for name, texts in columns_of_table(own, shown, say).items()}


def _ids_in_record(folder: Path, rows: npt.NDArray[np.int64]) -> dict[str, Any]:
    """What names the unlabeled rows in the record's predictions; empty texts for other rows."""
    try:
        ids = ids_in(folder)
    except OSError:  # the run kept no predictions
        return {}
    place = {row: k for k, row in enumerate(read_scores(folder)["unlabeled_rows"].tolist())}
    return {
        name: np.array([texts[place[row]] if row in place else "" for row in rows.tolist()], dtype=object)
        for name, texts in ids.items()
    }
