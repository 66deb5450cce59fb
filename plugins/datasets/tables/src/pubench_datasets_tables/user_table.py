"""A user's table as PU data: which rows are labeled, what became of every column, and what is unusual about it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from pydantic import ValidationError

from pubench_core.data.labeled import Column, LabeledData, texts_of
from pubench_core.data.table_reader import ColumnUse, Say, TableReader
from pubench_core.engine.explain import explain
from pubench_core.errors import RequestError, counted, unknown
from pubench_core.plugins.info import DatasetInfo
from pubench_core.specs import UserTableSpec

from .cells import is_blank, is_nested, listed, missing_by_column, named_columns
from .encoding import column_uses, encode, encoding_of, gaps_in, label_candidates, notices, without
from .files import as_texts, as_written, read_table
from .held import held_at, sha256_of
from .labels import LABEL, LABELED, TRUTH, BoolArray, Labels, Role, is_list, labels_of, rows_of

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
    _check_names(spec, frame)
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
    groups, weights = _groups(spec, frame), _weights(spec, frame)
    notes += (*_notes_on_labels(spec, labels, truth), *_notes_on_groups(spec, frame, labels, weights))
    names = [str(n) for n in frame if n not in {spec.label_col, spec.truth_col, spec.groups, spec.weights}]
    missing = missing_by_column(spec.missing_values, names, file)
    features = _with_gaps(spec, frame, missing, notes)
    codes = named_columns(spec.codes, names, "data.own.codes", file)
    texts = {
        name: features[name].astype(object).where(features[name].isna(), text)
        for name, text in written(spec, frame, codes).items()
    }
    features = features.assign(**texts)
    encoding = encoding_of(spec, features, missing)
    x = encode(features, encoding.columns, file)
    _refuse_copies(x, encoding.columns, labels, LABEL, spec.label_col, file)
    if truth is not None:
        _refuse_copies(x, encoding.columns, truth, TRUTH, str(spec.truth_col), file)
    notes += (*encoding.notes, *notices(spec, features, encoding.columns))
    notes += _notes_on_rows(spec, features, encoding.columns, labels.positive)
    x_test, truth_test = _test_rows(spec, encoding.columns, notes)
    _refuse_words_of_no_column(spec, [part for part in (labels, truth, truth_test) if part is not None])
    return LabeledData(
        x=x,
        labeled=labels.positive,
        truth=_as_integers(truth),
        x_test=x_test,
        truth_test=_as_integers(truth_test),
        columns=encoding.columns,
        left_out=encoding.left_out,
        # if some are known to be negative, a list of unlabeled rows says which
        ids=written(spec, frame, (*encoding.ids, *([spec.label_col] if labels.known_negative.any() else []))),
        groups=groups,
        weights=weights,
        known_negative=labels.known_negative if labels.known_negative.any() else None,
        scheme="two-sample" if spec.positives is not None and not is_list(spec.positives) else "one-sample",
        notes=tuple(notes),
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
    spec: UserTableSpec, frame: DataFrame, missing: Mapping[str, tuple[str, ...]], notes: list[str]
) -> DataFrame:
    """The rows with gaps for values that mean missing, which is noted. RequestError for a value that no column has."""
    changed = {name: without(frame[name], words) for name, words in missing.items()}
    counts = {name: int(values.isna().sum() - frame[name].isna().sum()) for name, values in changed.items()}
    for word in spec.missing_values:
        name, sign, value = word.rpartition("=")
        some = [name] if sign else [name for name, count in counts.items() if count]
        if not any(without(frame[one], [value]).isna().sum() > frame[one].isna().sum() for one in some):
            raise RequestError(
                f"{spec.path.name}: data.own.missing_values={word} is a value of no feature",
                field="data.own.missing_values",
                value=word,
            )
    given = [f"'{name}' {count}" for name, count in counts.items() if count]
    notes += [f"read as missing ({', '.join(spec.missing_values)}): {listed(given)}"] if given else []
    return frame.assign(**{name: values for name, values in changed.items() if counts[name]})


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


def _notes_on_groups(
    spec: UserTableSpec, frame: DataFrame, labels: Labels, weights: npt.NDArray[np.float64] | None
) -> Iterator[str]:
    if spec.groups is not None:
        named = frame[spec.groups]
        both = int((named[labels.positive].nunique() + named[~labels.positive].nunique()) - named.nunique())
        yield (
            f"'{spec.groups}': {counted(named.nunique(), 'group')}, never parted; {both} of them have labeled and "
            "unlabeled rows"
        )
    if weights is not None:
        yield f"'{spec.weights}': weights from {weights.min():g} to {weights.max():g}, {(weights == 0).sum()} of them 0"


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
    def frame(
        self, path: Path, texts: Collection[str] = (), say: Say = lambda text: None, *, no_header: bool = False
    ) -> DataFrame:
        return read_table(path, texts, say, no_header=no_header)

    def rows(self, own: UserTableSpec, texts: Collection[str] = (), say: Say = lambda text: None) -> DataFrame:
        return rows_of(own, texts, say)

    def checksum(self, path: Path) -> str:
        return sha256_of(path)

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

    def encode(
        self, frame: DataFrame, columns: Sequence[Column], name: str, say: Say | None = None
    ) -> npt.NDArray[Any]:
        return encode(frame, columns, name, say)

    def gaps(self, frame: DataFrame, columns: Sequence[Column]) -> str:
        return gaps_in(frame, columns)

    def as_written(
        self, path: Path, frame: DataFrame, names: Sequence[str], *, no_header: bool = False
    ) -> dict[str, npt.NDArray[np.object_]]:
        return as_written(path, frame, names, no_header=no_header)

    def written(self, own: UserTableSpec, frame: DataFrame, names: Sequence[str]) -> dict[str, npt.NDArray[np.object_]]:
        return written(own, frame, names)

    def positives(
        self, frame: DataFrame, column: str, words: Sequence[str], name: str, *, truth: bool = False
    ) -> npt.NDArray[np.bool_]:
        return labels_of(frame, column, TRUTH if truth else LABEL, words, name).positive

    def uses(
        self, frame: DataFrame, own: UserTableSpec | None = None, table: LabeledData | None = None
    ) -> list[ColumnUse]:
        return column_uses(frame, own, table)

    def label_candidates(self, frame: DataFrame) -> list[str]:
        return label_candidates(frame)
