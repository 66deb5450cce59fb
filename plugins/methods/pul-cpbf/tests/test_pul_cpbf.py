"""PUL-CPBF in the engine: the fence, its labels, the final network, presets, and inputs at the edge."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch
from pubench_pul_cpbf import method as cpbf
from pubench_pul_cpbf.method import (
    PULCPBF,
    Config,
    boundaries,
)
from pubench_testkit.testing import MethodFacts, Trainer, ViewsAsked, fit_small, watch
from sklearn.metrics import roc_auc_score
from torch import Tensor, nn

from pubench.method import PUData, Run

trained = Trainer("pul-cpbf", short=("fence=3", "fence_epochs=2", "epochs=2"))


def test_pul_cpbf_ranks() -> None:
    result = trained("method.preset=quick", "mechanism.c=0.3", "seed=25")
    assert roc_auc_score(result.evaluator.problem.truth_test, result.scores["last"]["test"]) > 0.85


@pytest.mark.parametrize(("c", "larger"), [("1.0", "labeled"), ("0.3", "unlabeled")])
def test_an_epoch_of_equal_batches_is_a_pass_over_the_larger_side(
    monkeypatch: pytest.MonkeyPatch, c: str, larger: str
) -> None:
    steps = watch(monkeypatch, cpbf.ramps, "cosine", lambda step, total, *_: total)
    sets = (
        "data.scheme=single-training-set",
        f"mechanism.c={c}",
        "data.positive=[0, 1, 2, 3, 4, 5, 6, 7]",
        "method.calibrate=off",
        "schedule=cosine",
    )
    data = trained.shortly(*sets).evaluator.problem.view(frozenset())
    rows = {"labeled": data.n_labeled, "unlabeled": data.n_unlabeled}
    assert max(rows, key=rows.__getitem__) == larger
    batch = Config().batch_size
    assert set(steps) == {2 * -(-rows[larger] // batch)}
    assert len(steps) // 2 == 1 + 2 * -(-rows[larger] // batch)  # weights and the rest, from the start on


def test_both_terms_of_u_have_its_weight(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float] = []
    step = Run.step

    def noted(run: Run[Config], loss: Tensor, *rest: Any, report: Any = None, **more: Any) -> None:
        if report is not None:
            parts = {name: float(value.detach()) for name, value in report.items()}
            on_u = parts["weak"] + parts["strong"]
            seen.append(float(loss.detach()) - (parts["positive"] + 0.3 * on_u + 0.1 * parts["entropy"]))
        step(run, loss, *rest, report=report, **more)

    monkeypatch.setattr(Run, "step", noted)
    trained.shortly("weight_unlabeled=0.3", "weight_entropy=0.1", "threshold_start=0.5")
    assert seen
    np.testing.assert_allclose(seen, 0, atol=1e-5)


# -------------------------------------------------------------------- the two stages

#: Of a training on a small table, all of it in the test's hands.
SMALL: dict[str, Any] = {"fence": 4, "fence_epochs": 2, "epochs": 3, "steps_per_epoch": 4, "batch_size": 8}


def fitted(**options: Any) -> tuple[PULCPBF, PUData]:
    return fit_small(PULCPBF, **{**SMALL, **options})


def test_weak_classifiers_see_the_same_batches_and_move_in_one_step(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = watch(monkeypatch, cpbf, "fence_risk", lambda z_p, z_u, alpha, r, prior, _: (alpha, r, prior))
    batches = watch(monkeypatch, Run, "_batch")
    steps = watch(monkeypatch, Run, "step", lambda *_, **options: "final" if "report" in options else "fence")
    fitted()
    share = 10 / 50  # of P among the rows of P and U
    assert calls == [(alpha, share, 0.5) for _ in range(8) for alpha in boundaries(4)]
    assert steps == ["fence"] * 8 + ["final"] * 12
    assert len(batches) == 2 * len(steps)


def test_labels_are_drawn_once_and_go_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = watch(monkeypatch, Run, "_batch", lambda run, of: of)
    used = watch(monkeypatch, cpbf, "final_losses", lambda *args: (rows[-1], args[3]))
    drawn = watch(monkeypatch, cpbf, "fence_labels")
    _, data = fitted()
    (labels,) = (call.result for call in drawn)
    assert labels.shape == (data.n_unlabeled,)
    assert len(labels.unique()) > data.n_unlabeled // 2
    for of, target in used:
        assert not data.labeled[of].any()
        torch.testing.assert_close(target, labels[of - 10], rtol=0, atol=0)
    used.clear()
    fitted(labels="rounded", fence_epochs=20, fence_lr=0.02)
    assert {float(value) for _, target in used for value in target} == {0.0, 1.0}
    for of, target in used:
        np.testing.assert_array_equal(target == 1, drawn[1].result[of - 10] >= 0.5)


def test_what_is_annealed_follows_the_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = watch(monkeypatch, cpbf, "final_losses", lambda *args: args[4:])
    fitted(trust=0.5)
    assert set(seen) == {(0.5, 0.5, 0.9)}
    seen.clear()
    fitted(temperature_start=1.5, threshold_start=0.6)
    expected = [((e / 3) ** 0.8, 1.5 - e / 3, 0.6 + 0.3 * e / 3) for e in (1, 2, 3)]
    np.testing.assert_allclose(seen, np.repeat(expected, 4, axis=0))


def test_the_fence_has_an_optimizer_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    made = watch(monkeypatch, Run, "optimizer")
    method, _ = fitted(optimizer="sgd", lr=0.1, schedule="cosine")
    fence, final = (call.result for call in made)
    assert isinstance(fence, torch.optim.Adam)
    assert isinstance(final, torch.optim.SGD)
    assert len(fence.param_groups[0]["params"]) == 4 * len(list(method.net.parameters()))
    assert (fence.param_groups[0]["lr"], fence.param_groups[0]["weight_decay"]) == (2e-3, 5e-3)
    assert [group["weight_decay"] for group in final.param_groups] == [5e-3, 0]
    assert final.param_groups[0]["nesterov"]
    assert final.param_groups[0]["lr"] == pytest.approx(0, abs=1e-12)  # the cosine has ended


@pytest.mark.parametrize("fence", [1, 4, 5])
def test_the_final_network_is_fresh_or_the_weak_one_nearest_to_one_half(
    monkeypatch: pytest.MonkeyPatch, fence: int
) -> None:
    made = watch(monkeypatch, Run, "backbone")
    after_the_fence = watch(
        monkeypatch, cpbf, "fence_labels", lambda *_: [copy.deepcopy(call.result.state_dict()) for call in made]
    )
    fresh, _ = fitted(fence=fence)
    assert fresh.net is made[fence].result
    made.clear()
    warm, _ = fitted(fence=fence, start="weak", lr=1e-12)
    assert len(made) == fence
    (place,) = [k for k, call in enumerate(made) if call.result is warm.net]
    assert abs(boundaries(fence)[place] - 0.5) == min(abs(alpha - 0.5) for alpha in boundaries(fence))
    for name, parameter in warm.net.named_parameters():
        torch.testing.assert_close(parameter.detach(), after_the_fence[1][place][name], rtol=0, atol=1e-6)


# -------------------------------------------------------------------- presets, edges


def test_the_revisions_values_are_the_defaults_but_for_a_trust_that_rises() -> None:
    assert Config(**trained.preset("revision")) == Config(trust=0.5)


@pytest.mark.parametrize(("shape", "flip"), [((2, 1, 8, 8), True), ((2, 1, 8, 8), False), ((2, 5), True)])
def test_views_are_mirrored_only_where_they_may_be(shape: tuple[int, ...], flip: bool) -> None:
    run = ViewsAsked()
    method = PULCPBF(Config(flip=flip))
    method.net = nn.Flatten()  # type: ignore[assignment]
    views = method._logits(torch.zeros(shape), torch.zeros(shape), run)  # type: ignore[arg-type]
    assert [len(view) for view in views] == [2, 2, 2]
    assert [what.get("flip") for _, what in run.asked] == [None if flip else False] * 3
    assert run.asked[2][1].get("operations") == ("randaugment" if len(shape) == 4 else None)


class TestFacts(MethodFacts):
    trained = trained
    options = (
        *("fence=5", "fence_epochs=3", "fence_lr=1e-2", "fence_optimizer=sgd", "surrogate=sigmoid", "labels=rounded"),
        *("start=weak", "schedule=cosine", "labeled_batch=proportional", "trust=0.5", "temperature_start=5"),
        *("threshold=0.51", "weight_unlabeled=0.2", "weight_entropy=1"),
    )
    stages = (("", ["fence"] * 2 + ["mixed labels"] * 2),)
    unselected = "fence"
    presets_in = ("fence=2", "fence_epochs=1", "epochs=1", "steps_per_epoch=3")
    extremes = ("mechanism.c=0.002 labeled_batch=proportional",)
