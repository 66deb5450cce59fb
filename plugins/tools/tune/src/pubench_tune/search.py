"""One search, from a request to what was found: its folder, its trials as runs of a study, its end.

A trial is a run for each seed; its value is their mean. Optuna's journal holds the trials (:mod:`.sampler`), the folder
of records their runs, and a :class:`Search` knows which of them are in work.
"""

from __future__ import annotations

import re
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from statistics import fmean, median
from typing import Any, NamedTuple

import filelock
from optuna.trial import FrozenTrial
from pubench_report.trace import CRITERION, read_trace
from pubench_study.cache import cache_of_plans
from pubench_study.local import LocalPool
from pubench_study.plan import PlannedRun
from pubench_study.planning import held_out_labels, plain, planned_run
from pubench_study.scheduler import Stop, Study
from pubench_study.state import OF_THE_MACHINE, Digests, Expected
from pubench_study.task import Bar, Ended, Orders, Progressed

from pubench_cli.few_labels import LOST, is_few
from pubench_core.data.dataset import data_root
from pubench_core.engine.layers import Layer
from pubench_core.engine.plan import Plan
from pubench_core.engine.resolve import resolve
from pubench_core.errors import PubenchError, RecordError, RequestError, shortened, shown
from pubench_core.plugins.registry import Registry
from pubench_core.records.store import RecordStore
from pubench_core.specs.fields import short_hash

from .result import State, Trial, Tuned, brief
from .sampler import Proposals
from .space import Dimension, Given, TunedMethod, holds, space_of, text_of

#: Folder of searches in a folder of records, and the files of each.
TUNING, BEST, LOGS, LOCK = "tuning", "best.yaml", "logs", ".lock"
MOST_TRIALS = 100_000
#: What a run can do without a defined criterion, and a search cannot.
_BY_LAST = "; or selection.criterion can be last here"
#: No run is given up before so many of the same split have finished.
STARTUP = 5
#: Nor in the first part of its epochs: this share of how many finished runs had.
WARM_UP = 0.5


@dataclass(frozen=True)
class SearchRequest:
    """Request of a search."""

    criterion: str | None = None
    """None: that of the run, ``pa`` unless it says otherwise."""
    trials: int = 50
    space: Given | None = None
    seeds: tuple[int, ...] | None = None
    """None: that of the run, 2 unless it says otherwise."""
    jobs: int = 1
    search_seed: int = 0
    pruned: bool = True
    """Whether a run is given up at the median of earlier ones."""
    max_seconds: float | None = None
    """No run is started after them."""
    word: str = "space "
    """Put before a text of the space in an error."""
    files: int = 0
    """How many layers, the first ones, are of files: a space may name their hyper-parameters, which begin it."""


