"""Pages whose tables a script makes show what the committed rows say."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest


@pytest.mark.parametrize("name", ["label_ratio", "classics_table"])
def test_the_page_shows_the_numbers_of_the_rows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "benchmarks"))
    script = importlib.import_module(name)
    assert script.PAGE.read_text(encoding="utf-8") == script.page(), f"run python benchmarks/{name}.py"
