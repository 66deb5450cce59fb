"""``results.parquet``: all records of a folder as one frame, a row per run, criterion, part and measure.

Made from the run folders at any time, without torch.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pubench_study.measure_names import metric_and_rule

from pubench_core.errors import RecordError
from pubench_core.plugins.info import MetricInfo
from pubench_core.plugins.registry import registry
from pubench_core.records.files import MEASURES, RESULT, replace_bytes
from pubench_core.records.record import Record
from pubench_core.records.store import RecordStore
from pubench_core.results import Result
from pubench_core.specs.fields import short_hash

from .columns import BY_NAME, LONG, names, typed
from .record import RowSource, rows_of

if TYPE_CHECKING:
    from pandas import DataFrame

#: Raised when a column changes its meaning or goes.
LONG_VERSION = 1


def long_frame(results: Iterable[Result]) -> DataFrame:
    """A row per run, criterion, part and measure; a criterion without a value has one row that says why."""
    tags = {info.key: "oracle" if info.oracle else "pu" for info in registry().infos(MetricInfo)}
    rows = [row for result in results for row in _long_rows(result, tags)]
    return typed(rows, names(LONG))


def _long_rows(result: Result, tags: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    columns = [name for name in names(LONG) if BY_NAME[name].source]
    for row in rows_of(RowSource(result), columns):
        chosen = result.criteria[row["criterion"]]
        if chosen.undefined:
            yield {**row, "undefined": chosen.undefined}
        for part in chosen.measures:
            for measure, found in chosen.measured(part).items():
                low, high = found.interval or (None, None)
                tag = tags.get(metric_and_rule(measure)[0], "")
                of_one = {"part": part, "measure": measure, "tag": tag, "value": found.value, "low": low, "high": high}
                yield {**row, **of_one, "undefined": found.undefined}


def _content(records: Sequence[Record]) -> bytes:
    """The content of a ``results.parquet``, which says what records it was made of."""
    import pyarrow
    import pyarrow.parquet

    stamp = _stamp(record.folder for record in records)
    results = sorted((record.result for record in records), key=lambda result: result.run_id)  # whenever made
    table = pyarrow.Table.from_pandas(long_frame(results), preserve_index=False)
    noted = {**(table.schema.metadata or {}), b"pubench": json.dumps({"version": LONG_VERSION, "of": stamp}).encode()}
    stream = io.BytesIO()
    pyarrow.parquet.write_table(table.replace_schema_metadata(noted), stream, compression="zstd")
    return stream.getvalue()


def write_parquet(path: Path, of: Sequence[Record] | None = None) -> tuple[RecordError, ...]:
    """Writes some records to a ``results.parquet``, or brings that of a folder of records up to date.

    Returns the records that cannot be read. Nothing is done if the file has just these records already. Raises
    RecordError if it cannot be written, or the folder not be read.
    """
    unreadable: tuple[RecordError, ...] = ()
    if of is None:
        try:
            folders = [Path(entry) for entry in os.scandir(path.parent)]
        except OSError as error:
            reason = error.strerror or error
            raise RecordError(f"the folder of records {path.parent} cannot be read: {reason}") from error
        if _stamp_in(path) == _stamp(folders):
            return ()
        records = RecordStore(path.parent).all()
        of, unreadable = records.readable, records.unreadable
    try:
        replace_bytes(path, _content(of))
    except OSError as error:
        reason = error.strerror or error
        raise RecordError(f"{path} could not be written: {reason}; the records stay as they are") from error
    return unreadable


def _stamp(folders: Iterable[Path]) -> str:
    """Hash of the results in these folders; the same for a copy of them all."""
    found = []
    for folder in folders:
        try:
            found.append([folder.name, hashlib.sha256((folder / RESULT).read_bytes()).hexdigest()])
            found[-1].append(hashlib.sha256((folder / MEASURES).read_bytes()).hexdigest())
        except OSError:  # no record, or nothing derived later
            continue
    return short_hash(sorted(found))


def _stamp_in(path: Path) -> str:
    import pyarrow
    import pyarrow.parquet

    try:
        noted = (pyarrow.parquet.read_schema(path).metadata or {}).get(b"pubench", b"{}")
        found = json.loads(noted)
    except (OSError, ValueError, pyarrow.ArrowException):  # not there, or not ours: it is written again
        return ""
    return str(found.get("of", "")) if found.get("version") == LONG_VERSION else ""
