"""VAE-PU in the engine: its stages, its masses, what is traced, what is generated, and inputs at the edge."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from pubench_testkit.testing import LAST, Trainer, accuracy, watch, watch_state
from pubench_vae_pu import method as vae_pu
from pubench_vae_pu.course import masses_of, schedule
from pubench_vae_pu.method import VAEPU
from sklearn.mixture import GaussianMixture
from torch import nn
from torch.nn.modules.module import register_module_forward_pre_hook

from pubench_core.engine.build import build_problem
from pubench_core.engine.score import Evaluator
from pubench_core.engine.select import HeldOut
from pubench_core.engine.train import Trained
from pubench_core.errors import RequestError, RunFailed
from pubench_core.training.run import Run

trained = Trainer("vae-pu")

#: Every stage has an epoch.
SHORT = ("pretraining_epochs=1", "epochs=8", "mechanism.c=0.3", "steps_per_epoch=2", "batch_size=50")
BLIND = ("selection.criterion=pa", "selection.criteria=[pa, last]")


def method_of(result: Trained) -> VAEPU:
    assert isinstance(result.method, VAEPU)
    return result.method


# ---------------------------------------------------------------- the order of training


def test_the_official_schedule_is_that_of_the_paper() -> None:
    stages = schedule(800)
    assert [stage.epochs for stage in stages] == [400, 100, 100, 100, 100]
    assert [stage.generator for stage in stages] == [True, False, True, True, False]
    assert [stage.classifier for stage in stages] == [False, True, False, True, True]


@pytest.mark.parametrize("epochs", [1, 2, 3, 5, 7, 8, 9, 100, 300])
def test_the_classifier_trains_in_the_last_epoch_however_few_there_are(epochs: int) -> None:
    stages = schedule(epochs)
    assert sum(stage.epochs for stage in stages) == epochs
    assert stages[-1].classifier
    assert stages[-1].epochs >= 1
    assert all(stage.epochs for stage in stages) == (epochs >= 7)


def test_only_classifier_epochs_are_chosen_and_consistency_follows_them() -> None:
    epochs = trained(*SHORT, *BLIND).epochs
    stages = [event.stage for event in epochs]
    assert stages == [
        *("reconstruction", *["generation"] * 4, "classification", "consistency", "both", "classification")
    ]
    for event in epochs:
        trains = event.stage in ("classification", "both")
        assert ("pa" in event.criteria) == ("classifier" in event.values) == trains
        assert (event.positive_decisions is not None) == trains
        generates = event.stage in ("generation", "consistency", "both")
        assert {"generator", "discriminator"} <= event.values.keys() or not generates
        assert ("consistency" in event.values) == (event.stage in ("consistency", "both"))


def test_patience_counts_in_the_last_two_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    worse = itertools.count(0, -1)  # every epoch is worse than the one before
    monkeypatch.setattr(Evaluator, "value", lambda self, name, scored: float(next(worse)))
    monkeypatch.setattr(HeldOut, "of", lambda scored: HeldOut(alike=False))
    short = ("patience=1", "selection.criterion=pa", "selection.criteria=[pa]", "steps_per_epoch=1")
    stages = [event.stage for event in trained("pretraining_epochs=0", "epochs=16", "mechanism.c=0.3", *short).epochs]
    assert stages == [*["generation"] * 8, *["classification"] * 2, *["consistency"] * 2, "both"]


#: Calls of networks (with whether in training mode) before each step, by the step's name; with the consistency loss.
ENCODED = [("generator", True), ("decoder", True)]
CALLS = {
    "reconstruction": ENCODED,
    "discriminator": [*ENCODED, ("discriminator", True)],
    "generator": [("discriminator", False)],
    "generator, consistency": [("discriminator", False), ("net", False)],
    "classifier": [("generator", False), ("decoder", False), ("net", True)],
}
ONE_AFTER_THE_OTHER = {
    "reconstruction": ["reconstruction"],
    "generation": ["discriminator", "generator"],
    "classification": ["classifier"],
    "consistency": ["discriminator", "generator, consistency"],
    "both": ["discriminator", "generator, consistency", "classifier"],
}


def test_every_network_steps_in_its_turn_its_mode_and_at_its_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[nn.Module, bool]] = []
    steps: list[tuple[str, str, list[tuple[nn.Module, bool]]]] = []
    groups: dict[str, list[dict[str, Any]]] = {}

    def note(run: Run[Any], loss: torch.Tensor, optimizer: Any, *, name: str, **_: Any) -> None:
        steps.append((run.position["stage"], name, calls.copy()))
        calls.clear()
        groups[name] = optimizer.param_groups

    watch(monkeypatch, Run, "step", note)
    batches = watch(monkeypatch, Run, "paired_batches")
    hook = register_module_forward_pre_hook(lambda module, given: calls.append((module, module.training)))
    try:
        rates = ("lr=0.001", "discriminator_lr=0.002", "generator_lr=0.003")
        method = method_of(trained(*SHORT, *LAST, *rates))
    finally:
        hook.remove()
    networks = {"net": method.net, "discriminator": method.discriminator, "generator": method.generator}
    names = {**{network: name for name, network in networks.items()}, method.generator.decoder: "decoder"}
    order: dict[str, list[str]] = {}
    for stage, name, before in steps:
        full = f"{name}, consistency" if name == "generator" and stage in ("consistency", "both") else name
        seen = [(names[module], mode) for module, mode in before if module in names]
        assert seen[-len(CALLS[full]) :] == CALLS[full], (stage, name)
        order.setdefault(stage, []).append(full)
    for stage, turns in ONE_AFTER_THE_OTHER.items():
        assert order[stage] == turns * (len(order[stage]) // len(turns))
    for name, network, rate in (
        ("classifier", method.net, 0.001),
        ("discriminator", method.discriminator, 0.002),
        ("generator", method.generator, 0.003),
        ("reconstruction", method.generator, 0.003),
    ):
        (group,) = groups[name]
        assert group["lr"] == rate
        assert {id(one) for one in group["params"]} == {id(one) for one in network.parameters()}
    table = method.table
    of_p = table.instance[table.labeled_rows]
    unlabeled = torch.cat([u.row for call in batches for _, u in call.result])
    assert not torch.isin(table.instance[unlabeled], of_p).any()


def test_components_are_ordered_by_the_codes_of_labeled_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    of_p = watch(monkeypatch, vae_pu, "ordered", lambda means, *_: len(means))
    method = method_of(trained(*SHORT, *BLIND, "epochs=1"))
    assert of_p == [method.table.n_labeled]


@pytest.fixture(scope="module")
def of_codes() -> VAEPU:
    """A trained method of which a generated row is its code."""
    method = method_of(trained(*SHORT, *BLIND, "likelihood=gaussian"))
    method.generator.decoder = nn.Identity()
    return method


def test_samples_of_a_component_have_its_codes(of_codes: VAEPU) -> None:
    method = of_codes
    draws = SimpleNamespace(normal=torch.randn, integers=lambda high, n: torch.randint(high, (n,)))
    with torch.inference_mode():
        samples = method.samples(4000, draws)  # type: ignore[arg-type]
    for name, mean, variance in zip(
        ("negative", "positive"), method.mixture.means, method.mixture.variances, strict=True
    ):
        codes = samples[name][:, : len(mean)].mean(dim=0)
        assert ((codes - mean).abs() < 6 * (variance / 4000).sqrt()).all()


def test_a_pass_has_every_row_of_u_once_at_most_and_no_incomplete_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = watch(monkeypatch, Run, "paired_batches")
    few = ("pretraining_epochs=1", "epochs=2", "mechanism.c=0.3", "batch_size=100")
    n_u = len(method_of(trained(*few, *BLIND)).u_rows)
    assert n_u % 100
    passes = [[u.row for _, u in call.result] for call in calls]
    assert [[len(rows) for rows in batches] for batches in passes] == [[100] * (n_u // 100)] * 3
    assert all(len(torch.cat(batches).unique()) == 100 * len(batches) for batches in passes)


# ---------------------------------------------------------------- masses


def test_masses_are_shares_of_all_rows_and_u_has_what_the_prior_leaves() -> None:
    for scheme in ("case-control", "single-training-set"):
        plan = trained.plan("mechanism.c=0.3", f"data.scheme={scheme}")
        problem = build_problem(plan)
        data = problem.view(frozenset({"prior"}))
        u_rows = data.unlabeled_rows[~torch.isin(data.instance[data.unlabeled_rows], data.instance[data.labeled_rows])]
        n = len(torch.unique(data.instance))
        found = masses_of(data, u_rows)
        assert found.labeled == pytest.approx(data.n_labeled / n)
        assert found.labeled + found.unlabeled == pytest.approx(1)
        assert found.prior == pytest.approx(data.prior)
        truth = problem.truth_train
        assert truth is not None
        assert found.unlabeled_positive == pytest.approx((truth.sum() - data.n_labeled) / n)


@pytest.mark.parametrize("prior", [0.001, 0.999])
def test_a_prior_that_the_labels_contradict_leaves_no_unlabeled_positive(prior: float) -> None:
    method = method_of(trained(*SHORT, *BLIND, f"prior={prior}"))
    assert 0 < method.masses.prior < 1
    assert method.masses.unlabeled_positive >= 0
    assert (method.masses.unlabeled_positive == 0) == (prior == 0.001)


def test_batches_of_p_without_a_size_have_the_proportion_of_the_sets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sizes = watch(
        monkeypatch,
        VAEPU,
        "_train_classifier",
        lambda method, x, labeled, n, *_: (n, len(x) - n, int(labeled.sum())),
    )
    method = method_of(trained(*SHORT, *BLIND, "p_batch_size=null", "batch_size=99"))
    expected = round(99 * method.masses.labeled / method.masses.unlabeled)
    assert set(sizes) == {(expected, 99, expected)}
    sizes.clear()
    trained(*SHORT, *BLIND, "p_batch_size=null", "batch_size=4", "mechanism.c=0.05")  # one row of P for 40 of U
    assert set(sizes) == {(1, 4, 1)}


@pytest.mark.parametrize("scheme", ["case-control", "two-sample"])  # copies of P are in U, or P is apart
def test_the_mixture_has_all_rows_and_classifier_steps_leave_the_generator(
    scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = watch(monkeypatch, GaussianMixture, "fit", lambda model, x, *_: len(x))
    left_alone = watch_state(monkeypatch, VAEPU, "_train_classifier", lambda method, *_: method.generator)
    drawn = [one for one in SHORT if not one.startswith("mechanism.c") or scheme != "two-sample"]
    method = method_of(trained(*drawn, *BLIND, "networks=mlp", f"data.scheme={scheme}"))  # these have batch norm
    assert sizes == [len(method.table.distinct_rows)]
    assert left_alone
    assert all(left_alone)


# ---------------------------------------------------------------- learning, collapse, samples


def test_vae_pu_learns() -> None:
    short = ("method.preset=quick", "epochs=8", "steps_per_epoch=4", "mechanism.c=0.3")
    result = trained(*short, *BLIND, data="breast-cancer")
    assert accuracy(result) > 0.85
    decisions = result.epochs[-1].positive_decisions
    assert decisions is not None
    assert 0.2 < decisions < 0.8


def test_a_virtual_row_combines_a_labeled_row_with_an_observation_of_u(of_codes: VAEPU) -> None:
    method = of_codes
    given: list[tuple[torch.Tensor, torch.Tensor]] = []
    method.generator.register_forward_pre_hook(lambda module, rows: given.append(rows))
    draws = SimpleNamespace(normal=torch.randn, integers=lambda high, n: torch.arange(n) % high)
    with torch.inference_mode():
        samples = method.samples(500, draws)  # type: ignore[arg-type]
    ((x, labeled),) = given
    assert labeled.tolist() == [1] * 500 + [0] * 500
    for rows, of in ((x[:500], method.table.labeled_rows), (x[500:], method.u_rows)):
        assert torch.equal(rows, method.table.take(of[torch.arange(500) % len(of)]))
    observations = samples["positive"][:, method.generator.sizes[0] :]
    assert observations.shape == (500, method.generator.sizes[1])
    assert observations.mean().abs() < 0.05
    assert observations.std() == pytest.approx(1, abs=0.05)


def test_the_discriminator_score_is_the_probability_of_a_row_of_u() -> None:
    method = method_of(trained(*SHORT, *BLIND))
    x = method.table.take(method.u_rows[:5])
    method.discriminator.eval()
    with torch.inference_mode():
        assert torch.equal(method.auxiliary_scores(x)["discriminator"], method.discriminator(x).sigmoid())


# ---------------------------------------------------------------- inputs at the edge


@pytest.mark.parametrize(
    ("data", "likelihood", "bernoulli"),
    [("digits", "auto", True), ("breast-cancer", "auto", False), ("digits", "gaussian", False)],
)
def test_rows_between_0_and_1_have_the_bernoulli_likelihood(data: str, likelihood: str, bernoulli: bool) -> None:
    method = method_of(trained(*SHORT, *BLIND, f"likelihood={likelihood}", data=data))
    assert method.generator.bernoulli == bernoulli
    rows = method.generator.rows(torch.tensor([-9.0, 9.0]))
    assert bool((rows >= 0).all() and (rows <= 1).all()) == bernoulli


def test_values_beyond_0_and_1_have_no_bernoulli_likelihood() -> None:
    with pytest.raises(RequestError, match=r"for values from 0 to 1, given .* to \d.*use likelihood=gaussian"):
        trained(*SHORT, *BLIND, "likelihood=bernoulli", data="breast-cancer")


@pytest.mark.parametrize(
    ("sets", "sizes"),
    [
        ("", (64, 64)),
        ("class_dim=5", (5, 5)),
        ("class_dim=5 observation_dim=2", (5, 2)),
        ("observation_dim=2", (64, 2)),
    ],
)
def test_both_codes_have_64_numbers_by_default(sets: str, sizes: tuple[int, int]) -> None:
    problem = build_problem(plan := trained.plan(*sets.split(), data="breast-cancer"))
    method = plan.method.implementation(plan.method.config)
    assert isinstance(method, VAEPU)
    assert method._generator_for(problem.view(frozenset({"prior"})))().sizes == sizes


@pytest.mark.parametrize("epochs", [1, 8])  # codes are fitted first, or the generator goes on
def test_a_generator_that_diverges_ends_the_run_and_says_so(epochs: int) -> None:
    with pytest.raises(RunFailed, match=r"not finite|is (nan|inf)") as failed:
        trained(*SHORT, *BLIND, f"epochs={epochs}", "generator_lr=1e12", "optimizer=sgd")
    assert failed.value.cause == "non-finite"
