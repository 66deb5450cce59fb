"""The caller's own data: arrays, frames and files as one kind of object that :func:`pubench.run` takes."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
import numpy.typing as npt

from pubench.field_names import in_arguments, in_words
from pubench_core.data.labeled import LabeledData
from pubench_core.data.sparse import SparseRows
from pubench_core.data.table_reader import in_memory, table_reader
from pubench_core.errors import RequestError, visible
from pubench_core.plugins.registry import registry

from . import SUFFIXES
from .files import CATEGORICAL, read_table
from .held import HeldTable, held
from .labels import ids_in

if TYPE_CHECKING:
    from pandas import DataFrame

Words = str | Sequence[str]


class TableFields(TypedDict, total=False):
    """Arguments of :func:`data` besides labels, truth and test rows, which other functions pass on."""

    positive_value: Words
    known_negative: Words
    drop: Words
    features: Words
    categorical: Words
    missing: Words
    groups: Any
    weights: Any
    positives: Any
    unlabeled: Any
    no_header: bool


#: Arguments that say what a column is, and the names of columns that arrays become.
_NAMES = {"label_col": "labeled", "truth_col": "truth", "groups": "groups", "weights": "weights"}
#: So many labeled rows and so many others must agree before a sparse column counts as a copy of the labels.
_NO_CHANCE = 5


@dataclass(frozen=True)
class PUTable:
    """A table of the caller's own. Made by :func:`pubench.data`.

    ``own``: the section ``data.own`` of a run's spec. ``scheme``: None means the default, one-sample.
    """

    own: Mapping[str, Any]
    scheme: str | None = None
    _held: tuple[HeldTable, ...] = field(default=(), repr=False)

    @property
    def name(self) -> str:
        """The file's name, or what :func:`pubench.data` was given."""
        return Path(self.own["path"]).name

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on how the table was read: who is labeled, which columns became features, what is unusual."""
        return tuple(map(in_arguments, self._read().notes))

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features, one-hot ones as ``column=value``."""
        return tuple(name for column in self._read().columns for name in column.features)

    def save(self, path: str | Path) -> PUTable:
        """Writes a table that is in memory as a parquet file and returns that file as a table.

        Runs on it have the run ids that they have on this one. Raises ValueError if there is nothing in memory.
        """
        if not self._held:
            raise ValueError(f"{self.name} is already a file; only a table in memory can be saved")
        path = Path(path)
        if path.suffix != ".parquet":
            raise ValueError(f"path must end in .parquet, got {path}")
        files = {"path": path, "test": path.with_name(f"{path.stem}-test.parquet")}
        own = dict(self.own)
        in_no_file = [role for role in files if role in own and in_memory(Path(own[role]))]
        for role, table in zip(in_no_file, self._held, strict=True):
            files[role].write_bytes(table.content)
            own[role] = files[role]
        return PUTable(own, self.scheme)

    def _read(self) -> LabeledData:
        reader = table_reader(registry())
        with in_words():
            return reader.read(reader.spec(self.own))

    def __repr__(self) -> str:
        return visible("\n".join((f"PUTable '{self.name}'", *(f"  {note}" for note in self.notes))))


