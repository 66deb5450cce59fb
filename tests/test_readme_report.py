"""The README's first figure and table are what the rows of the studies give today."""

from __future__ import annotations

import importlib
import re
import statistics
from csv import DictReader
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from PIL import Image

from pubench_core.request.identity import ENGINE_REVISION

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "benchmarks" / "readme_report.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(SCRIPT.parent))
        return importlib.import_module(SCRIPT.stem)


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
    values, revisions = {}, {}
    for path in script.STUDIES:
        with path.open(newline="") as file:
            for row in sorted(DictReader(file), key=lambda row: row["revision"]):
                if wanted.items() <= row.items() and row["revision"] >= revisions.get(row["seed"], ""):
                    values[row["seed"]], revisions[row["seed"]] = float(row["accuracy"]), row["revision"]
    assert len(values) == 10
    numbers = [values[seed] for seed in sorted(values, key=int)]
    cell = f"{statistics.fmean(numbers):.2f} ± {statistics.stdev(numbers):.2f}"
    table = script.blocks(*made)["table"]
    (line,) = (line for line in table.splitlines() if re.match(r"\| vpu( †)? \|", line))
    assert line.split(" | ")[1] == cell
    older = any(revision != str(ENGINE_REVISION) for revision in revisions.values())
    assert line.startswith("| vpu † |" if older else "| vpu |")
    assert (" †: some or all of its runs are of an older engine revision" in " ".join(table.split())) >= older


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
