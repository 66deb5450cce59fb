"""Cross-fitting: the folds of a run joined in one record, in which every row of P and U was scored out of fold.

Model j is trained without part j. A criterion is the mean of its values on the k parts, epoch by epoch, and one epoch
is chosen for all k models, of those whose states every fold keeps. A row that no model was trained on has the mean of
the scores of the k models, or the score of one more that was trained on all rows up to that epoch (``refit: all``).
"""

from __future__ import annotations

import csv
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pubench_core.data.dataset import DataRoot
from pubench_core.engine.build import build_problem
from pubench_core.engine.compute import Audience, compute
from pubench_core.engine.execute import Failed, Work
from pubench_core.engine.finish import Finished, criteria_of, with_measures
from pubench_core.engine.open import OpenedData, open_data
from pubench_core.engine.plan import Plan
from pubench_core.engine.problem import Problem
from pubench_core.engine.publish import failure_of
from pubench_core.engine.score import State, state_name
from pubench_core.engine.select import HeldOut, SelectableState, Track
from pubench_core.errors import RecordError, RunFailed
from pubench_core.metric import FloatArray, Measurer
from pubench_core.records.files import MODEL, TRACE, Arrays, fold_model, read_scores, state_model
from pubench_core.records.scores import (
    on_scale_of,
    scores_name,
    scores_of,
)
from pubench_core.results import NEVER, RECORD_VERSION, Environment, Result, RunResult, SavedModelFacts, Seconds

from .folds import folds_of, mean_over_folds, parts_of, parts_of_folds, refit_of, value_over_folds

if TYPE_CHECKING:
    import torch

#: (epoch, candidate): a state that every fold keeps.
StateKey = tuple[int, str]


@dataclass(frozen=True)
class Fold:
    """Parts of one fold that are joined: its result, the content of ``scores.npz``, and the rows of its trace.

    ``model``: gives the content of the file of a model by its name, None if there is none.
    """

    result: Result
    arrays: Arrays
    trace: Sequence[Mapping[str, Any]]
    model: Callable[[str], bytes | None] = lambda name: None

    def scores(self, part: str, state: str) -> FloatArray:
        """Scores of a part in a state. Raises RecordError if they are not stored."""
        name = scores_name(part, state)
        if name not in self.arrays:
            raise RecordError(f"fold {self.result.spec.validation.fold} ({self.result.run_id}) has no {name}")
        return np.asarray(self.arrays[name], dtype=np.float64)

    @property
    def kept(self) -> list[StateKey]:
        """(epoch, candidate) of every state whose scores are stored, in order of epochs."""
        prefix = scores_name("validation", "epoch-")
        names = [name.removeprefix(prefix).partition("-") for name in self.arrays if name.startswith(prefix)]
        return sorted(((int(epoch), candidate) for epoch, _, candidate in names), key=lambda state: state[0])

    def native(self, epoch: int) -> float | None:
        """Value of the method's own criterion after an epoch."""
        row = next((row for row in self.trace if int(row["epoch"]) == epoch), {})
        value = row.get("criterion-native")
        return None if value in (None, "") else float(value)


def fold_of(folder: Path, result: Result) -> Fold:
    """A fold from its record. Raises RecordError if its scores cannot be read."""
    with (folder / TRACE).open(newline="", encoding="utf-8") as file:
        trace = tuple(csv.DictReader(file))

    def model(name: str) -> bytes | None:
        return (folder / name).read_bytes() if (folder / name).exists() else None

    return Fold(result, read_scores(folder), trace, model)


def joined(
    plan: Plan, problem: Problem, folds: Sequence[Fold], environment: Environment, refit: Fold | None = None
) -> Finished:
    """The joint record of all folds. ``problem``: of the plan itself; its parts both hold every row of P and U.
    ``refit``: the run on all rows, whose model scores new ones instead of those of the folds.

    Raises RecordError for folds whose scores are not there.
    """
    started, spec = time.perf_counter(), plan.spec
    joint = _Joint(plan, problem, folds, refit)
    tracks = {name: joint.track(name) for name in spec.selection.criteria}
    arrays = joint.known
    found = {name: track.chosen for name, track in tracks.items() if track.chosen is not None}
    state_of = {name: "last" if name == "last" else state_name(one.epoch, one.candidate) for name, one in found.items()}
    for state in dict.fromkeys(state_of.values()):
        arrays |= joint.arrays(state)
    states = {name: State(state, scores_of(arrays, state)) for name, state in state_of.items()}
    criteria = criteria_of(plan, problem, tracks, states)
    results, chosen = [fold.result for fold in folds], criteria[spec.selection.criterion]
    trained = [*results, *([] if refit is None else [refit.result])]
    unlabeled = problem.unlabeled_rows
    models = joint.models(found[spec.selection.criterion]) if spec.execution.save_model else {}
    result = Result(
        record_version=RECORD_VERSION,
        run_id=plan.run_id,
        code=results[0].code,
        spec=spec,
        oracle=results[0].oracle,
        selected=spec.selection.criterion,
        decision=spec.decision.rule,
        criteria=criteria,
        metrics={name: plan.metrics[name].code for name in spec.evaluation.metrics},
        data=problem.facts(),
        folds=tuple(one.run_id for one in results),
        refit=None if refit is None else refit.result.run_id,
        epochs=min(one.epochs for one in results),
        seconds=_seconds(trained, time.perf_counter() - started),
        peak_memory=max((one.peak_memory for one in trained), key=lambda memory: memory.bytes),
        model=SavedModelFacts(snapshot=chosen.snapshot) if models else None,
        warnings=tuple(dict.fromkeys(line for one in trained for line in one.warnings)),
        device=results[0].device,
        threads=results[0].threads,
        at_once=max((one.at_once for one in results if one.at_once is not None), default=None),
        finished_at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    )
    keeps_scores = "scores" in spec.execution.artifacts
    return Finished(
        result=with_measures(result, arrays, Measurer(plan.metrics)),
        environment=environment,
        trace=list(joint.trace(tracks)) if "trace" in spec.execution.artifacts else None,
        arrays=arrays if keeps_scores else None,
        predictions=None if unlabeled is None else (unlabeled, scores_of(arrays, chosen.snapshot)["unlabeled"]),
        ids={}
        if unlabeled is None
        else {name: texts[unlabeled].tolist() for name, texts in problem.opened.ids.items()},
        models=models,
    )


