"""A user's table as PU data: which rows are labeled, what became of every column, and what is unusual about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from pydantic import ValidationError

from pubench_core.data.labeled import Column, LabeledData, texts_of
from pubench_core.data.table_reader import TableReader
from pubench_core.engine.explain import explain
from pubench_core.errors import RequestError, counted, unknown
from pubench_core.plugins.info import DatasetInfo
from pubench_core.specs import UserTableSpec

from .cells import is_blank, is_nested, listed, named_columns
from .encoding import ROLES, column_uses, encode, encoding_of, gaps_in, notices, without
from .files import as_texts, as_written, read_table
from .held import held_at, sha256_of
from .labels import LABEL, LABELED, TRUTH, BoolArray, Labels, Role, ids_in, labels_of, rows_of

if TYPE_CHECKING:
    from pandas import DataFrame

#: So many labeled rows and so many others must agree before one value among many counts as a copy of the labels.
_NO_CHANCE = 5
#: Features that are looked at in one step; of rows that may repeat, so many columns first.
_AT_ONCE, _FIRST = 256, 8
#: With fewer labeled rows, a validation part of the usual size, a fifth, has one of them or none.
_FEW = 8
#: What is asked about a column that may have its two values the wrong way round.
_ROUND = "read the right way round? (data.own.positive_value)"


@lru_cache(maxsize=2)
def read_user_table(spec: UserTableSpec) -> LabeledData:
    """Reads and encodes a user's file as its spec says.

    Raises RequestError for a column that is not there, labels that do not say who is labeled, no labeled or no
    unlabeled row, a feature that says what the labels or the truth say, infinite values, or no feature left.
    """
    if (held := held_at(spec.path)) is not None and held.rows is not None:
        return held.rows
    notes: list[str] = []
    frame, file = rows_of(spec, say=notes.append), spec.path.name
    roles = _roles(spec, frame)
    labels = labels_of(frame, spec.label_col, LABEL, spec.positive_value, file, spec.known_negative)
    if not labels.n_positive or not labels.n_other:
        wrong, need = ("every row", "unlabeled rows") if labels.n_positive else ("no row", "labeled positives")
        raise RequestError(
            f"{file}: column '{spec.label_col}' labels {wrong} ({labels.reading}); PU data need {need}",
            field=LABEL.field,
            value=spec.label_col,
        )
    truth = None
    if spec.truth_col is not None and spec.truth_col in frame:
        truth = labels_of(frame, spec.truth_col, TRUTH, spec.positive_value, file)
    notes += _notes_on_labels(spec, labels, truth)
    groups, weights = _groups(spec, frame, labels, notes), _weights(spec, frame, notes)
    names = [name for name in frame if name not in roles]
    features, missing = _with_gaps(spec, frame, names, notes)
    codes = written(spec, frame, named_columns(spec.codes, names, "data.own.codes", file))
    features = features.assign(**{c: features[c].astype(object).where(features[c].isna(), codes[c]) for c in codes})
    columns, left_out, ids = encoding_of(spec, features, roles, missing, notes)
    x = encode(features, columns, file)
    _refuse_copies(x, columns, labels, LABEL, spec.label_col, file)
    if truth is not None:
        _refuse_copies(x, columns, truth, TRUTH, str(spec.truth_col), file)
    notes += notices(spec, features, columns)
    notes += _notes_on_rows(spec, features, columns, labels.positive)
    x_test, truth_test = _test_rows(spec, columns, notes)
    _refuse_words_of_no_column(spec, [part for part in (labels, truth, truth_test) if part is not None])
    return LabeledData(
        x=x,
        labeled=labels.positive,
        truth=truth.positive.astype(np.int8) if truth else None,
        x_test=x_test,
        truth_test=truth_test.positive.astype(np.int8) if truth_test else None,
        columns=columns,
        left_out=left_out,
        # if some are known to be negative, a list of unlabeled rows says which
        ids=written(spec, frame, (*ids, *([spec.label_col] if labels.known_negative.any() else []))),
        groups=groups,
        weights=weights,
        known_negative=labels.known_negative if labels.known_negative.any() else None,
        scheme="one-sample" if spec.positives is None or ids_in(spec.positives) else "two-sample",
        notes=tuple(notes),
    )


def written(own: UserTableSpec, frame: DataFrame, names: Sequence[str]) -> dict[str, npt.NDArray[np.object_]]:
    """name -> (n,) texts of columns, as the file has them; ``frame``: its rows."""
    if own.positives is None:
        return as_written(own.path, frame, names, no_header=own.no_header)
    return as_texts(rows_of(own, names), names) if names else {}


# -------------------------------------------------------------------- the parts of a table


def _roles(spec: UserTableSpec, frame: DataFrame) -> dict[str, str]:
    """Column -> field that names it. RequestError for one that the file lacks, or that is named as two things."""
    file, known, roles = spec.path.name, list(frame.columns), dict[str, str]()
    for role in ROLES:
        name = getattr(spec, role)
        if name is None:
            continue
        if name not in known and not (role == "truth_col" and spec.test is not None):  # the test file alone may have it
            raise unknown(f"column of {file} (data.own.{role})", name, known, field=f"data.own.{role}")
        if name in roles:
            raise RequestError(
                f"{file}: data.own.{roles[name]} and data.own.{role} must name two columns, got '{name}' for both",
                field=f"data.own.{role}",
                value=name,
            )
        roles[name] = role
    return roles


def _refuse_words_of_no_column(spec: UserTableSpec, parts: Sequence[Labels]) -> None:
    """RequestError for a positive value or known negative that neither labels nor truth hold."""
    words = {word for part in parts for word in part.words}
    for field in ("positive_value", "known_negative"):
        for word in getattr(spec, field):
            if word not in words and not any(word in map(str.strip, one.split(",")) for one in words):
                raise RequestError(
                    f"{spec.path.name}: data.own.{field}={word} is not a value of '{spec.label_col}' or of the true "
                    "labels",
                    field=f"data.own.{field}",
                    value=word,
                )


def _with_gaps(
    spec: UserTableSpec, frame: DataFrame, names: Sequence[str], notes: list[str]
) -> tuple[DataFrame, dict[str, tuple[str, ...]]]:
    """The rows with gaps for values that mean missing, which is noted, and column -> these values.

    ``-9999`` is of all ``names``, ``cover=-9999`` of one. Raises RequestError for a value that no column has.
    """
    file, field = spec.path.name, "data.own.missing_values"
    missing, before = dict[str, tuple[str, ...]](), frame
    for word in spec.missing_values:
        column, sign, value = word.rpartition("=")
        if sign and column not in names:
            raise unknown(f"column of {file} ({field})", column, names, field=field)
        some = [column] if sign else names
        found = {name: without(frame[name], [value]) for name in some}
        changed = {name: values for name, values in found.items() if values.isna().sum() > frame[name].isna().sum()}
        if not changed:
            raise RequestError(f"{file}: {field}={word} is a value of no feature", field=field, value=word)
        missing |= {name: (*missing.get(name, ()), value) for name in some}
        frame = frame.assign(**changed)
    counts = frame[list(names)].isna().sum() - before[list(names)].isna().sum()
    given = [f"'{name}' {count}" for name, count in counts.items() if count]
    notes += [f"read as missing ({', '.join(spec.missing_values)}): {listed(given)}"] if given else []
    return frame, missing


def _groups(spec: UserTableSpec, frame: DataFrame, labels: Labels, notes: list[str]) -> npt.NDArray[np.int64] | None:
    """(n,) a number for each group, which are noted; a row without one is a group of its own."""
    import pandas as pd

    if spec.groups is None:
        return None
    values = frame[spec.groups]
    if is_nested(values):
        raise RequestError(f"{spec.path.name}: column '{spec.groups}' holds lists, and data.own.groups needs one value")
    codes, names = pd.factorize(values.where(~is_blank(values)))
    alone = codes < 0
    both = len({*codes[labels.positive & ~alone]} & {*codes[~labels.positive & ~alone]})
    said = counted(len(names), "group")
    notes.append(f"'{spec.groups}': {said}, never parted; {both} of them have labeled and unlabeled rows")
    codes[alone] = len(names) + np.arange(alone.sum())
    return np.asarray(codes, dtype=np.int64)


def _weights(spec: UserTableSpec, frame: DataFrame, notes: list[str]) -> npt.NDArray[np.float64] | None:
    """(n,) weights, which are noted. Raises RequestError for one that is missing, negative or no number."""
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
    notes.append(f"'{spec.weights}': weights from {found.min():g} to {found.max():g}, {(found == 0).sum()} of them 0")
    return found


def _test_rows(
    spec: UserTableSpec, columns: Sequence[Column], notes: list[str]
) -> tuple[npt.NDArray[Any] | None, Labels | None]:
    """Features, encoded as the training file is, and truth of the test file, if there is one.

    Raises RequestError if it lacks a column, or no column of true labels is named.
    """
    if spec.test is None:
        return None, None
    file = spec.test.name
    if spec.truth_col is None:
        raise RequestError(
            f"data.own.test={file} needs data.own.truth_col, the column of true labels to measure with (to score rows "
            "without true labels, save the model and predict)",
            field=TRUTH.field,
        )
    frame = read_table(spec.test, texts_of(columns), notes.append, no_header=spec.no_header)
    if spec.truth_col not in frame:
        raise unknown(f"column of {file} ({TRUTH.field})", spec.truth_col, list(frame.columns), field=TRUTH.field)
    truth = labels_of(frame, spec.truth_col, TRUTH, spec.positive_value, file)
    x = encode(frame, columns, file, notes.append)
    _refuse_copies(x, columns, truth, TRUTH, spec.truth_col, file)
    gaps = gaps_in(frame, columns)
    notes += [f"{file}: {gaps}"] if gaps else []
    notes.append(f"{file}: {len(x)} test rows; {truth.reading}; {truth.n_positive} positive")
    if spec.test_sha256 == spec.sha256:
        notes.append(f"{file} is the file that is trained on; what is measured on it is no test")
    return x, truth


def _refuse_copies(
    x: npt.NDArray[Any], columns: Sequence[Column], said: Labels, role: Role, of: str, file: str
) -> None:
    """RequestError for a feature that says of every row what the column ``of`` says: a copy of it under another name.

    It may hold two values, in any notation; or one value, or none, exactly where the rows are labeled or are not.
    """
    fewest = min(said.n_positive, said.n_other)
    if fewest < 2:
        return
    sides = [(int(np.flatnonzero(side)[0]), side) for side in (said.positive, ~said.positive)]
    owners = [column for column in columns for _ in column.features]
    for start in range(0, len(owners), _AT_ONCE):
        block, gaps = x[:, start : start + _AT_ONCE], np.isnan(x[:, start : start + _AT_ONCE])
        # where a feature has the value, or the gap, that it has in the first row of a side, and nowhere else
        alike = [(((block == block[k]) | (gaps & gaps[k])) == side[:, None]).all(axis=0) for k, side in sides]
        for k in np.flatnonzero(alike[0] | alike[1]).tolist():
            column = owners[start + k]
            two_values = alike[0][k] and alike[1][k] and len(column.categories) <= 2
            if two_values or fewest >= _NO_CHANCE:
                raise RequestError(
                    f"{file}: '{column.name}' says the same as '{of}' in every row, so a method would learn nothing "
                    f"else; leave it out: data.own.drop={column.name}",
                    field="data.own.drop",
                    value=column.name,
                )


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
        kinds.append(f"{labels.n_other - labels.blank} of {listed(labels.others, 5)}")
        yield (
            f"'{spec.label_col}': {' and '.join(kinds)} count as unlabeled alike; if some are known to be negative, "
            f"say so: data.own.known_negative={labels.others[-1]}"
        )
    if truth is not None:
        yield f"'{spec.truth_col}': {truth.reading}; {truth.n_positive} positive, {truth.n_other} negative"
        if wrong := int((labels.positive & ~truth.positive).sum()):
            doubt = f"; is '{spec.truth_col}' {_ROUND}" if wrong > labels.n_positive / 2 else ""
            yield f"{wrong} labeled rows are negative by '{spec.truth_col}'; their labels are kept as given{doubt}"


def _notes_on_rows(
    spec: UserTableSpec, frame: DataFrame, columns: Sequence[Column], labeled: BoolArray
) -> Iterator[str]:
    """What is unusual: gaps, rows that are there more than once, a labeled share above one half."""
    if gaps := gaps_in(frame, columns):
        yield gaps
    features = frame[[column.name for column in columns]]
    repeated = features.iloc[:, :_FIRST].duplicated(keep=False).to_numpy(copy=True)
    repeated[repeated] = features[repeated].duplicated(keep=False)
    if repeated.any():
        both = (repeated & labeled).any() and (repeated & ~labeled).any()
        among = ", labeled rows among them" if both else ""
        yield f"{int(features[repeated].duplicated().sum())} rows repeat an earlier one{among}; they are kept"
    if labeled.mean() > 0.5:
        yield f"{100 * labeled.mean():.0f} % of the rows are labeled positives; is '{spec.label_col}' {_ROUND}"


# -------------------------------------------------------------------- the reader that core finds

#: Files of a table besides its own.
_MORE_FILES = ("positives", "test")


class Tables(TableReader):
    frame = staticmethod(read_table)
    rows = staticmethod(rows_of)
    checksum = staticmethod(sha256_of)
    encode = staticmethod(encode)
    gaps = staticmethod(gaps_in)
    as_written = staticmethod(as_written)
    written = staticmethod(written)
    uses = staticmethod(column_uses)

    def spec(self, own: Mapping[str, Any], origins: Mapping[tuple[str, ...], str] | None = None) -> UserTableSpec:
        checked = {name: value for name, value in own.items() if value is not None}
        for role in ("path", *_MORE_FILES):
            if role in checked:
                checked[role] = Path(str(checked[role]))
        if unlabeled := checked.pop("unlabeled", None):
            if "positives" in checked:
                raise RequestError(
                    f"{unlabeled.name}: give data.own.unlabeled or data.own.positives, not both",
                    field="data.own.unlabeled",
                )
            checked |= {"path": unlabeled, "positives": checked["path"]}
        path = checked["path"]
        if "positives" in checked:
            if checked.setdefault("label_col", LABELED) != LABELED:
                raise RequestError(
                    f"{path.name}: data.own.label_col={checked['label_col']} and data.own.positives="
                    f"{checked['positives'].name} both say who is labeled; leave one out",
                    field="data.own.label_col",
                )
        elif not checked.get("label_col"):
            columns = list(read_table(path, no_header=bool(checked.get("no_header"))).columns)
            listed = ", ".join(columns if len(columns) <= 12 else [*columns[:6], "...", *columns[-6:]])
            raise RequestError(
                f"{path.name}: data.own.label_col=COLUMN must name the column of labels; columns are {listed}",
                field="data.own.label_col",
            )
        for role, name in (("path", "sha256"), *((role, f"{role}_sha256") for role in _MORE_FILES)):
            if role not in checked:
                continue
            found, given = sha256_of(checked[role]), checked.get(name)
            if given not in (None, found):
                raise RequestError(
                    f"{checked[role]} is not the file this spec was written for: sha256 {found[:16]}, "
                    f"{str(given)[:16]} in the spec; leave {name} out to take the file as it is",
                    field=f"data.own.{name}",
                    value=given,
                )
            checked[name] = found
        try:
            return UserTableSpec.model_validate(checked)
        except ValidationError as error:
            raise explain(error, UserTableSpec, ("data", "own"), origins or {}, owner="data.own") from None

    def describe(self, own: UserTableSpec) -> DatasetInfo:
        return DatasetInfo(
            key="own",
            name=own.path.name,
            summary="a table of the user's own",
            load=self.info.load,
            modality="tabular",
            classes=("negative", "positive"),
            positive=(1,),
            negative=(0,),
            backbone="mlp",
            preprocess="standardize",
        )

    def read(self, own: UserTableSpec) -> LabeledData:
        return read_user_table(own)

    def positives(
        self, frame: DataFrame, column: str, words: Sequence[str], name: str, *, truth: bool = False
    ) -> BoolArray:
        return labels_of(frame, column, TRUTH if truth else LABEL, words, name).positive
