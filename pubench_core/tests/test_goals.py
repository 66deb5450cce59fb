"""A goal chooses the criterion and the decision that is shown first; a metric may take a number from its name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from pubench_core.engine.criteria import Installed
from pubench_core.engine.execute import execute
from pubench_core.engine.layers import Layer
from pubench_core.engine.plan import Plan
from pubench_core.engine.resolve import resolve
from pubench_core.errors import RequestError, Undefined
from pubench_core.metric import Knowledge, MetricView, Scored
from pubench_core.plugins.info import MetricInfo
from pubench_core.plugins.registry import load, registry
from pubench_core.records.files import read_scores
from pubench_core.records.scores import scores_name

pytestmark = pytest.mark.usefixtures("one_thread")

UPU = ("data.key=digits", "method.key=upu", "epochs=3")
Ask = Callable[..., Plan]


@pytest.fixture
def ask(ask: Ask) -> Ask:
    return partial(ask, of=UPU)


@pytest.mark.parametrize(
    ("goal", "criterion", "rule"),
    [
        ("rank", "pauc", "zero"),
        ("decide", "pa", "prior"),
        ("decide:0.205..0.3", "pa-at-30", "prior"),
        ("review:200", "recall-at-200", "zero"),
    ],
)
def test_a_goal_chooses_criterion_and_decision_and_no_other_run(ask: Ask, goal: str, criterion: str, rule: str) -> None:
    plan = ask(f"selection.goal={goal}")
    assert (plan.spec.selection.criterion, plan.spec.decision.rule) == (criterion, rule)
    assert criterion in plan.spec.selection.criteria
    assert plan.run_id == ask().run_id
    known = Installed.of(registry())  # without metrics that take a number
    again = resolve([Layer(plan.spec.model_dump(mode="json"))], registry(), installed=known)
    assert (again.spec, {*again.metrics}) == (plan.spec, {*plan.metrics})


def test_what_is_given_wins_over_the_goal(ask: Ask) -> None:
    plan = ask("selection.goal=decide", "selection.criterion=pauc", "decision.rule=zero")
    assert (plan.spec.selection.criterion, plan.spec.decision.rule) == ("pauc", "zero")


def test_an_interval_of_the_prior_tracks_pa_at_both_ends_and_shows_them(ask: Ask) -> None:
    """PA told .3 is PA told .2 and .2 times the share of labeled positives found; the ends may choose other epochs."""
    done = execute(ask("selection.goal=decide:0.2..0.3", "evaluation.metrics=[pa,pa-at-20,pa-at-30,recall-at-1]"))
    assert done.result.selected == "pa-at-30"
    low, high = (done.result.criteria[name] for name in ("pa-at-20", "pa-at-30"))
    assert low.epoch is not None
    assert high.epoch is not None
    assert high.measures["validation"]["pa-at-30"].value == high.value
    arrays = read_scores(done.folder)
    decided = arrays[scores_name("validation", high.snapshot)] > 0
    labeled = arrays["validation_labeled"].astype(bool)
    assert high.value == pytest.approx(2 * 0.3 * decided[labeled].mean() + (~decided).mean())
    told = high.measures["validation"]["pa-at-20"].value
    assert told == pytest.approx((high.value or 0) - 0.2 * decided[labeled].mean())


@pytest.mark.parametrize(
    "goal", ["review", "review:0", "review:2.5", "accuracy", "decide:0.3..0.2", "decide:0.3", "decide:1..2"]
)
def test_other_goals_are_refused(ask: Ask, goal: str) -> None:
    with pytest.raises(RequestError, match=r"must be rank, decide, decide:LOW..HIGH .* or review:NUMBER"):
        ask(f"selection.goal={goal}")


def test_to_decide_needs_a_prior(ask: Ask) -> None:
    with pytest.raises(RequestError, match="needs the class prior"):
        ask("selection.goal=decide", "prior=unknown", "method.key=vpu", "method.config={}")


def recall_at(number: int, scores: list[float], labeled: list[int], unlabeled: list[int], total: int | None) -> float:
    info = next(one for one in registry().infos(MetricInfo) if one.key == "recall-at")
    known = Knowledge(labeled=np.array(labeled), unlabeled=np.array(unlabeled), unlabeled_total=total)
    found: float = load(info)(MetricView(Scored.of(np.array(scores), known), info), number=number)
    return found


def test_recall_at_a_number_of_rows_by_hand() -> None:
    """P' scores 5, 3, 1; U' scores 4, 3, 2, 0: its top 2 hold every row that scores 3, and so a row of P'."""
    scores, labeled, unlabeled = [5.0, 3.0, 1.0, 4.0, 3.0, 2.0, 0.0], [0, 1, 2], [3, 4, 5, 6]
    assert recall_at(2, scores, labeled, unlabeled, None) == pytest.approx(2 / 3)
    assert recall_at(20, scores, labeled, unlabeled, 40) == pytest.approx(2 / 3), "U' is a tenth of U"
    assert recall_at(4, scores, labeled, unlabeled, None) == 1
    with pytest.raises(Undefined, match="5 rows is of more than all 4 unlabeled rows"):
        recall_at(5, scores, labeled, unlabeled, None)
    assert recall_at(1, scores, labeled, unlabeled, 400) == pytest.approx(1 / 3), "at least one row of U'"


def test_its_value_is_recorded_and_another_number_is_another_criterion(ask: Ask) -> None:
    done = execute(ask("selection.goal=review:100"))
    arrays, data = read_scores(done.folder), done.result.data
    scores = arrays[scores_name("validation", done.result.chosen.snapshot)]
    total = (data.train.unlabeled or 0) + len(scores)  # case-control: every row is in U
    labeled = np.flatnonzero(arrays["validation_labeled"])
    expected = recall_at(100, scores.tolist(), labeled.tolist(), list(range(len(scores))), total)
    assert done.result.chosen.value == expected
    lines: list[str] = []
    other = execute(ask("selection.goal=review:50"), say=lines.append)
    assert "no criterion recall-at-50" in lines[0]
    assert {"recall-at-100", "recall-at-50"} <= set(other.result.criteria) | set(
        ask("selection.goal=review:100").metrics
    )
