"""The command and the call that a report gives for a run describe that run, and no other."""

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
from pubench_report.pages.recipe import Known, Recipe, recipe

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


def planned(name: str) -> Plan:
    return resolve([Layer(json.loads(json.dumps(RUNS[name])))], registry())


def recipe_of(spec: RunSpec) -> Recipe:
    return recipe(made_result("0" * 16, spec=spec), Known()).of_seed(spec.seed)


@pytest.mark.parametrize("name", RUNS)
def test_the_command_is_that_of_the_run(name: str, pubench_in: Callable[..., Any], tmp_path: Path) -> None:
    plan = planned(name)
    words = shlex.split(recipe_of(plan.spec).command)
    assert words[:2] == ["pubench", "run"]
    done = pubench_in(tmp_path)(*words[1:], "--dry-run", "--format", "json")
    assert done.returncode == 0, done.stderr
    found = resolve([Layer(json.loads(done.stdout))], registry())
    assert found.run_id == plan.run_id
    assert found.spec.selection == plan.spec.selection


@pytest.mark.parametrize("name", RUNS)
def test_the_call_is_that_of_the_run(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = planned(name)
    monkeypatch.setattr("pubench.running.carry_out", lambda found, **how: found)
    found = eval(recipe_of(plan.spec).python, {"pubench": pubench})
    assert found.run_id == plan.run_id
    assert found.spec.selection == plan.spec.selection


def test_a_table_of_ones_own_is_named_with_its_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = tmp_path / "my table.csv"
    table.write_text("a,b,who,id\n" + "".join(f"{k},{k % 7},{int(k % 4 == 0)},{k}\n" for k in range(60)))
    own = {"path": str(table), "label_col": "who", "drop": ["id"]}
    layer = Layer({"method": {"key": "nnpu"}, "data": {"own": own}, "prior": 0.4, "seed": 2})
    plan = resolve([layer], registry())
    made = recipe_of(plan.spec)
    assert f"--data '{table}' --label-col who --drop id" in made.command
    monkeypatch.setattr("pubench.running.carry_out", lambda found, **how: found)
    assert eval(made.python, {"pubench": pubench}).run_id == plan.run_id


def test_columns_whose_names_have_commas_are_named_whole(
    pubench_in: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "prices.csv"
    rows = "".join(f"{k},{k % 7},{int(k % 4 == 0)},{k}\n" for k in range(60))
    table.write_text(f'"price, EUR",b,who,"id, old"\n{rows}')
    own = {"path": str(table), "label_col": "who", "drop": ["id, old"]}
    plan = resolve([Layer({"method": {"key": "nnpu"}, "data": {"own": own}, "prior": 0.4, "seed": 2})], registry())
    assert_made_again(plan, pubench_in(tmp_path), monkeypatch)


def test_a_table_in_memory_is_named_as_it_is_once_saved(
    pubench_in: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, truth = np.arange(120.0).reshape(60, 2), np.arange(60) % 2
    table = pubench.data(x, np.arange(60) % 4 == 1, name="sizes", truth=truth, test=(x + 0.5, truth))
    with monkeypatch.context() as patched:
        patched.setattr("pubench.running.carry_out", lambda found, **how: found)
        plan: Any = pubench.run("nnpu", table, prior=0.4)
    first = recipe_of(plan.spec).first
    assert first == "The table was in memory: table.save('sizes.parquet') writes what is read here."
    monkeypatch.chdir(tmp_path)
    table.save("sizes.parquet")
    assert_made_again(plan, pubench_in(tmp_path), monkeypatch)


def assert_made_again(plan: Plan, pubench_here: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Command and call of a run describe it."""
    made = recipe_of(plan.spec)
    done = pubench_here(*shlex.split(made.command)[1:], "--dry-run", "--format", "json")
    assert done.returncode == 0, done.stderr
    assert resolve([Layer(json.loads(done.stdout))], registry()).run_id == plan.run_id
    monkeypatch.setattr("pubench.running.carry_out", lambda found, **how: found)
    assert eval(made.python, {"pubench": pubench}).run_id == plan.run_id


def test_test_rows_in_memory_beside_a_file_are_named_as_they_are_once_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "people.csv"
    file.write_text("a,b,who,truth\n" + "".join(f"{k % 11},{k % 7},{int(k % 4 == 0)},{k % 2}\n" for k in range(60)))
    test = pandas.DataFrame({"a": np.arange(20) % 5, "b": np.arange(20) % 3, "truth": np.arange(20) % 2})
    table = pubench.data(file, "who", truth="truth", test=test)
    monkeypatch.setattr("pubench.running.carry_out", lambda found, **how: found)
    plan: Any = pubench.run("nnpu", table, prior=0.4)
    made = recipe_of(plan.spec)
    assert made.first == "The table was in memory: table.save('people.parquet') writes what is read here."
    monkeypatch.chdir(tmp_path)
    saved = table.save("people.parquet")
    assert saved.own == {**table.own, "path": file, "test": Path("people-test.parquet")}
    assert pandas.read_parquet("people-test.parquet").equals(test)
    assert eval(made.python, {"pubench": pubench}).run_id == plan.run_id
