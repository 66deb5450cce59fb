"""Methods whose formula speaks of U read the share of positives in U, never π itself."""

from __future__ import annotations

import numpy as np
import pytest

from pubench.method import PUData
from pubench_core.conformance import Subject
from pubench_core.plugins.info import MethodInfo
from pubench_core.plugins.registry import registry

METHODS = [info.key for info in registry().infos(MethodInfo) if "prior" in info.needs]

pytestmark = pytest.mark.usefixtures("one_thread")


def test_there_are_such_methods() -> None:
    assert METHODS


@pytest.mark.parametrize("method", METHODS)
def test_a_method_follows_the_share_in_u_and_does_not_read_the_prior_of_the_pool(
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
