"""The README's figure and table are those of the committed rows."""

from __future__ import annotations

import statistics
from csv import DictReader
from types import ModuleType
from typing import Any

import pytest
from repository import ROOT, script

from pubench_core.engine.identity import ENGINE_REVISION


@pytest.fixture(scope="module")
def module() -> ModuleType:
    return script("benchmarks/readme_report.py")


@pytest.fixture(scope="module")
def found(module: ModuleType) -> Any:
    return module.rows()


def test_the_readme_shows_the_figure_and_table_that_the_rows_give(module: ModuleType, found: Any) -> None:
    text = module.README.read_text(encoding="utf-8")
    for name, content in module.blocks(found).items():
        assert module.block_of(text, name) == content, "run python benchmarks/readme_report.py"
    for path in module.FIGURES:
        assert module.stamp_in(path) == module.stamp_of(found), "run python benchmarks/readme_report.py"
        assert f'="{path.relative_to(ROOT)}"' in text.partition("\n## ")[0]  # it opens with the figure


@pytest.mark.parametrize(("method", "criterion"), [("nnpu", "pa"), ("nnpu", "f1"), ("pu-bagging", "pa")])
def test_a_cell_is_the_mean_of_the_newest_row_of_every_seed(
    module: ModuleType, found: Any, method: str, criterion: str
) -> None:
    wanted = {"method": method, "data": "spambase", "criterion": criterion, "settings": "validation.fraction=0.01"}
    values, revisions = {}, {}
    for path in module.STUDIES:
        with path.open(newline="") as file:
            for row in sorted(DictReader(file), key=lambda row: row["revision"]):
                if wanted.items() <= row.items() and row["revision"] >= revisions.get(row["seed"], ""):
                    values[row["seed"]], revisions[row["seed"]] = float(row["accuracy"]), row["revision"]
    assert len(values) == module.SEEDS
    cell = f"{statistics.fmean(values.values()):.1f} ± {statistics.stdev(values.values()):.1f}"
    assert module.cell(found, method, criterion) == cell
    older = any(revision != str(ENGINE_REVISION) for revision in revisions.values())
    (line,) = (line for line in module.blocks(found)["table"].splitlines() if line.startswith(f"| {method} "))
    assert line.startswith(f"| {method} † |") == older
    assert cell in line


def test_the_readme_is_read_in_one_sitting(module: ModuleType) -> None:
    text = module.README.read_text(encoding="utf-8")
    assert 60 <= len(text.splitlines()) <= 90
    opening = text.partition("\n## ")[0]
    assert all(finding in " ".join(opening.split()) for finding in module.headings()[: module.NAMED])


def test_neither_an_oracle_nor_the_baseline_is_called_first(module: ModuleType, found: Any) -> None:
    names = {module.label(method) for method in found}
    assert {"pn (oracle)", "naive (baseline)"} <= names
    assert not {"pn", "naive"} & set(module.ranked(found))


def test_every_row_of_the_figure_and_the_findings_is_of_a_clean_commit(found: Any) -> None:
    findings = script("benchmarks/findings.py")
    runs = [found, *findings.conventional().values()]
    rows = [row for of in runs for by in of.values() for seeds in by.values() for row in seeds.values()]
    rows += [
        row for name in ("as-many-positive", "released", "own-priors", "epoch-time") for row in findings.clean(name)
    ]
    assert len(rows) > 1000
    assert not [row for row in rows if not row["commit"] or row["commit"].endswith("-dirty")]


def test_the_page_of_findings_shows_the_numbers_of_the_rows() -> None:
    findings = script("benchmarks/findings.py")
    text = "\n\n".join(findings.parts()) + "\n"
    assert findings.PAGE.read_text(encoding="utf-8") == text, "run python benchmarks/findings.py"


def test_other_rows_are_another_stamp(module: ModuleType, found: Any) -> None:
    row = found["nnpu"]["pa"]["2"]
    other = {**found, "nnpu": {**found["nnpu"], "pa": {**found["nnpu"]["pa"], "2": {**row, "accuracy": "50.0"}}}}
    assert module.stamp_of(other) != module.stamp_of(found)
