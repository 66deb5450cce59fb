"""Who is labeled, who is known to be negative, and what is true: columns, and files of positives."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pubench_core.errors import RequestError, counted, shortened
from pubench_core.specs import UserTableSpec

from .cells import NUMBER, Say, is_blank, is_nested, listed, rejoined
from .encoding import LEAST_DISTINCT
from .files import DELIMITED, read_table

if TYPE_CHECKING:
    from pandas import DataFrame

#: The column that says which rows are of a file of positives.
LABELED = "(labeled)"
BoolArray = npt.NDArray[np.bool_]
#: Texts that hardly mean positive: one of them alone next to blank cells needs a word of the user.
_DOUBTFUL = frozenset(
    {"0", "-1", "no", "n", "false", "f", "neg", "negative", "unlabeled", "unlabelled", "u", "unknown", "none", "-"}
)


@dataclass(frozen=True)
class Role:
    """Meaning of a column of two values. ``field``: names the column in the spec; the two values' meanings in words."""

    field: str
    positive: str
    other: str


LABEL = Role("data.own.label_col", "labeled positive", "unlabeled")
TRUTH = Role("data.own.truth_col", "positive", "negative")


@dataclass(frozen=True)
class Labels:
    """``positive``: (n,) True where positive. ``known_negative``: (n,) True where a third value says so.

    ``reading``: how the values were read. ``words``: those of the spec's ``positive_value`` and ``known_negative`` that
    are a value of this column. ``blank``: rows without a value, which count as not positive; ``others``: the values
    that are there and mean neither.
    """

    positive: BoolArray
    known_negative: BoolArray
    reading: str
    words: frozenset[str]
    blank: int = 0
    others: tuple[str, ...] = ()

    @property
    def n_positive(self) -> int:
        """Rows that are positive."""
        return int(self.positive.sum())

    @property
    def n_other(self) -> int:
        """Rows that are neither positive nor known to be negative."""
        return len(self.positive) - self.n_positive - int(self.known_negative.sum())


def labels_of(
    frame: DataFrame, column: str, role: Role, words: Sequence[str], file: str, negative: Sequence[str] = ()
) -> Labels:
    """A column of {1, 0}, {1, -1}, {True, False}, of 1, 0 and -1 for known negatives, or of any values of which
    ``words`` name the positive ones and ``negative`` the known negatives.

    A blank cell of the labels means unlabeled, so one value next to blank cells is enough. Every row needs a true
    label. ``file``: its name, for messages. Raises RequestError for any other column.
    """
    values = frame[column]
    if values.dtype.name == "category":
        values = values.astype(object).infer_objects()
    blank, where = is_blank(values), f"{file}: column '{column}' ({role.field})"
    wrong = ""
    if is_nested(values):
        wrong = " holds lists; expected one value per row"
    elif blank.all():
        wrong = " is empty in every row; PU data need labeled positives"
    elif blank.any() and role is not LABEL:
        row = int(np.flatnonzero(blank)[0])
        wrong = f" is empty in row {row}; true labels must be complete, or leave the column out (data.own.drop)"
    if wrong:
        raise RequestError(where + wrong, field=role.field, value=column)
    found = list(values[~blank].unique())
    words, negative = rejoined(words, map(str, found)), rejoined(negative, map(str, found))
    is_number = values.dtype.kind in "biuf" or values.dtype.name in ("boolean", "Int64", "Float64")
    positives = [value for value in found if any(_means(word, value) for word in words)]
    negatives = [value for value in found if any(_means(word, value) for word in negative)] if role is LABEL else []
    if not positives or (len(positives) == len(found) and role is TRUTH):
        positives = [_positive_of(found, where, words, is_number=is_number, blank=bool(blank.any()))]
    if role is LABEL and not negative and is_number and set(map(float, found)) == {-1.0, 0.0, 1.0}:
        negatives = [value for value in found if value == -1 and value not in positives]
    said = "{:g}".format if blank.any() and values.dtype.kind == "f" else str  # a gap made floats of whole numbers
    rest = [value for value in found if value not in positives and value not in negatives]
    kinds = ((positives, role.positive), (negatives, "known negative"), (rest, role.other))
    read = [f"{listed(list(map(said, some)), 5)} = {meaning}" for some, meaning in kinds if some]
    return Labels(
        values.isin(positives).to_numpy(dtype=bool),
        values.isin(negatives).to_numpy(dtype=bool),
        ", ".join([*read, *([f"blank = {role.other}"] if blank.any() else [])]),
        frozenset(word for word in (*words, *negative) if any(_means(word, value) for value in found)),
        int(blank.sum()),
        tuple(map(said, rest)),
    )


