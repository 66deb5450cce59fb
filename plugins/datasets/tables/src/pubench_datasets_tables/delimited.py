"""Delimited text (csv, tsv, txt, packed or not): its encoding, separator and decimal commas are found out."""

from __future__ import annotations

import codecs
import csv
import io
import warnings
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pubench_archives.archives import opened

from pubench_core.errors import RequestError

from .cells import LONGEST_TEXT, NO_VALUE, Say, each_once, numbers_in_text, refuse_bomb, refuse_data_as_names

if TYPE_CHECKING:
    from pandas import DataFrame

#: Ends of names without ``.gz``.
DELIMITED = (".csv", ".tsv", ".txt")
#: What text is read as that is not UTF-8: the usual encoding of exports in Western Europe and America.
_FALLBACK = "cp1252"
#: First bytes of files that are no text, and what they are.
_NO_TEXT = {
    b"\x1f\x8b": "gzip data",
    b"PK\x03\x04": "a zip archive or an Excel file",
    b"PAR1": "parquet",
    b"%PDF": "PDF",
}
_HEAD = 2**16
#: Fields separated by any number of spaces or tabs.
_SPACES = r"\s+"


@dataclass(frozen=True)
class _Dialect:
    """How a delimited text is written. ``names``: of its columns."""

    separator: str
    encoding: str
    names: list[str]

    def said(self, path: Path, commas: Sequence[str]) -> Iterator[str]:
        """What was guessed and is not the usual; ``commas``: columns with decimal commas."""
        if self.encoding == _FALLBACK:
            yield f"{path.name}: read as Windows-1252 text, as it is not UTF-8; if letters look wrong, save it in UTF-8"
        elif self.encoding != "utf-8":
            yield f"{path.name}: read as {self.encoding.upper()} text"
        if self.separator != ("," if ".csv" in path.name.lower() else "\t"):
            sign = {"\t": "tabs", _SPACES: "spaces"}.get(self.separator, f"'{self.separator}'")
            listed = ", ".join(f"'{name}'" for name in commas[:8])
            more = f" and {len(commas) - 8} more" if len(commas) > 8 else ""
            yield f"{path.name}: fields are separated by {sign}" + (
                f"; decimal commas in {listed}{more}" if commas else ""
            )


def read_delimited(
    path: Path, texts: Collection[str], say: Say, *, no_header: bool = False, only: Sequence[str] | None = None
) -> DataFrame:
    """``only``: the columns that are wanted; by default all."""
    import pandas as pd

    with _faults_of_text(path):
        if path.suffix.lower() == ".gz":
            _refuse_packed_bomb(path)
        encoding = _encoding(path)
        try:
            frame, dialect = _parsed(path, encoding, texts, only, no_header=no_header)
        except UnicodeDecodeError:
            if encoding != "utf-8" or _is_binary(path):
                raise
            frame, dialect = _parsed(path, _FALLBACK, texts, only, no_header=no_header)
    commas = []
    for name in [name for name, dtype in frame.dtypes.items() if dtype.kind not in "biuf"]:
        if pd.api.types.infer_dtype(frame[name], skipna=True) == "string":
            frame[name] = frame[name].str.strip()
            if (longest := frame[name].str.len().max()) > LONGEST_TEXT:
                raise RequestError(
                    f"{path}: column '{name}' has a cell of {longest / 2**20:.1f} MiB; expected at most 1 MiB; is a "
                    "quote not closed?"
                )
            if name not in texts:
                frame[name] = numbers_in_text(frame[name], commas=dialect.separator != ",")
                if dialect.separator != "," and frame[name].dtype.kind == "f":
                    commas.append(name)
    for line in dialect.said(path, commas):
        say(line)
    if only is None and dialect.separator != _SPACES and frame.iloc[:, -1].isna().any():
        _look_at_short_lines(path, dialect, say)
    return frame


def _look_at_short_lines(path: Path, dialect: _Dialect, say: Say) -> None:
    """Says which lines have too few fields. Raises RequestError if the file ends in the middle of one."""
    short, last, width = [], 0, len(dialect.names)
    with io.TextIOWrapper(opened(path), dialect.encoding, newline="") as lines:
        rows = csv.reader(lines, delimiter=dialect.separator, skipinitialspace=True)
        try:
            for row in rows:
                last = rows.line_num if row else last
                if 0 < len(row) < width:
                    short.append((rows.line_num, len(row)))
        except csv.Error:  # a field of more than 128 KiB
            return
    if not short:
        return
    with opened(path) as content:
        content.seek(-1, io.SEEK_END) if path.suffix.lower() != ".gz" else None
        end = content.read()[-1:]
    if short[-1][0] == last and end not in b"\r\n\0":
        raise RequestError(
            f"{path}, line {last}: expected {width} fields, found {short[-1][1]}, and the file ends there; it was cut: "
            "get it again, or remove its last line"
        )
    what = "line has" if len(short) == 1 else "lines have"
    say(
        f"{path.name}: {len(short)} {what} fewer fields than line 1 has names, the first is line {short[0][0]}; what "
        "is not there counts as empty"
    )