def search(layers: Sequence[Layer], asked: SearchRequest, registry: Registry, say: Callable[[str], None]) -> Tuned:
    """Carries out what is missing of a search. The same request again goes on where it was.

    Raises RequestError for what cannot be met, RecordError where the search or a record cannot be stored.
    """
    for name, given, least, most in (
        ("trials", asked.trials, 1, MOST_TRIALS),
        ("jobs", asked.jobs, 1, 1024),
        ("search_seed", asked.search_seed, 0, 2**32 - 1),
    ):
        if isinstance(given, bool) or not isinstance(given, int) or not least <= given <= most:
            raise RequestError(f"{name} must be a whole number from {least} to {most}, got {given!r}", field=name)
    limit = asked.max_seconds
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, (int, float)) or not limit >= 0):
        raise RequestError(f"max_seconds must be a number of at least 0, got {shown(limit)}", field="max_seconds")
    aim, plan = _objective(layers, asked, registry, say)
    how = plan.spec.execution
    store = RecordStore(how.results)
    store.check_writable()
    digests = Digests(registry, data_root(how, say))
    first = planned_run(plan, plan.spec.method.key)
    if absent := digests.check([first]):
        raise RequestError(next(iter(absent.values())), field="data.key")
    cache = cache_of_plans([plan], "")
    measured = [plan.code_reading(digests.of(first, {})).hash, plan.criterion_code(aim.criterion)]
    folder = how.results / TUNING / _name(plan, aim, asked, measured)
    oracle = "truth" in plan.method.requires or aim.oracle
    held_out = None if oracle else held_out_labels(plan, digests.root)  # the digest has prepared the data
    if is_few(held_out):
        more = "" if plan.spec.validation.joint else "; validation.folds=5 holds out every label in turn"
        say(f"warning: {held_out} held-out labeled positives compare the trials: {LOST}{more}")
    facts: dict[str, Any] = {
        "method": plan.spec.method.key,
        "data": plan.spec.data.key,
        "criterion": aim.criterion,
        "oracle": oracle,
        "higher_is_better": aim.higher_is_better,
        "seeds": aim.seeds,
        "space": {name: text_of(dimension) for name, dimension in aim.space.items()},
    }
    with _held(folder):
        proposals = Proposals(folder, aim.space, asked.search_seed, higher_is_better=aim.higher_is_better)
        proposals.describe({**facts, "pruned": aim.pruned, "versions": plan.code.versions, "spec": plain(plan.spec)})
        config = plan.method.config.model_dump()
        known = {name: config[name] for name, dimension in aim.space.items() if holds(dimension, config[name])}
        runs = Search(aim, proposals, known, asked.trials, store, say)
        why_left, ended_by = "", None
        if not runs.over:
            stop = Stop(say)
            orders = Orders(how.results, how.data_root, how.encoder, offline=how.offline, threads=how.threads or 1)
            pool = LocalPool([how.device] * asked.jobs, orders, folder / LOGS)
            runs.study = Study(store, cache, digests, Expected(), pool, runs, asked.max_seconds, source=runs)
            main = threading.current_thread() is threading.main_thread()
            with stop.listening() if main else nullcontext():
                summary = runs.study.conduct([], stop)
            why_left, ended_by = summary.why_left, stop.signal
            for _, event in summary.of("unstored"):
                say(f"not stored: {event.text}")
        if runs.refused:
            raise RequestError(runs.refused.replace(_BY_LAST, ""))
        trials = tuple(Trial.of(number, kept, how.results) for number, kept in enumerate(proposals.begun()))
        found = Tuned(**facts, trials=trials, folder=folder, results=how.results, interrupted=why_left, signal=ended_by)
        if found.count("done"):
            found.write(folder / BEST)
        return found


@dataclass(frozen=True)
class Objective:
    """The mean over ``seeds`` of a criterion, at the epoch that it chose."""

    layers: tuple[Layer, ...]
    """The request, without hyper-parameters that are tuned and without a seed."""
    registry: Registry
    criterion: str
    oracle: bool
    """Whether the criterion reads true labels."""
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


def _objective(
    layers: Sequence[Layer], asked: SearchRequest, registry: Registry, say: Callable[[str], None]
) -> tuple[Objective, Plan]:
    """What is searched for, and the configuration as it is with the first seed."""
    if asked.criterion is not None:
        layers = [*layers, Layer({"selection": {"criterion": asked.criterion}})]
    seeds = asked.seeds or tuple(layer.values["seed"] for layer in layers if "seed" in layer.values)[-1:] or (2,)
    plan = resolve([*layers, Layer({"seed": seeds[0]})], registry, warn=say)
    criterion = plan.spec.selection.criterion
    if criterion == "last":
        raise RequestError(
            "criterion last has no value to compare trials by; expected pa or pauc",
            field="selection.criterion",
        )
    pruned = asked.pruned and not plan.spec.validation.joint  # the course of one fold is not that of their mean
    if pruned and "trace" not in plan.spec.execution.artifacts:
        raise RequestError(
            "pruning needs the trace of every run; add trace to execution.artifacts, or do not prune (--no-prune, "
            "prune=False)",
            field="execution.artifacts",
        )
    info = plan.metrics[criterion].info if criterion in plan.metrics else None
    oracle = info is not None and info.oracle
    if oracle:
        say(f"warning: {criterion} reads true labels; its result is marked as an oracle's")
    if info is None:
        say(f"warning: {criterion} is the method's own score; trials compare only where no value changes its scale")
    fixed = {name for layer in layers[asked.files :] for name in _config_in(layer)}
    of_files = {name for layer in layers[: asked.files] for name in _config_in(layer)}
    space = space_of(asked.space, TunedMethod(plan.spec.method.key, plan.method.config, fixed, asked.word, of_files))
    higher = info is None or info.higher_is_better
    return Objective(tuple(layers), registry, criterion, oracle, higher, seeds, space, pruned), plan


