"""The page of PU-Bench's Table 1 next to ours has every cell that was run with its verdict, and the missing ones."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from types import ModuleType

import pytest
from pubench_report.published import source
from repository import ROOT, script


@pytest.fixture(scope="module")
def page() -> ModuleType:
    return script("docs/published_page.py")


def write(folder: Path, rows: list[dict[str, object]]) -> None:
    """Rows as ``benchmarks/study_rows.py`` writes them, in PU-Bench's main protocol except for what is given."""
    with (ROOT / "benchmarks" / "results" / "study-conventional-13.csv").open(newline="") as file:
        known = next(row for row in csv.DictReader(file) if row["criterion"] == "f1" and row["selected"] == "True")
    given = [{**known, "run_id": str(k), **row} for k, row in enumerate(rows)]
    with (folder / "study-made.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(known))
        writer.writeheader()
        writer.writerows(given)


def test_every_cell_that_ran_has_its_verdict_and_the_others_are_missing(page: ModuleType, tmp_path: Path) -> None:
    spambase = {"data": "spambase", "accuracy": 50.0}
    write(
        tmp_path,
        [
            {**spambase, "method": "lbe-pu", "seed": 2, "f1": 90.0},
            {**spambase, "method": "lbe-pu", "seed": 25, "f1": 92.0, "recall": 100.0, "precision": 50.0},
            {**spambase, "method": "puet", "seed": 2, "f1": 85.43},
            {**spambase, "method": "puet", "seed": 25, "f1": 86.43},
            {**spambase, "method": "dist-pu", "seed": 2, "f1": 99.0},
            {**spambase, "method": "dist-pu", "seed": 25, "f1": 98.0},
            {**spambase, "method": "vae-pu", "seed": 2, "f1": 90.0},
            {**spambase, "method": "vae-pu", "seed": 25, "f1": 91.0},
            {**spambase, "method": "nnpu", "seed": 2, "f1": 81.66},
            {**spambase, "method": "upu", "seed": 2, "f1": 90.0},
            {**spambase, "method": "vpu", "seed": 2, "f1": 90.0, "c": 0.3},
        ],
    )
    made = page.table_1(tmp_path)
    first = made.splitlines()[0]
    assert first.startswith(
        "Of the 152 cells of Table 1, 5 were run: 1 matched, 1 explained, 1 known difference, 1 unexplained, "
        "1 not judged. 147 are missing"
    )
    assert "| Spambase | 5 | 4 | 1 | 0 | 3 |" in made
    section = made.partition("### Spambase\n")[2].partition("\n### ")[0]
    lines = {line.split("`")[1]: line for line in section.splitlines() if line.startswith("| `")}
    assert set(lines) == {"lbe-pu", "puet", "dist-pu", "vae-pu", "nnpu"}
    assert "| 2 | 91.00 ± 1.41 !1 | 68.53 ± 3.71 | +22.47 ± 1.54 | above, explained |" in lines["lbe-pu"]
    assert "| 2 | 85.93 ± 0.71 | 84.43 ± 4.23 | +1.50 ± 1.43 | matched |" in lines["puet"]
    assert "| 1 | 81.66 | 81.66 ± 2.73 | +0.00 | not judged |" in lines["nnpu"]
    assert "| above, unexplained |" in lines["dist-pu"]
    reasons = {line.split("`")[1]: line for line in section.splitlines() if line.startswith("- `")}
    assert set(reasons) == {"lbe-pu", "vae-pu"}
    assert "(*run*: benchmarks/results/released.csv)" in reasons["lbe-pu"]
    assert "(*read*: PU-Bench's released code" in reasons["vae-pu"]
    (missing,) = [line for line in section.splitlines() if line.startswith("Missing")]
    assert set(re.findall(r"`([a-z0-9-]+)`", missing)) == {c.method for c in source("pubench2026").cells} - set(lines)
    assert "### MNIST\n\nMissing: no method was run." in made


def test_the_page_has_the_place_for_it_and_the_committed_rows_fill_it(page: ModuleType) -> None:
    text = (ROOT / "docs" / "pages" / "beside-published.md").read_text(encoding="utf-8")
    assert text.count(page.MARKER) == 1
    made = page.table_1()
    assert made.count("\n### ") == 8
    run = len([line for line in made.splitlines() if line.startswith("| `")])
    assert f"Of the 152 cells of Table 1, {run} were run: " in made
    assert f" {152 - run} are missing" in made
