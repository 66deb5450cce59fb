"""Estimators of the prior run isolated, and say which scorer they had."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pubench_priors_standard.held_out import ReadsScores

from pubench_cli.yaml_layers import assigned
from pubench_core import PriorInfo
from pubench_core.engine.build import build_problem
from pubench_core.engine.plan import EstimatorChoice
from pubench_core.engine.priors import estimate_of
from pubench_core.engine.resolve import resolve
from pubench_core.errors import PluginError, RequestError
from pubench_core.plugins.registry import registry
from pubench_core.prior import PriorEstimate, PriorEstimator, Samples

Array = np.ndarray[Any, Any]


class Gambler(ReadsScores):
    """Says what it drew from every generator that is not its own, and how many rows it was given."""

    def estimate(self, positive: Array, unlabeled: Array, rng: np.random.Generator) -> PriorEstimate:
        draws = [float(np.random.random()), random.random(), float(torch.rand(()))]
        return PriorEstimate(0.3, diagnostics={"draws": draws, "rows": [len(positive), len(unlabeled)]})


def choice(inputs: Any) -> EstimatorChoice:
    info = PriorInfo(key="gambler", name="g", summary="s", load=f"{__name__}:Gambler", inputs=inputs)
    return EstimatorChoice(info, Gambler())


def asked(samples: Samples, inputs: Any = "features", seed: int = 2) -> dict[str, Any]:
    return dict(estimate_of(choice(inputs), samples, seed).diagnostics)


@pytest.mark.parametrize("inputs", ["scores", "features"])
def test_an_estimators_global_draws_follow_the_seed_and_leave_no_trace(
    inputs: str, caller: Callable[[int], AbstractContextManager[None]]
) -> None:
    samples, found = rows(20, 60), []
    asked(samples, inputs)  # scikit-learn imports rich, which draws once per process
    for seed in (0, 1):
        with caller(seed):
            found.append(asked(samples, inputs)["draws"])
    assert found[0] == found[1]
    assert asked(samples, inputs, seed=3)["draws"] != found[0]


def rows(n_positive: int, n_unlabeled: int) -> Samples:
    x = np.random.default_rng(0).normal(size=(n_positive + n_unlabeled, 3))
    instance = np.arange(len(x))
    return Samples(x[:n_positive], x[n_positive:], instance[:n_positive], instance[n_positive:])


@pytest.mark.parametrize("counts", [(1, 50), (50, 1)])
def test_one_row_of_a_kind_cannot_be_held_out_which_is_a_refusal(counts: tuple[int, int]) -> None:
    with pytest.raises(RequestError) as refused:
        asked(rows(*counts), "scores")
    assert (refused.value.field, refused.value.value) == ("prior", "estimated:gambler")
    assert f"there are {counts[0]} and {counts[1]}" in str(refused.value)
    assert "prior=0.4" in str(refused.value)
    assert asked(rows(*counts), "features")["rows"] == list(counts)


@pytest.mark.parametrize("counts", [(2, 50), (50, 2), (2, 2)])
def test_two_of_each_can(counts: tuple[int, int]) -> None:
    assert asked(rows(*counts), "scores")["rows"] == list(counts)


def test_an_estimator_of_scores_must_say_where_they_come_from() -> None:
    class Rootless(PriorEstimator):
        estimate = Gambler.estimate

    with pytest.raises(PluginError, match="Rootless reads held-out scores and defines no held_out_scores"):
        Rootless().held_out_scores(rows(20, 60), np.random.default_rng(0))


@pytest.mark.parametrize("method", ["nnpu", "puet"])
def test_a_run_says_which_scorer_it_had_and_has_an_id_of_its_own(method: str, tmp_path: Path) -> None:
    ids = set()
    for scorer in ("logistic", "backbone"):
        wanted = ("data.key=breast-cancer", f"method.key={method}", "method.preset=quick", "prior=estimated:bbe")
        plan = resolve([assigned(*wanted, f"prior_scorer={scorer}", f"execution.results={tmp_path}")], registry())
        ids.add(plan.run_id)
        estimate = build_problem(plan).facts().prior.estimate
        assert estimate is not None
        assert estimate.diagnostics.get("scorer", "logistic") == scorer
    assert len(ids) == 2
