"""PUbN in the engine: what ends the first stage, what the second is given, and degenerate problems."""

from __future__ import annotations

import pytest
import torch
from pubench_pubn import method as pubn
from pubench_pubn.method import (
    SMALLEST_POSTERIOR,
    PUbN,
    known_risk,
    single_stage_risk,
    squared_error,
    threshold,
    weighted_risk,
)
from pubench_testkit.testing import MethodFacts, Trainer, check_finite, watch

from pubench_core.training.run import Run

trained = Trainer("pubn", short=("epochs=2", "first_epochs=2", "mechanism.c=0.3"))


class TestFacts(MethodFacts):
    trained = trained
    learns = (
        ("epochs=6 first_epochs=6 lr=2e-3 first_lr=2e-3 mechanism.c=0.3", 0.8),
        ("epochs=6 variant=single-stage p_batch_size=null lr=2e-3 mechanism.c=0.3", 0.8),
    )
    stages = (("first_epochs=3", ["posterior"] * 3 + ["train"] * 2), ("variant=single-stage", ["train"] * 2))
    unselected = "posterior"
    options = (
        "negative_share=0.5",
        "surrogate=sigmoid",
        "hold_out=0.5",
        "p_batch_size=null",
        "first_lr=1e-4",
        "first_epochs=1",
    )
    presets_in = ("epochs=1", "first_epochs=1", "steps_per_epoch=3", "mechanism.c=0.3")
    extremes = tuple(
        f"mechanism.c=0.002 data.scheme={scheme} variant={variant}"
        for scheme in ("case-control", "single-training-set")
        for variant in ("two-stage", "single-stage")
    )


SINGLE = ("variant=single-stage", "epochs=2", "mechanism.c=0.3")


def test_the_first_stage_ends_in_its_state_of_least_error_on_held_out_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    batches = watch(monkeypatch, PUbN, "_batches")
    scored = watch(monkeypatch, PUbN, "_sigma", lambda self, run, rows=None: rows)
    judged = watch(monkeypatch, pubn, "squared_error")
    found = watch(monkeypatch, PUbN, "_posterior")
    result = trained("epochs=1", "first_epochs=8", "first_lr=1e-2", "mechanism.c=0.3")
    data = result.evaluator.problem.view(frozenset())
    p_held, u_held = [rows for rows in scored if rows is not None][:2]
    errors = [float(call.result) for call in judged]
    of_first = [call for call in batches if len(call.args) > 2]  # the second stage names no rows
    trained_on = torch.cat([side.row for call in of_first for pair in call.result for side in pair])
    (_, given, _), _, posterior = found[0]
    after = float(squared_error(posterior[p_held], posterior[u_held], given.unlabeled_prior))
    assert data.labeled[p_held].all()
    assert not data.labeled[u_held].any()
    assert len(p_held) == pytest.approx(0.1 * data.n_labeled, abs=1)
    assert len(u_held) == pytest.approx(0.1 * data.n_unlabeled, abs=2)
    assert not torch.isin(data.instance[trained_on], data.instance[torch.cat([p_held, u_held])]).any()
    assert len(errors) == 8
    assert min(errors) < errors[-1]  # the last state is not the best here
    assert after == pytest.approx(min(errors))


def test_the_second_stage_gets_posteriors_of_rows_and_one_threshold(monkeypatch: pytest.MonkeyPatch) -> None:
    batches = watch(monkeypatch, PUbN, "_batches")
    found = watch(monkeypatch, PUbN, "_posterior")
    given = watch(monkeypatch, pubn, "weighted_risk", lambda *arguments: arguments)
    result = trained.shortly()
    problem = result.evaluator.problem
    data, sigma = problem.view(frozenset({"prior"})), found[0].result
    eta = threshold(sigma[data.unlabeled_rows], data.unlabeled_prior, 0.9)
    below = float((sigma[data.unlabeled_rows] <= eta).double().mean())
    assert below == pytest.approx(0.9 * (1 - data.unlabeled_prior), abs=0.011)  # a percentile is cut to an integer
    rows = [(p.row, u.row) for call in batches if len(call.args) == 2 for p, u in call.result]
    assert len(given) == len(rows)
    for (_, _, sigma_p, sigma_u, at, prior, loss), (p, u) in zip(given, rows, strict=True):
        assert torch.equal(sigma_p, sigma[p])
        assert torch.equal(sigma_u, sigma[u])
        assert (at, prior, loss) == (eta, data.unlabeled_prior, "logistic")


