"""Epochs, batches and steps: who is in a batch, when a pass ends, what a step changes, what a bad value is called."""

from __future__ import annotations

import linecache
from collections import Counter
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pubench_backbones.networks import mlp_wang
from pubench_testkit.testing import pu_table, run_on
from torch import Tensor, nn

from pubench_core.errors import PluginError, RunFailed
from pubench_core.specs.config import MethodConfig, TrainingConfig
from pubench_core.training.batches import Batch
from pubench_core.training.epochs import EpochEnd, ending_epochs_with
from pubench_core.training.losses import READ_EVERY
from pubench_core.training.run import Run
from pubench_core.training.views import PUData


class Listening(EpochEnd):
    """Stands where the evaluator's side of an epoch's end would be."""

    def __init__(self, ends_after: int | None = None) -> None:
        self.epochs: list[dict[str, Any]] = []
        self.ends_after = ends_after

    @property
    def exhausted(self) -> bool:
        return len(self.epochs) == self.ends_after

    def start_stage(self) -> None:
        pass

    def end_of_epoch(self, epoch: Any, stage_epochs: int, **said: Any) -> None:
        self.epochs.append({"epoch": epoch, **said})


def table(n_labeled: int, n_unlabeled: int) -> PUData:
    """A case-control table: the labeled positives are also the first rows of U. The feature is the instance."""
    return pu_table(torch.arange(n_unlabeled)[:, None], n_labeled, "case-control", copied=True)


def run_of(
    n_labeled: int, n_unlabeled: int, *, seed: int = 2, of: type[MethodConfig] = TrainingConfig, **config: Any
) -> Run[Any]:
    return run_on(table(n_labeled, n_unlabeled), of(**config), lambda outputs: mlp_wang((1,), outputs), seed=seed)


def rows(batches: Any) -> list[list[int]]:
    return [batch.row.tolist() for batch in batches]


def flat(batches: Any) -> list[int]:
    return [row for batch in rows(batches) for row in batch]


def sizes(batches: Any) -> list[int]:
    return [len(batch.row) for batch in batches]


def p_side(pairs: Any) -> list[Batch]:
    return [p for p, _ in pairs]


def u_side(pairs: Any) -> list[Batch]:
    return [u for _, u in pairs]


# ---------------------------------------------------------------- joint batches


@settings(deadline=None)
@given(n_labeled=st.integers(1, 20), n_unlabeled=st.integers(20, 60), size=st.integers(2, 100))
def test_a_joint_pass_has_every_row_once_and_no_batch_of_a_single_row(
    n_labeled: int, n_unlabeled: int, size: int
) -> None:
    batches = list(run_of(n_labeled, n_unlabeled, batch_size=size).joint_batches())
    assert sorted(flat(batches)) == list(range(n_labeled + n_unlabeled))
    assert all(n == size for n in sizes(batches)[:-1])
    assert 2 <= sizes(batches)[-1] <= size + 1


def test_a_batch_says_which_rows_it_has_and_who_is_labeled() -> None:
    run = run_of(5, 30, batch_size=7)
    data = table(5, 30)
    for batch in run.joint_batches():
        assert torch.equal(batch.labeled, data.labeled[batch.row])
        assert torch.equal(batch.x, data.take(batch.row))
        assert batch.x.dtype == torch.float32


def test_joint_batches_may_be_restricted_to_some_rows() -> None:
    chosen = torch.tensor([1, 4, 7, 9, 12])
    assert sorted(flat(run_of(3, 10, batch_size=2).joint_batches(chosen))) == [1, 4, 7, 9, 12]
    steps = run_of(3, 10, batch_size=2, steps_per_epoch=9).joint_batches(chosen)
    assert set(flat(steps)) == {1, 4, 7, 9, 12}


def test_each_joint_pass_is_shuffled_anew_and_the_seed_decides_how() -> None:
    run, again, other = (run_of(5, 40, batch_size=8, seed=seed) for seed in (2, 2, 25))
    first, second = rows(run.joint_batches()), rows(run.joint_batches())
    assert first != second
    assert rows(again.joint_batches()) == first
    assert rows(other.joint_batches()) != first


