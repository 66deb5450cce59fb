"""Delimited text (csv, tsv, packed or not): its encoding, separator and decimal commas are found out."""

from __future__ import annotations

import codecs
import csv
import gzip
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

from .cells import Say, each_once, numbers_in_text

if TYPE_CHECKING:
    from pandas import DataFrame


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
        usual = "\t" if ".tsv" in path.name.lower() else ","
        if self.separator != usual:
            sign = "tabs" if self.separator == "\t" else f"'{self.separator}'"
            listed = ", ".join(f"'{name}'" for name in commas[:8])
            more = f" and {len(commas) - 8} more" if len(commas) > 8 else ""
            yield f"{path.name}: fields are separated by {sign}" + (
                f"; decimal commas in {listed}{more}" if commas else ""
            )


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


def read_delimited(path: Path, texts: Collection[str], say: Say, only: Sequence[str] | None = None) -> DataFrame:
    """``only``: the columns that are wanted; by default all."""
    import pandas as pd

    with _faults_of_text(path):
        encoding = _encoding(path)
        try:
            frame, dialect = _parsed(path, encoding, texts, only)
        except UnicodeDecodeError:
            if encoding != "utf-8" or _is_binary(path):
                raise
            frame, dialect = _parsed(path, _FALLBACK, texts, only)
    commas = []
    for name in [name for name, dtype in frame.dtypes.items() if dtype.kind not in "biuf"]:
        if pd.api.types.infer_dtype(frame[name], skipna=True) == "string":
            frame[name] = frame[name].str.strip()
            if name not in texts:
                frame[name] = numbers_in_text(frame[name], commas=dialect.separator != ",")
                if frame[name].dtype.kind == "f":
                    commas.append(name)
    for line in dialect.said(path, commas):
        say(line)
    if only is None and frame.iloc[:, -1].isna().any() and (short := _short_lines(path, dialect)):
        what = "line has" if len(short) == 1 else "lines have"
        say(
            f"{path.name}: {len(short)} {what} fewer fields than line 1 has names, the first is line {short[0]}; what "
            "is not there counts as empty"
        )
    return frame


def _short_lines(path: Path, dialect: _Dialect) -> list[int]:
    """Numbers, from 1, of the lines with which rows end that have too few fields. None where they cannot be counted."""
    with io.TextIOWrapper(opened(path), dialect.encoding, newline="") as lines:
        rows = csv.reader(lines, delimiter=dialect.separator, skipinitialspace=True)
        try:
            return [rows.line_num for row in rows if 0 < len(row) < len(dialect.names)]
        except csv.Error:  # a field of more than 128 KiB
            return []


def _parsed(
    path: Path, encoding: str, texts: Collection[str], only: Sequence[str] | None
) -> tuple[DataFrame, _Dialect]:
    import pandas as pd

    dialect = _dialect(path, encoding)
    more: dict[str, Any] = {} if only is None else {"usecols": list(only)}
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        kinds = {name: str for name in texts if name in dialect.names}
        options = {"header": 0, "names": dialect.names, "index_col": False, "dtype": kinds, "low_memory": False, **more}
        return _read_csv(path, dialect.separator, encoding, **options), dialect


def _encoding(path: Path) -> str:
    """``utf-8``, or UTF-16 where the first bytes say so. Raises RequestError for what is no text."""
    head = _first_bytes(path)
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    for magic, what in _NO_TEXT.items():
        if head.startswith(magic):
            raise RequestError(f"{path} is {what}, not text; rename it so that its ending says so")
    zeros = [head[k::2].count(0) / max(len(head[k::2]), 1) for k in (0, 1)]
    if max(zeros) > 0.4 and min(zeros) < 0.1:  # UTF-16 without a mark: every other byte of plain letters is 0
        return "utf-16-be" if zeros[0] > zeros[1] else "utf-16-le"
    return "utf-8"


def _first_bytes(path: Path) -> bytes:
    with gzip.open(path) if path.name.lower().endswith(".gz") else path.open("rb") as file:
        return bytes(file.read(_HEAD))


def _is_binary(path: Path) -> bool:
    """Whether there are control characters that no text has."""
    return any(byte < 32 and byte not in b"\t\n\v\f\r\x1a\x1b" for byte in _first_bytes(path))


def _dialect(path: Path, encoding: str) -> _Dialect:
    """The separator that cuts line 1 into the most fields, and the names in it; a field without one gets one.

    ``|`` separates only where nothing else does.
    """
    separators = ["\t"] if ".tsv" in path.name.lower() else [",", ";", "\t"]
    head = _first_bytes(path).decode(encoding, "replace")
    first = _fields(path, encoding, [s for s in separators if s in head] or separators)
    if max(map(len, first.values())) == 1 and separators != ["\t"]:
        first |= _fields(path, encoding, ["|"])
    separator = max(first, key=lambda s: len(first[s]))
    names = [name.strip() or f"Unnamed: {k}" for k, name in enumerate(first[separator])]
    if len(names) == 1:
        known = "a tab" if separators == ["\t"] else "',' (or ';', '|' or a tab)"
        raise RequestError(f"{path} has a single column; fields are separated by {known} and named in line 1")
    each_once(path, names)
    return _Dialect(separator, encoding, names)


def _fields(path: Path, encoding: str, separators: Sequence[str]) -> dict[str, list[str]]:
    """separator -> fields of line 1."""
    options = {"header": None, "nrows": 1, "dtype": str, "keep_default_na": False}
    return {s: [str(f) for f in _read_csv(path, s, encoding, **options).iloc[0]] for s in separators}


def _read_csv(path: Path, separator: str, encoding: str, **more: Any) -> DataFrame:
    import pandas as pd
    from packaging.version import Version

    if Version(pd.__version__) < Version("3.1"):  # whose default reads numbers to the last bit
        more["float_precision"] = "round_trip"
    more |= {"sep": separator, "encoding": encoding, "skipinitialspace": True, "na_values": ["?"]}
    with opened(path) as content:
        return pd.read_csv(content, **more)


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
    except pd.errors.ParserError as error:
        reason = str(error).strip().removeprefix("Error tokenizing data. C error: ")
        raise RequestError(f"{path} is not a table: {reason}") from error
    except (EOFError, zlib.error) as error:
        raise RequestError(f"{path} is damaged ({error}); get it again") from error
