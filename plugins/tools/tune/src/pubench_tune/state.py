"""Runs each trial as study runs; the trial's value is their mean."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, Literal

from pubench_study.plan import PlannedRun
from pubench_study.planning import planned_run
from pubench_study.scheduler import Study
from pubench_study.state import OF_THE_MACHINE
from pubench_study.task import Bar, Ended, Progressed

from pubench_core.engine.layers import Layer
from pubench_core.engine.plan import Plan
from pubench_core.engine.resolve import resolve
from pubench_core.errors import PubenchError, RecordError, shortened
from pubench_core.plugins.registry import Registry
from pubench_core.records.store import RecordStore

from .curves import Course, bar_of, course_in
from .result import shown
from .sampler import Kept, Proposals
from .space import Dimension


@dataclass(frozen=True)
class Objective:
    """Objective of a search: the mean over ``seeds`` of a criterion, at the epoch that it chose.

    ``layers``: the request, without hyper-parameters that are tuned and without a seed. ``pruned``: whether runs are
    given up at the median of earlier ones.
    """

    layers: tuple[Layer, ...]
    registry: Registry
    criterion: str
    higher_is_better: bool
    seeds: tuple[int, ...]
    space: Mapping[str, Dimension]
    pruned: bool = True

    def plan(self, chosen: Mapping[str, Any], seed: int, number: int) -> Plan:
        """The run of a trial with one seed. Raises RequestError where these values do not go together."""
        layer = Layer()
        for name, value in chosen.items():
            layer.put(("method", "config", name), value, f"trial {number}: {name}={value}")
        layer.put(("seed",), seed, f"seed {seed}")
        return resolve([*self.layers, layer], self.registry)


@dataclass(frozen=True)
class _Outcome:
    """Of one run."""

    state: Literal["done", "pruned", "failed"]
    value: float | None = None
    reason: str = ""
    reached: tuple[int, float] | None = None
    seconds: float = 0.0
    course: Course = ()

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> _Outcome:
        """From the journal."""
        epoch_and_best = kept["reached"]
        return cls(**{**kept, "reached": tuple(epoch_and_best) if epoch_and_best is not None else None})

    def kept(self) -> dict[str, Any]:
        """For the journal; the course is in the record."""
        return {name: getattr(self, name) for name in ("state", "value", "reason", "reached", "seconds")}


@dataclass
class _Trial:
    """In work. ``runs``: seed -> its run."""

    number: int
    key: int
    chosen: Mapping[str, Any]
    runs: dict[int, PlannedRun] = field(default_factory=dict)
    outcomes: dict[int, _Outcome] = field(default_factory=dict)
    ended: bool = False


class Search:
    """Gives the conductor of a study runs to start, and hears what became of them.

    ``first``: the hyper-parameters of the first trial that the space holds. ``wanted``: how many trials are to be.
    """

    def __init__(
        self,
        objective: Objective,
        proposals: Proposals,
        first: Mapping[str, Any],
        wanted: int,
        store: RecordStore,
        say: Callable[[str], None],
    ) -> None:
        self._objective, self._proposals, self._first, self._wanted = objective, proposals, first, wanted
        self._store, self._say = store, say
        self._pending: deque[tuple[_Trial, int]] = deque()
        self._wait: dict[str, list[tuple[_Trial, int]]] = {}
        self._known: dict[str, _Outcome] = {}
        self._courses: dict[int, list[Course]] = {seed: [] for seed in objective.seeds}
        self._compared: set[str] = set()
        self._died: set[str] = set()
        self._best: tuple[float, int] | None = None
        self._again: deque[Kept] = deque()
        self._begun = 0
        #: Why the search cannot go on: the configuration as it is was refused.
        self.refused = ""
        #: What the runs need of the study that carries them out; set before it starts.
        self.study: Study | None = None
        self._take_up(proposals.kept())

    def _take_up(self, kept: Sequence[Kept]) -> None:
        """Goes on from the trials of the journal: those without an end are carried out again."""
        self._begun = len(kept)
        for trial in kept:
            if trial.state == "running":  # its runs are heard of again
                self._again.append(trial)
                continue
            if trial.value is not None:
                self._rank(trial.value, trial.number)
            for run_id, outcome in trial.facts.get("outcomes", {}).items():  # equal trials to come reuse them
                self._known.setdefault(run_id, _Outcome.of(outcome))
            # finished runs of trials that did not end well too; a trial that was refused has none
            for seed, run_id in zip(self._objective.seeds, trial.facts["runs"], strict=False):
                self._add_course(seed, run_id, self._course(run_id))

    def _course(self, run_id: str) -> Course:
        aim = self._objective
        try:
            record = self._store.find(run_id)
        except RecordError:
            return ()
        track = record.result.criteria.get(aim.criterion) if record is not None else None
        return course_in(
            self._store.folder(run_id),
            aim.criterion,
            higher_is_better=aim.higher_is_better,
            stopped_at=track.stopped_at if track is not None else None,
        )

    def _add_course(self, seed: int, run_id: str, course: Course) -> None:
        """A finished run is compared with once, however many trials have it."""
        if course and run_id not in self._compared:
            self._compared.add(run_id)
            self._courses[seed].append(course)

    # ---------------------------------------------------------------- what the conductor asks

    @property
    def over(self) -> bool:
        """Whether no more runs will come."""
        return bool(self.refused) or not (self._pending or self._again or self._begun < self._wanted)

    def following(self) -> PlannedRun | None:
        """The next run; trials are proposed as they are needed."""
        while not self.over:
            if not self._pending:
                self._begin()
                continue
            trial, seed = self._pending.popleft()
            run = trial.runs[seed]
            if trial.ended:
                continue
            if run.run_id in self._known:  # an earlier trial had the same hyper-parameters
                self._hear(trial, seed, self._known[run.run_id])
            elif run.run_id in self._wait:
                self._wait[run.run_id].append((trial, seed))
            else:
                self._wait[run.run_id] = [(trial, seed)]
                return run
        return None

    def bar(self, run: PlannedRun) -> Bar | None:
        """Value that earlier runs of the same split ask of it."""
        aim = self._objective
        if not aim.pruned:
            return None
        return bar_of(self._courses[run.spec.seed], aim.criterion, higher_is_better=aim.higher_is_better)

    def _begin(self) -> None:
        """The next trial: one that was interrupted, or a new one."""
        if self._again:
            kept = self._again.popleft()
            trial = _Trial(kept.number, kept.key, kept.facts["chosen"])
        else:
            number = self._begun
            key, chosen = self._proposals.ask(number, self._first)
            trial = _Trial(number, key, chosen if number else {})
            self._begun += 1
        seeds = self._objective.seeds
        try:
            plans = [self._objective.plan(trial.chosen, seed, trial.number) for seed in seeds]
        except PubenchError as error:  # values that the method takes one by one and not together
            self._proposals.begin(trial.key, {"chosen": dict(trial.chosen), "config": {}, "runs": [], "spec": None})
            self._end(trial, _Outcome("failed", reason=f"refused: {error}"))
            return
        trial.runs = {seed: planned_run(plan, f"trial {trial.number}") for seed, plan in zip(seeds, plans, strict=True)}
        self._proposals.begin(
            trial.key,
            {
                "chosen": dict(trial.chosen),
                "config": trial.runs[seeds[0]].resolved["method"]["config"],
                "runs": [run.run_id for run in trial.runs.values()],
                "spec": trial.runs[seeds[0]].resolved,
            },
        )
        self._pending.extend((trial, seed) for seed in seeds)
        assert self.study is not None
        code = self.study.code  # of every run of the search: hyper-parameters do not change it
        self.study.code = code.model_copy(update={"of": {**code.of, **{plan.run_id: 0 for plan in plans}}})

    # ---------------------------------------------------------------- what the conductor says

    def started(self, run: PlannedRun) -> None:
        """Nothing is said of it yet."""

    def progressed(self, run: PlannedRun, event: Progressed) -> None:
        """Nor of this."""

    def waiting(self, runs: Sequence[PlannedRun]) -> None:
        """Others carry out what is left."""
        self._say(f"waiting for runs that other processes carry out: {len(runs)}")

    def ended(self, run: PlannedRun, event: Ended, expected_left: float | None) -> None:
        """A run is over: its trials hear of it."""
        waiting = self._wait.pop(run.run_id, [])
        if event.status == "unstored":  # the disk is full, say: the trial is carried out again
            return
        if event.cause in OF_THE_MACHINE and run.run_id not in self._died:
            self._died.add(run.run_id)
            self._say(f"{run.row}: {event.cause}: {shortened(event.text, 240)}; it is tried once more")
            self._pending.extendleft(reversed(waiting))
            return
        if event.status == "refused" and any(trial.number == 0 for trial, _ in waiting):
            self.refused = event.text
            return
        outcome = self._known[run.run_id] = self._outcome(run, event)
        if outcome.state == "done":
            self._add_course(run.spec.seed, run.run_id, outcome.course)
        for trial, seed in waiting:
            self._hear(trial, seed, outcome)

    def _outcome(self, run: PlannedRun, event: Ended) -> _Outcome:
        if event.status == "stopped":
            return _Outcome("pruned", reason=event.text, reached=event.reached)
        if event.status not in ("finished", "found"):
            return _Outcome("failed", reason=f"{event.cause or event.status}: {event.text}")
        try:
            record = self._store.find(run.run_id)
        except RecordError as error:
            return _Outcome("failed", reason=str(error))
        if record is None:
            return _Outcome("failed", reason=f"the record of {run.run_id} is gone")
        criterion = self._objective.criterion
        track = record.result.criteria[criterion]
        if track.value is None:
            return _Outcome("failed", reason=f"{criterion} has no value: {track.undefined or 'not at any epoch'}")
        return _Outcome("done", track.value, seconds=record.result.seconds.total, course=self._course(run.run_id))

    def _hear(self, trial: _Trial, seed: int, outcome: _Outcome) -> None:
        if trial.ended:
            return
        trial.outcomes[seed] = outcome
        if outcome.state != "done" or len(trial.outcomes) == len(self._objective.seeds):
            self._end(trial, outcome)

    def _end(self, trial: _Trial, last: _Outcome) -> None:
        """Writes the trial down, and says what it was."""
        trial.ended = True
        values = [one.value for one in trial.outcomes.values() if one.value is not None]
        value = fmean(values) if last.state == "done" else None
        seconds = sum(one.seconds for one in trial.outcomes.values())
        outcomes = {trial.runs[seed].run_id: outcome.kept() for seed, outcome in trial.outcomes.items()}
        facts = {"reason": last.reason, "seconds": round(seconds, 4), "outcomes": outcomes}
        self._proposals.end(trial.key, last.state, value, facts, last.reached)
        if value is None:
            what = f"{last.state} {last.reason}"
        else:
            self._rank(value, trial.number)
            what = f"{self._objective.criterion} {value:.4f}, {seconds:.1f} s"
        best = f"; best {self._best[0]:.4f} (trial {self._best[1]})" if self._best is not None else ""
        with_what = ", ".join(f"{name} {shown(chosen)}" for name, chosen in trial.chosen.items()) or "as it is"
        self._say(f"trial {trial.number} ({with_what}): {shortened(what, 240)}{best}")

    def _rank(self, value: float, number: int) -> None:
        better = self._best is None or (
            value > self._best[0] if self._objective.higher_is_better else value < self._best[0]
        )
        if better:
            self._best = (value, number)
