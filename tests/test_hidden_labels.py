"""No way leads from what a method is given to a hidden label, and no other plugin changes a method's numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pubench_holding import Holds
from pubench_testkit.conformance.subject import SAMPLES
from registries import registry_with
from torch import Tensor

from pubench_cli.yaml_layers import assigned
from pubench_core.data.dataset import PNDataset
from pubench_core.data.generator import Split
from pubench_core.engine.build import build_problem
from pubench_core.engine.execute import execute
from pubench_core.engine.plan import Plan
from pubench_core.engine.problem import Problem
from pubench_core.engine.resolve import resolve
from pubench_core.engine.score import Evaluator
from pubench_core.engine.train import Monitor, train
from pubench_core.plugins.events import EpochFinished, RunStarted
from pubench_core.plugins.registry import Registry


class Noisy:
    """A listener that does."""

    def pubench_run_started(self, event: RunStarted) -> None:
        torch.manual_seed(1)

    def pubench_epoch_finished(self, event: EpochFinished) -> None:
        torch.rand(3)
        np.random.seed(event.epoch)


@pytest.fixture(scope="module")
def plugins() -> Registry:
    return registry_with(SAMPLES.value, "pubench_holding")


def plan_of(plugins: Registry, *sets: str, method: str = "holds") -> Plan:
    layer = assigned(
        f"method.key={method}",
        "data.key=conformance-tabular",
        "mechanism.c=0.3",
        "validation.fraction=0.25",
        "epochs=2",
        *sets,
    )
    return resolve([layer], plugins)


def auc(numbers: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    """The area under the curve and its deviation where the numbers tell nothing."""
    ranks = np.argsort(np.argsort(numbers, kind="stable"))
    n_positive, n_negative = int(truth.sum()), int((~truth).sum())
    area = (ranks[truth].sum() - n_positive * (n_positive - 1) / 2) / (n_positive * n_negative)
    return float(area), float(np.sqrt((len(truth) + 1) / (12 * n_positive * n_negative)))


class TestWhatAMethodHolds:
    @pytest.fixture
    def walked(self, plugins: Registry) -> tuple[Problem, list[Any]]:
        plan = plan_of(plugins, "backbone.key=mlp")
        problem = build_problem(plan)
        train(plan, problem)
        return problem, Holds.held[-1]

    def test_the_walk_goes_where_a_cheat_would(self, walked: tuple[Problem, list[Any]]) -> None:
        _, things = walked
        kinds = {type(thing).__name__ for thing in things}
        assert {"Holds", "PUData", "PUPart", "Features", "Run", "generator", "NetworkBuilder"} <= kinds

    def test_leads_to_no_engine(self, walked: tuple[Problem, list[Any]]) -> None:
        _, things = walked
        engine = (Problem, Split, PNDataset, Evaluator, Monitor, Plan)
        assert not [type(thing).__name__ for thing in things if isinstance(thing, engine)]

    def test_leads_to_no_array_of_labels_or_of_rows_of_the_file(self, walked: tuple[Problem, list[Any]]) -> None:
        problem, things = walked
        arrays = [np.asarray(t.detach()) for t in things if isinstance(t, Tensor)]
        arrays += [t for t in things if isinstance(t, np.ndarray)]
        secrets = {
            "truth_train": problem.truth_train,
            "truth_validation": problem.truth_validation,
            "truth_test": problem.truth_test,
            "rows of the training part": problem.split.train.rows,
            "rows of the validation part": problem.split.validation.rows,
            "labels of the file": problem.data.y,
        }
        assert len(arrays) > 15
        for name, secret in secrets.items():
            assert secret is not None
            for array in arrays:
                same = array.shape == secret.shape and bool((array == secret).all())
                assert not same, name

    def test_leads_to_no_number_that_tells_the_class(self, walked: tuple[Problem, list[Any]]) -> None:
        """Of every array with a number per row: instances, rows, labels - not features, which are there to tell."""
        problem, things = walked
        _, data, _, _ = Holds.held[:4]
        truth = problem.truth_train[data.instance.numpy()] == 1
        hidden = ~data.labeled.numpy()
        checked = 0
        for array in (np.asarray(t.detach()) for t in things if isinstance(t, Tensor)):
            if array.shape == (len(data),):
                area, sigma = auc(array[hidden].astype(float), truth[hidden])
                assert abs(area - 0.5) < 5 * sigma or len(np.unique(array[hidden])) == 1
                checked += 1
        assert checked >= 2


@pytest.mark.parametrize(
    ("modality", "sets"),
    [
        ("image", ()),
        ("text", ()),
        ("tabular", ()),
        ("tabular", ("checked.rows=20",)),
        ("tabular", ("data.scheme=single-training-set",)),
        ("tabular", ("data.scheme=one-sample", "mechanism.c=null", "mechanism.positive_rate=0.2")),
        ("tabular", ("data.scheme=two-sample", "mechanism.c=null", "mechanism.positive_rate=0.4")),
    ],
)
def test_on_data_sorted_by_class_positions_in_memory_tell_nothing(
    plugins: Registry, modality: str, sets: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file sorted by class, as spambase's is; the numbers are the instances and the order of the features."""
    from pubench_testkit.conformance.samples import Sample

    unsorted = Sample.read

    def sorted_by_class(self: Sample, files: tuple[Path, ...], root: Any) -> Any:
        loaded = unsorted(self, files, root)
        order = np.argsort(loaded.y % 2, kind="stable")
        return type(loaded)(x=loaded.x[order], y=loaded.y[order], mean=loaded.mean, std=loaded.std)

    monkeypatch.setattr(Sample, "read", sorted_by_class)
    problem = build_problem(plan_of(plugins, f"data.key=conformance-{modality}", *sets, method="holds"))
    assert problem.data.y is not None
    assert abs(auc(np.arange(len(problem.data.y), dtype=float), problem.data.y == 1)[0] - 0.5) == 0.5
    data = problem.view(frozenset())
    pool = np.concatenate([problem.truth_train, problem.truth_validation]) == 1
    for part in (data, data.validation):
        instance = part.instance[part.unlabeled_rows].numpy()
        for numbers in (instance, np.arange(len(instance))):
            area, sigma = auc(numbers.astype(float), pool[instance])
            assert abs(area - 0.5) < 5 * sigma
    assert len(data._features) == len(pool)  # the test rows are not there
    area, sigma = auc(np.arange(len(pool), dtype=float), pool)
    assert abs(area - 0.5) < 5 * sigma