@pytest.mark.parametrize(
    ("number", "unit", "steps_per_epoch", "epochs"),
    [
        (7, "epochs", 100, 7),
        (7, "passes", None, 7),
        (7, "passes", 100, 4),  # 7 x 63 full batches of 128 among 8,190 rows
        (19, "passes", 100, 12),
        (1, "passes", 1000, 1),  # a length above 0 is one epoch at least
        (0, "passes", 100, 0),
    ],
)
def test_a_length_in_passes_over_u_is_one_in_epochs(
    number: int, unit: Any, steps_per_epoch: int | None, epochs: int
) -> None:
    run = run_of(10, 8190, batch_size=128, steps_per_epoch=steps_per_epoch)
    assert run.in_epochs(number, unit) == epochs
    fewer_rows_than_a_batch = run_of(10, 50, batch_size=128, steps_per_epoch=10)
    assert fewer_rows_than_a_batch.in_epochs(20, "passes") == 2  # a pass is one step


def test_joint_batches_of_several_epochs_continue_one_pass() -> None:
    run = run_of(3, 10, batch_size=4, steps_per_epoch=1)
    seen = [row for _ in range(13) for row in flat(run.joint_batches())]
    assert len(seen) == 4 * 13
    for start in range(0, len(seen), 13):
        assert sorted(seen[start : start + 13]) == list(range(13))


def test_joint_batches_have_the_size_that_is_asked_for_each_time() -> None:
    run = run_of(3, 10, batch_size=4, steps_per_epoch=2)
    assert [sizes(run.joint_batches(size=size)) for size in (4, 6, 4)] == [[4, 4], [6, 6], [4, 4]]


# ---------------------------------------------------------------- paired batches


def test_a_pair_is_one_batch_of_labeled_and_one_of_unlabeled_rows() -> None:
    for p, u in run_of(6, 20).paired_batches(3, 5):
        assert p.labeled.all()
        assert not u.labeled.any()
        assert (len(p.row), len(u.row)) == (3, 5)


@pytest.mark.parametrize(
    ("tail", "epoch_of", "expected"),
    [
        ("span", "unlabeled", 4),  # 10 rows in batches of 3
        ("keep", "unlabeled", 4),
        ("drop", "unlabeled", 3),
        ("span", "labeled", 3),  # 5 rows in batches of 2
        ("keep", "labeled", 3),
        ("drop", "labeled", 2),
    ],
)
def test_a_paired_epoch_is_one_pass_over_the_side_asked_for(tail: Any, epoch_of: Any, expected: int) -> None:
    run = run_of(5, 10)
    assert len(list(run.paired_batches(2, 3, epoch_of=epoch_of, tail=tail))) == expected


def test_the_number_of_pairs_is_that_asked_for_else_that_configured() -> None:
    run = run_of(5, 10, steps_per_epoch=6)
    assert len(list(run.paired_batches(2, 3))) == 6
    assert len(list(run.paired_batches(2, 3, steps=1))) == 1
    assert sizes(p_side(run_of(5, 10, batch_size=4).paired_batches())) == [4, 4, 4]


@pytest.mark.parametrize(
    ("size", "tail", "of_a_round"),
    [
        (3, "span", [3] * 5),  # three passes over five rows: a batch joins the end of one and the next
        (5, "span", [5]),
        (3, "keep", [3, 2]),
        (64, "keep", [5]),
    ],
)
def test_every_pass_has_each_row_of_its_side_once(size: int, tail: Any, of_a_round: list[int]) -> None:
    p = p_side(run_of(5, 10).paired_batches(size, 1, steps=2 * len(of_a_round), tail=tail))
    assert sizes(p) == of_a_round * 2
    seen = flat(p)
    assert all(sorted(seen[start : start + 5]) == [0, 1, 2, 3, 4] for start in range(0, len(seen), 5))


def test_a_dropped_tail_is_left_out_of_its_pass() -> None:
    p = p_side(run_of(5, 10).paired_batches(2, 1, steps=20, tail="drop"))
    assert sizes(p) == [2] * 20
    assert all(len(set(flat(p[i : i + 2]))) == 4 for i in range(0, 20, 2))
    assert set(flat(p)) == {0, 1, 2, 3, 4}  # another row is left out each time