def test_the_networks_of_the_stages_are_two_and_the_optimizer_is_amsgrad(monkeypatch: pytest.MonkeyPatch) -> None:
    networks = watch(monkeypatch, Run, "backbone")
    optimizers = watch(monkeypatch, Run, "optimizer")
    trained.shortly("lr=0.002", "first_lr=0.004")
    groups = [call.result.param_groups[0] for call in optimizers]
    assert [(group["lr"], group["amsgrad"]) for group in groups] == [(0.004, True), (0.002, True)]
    first, second = (next(call.result.parameters()).detach() for call in networks)
    assert not torch.equal(first, second)


def test_the_rate_of_either_stage_is_divided_by_ten_after_each_milestone(monkeypatch: pytest.MonkeyPatch) -> None:
    rates = watch(monkeypatch, Run, "step", lambda run, loss, optimizer, **_: optimizer.param_groups[0]["lr"])
    trained("epochs=4", "first_epochs=3", "lr=0.2", "first_lr=0.3", "milestones=[1,3]", "steps_per_epoch=2")
    expected = [0.3, 0.03, 0.03, 0.2, 0.02, 0.02, 0.002]
    assert rates == pytest.approx([rate for rate in expected for _ in range(2)])


@pytest.mark.parametrize(("given", "p_size"), [("10", 10), ("null", 64)])
def test_batches_have_their_own_size_of_p_and_an_epoch_passes_over_u(
    given: str, p_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = watch(monkeypatch, pubn, "weighted_risk", lambda z_p, z_u, *_: (len(z_p), len(z_u)))
    result = trained.shortly("batch_size=64", f"p_batch_size={given}")
    n_unlabeled = result.evaluator.problem.view(frozenset()).n_unlabeled
    assert sizes == [(p_size, 64)] * (2 * -(-n_unlabeled // 64))


def test_the_loss_of_one_stage_is_given_the_size_of_u_and_the_prior(monkeypatch: pytest.MonkeyPatch) -> None:
    given = watch(monkeypatch, pubn, "single_stage_risk", lambda z_p, z_u, *rest: rest)
    result = trained(*SINGLE, "negative_share=0.7")
    data = result.evaluator.problem.view(frozenset({"prior"}))
    assert set(given) == {(data.n_unlabeled, data.unlabeled_prior, 0.7)}


def test_known_negatives_make_up_for_rows_above_the_threshold() -> None:
    """The loss is 1/2 at a score of 0. σ of .25 is above .2 and counts 1 + 3 times, σ of .1 once."""
    risk = known_risk(torch.zeros(2), torch.tensor([0.25, 0.1]), 0.2, 0.3, "sigmoid")
    assert float(risk) == pytest.approx(0.3 * (4 + 1) / 2 / 2)


def test_the_first_stage_is_of_positives_and_known_negatives_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """P stands for π and known negatives for ρ = (1 - π) / 2: the labeled rows of a PU problem of prior π + ρ."""
    given = watch(monkeypatch, pubn, "pu_risk", lambda z, labeled, prior, **more: (labeled, prior, more["weights"]))
    data = trained.shortly("checked.rows=40").evaluator.problem.view(frozenset({"prior"}))
    rho = (1 - data.unlabeled_prior) / 2
    assert given
    for labeled, prior, weights in given:
        assert prior == data.unlabeled_prior + rho
        assert float(weights[labeled].mean()) == pytest.approx(1)
        p, u, n = torch.unique_consecutive(labeled, return_counts=True)[1].tolist()
        assert float(weights[:p].sum() / weights[p + u :].sum()) == pytest.approx(data.unlabeled_prior / rho)
        assert 1 < n <= 10


@pytest.mark.parametrize(
    ("prior", "share", "percentile"), [(0.3, 0.9, 63), (0.5, 0.5, 25), (0.49, 0.7, 35), (0.999, 0.9, 0), (0.001, 1, 99)]
)
def test_the_percentile_is_that_of_the_decimals_as_they_are_written(
    prior: float, share: float, percentile: int
) -> None:
    assert threshold(torch.arange(101.0), prior, share) == percentile


@pytest.mark.parametrize("z", [-200.0, 0.0, 200.0])
def test_saturated_scores_have_a_finite_loss_and_gradient(z: float) -> None:
    sigma = torch.tensor([SMALLEST_POSTERIOR, 0.5, 1.0])
    for risk in (
        lambda p, u: weighted_risk(p, u, sigma, sigma, 0.4, 0.3, "logistic"),
        lambda p, u: single_stage_risk(p, u, 3, 0.3, 0.5),
        lambda p, u: single_stage_risk(p, u, 3, 0.999, 0.5),
    ):
        z_p, z_u = (torch.full((3,), z, requires_grad=True) for _ in range(2))
        check_finite(risk(z_p, z_u), z_p, z_u)