def computed_folds(
    plan: Plan, opened: OpenedData, root: DataRoot, device: torch.device, environment: Environment
) -> Finished:
    """The joint record of folds that are carried out here, one after the other, and leave none of their own.

    Raises as :func:`compute`.
    """

    def fold(one: Plan) -> Fold:
        done = compute(one, opened, root, device, Audience())
        assert done.arrays is not None
        assert done.trace is not None
        return Fold(done.result, done.arrays, done.trace, done.models.get)

    on_all = refit_of(plan)
    folds, refit = [fold(one) for one in folds_of(plan)], None if on_all is None else fold(on_all)
    execution = plan.spec.execution.model_copy(update={"artifacts": ("scores", "trace")})
    kept = replace(plan, spec=plan.spec.model_copy(update={"execution": execution}))
    return joined(kept, build_problem(plan, opened=opened, root=root), folds, environment, refit)


class _Joint:
    """Out-of-fold scores of every row of P and U, and what criteria make of them."""

    def __init__(self, plan: Plan, problem: Problem, folds: Sequence[Fold], refit: Fold | None) -> None:
        self._plan, self._problem, self._folds = plan, problem, folds
        #: Runs whose models score rows that no fold was trained on.
        self._for_new_rows = folds if refit is None else [refit]
        rows = problem.split.validation.rows
        order = np.argsort(rows)
        self._places = [order[np.searchsorted(rows[order], fold.arrays["validation_rows"])] for fold in folds]
        of = np.zeros(len(rows), dtype=np.int64)
        for number, places in enumerate(self._places, start=1):
            of[places] = number
        #: What is known of the rows, without a score.
        self.known: Arrays = {**problem.known(), "validation_fold": of}
        self._parts = parts_of_folds(problem.knowledge(), of)
        self._measurer = Measurer(plan.metrics, indispensable=plan.spec.selection.criterion)
        kept = [fold.kept for fold in folds]
        self._kept = [state for state in kept[0] if all(state in other for other in kept)]
        self._values: dict[str, dict[StateKey, float | None]] = {}

    def track(self, name: str) -> Track:
        """What one criterion chooses, by its mean over the folds."""
        info = self._plan.metrics[name].info if name in self._plan.metrics else None
        undefined = next((why for fold in self._folds if (why := fold.result.criteria[name].undefined)), "")
        track = Track(name, "" if undefined == NEVER else undefined, info)
        if track.undefined:
            return track
        if name == "last":
            last = self._folds[0].result.criteria["last"]
            track.close(SelectableState(None, min(fold.result.epochs for fold in self._folds), last.candidate, None))
            return track
        values = self._values[name] = {state: self._value(name, state) for state in self._kept}
        for epoch in dict.fromkeys(epoch for epoch, _ in self._kept):
            choices = [
                SelectableState(value, epoch, state[1], None, self._held_out(state))
                for state, value in values.items()
                if state[0] == epoch and value is not None
            ]
            track.offer(choices, epoch, None)
        return track

    def _value(self, name: str, state: StateKey) -> float | None:
        if name == "native":
            return mean_over_folds([fold.native(state[0]) for fold in self._folds])
        return value_over_folds(name, self._out_of_fold(state_name(*state)), self._parts, self._measurer)

    def _held_out(self, state: StateKey) -> HeldOut:
        """All folds decide alike, or the mean of how well they rank."""
        scores = self._out_of_fold(state_name(*state))
        found = [HeldOut.of(part.scored(scores)) for part in self._parts]
        return HeldOut(all(one.alike for one in found), statistics.fmean(one.ranking for one in found))

    def _out_of_fold(self, state: str) -> FloatArray:
        found = np.empty(len(self._problem.split.validation.rows))
        for fold, places in zip(self._folds, self._places, strict=True):
            found[places] = fold.scores("validation", self._stored_as(fold, state))
        return found

    @staticmethod
    def _stored_as(fold: Fold, state: str) -> str:
        """The name under which a fold has a state: its last one may be that of an epoch."""
        return fold.result.criteria["last"].snapshot if state == "last" else state

    def arrays(self, state: str) -> Arrays:
        """Scores of every part in one state of all folds."""
        problem = self._problem
        found: Arrays = {scores_name("validation", state): self._out_of_fold(state)}
        if problem.truth_test is not None:
            of_test = [fold.scores("test", self._stored_as(fold, state)) for fold in self._for_new_rows]
            found[scores_name("test", state)] = np.mean(of_test, axis=0)
        if problem.unlabeled_rows is not None:
            found[scores_name("unlabeled", state)] = self._unlabeled(found, state)
        return found

    def _unlabeled(self, found: Arrays, state: str) -> FloatArray:
        """Scores of a user's unlabeled rows: those of every part on the scale of all folds together."""
        problem, known, rows = self._problem, self.known, self._problem.unlabeled_rows
        assert rows is not None
        of_fold, unlabeled = found[scores_name("validation", state)], ~problem.split.validation.labeled
        scores, reference = np.full(len(problem.data.x), np.nan), of_fold[unlabeled]
        for number in np.unique(known["validation_fold"]):
            inside = unlabeled & (known["validation_fold"] == number)
            scores[problem.split.validation.rows[inside]] = on_scale_of(reference, of_fold[inside])
        if problem.truth_test is not None and problem.data.x_test is None:
            test = np.isin(problem.split.test_rows, rows)
            of_test = found[scores_name("test", state)][test]
            scores[problem.split.test_rows[test]] = on_scale_of(reference, of_test) if len(of_test) else of_test
        return np.asarray(scores[rows])

    def models(self, chosen: SelectableState) -> dict[str, bytes]:
        """The models that score new rows in a state, by the names of their files."""
        name = state_model(state_name(chosen.epoch, chosen.candidate))
        names = [MODEL] if len(self._for_new_rows) == 1 else [fold_model(n + 1) for n in range(len(self._folds))]
        found = [fold.model(name) for fold in self._for_new_rows]
        return {name: model for name, model in zip(names, found, strict=True) if model is not None}

    def trace(self, tracks: Mapping[str, Track]) -> Iterator[dict[str, Any]]:
        """A row per epoch that was compared: the best candidate's value of every criterion."""
        for epoch in dict.fromkeys(epoch for epoch, _ in self._kept):
            row: dict[str, Any] = {"stage": "folds", "epoch": epoch}
            for name, values in self._values.items():
                by_candidate = {candidate: values[at, candidate] for at, candidate in values if at == epoch}
                row[f"criterion-{name}"] = tracks[name].best_of(by_candidate)[1]
            yield row


