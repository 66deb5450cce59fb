"""Every criterion chooses its epoch as if it were the only one."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pubench_core.engine.select import HeldOut, Selection, Snapshot, refuse_undefined
from pubench_core.errors import RequestError
from pubench_core.metric import Knowledge, Scored
from pubench_core.plugins.info import MetricInfo

Values = list[float | None]
#: A state that decides both ways, of which no ranking is known.
DECIDING = HeldOut()
values = st.lists(st.one_of(st.none(), st.integers(0, 6).map(float)), min_size=1, max_size=25)
patiences = st.one_of(st.none(), st.integers(1, 5))


def infos_of(lower: Collection[str] = (), oracle: Collection[str] = ()) -> dict[str, MetricInfo]:
    return {
        key: MetricInfo(
            key=key,
            name=key,
            summary=key,
            load="a:b",
            higher_is_better=key not in lower,
            needs=frozenset({"truth"}) if key in oracle else frozenset(),
        )
        for key in (*lower, *oracle)
    }


def select(
    by_name: dict[str, Values],
    patience: int | None = None,
    lower: tuple[str, ...] = (),
    *,
    oracle: tuple[str, ...] = (),
    states: list[HeldOut] | None = None,
) -> Selection:
    """The selection after epochs 1, 2, ... in which the criteria had these values; a snapshot holds its epoch.

    ``lower``: criteria of which the smallest value is the best; ``states``: of the validation rows, one an epoch.
    """
    selection = Selection(tuple(by_name), {}, infos_of(lower, oracle))
    for epoch, row in enumerate(zip(*by_name.values(), strict=True), start=1):
        if selection.exhausted:
            break
        found = {name: {"": value} for name, value in zip(by_name, row, strict=True)}
        held_out = {"": states[epoch - 1] if states else DECIDING}
        selection.update(epoch, found, held_out, patience, lambda epoch=epoch: Snapshot({"epoch": epoch}))
    return selection


def outcome(selection: Selection, name: str) -> tuple[Any, ...]:
    track = selection.tracks[name]
    if (chosen := track.chosen) is None:
        return None, None, None, track.stopped_at
    return chosen.epoch, chosen.value, chosen.snapshot and chosen.snapshot.state["epoch"], track.stopped_at


@pytest.mark.parametrize(
    ("series", "patience", "expected"),
    [
        ([0.5, 0.9, 0.7, 0.9, 0.8], None, (2, 0.9, 2, None)),  # the first maximum
        ([0.5, 0.4, 0.6, 0.5, 0.5, 0.9], 2, (3, 0.6, 3, 5)),
        ([0.5, 0.4, 0.6, 0.5, 0.5, 0.9], 3, (6, 0.9, 6, None)),
        ([0.5, 0.6, 0.6, 0.6, 0.5, 0.6, 0.9], 2, (7, 0.9, 7, None)),  # patience does not run while it ties
        ([0.5, 0.6, 0.6, 0.6, 0.5, 0.6, 0.5], 2, (2, 0.6, 2, 7)),
        ([None, None, None], 2, (None, None, None, 2)),
    ],
)
def test_the_first_maximum_wins_until_patience_ends(
    series: Values, patience: int | None, expected: tuple[Any, ...]
) -> None:
    assert outcome(select({"pa": series}, patience), "pa") == expected


@settings(deadline=None)
@given(series=values, patience=patiences)
def test_lower_is_better_chooses_what_the_negated_values_would_choose(series: Values, patience: int | None) -> None:
    negated = [-value if value is not None else None for value in series]
    lower = outcome(select({"error": series}, patience, lower=("error",)), "error")
    higher = outcome(select({"error": negated}, patience), "error")
    assert (lower[0], lower[2], lower[3]) == (higher[0], higher[2], higher[3])


@settings(deadline=None)
@given(table=st.lists(st.tuples(values.map(tuple), st.just(0)), min_size=2, max_size=4), patience=patiences)
def test_a_criterion_chooses_the_same_epoch_alone_and_among_others(table: Any, patience: int | None) -> None:
    length = min(len(series) for series, _ in table)
    by_name = {f"criterion-{i}": list(series[:length]) for i, (series, _) in enumerate(table)}
    together = select(by_name, patience)
    for name, series in by_name.items():
        assert outcome(together, name) == outcome(select({name: series}, patience), name)


# ---------------------------------------------------------------- states that decide every row alike

DEAD = HeldOut(alike=True, ranking=0.4)


GOOD, POOR, BEST = HeldOut(False, 0.8), HeldOut(False, 0.7), HeldOut(False, 0.9)
#: What is promised -> (values by epoch, states, patience, the outcome).
ALIKE: dict[str, tuple[Values, list[HeldOut], int | None, tuple[Any, ...]]] = {
    # PA of "all negative" is exactly 1: what nnPU gives on an unbalanced table
    "a two-class state that ranks better": ([1.0, 1.0, 0.9, 0.95], [DEAD, DEAD, GOOD, POOR], None, (4, 0.95, 4, None)),
    "the one-class state if no other ranks better": (
        [1.0, 0.9, 0.95], [HeldOut(True, 0.9), GOOD, BEST], None, (1, 1.0, 1, None),
    ),
    "the rank if the best two-class state ranks worse": (
        [1.0, 0.95, 0.9], [HeldOut(True, 0.6), HeldOut(False, 0.5), GOOD], None, (3, 0.9, 3, None),
    ),
    "of one-class states the best ranking one": (
        [1.0] * 4, [HeldOut(True, rank) for rank in (0.3, 0.6, 0.9, 0.7)], None, (3, 1.0, 3, None),
    ),
    "... even with a smaller value": (
        [1.0, 1.0, 0.2, 1.0], [HeldOut(True, rank) for rank in (0.3, 0.6, 0.9, 0.7)], None, (3, 0.2, 3, None),
    ),
    "of equal values the better ranking": ([0.7] * 3, [HeldOut(False, 0.5), BEST, BEST], None, (2, 0.7, 2, None)),
    "no patience while all rows are alike": (
        [*[1.0] * 20, 0.9, 0.95, 0.96], [*[DEAD] * 20, *[GOOD] * 3], 3, (23, 0.96, 23, None),
    ),
    "no patience for later ones that are alike": (
        [0.9, 0.5, 0.5, 0.5, 0.95], [GOOD, DEAD, DEAD, DEAD, GOOD], 2, (5, 0.95, 5, None),
    ),
    "patience among states that decide both ways": (
        [1.0, 0.9, 0.8, 0.8, 0.95], [DEAD, *[GOOD] * 4], 2, (2, 0.9, 2, 4),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("series", "states", "patience", "expected"), ALIKE.values(), ids=ALIKE)
def test_a_state_that_decides_all_rows_alike_counts_by_its_rank(
    series: Values, states: list[HeldOut], patience: int | None, expected: tuple[Any, ...]
) -> None:
    assert outcome(select({"pa": series}, patience, states=states), "pa") == expected
    if patience is None:  # an oracle chooses by its value alone, the first of several
        first = next(k for k, value in enumerate(series) if value == max(one or 0 for one in series))
        assert outcome(select({"f1": series}, oracle=("f1",), states=states), "f1")[0] == first + 1


def test_a_held_out_ranking_is_the_share_of_pairs_in_the_right_order() -> None:
    known = Knowledge(labeled=np.array([0, 1]), unlabeled=np.array([2, 3, 4]))
    found = HeldOut.of(Scored.of(np.array([0.5, -1.0, 0.5, -2.0, -3.0]), known))
    assert found == HeldOut(alike=False, ranking=(2.5 + 2) / 6)
    assert HeldOut.of(Scored.of(np.array([-1.0, -2.0]), Knowledge())) == HeldOut(alike=True, ranking=-1.0)


def test_a_new_stage_forgets_what_was_waited_but_not_the_best_so_far() -> None:
    selection = select({"pa": [0.5, 0.4]}, patience=2)
    selection.start_stage()
    selection.update(3, {"pa": {"": 0.4}}, {"": DECIDING}, 2, lambda: Snapshot({"epoch": 3}))
    assert outcome(selection, "pa") == (1, 0.5, 1, None)
    selection.update(4, {"pa": {"": 0.3}}, {"": DECIDING}, 2, lambda: Snapshot({"epoch": 4}))
    assert outcome(selection, "pa") == (1, 0.5, 1, 4)


def test_a_criterion_that_stopped_stays_stopped_in_a_new_stage() -> None:
    selection = select({"pa": [0.5, 0.4, 0.3]}, patience=2)
    selection.start_stage()
    selection.update(4, {"pa": {"": 0.9}}, {"": DECIDING}, 2, lambda: Snapshot({"epoch": 4}))
    assert outcome(selection, "pa") == (1, 0.5, 1, 3)


def test_the_best_of_several_candidates_counts_and_is_named() -> None:
    selection = Selection(("pa",), {}, {})
    states = dict.fromkeys(("student", "teacher", "other"), DECIDING)
    selection.update(1, {"pa": {"student": 0.5, "teacher": 0.7, "other": 0.7}}, states, None, lambda: Snapshot({}))
    selection.update(2, {"pa": {"student": 0.6, "teacher": None}}, states, None, lambda: Snapshot({}))
    chosen = selection.tracks["pa"].chosen
    assert chosen is not None
    assert (chosen.epoch, chosen.candidate) == (1, "teacher")


def test_every_epoch_takes_one_snapshot_which_reveals_no_criterion() -> None:
    selection, taken = Selection(("pa", "auc"), {}, {}), []

    def take() -> Snapshot:
        taken.append(len(taken))
        return Snapshot({})

    for epoch, value in enumerate((0.5, 0.6, 0.6, 0.1), start=1):
        selection.update(epoch, {"pa": {"": value}, "auc": {"": value}}, {"": DECIDING}, None, take)
    assert len(taken) == 4
    pa, auc = (selection.tracks[name].chosen for name in ("pa", "auc"))
    assert pa is not None
    assert auc is not None
    assert pa.snapshot is auc.snapshot


# ---------------------------------------------------------------- last, undefined, exhausted


def test_last_is_the_final_state_whatever_the_values_were() -> None:
    selection = Selection(("pa", "last"), {}, {})
    for epoch in (1, 2, 3):
        selection.update(epoch, {"pa": {"": -epoch}}, {"": DECIDING}, 1, lambda: Snapshot({"epoch": 0}))
    selection.close(3, Snapshot({"epoch": 3}), "")
    assert outcome(selection, "last")[0] == 3
    assert outcome(selection, "last")[2] == 3
    assert outcome(selection, "pa")[0] == 1


def test_where_last_is_not_tracked_closing_changes_nothing() -> None:
    selection = select({"pa": [0.5, 0.4]})
    selection.close(2, Snapshot({"epoch": 2}), "")
    assert outcome(selection, "pa") == (1, 0.5, 1, None)
    assert set(selection.tracks) == {"pa"}


def test_training_may_end_when_every_criterion_has_stopped_and_not_before() -> None:
    falling: Values = [0.5, 0.4, 0.3]
    assert select({"pa": falling, "auc": falling}, patience=2).exhausted
    assert not select({"pa": falling, "auc": [0.1, 0.2, 0.3]}, patience=2).exhausted
    assert not select({"pa": falling}, patience=None).exhausted


def test_a_run_that_tracks_last_is_never_exhausted() -> None:
    selection = Selection(("pa", "last"), {}, {})
    for epoch in range(1, 6):
        selection.update(epoch, {"pa": {"": -float(epoch)}}, {"": DECIDING}, 1, lambda: Snapshot({}))
    assert selection.tracks["pa"].stopped_at == 2
    assert not selection.exhausted


def test_an_undefined_criterion_keeps_nothing_alive_and_chooses_nothing() -> None:
    selection = Selection(("pa", "f1"), {"pa": "no labeled validation positive"}, {})
    for epoch, value in enumerate((0.5, 0.4), start=1):
        selection.update(epoch, {"pa": {"": 0.9}, "f1": {"": value}}, {"": DECIDING}, 1, lambda: Snapshot({}))
    assert selection.tracks["pa"].chosen is None
    assert selection.exhausted
    assert Selection(("pa",), {"pa": "no labeled validation positive"}, {}).exhausted


# ---------------------------------------------------------------- refusing an undefined one


def test_a_criterion_that_is_defined_is_not_refused() -> None:
    refuse_undefined("f1", {"pa": "no labeled validation positive"}, known=("pa", "f1"))


def test_the_refusal_says_which_criterion_why_and_what_is_defined() -> None:
    undefined = dict.fromkeys(("pa", "pauc"), "no labeled validation positive")
    with pytest.raises(RequestError) as refused:
        refuse_undefined("pa", undefined, known=("pa", "pauc", "f1", "last"))
    assert (refused.value.field, refused.value.value) == ("selection.criterion", "pa")
    assert str(refused.value) == (
        "selection criterion 'pa' is undefined on this split: no labeled validation positive; "
        "raise validation.fraction, or selection.criterion can be f1, last here"
    )
