"""The page on label ratio and mechanisms shows what the committed rows say."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest


def test_the_page_shows_the_numbers_of_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "benchmarks"))
    script = importlib.import_module("label_ratio")
    assert script.PAGE.read_text(encoding="utf-8") == script.page(), "run python benchmarks/label_ratio.py"
