"""What tests of runs share: the installed plugins with those of the test's own module, and runs on a small data set."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from registries import registry_with

from pubench_cli.yaml_layers import assigned
from pubench_core.engine.execute import execute
from pubench_core.engine.plan import Plan
from pubench_core.engine.resolve import resolve
from pubench_core.plugins.registry import Registry
from pubench_core.results import RunResult


@pytest.fixture(scope="module")
def plugins(request: pytest.FixtureRequest) -> Registry:
    """The installed plugins, the doubles, and what the test's module offers."""
    modules = ["pubench_doubles", *([request.module.__name__] if hasattr(request.module, "hookimpl") else [])]
    return registry_with(*modules)


@pytest.fixture
def ask(plugins: Registry, tmp_path: Path) -> Callable[..., Plan]:
    """``ask("seed=3", of=NNPU)``: the plan of a request, with its records in the test's folder."""

    def ask(*sets: str, of: tuple[str, ...] = ("data.key=breast-cancer", "method.key=no-network")) -> Plan:
        here = ("execution.threads=1", f"execution.results={tmp_path / 'results'}")
        return resolve([assigned(*of, *here, *sets)], plugins)

    return ask


@pytest.fixture
def do(ask: Callable[..., Plan]) -> Callable[..., RunResult]:
    """``do("seed=3", display=None)``: what came of such a plan."""

    def do(*sets: str, display: Any = None, **of: tuple[str, ...]) -> RunResult:
        return execute(ask(*sets, **of), display=display)

    return do


Callers = Callable[[int], AbstractContextManager[None]]


@pytest.fixture
def caller() -> Iterator[Callers]:
    """``with caller(1):`` seeds all global generators as a caller would; what is in the block must not move them.

    They are put back when the test ends.
    """

    def states() -> tuple[Any, ...]:
        return np.random.get_state()[1].tobytes(), random.getstate(), torch.get_rng_state().numpy().tobytes()

    @contextmanager
    def seeded(seed: int) -> Iterator[None]:
        np.random.seed(seed)
        random.seed(seed)
        torch.manual_seed(seed)
        before = states()
        yield
        assert states() == before

    found = np.random.get_state(), random.getstate(), torch.get_rng_state()
    yield seeded
    np.random.set_state(found[0])
    random.setstate(found[1])
    torch.set_rng_state(found[2])
