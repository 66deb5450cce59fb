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
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import filelock
from pubench_study.cache import cache_of_plans
from pubench_study.local import LocalPool
from pubench_study.plan import PlannedRun
from pubench_study.planning import held_out_labels, plain, planned_run
from pubench_study.scheduler import Stop, Study
from pubench_study.state import OF_THE_MACHINE, Digests, Expected
from pubench_study.task import Ended, Orders, Progressed

from pubench_cli.few_labels import LOST, is_few
from pubench_core.data.dataset import data_root
from pubench_core.engine.layers import Layer
from pubench_core.engine.plan import Plan
from pubench_core.engine.resolve import resolve
from pubench_core.errors import PubenchError, RecordError, RequestError, shortened, shown
from pubench_core.plugins.registry import Registry
from pubench_core.records.store import RecordStore
from pubench_core.specs.fields import short_hash

from .result import Trial, TrialOutcome, Tuned, brief
from .sampler import MedianRule, Proposals
from .space import Dimension, Given, TunedMethod, holds, space_of, text_of

#: Folder of searches in a folder of records, and the files of each.
TUNING, BEST, LOGS, LOCK = "tuning", "best.yaml", "logs", ".lock"
MOST_TRIALS = 100_000
#: What a run can do without a defined criterion, and a search cannot.
_BY_LAST = "; or selection.criterion can be last here"


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


class _Waiting(NamedTuple):
    """A trial without an outcome."""

    number: int
    key: int
    """Optuna's number."""
    chosen: Mapping[str, Any]


@dataclass
class _Configuration:
    """Hyper-parameters of a trial, and of later ones that have the same: they end as the first does."""

    runs: Sequence[PlannedRun] = ()
    """One for each seed."""
    trials: list[_Waiting] = field(default_factory=list)
    done: list[TrialOutcome] = field(default_factory=list)
    """Of its runs."""
    outcome: TrialOutcome | None = None


