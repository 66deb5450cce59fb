"""The caller's own data: arrays, frames and files as one kind of object that :func:`pubench.run` takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pubench_core.data.labeled import LabeledData
from pubench_core.data.table_files import HeldTable, hold, in_memory, sha256_of
from pubench_core.data.table_reader import table_reader
from pubench_core.errors import RequestError, visible
from pubench_core.plugins.registry import registry
from pubench_core.specs import UserTableSpec

from .field_names import in_arguments, in_words
from .labels import refuse_other_rows

if TYPE_CHECKING:
    from pandas import DataFrame

#: Names of the columns that labels and truth get where they are given as arrays.
_LABEL, _TRUTH = "labeled", "truth"


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
            raise ValueError(f"{self.name} is a file already")
        path = Path(path)
        if path.suffix != ".parquet":
            raise ValueError(f"{path}: a saved table ends in .parquet")
        files = {"path": path, "test": path.with_name(f"{path.stem}-test.parquet")}
        own = dict(self.own)
        in_no_file = [role for role in files if role in own and in_memory(Path(own[role]))]
        for role, held in zip(in_no_file, self._held, strict=True):
            files[role].write_bytes(held.content)
            own[role] = files[role]
        return PUTable(own, self.scheme)

    def _read(self) -> LabeledData:
        own = dict(self.own)
        own["sha256"] = sha256_of(Path(own["path"]))
        if "test" in own:
            own["test_sha256"] = sha256_of(Path(own["test"]))
        with in_words():
            return table_reader(registry()).read(UserTableSpec.model_validate(own))

    def __repr__(self) -> str:
        return visible("\n".join((f"PUTable '{self.name}'", *(f"  {note}" for note in self.notes))))


def data(
    x: Any,
    labeled: Any = None,
    *,
    truth: Any = None,
    test: Any = None,
    name: str = "data",
    positive_value: str | Sequence[str] = (),
    drop: str | Sequence[str] = (),
    features: str | Sequence[str] = (),
    scheme: str | None = None,
) -> PUTable:
    """A table of your own in which some rows are labeled positive and the others are unlabeled.

    ``x``: a file (csv, tsv, parquet, npz), a frame (pandas, polars, pyarrow) or an array of shape (n, d). A frame's
    index that has a name and differs in every row names the rows in predictions; any other index is left out.
    ``labeled``: who is labeled, as the name of a column or n values: 1/0, 1/-1, True/False, or two texts of which
    ``positive_value`` names the positive one. ``truth``: true labels, likewise, for measuring only.
    ``test``: rows to measure on: a file or frame that has the truth column, or a pair (x_test, truth_test).
    ``drop``, ``features``: columns to leave out or to use, the latter as shell patterns.
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
        own: dict[str, Any] = {}
        held: list[HeldTable] = []
        index: str | None = None
        if isinstance(x, (str, Path)):
            own["path"] = _file(x)
            own |= {role: _name(given, what) for role, given, what in _roles(labeled, truth) if given is not None}
        else:
            frame, index = _with_index(frame_of(x, "x"))
            for role, given, what in _roles(labeled, truth):
                if given is not None:
                    refuse_other_rows(x, given, ("x", what))
                    frame, own[role] = _with_column(frame, given, what)
            held.append(hold(frame, name))
            own["path"] = held[0].path
        if test is not None:
            if isinstance(test, (str, Path)):
                own["test"] = _file(test)
            else:
                if "truth_col" not in own:
                    own["truth_col"] = _TRUTH
                held.append(hold(_test_frame(test, own["truth_col"]), f"{name} (test)"))
                own["test"] = held[-1].path
        for role, words in (("positive_value", positive_value), ("drop", drop), ("features", features)):
            if words:
                own[role] = [words] if isinstance(words, str) else [str(word) for word in words]
        if index is not None and index not in (own.get("label_col"), own.get("truth_col")):
            own["drop"] = [*own.get("drop", ()), index]  # it names rows, and is no feature
        if "label_col" not in own:
            columns = ", ".join(table_reader(registry()).frame(Path(own["path"])).columns[:12])
            raise RequestError(f"labeled is missing: an array or a column that says who is labeled; there is {columns}")
    return PUTable(own, scheme, tuple(held))


def _roles(labeled: Any, truth: Any) -> tuple[tuple[str, Any, str], ...]:
    return (("label_col", labeled, _LABEL), ("truth_col", truth, _TRUTH))


def _file(given: str | Path) -> Path:
    path = Path(given)
    suffixes = table_reader(registry()).info.suffixes
    if not path.name.lower().endswith(suffixes):
        raise RequestError(f"{path}: a table is a file ending in {', '.join(suffixes)}, a frame or an array")
    return path


def _name(given: Any, what: str) -> str:
    if not isinstance(given, str):
        raise RequestError(f"{what}: for a file it is the name of a column, given {type(given).__name__}")
    return given


def _with_index(frame: DataFrame) -> tuple[DataFrame, str | None]:
    """An index that has a name and differs in every row as a column that names the rows, and its name."""
    index = frame.index
    if index.nlevels > 1 or index.name is None or not index.is_unique or index.name in frame.columns:
        return frame, None
    return frame.reset_index(), str(index.name)


def _with_column(frame: DataFrame, given: Any, what: str) -> tuple[DataFrame, str]:
    """The frame with a column that holds ``given``, and its name; or the name of a column that is there."""
    if isinstance(given, str):
        return frame, given
    values = np.asarray(given)
    if values.shape != (len(frame),):
        raise RequestError(f"{what}: expected {len(frame)} values, one per row of x; given shape {values.shape}")
    name = what
    while name in frame.columns:
        name += "_"
    return frame.assign(**{name: values}), name


def _test_frame(test: Any, truth: str) -> DataFrame:
    if not isinstance(test, tuple):
        return frame_of(test, "test")
    if len(test) != 2:
        raise RequestError(f"test must be a pair (x_test, truth_test), got {len(test)} things")
    refuse_other_rows(*test, ("x_test", "truth_test"))
    frame = frame_of(test[0], "test")
    values = np.asarray(test[1])
    if values.shape != (len(frame),):
        raise RequestError(f"test: expected {len(frame)} true labels, one per row; given shape {values.shape}")
    return frame.assign(**{truth: values})


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
