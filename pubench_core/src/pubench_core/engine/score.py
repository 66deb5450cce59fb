"""Scoring parts of a problem, and measuring the scores against what is known of their rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..errors import PluginError, RunFailed
from ..isolation import isolated
from ..method import AnyMethod, Scorer
from ..metric import FloatArray, Measurer, MetricPlugin, Scored
from ..randomness import torch_seed
from ..records.scores import on_scale_of, scores_name, why_undefined
from ..training.scoring import score_outputs
from ..training.views import Features
from .problem import Problem
from .select import SelectableState, Selection, Snapshot

#: What scores may be: the methods of another kind of tensor would be called with the order of the rows.
KINDS: set[type] = {Tensor}


class Evaluator:
    """Holds the truth; a method never sees it. ``measurer``: applies the run's metrics."""

    def __init__(
        self, problem: Problem, method: AnyMethod, metrics: Mapping[str, MetricPlugin], criterion: str
    ) -> None:
        self.problem, self.method = problem, method
        self.measurer = Measurer(metrics, indispensable=criterion)
        self._validation = problem.knowledge()

    def scores(self, fn: Scorer, features: Features, rows: Tensor, place: dict[str, Any]) -> FloatArray:
        """(n,) scores. Raises RunFailed if there is not one finite number per row, PluginError on a wrong shape."""
        return self.outputs({"": fn}, features, rows, place)[0][""]

    def outputs(
        self,
        scorers: Mapping[str, Scorer],
        features: Features,
        rows: Tensor,
        place: dict[str, Any],
        *,
        auxiliary: bool = False,
        in_order: bool = False,
    ) -> tuple[dict[str, FloatArray], dict[str, FloatArray]]:
        """Scores of several scorers, and the method's further outputs if asked for: name -> (n,), in one pass.

        Rows are shown in random order, whatever order they have in a file, unless ``in_order``. Raises as
        :meth:`scores`.
        """
        method = self.method

        def every_output(x: Tensor) -> dict[str, Tensor]:
            found = {f"score {name}": self._checked(scorer(x), len(x), scorer) for name, scorer in scorers.items()}
            if auxiliary:
                more = method.auxiliary_scores(x).items()
                found |= {f"auxiliary {name}": self._checked(v, len(x), method.auxiliary_scores) for name, v in more}
            return found

        order = torch.arange(len(rows))
        if not in_order:
            generator = torch.Generator().manual_seed(torch_seed(self.problem.seed, "scoring"))
            order = torch.randperm(len(rows), generator=generator)
        order = order.to(rows.device)
        with isolated(torch_seed(self.problem.seed, "scores"), self.problem.device):  # not the stream of the order
            shown = score_outputs(every_output, features, rows[order])
        found: dict[str, dict[str, FloatArray]] = {"score": {}, "auxiliary": {}}
        for name, values in shown.items():
            kind, _, own = name.partition(" ")
            found[kind][own] = torch.empty_like(values).index_copy_(0, order, values).double().cpu().numpy()
        for name, scores in found["score"].items():
            if not np.isfinite(scores).all():
                bad = int(np.flatnonzero(~np.isfinite(scores))[0])
                failed = RunFailed(f"the score of row {bad} is {scores[bad]}", cause="non-finite", **place)
                failed.about = scorers[name]
                raise failed
        return found["score"], found["auxiliary"]

    def _checked(self, values: Tensor, n: int, fn: Callable[..., Any]) -> Tensor:
        """What ``fn`` returned for n rows. Raises PluginError unless it is a tensor of shape (n,)."""
        name = type(self.method).__name__
        if type(values) not in KINDS:
            error = PluginError(f"{name} must return scores as a torch.Tensor, got {type(values).__name__}")
        elif values.shape != (n,):
            shape = tuple(values.shape)
            error = PluginError(f"{name} must return scores of shape ({n},) for {n} rows, got shape {shape}")
        else:
            return values
        error.about = fn
        raise error

    def validation(self, scores: FloatArray) -> Scored:
        """Validation scores with everything that is known of these rows; a metric sees what it declared."""
        return Scored.of(scores, self._validation)

    def value(self, name: str, scored: Scored) -> float | None:
        """One metric, None where it is undefined or failed; what it draws at random is not missing in the run."""
        with isolated(0, self.problem.device):
            return self.measurer.measure(name, scored).value

    def undefined(self, names: tuple[str, ...]) -> dict[str, str]:
        """Criteria without a value on this split, with the reason."""
        labeled, reasons = self.problem.split.validation.labeled, dict[str, str]()
        for name in names:
            if name != "last":
                with isolated(0, self.problem.device):
                    reasons[name] = why_undefined(name, labeled, self._validation, self.measurer)
        return {name: reason for name, reason in reasons.items() if reason}


# -------------------------------------------------------------------- the states that were kept


@dataclass(frozen=True)
class State:
    """Scores of one distinct state of a method.

    ``scores``: part (test, validation, and unlabeled for a user's table) -> (n,) scores; ``auxiliary``: the method's
    further outputs on the test part.
    """

    name: str
    scores: dict[str, FloatArray]
    auxiliary: dict[str, FloatArray] = field(default_factory=dict)


