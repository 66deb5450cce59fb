"""The README's first figure and table are what the rows of the studies give today."""

from __future__ import annotations

import importlib.util
import statistics
from csv import DictReader
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from PIL import Image

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "benchmarks" / "readme_report.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("readme_report", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def made(script: ModuleType) -> Any:
    """(model, tests) of the report."""
    return script.report()


def test_the_readme_has_the_table_and_the_figure_that_the_rows_give(script: ModuleType, made: Any) -> None:
    text = script.README.read_text(encoding="utf-8")
    for name, content in script.blocks(*made).items():
        assert script.block_of(text, name) == content, "run python benchmarks/readme_report.py"
    with Image.open(script.FIGURE) as picture:
        assert picture.info[script.STAMP] == script.stamp_of(made[0]), "run python benchmarks/readme_report.py"
    assert f"]({script.FIGURE.relative_to(ROOT)})" in text.partition("\n## ")[0]  # it opens with them


def test_its_numbers_are_those_of_the_rows(script: ModuleType, made: Any) -> None:
    wanted = {"method": "vpu", "data": "spambase", "criterion": "f1", "scheme": "case-control"}
    with (ROOT / "benchmarks" / "results" / "study-conventional-13.csv").open(newline="") as file:
        rows = [row for row in DictReader(file) if wanted.items() <= row.items()]
    values = [float(row["accuracy"]) for row in rows]
    assert len(values) == 10
    cell = f"{statistics.fmean(values):.2f} ± {statistics.stdev(values):.2f}"
    (line,) = (line for line in script.blocks(*made)["table"].splitlines() if line.startswith("| vpu |"))
    assert line.split(" | ")[1] == cell


def test_other_rows_are_another_stamp(script: ModuleType, made: Any) -> None:
    model, _ = made
    before = script.stamp_of(model)
    cells = model.cells(model.measure, "pa")
    place = next(where for where, cell in cells.items() if cell.values)
    kept = cells[place]
    try:
        cells[place] = type(kept)(kept.id, {**kept.values, 2: 0.5}, kept.seeds)
        assert script.stamp_of(model) != before
    finally:
        cells[place] = kept
