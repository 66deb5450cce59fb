"""Tools for tests of plugins: conformance checks, reference vectors of the papers' official code, names of layers.

A method's package tests itself with::

    from pubench_testkit.testing import MethodConformance

    class TestConformance(MethodConformance):
        key = "my-method"

Reference vectors lie in the folder named by ``PUBENCH_REFERENCE``, by default ``tests/reference`` of the source tree
that this package is imported from.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pytest
from torch import nn

from .conformance import CHECKS, Subject
from .conformance.report import check_one

Arrays = dict[str, npt.NDArray[Any]]


def reference_folder() -> Path:
    """``PUBENCH_REFERENCE``, else ``tests/reference`` of the source tree."""
    given = os.environ.get("PUBENCH_REFERENCE")
    return Path(given) if given else Path(__file__).parents[5] / "tests" / "reference"


def reference_arrays(key: str) -> Arrays:
    """All arrays of ``<key>.npz``. A missing file is an error, never a reason to skip a test."""
    path = reference_folder() / f"{key}.npz"
    if not path.is_file():
        raise FileNotFoundError(f"no reference vectors {path}; PUBENCH_REFERENCE names the folder that has them")
    return {name: array.copy() for name, array in _stored(path, path.stat().st_mtime_ns).items()}


@lru_cache(maxsize=8)
def _stored(path: Path, changed: int) -> Arrays:
    """The arrays of a file, read once by all tests of a module. ``changed``: when it was last written."""
    with np.load(path, allow_pickle=False) as stored:
        return dict(stored)


def reference_cases(key: str, group: str = "") -> list[tuple[str, Arrays]]:
    """(case, its arrays by name) for every case in ``<key>.npz``, found from the names of the arrays.

    Arrays are named ``<case>__<array>``, or ``<group>_<case>_<array>`` in a file of several groups (no underscore in
    <array> there). Raises LookupError if there is no case.
    """
    cases: dict[str, Arrays] = {}
    prefix = f"{group}_" if group else ""
    for name, values in reference_arrays(key).items():
        if not name.startswith(prefix):
            continue
        rest = name.removeprefix(prefix)
        case, separator, array = rest.rpartition("_") if group else rest.partition("__")
        if separator:
            cases.setdefault(case, {})[array] = values
    if not cases:
        raise LookupError(f"{key}.npz in {reference_folder()} has no case" + (f" of group '{group}'" if group else ""))
    return sorted(cases.items())


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
