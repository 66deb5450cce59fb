"""The page "Which method?" shows what the committed rows say, and says where they say nothing."""

from __future__ import annotations

from types import ModuleType

import pytest
from repository import script


@pytest.fixture
def guide() -> ModuleType:
    return script("benchmarks/guide.py")


def test_the_page_shows_the_numbers_of_the_rows(guide: ModuleType) -> None:
    assert guide.PAGE.read_text(encoding="utf-8") == guide.page(), "run python benchmarks/guide.py"


def _cells(**offsets: float) -> dict[tuple[str, str, str, float], dict[str, dict[int, float]]]:
    """Two data sets, three seeds; a method is the seed's noise and its offset."""
    noise = {2: 0.3, 25: -0.2, 42: -0.1}
    return {
        (data, "case-control", "scar", 0.1): {
            method.replace("_", "-"): {seed: level + value + offset for seed, value in noise.items()}
            for method, offset in {"pu_bagging": 0.0, **offsets}.items()
        }
        for data, level in (("spambase", 90.0), ("letter", 80.0))
    }


def test_a_method_that_is_better_on_every_seed_is_recommended(guide: ModuleType) -> None:
    found = guide.answer(_cells(glws=2.0, naive=-1.0))
    assert found.recommended == "glws"
    assert found.differences == pytest.approx({"glws": 2.0, "naive": -1.0})
    assert found.intervals["glws"] == pytest.approx((2.0, 2.0))  # paired by seed: the noise of seeds cancels


def test_a_method_that_is_better_on_one_data_set_only_is_not(guide: ModuleType) -> None:
    cells = _cells(glws=3.0)
    cells["letter", "case-control", "scar", 0.1]["glws"] = dict.fromkeys((2, 25, 42), 78.0)
    found = guide.answer(cells)
    assert found.recommended == "pu-bagging"
    low, high = found.intervals["glws"]
    assert low < 0 < high
    assert guide.cells_in(found)[0] == "`pu-bagging`, open"


def test_a_method_counts_only_if_every_data_set_of_the_line_has_it(guide: ModuleType) -> None:
    cells = _cells(glws=2.0, naive=1.0)
    del cells["letter", "case-control", "scar", 0.1]["glws"]
    assert guide.answer(cells).recommended == "naive"


@pytest.mark.parametrize(
    "cells", [{}, {("mnist", "case-control", "scar", 0.1): {"vpu": {2: 90.0, 25: 90.0, 42: 91.0}}}]
)
def test_without_rows_next_to_the_reference_the_answer_is_unknown(guide: ModuleType, cells: dict[str, object]) -> None:
    assert guide.cells_in(guide.answer(cells)) == ("unknown", "")
