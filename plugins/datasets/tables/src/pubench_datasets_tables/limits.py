"""How much a packed table may take unpacked: a few kilobytes can unpack to any number."""

from __future__ import annotations

from pathlib import Path

from pubench_core.errors import RequestError

#: The most bytes of a ``.csv.gz``, npz or parquet file. Twenty million rows of twenty numbers have fewer.
TABLE_BYTES = 2**32
#: The same of the parts of an Excel file: a sheet of a million rows of twenty numbers.
EXCEL_BYTES = 2**30


def too_large(path: Path, limit: int, way_out: str = "leave out rows or columns") -> RequestError:
    """The error for a file that would take more than ``limit`` bytes."""
    return RequestError(f"{path} takes more than {limit:,} bytes unpacked, which is the most that is read; {way_out}")