@pytest.mark.parametrize("tail", ["span", "drop"])
def test_a_batch_larger_than_its_side_is_drawn_with_replacement(tail: Any) -> None:
    p = p_side(run_of(5, 10).paired_batches(64, 1, steps=20, tail=tail))
    assert sizes(p) == [64] * 20
    counts = Counter(flat(p))
    assert set(counts) == {0, 1, 2, 3, 4}
    sigma = (64 * 20 * 0.2 * 0.8) ** 0.5
    assert all(abs(count - 64 * 20 / 5) < 5 * sigma for count in counts.values())


def test_pairs_may_be_restricted_to_some_rows_of_each_side() -> None:
    pairs = list(run_of(5, 10).paired_batches(2, 2, steps=12, p_rows=torch.tensor([1, 3]), u_rows=torch.arange(7, 10)))
    assert set(flat(p_side(pairs))) == {1, 3}
    assert set(flat(u_side(pairs))) == {7, 8, 9}


def test_a_batch_of_nothing_is_refused() -> None:
    with pytest.raises(RunFailed, match="a batch needs at least one row"):
        list(run_of(0, 10).paired_batches(2, 2))


def test_pairs_of_several_epochs_continue_one_pass() -> None:
    run = run_of(5, 10, steps_per_epoch=1)
    pairs = [pair for _ in range(10) for pair in run.paired_batches(2, 4)]
    p, u = flat(p_side(pairs)), flat(u_side(pairs))
    assert all(sorted(p[start : start + 5]) == list(range(5)) for start in range(0, 20, 5))
    assert all(sorted(u[start : start + 10]) == list(range(5, 15)) for start in range(0, 40, 10))


def test_stacked_batches_are_p_rows_above_as_many_u_rows() -> None:
    batches = list(run_of(6, 12, batch_size=3).stacked_batches())
    assert sizes(batches) == [6] * 4
    for batch in batches:
        assert batch.labeled.tolist() == [True] * 3 + [False] * 3
        assert torch.equal(batch.labeled, table(6, 12).labeled[batch.row])
        assert batch.x.shape == (6, 1)
    assert sizes(run_of(6, 12, batch_size=3).stacked_batches(2)) == [4] * 6


def test_batches_go_once_over_given_rows_in_their_order_or_shuffled() -> None:
    run, chosen = run_of(5, 20, batch_size=4), torch.tensor([9, 3, 20, 1, 7, 11, 2])
    assert rows(run.batches(chosen)) == [[9, 3, 20, 1], [7, 11, 2]]
    shuffled = rows(run.batches(chosen, 7, shuffle=True))[0]
    assert sorted(shuffled) == sorted(chosen.tolist())


def test_no_row_gives_no_batch_and_a_shuffled_pass_no_single_row() -> None:
    run, none = run_of(5, 20, batch_size=4), torch.arange(0)
    assert list(run.joint_batches(none)) == list(run.batches(none)) == list(run.batches(none, shuffle=True)) == []
    assert list(run_of(5, 20, steps_per_epoch=3).joint_batches(none)) == []
    assert sizes(run.batches(torch.arange(17), 8, shuffle=True)) == [8, 9]
    assert sizes(run.batches(torch.arange(17), 8)) == [8, 8, 1]


def test_p_and_u_may_end_their_passes_in_different_ways() -> None:
    pairs = list(run_of(3, 5, batch_size=2).paired_batches(tail=("span", "drop"), steps=4))
    assert sizes(p_side(pairs)) == sizes(u_side(pairs)) == [2, 2, 2, 2]
    seen = [row for u in u_side(pairs)[:2] for row in u.row.tolist()]
    assert len(set(seen)) == 4  # of five, one is dropped
    first = [row for p in p_side(pairs)[:3] for row in p.row.tolist()]
    assert sorted(first) == [0, 0, 1, 1, 2, 2]


# ---------------------------------------------------------------- epochs


