"""The hypergeometric law, PULP, and criteria at operating points, against numbers of an independent implementation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from pubench_metrics_evaluation.hypergeometric import Hypergeometric, log_tails
from pubench_metrics_evaluation.operating import averages, f1, lee_liu, pseudo_f, recall
from pubench_metrics_evaluation.pulp import Ranking, Ties, pulp, terms_of
from pubench_testkit.testing import reference_arrays, reference_cases

pytestmark = pytest.mark.reference

ARRAYS = reference_arrays("measures")
CASES = [(name, case) for name, case in reference_cases("measures", "pulp") if "score" in case]
FIELDS = ARRAYS["pulp_fields"].tolist()


def names(value: Any) -> str:
    return value if isinstance(value, str) else ""


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


@pytest.mark.parametrize(
    ("column", "ties"),
    [
        ("PULP_expected", "expected"),
        ("PULP_stable", "stable"),
        ("PULP_optimistic", "optimistic"),
        ("PULP_pessimistic", "pessimistic"),
    ],
)
@pytest.mark.parametrize(("name", "case"), CASES, ids=names)
def test_pulp_under_each_reading_of_ties(name: str, case: dict[str, Any], column: str, ties: Ties) -> None:
    found = pulp(case["score"], case["s"] == 1, ties)
    assert found.value == pytest.approx(float(case["out"][FIELDS.index(column)]), rel=0, abs=1e-10)
    assert found.defined == (0 < case["s"].sum() < len(case["s"]))
    assert found.value == pytest.approx(found.terms.mean(), rel=0, abs=1e-15)


@pytest.mark.parametrize(("name", "case"), [c for c in CASES if "terms" in c[1]], ids=names)
def test_every_summand_of_pulp(name: str, case: dict[str, Any]) -> None:
    found = pulp(case["score"], case["s"] == 1, "stable").terms
    np.testing.assert_allclose(found, case["terms"], rtol=0, atol=1e-12)


@pytest.mark.parametrize(("name", "case"), CASES, ids=names)
def test_averages_over_all_operating_points_in_the_order_given(name: str, case: dict[str, Any]) -> None:
    found = averages(Ranking.of(case["score"], case["s"] == 1).hits)
    ours = [found.lee_liu, found.pseudo_f, found.f1, found.phi, found.mutual_information, found.average_precision]
    expected = [
        case["out"][FIELDS.index(c)] for c in ("LL_avg", "PseudoF_avg", "F1_avg", "PEAR_avg", "MI_avg_nats", "AP")
    ]
    np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-12)


def test_every_column_of_the_vectors_is_tested() -> None:
    tested = {"PULP_expected", "PULP_stable", "PULP_optimistic", "PULP_pessimistic"}
    tested |= {"LL_avg", "PseudoF_avg", "F1_avg", "PEAR_avg", "MI_avg_nats", "AP"}
    assert tested == set(FIELDS)


def test_the_running_sum_is_the_law_summed_for_each_operating_point() -> None:
    """N = 300, so that both are quick: the sum over steps against the sum over the support."""
    rng = np.random.default_rng(3)
    hits = rng.random(300) < 0.2
    law, k = Hypergeometric.of(300, int(hits.sum())), np.append(0, np.cumsum(hits))
    direct = [law.pmf(np.full(k[b], b), np.arange(k[b])).sum() for b in range(301)]
    np.testing.assert_allclose(terms_of(law, hits), direct, rtol=0, atol=1e-12)
