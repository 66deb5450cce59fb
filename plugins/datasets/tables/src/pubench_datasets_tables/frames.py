"""The caller's own data: arrays, frames and files as one kind of object that :func:`pubench.run` takes."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from pubench.call import given_of, shows_fields
from pubench.field_names import in_arguments, in_words
from pubench_core.data.labeled import LabeledData
from pubench_core.data.table_reader import in_memory, table_reader
from pubench_core.errors import RequestError, visible
from pubench_core.plugins.registry import registry
from pubench_core.records.files import replace_bytes
from pubench_core.specs.run_fields import run_fields

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
    missing: Words | float
    groups: Any
    weights: Any
    positives: Any
    unlabeled: Any
    no_header: bool


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
            replace_bytes(files[role], table.content)
            own[role] = files[role]
        return PUTable(own, self.scheme)

    def _read(self) -> LabeledData:
        reader = table_reader(registry())
        with in_words():
            return reader.read(reader.spec(self.own))

    def __repr__(self) -> str:
        return visible("\n".join((f"PUTable '{self.name}'", *(f"  {note}" for note in self.notes))))


@shows_fields(TableFields)
def data(
    x: Any,
    labeled: Any = None,
    *,
    truth: Any = None,
    test: Any = None,
    name: str = "data",
    scheme: str | None = None,
    **fields: Unpack[TableFields],
) -> PUTable:
    """A table of your own in which some rows are labeled positive and the others are unlabeled.

    ``x``: a file (csv, tsv, parquet, npz), a frame (pandas, polars, pyarrow) or an array of shape (n, d). A frame's
    index that has a name and differs in every row names the rows in predictions; any other index is left out.
    ``labeled``: who is labeled, as the name of a column or n values: 1/0, 1/-1, True/False, or two texts of which
    ``positive_value`` names the positive one. ``truth``: true labels, likewise, for measuring only.
    ``test``: rows to measure on: a file or frame that has the truth column, or a pair (x_test, truth_test).
    ``positives`` or ``unlabeled``: instead of ``labeled``, the other rows: a file if ``x`` is one (ids, if of
    positives), else a frame or an array. ``groups``, ``weights``: names of columns, or n values. Columns are named
    exactly or by shell patterns.
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
        asked = {"data": x if of_file else None, "labeled": labeled, "truth": truth, "test": test}
        asked |= given_of(fields, TableFields, "data")
        positives, unlabeled = asked.get("positives"), asked.get("unlabeled")
        if apart := positives is not None or unlabeled is not None:
            is_list = isinstance(positives, (str, Path)) and ids_in(Path(positives))
            scheme = scheme or ("one-sample" if is_list else "two-sample")
        if apart and not of_file:
            x, asked["labeled"] = _joined(x, labeled, asked.pop("positives", None), asked.pop("unlabeled", None))
        own, columns = dict[str, Any](), dict[str, Any]()
        for field in [one for one in run_fields() if one.of_table and asked.get(one.argument) is not None]:
            given, role = asked[field.argument], field.path[-1]
            if field.default == ():  # a list of words
                words = [given] if isinstance(given, (str, int, float)) else given
                own |= {role: list(map(str, words))} if len(words) else {}
            elif field.kinds == (Path,) and (isinstance(given, (str, Path)) or role != "test"):
                if not str(given).lower().endswith(SUFFIXES):
                    need = f"a file that ends in {', '.join(SUFFIXES)}, a frame or an array"
                    raise RequestError(f"{given}: expected {need}")
                own[role] = Path(given)
            elif field.kinds == (str,):  # a column
                columns[role] = field.argument, given
            elif field.kinds == (bool,):
                own |= {role: True} if given else {}
        tables: list[HeldTable] = []
        if of_file:
            for role, (argument, given) in columns.items():
                if not isinstance(given, str):
                    need = "must be the name of a column if the table is a file"
                    raise RequestError(f"{argument} {need}, got {type(given).__name__}")
                own[role] = given
        else:
            frame = frame_of(x, "x")
            index = frame.index
            if index.nlevels == 1 and index.name is not None and index.is_unique and index.name not in frame.columns:
                frame = frame.reset_index()
                if not any(isinstance(role, str) and index.name == role for role in (labeled, truth)):
                    own["drop"] = [*own.get("drop", ()), str(index.name)]  # it names rows, and is no feature
            for role, (argument, given) in columns.items():
                refuse_other_rows(x, given, ("x", argument))
                frame, own[role] = _with_column(frame, given, argument)
            tables.append(hold(frame, name))
            own["path"] = tables[0].path
        if test is not None and "test" not in own:
            column = own.setdefault("truth_col", "truth")
            if isinstance(test, tuple):
                if len(test) != 2:
                    raise RequestError(f"test must be a pair (x_test, truth_test), got {len(test)} values")
                refuse_other_rows(*test, ("x_test", "truth_test"))
                rows = frame_of(test[0], "test").drop(columns=column, errors="ignore")
                test = _with_column(rows, test[1], column, of="test")[0]
            tables.append(hold(frame_of(test, "test"), f"{name} (test)"))
            own["test"] = tables[-1].path
        if not apart and "label_col" not in own:
            shown = ", ".join(read_table(Path(own["path"]), no_header="no_header" in own).columns[:12])
            need = "give an array, or the column that says who is labeled"
            raise RequestError(f"labeled is missing: {need}; columns are {shown}")
    return PUTable(own, scheme, tuple(tables))


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
