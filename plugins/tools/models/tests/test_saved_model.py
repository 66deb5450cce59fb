"""A saved model scores as the run did, holds no row that was trained on, and says in one line why it cannot be used."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from pubench_datasets_tables.user_table import read_user_table
from pubench_models.model_file import VERSION, model_bytes
from pubench_models.saved_model import SavedModel, load_model
from refusals import refusal
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from pubench_cli.yaml_layers import assigned
from pubench_core.data.labeled import Column
from pubench_core.data.preprocess import Preprocessing
from pubench_core.data.store import row_wise
from pubench_core.engine.build import build_problem
from pubench_core.engine.plan import Plan
from pubench_core.engine.problem import Problem
from pubench_core.engine.resolve import resolve
from pubench_core.engine.train import Trained, train
from pubench_core.errors import PluginError, PubenchError, RecordError, RequestError
from pubench_core.plugins.registry import GROUP, Registry
from pubench_core.training.scoring import score_rows
from pubench_core.training.views import Features

pytestmark = pytest.mark.usefixtures("one_thread")

N = 120


@pytest.fixture(scope="module")
def plugins() -> Registry:
    return Registry(
        [
            *entry_points(group=GROUP),
            EntryPoint("doubles", "pubench_doubles", GROUP),
            EntryPoint("assembling", "pubench_assembling", GROUP),
        ]
    )


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two numbers, one of them with gaps, and a category of two values that says little."""
    rng = np.random.default_rng(0)
    positive = np.arange(N) < N // 2
    frame = pd.DataFrame(
        {
            "a": rng.normal(positive * 2.0, 1).round(4),
            "s": (np.arange(N) < 30).astype(int),
            "color": rng.choice(["blue", "red"], N),
        }
    )
    frame.loc[[3, 70], "a"] = np.nan
    path = tmp_path_factory.mktemp("own") / "my.csv"
    frame.to_csv(path, index=False)
    return path


Made = tuple[Plan, Problem, Trained, Path]


@pytest.fixture(scope="module")
def make(plugins: Registry, table: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Made]:
    """``make(method, *sets, data=...)``: the method trained, and the file of its model."""

    def do(method: str, *sets: str, data: str | None = None) -> Made:
        given = [f"data.key={data}"] if data else [f"data.own.path={table}", "data.own.label_col=s", "prior=0.5"]
        plan = resolve([assigned(f"method.key={method}", "execution.threads=1", *given, *sets)], plugins)
        problem = build_problem(plan)
        trained = train(plan, problem)
        path = tmp_path_factory.mktemp("model") / "model.safetensors"
        path.write_bytes(model_bytes(plan, problem, trained.method, candidate_of(plan, trained)))
        return plan, problem, trained, path

    return do


def candidate_of(plan: Plan, trained: Trained) -> str:
    chosen = trained.selection.tracks[plan.spec.selection.criterion].chosen
    assert chosen is not None
    return chosen.candidate


@pytest.fixture(scope="module")
def nnpu(make: Callable[..., Made]) -> Made:
    return make("nnpu", "epochs=2", "lr=0.01")


def scores_of(made: Made) -> np.ndarray:
    """Scores of every row of the table by the method that was trained."""
    plan, problem, trained, _ = made
    scorer = trained.method.candidates()[candidate_of(plan, trained)]
    rows = torch.arange(len(problem.data.x))
    features = Features(torch.from_numpy(problem.preprocessing.apply(problem.data.x)))
    return score_rows(scorer, features, rows).double().numpy()


@pytest.mark.parametrize("kind", ["none", "standardize", "l2"])
def test_rows_as_read_become_what_the_rows_of_a_prepared_copy_become(nnpu: Made, kind: str) -> None:
    """A copy holds rows after the row-wise part; a saved model is given rows as they were read."""

    class Sum:
        config = None

        @classmethod
        def takes_sparse(cls, config: None) -> bool:
            return False

        def candidates(self) -> dict[str, Any]:
            return {"": lambda x: x.sum(1)}

    raw = np.random.default_rng(0).normal(3, 7, size=(20, 4)).astype(np.float32)
    copy = row_wise(raw, kind)
    fitted = Preprocessing.fit(copy, np.arange(10), kind)
    model = SavedModel(Sum(), nnpu[0].spec, (4,), fitted, None, "")  # type: ignore[arg-type]
    assert model.scores(raw).tolist() == torch.from_numpy(fitted.apply(copy)).sum(1).double().tolist()


