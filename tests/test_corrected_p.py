"""Bounds of corrected p-values from two means and deviations."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
from repository import ROOT, script
from scipy import stats


@pytest.fixture
def module() -> ModuleType:
    return script("benchmarks/corrected_p.py")


def test_the_page_has_the_number_of_impossible_values_in_table_d6(module: ModuleType) -> None:
    found = list(module.bounded())
    impossible = [one for one in found if not one.possible]
    low = [one for one in impossible if one.printed < one.lowest]
    divided = [one for one in module.bounded(divided_by_n=True) if not one.possible]
    text = (ROOT / "docs" / "pages" / "published.md").read_text(encoding="utf-8")
    assert f"{len(impossible)} of {len(found)} corrected p-values cannot come from its means and deviations" in text
    assert f"{len(low)} are too low, {len(impossible) - len(low)} too high. It is {len(divided)} if" in text


def test_equal_means_have_no_small_p_value(module: ModuleType) -> None:
    """nnPU and CGenPU on Spambase: 81.66 both; .084 is printed."""
    (one,) = (one for one in module.bounded() if (one.method, one.data) == ("cgenpu", "spambase"))
    assert one.lowest > 0.9
    assert not one.possible


def test_p_values_of_paired_runs_lie_within_the_bounds(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    for correlation in (-0.99, 0.0, 0.99):
        covariance = [[4.0, 4.0 * correlation], [4.0 * correlation, 4.0]]
        ours, theirs = rng.multivariate_normal([81.0, 80.0], covariance, size=module.SEEDS).T
        figures = [
            type("Cell", (), {"mean": round(float(x.mean()), 2), "printed": round(float(x.std(ddof=1)), 2)})
            for x in (ours, theirs)
        ]
        lowest, highest = module._raw(*figures, 1.0)
        assert lowest <= stats.ttest_rel(ours, theirs).pvalue <= highest
