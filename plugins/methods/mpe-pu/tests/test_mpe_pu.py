"""MPE-PU in the engine: its estimate, what it is made from, and degenerate problems; and the estimator alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from pubench_mpe_pu import method as mpe_pu
from pubench_mpe_pu.method import LARGEST_SHARE, MPEPU
from pubench_testkit.testing import LAST, MethodFacts, Trainer, ViewsAsked, watch

from pubench_core.engine.build import build_problem
from pubench_core.engine.train import Trained, train
from pubench_core.errors import RequestError
from pubench_core.training.run import Run
from pubench_formulas.bbe import best_bin

trained = Trainer("mpe-pu", short=("epochs=2", "warm_up=1", "mechanism.c=0.3"))


class TestFacts(MethodFacts):
    trained = trained
    stages = (("warm_up=3", ["warm-up"] * 3 + ["train"] * 2), ("warm_up=0", ["train"] * 2))
    unselected = "warm-up"
    options = (
        "hold_out=0.5",
        "unlabeled_batch=proportional",
        "augment=true",
        "batch_size=999",
    )
    presets_in = ("epochs=1", "warm_up=1", "steps_per_epoch=3", "mechanism.c=0.3")


def estimates(result: Trained) -> list[float]:
    """The share with which each epoch was trained."""
    return [event.values["alpha"] for event in result.epochs]


def test_mpe_pu_learns_and_estimates_the_share_of_positives() -> None:
    result = trained("epochs=8", "lr=2e-3", "mechanism.c=0.5")
    problem = result.evaluator.problem
    assert ((result.scores["last"]["test"] > 0) == problem.truth_test).mean() > 0.85
    assert abs(estimates(result)[-1] - problem.prior_true) < 0.15


@pytest.mark.parametrize("scheme", ["case-control", "single-training-set"])
def test_estimates_are_made_from_rows_that_were_never_trained_on(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    batches = watch(monkeypatch, Run, "paired_batches")
    shares = watch(monkeypatch, MPEPU, "_share", lambda method, p_held, u_held, run: (p_held, u_held))
    result = trained.shortly(f"data.scheme={scheme}")
    data = result.evaluator.problem.view(frozenset())
    p_held, u_held = shares[0]
    trained_on = torch.cat([side.row for call in batches for pair in call.result for side in pair])
    assert data.labeled[p_held].all()
    assert not data.labeled[u_held].any()
    assert len(u_held) == pytest.approx(0.2 * data.n_unlabeled, abs=2)
    seen, kept_back = data.instance[trained_on], data.instance[torch.cat([p_held, u_held])]
    assert not torch.isin(seen, kept_back).any()
    assert len(seen.unique()) + len(kept_back.unique()) == len(data.distinct_rows)
    assert all(torch.equal(p, p_held) and torch.equal(u, u_held) for p, u in shares)


def test_the_share_is_estimated_before_every_epoch_and_ignored_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    shares = iter([0.8, 0.25, 1.7, 0.6])
    ignored = watch(monkeypatch, mpe_pu, "provisional_negatives", lambda scores, share: share)

    def given_share(*rest: object, **more: object):  # type: ignore[no-untyped-def]
        return best_bin(np.empty(0), np.empty(0))._replace(share=next(shares))

    monkeypatch.setattr("pubench_mpe_pu.method.best_bin", given_share)
    trained("epochs=2", "warm_up=2", "mechanism.c=0.3")
    # after each of two epochs of warm-up and two of training; the last is not used
    assert ignored == [0.25, LARGEST_SHARE]
    assert next(shares, None) is None


def test_without_a_warm_up_nothing_is_ignored_before_the_first_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    ignored = watch(monkeypatch, mpe_pu, "provisional_negatives", lambda scores, share: share)
    result = trained("epochs=2", "warm_up=0", "mechanism.c=0.3")
    assert ignored[0] == estimates(result)[0] == 0
    assert ignored[1] == pytest.approx(estimates(result)[1])
    assert ignored[1] > 0


def test_the_boundary_is_lower_while_it_separates_p_from_u(monkeypatch: pytest.MonkeyPatch) -> None:
    thresholds: list[float] = []
    monkeypatch.setattr(MPEPU, "finalize", lambda method, data, run: thresholds.append(method.threshold))
    result = trained("epochs=2", "warm_up=2", "mechanism.c=0.3", "evaluation.trace=[test]")
    share = estimates(result)[2]  # made after the warm-up
    assert thresholds[1] == pytest.approx(np.log(0.5 / (0.5 + share)), abs=1e-6)  # probability 0.5 / (1 + share)
    assert set(thresholds[2:]) == {0.0}


def test_crops_of_augmented_images_show_zeros_beyond_the_edge() -> None:
    run = ViewsAsked()
    for shape in ((2, 3, 8, 8), (2, 5)):
        MPEPU._view(torch.zeros(shape), run)  # type: ignore[arg-type]
    assert run.asked == [("weak_view", {"padding": "zeros"}), ("weak_view", {})]


@pytest.mark.parametrize(
    ("c", "n", "held", "remedy"),
    [
        (0.002, 1, 0, r"label more \(mechanism\.c\)"),
        (0.004, 2, 1, r"label more \(mechanism\.c\)"),
        (0.007, 3, 1, "hold_out=0.67 would do"),
    ],
)
def test_too_few_labeled_positives_are_refused_before_the_run_is_announced(
    c: float, n: int, held: int, remedy: str
) -> None:
    plan = trained.plan("epochs=1", f"mechanism.c={c}", *LAST)
    announced: list[bool] = []
    with pytest.raises(RequestError, match=f"hold_out = 0.2 of {n} gives {held}; {remedy}$"):
        train(plan, build_problem(plan), started=lambda: announced.append(True))
    assert not announced
