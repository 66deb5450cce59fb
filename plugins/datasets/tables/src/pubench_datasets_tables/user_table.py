"""A user's table as PU data: which rows are labeled, what became of every column, and what is unusual about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pubench_core.data.labeled import Column, LabeledData, texts_of
from pubench_core.errors import RequestError, counted, unknown
from pubench_core.specs import UserTableSpec

from .cells import is_nested
from .encoding import encode, encoding_of, gaps_in, number_blocks, without
from .files import as_texts, as_written, read_table
from .held import held_at
from .labels import LABEL, TRUTH, BoolArray, Labels, Role, is_blank, labels_of, some_of
from .names import missing_by_column, named_columns
from .notices import notices
from .positives import is_list, rows_of

if TYPE_CHECKING:
    from pandas import DataFrame

#: So many labeled rows and so many others must agree before one value among many counts as a copy of the labels.
_NO_CHANCE = 5
#: Features that are looked at in one step.
_AT_ONCE = 256
#: With fewer labeled rows, a validation part of the usual size, a fifth, has one of them or none.
_FEW = 8
#: What is asked about a column that may have its two values the wrong way round.
_ROUND = "read the right way round? (data.own.positive_value)"


@dataclass(frozen=True)
class _TestRows:
    """``x``: (n, d), encoded as the training file is."""

    x: npt.NDArray[Any]
    truth: Labels
    notes: tuple[str, ...]


@lru_cache(maxsize=2)
def read_user_table(spec: UserTableSpec) -> LabeledData:
    """Reads and encodes a user's file as its spec says.

    Raises RequestError for a column that is not there, labels that do not say who is labeled, no labeled or no
    unlabeled row, a feature that says what the labels or the truth say, infinite values, or no feature left.
    """
    if (held := held_at(spec.path)) is not None and held.rows is not None:
        return held.rows
    guessed: list[str] = []
    frame, file = rows_of(spec, say=guessed.append), spec.path.name
    _check_names(spec, frame)
    labels = _labels(spec, frame)
    truth = None
    if spec.truth_col is not None and spec.truth_col in frame:
        truth = labels_of(frame, spec.truth_col, TRUTH, spec.positive_value, file)
    apart = {spec.label_col, spec.truth_col, spec.groups, spec.weights}
    names = [str(name) for name in frame.columns if name not in apart]
    missing = missing_by_column(spec.missing_values, names, file)
    codes = named_columns(spec.codes, names, "data.own.codes", file)
    features, gaps = _as_said(spec, frame, missing, codes)
    encoding = encoding_of(spec, features, missing)
    x = encode(features, encoding.columns, file)
    _refuse_copies(x, encoding.columns, labels, LABEL, spec.label_col, file)
    if truth is not None:
        _refuse_copies(x, encoding.columns, truth, TRUTH, str(spec.truth_col), file)
    test = _test_rows(spec, encoding.columns) if spec.test is not None else None
    truth_test = test.truth if test is not None else None
    words = {word for part in (labels, truth, truth_test) if part is not None for word in part.words}
    for field in ("positive_value", "known_negative"):
        for word in getattr(spec, field):
            if word not in words and not any(word in map(str.strip, one.split(",")) for one in words):
                raise RequestError(
                    f"{file}: data.own.{field}={word} is not a value of '{spec.label_col}' or of the true labels",
                    field=f"data.own.{field}",
                    value=word,
                )
    return LabeledData(
        x=x,
        labeled=labels.positive,
        truth=_as_integers(truth),
        x_test=test.x if test is not None else None,
        truth_test=_as_integers(truth_test),
        columns=encoding.columns,
        left_out=encoding.left_out,
        # where some are known to be negative, a list of unlabeled rows says which
        ids=written(spec, frame, (*encoding.ids, *([spec.label_col] if labels.known_negative.any() else []))),
        groups=_groups(spec, frame),
        weights=_weights(spec, frame),
        known_negative=labels.known_negative if labels.known_negative.any() else None,
        scheme="two-sample" if spec.positives is not None and not is_list(spec.positives) else "one-sample",
        notes=(
            *guessed,
            *_notes_on_labels(spec, labels, truth),
            *_notes_on_groups(spec, frame, labels),
            *gaps,
            *encoding.notes,
            *notices(spec, features, encoding.columns),
            *_notes_on_rows(spec, features, encoding.columns, labels.positive),
            *(test.notes if test is not None else ()),
        ),
    )


def written(spec: UserTableSpec, frame: DataFrame, names: Sequence[str]) -> dict[str, npt.NDArray[np.object_]]:
    """name -> (n,) texts of columns, as the file has them; ``frame``: its rows."""
    if spec.positives is None:
        return as_written(spec.path, frame, names, no_header=spec.no_header)
    return as_texts(rows_of(spec, names), names) if names else {}


def _as_integers(truth: Labels | None) -> npt.NDArray[np.int8] | None:
    return truth.positive.astype(np.int8) if truth is not None else None


# -------------------------------------------------------------------- the parts of a table


def _check_names(spec: UserTableSpec, frame: DataFrame) -> None:
    """RequestError for a named column that the file lacks, or that is named as two things."""
    file, known = spec.path.name, list(frame.columns)
    roles = {role: name for role in ("label_col", "truth_col", "groups", "weights") if (name := getattr(spec, role))}
    for role, name in roles.items():
        if name not in known and not (role == "truth_col" and spec.test is not None):  # the test file alone may have it
            raise unknown(f"column of {file} (data.own.{role})", name, known, field=f"data.own.{role}")
        if same := [other for other in roles if roles[other] == name and other != role]:
            raise RequestError(
                f"{file}: data.own.{role} and data.own.{same[0]} must name two columns, got '{name}' for both",
                field=f"data.own.{same[0]}",
                value=name,
            )


def _labels(spec: UserTableSpec, frame: DataFrame) -> Labels:
    """Who is labeled. Raises RequestError if all rows are, or none is."""
    found = labels_of(frame, spec.label_col, LABEL, spec.positive_value, spec.path.name, spec.known_negative)
    wrong = ""
    if not found.n_positive:
        wrong = f"labels no row ({found.reading}); PU data need labeled positives"
    elif not found.n_other:
        wrong = f"labels every row ({found.reading}); PU data need unlabeled rows"
    if wrong:
        raise RequestError(
            f"{spec.path.name}: column '{spec.label_col}' {wrong}", field=LABEL.field, value=spec.label_col
        )
    return found


def _as_said(
    spec: UserTableSpec, frame: DataFrame, missing: Mapping[str, tuple[str, ...]], codes: Sequence[str]
) -> tuple[DataFrame, list[str]]:
    """The rows with gaps for values that mean missing and with codes as texts, and a note on the gaps.

    Raises RequestError for a value that no column has.
    """
    changed = {name: without(frame[name], words) for name, words in missing.items()}
    changed = {name: values for name, values in changed.items() if values is not frame[name]}
    counts = {name: int(values.isna().sum() - frame[name].isna().sum()) for name, values in changed.items()}
    for word in spec.missing_values:
        name, sign, value = word.rpartition("=")
        if not any(
            without(frame[one], [value]).isna().sum() > frame[one].isna().sum() for one in ([name] if sign else counts)
        ):
            raise RequestError(
                f"{spec.path.name}: data.own.missing_values={word} is a value of no feature",
                field="data.own.missing_values",
                value=word,
            )
    for name, texts in written(spec, frame, codes).items():
        values = changed.get(name, frame[name])
        changed[name] = values.astype(object).where(values.isna(), texts)
    listed = ", ".join(f"'{name}' {count}" for name, count in list(counts.items())[:8])
    note = f"read as missing ({', '.join(spec.missing_values)}): {listed}"
    return frame.assign(**changed) if changed else frame, [note] if counts else []


def _groups(spec: UserTableSpec, frame: DataFrame) -> npt.NDArray[np.int64] | None:
    """(n,) a number for each group; a row without one is a group of its own."""
    import pandas as pd

    if spec.groups is None:
        return None
    values = frame[spec.groups]
    if is_nested(values):
        raise RequestError(f"{spec.path.name}: column '{spec.groups}' holds lists, and data.own.groups needs one value")
    codes, names = pd.factorize(values.where(~is_blank(values)))
    alone = codes < 0
    codes[alone] = len(names) + np.arange(alone.sum())
    return np.asarray(codes, dtype=np.int64)


def _weights(spec: UserTableSpec, frame: DataFrame) -> npt.NDArray[np.float64] | None:
    """(n,) weights. Raises RequestError for one that is missing, negative or no number."""
    import pandas as pd

    if spec.weights is None:
        return None
    numbers = pd.to_numeric(frame[spec.weights], errors="coerce")
    found: npt.NDArray[np.float64] = numbers.to_numpy(dtype=np.float64, na_value=np.nan)
    wrong = np.flatnonzero(~(np.isfinite(found) & (found >= 0)))
    if len(wrong):
        raise RequestError(
            f"{spec.path.name}: row {wrong[0]} of column '{spec.weights}' is {frame[spec.weights].iloc[wrong[0]]}; "
            "data.own.weights needs a finite number of at least 0 in every row",
            field="data.own.weights",
            value=spec.weights,
        )
    return found


def _test_rows(spec: UserTableSpec, columns: Sequence[Column]) -> _TestRows:
    """The rows of the test file. Raises RequestError if it lacks a column, or no column of true labels is named."""
    assert spec.test is not None
    file = spec.test.name
    if spec.truth_col is None:
        raise RequestError(
            f"data.own.test={file} needs data.own.truth_col, the column of true labels to measure with (to score rows "
            "without true labels, save the model and predict)",
            field=TRUTH.field,
        )
    notes: list[str] = []
    frame = read_table(spec.test, texts_of(columns), notes.append, no_header=spec.no_header)
    if spec.truth_col not in frame:
        raise unknown(f"column of {file} ({TRUTH.field})", spec.truth_col, list(frame.columns), field=TRUTH.field)
    truth = labels_of(frame, spec.truth_col, TRUTH, spec.positive_value, file)
    x = encode(frame, columns, file, notes.append)
    _refuse_copies(x, columns, truth, TRUTH, spec.truth_col, file)
    if gaps := gaps_in(frame, columns):
        notes.append(f"{file}: {gaps}")
    notes.append(f"{file}: {len(x)} test rows; {truth.reading}; {truth.n_positive} positive")
    if spec.test_sha256 == spec.sha256:
        notes.append(f"{file} is the file that is trained on; what is measured on it is no test")
    return _TestRows(x, truth, tuple(notes))


def _refuse_copies(
    x: npt.NDArray[Any], columns: Sequence[Column], said: Labels, role: Role, of: str, file: str
) -> None:
    """RequestError for a feature that says of every row what the column ``of`` says: a copy of it under another name.

    It may hold two values, in any notation; or one value, or none, exactly where the rows are labeled or are not.
    """
    fewest = min(said.n_positive, said.n_other)
    if fewest < 2:
        return
    rows = [int(np.flatnonzero(said.positive == side)[0]) for side in (True, False)]
    owners = [column for column in columns for _ in column.features]
    for start in range(0, len(owners), _AT_ONCE):
        block = x[:, start : start + _AT_ONCE]
        like_positive = (_equal(block, rows[0]) == said.positive[:, None]).all(axis=0)
        like_other = (_equal(block, rows[1]) == ~said.positive[:, None]).all(axis=0)
        for k in np.flatnonzero(like_positive | like_other).tolist():
            column = owners[start + k]
            two_values = like_positive[k] and like_other[k] and len(column.categories) <= 2
            if two_values or fewest >= _NO_CHANCE:
                raise RequestError(
                    f"{file}: '{column.name}' says the same as '{of}' in every row, so a method would learn nothing "
                    f"else; leave it out: data.own.drop={column.name}",
                    field="data.own.drop",
                    value=column.name,
                )


def _equal(x: npt.NDArray[Any], row: int) -> BoolArray:
    """(n, d) where a feature has the value, or the gap, that it has in ``row``."""
    return np.asarray((x == x[row]) | (np.isnan(x) & np.isnan(x[row])))


# -------------------------------------------------------------------- what the user should know


def _notes_on_labels(spec: UserTableSpec, labels: Labels, truth: Labels | None) -> Iterator[str]:
    negative = int(labels.known_negative.sum())
    counts = f"{labels.n_positive} labeled positives, {labels.n_other} unlabeled"
    yield (
        f"{spec.path.name}: {len(labels.positive)} rows; '{spec.label_col}': {labels.reading}; {counts}"
        + (f", {counted(negative, 'known negative')}, which are not trained on" if negative else "")
    )
    if labels.n_positive < _FEW:
        said = counted(labels.n_positive, "labeled positive")
        yield f"only {said}: held-out ones, which choose the epoch, are one or none"
    kinds = [f"{labels.blank} blank cells"] if labels.blank else []
    if labels.others and len(labels.others) + len(kinds) > 1:
        kinds.append(f"{labels.n_other - labels.blank} of {some_of(labels.others)}")
        yield (
            f"'{spec.label_col}': {' and '.join(kinds)} count as unlabeled alike; if some are known to be negative, "
            f"say so: data.own.known_negative={labels.others[-1]}"
        )
    if truth is not None:
        yield f"'{spec.truth_col}': {truth.reading}; {truth.n_positive} positive, {truth.n_other} negative"
        if wrong := int((labels.positive & ~truth.positive).sum()):
            doubt = f"; is '{spec.truth_col}' {_ROUND}" if wrong > labels.n_positive / 2 else ""
            yield f"{wrong} labeled rows are negative by '{spec.truth_col}'; their labels are kept as given{doubt}"


def _notes_on_groups(spec: UserTableSpec, frame: DataFrame, labels: Labels) -> Iterator[str]:
    if spec.groups is not None:
        named = frame[spec.groups]
        both = int((named[labels.positive].nunique() + named[~labels.positive].nunique()) - named.nunique())
        yield (
            f"'{spec.groups}': {counted(named.nunique(), 'group')}, never parted; {both} of them have labeled and "
            "unlabeled rows"
        )
    if spec.weights is not None:
        weights = frame[spec.weights]
        absent = int((weights == 0).sum())
        yield f"'{spec.weights}': weights from {weights.min():g} to {weights.max():g}, {absent} of them 0"


def _notes_on_rows(
    spec: UserTableSpec, frame: DataFrame, columns: Sequence[Column], labeled: BoolArray
) -> Iterator[str]:
    """What is unusual: gaps, rows that are there more than once, a labeled share above one half."""
    if gaps := gaps_in(frame, columns):
        yield gaps
    features = frame[[column.name for column in columns]]
    repeated = _repeated(features)
    if repeated.any():
        both = (repeated & labeled).any() and (repeated & ~labeled).any()
        among = ", labeled rows among them" if both else ""
        yield f"{int(features[repeated].duplicated().sum())} rows repeat an earlier one{among}; they are kept"
    if labeled.mean() > 0.5:
        yield f"{100 * labeled.mean():.0f} % of the rows are labeled positives; is '{spec.label_col}' {_ROUND}"


def _repeated(features: DataFrame) -> BoolArray:
    """(n,) rows that are there more than once; looked for among numbers first, where few rows stay alike for long."""
    alike = np.arange(len(features))
    for _, values in number_blocks(features):
        block = np.ascontiguousarray(values[alike] + 0)  # -0.0 is 0.0
        whole_rows = block.view(np.dtype((np.void, block.dtype.itemsize * block.shape[1]))).ravel()
        _, group, sizes = np.unique(whole_rows, return_inverse=True, return_counts=True)
        alike = alike[sizes[group] > 1]
        if not len(alike):
            break
    found = np.zeros(len(features), dtype=bool)
    if len(alike):
        found[alike] = features.iloc[alike].duplicated(keep=False).to_numpy()
    return found
