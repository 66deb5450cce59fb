"""The published tables that come with pubench: whose figures they are, and why ours are others."""

from __future__ import annotations

import csv
import statistics
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from pubench.published import Reason, names, source, standing_of, verdict_of
from pubench_core.errors import RequestError
from pubench_core.plugins.info import DatasetInfo, MethodInfo
from pubench_core.plugins.registry import registry

ROOT = Path(__file__).parents[2]


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
    rows = defaultdict(list)
    with (ROOT / "benchmarks" / "results" / "released.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            if row["standardized"] == "False":
                rows[row["method"], row["data"]].append(100 * float(row["f1"]))
    told = [reason for reason in source("pubench2026").reasons if reason.released]
    assert len(told) >= 6
    for reason in told:
        values = rows[reason.released, reason.data[0]]
        assert reason.reason.endswith(f"{statistics.mean(values):.2f} ± {statistics.stdev(values):.2f}"), reason
        if "as well" in reason.reason:
            (cell,) = (c for c in source("pubench2026").cells if (c.method, c.data) == (*reason.methods, *reason.data))
            assert verdict_of(statistics.mean(values), cell.mean, cell.std) == reason.side, reason


def test_what_scores_give_with_as_many_positive_is_the_mean_of_its_rows() -> None:
    rows = defaultdict(list)
    with (ROOT / "benchmarks" / "results" / "as-many-positive.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            if (row["criterion"], row["preset"]) == ("f1", "pubench"):
                rows[row["method"], row["data"]].append(float(row["f1_as_many"]))
    told = [reason for reason in source("pubench2026").reasons if "with as many positive" in reason.reason]
    assert len(told) == 5
    for reason in told:
        values = rows[reason.methods[0], reason.data[0]]
        assert f"{statistics.mean(values):.2f} ± {statistics.stdev(values):.2f}" in reason.reason, reason


def test_a_reason_holds_for_its_methods_data_and_side_only() -> None:
    pubench = source("pubench2026")
    above = pubench.reason_of("lbe-pu", "spambase", "above")
    assert above is not None
    assert above.known == "run"
    assert pubench.reason_of("lbe-pu", "spambase", "below") is None
    assert pubench.reason_of("lbe-pu", "spambase", "matched") is None
    assert pubench.reason_of("holistic-pu", "mnist", "above") is None
    assert pubench.reason_of("mpe-pu", "adni", "below") is pubench.reason_of("mpe-pu", "mnist", "above") is not None


def test_what_can_be_said_of_a_cell() -> None:
    run, read = (Reason((), (), "", "why", "where", known) for known in ("run", "read"))
    assert verdict_of(94.85, 94.67, 0.09) == "matched"  # exactly two
    assert verdict_of(94.86, 94.67, 0.09) == "above"
    assert verdict_of(94.67, 94.86, 0.09) == "below"
    assert standing_of("matched", None) == "matched"
    assert standing_of("above", None) == "unexplained"
    assert standing_of("above", run) == "explained"
    assert standing_of("below", read) == "known difference"
    assert standing_of(None, None) == "unknown"


def test_an_unknown_publication_is_refused_with_those_that_are_here() -> None:
    with pytest.raises(RequestError, match=r"unknown publication 'pubench2025'; did you mean 'pubench2026'\?"):
        source("pubench2025")
