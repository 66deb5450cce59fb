"""Every hook that methods train with does what it promises."""

from __future__ import annotations

import ast
import copy
import gc
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from fake_device import pretended_device
from pubench_cgenpu.method import CGenPU
from pubench_testkit.conformance import Subject
from pubench_testkit.testing import pu_table, run_on
from torch import Tensor, nn

from pubench.method import Backbone
from pubench_core.engine import execute as execution
from pubench_core.engine.execute import execute
from pubench_core.errors import RunFailed
from pubench_core.records import files
from pubench_core.specs.config import TrainingConfig
from pubench_core.training.run import Run
from pubench_formulas.augmentation import strong_view, weak_view

METHODS = Path(__file__).parents[1] / "plugins" / "methods"
#: Most lines of a method's file, and of its ``fit``.
LINES, FIT_LINES = 250, 40


# ---------------------------------------------------------------- the methods that use them


def test_every_method_says_how_it_trains_in_few_lines() -> None:
    found: dict[str, tuple[int, int]] = {}
    for path in sorted(METHODS.glob("*/src/*/method.py")):
        text = path.read_text(encoding="utf-8")
        for part in ast.parse(text).body:
            for function in part.body if isinstance(part, ast.ClassDef) else ():
                if isinstance(function, ast.FunctionDef) and function.name == "fit":
                    assert function.end_lineno is not None
                    found[path.parent.name] = len(text.splitlines()), function.end_lineno - function.lineno + 1
    assert len(found) == len(list(METHODS.glob("*/pyproject.toml")))
    assert {name: lines for name, lines in found.items() if lines[0] > LINES or lines[1] > FIT_LINES} == {}


# ---------------------------------------------------------------- what the hooks promise

CPU = torch.device("cpu")
FEATURES = 6


def normed(outputs: int = 1) -> Backbone:
    """A network whose outputs depend on whether it trains: batch norm and dropout."""
    stage = nn.Sequential(nn.Linear(FEATURES, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.5))
    return Backbone([stage], nn.Identity(), 8, outputs)


def run_of(*, seed: int = 2, device: torch.device = CPU, **config: Any) -> Run[Any]:
    """A run on random rows, ten of which are labeled and in U too."""
    x = torch.randn(40, FEATURES, generator=torch.Generator().manual_seed(0)).to(device)
    return run_on(pu_table(x, 10, "case-control", copied=True), TrainingConfig(**config), normed, seed=seed)


@pytest.fixture
def x() -> Tensor:
    return torch.randn(16, FEATURES, generator=torch.Generator().manual_seed(1))


def copied(state: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in state.items()}


def changed(before: dict[str, Tensor], after: dict[str, Tensor]) -> list[str]:
    assert before.keys() == after.keys()
    return [name for name in before if not torch.equal(before[name], after[name])]


def test_a_virtual_step_uses_batch_statistics_and_leaves_the_running_ones(x: Tensor) -> None:
    run = run_of()
    norm = run.module(lambda: nn.BatchNorm1d(FEATURES))
    norm.running_mean.fill_(5.0)
    before = copied(norm.state_dict())
    with run.frozen_statistics(norm):
        out = norm(x)
    by_hand = (x - x.mean(dim=0)) / (x.var(dim=0, unbiased=False) + norm.eps).sqrt()
    assert torch.allclose(out, by_hand, atol=1e-6)
    assert changed(before, norm.state_dict()) == []
    assert torch.equal(norm(x), out)  # afterwards it trains as ever
    assert changed(before, norm.state_dict()) == ["running_mean", "running_var", "num_batches_tracked"]


def test_statistics_are_frozen_while_any_of_nested_blocks_wants_it(x: Tensor) -> None:
    run = run_of()
    net = run.backbone()
    before = copied(net.state_dict())
    with run.frozen_statistics(net):
        with run.frozen_statistics(net):
            net(x)
        net(x)
    assert changed(before, net.state_dict()) == []


