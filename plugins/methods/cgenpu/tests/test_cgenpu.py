"""CGenPU in the engine: its batches, the order and modes of its steps, its rows."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from pubench_cgenpu.method import (
    CGenPU,
    Config,
    _within_unit_interval,
    agreement,
    classifier_loss,
    discriminator_loss,
    prior_divergence,
)
from pubench_testkit.conformance import Subject
from pubench_testkit.testing import MethodFacts, Trainer, check_finite, watch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

from pubench_core.engine.build import build_problem
from pubench_core.engine.train import train
from pubench_core.training.run import Run

trained = Trainer("cgenpu", short=("epochs=2", "steps_per_epoch=5", "batch_size=32", "mechanism.c=0.3"))


class TestFacts(MethodFacts):
    trained = trained
    # up and down from epoch to epoch: the best of ten by true validation labels
    learns = (
        (
            "method.preset=quick steps_per_epoch=8 mechanism.c=0.3 selection.criterion=oa selection.criteria=[oa]",
            0.6,
        ),
    )
    by = "oa"
    options = (
        *("lr=1e-3", "discriminator_lr=1e-3", "generator_lr=1e-3", "betas=[0.9,0.999]", "latent=5", "noise=normal"),
        *("weight_auxiliary=0.5", "reduction=sum", "weight_prior=1", "optimizer=sgd", "weight_decay=0.1"),
    )
    presets_in = ("epochs=1", "steps_per_epoch=3")


# -------------------------------------------------------------------- the prior


def test_only_pu_benchs_term_needs_the_prior() -> None:
    assert CGenPU.requires(Config()) == frozenset()
    assert CGenPU.requires(Config(weight_prior=3)) == {"prior"}
    one, two = (trained.last("weight_prior=3", f"prior={prior}") for prior in (0.1, 0.9))
    assert not np.array_equal(one, two)


# -------------------------------------------------------------------- batches and steps


def test_the_weight_of_the_divergences_is_also_that_of_pu_benchs_term() -> None:
    problem = build_problem(trained.plan("prior=0.3"))
    rows = [torch.rand(4, 64, generator=torch.Generator().manual_seed(i)) for i in range(3)]

    def loss(weight_auxiliary: float, weight_prior: float) -> float:
        method = CGenPU(Config(weight_auxiliary=weight_auxiliary, weight_prior=weight_prior))
        method.net = lambda x: 4 * x.mean(dim=1) - 2  # type: ignore[assignment]
        return float(method._classifier_loss(*rows, problem.view(frozenset({"prior"}))))

    term = prior_divergence(0.3, (4 * rows[2].mean(dim=1) - 2).sigmoid())
    assert loss(0, 2) == 0
    assert loss(0.5, 3) == pytest.approx(0.5 * (loss(1, 0) + 3 * float(term)))


@pytest.mark.parametrize("size", [2, 100, 9999])
def test_batches_are_equal_at_most_u_and_the_incomplete_one_is_dropped(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = ("steps_per_epoch=3",) if size == 2 else ()
    sizes = watch(monkeypatch, CGenPU, "_classifier_loss", lambda method, *parts: tuple(map(len, parts[:3])))
    result = trained(f"batch_size={size}", "epochs=2", "mechanism.c=0.3", *short)
    n_unlabeled = result.evaluator.problem.view(frozenset()).n_unlabeled
    used = min(size, n_unlabeled)
    assert set(sizes) == {(used, used, used)}
    assert len(sizes) == 2 * (3 if short else n_unlabeled // used)


def test_every_network_steps_in_its_turn_and_in_its_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch passes alone, so that batch norm sees rows of one kind."""
    plan = Subject.of("cgenpu").plan("epochs=1", "steps_per_epoch=2", "batch_size=16", modality="image")
    events: list[Any] = []

    def called(module: nn.Module, arguments: tuple[Tensor, ...]) -> None:
        events.append((module, module.training, torch.is_grad_enabled(), len(arguments[0])))

    watch(monkeypatch, Run, "step", lambda *_, name: events.append(name))
    hook = register_module_forward_pre_hook(called)
    try:
        method: Any = train(plan, build_problem(plan)).method
    finally:
        hook.remove()
    names = {method.net: "net", method.discriminator: "discriminator", method.generator: "generator"}
    seen = [e if isinstance(e, str) else (names[e[0]], *e[1:]) for e in events if isinstance(e, str) or e[0] in names]
    batch = [
        *[("generator", False, False, 16)] * 2,
        *[("discriminator", True, True, 16)] * 4,
        "discriminator",
        *[("net", True, True, 16)] * 3,
        "classifier",
        *[("generator", True, True, 16)] * 2,
        *[("net", False, True, 16)] * 3,
        *[("discriminator", False, True, 16)] * 2,
        "generator",
    ]
    assert seen[: 2 * len(batch)] == 2 * batch
    assert not [event for event in seen[2 * len(batch) :] if isinstance(event, str)]  # the rest is scoring