def data(
    x: Any,
    labeled: Any = None,
    *,
    truth: Any = None,
    test: Any = None,
    name: str = "data",
    positive_value: Words = (),
    drop: Words = (),
    features: Words = (),
    known_negative: Words = (),
    categorical: Words = (),
    missing: Words | float = (),
    groups: Any = None,
    weights: Any = None,
    positives: Any = None,
    unlabeled: Any = None,
    no_header: bool = False,
    scheme: str | None = None,
) -> PUTable:
    """A table of your own in which some rows are labeled positive and the others are unlabeled.

    ``x``: a file (csv, tsv, parquet, npz), a frame (pandas, polars, pyarrow) or an array of shape (n, d). A frame's
    index that has a name and differs in every row names the rows in predictions; any other index is left out.
    ``labeled``: who is labeled, as the name of a column or n values: 1/0, 1/-1, True/False, or two texts of which
    ``positive_value`` names the positive one. ``truth``: true labels, likewise, for measuring only.
    ``test``: rows to measure on: a file or frame that has the truth column, or a pair (x_test, truth_test).
    ``positives`` or ``unlabeled``: instead of ``labeled``, the other rows: a file if ``x`` is one (ids, if of
    positives), else a frame or an array.
    ``positive_value``, ``known_negative``: values of the labels that mean so; known negatives are not trained on.
    ``drop``, ``features``, ``categorical``: columns to leave out, to use, and whose numbers are codes, as names or
    shell patterns. ``missing``: values that mean missing, ``-9999`` in every feature, ``"cover=255"`` in one.
    ``groups``, ``weights``: names of columns, or n values; rows of one group are never parted.
    ``no_header``: the file has no line of names.
    ``scheme``: ``one-sample`` (default; all rows are one draw from the population) or ``two-sample`` (the unlabeled
    rows alone are).

    Raises InvalidRequest (a ValueError) for what contradicts itself. The columns are looked at when the table is
    printed or run.

    >>> import numpy as np
    >>> x = np.arange(40.0).reshape(20, 2)
    >>> table = data(x, labeled=np.arange(20) < 5, name="twenty rows")
    >>> print(table.notes[0])
    twenty rows: 20 rows; 'labeled': True = labeled positive, False = unlabeled; 5 labeled positives, 15 unlabeled
    """
    with in_words():
        of_file = isinstance(x, (str, Path))
        if not of_file and (positives is not None or unlabeled is not None):
            x, labeled = _joined(x, labeled, positives, unlabeled)
            scheme, positives, unlabeled = scheme or "two-sample", None, None
        roles = {"label_col": labeled, "truth_col": truth, "groups": groups, "weights": weights}
        roles = {role: given for role, given in roles.items() if given is not None}
        lists = {"positive_value": positive_value, "known_negative": known_negative, "drop": drop, "features": features}
        own: dict[str, Any] = {"no_header": True} if no_header else {}
        for role, words in {**lists, "codes": categorical, "missing_values": missing}.items():
            some = [words] if isinstance(words, (str, int, float)) else words
            own |= {role: list(map(str, some))} if len(some) else {}
        tables: list[HeldTable] = []
        if of_file:
            files = {"path": x, "positives": positives, "unlabeled": unlabeled}
            own |= {role: _file(given) for role, given in files.items() if given is not None}
            if positives is not None or unlabeled is not None:
                scheme = scheme or (
                    "one-sample" if positives is not None and ids_in(own["positives"]) else "two-sample"
                )
            for role, given in roles.items():
                if not isinstance(given, str):
                    kind = type(given).__name__
                    raise RequestError(
                        f"{_NAMES[role]} must be the name of a column if the table is a file, got {kind}"
                    )
                own[role] = given
        else:
            frame = frame_of(x, "x")
            index = frame.index
            if index.nlevels == 1 and index.name is not None and index.is_unique and index.name not in frame.columns:
                frame = frame.reset_index()
                if not any(isinstance(role, str) and index.name == role for role in (labeled, truth)):
                    own["drop"] = [*own.get("drop", ()), str(index.name)]  # it names rows, and is no feature
            for role, given in roles.items():
                refuse_other_rows(x, given, ("x", _NAMES[role]))
                frame, own[role] = _with_column(frame, given, _NAMES[role])
            tables.append(hold(frame, name))
            own["path"] = tables[0].path
        if isinstance(test, (str, Path)):
            own["test"] = _file(test)
        elif test is not None:
            own.setdefault("truth_col", "truth")
            tables.append(hold(_test_frame(test, own["truth_col"]), f"{name} (test)"))
            own["test"] = tables[-1].path
        if not own.keys() & {"label_col", "positives", "unlabeled"}:
            columns = ", ".join(read_table(Path(own["path"]), no_header=no_header).columns[:12])
            raise RequestError(
                f"labeled is missing: give an array, or the column that says who is labeled; columns are {columns}"
            )
    return PUTable(own, scheme, tuple(tables))


