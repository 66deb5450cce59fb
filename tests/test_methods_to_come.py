"""What methods to come will use is there: doubles of seven of them conform, and every hook does what it promises."""

from __future__ import annotations

import ast
import copy
import gc
import weakref
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

import numpy as np
import pubench_to_come
import pytest
import torch
from torch import Tensor, nn

from pubench.method import Backbone, Batch, averaging
from pubench_core.conformance import CHECKS, Subject
from pubench_core.conformance.pretended import pretended_device
from pubench_core.conformance.report import check_one
from pubench_core.conformance.subject import SAMPLES
from pubench_core.engine.building import build_problem
from pubench_core.engine.train import train
from pubench_core.errors import RequestError, RunFailed
from pubench_core.execution.run import execute
from pubench_core.plugins.info import MethodInfo
from pubench_core.plugins.registry import GROUP, Registry
from pubench_core.records import files
from pubench_core.specs.config import TrainingConfig
from pubench_core.training.run import Run
from pubench_core.training.views import Features, PUData, PUPart

pytestmark = pytest.mark.usefixtures("one_thread")

DOUBLES = {info.name: info for info in pubench_to_come.pubench_methods()}
#: The third epoch of Self-PU is the first that has clean rows.
SETS = {"SelfPU": ("epochs=3",)}
#: Of the check that has batches of 4,096 rows: a network of one layer shows as much, one epoch of meta steps too.
SMALL = {"LaGAM": ("epochs=1", "warm_up=0")}
LINES = 35


@pytest.fixture(scope="module")
def plugins() -> Registry:
    return Registry([*entry_points(group=GROUP), SAMPLES, EntryPoint("to-come", "pubench_to_come", GROUP)])


def subject(plugins: Registry, name: str, *sets: str) -> Subject:
    return Subject(plugins.find(MethodInfo, DOUBLES[name].key), plugins, sets=(*SETS.get(name, ()), *sets))


# ---------------------------------------------------------------- the doubles


@pytest.mark.parametrize("name", ["CGenPU"])  # the others are packages by now, whose own tests do this
def test_it_passes_every_check(plugins: Registry, name: str) -> None:
    found = {}
    for check in CHECKS:
        if check == "light-info":
            continue  # one module holds all doubles and what they say of themselves
        short = ("backbone.key=mlp-wang", *SMALL.get(name, ())) if check == "small-batches" else ()
        found[check] = check_one(subject(plugins, name, *short), check)
    assert not {check: finding.reason for check, finding in found.items() if not finding.ok}


def test_each_says_how_it_trains_in_few_lines() -> None:
    lines = {}
    for part in ast.parse(Path(pubench_to_come.__file__).read_text(encoding="utf-8")).body:
        for function in part.body if isinstance(part, ast.ClassDef) else ():
            if isinstance(function, ast.FunctionDef) and function.name == "fit":
                assert function.end_lineno is not None
                lines[part.name] = function.end_lineno - function.lineno + 1
    assert lines.keys() == DOUBLES.keys()
    assert {name: n for name, n in lines.items() if n > LINES} == {}


def test_what_a_split_lacks_is_refused_before_the_run_is_announced(plugins: Registry) -> None:
    plan = subject(plugins, "LaGAM").plan("mechanism.c=0.03", "validation.fraction=0.4")
    problem = build_problem(plan)
    assert problem.split.train.n_labeled == 1
    announced: list[bool] = []
    with pytest.raises(RequestError, match="needs 2 of them, given 1"):
        train(plan, problem, started=lambda: announced.append(True))
    assert not announced


@pytest.mark.parametrize("modality", ["image", "tabular"])
def test_what_is_generated_has_the_shape_of_the_rows(plugins: Registry, modality: str) -> None:
    plan = subject(plugins, "CGenPU").plan("execution.artifacts=[samples]", modality=modality)
    problem = build_problem(plan)
    samples = train(plan, problem).samples
    assert samples.keys() == {"positive", "negative"}
    for rows in samples.values():
        assert rows.shape[1:] == problem.data.shape
        assert len({row.tobytes() for row in rows}) == len(rows)
        if modality == "image":
            assert 0 <= rows.min() <= rows.max() <= 1