def test_epochs_count_within_their_stage_and_over_all_stages() -> None:
    run = run_of(2, 4)
    seen = [
        (e.stage, e.in_stage, e.total) for stage, n in (("warm-up", 2), ("main", 3)) for e in run.epochs(n, stage=stage)
    ]
    assert seen == [("warm-up", 0, 0), ("warm-up", 1, 1), ("main", 0, 2), ("main", 1, 3), ("main", 2, 4)]


def test_this_and_every_later_loop_end_when_no_criterion_can_change() -> None:
    run = run_of(2, 4)
    with ending_epochs_with(Listening(ends_after=3)):
        assert len(list(run.epochs(5))) == 3
        assert list(run.epochs(5, stage="later")) == []


def test_patience_is_the_configured_one_unless_a_loop_has_its_own() -> None:
    run, engine = run_of(2, 4, patience=7), Listening()
    with ending_epochs_with(engine):
        for options in ({}, {"patience": 2}, {"patience": None}):
            list(run.epochs(1, **options))
    assert [said["patience"] for said in engine.epochs] == [7, 2, None]


def test_a_method_without_training_fields_has_epochs_but_no_sized_batches() -> None:
    run, engine = run_of(2, 4, of=MethodConfig), Listening()
    with ending_epochs_with(engine):
        assert len(list(run.epochs(2))) == 2
    assert [said["patience"] for said in engine.epochs] == [None, None]
    assert rows(run.batches(torch.arange(4), 3)) == [[0, 1, 2], [3]]
    for needs_fields in (lambda: run.optimizer([one(1.0)]), lambda: list(run.joint_batches())):
        with pytest.raises(PluginError, match="MethodConfig has no optimizer, learning rate or batch size"):
            needs_fields()


def test_each_network_has_its_own_initialization_whatever_the_caller_drew() -> None:
    torch.manual_seed(0)
    before = torch.get_rng_state()
    first, second = (lambda run: (run.backbone(), run.backbone()))(run_of(2, 4))
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(1)
    again = run_of(2, 4).backbone()
    assert torch.equal(first.head.weight, again.head.weight)
    assert not torch.equal(first.head.weight, second.head.weight)


# ---------------------------------------------------------------- steps


def one(value: float) -> nn.Parameter:
    return nn.Parameter(torch.tensor(value))


def sgd(run: Run, parameter: nn.Parameter) -> torch.optim.Optimizer:
    return run.optimizer([parameter])


def plain_sgd(**more: Any) -> Run:
    return run_of(2, 4, optimizer="sgd", momentum=0.0, lr=0.1, **more)


def test_all_gradients_are_taken_before_any_optimizer_steps() -> None:
    run, a, b = plain_sgd(), one(2.0), one(5.0)
    product = a * b
    run.step((product, sgd(run, a)), (product, sgd(run, b)))
    assert a.item() == pytest.approx(2 - 0.1 * 5)
    assert b.item() == pytest.approx(5 - 0.1 * 2)  # of the old a


def test_an_objective_changes_only_the_parameters_of_its_own_optimizer() -> None:
    run, a, b = plain_sgd(), one(2.0), one(5.0)
    run.step((a * b, sgd(run, a)), (-3 * a * b, sgd(run, b)))
    assert a.item() == pytest.approx(2 - 0.1 * 5)
    assert b.item() == pytest.approx(5 + 0.1 * 3 * 2)
    run.step(a * b, sgd(run, a))
    assert b.item() == pytest.approx(5 + 0.1 * 3 * 2)


def test_gradients_of_earlier_steps_are_forgotten() -> None:
    run, a, b = plain_sgd(), one(2.0), one(5.0)
    first, second = sgd(run, a), sgd(run, b)
    for _ in range(2):
        run.step((a * 1.0, first), (b * 2.0, second))
    assert a.item() == pytest.approx(2 - 2 * 0.1)
    assert b.item() == pytest.approx(5 - 2 * 0.2)


