"""A mechanism that draws from global generators labels by the seed of the run, and leaves the caller's state alone.

This module is also the plugin that offers the mechanism.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from pubench_core import MechanismInfo, hookimpl
from pubench_core.engine.build import build_problem
from pubench_core.engine.plan import Plan
from pubench_core.engine.problem import Problem
from pubench_core.mechanism import Mechanism

pytestmark = pytest.mark.usefixtures("one_thread")


class Careless(Mechanism):
    """Uses every generator but the one it is given."""

    def choose(
        self, x_pos: npt.NDArray[Any], posterior_logit: Any, n: int, rng: np.random.Generator
    ) -> npt.NDArray[Any]:
        keys = np.random.random(len(x_pos)) + random.random() * torch.rand(len(x_pos), dtype=torch.float64).numpy()
        return np.argsort(keys)[:n]


@hookimpl
def pubench_mechanisms() -> list[MechanismInfo]:
    return [MechanismInfo(key="careless", name="c", summary="s", load=f"{__name__}:Careless", assumption="SCAR")]


@pytest.fixture
def problem(ask: Callable[..., Plan]) -> Callable[[int], Problem]:
    """``problem(2)``: what is built for this seed."""
    of = ("data.key=digits", "method.key=nnpu", "mechanism.key=careless", "mechanism.c=0.3")
    return lambda seed: build_problem(ask(f"seed={seed}", of=of))


def labeled_rows(found: Problem) -> tuple[list[int], list[int]]:
    train, validation = found.split.train, found.split.validation
    return train.rows[train.labeled].tolist(), validation.rows[validation.labeled].tolist()


def test_labels_follow_the_seed_of_the_run_and_the_caller_s_generators_stay(
    problem: Callable[[int], Problem], caller: Callable[[int], AbstractContextManager[None]]
) -> None:
    found = []
    for seed in (0, 1):
        with caller(seed):
            found.append(labeled_rows(problem(2)))
    assert found[0] == found[1]
    assert labeled_rows(problem(3))[0] != found[0][0]


def test_the_two_parts_of_a_split_are_labeled_by_different_draws(
    problem: Callable[[int], Problem], monkeypatch: pytest.MonkeyPatch
) -> None:
    first: list[float] = []
    choose = Careless.choose

    def noted(self: Careless, *args: Any) -> npt.NDArray[Any]:
        state = np.random.get_state()
        first.append(np.random.random())
        np.random.set_state(state)
        return choose(self, *args)

    monkeypatch.setattr(Careless, "choose", noted)
    problem(2)
    assert len(first) == 2
    assert first[0] != first[1]