class TestScores:
    @pytest.mark.parametrize(
        ("method", "sets"),
        [
            ("nnpu", ("epochs=2", "lr=0.01")),
            ("puet", ("n_estimators=10",)),
            ("p3mix-c", ("epochs=1",)),
            ("students", ("epochs=1",)),
            ("threshold", ("epochs=2",)),
            ("no-network", ()),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    def test_they_are_those_of_the_run_to_the_last_bit(
        self, plugins: Registry, make: Callable[..., Made], method: str, sets: tuple[str, ...]
    ) -> None:
        made = make(method, *sets)
        before = scores_of(made)
        again = load_model(made[3], plugins).scores(made[1].data.x)
        assert len(np.unique(before)) > 2
        assert again.dtype == np.float64
        assert again.tobytes() == before.tobytes()

    def test_of_a_data_set_too(self, plugins: Registry, make: Callable[..., Made]) -> None:
        made = make("nnpu", "epochs=1", data="breast-cancer")
        model = load_model(made[3], plugins)
        assert model.columns is None
        assert model.shape == (30,)
        assert model.scores(made[1].data.x).tobytes() == scores_of(made).tobytes()

    def test_they_do_not_depend_on_what_else_is_scored(self, plugins: Registry, nnpu: Made) -> None:
        model, x = load_model(nnpu[3], plugins), nnpu[1].data.x
        every = model.scores(x)
        assert np.allclose([model.scores(x[k : k + 1])[0] for k in range(10)], every[:10], rtol=0, atol=1e-6)

    def test_a_gap_is_the_median_of_the_training_pool(self, plugins: Registry, nnpu: Made) -> None:
        _, problem, _, path = nnpu
        pool = problem.data.x[problem.split.train.rows, 0]
        x = np.array([[np.nan, 1, 0], [np.nanmedian(pool), 1, 0]], dtype=np.float32)
        found = load_model(path, plugins).scores(x)
        assert found[0] == pytest.approx(found[1], abs=1e-6)  # a row's place in its batch may round otherwise

    def test_modules_numbers_and_arrays_of_the_method_s_own_come_back(
        self, plugins: Registry, make: Callable[..., Made]
    ) -> None:
        made = make("with-assemble")
        model = load_model(made[3], plugins)
        assert model.scores(made[1].data.x).tobytes() == scores_of(made).tobytes()
        assert model.method.limit == float("inf")
        assert model.method.shift.shape == model.method.scale.shape == ()

    def test_the_best_of_several_networks_is_the_one_that_scores(
        self, plugins: Registry, make: Callable[..., Made]
    ) -> None:
        plan, _, trained, path = made = make("students", "epochs=2")
        model = load_model(path, plugins)
        assert model.candidate == candidate_of(plan, trained)
        others = set(model.method.candidates()) - {model.candidate}
        x = made[1].data.x
        assert len(others) == 3
        for name in others:
            other = SavedModel(model.method, model.spec, model.shape, model.preprocessing, model.columns, name)
            assert not np.array_equal(other.scores(x), model.scores(x))


class TestContent:
    def test_it_is_what_scores_and_how_rows_are_read(self, plugins: Registry, nnpu: Made, table: Path) -> None:
        plan, problem, trained, path = nnpu
        model = load_model(path, plugins)
        assert model.spec == plan.spec
        assert model.shape == (3,)
        assert model.columns == (Column("a", "number"), Column("color", "category", ("blue", "red")))
        assert model.columns == read_user_table(plan.spec.data.own).columns
        arrays = {"fill", "mean", "deviation"}
        assert model.preprocessing.arrays().keys() == problem.preprocessing.arrays().keys() == arrays
        state = trained.method.net.state_dict()
        expected = {f"net.{name}" for name in state} | {f"preprocess.{name}" for name in arrays}
        assert set(load_file(path)) == expected

    def test_it_holds_no_row_and_no_label(self, nnpu: Made) -> None:
        """No tensor is as long as the table or one of its parts."""
        _, problem, _, path = nnpu
        lengths = {N, len(problem.split.train.rows), len(problem.split.validation.rows)}
        assert not lengths & {size for tensor in load_file(path).values() for size in tensor.shape}

    def test_saving_changes_nothing_of_the_method(self, nnpu: Made) -> None:
        plan, problem, trained, path = nnpu
        before = scores_of(nnpu)
        again = model_bytes(plan, problem, trained.method, candidate_of(plan, trained))
        assert scores_of(nnpu).tobytes() == before.tobytes()
        assert again == path.read_bytes()

    def test_it_names_the_run(self, nnpu: Made) -> None:
        assert facts_of(nnpu[3])["run_id"] == nnpu[0].run_id


def complaint(path: Path, plugins: Registry, kind: type[PubenchError]) -> str:
    line = refusal(lambda: load_model(path, plugins), kind)
    assert str(path) in line
    return line


def facts_of(path: Path) -> dict[str, Any]:
    with safe_open(path, "pt") as file:
        found = json.loads(file.metadata()["pubench"])
    assert isinstance(found, dict)
    return found


@pytest.fixture
def rewritten(nnpu: Made, tmp_path: Path) -> Callable[..., Path]:
    """``rewritten(facts=..., tensors=...)``: the saved model with these changes."""

    def write(facts: Any = None, tensors: Callable[[dict[str, torch.Tensor]], Any] | None = None) -> Path:
        path = tmp_path / "model.safetensors"
        kept = load_file(nnpu[3])
        if tensors is not None:
            tensors(kept)
        said = facts if isinstance(facts, str) else json.dumps({**facts_of(nnpu[3]), **(facts or {})})
        save_file(kept, path, {"pubench": said})
        return path

    return write


class TestDamage:
    def test_an_absent_one_names_the_field_that_keeps_it(self, plugins: Registry, tmp_path: Path) -> None:
        line = complaint(tmp_path / "model.safetensors", plugins, RequestError)
        assert "the run kept no model; run it again with execution.save_model=true" in line

    @pytest.mark.parametrize("damage", ["empty", "half", "head", "text", "folder"])
    def test_a_damaged_one_is_named(self, plugins: Registry, nnpu: Made, tmp_path: Path, damage: str) -> None:
        path, whole = tmp_path / "model.safetensors", nnpu[3].read_bytes()
        if damage == "folder":
            path.mkdir()
        else:
            bad = {"empty": b"", "half": whole[: len(whole) // 2], "head": b"\xff" * 8 + whole[8:], "text": b"{}" * 99}
            path.write_bytes(bad[damage])
        line = complaint(path, plugins, RecordError)
        assert "is not a model of this version of pubench" in line or (damage == "folder" and "Is a directory" in line)

    def test_tensors_of_someone_else_are_no_model(self, plugins: Registry, tmp_path: Path) -> None:
        save_file({"w": torch.ones(3)}, tmp_path / "model.safetensors")
        assert "is not a model" in complaint(tmp_path / "model.safetensors", plugins, RecordError)

    @pytest.mark.parametrize(
        "facts", ["{", "[]", "3", "{}", '{"spec": {}}', f'{{"version": {VERSION}, "spec": {{"seed": "x"}}}}']
    )
    def test_other_facts_are_no_model(self, plugins: Registry, rewritten: Callable[..., Path], facts: str) -> None:
        assert "is not a model" in complaint(rewritten(facts), plugins, RecordError)

    @pytest.mark.parametrize("version", [VERSION - 1, VERSION + 1])
    def test_another_layout_is_named(self, plugins: Registry, rewritten: Callable[..., Path], version: int) -> None:
        line = complaint(rewritten({"version": version, "spec": {"of": "that layout"}}), plugins, RecordError)
        assert f"has layout {version}; this version reads layout {VERSION}" in line


class TestFit:
    @pytest.mark.parametrize("change", ["missing", "renamed", "reshaped"])
    def test_tensors_of_another_network_do_not_fit(
        self, plugins: Registry, rewritten: Callable[..., Path], change: str
    ) -> None:
        def alter(tensors: dict[str, torch.Tensor]) -> None:
            weight = tensors.pop("net.head.weight")
            if change == "renamed":
                tensors["net.tail.weight"] = weight
            elif change == "reshaped":
                tensors["net.head.weight"] = weight[:, :-1].contiguous()

        line = complaint(rewritten(tensors=alter), plugins, PluginError)
        assert "does not fit nnpu as it is installed here" in line
        assert "head.weight" in line

    def test_a_part_that_is_not_there_does_not_fit(self, plugins: Registry, rewritten: Callable[..., Path]) -> None:
        complaint(rewritten({"parts": {"threshold": {"value": True}}}), plugins, PluginError)

    def test_a_module_that_nobody_can_make_again_is_said(self, plugins: Registry, make: Callable[..., Made]) -> None:
        _, _, _, path = make("without-assemble")
        with pytest.raises(PluginError, match=r"WithoutAssemble\.assemble must make it before a saved model"):
            load_model(path, plugins)

    @pytest.mark.parametrize("where", ["os:system", "subprocess:Popen", "pubench_core.errors:PluginError"])
    def test_a_file_names_no_class_outside_the_method_s_package(
        self, plugins: Registry, rewritten: Callable[..., Path], where: str
    ) -> None:
        path = rewritten({"parts": {"net": {"object": where}}})
        with pytest.raises(RecordError, match="which is not of the method's package pubench_nnpu"):
            load_model(path, plugins)