def test_inference_is_evaluation_without_gradients(x: Tensor) -> None:
    run = run_of()
    teacher, student = run.backbone(), run.backbone()
    teacher(x)  # running statistics that are not those of the batch
    in_evaluation = copy.deepcopy(teacher).eval()(x)
    before = copied(teacher.state_dict())
    with run.inference(teacher):
        target = teacher(x)
        assert not teacher.training
        assert student.training
        assert not student(x).requires_grad
    assert torch.equal(target, in_evaluation.detach())
    assert changed(before, teacher.state_dict()) == []


def test_inference_restores_every_modules_own_mode(x: Tensor) -> None:
    run = run_of()
    teacher = run.backbone()
    teacher.stages[0][1].eval()  # its batch norm alone
    before = [module.training for module in teacher.modules()]
    with run.inference(teacher):
        assert not any(module.training for module in teacher.modules())
    with pytest.raises(ZeroDivisionError), run.inference(teacher):
        raise ZeroDivisionError
    assert [module.training for module in teacher.modules()] == before
    assert sorted(set(before)) == [False, True]


@pytest.mark.parametrize(("max_norm", "scale"), [(0.5, 0.1), (5.0, 1.0), (50.0, 1.0), (None, 1.0)])
def test_a_gradient_that_is_too_long_is_scaled_down(max_norm: float | None, scale: float) -> None:
    """The gradient of 3 a + 4 b has norm 5."""
    run = run_of(optimizer="sgd", lr=1.0, momentum=0.0)
    a, b = nn.Parameter(torch.tensor(0.0)), nn.Parameter(torch.tensor(0.0))
    run.step(3 * a + 4 * b, run.optimizer([a, b]), max_norm=max_norm)
    assert [a.item(), b.item()] == pytest.approx([-3 * scale, -4 * scale], rel=1e-5)


def test_each_optimizers_gradient_has_a_norm_of_its_own() -> None:
    run = run_of(optimizer="sgd", lr=1.0, momentum=0.0)
    a, b = nn.Parameter(torch.tensor(0.0)), nn.Parameter(torch.tensor(0.0))
    run.step((3 * a, run.optimizer([a])), (0.25 * b, run.optimizer([b])), max_norm=0.5)
    assert [a.item(), b.item()] == pytest.approx([-0.5, -0.25], rel=1e-5)


def test_a_module_has_an_initialization_of_its_own() -> None:
    def linear() -> nn.Module:
        return nn.Linear(3, 3)

    run = run_of()
    first, between, second = run.backbone(), run.module(linear), run.backbone()
    alone = run_of()
    for network in (first, second):
        assert changed(alone.backbone().state_dict(), network.state_dict()) == []
    again, later = alone.module(linear), alone.module(linear)
    assert torch.equal(again.weight, between.weight)
    assert not torch.equal(later.weight, between.weight)
    assert not torch.equal(run_of(seed=3).module(linear).weight, between.weight)


def test_a_module_is_on_the_device_in_training_mode_when_an_epoch_starts() -> None:
    with pretended_device() as device:
        run = run_of(device=device)
        projection = run.module(lambda: nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3)))
        assert {tensor.device for tensor in projection.state_dict().values()} == {device}
        for _ in run.epochs(2):
            assert all(module.training for module in projection.modules())
            projection.eval()


def test_a_network_that_the_method_drops_is_freed_while_the_run_goes_on(x: Tensor) -> None:
    run = run_of()
    kept = run.backbone()
    dropped = [run.backbone(), run.module(lambda: nn.Linear(FEATURES, 1))]
    references = [weakref.ref(network) for network in (kept, *dropped)]
    for epoch in run.epochs(2):
        for network in [kept, *dropped]:
            run.step(network(x).mean(), run.optimizer(network.parameters()))
            run.scores(network)
        del network
        if epoch.in_stage == 0:
            assert all(reference() is not None for reference in references)
            dropped.clear()
            gc.collect()
    assert [reference() is not None for reference in references] == [True, False, False]


