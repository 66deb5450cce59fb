"""PA, PAUC and OA against numbers of an independent implementation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pubench_metrics import pubench_metrics
from pubench_testkit.testing import Case, Vectors, reference_arrays

from pubench_core.metric import Knowledge, Scored, measure
from pubench_core.plugins.registry import load
from pubench_core.specs import unlabeled_prior

VECTORS = Vectors("measures", group="proxy", tolerance=1e-12, case=".+(?=_[^_]+$)")
INFOS = {info.key: info for info in pubench_metrics() if info.family == "proxy" and not info.parameter}
#: Column of the vectors -> our metric and a scheme in which it has that form.
COLUMNS: dict[str, tuple[str, Any]] = {
    "PA_TS": ("pa", "case-control"),
    "PA_OS": ("pa", "single-training-set"),
    "PAUC": ("pauc", "case-control"),
    "OA_TS": ("oa", "case-control"),
    "OA_OS": ("oa", "single-training-set"),
}


def scored_of(case: Case, scheme: Any) -> Scored:
    """P' above U'. The vectors decide positive where f >= 0; the engine, which has no part here, score > 0."""
    scores, n = np.concatenate([case["fP"], case["fU"]]), len(case["fP"])
    knowledge = Knowledge(
        truth=np.concatenate([np.ones(n), case["yU"]]).astype(np.int8),
        labeled=np.arange(n),
        unlabeled=np.arange(n, len(scores)),
        prior=case.number("pi"),
        scheme=scheme,
    )
    return Scored(scores, scores >= 0, knowledge)


def test_every_measure_of_the_paper_has_its_column() -> None:
    assert {key for key, _ in COLUMNS.values()} == set(INFOS) - {"pa-published"}


@VECTORS.cases(having="fP", column=tuple(COLUMNS))
def test_a_measure_is_that_of_the_vectors(case: Case, column: str) -> None:
    key, scheme = COLUMNS[column]
    found = measure(load(INFOS[key]), INFOS[key], scored_of(case, scheme)).value
    assert found == pytest.approx(case.column(column), rel=0, abs=case.tolerance)


@VECTORS.cases(
    having="fP", key=tuple(INFOS), schemes=(("two-sample", "case-control"), ("one-sample", "single-training-set"))
)
def test_there_are_two_forms_one_for_each_kind_of_sampling(case: Case, key: str, schemes: tuple[str, str]) -> None:
    one, other = (measure(load(INFOS[key]), INFOS[key], scored_of(case, scheme)) for scheme in schemes)
    assert one == other


def test_the_share_of_positives_left_in_u_is_pi_bar_of_the_vectors() -> None:
    arrays = reference_arrays("measures")
    ours = [unlabeled_prior(pi, c * pi, 1) for pi, c in arrays["ils_pi_c"]]
    np.testing.assert_allclose(ours, arrays["ils_pi_bar"], rtol=0, atol=VECTORS.tolerance)