def sparse_data(
    x: SparseRows,
    labeled: npt.NDArray[np.bool_],
    *,
    name: str,
    weights: npt.NDArray[np.float64] | None,
    groups: Any = None,
    scheme: str,
) -> PUTable:
    """A table of sparse rows, which have no names of columns. Raises RequestError for one that says who is labeled."""
    counts = [np.bincount(x[np.flatnonzero(side)].columns, minlength=x.width) for side in (labeled, ~labeled)]
    sizes = int(labeled.sum()), int((~labeled).sum())
    there = [[count == size, count == 0] for count, size in zip(counts, sizes, strict=True)]
    copies = np.flatnonzero((there[0][0] & there[1][1]) | (there[0][1] & there[1][0]))
    if len(copies) and min(sizes) >= _NO_CHANCE:
        raise RequestError(
            f"{name}: column {copies[0]} is there exactly where rows are labeled, or are not; leave it out"
        )
    notes = (
        f"{name}: {len(x)} sparse rows of {x.width} features, {len(x.values) / max(len(x), 1):.3g} values in each",
    )
    codes = None
    if groups is not None:
        codes = np.unique(np.asarray(groups), return_inverse=True)[1]
        if len(codes) != len(x):
            raise RequestError(f"groups: expected {len(x)} values, one per row, got {len(codes)}", field="groups")
    table = held(name, b"", LabeledData(x, labeled, None, None, None, (), notes, weights=weights, groups=codes))
    return PUTable({"path": table.path, "label_col": _NAMES["label_col"]}, scheme, (table,))


def hold(frame: DataFrame, name: str) -> HeldTable:
    """Keeps a copy of a frame, without its index; column names become texts.

    Raises RequestError for a column that mixes kinds of values or holds what no table can, and for two columns of one
    name.
    """
    import pyarrow as pa
    from pyarrow import parquet

    frame = frame.set_axis([str(column) for column in frame.columns], axis=1)
    if twice := frame.columns[frame.columns.duplicated()].tolist():
        raise RequestError(f"{name}: column '{twice[0]}' appears twice; rename one")
    try:
        codes = [name for name, dtype in frame.dtypes.items() if dtype.name == "category"]
        notes = {CATEGORICAL: json.dumps(codes).encode()} if codes else None
        table = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(notes)
        stream = io.BytesIO()
        parquet.write_table(table, stream, compression="none", use_dictionary=False, write_statistics=False)
    except (pa.ArrowException, TypeError) as error:
        reason = " ".join(str(part) for part in error.args)
        raise RequestError(f"{name}: {reason}; expected numbers, texts or truth values, one kind per column") from None
    return held(name, stream.getvalue())


def _joined(x: Any, labeled: Any, positives: Any, unlabeled: Any) -> tuple[DataFrame, npt.NDArray[np.bool_]]:
    """Unlabeled rows and after them the labeled ones, and which are labeled."""
    import pandas as pd

    if labeled is not None:
        raise RequestError("labeled must be left out if positives or unlabeled say who is labeled")
    others, labels = (x, positives) if positives is not None else (unlabeled, x)
    rows = frame_of(others, "unlabeled rows"), frame_of(labels, "positives")
    if apart := set(rows[0]) ^ set(rows[1]):
        only = ", ".join(sorted(map(str, apart)))
        raise RequestError(f"positives and unlabeled rows must have the same columns; only one has {only}")
    return pd.concat(rows, ignore_index=True), np.arange(len(rows[0]) + len(rows[1])) >= len(rows[0])


