"""Every mechanism labels as it says under every scheme."""

from __future__ import annotations

import pytest
from pubench_testkit.conformance import Subject

from pubench_core.engine.plan import Plan
from pubench_core.plugins.info import MechanismInfo
from pubench_core.plugins.registry import load, registry

MECHANISMS = [info.key for info in registry().infos(MechanismInfo)]
SCHEMES = ("case-control", "single-training-set")


def planned(subject: Subject, mechanism: str, scheme: str) -> Plan:
    draws = load(registry().find(MechanismInfo, mechanism))
    more = () if draws.counted else ("mechanism.c=0.9",)  # so few are labeled by chance that classics would refuse
    return subject.plan(f"mechanism.key={mechanism}", *more, scheme=scheme)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_what_is_reported_of_a_split_is_what_it_holds(mechanism: str, scheme: str) -> None:
    subject = Subject.of("upu")
    plan = planned(subject, mechanism, scheme)
    problem = subject.problem(plan)
    facts = problem.facts().train
    assert facts.unlabeled_positive is not None
    assert facts.unlabeled_negative is not None
    assert facts.labeled is not None
    in_u = facts.unlabeled_positive + facts.unlabeled_negative
    assert in_u == facts.unlabeled == (facts.rows if scheme == "case-control" else facts.rows - facts.labeled)
    assert facts.rows == (facts.positive or 0) + (facts.negative or 0)
    assert problem.truth_train is not None
    assert plan.mechanism is not None
    labeled_truth = problem.truth_train[problem.split.train.labeled]
    assert labeled_truth.sum() == round(len(labeled_truth) * plan.mechanism.mechanism.purity)