def _parsed(
    path: Path, encoding: str, texts: Collection[str], only: Sequence[str] | None, *, no_header: bool
) -> tuple[DataFrame, _Dialect]:
    import pandas as pd
    from packaging.version import Version

    dialect = _dialect(path, encoding, no_header=no_header)
    more: dict[str, Any] = {} if only is None else {"usecols": list(only)}
    kinds = {name: str for name in texts if name in dialect.names}
    more |= {"header": None if no_header else 0, "names": dialect.names, "index_col": False, "dtype": kinds}
    more |= {"sep": dialect.separator, "encoding": encoding, "skipinitialspace": True, "na_values": list(NO_VALUE)}
    if Version(pd.__version__) < Version("3.1"):  # whose default reads numbers to the last bit
        more["float_precision"] = "round_trip"
    with warnings.catch_warnings(), opened(path) as content:
        warnings.simplefilter("error", pd.errors.ParserWarning)
        frame = pd.read_csv(content, low_memory=False, **more)
    return frame, dialect


def _refuse_packed_bomb(path: Path) -> None:
    total, size = 0, path.stat().st_size
    with opened(path) as content:
        while part := content.read(_HEAD):
            total += len(part)
            refuse_bomb(path, size, total)


def _encoding(path: Path) -> str:
    """``utf-8``, or UTF-16 if the first bytes say so. Raises RequestError for what is no text."""
    head = _first_bytes(path)
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    for magic, what in _NO_TEXT.items():
        if head.startswith(magic):
            raise RequestError(f"{path} is {what}, not text; rename it so that its ending says so")
    zeros = [head[k::2].count(0) / max(len(head[k::2]), 1) for k in (0, 1)]
    if max(zeros) > 0.4 and min(zeros) < 0.1:  # UTF-16 without a mark: every other byte of plain letters is 0
        return "utf-16-be" if zeros[0] > zeros[1] else "utf-16-le"
    if head.count(0) > 1:
        raise RequestError(f"{path} has zero bytes, which no text has; expected names of columns in line 1")
    return "utf-8"


def _first_bytes(path: Path) -> bytes:
    with opened(path) as file:
        return bytes(file.read(_HEAD))


def _is_binary(path: Path) -> bool:
    """Whether there are control characters that no text has."""
    return any(byte < 32 and byte not in b"\t\n\v\f\r\x1a\x1b" for byte in _first_bytes(path))


def _dialect(path: Path, encoding: str, *, no_header: bool) -> _Dialect:
    """The separator that cuts line 1 into the most fields, and the names in it; a field without one gets one.

    ``|`` separates only if nothing else does, and in ``.txt`` spaces after that.
    """
    name = path.name.lower()
    separators = ["\t"] if ".tsv" in name else [",", ";", "\t"]
    first = {s: _fields(path, encoding, s) for s in separators}
    for rest in ["|"] * (".tsv" not in name) + [_SPACES] * (".txt" in name):
        if max(map(len, first.values())) == 1:
            first |= {rest: _fields(path, encoding, rest)}
    separator = max(first, key=lambda s: len(first[s]))
    fields = first[separator]
    if len(fields) == 1:
        known = "a tab" if separators == ["\t"] else "',' (or ';', '|' or a tab)"
        raise RequestError(f"{path} has a single column; fields are separated by {known} and named in line 1")
    names = [f.strip() or f"Unnamed: {k}" for k, f in enumerate(fields)]
    if no_header:
        names = [f"c{k}" for k in range(1, len(fields) + 1)]
    refuse_data_as_names(path, names)
    each_once(path, names)
    return _Dialect(separator, encoding, names)


def _fields(path: Path, encoding: str, separator: str) -> list[str]:
    """Fields of the first line that is not blank."""
    import pandas as pd

    with io.TextIOWrapper(opened(path), encoding, errors="replace", newline="") as lines:
        if separator == _SPACES:
            return next((line.split() for line in lines if line.strip()), [])
        try:
            for row in csv.reader(lines, delimiter=separator, skipinitialspace=True):
                if any(field.strip("\ufeff ") for field in row):
                    return [row[0].removeprefix("\ufeff").strip('"'), *row[1:]] if row[0][:1] == "\ufeff" else row
        except csv.Error:  # a long line without this separator is one long field
            return [""]
    raise pd.errors.EmptyDataError


@contextmanager
def _faults_of_text(path: Path) -> Iterator[None]:
    """A block that reads delimited text: what is wrong with it becomes one line that names the file."""
    import pandas as pd

    try:
        yield
    except UnicodeError as error:
        raise RequestError(f"{path} is not UTF-8 text, nor in a known encoding; save it as UTF-8") from error
    except pd.errors.EmptyDataError as error:
        raise RequestError(f"{path} is empty") from error
    except pd.errors.ParserWarning as error:  # surplus fields that are not empty
        raise RequestError(f"{path}: rows have more fields than line 1 has names; name every column") from error
    except (pd.errors.ParserError, csv.Error) as error:
        reason = str(error).strip().removeprefix("Error tokenizing data. C error: ")
        raise RequestError(f"{path} is not a table: {reason}") from error
    except (EOFError, zlib.error) as error:
        raise RequestError(f"{path} is damaged ({error}); get it again") from error
