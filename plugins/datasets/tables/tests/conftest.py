"""Files of tables, as text, as bytes, or as sheets of Excel."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from made_tables import Reader


@pytest.fixture
def read(tmp_path: Path) -> Reader:
    return Reader(tmp_path)


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str | bytes, str], Path]:
    """``written(content, name)``: a file of this content."""

    def write(content: str | bytes, name: str = "my.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


@pytest.fixture
def excel(tmp_path: Path) -> Callable[..., Path]:
    pytest.importorskip("openpyxl", reason="Excel files need openpyxl")

    def write(rows: list[list[Any]], cell: str = "", **sheets: list[list[Any]]) -> Path:
        """``cell``: one that holds a 7 besides the rows."""
        import openpyxl

        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(row)
        if cell:
            book.active[cell] = 7
        for name, more in sheets.items():
            sheet = book.create_sheet(name)
            for row in more:
                sheet.append(row)
        book.save(tmp_path / "my.xlsx")
        return tmp_path / "my.xlsx"

    return write
