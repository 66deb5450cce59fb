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
from pubench_core.errors import counted
from pubench_core.plugins.info import DatasetInfo
from pubench_core.specs import UserTableSpec

from .cells import listed, named_columns, one_of, refused, without
from .encoding import ROLES, column_uses, encode, encoding_of, gaps_in
from .files import as_texts, as_written, read_table
from .held import held_at, sha256_of
from .labels import LABELED, Labels, ids_in, labels_of, rows_of

if TYPE_CHECKING:
    from pandas import DataFrame

#: So many labeled rows and so many others must agree before one value among many counts as a copy of the labels.
_NO_CHANCE = 5
#: Features that are looked at in one step; of rows that may repeat, so many columns first.
_AT_ONCE, _FIRST = 256, 8
#: What is asked about a column that may have its two values the wrong way round.
_ROUND = "read the right way round? (data.own.positive_value)"


@lru_cache(maxsize=2)
def read_user_table(spec: UserTableSpec) -> LabeledData:
    """Reads and encodes a user's file as its spec says.

    Raises RequestError for a column that is not there, labels that do not say who is labeled, no labeled or no
    unlabeled row, a feature that says what the labels or the truth say, infinite values, or no feature left.
    """
    import pandas as pd

    if (held := held_at(spec.path)) is not None and held.rows is not None:
        return held.rows
    notes: list[str] = []
    frame, file, roles = rows_of(spec, say=notes.append), spec.path.name, dict[str, str]()
    for role, name in [(role, getattr(spec, role)) for role in ROLES if getattr(spec, role) is not None]:
        if role != "truth_col" or spec.test is None:  # the test file alone may have it
            one_of(frame, name, role, file)
        if name in roles:
            both = f"data.own.{roles[name]} and data.own.{role} must name two columns, got '{name}' for both"
            raise refused(role, f"{file}: {both}", name)
        roles[name] = role

    labels = labels_of(frame, spec.label_col, spec.positive_value, file, spec.known_negative)
    if not labels.n_positive or not labels.n_other:
        wrong, need = ("every row", "unlabeled rows") if labels.n_positive else ("no row", "labeled positives")
        text = f"{file}: column '{spec.label_col}' labels {wrong} ({labels.reading}); PU data need {need}"
        raise refused("label_col", text, spec.label_col)
    truth = truth_test = x_test = None
    if spec.truth_col is not None and spec.truth_col in frame:
        truth = labels_of(frame, spec.truth_col, spec.positive_value, file, truth=True)
    notes += _notes_on_labels(spec, labels, truth)
    groups = weights = None
    if spec.groups is not None:
        groups, found = pd.factorize(frame[spec.groups])
        alone = groups < 0  # a row without a group is one of its own
        mixed = len({*groups[labels.positive & ~alone]} & {*groups[~labels.positive & ~alone]})
        said = f"{counted(len(found), 'group')}, never parted"
        notes.append(f"'{spec.groups}': {said}; {mixed} of them have labeled and unlabeled rows")
        groups[alone] = len(found) + np.arange(alone.sum())
    if spec.weights is not None:
        numbers = pd.to_numeric(frame[spec.weights], errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
        for row in np.flatnonzero(~(np.isfinite(numbers) & (numbers >= 0)))[:1]:
            wrong = f"row {row} of column '{spec.weights}' is {frame[spec.weights].iloc[row]}"
            need = "data.own.weights needs a finite number of at least 0 in every row"
            raise refused("weights", f"{file}: {wrong}; {need}", spec.weights)
        span = f"weights from {numbers.min():g} to {numbers.max():g}"
        notes.append(f"'{spec.weights}': {span}, {(numbers == 0).sum()} of them 0")
        weights = np.asarray(numbers)

    names = [name for name in frame if name not in roles]
    features, missing = frame, dict[str, tuple[str, ...]]()
    for word in spec.missing_values:  # -9999 of all features, cover=-9999 of one
        column, sign, value = word.rpartition("=")
        some = [one_of(names, column, "missing_values", file)] if sign else names
        after = features.assign(**{name: without(features[name], [value]) for name in some})
        if after.isna().sum().sum() == features.isna().sum().sum():
            raise refused("missing_values", f"{file}: data.own.missing_values={word} is a value of no feature", word)
        features, missing = after, missing | {name: (*missing.get(name, ()), value) for name in some}
    if missing:
        gaps = features.isna().sum() - frame.isna().sum()
        counts = listed([f"'{name}' {count}" for name, count in gaps[gaps > 0].items()])
        notes.append(f"read as missing ({', '.join(spec.missing_values)}): {counts}")
    codes = written(spec, frame, named_columns(spec.codes, names, "codes", file))
    texts = {name: features[name].astype(object).where(features[name].isna(), codes[name]) for name in codes}
    features = features.assign(**{name: values.astype("category") for name, values in texts.items()})
    columns, left_out, ids = encoding_of(spec, features, roles, missing, notes)
    x = encode(features, columns, file)
    _refuse_copies(x, columns, labels, spec.label_col, file)
    if truth is not None:
        _refuse_copies(x, columns, truth, str(spec.truth_col), file)
    notes += filter(None, [gaps_in(features, columns)])
    features = features[[column.name for column in columns]]
    repeated = features.iloc[:, :_FIRST].duplicated(keep=False).to_numpy(copy=True)
    repeated[repeated] = features[repeated].duplicated(keep=False)
    if repeated.any():
        among = ", labeled rows among them" if len({*labels.positive[repeated].tolist()}) > 1 else ""
        notes.append(f"{int(features[repeated].duplicated().sum())} rows repeat an earlier one{among}; they are kept")

    if spec.test is not None:
        if spec.truth_col is None:
            need = "the column of true labels to measure with (to score rows without true labels, save the model and"
            raise refused("truth_col", f"data.own.test={spec.test.name} needs data.own.truth_col, {need} predict)")
        test, name = read_table(spec.test, texts_of(columns), notes.append, no_header=spec.no_header), spec.test.name
        column = one_of(test, spec.truth_col, "truth_col", name)
        truth_test = labels_of(test, column, spec.positive_value, name, truth=True)
        x_test = encode(test, columns, name, notes.append)
        _refuse_copies(x_test, columns, truth_test, spec.truth_col, name)
        notes += [f"{name}: {gaps}" for gaps in [gaps_in(test, columns)] if gaps]
        notes.append(f"{name}: {len(x_test)} test rows; {truth_test.reading}; {truth_test.n_positive} positive")
        if spec.test_sha256 == spec.sha256:
            notes.append(f"{name} is the file that is trained on; what is measured on it is no test")

    words = {word for part in (labels, truth, truth_test) if part is not None for word in part.words}
    words |= {part.strip() for word in words for part in word.split(",")}
    for field in ("positive_value", "known_negative"):
        for word in [word for word in getattr(spec, field) if word not in words]:
            text = f"{file}: data.own.{field}={word} is not a value of '{spec.label_col}' or of the true labels"
            raise refused(field, text, word)
    known_negative = labels.known_negative if labels.known_negative.any() else None
    return LabeledData(
        x=x,
        labeled=labels.positive,
        truth=truth.positive.astype(np.int8) if truth else None,
        x_test=x_test,
        truth_test=truth_test.positive.astype(np.int8) if truth_test else None,
        columns=columns,
        left_out=left_out,
        # if some are known to be negative, a list of unlabeled rows says which
        ids=written(spec, frame, [*ids, *([] if known_negative is None else [spec.label_col])]),
        groups=groups,
        weights=weights,
        known_negative=known_negative,
        scheme="one-sample" if spec.positives is None or ids_in(spec.positives) else "two-sample",
        notes=tuple(notes),
    )


def written(own: UserTableSpec, frame: DataFrame, names: Sequence[str]) -> dict[str, npt.NDArray[np.object_]]:
    """name -> (n,) texts of columns, as the file has them; ``frame``: its rows."""
    if own.positives is None:
        return as_written(own.path, frame, names, no_header=own.no_header)
    return as_texts(rows_of(own, names), names) if names else {}


def _refuse_copies(x: npt.NDArray[Any], columns: Sequence[Column], said: Labels, of: str, file: str) -> None:
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
            if fewest >= _NO_CHANCE or (alike[0][k] and alike[1][k] and len(column.categories) <= 2):
                raise refused(
                    "drop",
                    f"{file}: '{column.name}' says the same as '{of}' in every row, so a method would learn nothing "
                    f"else; leave it out: data.own.drop={column.name}",
                    column.name,
                )


# -------------------------------------------------------------------- what the user should know


def _notes_on_labels(spec: UserTableSpec, labels: Labels, truth: Labels | None) -> Iterator[str]:
    negative, name = int(labels.known_negative.sum()), f"'{spec.label_col}'"
    yield (
        f"{spec.path.name}: {len(labels.positive)} rows; {name}: {labels.reading}; {labels.n_positive} labeled "
        f"positives, {labels.n_other} unlabeled"
        + (f", {counted(negative, 'known negative')} for methods that learn from them" if negative else "")
    )
    if labels.others and len(labels.others) + bool(labels.blank) > 1:
        blank = f"{labels.blank} blank cells and " if labels.blank else ""
        yield (
            f"{name}: {blank}{labels.n_other - labels.blank} of {listed(labels.others, 5)} count as unlabeled alike; "
            f"if some are known to be negative, say so: data.own.known_negative={labels.others[-1]}"
        )
    if labels.n_positive > len(labels.positive) / 2:
        share = 100 * labels.positive.mean()
        yield f"{share:.0f} % of the rows are labeled positives; is {name} {_ROUND}"
    if truth is not None:
        yield f"'{spec.truth_col}': {truth.reading}; {truth.n_positive} positive, {truth.n_other} negative"
        if wrong := int((labels.positive & ~truth.positive).sum()):
            doubt = f"; is '{spec.truth_col}' {_ROUND}" if wrong > labels.n_positive / 2 else ""
            yield f"{wrong} labeled rows are negative by '{spec.truth_col}'; their labels are kept as given{doubt}"


# -------------------------------------------------------------------- the reader that core finds

#: Fields that name a file besides the table's own, whose checksums are recorded.
_MORE_FILES = ("positives", "test")


class Tables(TableReader):
    frame = staticmethod(read_table)
    rows = staticmethod(rows_of)
    checksum = staticmethod(sha256_of)
    uses = staticmethod(column_uses)

    def spec(self, own: Mapping[str, Any], origins: Mapping[tuple[str, ...], str] | None = None) -> UserTableSpec:
        files = ("path", "unlabeled", *_MORE_FILES)
        checked = {name: Path(str(v)) if name in files else v for name, v in own.items() if v is not None}
        if (unlabeled := checked.pop("unlabeled", None)) is not None:
            if "positives" in checked:
                both = "give data.own.unlabeled or data.own.positives, not both"
                raise refused("unlabeled", f"{unlabeled.name}: {both}")
            checked |= {"path": unlabeled, "positives": checked["path"]}
        path, label = checked["path"], checked.get("label_col")
        if "positives" in checked:
            if checked.setdefault("label_col", LABELED) != LABELED:
                both = f"data.own.label_col={label} and data.own.positives={checked['positives'].name}"
                raise refused("label_col", f"{path.name}: {both} both say who is labeled; leave one out")
        elif not label:
            columns = list(read_table(path, no_header=bool(checked.get("no_header"))).columns)
            shown = ", ".join(columns if len(columns) <= 12 else [*columns[:6], "...", *columns[-6:]])
            need = f"data.own.label_col=COLUMN must name the column of labels; columns are {shown}"
            raise refused("label_col", f"{path.name}: {need}")
        names = {"path": "sha256", **{role: f"{role}_sha256" for role in _MORE_FILES}}
        for role, name in [(role, name) for role, name in names.items() if role in checked]:
            found, given = sha256_of(checked[role]), checked.get(name)
            if given not in (None, found):
                was = f"sha256 {found[:16]}, {str(given)[:16]} in the spec; leave {name} out to take the file as it is"
                raise refused(name, f"{checked[role]} is not the file this spec was written for: {was}", given)
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
