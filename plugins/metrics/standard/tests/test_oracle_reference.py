"""Oracle measures against numbers of an independent implementation."""

from __future__ import annotations

import numpy as np
import pytest
from pubench_metrics import pubench_metrics
from pubench_metrics.oracle import counts
from pubench_testkit.testing import Case, Vectors

from pubench_core.errors import Undefined
from pubench_core.metric import Knowledge, MetricView, Scored, measure
from pubench_core.plugins.info import MetricInfo
from pubench_core.plugins.registry import load, registry

INFOS = [info for info in pubench_metrics() if info.family == "oracle"]
VECTORS = Vectors("measures", group="oracle", tolerance=1e-12, case=".+(?=_[^_]+$)")
#: Column of the vectors -> our metric, for every column that some installed plugin measures.
COLUMNS = {
    str(column): info
    for column in VECTORS.columns
    for info in registry().infos(MetricInfo)
    if info.key == str(column).replace("_", "-")
}


def scored_of(case: Case) -> Scored:
    """The vectors decide positive where p >= threshold; the engine, which has no part here, score > 0."""
    p = case["p"].astype(np.float64)
    return Scored(p, p >= case.number("thr"), Knowledge(truth=case["y"].astype(np.int8)))


def value(info: MetricInfo, scored: Scored) -> float:
    """NaN if it is undefined, as the vectors have it."""
    try:
        return measure(load(info), info, scored).value
    except Undefined:
        return np.nan


def test_every_oracle_measure_has_its_column() -> None:
    without = {"auc-prg", "correlation"}  # test_gain_and_correlation.py
    assert {info.key for info in COLUMNS.values()} >= {info.key for info in INFOS} - without


@VECTORS.cases(having="y", column=tuple(COLUMNS))
def test_a_measure_is_that_of_the_vectors_or_undefined_like_theirs(case: Case, column: str) -> None:
    assert value(COLUMNS[column], scored_of(case)) == pytest.approx(
        case.column(column), rel=0, abs=case.tolerance, nan_ok=True
    )


@VECTORS.cases(having="y")
def test_the_four_counts_are_exact(case: Case) -> None:
    found = counts(MetricView(scored_of(case), COLUMNS["accuracy"]))
    assert found._asdict() == {cell: case.column(cell) for cell in ("tp", "fp", "fn", "tn")}


def test_an_empty_part_has_no_measure_at_all() -> None:
    nothing = Scored.of(np.empty(0), truth=np.empty(0, dtype=np.int8))
    assert np.isnan([value(info, nothing) for info in INFOS]).all()