def test_who_sees_which_rows_and_who_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    rates = ("lr=0.001", "discriminator_lr=0.002", "generator_lr=0.003")
    short = ("epochs=1", "steps_per_epoch=2", "batch_size=16", "execution.artifacts=[samples]")
    plan = Subject.of("cgenpu").plan(*short, *rates, modality="image")
    calls: list[tuple[nn.Module, Tensor, Tensor]] = []
    steps = watch(monkeypatch, Run, "step")
    batches = watch(monkeypatch, Run, "paired_batches")
    hook = register_module_forward_hook(lambda module, given, made: calls.append((module, given[0], made)))
    try:
        result = train(plan, build_problem(plan))
    finally:
        hook.remove()
    method: Any = result.method
    of = {name: [call for call in calls if call[0] is getattr(method, name)] for name in ("net", "discriminator")}
    generated = [call for call in calls if call[0] is method.generator]
    assert [call[1][0, -2:].tolist() for call in generated] == [[1, 0], [0, 1]] * (len(generated) // 2)
    pairs = [(p.x, u.x) for call in batches for p, u in call.result]
    for k, (p, u) in enumerate(pairs):
        g_p, g_n, new_p, new_n = (call[2] for call in generated[4 * k : 4 * k + 4])
        expected = {"discriminator": (p, u, g_p, g_n, new_p, new_n), "net": (p, g_p, g_n, p, new_p, new_n)}
        for name, rows in expected.items():
            seen = [call[1] for call in of[name][6 * k : 6 * k + 6]]
            assert all(one is other for one, other in zip(seen, rows, strict=True)), name
    networks = {"classifier": method.net, "discriminator": method.discriminator, "generator": method.generator}
    groups = {call.options["name"]: call.args[2].param_groups for call in steps}
    for (name, network), rate in zip(networks.items(), (0.001, 0.002, 0.003), strict=True):
        (group,) = groups[name]
        assert group["lr"] == rate
        assert {id(one) for one in group["params"]} == {id(one) for one in network.parameters()}
    kept = {name: torch.as_tensor(rows) for name, rows in result.samples.items()}
    for name, call in zip(("positive", "negative"), generated[4 * len(pairs) :], strict=True):
        assert torch.equal(kept[name], call[2])


def test_a_step_of_the_generator_has_new_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = watch(monkeypatch, Run, "uniform")
    trained("epochs=1", "steps_per_epoch=1", "latent=5", "batch_size=8")
    drawn = [call.result for call in draws]
    assert [tuple(noise.shape) for noise in drawn] == [(8, 5)] * 4
    assert len({noise.numpy().tobytes() for noise in drawn}) == 4


# -------------------------------------------------------------------- losses


@pytest.mark.parametrize("logit", [-200.0, 0.0, 200.0])
def test_saturated_networks_have_finite_losses_and_gradients(logit: float) -> None:
    z = torch.full((4, 6), logit, requires_grad=True)
    for loss in (discriminator_loss(*z), classifier_loss(*z[:3].sigmoid()), agreement(*z[:3].sigmoid())):
        check_finite(loss, z)


# -------------------------------------------------------------------- outputs


def test_the_discriminator_score_is_the_probability_of_a_real_row() -> None:
    result = trained.shortly()
    method: Any = result.method
    x = result.evaluator.problem.view(frozenset()).take(torch.arange(50))
    method.discriminator.eval()
    with torch.inference_mode():
        assert torch.equal(method.auxiliary_scores(x)["discriminator"], method.discriminator(x).sigmoid())


def range_of_samples(modality: str, *sets: str) -> tuple[float, float]:
    """Least and largest number of what is generated; every row has the shape of the data, and no two are the same."""
    plan = Subject.of("cgenpu").plan("execution.artifacts=[samples]", *sets, modality=modality)
    problem = build_problem(plan)
    samples = train(plan, problem).samples
    assert samples.keys() == {"positive", "negative"}
    for rows in samples.values():
        assert rows.shape[1:] == problem.data.shape
        assert len({row.tobytes() for row in rows}) == len(rows)
    together = np.concatenate(list(samples.values()))
    return float(together.min()), float(together.max())


def test_rows_are_generated_in_the_range_of_the_data() -> None:
    low, high = range_of_samples("image")
    assert 0 <= low < high <= 1
    for modality, sets in (("image", ("data.preprocess=standardize",)), ("tabular", ())):
        assert range_of_samples(modality, *sets)[0] < 0


@pytest.mark.parametrize(("extreme", "bounded"), [(1.0, True), (1.5, False), (-0.5, False)])
def test_rows_are_bounded_where_all_numbers_are_from_0_to_1(extreme: float, bounded: bool) -> None:
    rows = torch.rand(3000, 1, 2, 2)
    rows[2999, 0, 1, 1] = extreme
    run: Any = SimpleNamespace(scores=lambda network: network(rows))
    assert _within_unit_interval(run) == bounded
