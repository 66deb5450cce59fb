"""A record as it is read: the folder of a finished run and what its ``result.json`` says."""

from __future__ import annotations

import errno
import json
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from ..errors import Hint, RecordError, RequestError, shortened
from ..results import RECORD_VERSION, Failure, Result
from .files import FAILURE, RESULT, read_small
from .later import with_later


class OtherFormat(RecordError):
    """A sound record that another version of pubench wrote. ``version``: of its format."""

    def __init__(self, path: Path, version: object) -> None:
        super().__init__(
            f"{path} is a record of format {shortened(str(version))}; this version of pubench reads format "
            f"{RECORD_VERSION}. It is kept as it is, and its run can be run again"
        )
        self.version = version


@dataclass(frozen=True)
class Record:
    """A finished run on disk."""

    folder: Path
    result: Result


def read_record(folder: Path) -> Record:
    """The record in a folder, with the measures that were derived from its scores since.

    Raises FileNotFoundError if there is none, OtherFormat if another version wrote it, RecordError if it is damaged.
    """
    record = read_result(folder)
    return Record(folder, with_later(folder, record.result))


def read_result(folder: Path) -> Record:
    """The record in a folder as its run left it, without measures that were derived later. Raises as read_record."""
    path = folder / RESULT
    try:
        text = read_small(path)
    except (FileNotFoundError, NotADirectoryError):
        raise FileNotFoundError(path) from None
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise RequestError(
                f"{shortened(str(path))}: {error.strerror}; name another folder (execution.results)",
                field="execution.results",
            ) from error
        reason = error.strerror or error
        raise RecordError(f"{path} cannot be read ({reason}); move it away", hint=Hint("run again")) from error
    try:
        return Record(folder, Result.model_validate_json(text))
    except ValidationError:  # the long way finds the words for it
        return Record(folder, _explained(path, text))


def _explained(path: Path, text: bytes) -> Result:
    """The content of a ``result.json``, piece by piece. Raises OtherFormat, or RecordError for what is wrong."""
    again = Hint("run again")
    try:
        plain = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RecordError(f"{path} cannot be read ({shortened(str(error))}); move it away", hint=again) from error
    if not isinstance(plain, dict) or not isinstance(plain.get("run_id"), str):
        raise RecordError(f"{path} is not the record of a run; move it away", hint=again)
    version = plain.get("record_version")
    if version != RECORD_VERSION and (version is None or isinstance(version, int)):
        raise OtherFormat(path, version)
    try:
        return Result.model_validate(plain)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        reason = shortened(f"{where}: {first['msg']}")
        raise RecordError(f"{path} is damaged ({reason}); move it away", hint=again) from error


def read_failure(folder: Path) -> Failure | None:
    """The failure in a folder; None where it cannot be read (its run is then tried again)."""
    try:
        return Failure.model_validate_json(read_small(folder / FAILURE))
    except (OSError, ValidationError):
        return None
