"""The command that a report gives for a run describes that run, and no other."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from made_results import made_result
from pubench_report.pages.recipe import SEED, Recipe, recipe

import pubench
from pubench_core.engine.layers import Layer
from pubench_core.engine.plan import Plan
from pubench_core.engine.resolve import resolve
from pubench_core.plugins.registry import registry
from pubench_core.specs import RunSpec

RUNS: dict[str, dict[str, Any]] = {
    "defaults": {"method": {"key": "nnpu"}, "data": {"key": "digits"}, "seed": 2},
    "a preset, and a value over it": {
        "method": {"key": "nnpu", "preset": "pubench", "config": {"epochs": 3, "surrogate": "logistic"}},
        "data": {"key": "breast-cancer", "scheme": "single-training-set"},
        "mechanism": {"key": "sar-pusb", "c": 0.3},
        "prior": "scaled:1.2",
        "validation": {"fraction": 0.05},
        "selection": {"criterion": "f1"},
        "seed": 25,
    },
    "other classes, features and test part": {
        "method": {"key": "vpu"},
        "data": {
            "key": "digits",
            "positive": [1, 3],
            "negative": [2, 4],
            "preprocess": "l2",
            "test": "drawn",
            "test_fraction": 0.3,
        },
        "checked": {"rows": 3, "by": "top"},
        "prior": 0.4,
        "seed": 42,
    },
    "drawn rows, an estimated prior, what is not finite": {
        "method": {"key": "nnpu", "calibrate": "off"},
        "data": {"key": "digits", "scheme": "one-sample", "total": 600},
        "mechanism": {"positive_rate": 0.2},
        "prior": "estimated:bbe",
        "prior_scorer": "bagged-nets",
        "selection": {"non_finite": "stop"},
        "seed": 7,
    },
}


def recipe_of(spec: RunSpec) -> Recipe:
    made = recipe(made_result("0" * 16, spec=spec))
    return made._replace(command=made.command.replace(SEED, str(spec.seed)))


@pytest.fixture
def _plans_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """``pubench.run`` gives its plan and carries nothing out."""
    monkeypatch.setattr("pubench.running.carry_out", lambda found, **how: found)


def of_command(made: Recipe, pubench_within: Callable[..., Any]) -> Plan:
    """The plan of the command that a recipe gives."""
    words = shlex.split(made.command)
    assert words[:2] == ["pubench", "run"]
    done = pubench_within(*words[1:], "--dry-run", "--format", "json")
    assert done.returncode == 0, done.stderr
    return resolve([Layer(json.loads(done.stdout))], registry())


@pytest.mark.usefixtures("_plans_only")
@pytest.mark.parametrize("name", RUNS)
def test_the_command_is_that_of_the_run(name: str, pubench_within: Callable[..., Any]) -> None:
    plan = resolve([Layer(json.loads(json.dumps(RUNS[name])))], registry())
    made = recipe_of(plan.spec)
    found = of_command(made, pubench_within)
    assert found.run_id == plan.run_id
    assert found.spec.selection == plan.spec.selection


@pytest.mark.usefixtures("_plans_only")
@pytest.mark.parametrize(
    ("name", "head", "drop", "words"),
    [
        ("my table.csv", "a,b,who,id", "id", "--data '{}' --label-col who --drop id"),
        ("prices.csv", '"price, EUR",b,who,"id, old"', "id, old", "--data {} --label-col who"),
    ],
)
def test_a_table_of_ones_own_is_named_with_its_columns(
    name: str, head: str, drop: str, words: str, pubench_within: Callable[..., Any], tmp_path: Path
) -> None:
    """Names with spaces and commas too."""
    table = tmp_path / name
    table.write_text(f"{head}\n" + "".join(f"{k},{k % 7},{int(k % 4 == 0)},{k}\n" for k in range(60)))
    own = {"path": str(table), "label_col": "who", "drop": [drop]}
    plan = resolve([Layer({"method": {"key": "nnpu"}, "data": {"own": own}, "prior": 0.4, "seed": 2})], registry())
    made = recipe_of(plan.spec)
    assert words.format(table) in made.command
    assert of_command(made, pubench_within).run_id == plan.run_id


@pytest.mark.usefixtures("_plans_only")
def test_a_table_in_memory_is_named_as_it_is_once_saved(
    pubench_within: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, truth = np.arange(120.0).reshape(60, 2), np.arange(60) % 2
    table = pubench.data(x, np.arange(60) % 4 == 1, name="sizes", truth=truth, test=(x + 0.5, truth))
    plan: Any = pubench.run("nnpu", table, prior=0.4)
    made = recipe_of(plan.spec)
    assert made.first == "The table was in memory: table.save('sizes.parquet') writes what is read here."
    monkeypatch.chdir(tmp_path)
    table.save("sizes.parquet")
    assert of_command(made, pubench_within).run_id == plan.run_id


@pytest.mark.usefixtures("_plans_only")
def test_test_rows_in_memory_beside_a_file_are_named_as_they_are_once_saved(
    pubench_within: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "people.csv"
    file.write_text("a,b,who,truth\n" + "".join(f"{k % 11},{k % 7},{int(k % 4 == 0)},{k % 2}\n" for k in range(60)))
    test = pandas.DataFrame({"a": np.arange(20) % 5, "b": np.arange(20) % 3, "truth": np.arange(20) % 2})
    table = pubench.data(file, "who", truth="truth", test=test)
    plan: Any = pubench.run("nnpu", table, prior=0.4)
    made = recipe_of(plan.spec)
    assert made.first == "The table was in memory: table.save('people.parquet') writes what is read here."
    monkeypatch.chdir(tmp_path)
    saved = table.save("people.parquet")
    assert saved.own == {**table.own, "path": file, "test": Path("people-test.parquet")}
    assert pandas.read_parquet("people-test.parquet").equals(test)
    assert of_command(made, pubench_within).run_id == plan.run_id
