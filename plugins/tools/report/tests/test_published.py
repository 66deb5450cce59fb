"""The published tables that come with pubench: whose figures they are, and why ours are others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pubench_report.published import NOT_RELEASED, Figure, names, source, standard_error, standing_of, verdict_of

from pubench_core.plugins.info import DatasetInfo, MethodInfo
from pubench_core.plugins.registry import registry

ROOT = Path(__file__).parents[4]


def test_the_table_of_pubench_has_nineteen_methods_on_eight_data_sets() -> None:
    cells = {(cell.method, cell.data): (cell.mean, cell.std) for cell in source("pubench2026").cells}
    assert len(cells) == 19 * 8
    assert {cell.measure for cell in source("pubench2026").cells} == {"f1"}
    assert cells["nnpu", "spambase"] == (81.66, 2.73)
    assert cells["pan", "spambase"] == (38.71, 8.40)
    assert {key for key, _ in cells} <= {info.key for info in registry().infos(MethodInfo)}


def test_the_tables_of_wang_and_others_have_every_algorithm_criterion_and_measure() -> None:
    """4 data sets in 2 cases, 23 algorithms, 3 criteria, 5 measures; two figures of Table 1 as printed."""
    cells = source("wang2026").cells
    assert len(cells) == 4 * 2 * 23 * 3 * 5 == len(set(cells))
    found = {(c.printed_name, c.data, c.binarization, c.criterion, c.measure): (c.mean, c.printed) for c in cells}
    assert found["PUbN", "cifar10", "case1", "pa", "accuracy"] == (86.46, 0.46)
    assert found["PUbN", "cifar10", "case1", "oa", "accuracy"] == (87.33, 0.28)
    assert {c.calibrate for c in cells if c.printed_name.endswith("-c")} == {"on"}
    assert {c.calibrate for c in cells if not c.printed_name.endswith("-c")} == {"off"}


def test_a_standard_error_over_three_splits_is_made_a_sample_deviation() -> None:
    values = np.array([86.0, 87.5, 85.1])
    printed = values.std() / np.sqrt(3)  # as their code computes it
    assert printed * source("wang2026").deviation == pytest.approx(values.std(ddof=1), rel=1e-4)
    cell = source("wang2026").cells[0]
    assert cell.std == pytest.approx(2.1213 * cell.printed)


@pytest.mark.parametrize("name", names())
def test_every_figure_is_under_keys_that_are_installed(name: str) -> None:
    methods = {info.key for info in registry().infos(MethodInfo)}
    data = {info.key: info for info in registry().infos(DatasetInfo)}
    for cell in source(name).cells:
        assert cell.method in methods
        assert cell.binarization in ("", *data[cell.data].binarizations)


@pytest.mark.parametrize("name", names())
def test_every_reason_is_about_a_figure_and_names_evidence_that_is_there(name: str) -> None:
    cells = {(cell.method, cell.data) for cell in source(name).cells}
    for reason in source(name).reasons:
        assert any(reason.fits(*cell, "above") or reason.fits(*cell, "below") for cell in cells), reason
        assert reason.known in ("run", "read")
        assert reason.side in ("", "above", "below")
        for word in reason.evidence.replace(",", " ").replace(";", " ").split():
            assert not word.startswith("benchmarks/") or (ROOT / word).exists(), word


def test_a_figure_of_a_released_recipe_is_the_mean_of_its_rows() -> None:
    rows = pd.read_csv(ROOT / "benchmarks" / "results" / "released.csv").query("not standardized")
    measured = rows.groupby(["method", "data"])["f1"]
    told = [reason for reason in source("pubench2026").reasons if reason.released]
    assert len(told) >= 6
    for reason in told:
        values = 100 * measured.get_group((reason.released, reason.data[0]))
        assert reason.reason.endswith(f"{values.mean():.2f} ± {values.std():.2f}"), reason
        assert [*reason.gives] == [round(values.mean(), 2), round(values.std(), 2), len(values)]
        if "as well" in reason.reason:
            (cell,) = (c for c in source("pubench2026").cells if (c.method, c.data) == (*reason.methods, *reason.data))
            released = Figure(values.mean(), values.std(), len(values))
            assert verdict_of(released, cell.figure) == reason.side, reason


def test_what_scores_give_with_as_many_positive_is_the_mean_of_its_rows() -> None:
    rows = pd.read_csv(ROOT / "benchmarks" / "results" / "as-many-positive.csv")
    rows = rows[(rows["criterion"] == "f1") & (rows["preset"] == "pubench")]
    measured = rows.groupby(["method", "data"])["f1_as_many"]
    told = [reason for reason in source("pubench2026").reasons if "with as many positive" in reason.reason]
    assert len(told) == 4
    for reason in told:
        values = measured.get_group((reason.methods[0], reason.data[0]))
        assert f"{values.mean():.2f} ± {values.std():.2f}" in reason.reason, reason
        assert [*reason.gives] == [round(values.mean(), 2), round(values.std(), 2), len(values)]


def test_a_reason_holds_for_its_methods_data_and_side_only() -> None:
    pubench = source("pubench2026")
    above = pubench.reason_of("lbe-pu", "spambase", "above")
    assert above is not None
    assert above.known == "run"
    assert pubench.reason_of("lbe-pu", "spambase", "below") is None
    assert pubench.reason_of("lbe-pu", "spambase", "matched") is None
    assert pubench.reason_of("holistic-pu", "mnist", "above") is None
    assert pubench.reason_of("mpe-pu", "adni", "below") is pubench.reason_of("mpe-pu", "mnist", "above") is not None


def test_matched_is_a_difference_of_less_than_two_of_its_standard_errors() -> None:
    """nnPU on Spambase: ten seeds of each side, 5.12 points apart; two deviations of theirs are 5.46."""
    theirs = source("pubench2026").cells[7].figure
    assert theirs == Figure(81.66, 2.73, 10)
    error = standard_error(Figure(86.78, 1.43, 10), theirs)
    assert error == pytest.approx(np.sqrt(1.43**2 / 10 + 2.73**2 / 10))
    assert verdict_of(Figure(86.78, 1.43, 10), theirs) == "above"
    assert verdict_of(Figure(76.54, 1.43, 10), theirs) == "below"
    assert verdict_of(Figure(83.59, 1.43, 10), theirs) == "matched"  # 1.93 points; two standard errors are 1.95
    assert verdict_of(Figure(83.61, 1.43, 10), theirs) == "above"
    assert verdict_of(Figure(2.0, 1.0, 2), Figure(0.0, 1.0, 2)) == "above"  # exactly two are no match


@pytest.mark.parametrize(
    ("method", "data", "ours", "standing"),
    [
        ("vpu", "20news", (82.91, 0.96, 3), "explained"),
        ("nnpu", "spambase", (86.71, 1.99, 10), NOT_RELEASED),
        ("pan", "spambase", (87.20, 2.04, 10), "known difference"),
        ("pan", "20news", (87.91, 1.08, 3), "unexplained"),
        ("pn", "20news", (92.49, 0.12, 3), "matched"),
    ],
)
def test_a_figure_is_explained_by_a_run_that_gives_it(
    method: str, data: str, ours: tuple[float, float, int], standing: str
) -> None:
    pubench, mine = source("pubench2026"), Figure(*ours)
    (cell,) = (one for one in pubench.cells if (one.method, one.data) == (method, data))
    reason = pubench.reason_of(method, data, verdict_of(mine, cell.figure))
    assert standing_of(mine, cell.figure, reason, margin=0.5) == standing


def test_one_run_and_no_spread_at_all_are_not_judged() -> None:
    theirs = source("pubench2026").cells[7].figure
    assert standard_error(Figure(81.66, None, 1), theirs) is verdict_of(Figure(81.66, None, 1), theirs) is None
    assert verdict_of(Figure(65.83, 0.0, 3), Figure(65.83, 0.0, 3)) is None
    assert verdict_of(Figure(79.39, 0.0, 3), theirs) == "below"  # ours does not vary, theirs does


def test_fewer_draws_than_theirs_are_a_known_difference_of_a_figure_below() -> None:
    wang = source("wang2026")
    reason = wang.reason_of("nnpu", "letter", "below", draws=1)
    assert reason is not None
    assert reason.known == "read"
    assert wang.reason_of("nnpu", "letter", "below", draws=10) is None
    assert wang.reason_of("nnpu", "letter", "above", draws=1) is None
    assert source("pubench2026").reason_of("vpu", "spambase", "below", draws=1) is None
