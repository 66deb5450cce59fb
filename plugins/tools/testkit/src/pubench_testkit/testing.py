"""Tools for tests of plugins: conformance checks, reference vectors of the papers' official code, names of layers.

A method's package tests itself with::

    from pubench_testkit.testing import MethodConformance

    class TestConformance(MethodConformance):
        key = "my-method"

Reference vectors: :mod:`pubench_testkit.reference`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, ClassVar

import pytest
from torch import nn

from .conformance import CHECKS, Subject
from .conformance.report import check_one
from .reference import Arrays, Case, Vectors, joined, linear, reference_arrays, reference_cases, reference_folder
from .setups import (
    LAST,
    Call,
    MethodFacts,
    Trainer,
    accuracy,
    check_finite,
    fit,
    fit_small,
    pu_table,
    run_on,
    watch,
    watch_state,
)

__all__ = [
    "LAST",
    "Arrays",
    "Call",
    "Case",
    "MethodConformance",
    "MethodFacts",
    "Trainer",
    "Vectors",
    "ViewsAsked",
    "accuracy",
    "check_finite",
    "fit",
    "fit_small",
    "joined",
    "layer_names",
    "linear",
    "pu_table",
    "reference_arrays",
    "reference_cases",
    "reference_folder",
    "run_on",
    "watch",
    "watch_state",
]


def layer_names(network: nn.Module) -> list[str]:
    """Classes of the layers that have no others in them, in order; with the slope or the share that some have."""
    leaves = [module for module in network.modules() if not list(module.children())]
    values = {nn.LeakyReLU: "negative_slope", nn.Dropout: "p"}
    said = [f" {getattr(leaf, values[type(leaf)])}" if type(leaf) in values else "" for leaf in leaves]
    return [type(leaf).__name__ + value for leaf, value in zip(leaves, said, strict=True)]


@lru_cache(maxsize=1)
def _subject(key: str, sets: tuple[str, ...]) -> Subject:
    """One for all checks of a method, which share what they train."""
    return Subject.of(key, sets)


class MethodConformance:
    """Every conformance check as a test of its own. ``key``: the installed method; ``sets``: what shortens it."""

    key: ClassVar[str]
    sets: ClassVar[tuple[str, ...]] = ()

    def test_declares_only_checks_that_exist(self) -> None:
        assert set(Subject.of(self.key).info.declared_failures) <= set(CHECKS)

    @pytest.mark.parametrize("check", CHECKS)
    def test_conforms(self, check: str) -> None:
        finding = check_one(_subject(self.key, self.sets), check)
        if finding.verdict == "not applicable":
            pytest.skip(finding.reason)
        if finding.verdict == "declared":
            pytest.xfail(finding.reason)
        assert finding.ok, f"{finding.verdict}: {finding.reason}"


class ViewsAsked:
    """Stands in for a run where a method asks for views: rows come back as they are, and what was asked is kept.

    ``asked``: (name of the function, options) of every view, in order.
    """

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def augment(self, view: Callable[..., Any], rows: Any, **options: Any) -> Any:
        """The rows."""
        self.asked.append((view.__name__, options))
        return rows
