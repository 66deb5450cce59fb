"""Writing the files of a record, and reading the scores back."""

from __future__ import annotations

import csv
import errno
import hashlib
import json
import os
import stat
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from io import BufferedReader
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import numpy.typing as npt
import yaml

from ..data.checksum_cache import replacing
from ..errors import Hint, RecordError, shortened
from ..results import Result

#: Files of a run folder. ``result.json`` is written last: a folder without it is not a record.
RESULT = "result.json"
SPEC = "spec.yaml"
ENVIRONMENT = "environment.json"
TRACE = "trace.csv"
SCORES = "scores.npz"
SAMPLES = "samples.npz"
TRAINING_SCORES = "training-scores.npz"
#: A picture per generator of images.
SAMPLES_PICTURE = "samples-{}.png"
PREDICTIONS = "predictions.csv"
#: Measures that were derived from the scores after the run: a cache, which may be deleted.
MEASURES = "measures.json"
MODEL = "model.safetensors"
FAILURE = "failure.json"


def state_model(state: str) -> str:
    """File of a fold's model in one of the states that it keeps."""
    return f"model-{state}.safetensors"


def fold_model(number: int | str) -> str:
    """File of a joint record: the model of one fold, from 1, in the epoch that was chosen for all; ``*``: of any."""
    return f"model-fold-{number}.safetensors"


def predictions_by(criterion: str) -> str:
    """File of the predictions of another criterion than the record's own, derived from its scores."""
    return f"predictions-{criterion}.csv"


def predictions_in(folder: Path, criterion: str) -> Path:
    """File of a record's predictions by a criterion: of its own, and of those that chose the same epoch, the run's."""
    other = folder / predictions_by(criterion)
    return other if other.exists() else folder / PREDICTIONS


#: Folder of failure records in a folder of records.
FAILED = "failed"

