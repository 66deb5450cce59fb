"""Small files in the formats of UCI and OpenML, and places where no file of the machine's user is seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from pubench_datasets_tabular.layouts import LAYOUTS
from refusals import source

from pubench_core.data.dataset import ClassData, DataRoot


@pytest.fixture(autouse=True)
def _no_files_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "OPENML_CACHE_DIR", "OPENML_SKIP_PARQUET"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def root(tmp_path: Path) -> DataRoot:
    """An empty data root with an empty cache."""
    return DataRoot(tmp_path / "data", "a test", cache=tmp_path / "cache")


@pytest.fixture
def read(root: DataRoot) -> Callable[[str], ClassData]:
    """``read(key)``: what the source makes of the files it finds."""

    def find_and_read(key: str) -> ClassData:
        found = source(key)
        return found.read(found.locate(root), root)

    return find_and_read


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """``rows(key, 3, last=1)``: small files with 3 training rows are valid, and the last row is the test part."""

    def shorten(key: str, count: int, last: int = 0) -> None:
        layout = LAYOUTS[key]
        openml = replace(layout.openml, rows=count) if layout.openml else None
        short = replace(layout, rows=count, digest="", last_rows_are_test=last, openml=openml)
        monkeypatch.setitem(LAYOUTS, key, short)

    return shorten


@pytest.fixture
def put(root: DataRoot) -> Callable[[str, str], Path]:
    """``put("spambase/spambase.data", text)``: a file below the data root."""

    def write(name: str, text: str) -> Path:
        path = root.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    return write