def _positive_of(found: Sequence[Any], where: str, words: Sequence[str], *, is_number: bool, blank: bool) -> Any:
    """The one of a column's values that means positive, if nobody says so. ``blank``: whether cells hold no value.

    Raises RequestError if that is not clear. ``where``: the column; ``words``: what was said, for messages.
    """
    if is_number and (kinds := {float(value) for value in found}) <= {-1.0, 0.0, 1.0} and kinds != {-1.0, 0.0}:
        return next((value for value in found if value == 1), 1)
    if blank and len(found) == 1 and str(found[0]).strip().lower() not in _DOUBTFUL:
        return found[0]
    values = f"value{'s' if len(found) > 1 else ''} {listed(found, 5)}{' and blank cells' if blank else ''}"
    if words and not is_number:
        remedy = f"data.own.positive_value={words[0]} must name some of them and not all"
    elif len(found) == 1:
        remedy = f"if {found[0]} means positive, say so with data.own.positive_value={found[0]}"
    else:
        remedy = (
            "expected 1 and 0, 1 and -1, or true and false; say which mean positive with data.own.positive_value, and "
            "which mean a known negative, if any, with data.own.known_negative"
        )
    raise RequestError(f"{where} has the {values}; {remedy}", field="data.own.positive_value", value=tuple(words))


def _means(word: str, value: Any) -> bool:
    """Whether what the user wrote is this value: ``0`` is 0.0 and False, ``TRUE`` is True."""
    if isinstance(value, (bool, np.bool_)) and word.lower() in ("true", "false"):
        return bool(value) == (word.lower() == "true")
    if isinstance(value, (int, np.integer)) and re.fullmatch(r"\s*[+-]?\d+\s*", word):
        return int(word) == int(value)  # a float does not tell whole numbers beyond 2^53 apart
    if isinstance(value, (bool, np.bool_, int, float, np.number)):
        return NUMBER.fullmatch(word) is not None and float(word) == float(value)
    return word == str(value)


# -------------------------------------------------------------------- positives in a file of their own


def rows_of(own: UserTableSpec, texts: Collection[str] = (), say: Say = lambda text: None) -> DataFrame:
    """The rows of a table; after them those of its file of positives, if that has rows. Arguments as for reading."""
    frame = read_table(own.path, texts, say, no_header=own.no_header)
    if own.positives is None:
        return frame
    if (ids := ids_in(own.positives)) is not None:
        return frame.assign(**{LABELED: _found(own, frame, ids, say)})
    import pandas as pd

    more = read_table(own.positives, texts, say, no_header=own.no_header)
    both = [name for name in frame if name in more]
    if own.truth_col in frame and own.truth_col not in both:
        more[own.truth_col] = next(iter(own.positive_value), 1)
        both.append(str(own.truth_col))
    if not both:
        raise RequestError(
            f"{own.positives.name} and {own.path.name} have no column in common; expected the same columns, or ids",
            field="data.own.positives",
        )
    if apart := [str(name) for name in (*frame, *more) if name not in both]:
        say(f"{own.positives.name} and {own.path.name} do not both have {shortened(', '.join(apart))}; left out")
    say(f"{own.positives.name}: {counted(len(more), 'row')}, all labeled; those of {own.path.name} are unlabeled")
    joined = pd.concat([frame[both], more[both]], ignore_index=True)
    return joined.assign(**{LABELED: np.arange(len(joined)) >= len(frame)})


def ids_in(path: Path) -> list[str] | None:
    """Ids in a file of positives, one a line; None if the file is a table."""
    if not path.name.lower().endswith(DELIMITED):
        return None
    try:
        lines = [line.strip().strip('"') for line in path.read_text(encoding="utf-8-sig").splitlines()]
    except (OSError, UnicodeDecodeError):  # read_table says what is wrong
        return None
    given = [line for line in lines if line]
    return None if not given or any(sign in given[0] for sign in ",;\t|") else given


def _found(spec: UserTableSpec, frame: DataFrame, ids: list[str], say: Say) -> npt.NDArray[np.bool_]:
    """(n,) rows that the list names, by the column that has most of its ids. Raises RequestError if none has."""
    assert spec.positives is not None
    best, hits, rows = "", 0, np.zeros(len(frame), dtype=bool)
    for name in frame.columns:
        values = frame[name]
        if values.dtype.kind in "fbmM" or is_nested(values) or values.nunique() < LEAST_DISTINCT * len(values):
            continue
        words = values.where(~is_blank(values), "").map(str).str.strip()
        listed = words.isin(ids) & (words != "")
        if (count := int(words[listed].nunique())) > hits:
            best, hits, rows = str(name), count, listed.to_numpy(dtype=bool)
    wanted = set(ids) - {best}
    if 2 * hits < len(wanted):
        raise RequestError(
            f"{spec.positives.name}: {hits} of its {len(wanted)} ids are in a column of {spec.path.name}, not all",
            field="data.own.positives",
        )
    lost = f"; {len(wanted) - hits} ids are in no row" if len(wanted) > hits else ""
    say(f"{spec.positives.name}: {counted(hits, 'id')} of '{best}', {counted(int(rows.sum()), 'row')} labeled{lost}")
    return rows
