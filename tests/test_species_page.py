"""The page of species: its tables are those that the rows give, and the rows are of committed code."""

from __future__ import annotations

import csv
from types import ModuleType

import pytest
from repository import script


@pytest.fixture(scope="module")
def species() -> ModuleType:
    return script("benchmarks/species.py")


def test_the_tables_are_those_of_the_rows(species: ModuleType) -> None:
    page = species.PAGE.read_text(encoding="utf-8")
    assert species.filled(page, species.tables()) == page, "python benchmarks/species.py page"
    assert page.count("<!-- table ") == len(species.tables())


def test_every_row_names_a_commit_and_is_of_one_run(species: ModuleType) -> None:
    with species.FILE.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert all(len(row["commit"]) == 12 for row in rows)
    assert len({row["run_id"] for row in rows}) == len(rows)
    assert not any("x" in row or "siteid" in row for row in rows)  # no data of the sites


def test_a_guide_that_orders_as_the_survey_does_has_tau_1(species: ModuleType) -> None:
    import pandas as pd

    frame = pd.DataFrame(
        {
            "species": ["s"] * 3,
            "seed": [2] * 3,
            "method": ["a", "b", "c"],
            "auc": [0.6, 0.7, 0.8],
            "pauc": [0.1, 0.2, 0.3],
            "spies": [0.3, 0.2, 0.1],
        }
    )
    pauc, spies = species.predicted(frame, ["a", "b", "c"]).splitlines()[2:]
    assert "+1.00 | 0.800 | 0.700" in pauc
    assert "-1.00 | 0.600 | 0.700" in spies