def test_the_network_of_a_finished_phase_is_freed(plugins: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    """Holistic-PU drops the network that it observed for three epochs, and trains another for two."""
    made: list[weakref.ref[nn.Module]] = []
    alive: list[list[bool]] = []
    backbone = Run.backbone

    def noted(run: Run[Any], outputs: int = 1) -> Backbone:
        network = backbone(run, outputs)
        made.append(weakref.ref(network))
        return network

    monkeypatch.setattr(Run, "backbone", noted)

    def look(event: Any) -> None:
        gc.collect()
        alive.append([reference() is not None for reference in made])

    train(plan := subject(plugins, "HolisticPU").plan(), build_problem(plan), report=look)
    assert alive == [[True]] * 3 + [[False, True]] * 2


def test_teachers_are_candidates_from_the_epoch_in_which_they_are_made(plugins: Registry) -> None:
    trained = train(plan := subject(plugins, "SelfPU").plan(), build_problem(plan))
    assert list(trained.method.candidates()) == ["student-0", "student-1", "teacher-0", "teacher-1"]
    trained.method.taught = False
    assert list(trained.method.candidates()) == ["student-0", "student-1"]


# ---------------------------------------------------------------- what the hooks promise

CPU = torch.device("cpu")
FEATURES, ROWS, LABELED = 6, 40, 10


def normed(outputs: int = 1) -> Backbone:
    """A network whose outputs depend on whether it trains: batch norm and dropout."""
    stage = nn.Sequential(nn.Linear(FEATURES, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.5))
    return Backbone([stage], nn.Identity(), 8, outputs)


def table(device: torch.device) -> PUData:
    """Random rows, the first of which are labeled, and again the first of U."""
    x = torch.randn(ROWS, FEATURES, generator=torch.Generator().manual_seed(0)).to(device)
    instance = torch.cat([torch.arange(LABELED), torch.arange(ROWS)]).to(device)
    labeled = torch.cat([torch.ones(LABELED), torch.zeros(ROWS)]).bool().to(device)
    part = PUPart(Features(x), instance, labeled, "case-control")
    granted = frozenset({"prior"})
    return PUData(
        Features(x), instance, labeled, "case-control", validation=part, granted=granted, prior=0.4, truth=None
    )


def run_of(
    *, seed: int = 2, device: torch.device = CPU, config: TrainingConfig | None = None, **values: Any
) -> Run[Any]:
    return Run(
        config=config or TrainingConfig(**values),
        data=table(device),
        seed=seed,
        device=device,
        threads=1,
        build=normed,
    )


@pytest.fixture
def x() -> Tensor:
    return torch.randn(16, FEATURES, generator=torch.Generator().manual_seed(1))


def copied(state: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in state.items()}


def changed(before: dict[str, Tensor], after: dict[str, Tensor]) -> list[str]:
    assert before.keys() == after.keys()
    return [name for name in before if not torch.equal(before[name], after[name])]


def gradients(value: Tensor, network: nn.Module) -> list[Tensor]:
    return list(torch.autograd.grad(value, list(network.parameters()), retain_graph=True))


def test_a_virtual_step_normalizes_by_the_batch_and_leaves_the_running_statistics(x: Tensor) -> None:
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


def test_statistics_are_followed_again_after_an_error(x: Tensor) -> None:
    run = run_of()
    net = run.backbone()
    with pytest.raises(ZeroDivisionError), run.frozen_statistics(net):
        raise ZeroDivisionError
    before = copied(net.state_dict())
    net(x)
    assert "stages.0.1.running_mean" in changed(before, net.state_dict())


def test_statistics_are_frozen_while_any_of_nested_blocks_wants_it(x: Tensor) -> None:
    run = run_of()
    net = run.backbone()
    before = copied(net.state_dict())
    with run.frozen_statistics(net):
        with run.frozen_statistics(net):
            net(x)
        net(x)
    assert changed(before, net.state_dict()) == []


def test_weights_that_a_virtual_step_gives_are_of_second_order_and_change_nothing(x: Tensor) -> None:
    """Self-PU: the gradient of an entropy after the step, in weights that are 0 within it."""
    run = run_of()
    student = run.backbone()
    student.stages[0][3].p = 0.0
    before = copied(student.state_dict())
    batch = Batch(x, torch.arange(len(x)) < 4, torch.arange(len(x)))
    with run.frozen_statistics(student):
        on_risk, on_entropy = pubench_to_come.calibrated_weights(student, batch, x.flip(0) + 0.3, 0.4, budget=100)
    assert torch.allclose(on_risk + on_entropy, torch.ones(len(x)))
    assert (on_entropy[batch.labeled] == 0).all()
    assert len(on_entropy[~batch.labeled].unique()) > 2
    assert changed(before, student.state_dict()) == []
    assert all(parameter.grad is None for parameter in student.parameters())


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


def test_what_is_inferred_may_be_a_target_in_a_graph(x: Tensor) -> None:
    """A tensor of torch's inference mode may not: the gradient of a product needs it."""
    run = run_of(optimizer="sgd", lr=0.1)
    teacher, student = run.backbone(), run.backbone()
    with run.inference(teacher):
        target = teacher(x).sigmoid()
    teachers, students = copied(teacher.state_dict()), copied(student.state_dict())
    run.step(-(target * student(x).sigmoid().log()).mean(), run.optimizer(student.parameters()))
    assert changed(teachers, teacher.state_dict()) == []
    assert "head.weight" in changed(students, student.state_dict())


def test_two_objectives_of_one_forward_pass_both_take_their_gradient_before_any_step(x: Tensor) -> None:
    """PAN: the classifier lowers the value that the discriminator raises."""
    run = run_of(optimizer="sgd", lr=0.05, momentum=0.0)
    net, discriminator = run.backbone(), run.backbone()
    on_net, on_discriminator = (run.optimizer(network.parameters()) for network in (net, discriminator))
    d_p, d_u = discriminator(x).sigmoid().split([4, 12])
    value = pubench_to_come.pan_value(d_p, d_u, net(x[4:]).sigmoid(), balance=0.5)
    expected = [p - 0.05 * g for p, g in zip(net.parameters(), gradients(value, net), strict=True)]
    of_discriminator = gradients(value, discriminator)
    expected += [p + 0.05 * g for p, g in zip(discriminator.parameters(), of_discriminator, strict=True)]
    run.step((value, on_net), (-value, on_discriminator))
    for parameter, one in zip([*net.parameters(), *discriminator.parameters()], expected, strict=True):
        assert torch.allclose(parameter, one, atol=1e-7)


def test_an_objective_moves_its_own_optimizers_parameters_only(x: Tensor) -> None:
    """Both objectives depend on both networks."""
    run = run_of(optimizer="sgd", lr=0.05, momentum=0.0)
    one, other = run.backbone(), run.backbone()
    a, b = one(x), other(x)
    first, second = (a * b).mean(), (a - 2 * b).square().mean()
    pairs = ((first, one), (second, other))
    expected = [p - 0.05 * g for value, n in pairs for p, g in zip(n.parameters(), gradients(value, n), strict=True)]
    run.step(*((value, run.optimizer(network.parameters())) for value, network in pairs))
    for parameter, wanted in zip([*one.parameters(), *other.parameters()], expected, strict=True):
        assert torch.allclose(parameter, wanted, atol=1e-7)


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


def test_making_a_module_draws_nothing_from_the_callers_generator() -> None:
    before = torch.get_rng_state()
    run_of().module(lambda: nn.Linear(3, 3))
    assert torch.equal(torch.get_rng_state(), before)


def test_a_module_is_on_the_device_and_in_training_mode_when_an_epoch_starts() -> None:
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


def test_an_average_of_parameters_leaves_the_teachers_buffers_alone(x: Tensor) -> None:
    run = run_of()
    student = run.backbone()
    teacher = copy.deepcopy(student)
    for network in (student, teacher):
        network(x + float(network is teacher))
    for parameter in student.parameters():
        parameter.data += 1
    before, of_student = copied(teacher.state_dict()), student.state_dict()
    averaging.update(teacher, student, 0.75, buffers="leave")
    parameters = {name for name, _ in teacher.named_parameters()}
    assert set(changed(before, teacher.state_dict())) == parameters
    for name in parameters:
        assert torch.allclose(teacher.state_dict()[name], 0.75 * before[name] + 0.25 * of_student[name], atol=1e-7)
    averaging.update(teacher, student, 0.0, buffers="leave")
    assert set(changed(of_student, teacher.state_dict())).isdisjoint(parameters)


def test_p3mix_e_s_teacher_is_the_student_after_one_epoch_with_statistics_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[tuple[nn.Module, nn.Module, float]] = []
    update = averaging.update

    def noted(teacher: nn.Module, student: nn.Module, decay: float, **options: Any) -> None:
        update(teacher, student, decay, **options)
        seen.append((copy.deepcopy(teacher), copy.deepcopy(student), decay))

    monkeypatch.setattr(pubench_to_come.averaging, "update", noted)
    config = pubench_to_come.P3MixEConfig(epochs=3, steps_per_epoch=4, batch_size=8, heuristic_from=1)
    method = pubench_to_come.P3MixE(config)
    run = run_of(config=config)
    method.fit(table(run.device), run)
    assert [decay for _, _, decay in seen] == pytest.approx([0, 1 / 2, 2 / 3])
    teacher, student, _ = seen[0]
    buffers = {name for name, _ in student.named_buffers()} - {"stages.0.1.num_batches_tracked"}
    assert set(changed(student.state_dict(), teacher.state_dict())) == buffers


DRAWS: dict[str, Callable[[Run[Any]], Tensor]] = {
    "permutation": lambda run: run.permutation(20),
    "integers": lambda run: run.integers(1000, 20),
    "uniform": lambda run: run.uniform(4, 5),
    "normal": lambda run: run.normal(4, 5),
    "weak": lambda run: run.weak(torch.zeros(4, 5, device=run.device)),
    "strong": lambda run: run.strong(torch.ones(4, 5, device=run.device), noise=0.3),
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


def carried_out(plugins: Registry, name: str, artifacts: str, results: Path) -> tuple[Any, dict[str, Any]]:
    """The outcome of a run, and what ``samples.npz`` of its record holds."""
    plan = subject(plugins, name).plan(f"execution.artifacts={artifacts}", f"execution.results={results}")
    outcome = execute(plan)
    file = outcome.folder / files.SAMPLES
    with np.load(file) as stored:
        return outcome, dict(stored)


def test_rows_of_a_generator_are_kept_where_they_are_asked_for(plugins: Registry, tmp_path: Path) -> None:
    _, found = carried_out(plugins, "CGenPU", "[samples]", tmp_path)
    assert {name: rows.shape for name, rows in found.items()} == {"positive": (64, 64), "negative": (64, 64)}
    assert all(np.isfinite(rows).all() for rows in found.values())
    again, same = carried_out(plugins, "CGenPU", "[samples]", tmp_path)
    assert again.reused
    assert all(np.array_equal(found[name], same[name]) for name in found)


def test_a_record_without_them_does_not_answer_a_request_for_them(plugins: Registry, tmp_path: Path) -> None:
    plan = subject(plugins, "CountLoss").plan("execution.artifacts=[]", f"execution.results={tmp_path}")
    assert not (execute(plan).folder / files.SAMPLES).exists()
    outcome, found = carried_out(plugins, "CountLoss", "[samples]", tmp_path)
    assert not outcome.reused
    assert found == {}  # it generates nothing, and the file says so


def test_samples_of_another_shape_than_the_data_are_refused(
    plugins: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pubench_to_come.CGenPU, "samples", lambda self, n, run: {"positive": torch.zeros(n, 3)})
    with pytest.raises(RunFailed, match=r"samples gave positive of shape \(64, 3\), not \(64, 64\)"):
        carried_out(plugins, "CGenPU", "[samples]", tmp_path)
