"""A formula that several methods share is code of those that reach its module, and of no other."""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

#: For each folder, the code of every method, prior estimator and backbone, as a run would record it where modules of
#: that folder come first. One process, in which files that are the same in all of them are hashed once.
CODES = """
import json, sys
from pubench_core.plugins.info import BackboneInfo, MethodInfo, PriorInfo
from pubench_core.plugins.registry import registry
from pubench_core.engine.identity import code_of

for folder in sys.argv[1:]:
    for name in [name for name in sys.modules if name.partition(".")[0] == "pubench_formulas"]:
        del sys.modules[name]
    sys.path.insert(0, folder)
    registry.cache_clear()
    infos = [info for kind in (MethodInfo, PriorInfo, BackboneInfo) for info in registry().infos(kind)]
    print(json.dumps(code_of(infos, registry()).parts))
    sys.path.remove(folder)
"""
PLUGINS = Path(__file__).parents[1] / "plugins"
#: Edit -> module of formulas, one text of it, and what it becomes.
EDITS = {
    "PU risk": ("risks", "negative = in_u - prior", "negative = in_u - 2 * prior"),
    "what PU risk calls": ("losses", "torch.sigmoid(-margin)", "torch.sigmoid(-2 * margin)"),
    "a formula of estimators": ("bbe", "noise = math.log(4 / delta) / 2", "noise = math.log(4 / delta)"),
    "a docstring": ("risks", '"""PU risk π R_P⁺', '# the risk\n    """The PU risk π R_P⁺'),
    "the hook of the package": ("__init__", '"""The methods that', 'X = 1\n    """The methods that'),
}
Changed = dict[str, set[str]]


@pytest.fixture(scope="module")
def changed(pubench_started: Callable[..., Any], home: Path) -> Changed:
    """Edit -> parts that have other code with it."""
    (home / "codes.py").write_text(CODES)
    (home / "none").mkdir()
    spec = importlib.util.find_spec("pubench_formulas")
    assert spec is not None
    assert spec.origin is not None
    for name, (module, old, new) in EDITS.items():
        copy = home / name / "pubench_formulas"
        shutil.copytree(Path(spec.origin).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
        text = (copy / f"{module}.py").read_text()
        assert old in text
        (copy / f"{module}.py").write_text(text.replace(old, new))
    folders = [home / name for name in ("none", *EDITS)]
    done = pubench_started(home, *folders, script=home / "codes.py").done()
    assert done.returncode == 0, done.stderr
    before, *found = map(json.loads, done.stdout.splitlines())
    assert all(after.keys() == before.keys() for after in found)
    return {
        name: {part for part in before if before[part] != after[part]} for name, after in zip(EDITS, found, strict=True)
    }


def methods_that_import(*modules: str) -> set[str]:
    """As their sources say."""
    found = set()
    for folder in (PLUGINS / "methods").iterdir():
        text = "".join(path.read_text() for path in folder.glob("src/*/*.py"))
        if any(f"pubench_formulas.{module} import" in text for module in modules):
            found.add(f"method {folder.name}")
    return found


def test_editing_pu_risk_runs_the_methods_again_that_reach_it_and_no_other(changed: Changed) -> None:
    assert changed["PU risk"] == methods_that_import("risks")
    assert {"method nnpu", "method upu", "method nnpu-ga", "method pusb", "method pubn"} <= changed["PU risk"]
    assert changed["PU risk"].isdisjoint({"method puet", "method pn", "method vpu", "backbone mlp"})


def test_editing_what_pu_risk_calls_runs_its_methods_again(changed: Changed) -> None:
    assert changed["what PU risk calls"] == methods_that_import("losses", "risks")
    assert "method puet" not in changed["what PU risk calls"]


def test_editing_a_formula_of_prior_estimators_runs_those_again(changed: Changed) -> None:
    found = changed["a formula of estimators"]
    assert {part for part in found if part.startswith("method")} == methods_that_import("bbe")
    assert "prior bbe" in found
    assert not any(part.startswith("backbone") for part in found)


def test_editing_a_docstring_or_the_hook_of_the_package_runs_nothing_again(changed: Changed) -> None:
    assert (changed["a docstring"], changed["the hook of the package"]) == (set(), set())