def test_the_prior_is_not_there_where_it_was_not_asked_for(plugins: Registry) -> None:
    problem = build_problem(plan_of(plugins))
    data = problem.view(frozenset())
    assert problem.prior not in [thing for thing in vars(data).values() if isinstance(thing, float)]


class TestOtherPlugins:
    @pytest.mark.parametrize(
        ("method", "length"),
        [
            ("lbe-pu", ["epochs=2", "pre_training=2", "backbone.key=mlp-wang"]),
            ("p3mix-c", ["epochs=2", "warm_up=1", "steps_per_epoch=3", "backbone.key=mlp-wang"]),
            ("puet", ["n_estimators=5"]),
        ],
    )
    def test_draws_of_listeners_and_metrics_change_no_score(
        self, plugins: Registry, method: str, length: list[str], tmp_path: Path
    ) -> None:
        sets = ["data.key=conformance-tabular", "mechanism.c=0.3", "validation.fraction=0.25", *length]
        sets += [f"method.key={method}", "selection.criterion=last"]
        found = []
        for name, more, listeners in (
            ("quiet", ["selection.criteria=[pa, last]", "evaluation.metrics=[accuracy]"], []),
            ("noisy", ["selection.criteria=[pa, noisy, last]", "evaluation.metrics=[accuracy, noisy]"], [Noisy()]),
        ):
            plan = resolve([assigned(*sets, *more, f"execution.results={tmp_path / name}")], plugins)
            outcome = execute(plan, listeners=listeners)
            with np.load(outcome.folder / "scores.npz") as stored:
                found.append(next(stored[name] for name in stored.files if name.startswith("test_scores")))
        assert np.array_equal(*found)