def scored_states(
    selection: Selection, evaluator: Evaluator, chosen: str, *, training: bool, auxiliary: bool
) -> tuple[dict[str, State], dict[str, str], dict[str, FloatArray]]:
    """Every distinct kept state by name, and criterion -> name; ends with the chosen one restored.

    Last: arrays of the training part, each instance once, if ``training`` asks for them, with the method's further
    outputs if ``auxiliary`` does.
    """
    states: dict[str, State] = {}
    found: dict[str, str] = {}
    scored_as: dict[str, tuple[SelectableState, Snapshot]] = {}
    kept = {
        name: (one, one.snapshot) for name, track in selection.tracks.items() if (one := track.chosen) and one.snapshot
    }
    for criterion in sorted(kept, key=lambda name: name == chosen):
        one, snapshot = kept[criterion]
        name = "last" if criterion == "last" else state_name(one.epoch, one.candidate)
        if name not in states or criterion == chosen:
            snapshot.restore(evaluator.method)
        if name not in states:
            state = _score_state(name, one.epoch, one.candidate, evaluator)
            name = next((other for other, known in states.items() if _same_scores(known, state)), name)
            states.setdefault(name, state)
        scored_as.pop(name, None)
        scored_as[name] = kept[criterion]  # the chosen one's state comes last
        found[criterion] = name
    states |= _checkpoints(selection, evaluator, states)
    of_training: dict[str, FloatArray] = {}
    for name, (one, snapshot) in scored_as.items():  # after everything that is measured
        snapshot.restore(evaluator.method)
        scorer = {"": evaluator.method.candidates()[one.candidate]}
        place = {"stage": "evaluation", "epoch": one.epoch}
        if training:
            of_training |= _training_scores(name, scorer, evaluator, place, auxiliary=auxiliary)
        if (unlabeled := _unlabeled_scores(scorer, evaluator, place)) is not None:
            states[name].scores["unlabeled"] = unlabeled
    if selection.checkpoints:  # of which the last was restored last
        kept[chosen][1].restore(evaluator.method)
    return states, {name: found[name] for name in kept}, of_training


def state_name(epoch: int, candidate: str) -> str:
    """Name of the state after an epoch, as one of the method's candidates scores in it."""
    return f"epoch-{epoch}" + (f"-{candidate}" if candidate else "")


def _checkpoints(selection: Selection, evaluator: Evaluator, known: Collection[str]) -> dict[str, State]:
    """The states that a fold keeps, as every candidate scores in them, except for those that are known."""
    found: dict[str, State] = {}
    for epoch, snapshot in selection.checkpoints.items():
        snapshot.restore(evaluator.method)
        for candidate in evaluator.method.candidates():
            name = state_name(epoch, candidate)
            if name not in known:
                found[name] = _score_state(name, epoch, candidate, evaluator)
    return found


def _score_state(name: str, epoch: int, candidate: str, evaluator: Evaluator) -> State:
    """The restored method's outputs on every part, each part in one pass."""
    problem, place = evaluator.problem, {"stage": "evaluation", "epoch": epoch}
    scorer = {"": evaluator.method.candidates()[candidate]}
    scores: dict[str, FloatArray] = {}
    auxiliary: dict[str, FloatArray] = {}
    if problem.truth_test is not None:
        found, auxiliary = evaluator.outputs(scorer, *problem.part("test")[:2], place, auxiliary=True)
        scores["test"] = found[""]
    scores["validation"] = evaluator.outputs(scorer, *problem.part("validation")[:2], place)[0][""]
    return State(name, scores, auxiliary)


def _training_scores(
    state: str, scorer: Mapping[str, Scorer], evaluator: Evaluator, place: dict[str, Any], *, auxiliary: bool
) -> dict[str, FloatArray]:
    """Scores of the training part, and the method's further outputs if asked for, by name in ``training-scores.npz``.

    No measure reads it.
    """
    rows = evaluator.problem.part("train")[:2]
    scores, further = evaluator.outputs(scorer, *rows, place, auxiliary=auxiliary)
    named = {f"training_auxiliary_{output}_{state}": values for output, values in further.items()}
    return {scores_name("training", state): scores[""], **named}


def _unlabeled_scores(scorer: Mapping[str, Scorer], evaluator: Evaluator, place: dict[str, Any]) -> FloatArray | None:
    """Scores of a user's unlabeled rows, in the table's order, as of rows that the state did not see; None for others.

    Rows that it was trained on, with their scores out of bag if the method has them, are moved to the scale of the rows
    that were held out: no place depends on the part of the split. No measure reads it: the order of a table may tell
    the truth.
    """
    problem, rows = evaluator.problem, evaluator.problem.unlabeled_rows
    if rows is None:
        return None
    seen = np.isin(rows, problem.split.train.rows)
    if np.isfinite(out_of_bag := _out_of_bag(evaluator)[rows]).all():
        return out_of_bag
    # gathered for this one use: the rows may lie in every part of the split
    unlabeled = Features(torch.from_numpy(problem.preprocessing.apply(problem.data.x[rows])).to(problem.device))
    places = torch.arange(len(rows), device=problem.device)
    scores = evaluator.outputs(scorer, unlabeled, places, place, in_order=True)[0][""]
    if np.isfinite(out_of_bag[seen]).all():
        scores[seen] = out_of_bag[seen]
    held_out = ~seen & np.isin(rows, problem.data.rows)  # known negatives are of no part
    if seen.any() and held_out.any():
        scores[seen] = on_scale_of(scores[held_out], scores[seen])
    return scores


def _out_of_bag(evaluator: Evaluator) -> FloatArray:
    """Scores out of bag by row of the data; NaN for rows without one."""
    problem = evaluator.problem
    found, scores = np.full(len(problem.data.x), np.nan), evaluator.method.out_of_bag_scores()
    if scores is not None:
        data = problem.view(frozenset())
        rows = problem.split.train.rows[data.instance[data.unlabeled_rows].cpu().numpy()]
        found[rows] = scores.double().cpu().numpy()[data.unlabeled_rows.cpu().numpy()]
    return found


def _same_scores(one: State, other: State) -> bool:
    return all(
        ours.keys() == theirs.keys() and all(np.array_equal(ours[name], theirs[name]) for name in ours)
        for ours, theirs in ((one.scores, other.scores), (one.auxiliary, other.auxiliary))
    )
