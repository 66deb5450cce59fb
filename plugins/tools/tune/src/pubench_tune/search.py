"""One search, from a request to what was found: its folder, its trials as runs of a study, its end.

A trial is a run for each seed; its value is their mean. Optuna's journal holds the trials (:mod:`.sampler`), the folder
of records their runs, and a :class:`Search` knows which of them are in work.
"""

from __future__ import annotations

import re
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import filelock
from pubench_study.cache import cache_of_plans
from pubench_study.durations import seconds_of
from pubench_study.local import LocalPool
from pubench_study.plan import PlannedRun
from pubench_study.planning import held_out_labels, planned_run
from pubench_study.scheduler import Stop, Study
from pubench_study.state import OF_THE_MACHINE, Digests, Expected
from pubench_study.task import Ended, Orders, Progressed

from pubench_cli.few_labels import LOST, is_few
from pubench_core.data.dataset import data_root
from pubench_core.engine.layers import Layer
from pubench_core.engine.plan import Plan
from pubench_core.engine.resolve import resolve
from pubench_core.errors import PubenchError, RecordError, RequestError, shortened
from pubench_core.plugins.registry import Registry
from pubench_core.records.store import RecordStore
from pubench_core.specs.fields import short_hash

from .result import Trial, TrialOutcome, Tuned, brief
from .sampler import MedianRule, Proposals
from .space import Given, TunedMethod, holds, space_of, text_of

#: Folder of searches in a folder of records, and the files of each.
TUNING, BEST, LOGS, LOCK = "tuning", "best.yaml", "logs", ".lock"
#: What a run can do without a defined criterion, and a search cannot.
_BY_LAST = "; or selection.criterion can be last here"


