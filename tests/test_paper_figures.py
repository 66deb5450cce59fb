"""Figures of Jain et al. (AAAI 2017) and PULP are drawn from committed rows and formulas."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
from repository import script


@pytest.fixture
def module() -> ModuleType:
    return script("benchmarks/paper_figures.py")


def test_every_picture_is_of_the_committed_rows(module: ModuleType) -> None:
    for name, (_, rows) in module.FIGURES.items():
        assert module.stamp_in(module.IMAGES / f"{name}.png") == module.stamp(rows), "run benchmarks/paper_figures.py"


def test_the_recovered_auc_is_right_where_the_difference_of_the_shares_is(module: ModuleType) -> None:
    """On the line β - α of the truth (Jain et al., Figure 4); infeasible between the lines of 0 and 1."""
    error, infeasible = module.recovered(0.25, 0.75, 0.9, steps=41)
    ticks = np.linspace(0, 1, 41)
    gap = ticks[:, None] - ticks[None, :]
    assert error[np.isclose(gap, 0.5)] == pytest.approx(0)
    assert error[-1, 0] == pytest.approx(0.2)  # the AUC of P against U is .70
    assert np.array_equal(infeasible, np.abs(gap) < 0.4 - 1e-9)


@pytest.mark.parametrize("name", ["jain-1", "jain-2", "pulp-2"])
def test_a_figure_shows_all_that_its_source_shows(module: ModuleType, name: str) -> None:
    axes = module.FIGURES[name][0]().axes
    expected = {
        "jain-1": ["unlabeled as negative: AUC 0.800", "true labels: AUC 0.938"],
        "jain-2": [f"{m}: {e}" for m in ("AUC", "AUC-PR") for e in ("estimate - supervised truth", "absolute error")],
        "pulp-2": ["Random", "Scenario 1", "Scenario 2", "", "", ""],
    }
    assert [panel.get_title() for panel in axes] == expected[name]
    if name == "pulp-2":
        assert all(len(panel.lines) == 8 for panel in axes)
