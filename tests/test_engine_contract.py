"""The engine has what the hard methods need: candidates, teachers, virtual steps, streams, stored numbers, stages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from registries import registry_with
from safetensors import safe_open

from pubench_cli.yaml_layers import assigned
from pubench_core.engine.build import build_problem
from pubench_core.engine.execute import execute
from pubench_core.engine.machine import choose_device
from pubench_core.engine.plan import Plan
from pubench_core.engine.resolve import resolve
from pubench_core.engine.train import Trained, train
from pubench_core.errors import RequestError
from pubench_core.plugins.registry import Registry
from pubench_core.records.files import read_scores
from pubench_core.results import RunResult

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def plugins() -> Registry:
    """The installed plugins and the doubles."""
    return registry_with("pubench_doubles")


def plan_of(plugins: Registry, method: str, *sets: str) -> Plan:
    layer = assigned("data.key=digits", f"method.key={method}", "backbone.key=mlp-wang", "execution.threads=1", *sets)
    return resolve([layer], plugins)


def trained(plan: Plan) -> Trained:
    return train(plan, build_problem(plan))


@pytest.fixture(scope="module")
def students(plugins: Registry) -> Trained:
    """Two students and two teachers, trained."""
    return trained(plan_of(plugins, "students", "epochs=4"))


def test_a_result_is_scored_by_the_chosen_network_in_its_chosen_state(students: Trained) -> None:
    for name in ("pa", "pauc", "f1"):
        chosen = students.selection.tracks[name].chosen
        assert chosen is not None
        assert chosen.candidate in {"student-0", "student-1", "teacher-0", "teacher-1"}
        evaluator = students.evaluator
        again = evaluator.value(name, evaluator.validation(students.scores[name]["validation"]))
        assert again == chosen.value


def test_a_stage_that_is_not_selectable_is_trained_but_never_selected(students: Trained) -> None:
    warm_up = [e for e in students.epochs if e.stage == "warm-up"]
    assert [e.epoch for e in warm_up] == [1, 2]
    assert all(not e.criteria for e in warm_up)
    assert all(t.chosen is not None and t.chosen.epoch > 2 for t in students.selection.tracks.values())


@pytest.fixture(scope="module")
def threshold(plugins: Registry, tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    """The record of a method with a stored threshold and a criterion of its own."""
    results = tmp_path_factory.mktemp("results")
    sets = (f"execution.results={results}", "execution.save_model=true", "selection.criterion=native")
    return execute(plan_of(plugins, "threshold", *sets))


def test_native_is_a_criterion_of_a_method_that_has_one(plugins: Registry, threshold: RunResult) -> None:
    assert threshold.result.selected == "native"
    assert not threshold.result.chosen.oracle
    assert threshold.result.chosen.code == ""  # it is the method's
    assert "native" in plan_of(plugins, "threshold").spec.selection.criteria
    assert "native" not in plan_of(plugins, "no-network").spec.selection.criteria


def test_native_is_refused_where_the_method_has_none(plugins: Registry) -> None:
    with pytest.raises(RequestError, match="no selection score of its own"):
        plan_of(plugins, "no-network", "selection.criterion=native")


def test_a_refreshed_number_travels_with_the_saved_model(threshold: RunResult) -> None:
    with safe_open(threshold.folder / "model.safetensors", "pt") as saved:
        numbers = json.loads(saved.metadata()["pubench"])["numbers"]
        assert "net.head.weight" in set(saved.keys())
    assert numbers["threshold"] != 0


def test_further_outputs_are_stored_beside_the_scores(threshold: RunResult) -> None:
    arrays = read_scores(threshold.folder)
    snapshots = {criterion.snapshot for criterion in threshold.result.criteria.values()}
    names = {name for name in arrays if name.startswith("test_auxiliary_")}
    assert names == {f"test_auxiliary_propensity_{snapshot}" for snapshot in snapshots}
    for name in names:
        assert arrays[name].shape == arrays["test_labels"].shape
        assert ((arrays[name] > 0) & (arrays[name] < 1)).all()


def test_a_method_without_a_network_runs_on_the_cpu_only(plugins: Registry, tmp_path: Path) -> None:
    auto = plan_of(plugins, "no-network", f"execution.results={tmp_path}", "execution.save_model=true")
    assert choose_device(auto) == CPU
    result = execute(auto).result
    assert (result.device, result.epochs) == ("cpu", 1)
    assert result.test["auc"] is not None
    assert result.test["auc"] > 0.6
    cuda = plan_of(plugins, "no-network", "execution.device=cuda")
    with pytest.raises(RequestError, match=r"execution\.device=cuda: ") as refused:
        choose_device(cuda)
    assert refused.value.field == "execution.device"
