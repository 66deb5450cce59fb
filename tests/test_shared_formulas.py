"""A formula that several methods share is code of those that reach its module, and of no other."""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

#: The code of every method, prior estimator and backbone, as a run would record it.
CODES = """
import json
from pubench_core.plugins.info import BackboneInfo, MethodInfo, PriorInfo
from pubench_core.plugins.registry import registry
from pubench_core.engine.identity import code_of

infos = [info for kind in (MethodInfo, PriorInfo, BackboneInfo) for info in registry().infos(kind)]
print(json.dumps(code_of(infos, registry()).parts))
"""
PLUGINS = Path(__file__).parents[1] / "plugins"
Edited = Callable[[str, str, str], set[str]]
Codes = Callable[..., dict[str, str]]


@pytest.fixture(scope="module")
def codes(script_in: Callable[..., Any], home: Path) -> Codes:
    """``codes(folder)``: the code of every part if modules in this folder come first."""
    (home / "codes.py").write_text(CODES)

    @cache
    def look(*first_on_path: Path) -> dict[str, str]:
        done = script_in(home, home / "codes.py", env={"PYTHONPATH": ":".join(map(str, first_on_path))})
        assert done.returncode == 0, done.stderr
        found: dict[str, str] = json.loads(done.stdout)
        return found

    return look


@pytest.fixture
def edited(codes: Codes, tmp_path: Path) -> Edited:
    """Which parts have other code if one text of a module of formulas is replaced."""

    def of(module: str, old: str, new: str) -> set[str]:
        spec = importlib.util.find_spec("pubench_formulas")
        assert spec is not None
        assert spec.origin is not None
        copy = tmp_path / "pubench_formulas"
        shutil.copytree(Path(spec.origin).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
        text = (copy / f"{module}.py").read_text()
        assert old in text
        (copy / f"{module}.py").write_text(text.replace(old, new))
        before, after = codes(), codes(tmp_path)
        assert before.keys() == after.keys()
        return {part for part in before if before[part] != after[part]}

    return of


def methods_that_import(*modules: str) -> set[str]:
    """As their sources say."""
    found = set()
    for folder in (PLUGINS / "methods").iterdir():
        text = "".join(path.read_text() for path in folder.glob("src/*/*.py"))
        if any(f"pubench_formulas.{module} import" in text for module in modules):
            found.add(f"method {folder.name}")
    return found


def test_editing_pu_risk_runs_the_methods_again_that_reach_it_and_no_other(edited: Edited) -> None:
    changed = edited("risks", "negative = in_u - prior", "negative = in_u - 2 * prior")
    assert changed == methods_that_import("risks")
    assert {"method nnpu", "method upu", "method nnpu-ga", "method pusb", "method pubn"} <= changed
    assert changed.isdisjoint({"method puet", "method pn", "method vpu", "backbone mlp"})


def test_editing_what_pu_risk_calls_runs_its_methods_again(edited: Edited) -> None:
    changed = edited("losses", "torch.sigmoid(-margin)", "torch.sigmoid(-2 * margin)")
    assert changed == methods_that_import("losses", "risks")
    assert "method puet" not in changed


def test_editing_a_formula_of_prior_estimators_runs_those_again(edited: Edited) -> None:
    changed = edited("bbe", "noise = math.log(4 / delta) / 2", "noise = math.log(4 / delta)")
    assert {part for part in changed if part.startswith("method")} == methods_that_import("bbe")
    assert "prior bbe" in changed
    assert not any(part.startswith("backbone") for part in changed)


def test_editing_a_comment_or_a_docstring_runs_nothing_again(edited: Edited) -> None:
    assert edited("risks", '"""PU risk π R_P⁺', '# the risk\n    """The PU risk π R_P⁺') == set()


def test_editing_the_hook_of_the_package_runs_nothing_again(edited: Edited) -> None:
    assert edited("__init__", '"""The methods that', 'X = 1\n    """The methods that') == set()
