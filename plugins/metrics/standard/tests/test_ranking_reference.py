"""The hypergeometric law, PULP, and criteria at operating points, against numbers of an independent implementation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from pubench_metrics.hypergeometric import Hypergeometric, log_tails
from pubench_metrics.operating import averages, f1, lee_liu, pseudo_f, recall
from pubench_metrics.pulp import Ranking, Ties, pulp
from pubench_testkit.testing import Case, Vectors, reference_arrays

ARRAYS = reference_arrays("measures")
VECTORS = Vectors("measures", group="pulp", tolerance=1e-12, case=".+(?=_[^_]+$)")


@pytest.mark.parametrize("row", range(len(ARRAYS["hyp_N_t_b_k"])))
def test_the_law_and_both_its_tails_are_exact_down_to_e_to_minus_2334(row: int) -> None:
    n, t, b, k = ARRAYS["hyp_N_t_b_k"][row].tolist()
    below, above = log_tails(n, t, b, k)
    pmf = float(Hypergeometric.of(n, t).log_pmf(np.array([b]), np.array([k]))[0])
    expected = [float(ARRAYS[f"hyp_{name}"][row]) for name in ("logcdf", "logsf", "logpmf")]
    assert [below, above, pmf] == pytest.approx(expected, rel=1e-9, abs=1e-300)
    assert math.exp(below) == pytest.approx(float(ARRAYS["hyp_cdf"][row]), rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("row", range(len(ARRAYS["op_N_t_b_k"])))
def test_criteria_at_an_operating_point(row: int) -> None:
    n, t, b, k = ARRAYS["op_N_t_b_k"][row].tolist()
    counts = np.array([b]), np.array([k])
    ours = {
        "recall": recall(t, counts[1])[0],
        "pr_f1": b / n,
        "L_and_L": lee_liu(n, t, *counts)[0],
        "pseudo_f(prior=t/N)": pseudo_f(n, t, *counts)[0],
        "f1_PU": f1(t, *counts)[0],
        "pulp_term": math.exp(log_tails(n, t, b, k - 1)[0]),
    }
    assert list(ours) == ARRAYS["op_fields"].tolist()
    np.testing.assert_allclose(list(ours.values()), ARRAYS["op_out"][row], rtol=1e-12, atol=1e-10)


@VECTORS.cases(having="score", tolerance=1e-10, ties=("expected", "stable", "optimistic", "pessimistic"))
def test_pulp_under_each_reading_of_ties(case: Case, ties: Ties) -> None:
    found = pulp(case["score"], case["s"] == 1, ties)
    case.expect_columns(**{f"PULP_{ties}": found.value})
    assert found.defined == (0 < case["s"].sum() < len(case["s"]))
    assert found.value == pytest.approx(found.terms.mean(), rel=0, abs=1e-15)


@VECTORS.cases(having="terms")
def test_every_summand_of_pulp(case: Case) -> None:
    case.expect(terms=pulp(case["score"], case["s"] == 1, "stable").terms)


@VECTORS.cases(having="score")
def test_averages_over_all_operating_points_in_the_order_given(case: Case) -> None:
    found = averages(Ranking.of(case["score"], case["s"] == 1).hits)
    case.expect_columns(
        LL_avg=found.lee_liu,
        PseudoF_avg=found.pseudo_f,
        F1_avg=found.f1,
        PEAR_avg=found.phi,
        MI_avg_nats=found.mutual_information,
        AP=found.average_precision,
    )


def test_every_column_is_read() -> None:
    ties = {"PULP_expected", "PULP_stable", "PULP_optimistic", "PULP_pessimistic"}
    assert {*ties, "LL_avg", "PseudoF_avg", "F1_avg", "PEAR_avg", "MI_avg_nats", "AP"} == set(VECTORS.columns)
