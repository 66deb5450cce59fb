"""New rows scored with the model that a run kept: ``pubench predict`` and ``pubench.load_model``."""

from __future__ import annotations

import csv
import json
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from pubench_datasets_tables.encoding import encode, gaps_in
from pubench_datasets_tables.files import as_written
from pubench_datasets_tables.frames import frame_of, hold

from pubench.field_names import in_words
from pubench_cli.console import err
from pubench_cli.machine import print_json
from pubench_cli.out_file import refuse_unwritable
from pubench_cli.recorded_run import folder_of_run
from pubench_cli.visible import rows_out
from pubench_core.data.checksum_cache import replacing
from pubench_core.data.labeled import texts_of
from pubench_core.data.table_reader import table_reader
from pubench_core.errors import RecordError, RequestError, RunFailed
from pubench_core.plugins.registry import registry
from pubench_core.records.files import ids_in, predictions_of, write_predictions
from pubench_core.records.record import read_record

if TYPE_CHECKING:
    from .saved_model import SavedModel

#: Endings of what can be written, and as what.
ENDINGS = {".csv": "csv", ".json": "json", ".parquet": "parquet"}


def predict(run: str, file: Path, out: Path | None, results: Path, form: str | None) -> None:
    """Writes row, what names it, score, rank and decisions of every row of ``file``.

    ``form``: csv, json (a list of objects) or what the ending of ``out`` says.
    """
    form = _form(out, form)
    if out is not None and out.exists() and file.exists() and out.samefile(file):
        raise RequestError(f"--out {out} would replace the rows to score; name another file")
    if out is not None:
        refuse_unwritable(out)
    folder = folder_of_run(results, run)
    model, threshold = _model_in(folder), _threshold_of(folder)
    x, ids = rows_of(file, model.folds[0], _ids_of(folder))
    scores = model.scores(x, str(file))
    rows = np.arange(len(scores))
    columns = predictions_of(rows, scores, ids, threshold)
    if out is None:
        if form == "json":
            print_json(_objects(columns))
        else:
            write_predictions(rows_out(), rows, scores, ids, threshold)
        return
    try:
        with replacing(out) as aside:  # a full disk leaves no half of a file
            match form:
                case "parquet":
                    import pandas as pd

                    pd.DataFrame(columns).to_parquet(aside, index=False)
                case "json":
                    aside.write_text(json.dumps(_objects(columns), indent=2) + "\n", "utf-8")
                case _:
                    write_predictions(aside, rows, scores, ids, threshold)
    except OSError as error:
        raise RequestError(f"cannot write {out}: {error.strerror or error}") from error
    err().print(f"{len(scores)} rows scored, {int((scores > 0).sum())} positive: {out}", markup=False)


@dataclass(frozen=True)
class TrainedModel:
    """The model that a run kept, as :func:`load_model` reads it."""

    folder: Path
    """of the record"""
    folds: tuple[SavedModel, ...] = field(repr=False)
    """one, or those of all folds; how a table becomes rows, all of them say alike"""

    def decision_function(self, x: Any) -> npt.NDArray[np.float64]:
        """(n,) scores of new rows, positive iff above 0: the numbers that ``pubench predict`` writes.

        ``x``: a file, or a frame or an array with the columns that the model was trained on; for a data set an array
        of shape (n, *shape). Raises InvalidRequest (a ValueError) for other rows.
        """
        with in_words():
            model = self.folds[0]
            if isinstance(x, (str, Path)):
                return self.scores(rows_of(Path(x), model)[0], str(x))
            if model.columns is None:
                return self.scores(_fitting(np.asarray(x), model.shape, "x"), "x")
            table = hold(frame_of(x, "x"), "x")  # its path is good for as long as it is here
            return self.scores(rows_of(table.path, model)[0], "x")

    def predict(self, x: Any) -> npt.NDArray[np.int64]:
        """(n,) 1 for rows whose score is above 0, 0 for the others. ``x``: as :meth:`decision_function` has it."""
        return (self.decision_function(x) > 0).astype(np.int64)

    def scores(self, rows: npt.NDArray[Any], name: str) -> npt.NDArray[np.float64]:
        """(n,) mean scores of (n, *shape) rows. Raises RunFailed for one that is not finite; ``name``: of the rows."""
        found: npt.NDArray[np.float64] = np.mean([one.scores(rows) for one in self.folds], axis=0)
        if not np.isfinite(found).all():
            bad = int(np.flatnonzero(~np.isfinite(found))[0])
            raise RunFailed(f"the score of row {bad} of {name} is {found[bad]}")
        return found


