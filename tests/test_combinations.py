"""Every method runs under every mechanism and scheme, and what it reports is what its split holds."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from pubench_core.engine.train import train
from pubench_core.execute import prepare
from pubench_core.info import MechanismInfo, MethodInfo
from pubench_core.registry import registry
from pubench_core.resolve import Layer, resolve
from pubench_core.specs import RunSpec

METHODS = {info.key: info for info in registry().infos(MethodInfo)}
MECHANISMS = [info.key for info in registry().infos(MechanismInfo)]

pytestmark = pytest.mark.usefixtures("one_thread")


def spec_of(method: str, *sets: str) -> RunSpec:
    preset = "quick" if "quick" in METHODS[method].presets else "null"
    layer = Layer.of(
        "data.key=digits", f"method.key={method}", f"method.preset={preset}", "mechanism.c=0.3", "epochs=1", *sets
    )
    return resolve([layer], registry())


@pytest.mark.parametrize("scheme", ["case-control", "single-training-set"])
@pytest.mark.parametrize("method", [m.key for m in registry().infos(MethodInfo) if "truth" not in m.needs])
def test_no_method_sees_hidden_labels(method: str, scheme: str) -> None:
    spec = spec_of(method, f"data.scheme={scheme}", "selection.criteria=[pa, pauc, last]")
    problem, rng = prepare(spec, registry(), torch.device("cpu")), np.random.default_rng(0)
    hidden = {}
    for name, part in (("truth_train", problem.split.train), ("truth_validation", problem.split.validation)):
        hidden[name] = getattr(problem, name).copy()
        hidden[name][~part.labeled] = rng.permutation(hidden[name][~part.labeled])
        assert not np.array_equal(hidden[name], getattr(problem, name))
    before, after = (train(spec, p, registry()).scores for p in (problem, dataclasses.replace(problem, **hidden)))
    assert before.keys() == {"pa", "pauc", "last"}
    for criterion in before:
        assert np.array_equal(before[criterion]["test"], after[criterion]["test"])


@pytest.mark.parametrize("scheme", ["case-control", "single-training-set"])
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("method", METHODS)
def test_a_method_runs_under_a_mechanism_and_a_scheme(method: str, mechanism: str, scheme: str) -> None:
    spec = spec_of(method, f"mechanism.key={mechanism}", f"data.scheme={scheme}")
    problem = prepare(spec, registry(), torch.device("cpu"))
    facts = problem.facts()
    in_u = facts["train"]["unlabeled_positive"] + facts["train"]["unlabeled_negative"]
    pool = facts["train"]["positive"] + facts["train"]["negative"]
    assert in_u == (pool if scheme == "case-control" else pool - facts["train"]["labeled"])
    assert problem.truth_train[problem.split.train.labeled].all()
    trained = train(spec, problem, registry())
    for by_part in trained.scores.values():
        assert by_part["test"].shape == problem.truth_test.shape
        assert np.isfinite(by_part["test"]).all()
