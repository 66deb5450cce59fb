"""What a method sees: the table LP ‖ U, features, the prior it is given, and nothing that it was not granted."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from made_problems import labels_only, problem_of

from pubench_core.errors import PluginError
from pubench_core.specs import unlabeled_prior
from pubench_core.training.views import Features, PUData, PUPart

NOTHING: frozenset[str] = frozenset()


def view(granted: frozenset[str] = NOTHING, **more: object) -> PUData:
    """120 positives and 180 negatives, nothing split off, 36 labeled; features are row numbers."""
    data = labels_only(120, 180, test=(1, 1))
    return problem_of(data, **{"c": 0.3, "validation_fraction": 0.0, **more}).view(granted)


@pytest.mark.parametrize(("scheme", "n"), [("case-control", 336), ("single-training-set", 300)])
def test_the_table_is_lp_above_u(scheme: str, n: int) -> None:
    data = view(scheme=scheme)
    assert (len(data), data.n_labeled, data.n_unlabeled) == (n, 36, n - 36)
    assert data.labeled.tolist() == [True] * 36 + [False] * (n - 36)
    assert data.labeled_rows.tolist() == list(range(36))
    assert data.unlabeled_rows.tolist() == list(range(36, n))


def test_a_labeled_positive_and_its_copy_in_u_are_one_instance() -> None:
    data = view()
    labeled, unlabeled = (data.instance[rows] for rows in (data.labeled_rows, data.unlabeled_rows))
    assert sorted(unlabeled.tolist()) == list(range(300))
    assert len(set(labeled.tolist())) == 36
    assert data.x[data.labeled_rows].max() < 120  # the first 120 rows of the file are the positives
    assert sorted(data.x[data.unlabeled_rows, 0].tolist()) == list(range(300))


def test_instances_are_positions_in_the_permuted_pool_not_rows_of_the_file() -> None:
    data = view(scheme="single-training-set", validation_fraction=0.25)
    assert sorted(data.instance.tolist()) == list(range(225))
    assert sorted(data.validation.instance.tolist()) == list(range(225, 300))
    rows_of_the_file = data.x[:, 0]
    assert abs(float(torch.corrcoef(torch.stack([data.instance.float(), rows_of_the_file]))[0, 1])) < 0.3
    for part in (data, data.validation):
        assert torch.equal(part.take(torch.arange(len(part))), part.x)


@pytest.mark.parametrize("calibrated", [False, True])
@pytest.mark.parametrize("scheme", ["case-control", "single-training-set"])
def test_distinct_rows_name_every_instance_once(scheme: str, calibrated: bool) -> None:
    data = view(scheme=scheme, calibrated=calibrated and scheme != "case-control")
    assert sorted(data.instance[data.distinct_rows].tolist()) == list(range(300))


def test_distinct_rows_are_all_rows_where_nothing_is_labeled() -> None:
    part = PUPart(Features(torch.zeros(4, 1)), torch.arange(4), torch.zeros(4, dtype=torch.bool), "case-control")
    assert part.distinct_rows.tolist() == [0, 1, 2, 3]


def test_the_validation_part_has_the_same_structure() -> None:
    data = view(validation_fraction=0.5)
    part = data.validation
    assert (part.n_labeled, part.n_unlabeled) == (18, 150)
    assert part.labeled.tolist() == [True] * 18 + [False] * 150
    assert not set(part.instance.tolist()) & set(data.instance.tolist())
    assert not hasattr(part, "truth")


# ---------------------------------------------------------------- what must be granted


def test_prior_and_truth_are_refused_unless_granted() -> None:
    data = view()
    for name in ("prior", "unlabeled_prior", "truth"):
        with pytest.raises(PluginError, match=r"requires\(config\)"):
            getattr(data, name)


def test_one_grant_is_not_another() -> None:
    data = view(frozenset({"prior"}))
    assert data.prior == 0.4
    with pytest.raises(PluginError, match=r"data\.truth"):
        data.truth  # noqa: B018
    oracle = view(frozenset({"truth"}))
    with pytest.raises(PluginError, match=r"data\.prior"):
        oracle.prior  # noqa: B018


@pytest.mark.parametrize("scheme", ["case-control", "single-training-set"])
def test_granted_truth_is_that_of_each_row_of_the_table(scheme: str) -> None:
    data = view(frozenset({"truth"}), scheme=scheme)
    assert data.truth.dtype == torch.float32
    assert torch.equal(data.truth == 1, data.x[:, 0] < 120)


# ---------------------------------------------------------------- the prior of U


@pytest.mark.parametrize(
    ("more", "n_unlabeled", "believed", "share"),
    [
        ({}, 300, 0.4, 0.4),  # of the pool: the share in the table LP ‖ U would be 156 / 336
        ({"scheme": "single-training-set"}, 264, 84 / 264, 84 / 264),
        ({"scheme": "single-training-set", "calibrated": True}, 300, 0.4, 0.4),  # U holds the labeled positives
        ({"scheme": "single-training-set", "uncalibrated": True}, 264, 0.4, 84 / 264),  # as Wang et al. have it
    ],
)
def test_the_prior_is_of_the_pool_and_that_of_u_is_its_share_or_what_is_believed(
    more: dict[str, Any], n_unlabeled: int, believed: float, share: float
) -> None:
    problem = problem_of(labels_only(120, 180, test=(1, 1)), **{"c": 0.3, "validation_fraction": 0.0, **more})
    data = problem.view(frozenset({"prior", "truth"}))
    assert (data.prior, data.n_labeled, data.n_unlabeled) == (120 / 300, 36, n_unlabeled)
    assert data.unlabeled_prior == pytest.approx(believed)
    assert float(data.truth[data.unlabeled_rows].mean()) == pytest.approx(share)
    if more.get("uncalibrated"):
        assert problem.facts().prior.given_unlabeled == 0.4


@given(percent=st.integers(1, 99), c=st.integers(0, 99), n=st.integers(100, 10_000))
def test_the_share_left_in_u_is_pi_bar_of_wang_et_al(percent: int, c: int, n: int) -> None:
    pi, frequency = Fraction(percent, 100), Fraction(c, 100)
    pi_bar = (1 - frequency) * pi / (1 - frequency * pi)
    assert unlabeled_prior(pi, frequency * pi * n, n) == pi_bar


# ---------------------------------------------------------------- holding out


@settings(deadline=None)
@given(
    percent=st.integers(1, 99),
    labeled=st.integers(2, 40),
    others=st.integers(2, 60),
    copies=st.booleans(),
    seed=st.integers(0, 2**32),
)
@example(percent=58, labeled=2, others=50, copies=True, seed=0)  # 0.58 x 50 is 28.999... in binary
def test_holding_out_keeps_copies_together_and_p_on_both_sides(
    percent: int, labeled: int, others: int, copies: bool, seed: int
) -> None:
    u = torch.arange(labeled + others) if copies else torch.arange(labeled, labeled + others)
    instance = torch.cat([torch.arange(labeled), u])
    mask = torch.arange(len(instance)) < labeled
    scheme = "case-control" if copies else "single-training-set"
    features = Features(torch.zeros(labeled + others, 1))
    part = PUPart(features, instance[:0], mask[:0], scheme)
    data = PUData(features, instance, mask, scheme, validation=part, granted=NOTHING, prior=0.5, truth=None)
    kept, held = data.hold_out(percent / 100, torch.Generator().manual_seed(seed))
    assert sorted(torch.cat([kept, held]).tolist()) == list(range(len(data)))
    assert not set(instance[kept].tolist()) & set(instance[held].tolist())
    assert 1 <= int(mask[held].sum()) < labeled
    assert int(mask[held].sum()) == max(1, percent * labeled // 100)
    assert len(set(instance[held].tolist())) == max(1, percent * labeled // 100) + max(1, percent * others // 100)


@pytest.mark.parametrize("seed", range(5))
def test_holding_out_keeps_groups_together(seed: int) -> None:
    group, mask = torch.arange(60) // 4 % 10, torch.arange(60) < 12  # 3 groups with labels, all of them in U as well
    features, scheme = Features(torch.zeros(60, 1)), "single-training-set"
    rows = torch.arange(60)
    part = PUPart(features, rows[:0], mask[:0], scheme)
    data = PUData(features, rows, mask, scheme, validation=part, granted=NOTHING, prior=0.5, truth=None, group=group)
    kept, held = data.hold_out(0.4, torch.Generator().manual_seed(seed))
    assert not set(group[kept].tolist()) & set(group[held].tolist())
    assert len(set(group[held].tolist())) == 1 + 2
    assert data.held_out_labeled(0.4) == 1


def test_groups_are_numbered_in_the_order_of_the_pool_not_of_the_file() -> None:
    data = replace(labels_only(300, 700), groups=np.arange(1000) // 5)
    found = problem_of(data).view(NOTHING)
    of_file = found.x[:, 0].int() // 5
    for code in found.group.unique().tolist():
        assert len(set(of_file[found.group == code].tolist())) == 1
    assert len(found.group.unique()) == len(of_file.unique())
    assert abs(np.corrcoef(found.group.numpy(), of_file.numpy())[0, 1]) < 0.2


def test_a_row_without_a_group_is_one_of_its_own() -> None:
    data = view(c=0.1)
    assert data.group is data.instance


def test_a_single_labeled_positive_is_kept() -> None:
    data = view(c=0.01)
    assert data.n_labeled == 1
    kept, held = data.hold_out(0.9, torch.Generator().manual_seed(1))
    assert data.labeled[kept].sum() == 1
    assert len(held) > 0
    assert int(data.instance[0]) not in data.instance[held].tolist()


def test_the_same_generator_state_holds_out_the_same_rows() -> None:
    data = view()
    first, again, other = (data.hold_out(0.3, torch.Generator().manual_seed(s))[1].tolist() for s in (1, 1, 2))
    assert first == again
    assert first != other


# ---------------------------------------------------------------- features


def test_bytes_come_out_as_float32_between_0_and_1() -> None:
    stored = torch.arange(256, dtype=torch.uint8).view(256, 1, 1, 1)
    out = Features(stored).take(torch.tensor([0, 51, 255]))
    assert out.dtype == torch.float32
    assert out.shape == (3, 1, 1, 1)
    assert out.flatten().tolist() == np.array([0, 51 / 255, 1], dtype=np.float32).tolist()
    assert stored.dtype == torch.uint8
    assert int(stored[51]) == 51  # what is stored is left as it was


def test_floats_come_out_as_they_are_in_the_order_of_the_given_rows() -> None:
    features = Features(torch.tensor([[1.5], [-2.0], [300.0]]))
    assert features.shape == (1,)
    assert features.take(torch.tensor([2, 0, 2])).flatten().tolist() == [300.0, 1.5, 300.0]
