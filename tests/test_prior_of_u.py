"""Methods whose formula speaks of U read the share of positives in U, never π itself; which rows U is."""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter

import numpy as np
import pytest
from pubench_testkit.conformance import Subject
from pubench_testkit.disguise import other_labels

from pubench.method import PUData
from pubench_core.engine.build import as_on_a_sheet, build_problem
from pubench_core.errors import RequestError
from pubench_core.plugins.info import MethodInfo
from pubench_core.plugins.registry import registry

METHODS = [info.key for info in registry().infos(MethodInfo) if "prior" in info.needs]


def test_there_are_such_methods() -> None:
    assert METHODS


@pytest.mark.parametrize("method", METHODS)
def test_a_method_reads_the_share_in_u_and_not_the_prior_of_the_pool(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject, read = Subject.of(method), list[float]()
    plan = subject.plan(scheme="single-training-set")

    def never(data: PUData) -> float:
        raise AssertionError("data.prior was read")

    def share(data: PUData) -> float:
        read.append(0.4)
        return 0.4

    problem = subject.problem(plan)
    monkeypatch.setattr(PUData, "prior", property(never))
    monkeypatch.setattr(PUData, "unlabeled_prior", property(share))
    subject.scores(plan, problem)
    assert read


def test_a_prior_without_positives_in_u_is_refused_unless_calibrated() -> None:
    """36 of 120 rows are labeled."""
    subject = Subject.of("upu")
    plan = subject.plan("prior=0.3", scheme="one-sample")
    assert subject.problem(plan).unlabeled_prior == 0.3
    either = replace(plan, method=replace(plan.method, info=replace(plan.method.info, setting="either")))
    with pytest.raises(RequestError, match=r"36 of 120 rows are labeled positives, so it must be above 0\.3"):
        build_problem(either)


@pytest.mark.parametrize("by", ["random", "top", "uncertain", "sheet"])
@pytest.mark.parametrize(
    ("method", "scheme"),
    [("naive", "single-training-set"), ("naive", "case-control"), ("naive", "one-sample"), ("upu", "one-sample")],
)
def test_a_checked_row_joins_p_or_leaves_u_and_the_share_in_u_stays_right(method: str, scheme: str, by: str) -> None:
    """``upu`` is calibrated: its U is U and P together."""
    subject = Subject.of(method)
    plan = subject.plan("checked.rows=20", f"checked.by={by}", scheme=scheme)
    before, after = subject.problem(subject.plan(scheme=scheme)), subject.problem(plan)
    data, (positive, negative) = after.view(frozenset({"prior"})), after.facts().checked
    assert positive + negative == 20
    assert data.n_labeled == before.split.train.n_labeled + positive
    assert data.n_negative == (negative if method == "naive" else 0)
    assert len(after.split.train.rows) == len(before.split.train.rows) - negative
    assert after.data.y is not None
    truth = after.data.y[np.concatenate([after.split.train.rows, after.split.negatives])][data.instance]
    assert not truth[data.negative_rows].any()
    assert data.unlabeled_prior == pytest.approx(truth[data.unlabeled_rows].mean())
    assert after.prior == before.prior == before.prior_true == after.prior_true
    for part in ("validation.rows", "validation.labeled", "test_rows"):
        assert np.array_equal(attrgetter(part)(before.split), attrgetter(part)(after.split))


def test_rows_of_a_sheet_weigh_as_much_as_the_design_says() -> None:
    """12 rows of 2 draws above the middle and 2 below: 2 of 3 rows, so all of a side has to be drawn."""
    rng, times = np.random.default_rng(0), np.zeros(12)
    for _ in range(4000):
        rows, stands_for = as_on_a_sheet(np.arange(12), 3, 4, rng)
        assert (rows < 3).sum() == 2
        assert stands_for.sum() == 12
        times[rows] += stands_for
    assert times / 4000 == pytest.approx(np.ones(12), abs=0.15)  # weighted counts are those of all rows
    assert as_on_a_sheet(np.arange(12), 1, 6, rng)[0].tolist()[0] == 0


def test_weights_of_checked_rows_are_for_methods_that_take_them() -> None:
    sets, granted = ("checked.rows=20", "checked.by=sheet"), frozenset({"prior"})
    subjects = [Subject.of(key) for key in ("naive", "nnpu")]
    weighted, plain = (one.problem(one.plan(*sets)).view(granted) for one in subjects)
    assert weighted.weight is not None
    assert plain.weight is None
    checked = weighted.weight[weighted.weight != 1]
    assert len(checked) > 10
    assert float(weighted.weight.sum()) == pytest.approx(len(weighted))  # mean 1 over the checked rows


def test_checked_rows_are_refused_if_other_counts_would_be_wrong() -> None:
    with pytest.raises(RequestError, match=r"^checked\.rows needs simulated labels"):
        Subject.of("naive").plan("checked.rows=3", scheme="two-sample")


@pytest.mark.parametrize("scheme", ["case-control", "single-training-set"])
def test_a_prior_that_checked_negatives_contradict_is_refused(scheme: str) -> None:
    """It would give a method more positives than there are rows of U."""
    subject = Subject.of("upu")
    with pytest.raises(RequestError, match=r"prior 0\.98 contradicts the labels: \d+ of \d+ rows are known negatives"):
        subject.problem(subject.plan("checked.rows=40", "prior=0.98", scheme=scheme))


@pytest.mark.parametrize("key", [info.key for info in registry().infos(MethodInfo) if info.learns_from_negatives])
def test_known_negatives_change_what_a_method_learns(key: str) -> None:
    """Next to the same run with the negatives left out. Of the labels of other rows of U nothing is known."""
    subject = Subject.of(key)
    plan = subject.plan("checked.rows=40")
    without = replace(plan, method=replace(plan.method, info=replace(plan.method.info, learns_from_negatives=False)))
    problem = subject.problem(plan)
    scores, left_out = subject.scores(plan, problem), subject.scores(without, subject.problem(without))
    assert not np.allclose(scores["last/test"], left_out["last/test"])
    of_other_labels = subject.scores(plan, other_labels(problem, np.random.default_rng(0)))
    assert np.array_equal(scores["last/test"], of_other_labels["last/test"])


@pytest.mark.parametrize("scheme", ["one-sample", "case-control"])
def test_drawn_problems_standardize_by_the_training_rows(scheme: str) -> None:
    subject = Subject.of("upu")
    problem = subject.problem(subject.plan("data.preprocess=standardize", scheme=scheme))
    assert problem.preprocessing.mean is not None
    assert np.allclose(problem.preprocessing.mean, problem.data.x[problem.split.train.rows].mean(axis=0))
