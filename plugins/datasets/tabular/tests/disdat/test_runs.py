"""Species in runs and studies: the request, the record, the prior, and what is refused with one line."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pubench_study.grid import cells_of
from pubench_study.spec import StudySpec

import pubench
from pubench_core.data.dataset import DataRoot
from pubench_core.engine.build import build_problem
from pubench_core.engine.layers import Layer
from pubench_core.engine.open import open_data
from pubench_core.engine.plan import Plan
from pubench_core.engine.resolve import resolve
from pubench_core.errors import RequestError
from pubench_core.plugins.registry import registry


def plan_of(method: str = "pu-bagging", **more: Any) -> Plan:
    data: Mapping[str, Any] = {"key": "disdat/nsw14", **more.pop("data", {})}
    return resolve([Layer({"method": method, "data": data, **more})], registry())


class TestARequest:
    def test_labels_are_given_under_the_scheme_of_the_data(self) -> None:
        spec = plan_of().spec
        assert (spec.data.key, spec.data.scheme) == ("disdat/nsw14", "two-sample")
        assert (spec.mechanism.key, spec.mechanism.c) == ("given", None)
        assert (spec.prior, spec.selection.criterion) == ("unknown", "pauc")

    @pytest.mark.parametrize(
        ("method", "more", "said"),
        [
            ("pu-bagging", {"mechanism": {"c": 0.1}}, "disdat/nsw14 comes with its own labels, so none are simulated"),
            ("pu-bagging", {"data": {"scheme": "one-sample"}}, "labels of disdat/nsw14 were sampled two-sample"),
            ("pu-bagging", {"data": {"key": "disdat"}}, "data.key must name one, disdat/SPECIES"),
            ("pu-bagging", {"data": {"key": "digits/4"}}, "digits is one data set without tasks, got digits/4"),
            ("nnpu", {"prior": "true"}, "without true labels the true class prior is not known"),
            ("pn", {}, "pn needs true labels of rows to train on and disdat/nsw14 has none"),
            ("pu-bagging", {"data": {"key": "digits"}, "prior": "test"}, "here the true prior is known"),
        ],
    )
    def test_what_contradicts_the_data_is_refused(self, method: str, more: dict[str, Any], said: str) -> None:
        with pytest.raises(RequestError, match=said):
            plan_of(method, **more)


class TestAProblem:
    def test_u_is_the_background_and_position_in_u_tells_nothing_of_the_file(self, prepared: DataRoot) -> None:
        """Records come first in the arrays that are read; they are spread over the pool that is trained on."""
        plan = plan_of(validation={"fraction": 0})
        problem = build_problem(plan, opened=open_data(plan, prepared), root=prepared)
        view = problem.view(frozenset())
        assert (view.n_labeled, view.n_unlabeled) == (15, 40)
        assert problem.prior_true is None
        assert problem.truth_test is not None
        assert len(problem.truth_test) == 12
        positions = np.flatnonzero(problem.split.train.labeled)
        assert positions.max() - positions.min() > 20

    def test_the_prior_of_the_survey_is_an_oracle_s(self, prepared: DataRoot) -> None:
        plan = plan_of("nnpu", prior="test")
        assert build_problem(plan, opened=open_data(plan, prepared), root=prepared).prior == pytest.approx(4 / 12)


class TestAStudy:
    def keys(self, entry: Any, prepared: DataRoot) -> list[str]:
        study = StudySpec.model_validate({"name": "s", "methods": ["pu-bagging"], "data": [entry]})
        return [str(cell.facts["data"]) for cell in cells_of(study, registry(), prepared)]

    def test_a_source_counts_as_all_its_tasks_and_does_not_multiply_labels(self, prepared: DataRoot) -> None:
        study = {"name": "s", "methods": ["pu-bagging"], "data": ["disdat"], "c": [0.1, 0.3], "seeds": 2}
        cells = cells_of(StudySpec.model_validate(study), registry(), prepared)
        assert len(cells) == 226 * 2
        assert "mechanism" not in cells[0].values

    def test_tasks_are_chosen_by_their_facts(self, prepared: DataRoot) -> None:
        """Species number k has k + 1 records here."""
        entry = {"key": "disdat", "tasks": {"min_presences": 30, "region": ["sa", "swi"]}}
        assert self.keys(entry, prepared) == ["disdat/sa29", "disdat/sa30", "disdat/swi29", "disdat/swi30"]
        assert self.keys({"key": "disdat", "tasks": {"group": "nb"}}, prepared) == ["disdat/nsw16", "disdat/nsw17"]
        assert self.keys("disdat/nz07", prepared) == ["disdat/nz07"]

    @pytest.mark.parametrize(
        ("entry", "said"),
        [
            ({"key": "disdat", "tasks": {"min_presence": 3}}, "did you mean 'presences'"),
            ({"key": "disdat", "tasks": {"min_presences": 10_000}}, "226 tasks of disdat meets"),
            ({"key": "disdat", "tasks": {"min_region": 3}}, "min_region must be a number, of a fact that is a number"),
            ({"key": "disdat", "tasks": "nsw"}, "data.tasks must be a mapping"),
            ({"key": "digits", "tasks": {"min_presences": 3}}, "'digits' has no tasks to choose from"),
        ],
    )
    def test_a_choice_that_means_nothing_is_refused(self, prepared: DataRoot, entry: Any, said: str) -> None:
        with pytest.raises(RequestError, match=said):
            self.keys(entry, prepared)


@pytest.mark.filterwarnings("ignore::pubench.PubenchWarning")  # of what so small a survey can decide
def test_a_run_is_recorded_with_its_survey_as_test_and_verified(prepared: DataRoot, tmp_path: Path) -> None:
    given: dict[str, Any] = {"data_root": prepared.path, "results": tmp_path, "threads": 1, "tracking": False}
    run = pubench.run("naive", "disdat/swi20", config={"base": "logistic"}, prior="test", **given)
    assert run.result.spec.data.key == "disdat/swi20"
    assert run.result.oracle
    assert run.result.data.test is not None
    assert run.result.data.test.positive == 4
    found = pubench.verify(tmp_path, rerun=0, data_root=prepared.path)
    assert (found.problems, found.unchecked) == ((), {})


def test_the_command_lists_the_tasks(
    prepared: DataRoot, pubench_within: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PUBENCH_DATA", str(prepared.path))
    monkeypatch.setenv("PUBENCH_CACHE", str(prepared.cache))
    found = json.loads(pubench_within("info", "disdat", "--format", "json").stdout)["tasks"]
    assert len(found) == 226
    counts = {"presences": 2, "sites": 12, "present": 4}
    assert found[0] == {"name": "awt01", "region": "awt", "group": "bird", **counts}
    one = json.loads(pubench_within("info", "disdat/nsw14", "--format", "json").stdout)
    assert [task["name"] for task in one["tasks"]] == ["nsw14"]