def search(
    layers: Sequence[Layer],
    registry: Registry,
    say: Callable[[str], None],
    *,
    trials: int = 50,
    space: Given | None = None,
    seeds: Sequence[int] = (),
    jobs: int = 1,
    search_seed: int = 0,
    prune: bool = True,
    max_seconds: float | str | None = None,
    word: str = "space ",
    files: int = 0,
) -> Tuned:
    """Carries out what is missing of a search. The same request again goes on where it was.

    ``seeds``: none means that of the layers, 2 unless they say otherwise. ``prune``: whether a run is given up at the
    median of earlier ones. ``max_seconds``: no run is started after them. ``word``: put before a text of the space in
    an error. ``files``: how many layers, the first ones, are of files: a space may name their hyper-parameters, which
    begin it.

    Raises RequestError for what cannot be met, RecordError where the search or a record cannot be stored.
    """
    for name, given, least, most in (
        ("trials", trials, 1, 100_000),
        ("jobs", jobs, 1, 1024),
        ("search_seed", search_seed, 0, 2**32 - 1),
    ):
        if isinstance(given, bool) or not isinstance(given, int) or not least <= given <= most:
            raise RequestError(f"{name} must be a whole number from {least} to {most}, got {given!r}", field=name)
    limit = None if max_seconds is None else seconds_of(max_seconds, "max_seconds")
    seeds = tuple(seeds) or tuple(layer.values["seed"] for layer in layers if "seed" in layer.values)[-1:] or (2,)
    plan = resolve([*layers, Layer({"seed": seeds[0]})], registry, warn=say)
    criterion, config = plan.spec.selection.criterion, plan.method.config.model_dump()
    if criterion == "last":
        raise RequestError(
            "criterion last has no value to compare trials by; expected pa or pauc", field="selection.criterion"
        )
    pruned = prune and not plan.spec.validation.joint  # the course of one fold is not that of their mean
    info = plan.metrics[criterion].info if criterion in plan.metrics else None
    if info is None:
        say(f"warning: {criterion} is the method's own score; trials compare only where no value changes its scale")
    elif info.oracle:
        say(f"warning: {criterion} reads true labels; its result is marked as an oracle's")
    fixed = {name for layer in layers[files:] for name in _config_in(layer)}
    of_files = {name for layer in layers[:files] for name in _config_in(layer)}
    tuned = space_of(space, TunedMethod(plan.spec.method.key, plan.method.config, fixed, word, of_files))
    facts: dict[str, Any] = {
        "method": plan.spec.method.key,
        "data": plan.spec.data.key,
        "criterion": criterion,
        "oracle": "truth" in plan.method.requires or (info is not None and info.oracle),
        "higher_is_better": info is None or info.higher_is_better,
        "seeds": seeds,
        "space": {name: text_of(dimension) for name, dimension in tuned.items()},
    }
    how = plan.spec.execution
    store = RecordStore(how.results)
    store.check_writable()
    digests = Digests(registry, data_root(how, say))
    first = planned_run(plan, plan.spec.method.key)
    if absent := digests.check([first]):
        raise RequestError(next(iter(absent.values())), field="data.key")
    decides = {**plan.spec.identity(plan.method.config), "non_finite": plan.spec.selection.non_finite, "seed": None}
    # of other code or data it has other values, so that it is a search of its own
    code = [plan.code_reading(digests.of(first, {})).hash, plan.criterion_code(criterion)]
    digits = short_hash([decides, code, facts, search_seed, pruned])[:8]  # all but how many trials there are
    data = re.sub(r"[^\w.-]", "_", facts["data"])[:40]
    folder = how.results / TUNING / f"{facts['method']}-{data}-{digits}"
    held_out = None if facts["oracle"] else held_out_labels(plan, digests.root)  # the digest has prepared the data
    if is_few(held_out):
        more = "" if plan.spec.validation.joint else "; validation.folds=5 holds out every label in turn"
        say(f"warning: {held_out} held-out labeled positives compare the trials: {LOST}{more}")
    with _held(folder):
        proposals = Proposals(folder, tuned, search_seed, higher_is_better=facts["higher_is_better"])
        known = {name: config[name] for name, dimension in tuned.items() if holds(dimension, config[name])}
        runs = Search(layers, registry, criterion, seeds, pruned, proposals, known, trials, store, say)
        why_left, ended_by = "", None
        if not runs.over:
            stop = Stop(say)
            orders = Orders(how.results, how.data_root, how.encoder, offline=how.offline, threads=how.threads or 1)
            pool = LocalPool([how.device] * jobs, orders, folder / LOGS)
            cache = cache_of_plans([plan], "")
            runs.study = Study(store, cache, digests, Expected(), pool, runs, limit, source=runs)
            main = threading.current_thread() is threading.main_thread()
            with stop.listening() if main else nullcontext():
                summary = runs.study.conduct([], stop)
            why_left, ended_by = summary.why_left, stop.signal
            for _, event in summary.of("unstored"):
                say(f"not stored: {event.text}")
        if runs.refused:
            raise RequestError(runs.refused.replace(_BY_LAST, ""))
        kept = tuple(Trial.of(number, one, how.results) for number, one in enumerate(proposals.begun()))
        found = Tuned(**facts, trials=kept, folder=folder, results=how.results, interrupted=why_left, signal=ended_by)
        if found.count("done"):
            found.write(folder / BEST)
        return found


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

    layers: Sequence[Layer]
    """The request, without hyper-parameters that are tuned and without a seed."""
    registry: Registry
    criterion: str
    seeds: Sequence[int]
    pruned: bool
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
    _begun: int = 0

    def __post_init__(self) -> None:
        for number, kept in enumerate(self.proposals.begun()):
            self._begun, trial = number + 1, Trial.of(number, kept, self.store.root)
            if trial.state == "running":  # its process is gone: it is carried out again
                self._interrupted.append(_Waiting(number, kept.number, trial.chosen))
                continue
            ended = _Configuration(outcome=TrialOutcome(trial.state, trial.value, trial.reason, trial.seconds))
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
        if not self.pruned or run.spec.seed != self.seeds[0]:
            return None
        epochs = run.resolved["method"]["config"].get("epochs", 0)
        return self.proposals.median_rule(self._of[run.run_id].trials[0].key, self.criterion, epochs)

    def _plan(self, trial: _Waiting, seed: int) -> Plan:
        """The run of a trial with one seed. Raises RequestError where its values do not go together."""
        layer = Layer()
        for name, value in trial.chosen.items():
            layer.put(("method", "config", name), value, f"trial {trial.number}: {name}={value}")
        layer.put(("seed",), seed, f"seed {seed}")
        return resolve([*self.layers, layer], self.registry)

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
            plans = [self._plan(trial, seed) for seed in self.seeds]
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

    def started(self, run: PlannedRun, event: Progressed | None = None) -> None:
        """Nothing is said of a trial before it ends."""

    progressed = started

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
        seconds = round(sum(one.seconds or 0.0 for one in mine.done), 4)
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
        track = record.result.criteria[self.criterion]
        if track.value is None:
            why = track.undefined or "not at any epoch"
            return TrialOutcome("failed", reason=f"{self.criterion} has no value: {why}")
        return TrialOutcome("done", track.value, seconds=record.result.seconds.total)

    def _end(self, trial: _Waiting, outcome: TrialOutcome) -> None:
        """Writes the trial down, and says what it was."""
        self.proposals.end(trial.key, outcome)
        what = f"{outcome.state} {outcome.reason}"
        if outcome.value is not None:
            what = f"{self.criterion} {outcome.value:.4f}, {outcome.seconds or 0:.1f} s; best {self.proposals.best:.4f}"
        with_what = ", ".join(f"{name} {brief(chosen)}" for name, chosen in trial.chosen.items()) or "as it is"
        self.say(f"trial {trial.number} ({with_what}): {shortened(what, 240)}")


# -------------------------------------------------------------------- the folder


def _held(folder: Path) -> AbstractContextManager[Any]:
    """The folder, for this process alone until the block is left."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return filelock.FileLock(str(folder / LOCK)).acquire(timeout=0)
    except filelock.Timeout:
        raise RequestError(
            f"another process runs this search ({folder}); wait for it, or stop it and start this command again"
        ) from None
    except OSError as error:
        raise RequestError(
            f"cannot write in {folder}: {error.strerror or error}; name another folder (execution.results)",
            field="execution.results",
        ) from error