def _seconds(results: Sequence[Result], joining: float) -> Seconds:
    """Those of all folds together."""
    total, training, evaluation = (
        sum(getattr(one.seconds, name) for one in results) for name in ("total", "training", "evaluation")
    )
    epochs = sum(one.epochs for one in results)
    return Seconds(
        total=round(total + joining, 4),
        training=round(training, 4),
        evaluation=round(evaluation + joining, 4),
        per_epoch=round(sum(one.seconds.per_epoch * one.epochs for one in results) / epochs, 4),
        per_epoch_training=round(training / epochs, 4),
    )


class JointWork(Work):
    """The folds of a plan, then the record that joins them."""

    def prepare(self, plan: Plan, carry_out: Callable[[Plan], RunResult]) -> list[Fold]:
        """The folds of a plan, and the run on all rows if it refits.

        Each is carried out unless it has a record. One that another process carries out is waited for. A failure is
        recorded for the joint run too.
        """
        k, found = plan.spec.validation.folds or 0, []
        if plan.method.info.out_of_sample:
            key = plan.method.info.key
            self.say(f"{key} scores U out of bag while it trains; folds add held-out scores of labeled rows")
        for number, one in enumerate(parts_of(plan), start=1):
            which = f"fold {number} of {k}" if number <= k else "model of all rows"
            self.say(f"{which}: run {one.run_id}")
            try:
                done = carry_out(one)
            except RunFailed as error:
                why = RunFailed(f"{which}: {error}", cause=error.cause)
                failed = Failed(failure_of(plan, plan.code, why, self.environment), error)
                raise self.recorded(plan, failed) from error
            found.append(fold_of(done.folder, done.result))
        return found

    def finish(self, plan: Plan, parts: list[Fold], ended: Callable[[], None], at_once: int | None) -> Finished:
        """Result of all folds together."""
        problem = build_problem(plan, opened=open_data(plan, self.root), root=self.root)
        k = plan.spec.validation.folds or 0
        return joined(plan, problem, parts[:k], self.environment, next(iter(parts[k:]), None))
