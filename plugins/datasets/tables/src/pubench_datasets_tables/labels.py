"""Who is labeled, who is known to be negative, and what is true: columns, and files of positives."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pubench_core.data.labeled import BoolArray
from pubench_core.data.table_reader import Say
from pubench_core.errors import counted, shortened
from pubench_core.specs import UserTableSpec

from .cells import NUMBER, listed, refused, rejoined, words_of
from .encoding import LEAST_DISTINCT
from .files import DELIMITED, read_table

if TYPE_CHECKING:
    from pandas import DataFrame

#: The column that says which rows are of a file of positives.
LABELED = "(labeled)"
#: Texts that hardly mean positive: one of them alone next to blank cells needs a word of the user.
_DOUBTFUL = frozenset(
    {"0", "-1", "no", "n", "false", "f", "neg", "negative", "unlabeled", "unlabelled", "u", "unknown", "none", "-"}
)


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
    frame: DataFrame, column: str, words: Sequence[str], file: str, negative: Sequence[str] = (), *, truth: bool = False
) -> Labels:
    """A column of {1, 0}, {1, -1}, {True, False}, of 1, 0 and -1 for known negatives, or of any values of which
    ``words`` name the positive ones and ``negative`` the known negatives; or the two values of the ``truth``.

    A blank cell of the labels means unlabeled, so one value next to blank cells is enough. Every row needs a true
    label. ``file``: its name, for messages. Raises RequestError for any other column.
    """
    role, positive, other = ("label_col", "labeled positive", "unlabeled")
    if truth:
        role, positive, other = ("truth_col", "positive", "negative")
    values = frame[column]
    if values.dtype.name == "category":
        values = values.astype(object).infer_objects()
    blank, where, wrong = values.isna().to_numpy(dtype=bool), f"{file}: column '{column}' (data.own.{role})", ""
    if blank.all():
        wrong = "is empty in every row; PU data need labeled positives"
    elif blank.any() and truth:
        wrong = (
            f"is empty in row {blank.argmax()}; true labels must be complete, or leave the column out (data.own.drop)"
        )
    if wrong:
        raise refused(role, f"{where} {wrong}", column)
    found, some_blank = list(values[~blank].unique()), bool(blank.any())
    words, negative = rejoined(words, map(str, found)), rejoined(negative, map(str, found))
    is_number = values.dtype.kind in "biuf"
    kinds = {float(value) for value in found} if is_number else set()
    positives = [value for value in found if any(_means(word, value) for word in words)]
    negatives = [value for value in found if any(_means(word, value) for word in negative)]
    if not positives or (len(positives) == len(found) and truth):
        if is_number and kinds <= {-1.0, 0.0, 1.0} and kinds != {-1.0, 0.0}:
            positives = [next((value for value in found if value == 1), 1)]
        elif some_blank and len(found) == 1 and str(found[0]).strip().lower() not in _DOUBTFUL:
            positives = found
        else:
            read = f"value{'s' if len(found) > 1 else ''} {listed(found, 5)}{' and blank cells' if some_blank else ''}"
            remedy = (
                "expected 1 and 0, 1 and -1, or true and false; say which mean positive with data.own.positive_value, "
                "and which mean a known negative, if any, with data.own.known_negative"
            )
            if words and not is_number:
                remedy = f"data.own.positive_value={words[0]} must name some of them and not all"
            elif len(found) == 1:
                remedy = f"if {found[0]} means positive, say so with data.own.positive_value={found[0]}"
            raise refused("positive_value", f"{where} has the {read}; {remedy}", tuple(words))
    if not truth and not negative and kinds == {-1.0, 0.0, 1.0}:
        negatives = [value for value in found if value == -1 and value not in positives]
    said = "{:g}" if some_blank and values.dtype.kind == "f" else "{}"  # a gap made floats of whole numbers
    rest = [value for value in found if value not in positives and value not in negatives]
    meanings = ((positives, positive), (negatives, "known negative"), (rest, other))
    reading = [f"{listed(some, 5, said)} = {meaning}" for some, meaning in meanings if some]
    return Labels(
        values.isin(positives).to_numpy(dtype=bool),
        values.isin(negatives).to_numpy(dtype=bool),
        ", ".join([*reading, *([f"blank = {other}"] if some_blank else [])]),
        frozenset(word for word in (*words, *negative) if any(_means(word, value) for value in found)),
        int(blank.sum()),
        tuple(map(said.format, rest)),
    )


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
    frame, file = read_table(own.path, texts, say, no_header=own.no_header), own.path.name
    if own.positives is None:
        return frame
    if (ids := ids_in(own.positives)) is not None:
        return frame.assign(**{LABELED: _found(frame, ids, file, own.positives.name, say)})
    import pandas as pd

    more, name = read_table(own.positives, texts, say, no_header=own.no_header), own.positives.name
    if own.truth_col in frame and own.truth_col not in more:
        more[own.truth_col] = next(iter(own.positive_value), 1)
    both = [column for column in frame if column in more]
    if not both:
        raise refused("positives", f"{name} and {file} have no column in common; expected the same columns, or ids")
    if apart := [str(column) for column in (*frame, *more) if column not in both]:
        say(f"{name} and {file} do not both have {shortened(', '.join(apart))}; left out")
    say(f"{name}: {counted(len(more), 'row')}, all labeled; those of {file} are unlabeled")
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


def _found(frame: DataFrame, ids: Collection[str], file: str, name: str, say: Say) -> BoolArray:
    """(n,) rows that a list ``name`` names, by the column that has most of its ids. RequestError if none has."""
    hits = dict[str, set[str]]()
    for column, values in frame.items():
        if values.dtype.kind not in "fbmM" and values.nunique() >= LEAST_DISTINCT * len(values):
            found = {*ids} & {*map(str.strip, words_of(values, ""))}
            hits |= {str(column): found} if found else {}
    best = max(hits, key=lambda column: len(hits[column]), default="")
    count, wanted = len(hits.get(best, ())), {*ids} - {best}
    if 2 * count < len(wanted):
        raise refused("positives", f"{name}: {count} of its {len(wanted)} ids are in a column of {file}, not all")
    rows = frame[best].map(str).str.strip().isin(hits[best]).to_numpy(dtype=bool)
    lost = f"; {len(wanted) - count} ids are in no row" if len(wanted) > count else ""
    say(f"{name}: {counted(count, 'id')} of '{best}', {counted(int(rows.sum()), 'row')} labeled{lost}")
    return np.asarray(rows)