#: Most bytes of a file of text, arrays of an archive, and bytes of its arrays: a record of others is read within them.
MOST_TEXT, MOST_ARRAYS, MOST_BYTES = 1 << 26, 10_000, 1 << 30
Arrays = dict[str, npt.NDArray[Any]]
#: In C where PyYAML was built with it: ten times as fast.
_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Indented JSON without NaN."""
    path.write_text(json_text(value), encoding="utf-8")


def json_text(value: Mapping[str, Any]) -> str:
    return json.dumps(value, indent=2, allow_nan=False) + "\n"


def write_yaml(path: Path, value: Mapping[str, Any]) -> None:
    """YAML in the given order."""
    path.write_text(yaml_text(value), encoding="utf-8")


def yaml_text(value: Mapping[str, Any]) -> str:
    """YAML in the given order."""
    text: str = yaml.dump(dict(value), Dumper=_DUMPER, sort_keys=False)
    return text


def result_text(result: Result) -> str:
    """The content of ``result.json``."""
    return json_text(result.model_dump(mode="json"))


def write_rows(target: Path | TextIO, rows: Iterable[Mapping[str, Any]]) -> None:
    """CSV with the union of all columns, in order of appearance; absent values are empty."""
    if isinstance(target, Path):
        with target.open("w", newline="", encoding="utf-8") as file:
            write_rows(file, rows)
        return
    rows = list(rows)
    columns = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(target, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


#: Columns of predictions; those of the table's own that name its rows stand behind the first.
_PREDICTED = ("row", "score", "rank", "decision", "decision_at_prior")
OF_THE_TABLE = " (of the table)"


def predictions_of(
    rows: npt.NDArray[np.int64],
    scores: npt.NDArray[np.float64],
    ids: Mapping[str, Sequence[str]] | None = None,
    threshold: float | None = None,
) -> dict[str, list[Any]]:
    """Columns: ``row`` (counted from 0, the header left out), the columns that name the rows, ``score``, ``rank`` (1 is
    the highest score; equal scores share the better rank), ``decision`` (1 positive: score above 0) and, if there is a
    ``threshold``, ``decision_at_prior`` (1 positive: score above it).

    ``ids``: name of a column -> a text for each of ``rows``.
    """
    ranks = np.searchsorted(np.sort(-scores), -scores) + 1
    named = {
        f"{name}{OF_THE_TABLE}" if name in _PREDICTED else name: list(texts) for name, texts in (ids or {}).items()
    }
    thresholds = [0.0] if threshold is None else [0.0, threshold]
    of_scores = (scores.tolist(), ranks.tolist(), *((scores > one).astype(int).tolist() for one in thresholds))
    return {"row": rows.tolist(), **named, **dict(zip(_PREDICTED[1:], of_scores, strict=False))}


def write_predictions(
    target: Path | TextIO,
    rows: npt.NDArray[np.int64],
    scores: npt.NDArray[np.float64],
    ids: Mapping[str, Sequence[str]] | None = None,
    threshold: float | None = None,
) -> None:
    """:func:`predictions_of` as CSV, in the order of the rows."""
    columns = predictions_of(rows, scores, ids, threshold)
    write_rows(target, (dict(zip(columns, line, strict=True)) for line in zip(*columns.values(), strict=True)))


def ids_in(folder: Path) -> dict[str, list[str]]:
    """Columns that name the rows in a record's predictions, by the table's names; empty if none does.

    Raises OSError if the file cannot be read.
    """
    with (folder / PREDICTIONS).open(newline="", encoding="utf-8") as file:
        lines = csv.reader(file)
        head, rows = next(lines, []), list(lines)
    return {
        name.removesuffix(OF_THE_TABLE): [row[k] for row in rows]
        for k, name in enumerate(head)
        if name not in _PREDICTED
    }


def scores_digest(folder: Path) -> str:
    """First 16 digits of the SHA-256 of a record's ``scores.npz``.

    Raises OSError if it is not a regular file, RecordError if it has more than :data:`MOST_BYTES`.
    """
    with open_regular(folder / SCORES) as file:
        if (size := os.fstat(file.fileno()).st_size) > MOST_BYTES:
            raise RecordError(f"it has {size:,} bytes; at most {MOST_BYTES:,} are read")
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def read_scores(folder: Path, name: str = SCORES) -> Arrays:
    """The arrays of a record's ``scores.npz``, or of its file of training scores: each a column of numbers.

    Raises RecordError if they cannot be read, are something else, or more than :data:`MOST_ARRAYS` or
    :data:`MOST_BYTES`: what a file says of its size is looked at before memory is taken.
    """
    path, again = folder / name, Hint("run again")
    try:
        with open_regular(path) as file, zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            size = sum(member.file_size for member in members)
            if len(members) > MOST_ARRAYS or size > MOST_BYTES:
                raise RecordError(
                    f"{path} holds {len(members):,} arrays of {size:,} bytes; at most {MOST_ARRAYS:,} and "
                    f"{MOST_BYTES:,} are read; move the record away"
                )
            return {member.filename.removesuffix(".npy"): _column(path, archive, member) for member in members}
    except (OSError, ValueError, EOFError, NotImplementedError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        # NumPy takes what is no archive for one of pickled objects, and says how to load it all the same
        reason = error.strerror or str(error) if isinstance(error, OSError) else "it is damaged"
        raise RecordError(f"{path} cannot be read ({reason}); move the record away", hint=again) from error


def _column(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> npt.NDArray[Any]:
    """One array of an archive. Raises RecordError for what is no column of numbers, ValueError for another size."""
    with archive.open(member) as stream:
        version = np.lib.format.read_magic(stream)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(stream)
        if len(shape) != 1 or dtype.kind not in "biuf":
            name = shortened(member.filename.removesuffix(".npy"))
            raise RecordError(
                f"{path} is damaged: {name} is not a column of numbers; move the record away", hint=Hint("run again")
            )
        if shape[0] * dtype.itemsize != member.file_size - stream.tell():
            raise ValueError("its size is another than its header says")
        content = stream.read()  # checked against its checksum at its end
        return np.frombuffer(bytearray(content), dtype=dtype)


def open_regular(path: Path) -> BufferedReader:
    """A regular file, opened for reading. Raises OSError for a pipe, a device or a folder, without waiting for one."""
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    return file


def read_small(path: Path, most: int = MOST_TEXT) -> bytes:
    """The content of a file of text that a record has. Raises OSError if it is not a regular file, or too large."""
    with open_regular(path) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"it has more than {most:,} bytes", str(path))
    return content


def refuse_no_file(path: Path) -> None:
    """Raises OSError for a path that cannot be replaced by a file: a device, a pipe, a folder, or no name at all."""
    if not path.name:
        raise FileNotFoundError(errno.ENOENT, "it names no file", str(path))
    with suppress(FileNotFoundError):
        if not stat.S_ISREG(path.stat().st_mode):
            raise FileExistsError(errno.EEXIST, "it is not a regular file", str(path))


def replace_text(path: Path, text: str) -> None:
    """:func:`replace_bytes` of a text."""
    replace_bytes(path, text.encode())


def replace_bytes(path: Path, content: bytes) -> None:
    """Replaces a file as a whole. Raises OSError for what is there and no regular file: a device stays one."""
    refuse_no_file(path)
    with replacing(path) as aside:
        aside.write_bytes(content)