def load_model(path: str | Path) -> TrainedModel:
    """The model that a run kept (``save_model=True``), which scores new rows.

    ``path``: the folder of the record: ``result.folder``, ``results/<run id>``, or ``model`` of an advice.

    Raises InvalidRequest (a ValueError) if there is no record or it kept no model, RecordError if its file is damaged.
    """
    with in_words():
        return _model_in(folder_of_run(Path("results"), str(path)))


def _model_in(folder: Path) -> TrainedModel:
    from .saved_model import models_in  # torch

    return TrainedModel(folder, tuple(models_in(folder, registry())))


def _form(out: Path | None, asked: str | None) -> str:
    """csv, json or parquet. Raises RequestError for an ending that says something else, before anything is scored."""
    if out is None:
        return asked or "csv"
    form = ENDINGS.get(out.suffix.lower())
    if form is None:
        raise RequestError(f"--out must end in {', '.join(ENDINGS)}, got {out}")
    if asked not in (None, form):
        raise RequestError(f"--out must end in .{asked} for --format {asked}, got {out}")
    return form


def _objects(columns: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(columns, line, strict=True)) for line in zip(*columns.values(), strict=True)]


def _ids_of(folder: Path) -> list[str]:
    """Columns that name the rows in the run's own predictions; none where it has none."""
    try:
        return list(ids_in(folder))
    except (OSError, UnicodeDecodeError, csv.Error, IndexError):  # absent or damaged; the model scores all the same
        return []


def _threshold_of(folder: Path) -> float | None:
    """The threshold at the prior of the model's epoch; None if there is none."""
    try:
        result = read_record(folder).result
    except RecordError:  # damaged, or of another version; the model scores all the same
        return None
    snapshot = result.model.snapshot if result.model is not None else ""
    return next((one.threshold for one in result.criteria.values() if snapshot and one.snapshot == snapshot), None)


def rows_of(file: Path, model: SavedModel, names: Sequence[str] = ()) -> tuple[npt.NDArray[Any], dict[str, list[str]]]:
    """(n, *shape) rows as the model takes them: columns by name where it was trained on a table of the user's, else an
    array ``x`` of an npz, or numeric columns in the data set's order. Next to them, what names the rows: those of the
    columns ``names`` that the file has.
    """
    if model.columns is not None:
        no_header = model.spec.data.own is not None and model.spec.data.own.no_header
        frame = table_reader(registry()).frame(file, texts_of(model.columns), _say, no_header=no_header)
        x = encode(frame, model.columns, file.name, _say)
        if gaps := gaps_in(frame, model.columns):
            _say(f"{file.name}: {gaps}")
        found = as_written(file, frame, [name for name in names if name in frame], no_header=no_header)
        return x, {name: texts.tolist() for name, texts in found.items()}
    return _rows_of_arrays(file, model), {}


def _say(text: str) -> None:
    err().print(text, markup=False)


def _rows_of_arrays(file: Path, model: SavedModel) -> npt.NDArray[Any]:
    """(n, *shape) rows of a data set, from arrays or numeric columns."""
    shape = model.shape
    if file.name.endswith(".npz"):
        try:
            with zipfile.ZipFile(file), np.load(file, allow_pickle=False) as arrays:
                x = arrays["x"]
        except OSError as error:
            raise RequestError(f"cannot read {file}: {error.strerror or error}") from error
        except (zipfile.BadZipFile, zlib.error, ValueError, KeyError, EOFError) as error:
            raise RequestError(f"{file} is not an npz with an array 'x' of shape (n, {_text(shape)})") from error
    else:
        frame = table_reader(registry()).frame(file)
        try:
            x = frame.to_numpy(dtype=np.float32)
        except (ValueError, TypeError) as error:
            raise RequestError(f"{file}: expected {len(frame.columns)} numeric columns ({error})") from error
        if len(shape) == 1 and x.shape[1] != shape[0]:
            raise RequestError(f"{file} has {x.shape[1]} columns; the model was trained on {shape[0]} features")
        x = x.reshape(len(x), *shape) if x.shape[1] == np.prod(shape) else x
    return _fitting(x, shape, str(file))


def _fitting(x: npt.NDArray[Any], shape: tuple[int, ...], name: str) -> npt.NDArray[Any]:
    """The rows as a network takes them. Raises RequestError for those of another shape, or that are not finite."""
    if x.shape[1:] != shape or not np.isfinite(x).all():
        raise RequestError(
            f"{name}: expected rows of finite numbers in shape ({_text(shape)}), found ({_text(x.shape[1:])})"
        )
    return np.asarray(x if x.dtype == np.uint8 else x.astype(np.float32))


def _text(shape: tuple[int, ...]) -> str:
    return ", ".join(str(size) for size in shape)