@dataclass
class Search:
    """Gives the conductor of a study runs to start, and receives their outcomes."""

    aim: Objective
    proposals: Proposals
    first: Mapping[str, Any]
    """Hyper-parameters of the first trial that the space holds."""
    wanted: int
    """How many trials there are to be."""
    store: RecordStore
    say: Callable[[str], None]
    refused: str = ""
    """Why the search cannot go on: the configuration as it is was refused."""
    study: Study | None = None
    """The one that carries the runs out; set before it starts."""
    _pending: deque[PlannedRun] = field(default_factory=deque)
    _interrupted: deque[_Waiting] = field(default_factory=deque)
    _of: dict[str, _Configuration] = field(default_factory=dict)
    """By run id."""
    _died: set[str] = field(default_factory=set)
    _values: dict[int, float] = field(default_factory=dict)
    """By number of the trial."""
    _begun: int = 0

    def __post_init__(self) -> None:
        for number, kept in enumerate(self.proposals.begun()):
            self._begun, trial = number + 1, Trial.of(number, kept, self.store.root)
            if trial.state == "running":  # its process is gone: it is carried out again
                self._interrupted.append(_Waiting(number, kept.number, trial.chosen))
                continue
            if trial.value is not None:
                self._values[number] = trial.value
            ended = _Configuration(outcome=TrialOutcome(trial.state, trial.value, trial.reason, trial.seconds or 0.0))
            self._of = dict.fromkeys(trial.runs, ended) | self._of  # a trial that was refused has no runs

    # ---------------------------------------------------------------- what the conductor asks

    @property
    def over(self) -> bool:
        """Whether no more runs will come."""
        return bool(self.refused) or not (self._pending or self._interrupted or self._begun < self.wanted)

    def following(self) -> PlannedRun | None:
        """The next run; trials are proposed as they are needed."""
        while not self.over:
            if not self._pending:
                self._begin()
            elif self._of[(run := self._pending.popleft()).run_id].outcome is None:
                return run
        return None

    def watch(self, run: PlannedRun) -> MedianRule | None:
        """Optuna's median pruner, for the run with the first seed of a trial."""
        if not self.aim.pruned or run.spec.seed != self.aim.seeds[0]:
            return None
        epochs = run.resolved["method"]["config"].get("epochs", 0)
        return self.proposals.median_rule(self._of[run.run_id].trials[0].key, self.aim.criterion, epochs)

    def _begin(self) -> None:
        """The next trial: one that was interrupted, or a new one."""
        if self._interrupted:
            trial = self._interrupted.popleft()
        else:
            key, chosen = self.proposals.ask(self._begun, self.first)
            trial = _Waiting(self._begun, key, chosen if self._begun else {})
            self._begun += 1
        facts: dict[str, Any] = {"chosen": dict(trial.chosen), "config": {}, "runs": [], "spec": None}
        try:
            plans = [self.aim.plan(trial.chosen, seed, trial.number) for seed in self.aim.seeds]
        except PubenchError as error:  # values that the method takes one by one and not together
            self.proposals.begin(trial.key, facts)
            self._end(trial, TrialOutcome("failed", reason=f"refused: {error}"))
            return
        runs = [planned_run(plan, f"trial {trial.number}") for plan in plans]
        spec = runs[0].resolved
        ids = [run.run_id for run in runs]
        self.proposals.begin(trial.key, facts | {"config": spec["method"]["config"], "runs": ids, "spec": spec})
        same = self._of.get(ids[0])
        if same is not None and same.outcome is not None:
            self._end(trial, same.outcome)
        elif same is not None:
            same.trials.append(trial)
        else:
            self._of |= dict.fromkeys(ids, _Configuration(runs, [trial]))
            self._pending.extend(runs)
            assert self.study is not None
            cache = self.study.cache  # of every run of the search: hyper-parameters do not change it
            self.study.cache = cache.model_copy(update={"of": {**cache.of, **dict.fromkeys(ids, 0)}})

    # ---------------------------------------------------------------- what the conductor says

    def started(self, run: PlannedRun) -> None:
        """Nothing is said of it yet."""

    def progressed(self, run: PlannedRun, event: Progressed) -> None:
        """Nor of this."""

    def waiting(self, runs: Sequence[PlannedRun]) -> None:
        """Others carry out what is left."""
        self.say(f"waiting for runs that other processes carry out: {len(runs)}")

    def ended(self, run: PlannedRun, event: Ended, expected_left: float | None) -> None:
        """A run is over, and its trial if that was the last of them or has no value."""
        mine = self._of[run.run_id]
        if event.status == "unstored":  # the disk is full, say: the next call carries the trial out again
            return
        if event.cause in OF_THE_MACHINE and run.run_id not in self._died:
            self._died.add(run.run_id)
            self.say(f"{run.row}: {event.cause}: {shortened(event.text, 240)}; it is tried once more")
            self._pending.appendleft(run)
            return
        if event.status == "refused" and mine.trials[0].number == 0:
            self.refused = event.text
            return
        outcome = self._outcome(run, event)
        if outcome.state == "done":
            mine.done.append(outcome)
        if mine.outcome is not None or (outcome.state == "done" and len(mine.done) < len(mine.runs)):
            return
        seconds = round(sum(one.seconds for one in mine.done), 4)
        value = fmean(one.value for one in mine.done if one.value is not None) if outcome.state == "done" else None
        mine.outcome = outcome._replace(value=value, seconds=seconds)
        for trial in mine.trials:
            self._end(trial, mine.outcome)

    def _outcome(self, run: PlannedRun, event: Ended) -> TrialOutcome:
        if event.status == "stopped":
            return TrialOutcome("pruned", reason=event.text)
        if event.status not in ("finished", "found"):
            return TrialOutcome("failed", reason=f"{event.cause or event.status}: {event.text}")
        try:
            record = self.store.find(run.run_id)
        except RecordError as error:
            return TrialOutcome("failed", reason=str(error))
        if record is None:
            return TrialOutcome("failed", reason=f"the record of {run.run_id} is gone")
        track = record.result.criteria[self.aim.criterion]
        if track.value is None:
            why = track.undefined or "not at any epoch"
            return TrialOutcome("failed", reason=f"{self.aim.criterion} has no value: {why}")
        return TrialOutcome("done", track.value, seconds=record.result.seconds.total)

    def _end(self, trial: _Waiting, outcome: TrialOutcome) -> None:
        """Writes the trial down, and says what it was."""
        self.proposals.end(trial.key, outcome)
        what = f"{outcome.state} {outcome.reason}"
        if outcome.value is not None:
            self._values[trial.number] = outcome.value
            what = f"{self.aim.criterion} {outcome.value:.4f}, {outcome.seconds:.1f} s"
        pick = max if self.aim.higher_is_better else min
        number = pick(sorted(self._values), key=self._values.__getitem__, default=None)
        best = "" if number is None else f"; best {self._values[number]:.4f} (trial {number})"
        with_what = ", ".join(f"{name} {brief(chosen)}" for name, chosen in trial.chosen.items()) or "as it is"
        self.say(f"trial {trial.number} ({with_what}): {shortened(what, 240)}{best}")


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
