"""``pubench predict``: new rows scored with the model that a run kept."""

from __future__ import annotations

import sys
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pubench_core.data.encoding import encode, gaps_in, texts_of
from pubench_core.data.tables import read_table
from pubench_core.engine.model_file import SavedModel, load_model
from pubench_core.errors import RecordError, RequestError, RunFailed
from pubench_core.plugins.registry import registry
from pubench_core.records.files import MODEL, write_predictions
from pubench_core.records.store import RecordStore, read_record

from .console import err


def predict(run: str, file: Path, out: Path | None, results: Path) -> None:
    """Writes row, score, rank and decision of every row of ``file`` as CSV."""
    folder = RecordStore(results).locate(run)
    model = load_model(folder / MODEL, registry())
    _say_which_epoch(folder)
    x = rows_of(file, model)
    scores = model.scores(x)
    if not np.isfinite(scores).all():
        bad = int(np.flatnonzero(~np.isfinite(scores))[0])
        raise RunFailed(f"the score of row {bad} of {file} is {scores[bad]}")
    rows = np.arange(len(scores))
    if out is None:
        write_predictions(sys.stdout, rows, scores)
        return
    try:
        write_predictions(out, rows, scores)
    except OSError as error:
        raise RequestError(f"cannot write {out}: {error.strerror or error}") from error
    err().print(f"{len(scores)} rows scored, {int((scores > 0).sum())} positive: {out}", markup=False)


def _say_which_epoch(folder: Path) -> None:
    """A line where the model is of another epoch than the result: a stored run was shown under another criterion."""
    try:
        result = read_record(folder).result
    except RecordError:  # damaged, or of another version; the model scores all the same
        return
    if result.model is not None and result.model.snapshot != result.chosen.snapshot:
        err().print(
            f"the model is of {result.model.snapshot}, the result of {result.chosen.snapshot}, which "
            f"{result.selected} chose; run it again with --select {result.selected} --save-model to have its model",
            markup=False,
        )


def rows_of(file: Path, model: SavedModel) -> npt.NDArray[Any]:
    """(n, *shape) rows as the model takes them: columns by name where it was trained on a table of the user's, else an
    array ``x`` of an npz, or numeric columns in the data set's order.
    """
    if model.columns is not None:
        frame = read_table(file, texts_of(model.columns))
        x = encode(frame, model.columns, file.name, lambda text: err().print(text, markup=False))
        if gaps := gaps_in(frame, model.columns):
            err().print(f"{file.name}: {gaps}", markup=False)
        return x
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
        frame = read_table(file)
        try:
            x = frame.to_numpy(dtype=np.float32)
        except (ValueError, TypeError) as error:
            raise RequestError(f"{file}: {len(frame.columns)} numeric columns are right ({error})") from error
        if len(shape) == 1 and x.shape[1] != shape[0]:
            raise RequestError(f"{file} has {x.shape[1]} columns; the model was trained on {shape[0]} features")
        x = x.reshape(len(x), *shape) if x.shape[1] == np.prod(shape) else x
    if x.shape[1:] != shape or not np.isfinite(x).all():
        raise RequestError(f"{file}: rows of shape ({_text(x.shape[1:])}); finite ones of ({_text(shape)}) are right")
    return np.asarray(x if x.dtype == np.uint8 else x.astype(np.float32))


def _text(shape: tuple[int, ...]) -> str:
    return ", ".join(str(size) for size in shape)