def _file(given: str | Path) -> Path:
    if not str(given).lower().endswith(SUFFIXES):
        raise RequestError(f"{given}: expected a file that ends in {', '.join(SUFFIXES)}, a frame or an array")
    return Path(given)


def _with_column(frame: DataFrame, given: Any, name: str, of: str = "x") -> tuple[DataFrame, str]:
    """The frame with a column that holds ``given``, and its name; or the name of a column that is there."""
    if isinstance(given, str):
        return frame, given
    values = np.asarray(given)
    if values.shape != (len(frame),):
        raise RequestError(f"{name}: expected {len(frame)} values, one per row of {of}; given shape {values.shape}")
    while name in frame.columns:
        name += "_"
    return frame.assign(**{name: values}), name


def _test_frame(test: Any, truth: str) -> DataFrame:
    if not isinstance(test, tuple):
        return frame_of(test, "test")
    if len(test) != 2:
        raise RequestError(f"test must be a pair (x_test, truth_test), got {len(test)} values")
    refuse_other_rows(*test, ("x_test", "truth_test"))
    frame = frame_of(test[0], "test")
    return _with_column(frame.drop(columns=truth, errors="ignore"), test[1], truth, of="test")[0]


def frame_of(x: Any, what: str) -> DataFrame:
    """A pandas frame of a frame or an array of shape (n, d), whose columns become x_0 ... x_d-1.

    ``what``: its name, for messages. Raises RequestError for anything else.
    """
    import pandas as pd

    if isinstance(x, pd.DataFrame):
        return x
    if hasattr(x, "__arrow_c_stream__"):  # polars, pyarrow and whatever else speaks Arrow
        import pyarrow as pa

        found: DataFrame = pa.table(x).to_pandas()
        return found
    array = np.asarray(x)
    if array.ndim != 2:
        raise RequestError(f"{what} must be a file, a frame or an array of shape (n, d), got shape {array.shape}")
    return pd.DataFrame(array, columns=[f"x_{k}" for k in range(array.shape[1])]).infer_objects()


def labels_of(y: Any) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
    """(n,) labels, and where one is missing (None, NaN, NA): such a row is unlabeled, and its value here means nothing.

    Truth values, whole numbers and texts stay what they are, however a column with gaps holds them.
    """
    import pandas as pd

    if isinstance(y, np.ndarray) and y.dtype.kind != "O":
        return y, np.asarray(pd.isna(y))
    series = y.to_pandas() if hasattr(y, "to_pandas") else y  # polars, pyarrow
    series = series if isinstance(series, pd.Series) else pd.Series(list(series), dtype=object)
    if isinstance(series.dtype, np.dtype) and series.dtype.kind != "O":
        return series.to_numpy(), series.isna().to_numpy()
    missing = series.isna().to_numpy(dtype=bool)
    given = pd.Series(series[~missing].tolist()).to_numpy()
    values = np.full(len(series), given[0] if len(given) else 0, dtype=given.dtype)
    values[~missing] = given
    return values, missing


def refuse_other_rows(x: Any, given: Any, names: tuple[str, str], *, by_position: bool = False) -> None:
    """RequestError where both name their rows, as the index of pandas does, and do so in other words or orders.

    ``names``: what ``x`` and ``given`` are called. ``by_position``: other words are no reason, as scikit-learn, whose
    steps may number rows again, goes by position; the same words in another order are one.
    """
    of_pandas = hasattr(x, "iloc") and hasattr(given, "iloc")  # pandas is not loaded for arrays
    if not of_pandas or len(x) != len(given) or x.index.equals(given.index):
        return
    if by_position and not (x.index.is_unique and given.index.is_unique and x.index.isin(given.index).all()):
        return
    of, what = names
    raise RequestError(
        f"{what}: its index is not that of {of}, so rows may not match; give {of} and {what} with one index "
        f"({what}.loc[{of}.index]), or {what}.to_numpy() if rows match by position",
        field=what,
    )