def test_a_frozen_parameter_in_an_optimizer_stays_as_it_is() -> None:
    run, a, frozen, b = plain_sgd(), one(2.0), one(7.0).requires_grad_(False), one(5.0)
    run.step((a * frozen, run.optimizer([a, frozen])), (b * 1.0, sgd(run, b)))
    assert frozen.item() == 7
    assert a.item() == pytest.approx(2 - 0.1 * 7)
    assert b.item() == pytest.approx(5 - 0.1)


def test_an_epoch_reports_the_mean_of_each_value_by_kind_of_step() -> None:
    run, a, b = plain_sgd(), one(2.0), one(5.0)
    engine = Listening()
    with ending_epochs_with(engine):
        for _ in run.epochs(2):
            for value in (1.0, 2.0, 6.0):
                run.step(a * 0.0 + value, sgd(run, a), report={"risk": torch.tensor(-value)})
                run.step(b * 0.0 - value, sgd(run, b), name="generator")
                run.step(b * 0.0, sgd(run, b), name="generator", report={"other": torch.tensor(10 * value)})
    assert len(engine.epochs) == 2
    for said in engine.epochs:
        assert said["values"] == pytest.approx({"loss": 3, "risk": -3, "generator": -1.5, "other": 30})


# ---------------------------------------------------------------- values that are not finite


def failure_of(run: Run, values: list[list[float]], *, report: str | None = None) -> RunFailed:
    """How a run fails that trains one epoch per list, one step per value, after a warm-up of one epoch."""
    a = one(1.0)

    def train() -> None:
        for _ in run.epochs(1, stage="warm-up"):
            run.step(a * 0.0, sgd(run, a))
        for epoch in run.epochs(len(values), stage="main"):
            for value in values[epoch.in_stage]:
                loss: Tensor = a * 0.0 if report else a * value
                run.step(loss, sgd(run, a), report={report: torch.tensor(value)} if report else None)

    with pytest.raises(RunFailed) as failure:
        train()
    return failure.value


@pytest.mark.parametrize(("bad", "text"), [(float("nan"), "nan"), (float("inf"), "inf"), (-float("inf"), "-inf")])
def test_the_first_bad_step_is_named_with_its_stage_and_epoch(bad: float, text: str) -> None:
    failure = failure_of(run_of(2, 4, lr=1e-9), [[0.0, 1.0], [0.0, 0.0, bad, 0.0, bad]])
    assert (failure.stage, failure.epoch, failure.step) == ("main", 3, 3)
    assert failure.reason == f"loss is {text}"
    assert isinstance(failure.about, tuple)
    assert linecache.getline(*failure.about).strip().startswith("run.step(loss, ")
    assert str(failure) == f"loss is {text} (stage main, epoch 3, step 3)"


def test_a_reported_value_is_watched_and_named_too() -> None:
    failure = failure_of(plain_sgd(), [[0.0, float("nan")]], report="propensity")
    assert failure.reason == "propensity is nan"
    assert failure.step == 2


@pytest.mark.parametrize("batch", [1, READ_EVERY - 1, READ_EVERY, READ_EVERY + 1, 2 * READ_EVERY + 7])
def test_a_bad_value_ends_the_run_within_a_hundred_steps(batch: int) -> None:
    run, a, taken = plain_sgd(), one(1.0), []
    optimizer = sgd(run, a)

    def train() -> None:
        for _ in run.epochs(1):
            for step in range(1, 10 * READ_EVERY):
                taken.append(step)
                run.step(a * (float("inf") if step == batch else 0.0), optimizer)

    with pytest.raises(RunFailed) as failure:
        train()
    assert failure.value.step == batch
    assert batch <= len(taken) < batch + 100


def test_the_position_is_the_step_that_is_being_worked_on() -> None:
    run, a = plain_sgd(), one(1.0)
    places = []
    for _ in run.epochs(2, stage="only"):
        for _ in range(READ_EVERY + 2):
            places.append(run.position)
            run.step(a * 0.0, sgd(run, a))
    assert places[0] == {"stage": "only", "epoch": 1, "step": 1}
    assert places[READ_EVERY + 1] == {"stage": "only", "epoch": 1, "step": READ_EVERY + 2}
    assert places[-1] == {"stage": "only", "epoch": 2, "step": READ_EVERY + 2}
