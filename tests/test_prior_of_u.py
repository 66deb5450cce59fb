"""Methods whose formula speaks of U read the share of positives in U, never π itself; which rows U is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from pubench_testkit.conformance import Subject

from pubench.method import PUData
from pubench_core.engine.build import build_problem
from pubench_core.errors import RequestError
from pubench_core.plugins.info import MethodInfo
from pubench_core.plugins.registry import registry

METHODS = [info.key for info in registry().infos(MethodInfo) if "prior" in info.needs]


def test_there_are_such_methods() -> None:
    assert METHODS


@pytest.mark.parametrize("method", METHODS)
def test_a_method_follows_the_share_in_u_not_the_prior_of_the_pool(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject = Subject.of(method)
    plan = subject.plan(scheme="single-training-set")
    problem = subject.problem(plan)

    def never(data: PUData) -> float:
        raise AssertionError("data.prior was read")

    monkeypatch.setattr(PUData, "prior", property(never))
    found = []
    for share in (0.2, 0.7):
        monkeypatch.setattr(PUData, "unlabeled_prior", property(lambda data, share=share: share))
        found.append(subject.scores(plan, problem)["last/test"])
    assert not np.allclose(*found)


@pytest.mark.parametrize("part", ["train", "validation"])
@pytest.mark.parametrize("scheme", ["single-training-set", "one-sample", "case-control", "two-sample"])
def test_metrics_count_a_labeled_row_among_u_in_case_control_alone(scheme: str, part: str) -> None:
    subject = Subject.of("upu")
    problem = subject.problem(subject.plan(scheme=scheme))
    known = getattr(problem.split, part)
    rows, labeled = np.arange(len(known.rows)), np.flatnonzero(known.labeled)
    assert len(labeled)
    expected = rows if scheme == "case-control" else np.setdiff1d(rows, labeled)
    assert np.array_equal(known.unlabeled(problem.scheme), expected)


def test_a_prior_without_positives_in_u_is_refused_unless_calibrated() -> None:
    """36 of 120 rows are labeled."""
    subject = Subject.of("upu")
    plan = subject.plan("prior=0.3", scheme="one-sample")
    assert subject.problem(plan).unlabeled_prior == 0.3
    either = replace(plan, method=replace(plan.method, info=replace(plan.method.info, setting="either")))
    with pytest.raises(RequestError, match=r"36 of 120 rows are labeled positives, so it must be above 0\.3"):
        build_problem(either)


@pytest.mark.parametrize("scheme", ["one-sample", "case-control"])
def test_drawn_problems_standardize_by_the_training_rows(scheme: str) -> None:
    subject = Subject.of("upu")
    problem = subject.problem(subject.plan("data.preprocess=standardize", scheme=scheme))
    assert problem.preprocessing.mean is not None
    assert np.allclose(problem.preprocessing.mean, problem.data.x[problem.split.train.rows].mean(axis=0))
