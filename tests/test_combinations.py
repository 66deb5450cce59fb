"""Every method runs under every mechanism and scheme, and what it reports is what its split holds."""

from __future__ import annotations

import numpy as np
import pytest
from pubench_testkit.conformance import Subject

from pubench_core.plugins.info import MechanismInfo, MethodInfo
from pubench_core.plugins.registry import load, registry

METHODS = [info.key for info in registry().infos(MethodInfo)]
MECHANISMS = [info.key for info in registry().infos(MechanismInfo)]

pytestmark = pytest.mark.usefixtures("one_thread")


#: Every method under every mechanism. The scheme alternates, so that each method and each mechanism meets both; that a
#: method runs under every scheme is one of the checks that it conforms to (``schemes``).
CASES = [
    (method, mechanism, ("case-control", "single-training-set")[(m + k) % 2])
    for m, method in enumerate(METHODS)
    for k, mechanism in enumerate(MECHANISMS)
]


@pytest.mark.parametrize(("method", "mechanism", "scheme"), CASES)
def test_a_method_runs_under_a_mechanism_and_a_scheme(method: str, mechanism: str, scheme: str) -> None:
    subject = Subject.of(method)
    draws = load(registry().find(MechanismInfo, mechanism))
    more = () if draws.counted else ("mechanism.c=0.9",)  # so few are labeled by chance that classics would refuse
    plan = subject.plan(f"mechanism.key={mechanism}", *more, scheme=scheme)
    problem = subject.problem(plan)
    facts = problem.facts().train
    assert facts.unlabeled_positive is not None
    assert facts.unlabeled_negative is not None
    assert facts.labeled is not None
    in_u = facts.unlabeled_positive + facts.unlabeled_negative
    assert in_u == facts.unlabeled == (facts.rows if scheme == "case-control" else facts.rows - facts.labeled)
    assert facts.rows == (facts.positive or 0) + (facts.negative or 0)
    assert problem.truth_train is not None
    assert problem.truth_test is not None
    assert plan.mechanism is not None
    labeled_truth = problem.truth_train[problem.split.train.labeled]
    assert labeled_truth.sum() == round(len(labeled_truth) * plan.mechanism.mechanism.purity)
    trained = subject.train(plan, problem)
    for by_part in trained.scores.values():
        assert by_part["test"].shape == problem.truth_test.shape
        assert np.isfinite(by_part["test"]).all()