def _config_in(layer: Layer) -> Mapping[str, Any]:
    """Hyper-parameters that a layer sets."""
    method = layer.values.get("method")
    config = method.get("config") if isinstance(method, dict) else None
    return config if isinstance(config, dict) else {}


# -------------------------------------------------------------------- trials


class TrialOutcome(NamedTuple):
    """Outcome of a trial, or of one of its runs."""

    state: State
    value: float | None = None
    reason: str = ""
    seconds: float = 0.0
    reached: tuple[int, float] | None = None
    """(epoch, best value so far) at which it was pruned."""


@dataclass
class _TrialInWork:
    number: int
    key: int
    """Optuna's number."""
    chosen: Mapping[str, Any]
    runs: dict[int, PlannedRun] = field(default_factory=dict)
    """By seed."""
    done: list[TrialOutcome] = field(default_factory=list)
    """Of its runs."""
    equal: list[_TrialInWork] = field(default_factory=list)
    """Later trials of the same hyper-parameters: they end as this one does."""
    ended: bool = False

    @property
    def name(self) -> str:
        """The run id of its first seed: equal trials have equal runs."""
        return next(iter(self.runs.values())).run_id


class Search:
    """Gives the conductor of a study runs to start, and hears how they ended.

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
        self._pending: deque[tuple[_TrialInWork, int]] = deque()
        self._at_work: dict[str, tuple[_TrialInWork, int]] = {}
        self._open: dict[str, _TrialInWork] = {}
        self._ended: dict[str, TrialOutcome] = {}
        self._courses: dict[int, dict[str, Course]] = {seed: {} for seed in objective.seeds}
        self._died: set[str] = set()
        self._best: tuple[float, int] | None = None
        self._interrupted: deque[tuple[int, FrozenTrial]] = deque()
        #: Why the search cannot go on: the configuration as it is was refused.
        self.refused = ""
        #: What the runs need of the study that carries them out; set before it starts.
        self.study: Study | None = None
        kept = proposals.begun()
        self._begun = len(kept)
        for number, frozen in enumerate(kept):
            self._take_up(number, frozen)

    def _take_up(self, number: int, frozen: FrozenTrial) -> None:
        """Goes on from a trial of the journal; one without an end is carried out again."""
        trial = Trial.of(number, frozen, self._store.root)
        if trial.state == "running":
            self._interrupted.append((number, frozen))
            return
        if trial.value is not None:
            self._rank(trial.value, number)
        reached = max(frozen.intermediate_values.items(), default=None)
        outcome = TrialOutcome(trial.state, trial.value, trial.reason, trial.seconds or 0.0, reached)
        # a trial that was refused has no runs; finished ones of trials that did not end well are compared with too
        for seed, run_id in zip(self._objective.seeds, trial.runs, strict=False):
            self._ended.setdefault(trial.runs[0], outcome)
            self._add_course(seed, run_id)

    def _add_course(self, seed: int, run_id: str) -> None:
        """A finished run is compared with once, however many trials have it."""
        aim = self._objective
        if run_id in self._courses[seed]:
            return
        try:
            record = self._store.find(run_id)
        except RecordError:
            return
        track = record.result.criteria.get(aim.criterion) if record is not None else None
        course = course_in(
            self._store.folder(run_id),
            aim.criterion,
            higher_is_better=aim.higher_is_better,
            stopped_at=track.stopped_at if track is not None else None,
        )
        if course:
            self._courses[seed][run_id] = course

    # ---------------------------------------------------------------- what the conductor asks

    @property
    def over(self) -> bool:
        """Whether no more runs will come."""
        return bool(self.refused) or not (self._pending or self._interrupted or self._begun < self._wanted)

    def following(self) -> PlannedRun | None:
        """The next run; trials are proposed as they are needed."""
        while not self.over:
            if not self._pending:
                self._begin()
                continue
            trial, seed = self._pending.popleft()
            if not trial.ended:
                self._at_work[trial.runs[seed].run_id] = trial, seed
                return trial.runs[seed]
        return None

    def bar(self, run: PlannedRun) -> Bar | None:
        """Value that earlier runs of the same split ask of it."""
        aim = self._objective
        if not aim.pruned:
            return None
        courses = list(self._courses[run.spec.seed].values())
        return bar_of(courses, aim.criterion, higher_is_better=aim.higher_is_better)

    def _begin(self) -> None:
        """The next trial: one that was interrupted, or a new one."""
        if self._interrupted:
            number, frozen = self._interrupted.popleft()
            trial = _TrialInWork(number, frozen.number, Trial.of(number, frozen, self._store.root).chosen)
        else:
            number, self._begun = self._begun, self._begun + 1
            key, chosen = self._proposals.ask(number, self._first)
            trial = _TrialInWork(number, key, chosen if number else {})
        facts: dict[str, Any] = {"chosen": dict(trial.chosen), "config": {}, "runs": [], "spec": None}
        try:
            plans = {seed: self._objective.plan(trial.chosen, seed, number) for seed in self._objective.seeds}
        except PubenchError as error:  # values that the method takes one by one and not together
            self._proposals.begin(trial.key, facts)
            self._end(trial, TrialOutcome("failed", reason=f"refused: {error}"))
            return
        trial.runs = {seed: planned_run(plan, f"trial {number}") for seed, plan in plans.items()}
        spec = trial.runs[self._objective.seeds[0]].resolved
        facts |= {"config": spec["method"]["config"], "runs": [run.run_id for run in trial.runs.values()], "spec": spec}
        self._proposals.begin(trial.key, facts)
        if trial.name in self._ended:
            self._end(trial, self._ended[trial.name])
        elif trial.name in self._open:
            self._open[trial.name].equal.append(trial)
        else:
            self._open[trial.name] = trial
            self._pending.extend((trial, seed) for seed in trial.runs)
            assert self.study is not None
            cache = self.study.cache  # of every run of the search: hyper-parameters do not change it
            self.study.cache = cache.model_copy(update={"of": {**cache.of, **dict.fromkeys(facts["runs"], 0)}})

    # ---------------------------------------------------------------- what the conductor says

    def started(self, run: PlannedRun) -> None:
        """Nothing is said of it yet."""

    def progressed(self, run: PlannedRun, event: Progressed) -> None:
        """Nor of this."""

    def waiting(self, runs: Sequence[PlannedRun]) -> None:
        """Others carry out what is left."""
        self._say(f"waiting for runs that other processes carry out: {len(runs)}")

    def ended(self, run: PlannedRun, event: Ended, expected_left: float | None) -> None:
        """A run is over, and its trial if that was the last of them or has no value."""
        trial, seed = self._at_work.pop(run.run_id)
        if event.status == "unstored":  # the disk is full, say: the trial is carried out again
            self._open.pop(trial.name, None)
            return
        if event.cause in OF_THE_MACHINE and run.run_id not in self._died:
            self._died.add(run.run_id)
            self._say(f"{run.row}: {event.cause}: {shortened(event.text, 240)}; it is tried once more")
            self._pending.appendleft((trial, seed))
            return
        if event.status == "refused" and trial.number == 0:
            self.refused = event.text
            return
        outcome = self._outcome(run, event)
        if outcome.state == "done":
            self._add_course(seed, run.run_id)
            trial.done.append(outcome)
        if trial.ended or (outcome.state == "done" and len(trial.done) < len(trial.runs)):
            return
        seconds = round(sum(one.seconds for one in trial.done), 4)
        value = fmean(one.value for one in trial.done if one.value is not None) if outcome.state == "done" else None
        outcome = self._ended[trial.name] = outcome._replace(value=value, seconds=seconds)
        for equal in (trial, *self._open.pop(trial.name).equal):
            self._end(equal, outcome)

    def _outcome(self, run: PlannedRun, event: Ended) -> TrialOutcome:
        if event.status == "stopped":
            return TrialOutcome("pruned", reason=event.text, reached=event.reached)
        if event.status not in ("finished", "found"):
            return TrialOutcome("failed", reason=f"{event.cause or event.status}: {event.text}")
        try:
            record = self._store.find(run.run_id)
        except RecordError as error:
            return TrialOutcome("failed", reason=str(error))
        if record is None:
            return TrialOutcome("failed", reason=f"the record of {run.run_id} is gone")
        criterion = self._objective.criterion
        track = record.result.criteria[criterion]
        if track.value is None:
            return TrialOutcome("failed", reason=f"{criterion} has no value: {track.undefined or 'not at any epoch'}")
        return TrialOutcome("done", track.value, seconds=record.result.seconds.total)

    def _end(self, trial: _TrialInWork, outcome: TrialOutcome) -> None:
        """Writes the trial down, and says what it was."""
        trial.ended = True
        facts = {"reason": outcome.reason, "seconds": outcome.seconds}
        self._proposals.end(trial.key, outcome.state, outcome.value, facts, outcome.reached)
        if outcome.value is None:
            what = f"{outcome.state} {outcome.reason}"
        else:
            self._rank(outcome.value, trial.number)
            what = f"{self._objective.criterion} {outcome.value:.4f}, {outcome.seconds:.1f} s"
        best = f"; best {self._best[0]:.4f} (trial {self._best[1]})" if self._best is not None else ""
        with_what = ", ".join(f"{name} {brief(chosen)}" for name, chosen in trial.chosen.items()) or "as it is"
        self._say(f"trial {trial.number} ({with_what}): {shortened(what, 240)}{best}")

    def _rank(self, value: float, number: int) -> None:
        sign = 1 if self._objective.higher_is_better else -1
        if self._best is None or sign * value > sign * self._best[0]:
            self._best = (value, number)


# -------------------------------------------------------------------- giving up

#: Best value of a criterion so far, after every epoch of a run; None where there was none yet.
Course = tuple[float | None, ...]


def course_in(folder: Path, criterion: str, *, higher_is_better: bool, stopped_at: int | None = None) -> Course:
    """Course of a record, by its trace; empty if it kept none.

    ``stopped_at``: epoch at which the patience of the criterion ran out. What it traced later could not be chosen.
    """
    values = read_trace(folder).get(f"{CRITERION}{criterion}", ())[:stopped_at]
    better = max if higher_is_better else min
    return tuple(accumulate(values, lambda *two: better((value for value in two if value is not None), default=None)))


def bar_of(courses: Sequence[Course], criterion: str, *, higher_is_better: bool) -> Bar | None:
    """The median of what finished runs had reached after every epoch; None while there are too few of them.

    A run that ended early keeps its last value. This is the rule of Optuna's median pruner. That one decides in the
    process that has the study; a bar goes to the worker with its run, so that the epoch depends on no clock.

    >>> bar_of([(0.5, 0.6)] * 4 + [(0.1,)], "pa", higher_is_better=True).at
    (None, 0.6)
    """
    if len(courses) < STARTUP:
        return None
    warm_up = max(1, int(WARM_UP * median(map(len, courses))))
    at: list[float | None] = []
    for epoch in range(max(map(len, courses))):
        reached = [value for c in courses if (value := c[min(epoch, len(c) - 1)]) is not None]
        at.append(median(reached) if epoch >= warm_up and len(reached) >= STARTUP else None)
    return Bar(criterion, higher_is_better, tuple(at))


# -------------------------------------------------------------------- the folder


def _name(plan: Plan, aim: Objective, asked: SearchRequest, code: Sequence[str]) -> str:
    """Name of the folder: of everything that decides which trials there are, but how many.

    ``code``: hashes of what computes scores from which data, and of the criterion. Other code computes other values, so
    that it has a search of its own.
    """
    decides = {**plan.spec.identity(plan.method.config), "non_finite": plan.spec.selection.non_finite}
    del decides["seed"]
    space = {name: text_of(dimension) for name, dimension in aim.space.items()}
    digits = short_hash([decides, *code, aim.criterion, list(aim.seeds), space, asked.search_seed, aim.pruned])
    data = re.sub(r"[^\w.-]", "_", plan.spec.data.key)[:40]
    return f"{plan.spec.method.key}-{data}-{digits[:8]}"


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """The folder, for this process alone."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(str(folder / LOCK))
        lock.acquire(timeout=0)
    except filelock.Timeout:
        raise RequestError(
            f"another process runs this search ({folder}); wait for it, or stop it and start this command again"
        ) from None
    except OSError as error:
        raise RequestError(
            f"cannot write in {folder}: {error.strerror or error}; name another folder (execution.results)",
            field="execution.results",
        ) from error
    try:
        yield
    finally:
        lock.release()
