"""Files of tables, as text, as bytes, or as sheets of Excel."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


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

    def write(rows: list[list[Any]], **sheets: list[list[Any]]) -> Path:
        import openpyxl

        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(row)
        for name, more in sheets.items():
            sheet = book.create_sheet(name)
            for row in more:
                sheet.append(row)
        book.save(tmp_path / "my.xlsx")
        return tmp_path / "my.xlsx"

    return write
