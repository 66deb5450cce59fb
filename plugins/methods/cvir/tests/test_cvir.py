"""CVIR in the engine: which rows are ignored, what is skipped, and degenerate problems."""

from __future__ import annotations

import pytest
import torch
from pubench_cvir import method as cvir
from pubench_cvir.method import CVIR, n_ignored
from pubench_testkit.testing import MethodFacts, Trainer, ViewsAsked, watch

from pubench_core.engine.build import build_problem
from pubench_core.engine.train import train
from pubench_core.errors import RequestError
from pubench_core.training.run import Run

trained = Trainer("cvir", short=("epochs=2", "warm_up=1", "mechanism.c=0.3"))


class TestFacts(MethodFacts):
    trained = trained
    learns = (("epochs=8 lr=2e-3 mechanism.c=0.3", 0.85),)
    stages = (("warm_up=3", ["warm-up"] * 3 + ["train"] * 2), ("warm_up=0", ["train"] * 2))
    unselected = "warm-up"
    options = (
        "weights=prior",
        "unlabeled_batch=proportional",
        "augment=true",
        "batch_size=999",
    )
    presets_in = ("epochs=1", "warm_up=1", "steps_per_epoch=3", "mechanism.c=0.3")


@pytest.mark.parametrize(("scheme", "calibrate"), [("case-control", "auto"), ("single-training-set", "off")])
def test_as_many_rows_are_ignored_as_u_has_positives_or_as_pi_says(
    scheme: str, calibrate: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = watch(monkeypatch, cvir, "provisional_negatives")
    result = trained.shortly(f"data.scheme={scheme}", f"method.calibrate={calibrate}")
    data = result.evaluator.problem.view(frozenset({"prior", "truth"}))
    in_u = int(data.truth[data.unlabeled_rows].sum())
    if scheme == "single-training-set" and calibrate == "off":  # U lacks the labeled positives, and π is believed
        assert n_ignored(data.n_unlabeled, data.prior) > in_u
        in_u = n_ignored(data.n_unlabeled, data.prior)
    assert [int((~call.result).sum()) for call in chosen] == [in_u] * 2  # once per epoch after the warm-up


def test_a_batch_of_which_nothing_is_kept_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pubench_cvir.method.provisional_negatives", lambda s, _: torch.zeros(len(s), dtype=torch.bool))

    def never(self: Run[CVIR.Config], *rest: object, **more: object) -> None:
        raise AssertionError("a step was taken")

    monkeypatch.setattr(Run, "step", never)
    assert len(trained("epochs=2", "warm_up=0", "mechanism.c=0.3").epochs) == 2


def test_crops_of_augmented_images_show_zeros_beyond_the_edge() -> None:
    run = ViewsAsked()
    for shape in ((2, 3, 8, 8), (2, 5)):
        CVIR._view(torch.zeros(shape), run)  # type: ignore[arg-type]
    assert run.asked == [("weak_view", {"padding": "zeros"}), ("weak_view", {})]


def test_a_prior_that_leaves_no_negative_is_refused_before_the_run_starts() -> None:
    plan = trained.plan(*trained.short, "prior=0.9999999999999")
    announced: list[bool] = []
    with pytest.raises(RequestError, match="ignores all 1149 unlabeled rows"):
        train(plan, build_problem(plan), started=lambda: announced.append(True))
    assert not announced


@pytest.mark.parametrize(("n", "share", "ignored"), [(17, 0.35, 5), (100, 0.29, 29), (9, 1.0, 9), (9, 0.0, 0)])
def test_the_number_of_ignored_rows_is_rounded_down_and_not_off_by_one(n: int, share: float, ignored: int) -> None:
    assert n_ignored(n, share) == ignored