DRAWS: dict[str, Callable[[Run[Any]], Tensor]] = {
    "permutation": lambda run: run.permutation(20),
    "integers": lambda run: run.integers(1000, 20),
    "uniform": lambda run: run.uniform(4, 5),
    "normal": lambda run: run.normal(4, 5),
    "weak": lambda run: run.augment(weak_view, torch.zeros(4, 5, device=run.device)),
    "strong": lambda run: run.augment(strong_view, torch.ones(4, 5, device=run.device), noise=0.3),
}


@pytest.mark.parametrize("name", DRAWS)
def test_draws_repeat_with_the_seed_and_go_on(name: str) -> None:
    draw, one, same, other = DRAWS[name], run_of(), run_of(), run_of(seed=3)
    first, second = draw(one), draw(one)
    assert torch.equal(first, draw(same))
    assert torch.equal(second, draw(same))
    assert not torch.equal(first, second)
    assert not torch.equal(first, draw(other))


@pytest.mark.parametrize("name", DRAWS)
def test_draws_are_on_the_device(name: str) -> None:
    with pretended_device() as device:
        assert DRAWS[name](run_of(device=device)).device == device


def test_draws_have_the_range_that_they_promise() -> None:
    run = run_of()
    assert sorted(run.permutation(50).tolist()) == list(range(50))
    assert set(run.integers(3, 200).tolist()) == {0, 1, 2}
    uniform, normal = run.uniform(20_000), run.normal(20_000)
    assert uniform.min() >= 0
    assert uniform.max() < 1
    assert float(uniform.mean()) == pytest.approx(0.5, abs=5 / (12 * 20_000) ** 0.5)
    assert float(normal.mean()) == pytest.approx(0, abs=5 / 20_000**0.5)
    assert float(normal.var()) == pytest.approx(1, abs=5 * (2 / 20_000) ** 0.5)


def test_draws_change_no_batch_and_no_network() -> None:
    quiet, drawing = run_of(batch_size=8), run_of(batch_size=8)
    for draw in DRAWS.values():
        draw(drawing)
    assert changed(quiet.backbone().state_dict(), drawing.backbone().state_dict()) == []
    for one, other in zip(quiet.joint_batches(), drawing.joint_batches(), strict=True):
        assert torch.equal(one.row, other.row)


# ---------------------------------------------------------------- generated rows


def carried_out(method: str, artifacts: str, results: Path) -> Any:
    """The outcome of a short run."""
    plan = Subject.of(method).plan(f"execution.artifacts={artifacts}", f"execution.results={results}")
    return execute(plan)


def samples(outcome: Any) -> dict[str, Any]:
    """What ``samples.npz`` of its record holds."""
    with np.load(outcome.folder / files.SAMPLES) as stored:
        return dict(stored)


def test_rows_of_a_generator_are_kept_where_they_are_asked_for(tmp_path: Path) -> None:
    outcome = carried_out("cgenpu", "[samples]", tmp_path)
    found = samples(outcome)
    assert {name: rows.shape for name, rows in found.items()} == {"positive": (64, 64), "negative": (64, 64)}
    assert all(np.isfinite(rows).all() for rows in found.values())
    again = carried_out("cgenpu", "[samples]", tmp_path)
    assert again.reused
    same = samples(again)
    assert all(np.array_equal(found[name], same[name]) for name in found)


def test_samples_of_another_shape_than_the_data_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "refuse_replaced", lambda packages: None)  # or the run would not begin
    monkeypatch.setattr(CGenPU, "samples", lambda self, n, run: {"positive": torch.zeros(n, 3)})
    with pytest.raises(RunFailed, match=r"samples gave positive of shape \(64, 3\), not \(64, 64\)"):
        carried_out("cgenpu", "[samples]", tmp_path)
