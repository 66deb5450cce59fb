"""Result of a search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

import yaml
from pubench_report.rendering import RenderedTable

from pubench.field_names import in_words
from pubench.running import RunResult, carry_out
from pubench_core.errors import RecordError, RequestError
from pubench_core.records.files import replace_text
from pubench_core.records.store import RecordStore

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial
    from pandas import DataFrame

#: ``running``: begun and not ended, by this process or by one that is gone.
State = Literal["running", "done", "pruned", "failed"]
#: Attributes of a trial in Optuna's journal: what it is, its outcome, and whether it failed.
FACTS, OUTCOME, FAILED = "pubench", "ended", "failed"


@dataclass(frozen=True)
class Trial:
    """One configuration that was tried."""

    number: int
    """From 0, which is the configuration as it is."""
    state: State
    """``pruned``: given up at an epoch where half of the earlier runs had more; ``running``: interrupted."""
    value: float | None
    """Mean of the criterion over the seeds; None unless the trial is done."""
    chosen: Mapping[str, Any]
    """The hyper-parameters that were tuned."""
    config: Mapping[str, Any]
    """All hyper-parameters."""
    runs: tuple[str, ...]
    """Run ids, one per seed."""
    reason: str = ""
    """Why it has no value."""
    seconds: float | None = None
    """Of its runs that finished."""
    _spec: Mapping[str, Any] = field(default_factory=dict, repr=False)
    _results: Path = field(default=Path("results"), repr=False)

    @classmethod
    def of(cls, number: int, kept: FrozenTrial, results: Path) -> Trial:
        """Trial of a number from Optuna's journal."""
        states: dict[str, State] = {"COMPLETE": "done", "PRUNED": "pruned", "FAIL": "failed"}
        state = "failed" if FAILED in kept.user_attrs else states.get(kept.state.name, "running")
        facts, outcome = kept.user_attrs[FACTS], kept.user_attrs.get(OUTCOME, {})
        return cls(
            number,
            state,
            kept.value if state == "done" else None,
            facts["chosen"],
            facts["config"],
            tuple(facts["runs"]),
            outcome.get("reason", ""),
            outcome.get("seconds"),
            facts["spec"] or {},
            results,
        )

    @property
    def spec(self) -> dict[str, Any]:
        """The run with the first seed, as a run file has it, without where and how it is carried out and measured."""
        return {name: value for name, value in self._spec.items() if name not in ("execution", "evaluation")}

    def run(self, seed: int | None = None, **execution: Any) -> RunResult:
        """The run with this configuration: of a seed of the search, the stored one; of another, a new one.

        ``seed``: None means the first of the search. ``execution``: fields of that section of a run (``threads``).
        Raises InvalidRequest for a trial whose values were refused, RunFailed if training fails.
        """
        from pubench_core.engine.layers import Layer
        from pubench_core.engine.resolve import resolve
        from pubench_core.plugins.registry import registry

        with in_words():
            if not self._spec:
                raise RequestError(f"trial {self.number} is no run: {self.reason}")
            how = {"results": str(self._results), "tracking": False, **execution}
            values = {**self.spec, "execution": {**self._spec["execution"], **how}}
            if seed is not None:
                values["seed"] = seed
            return carry_out(resolve([Layer(values)], registry()))


@dataclass(frozen=True)
class Tuned:
    """A search over hyper-parameters, and what it found."""

    method: str
    data: str
    criterion: str
    oracle: bool
    """The criterion reads true labels, or the method does."""
    higher_is_better: bool
    seeds: tuple[int, ...]
    """Over which a value is a mean."""
    space: Mapping[str, str]
    """Hyper-parameter -> what it was searched in."""
    trials: tuple[Trial, ...]
    folder: Path
    """Where the search is kept."""
    results: Path
    """Where its runs are records."""
    interrupted: str = ""
    """Why there are fewer trials than asked for."""
    signal: int | None = None
    """The one that ended it."""

    @property
    def default(self) -> Trial:
        """The configuration as it is. Raises ValueError where no trial has begun."""
        if not self.trials:
            raise ValueError("no trial has begun")
        return self.trials[0]

    @property
    def best(self) -> Trial:
        """The best by the criterion, the first of equal ones. Raises ValueError where no trial has a value."""
        done = [(trial.value, trial) for trial in self.trials if trial.value is not None]
        if not done:
            raise ValueError("no trial has a value; trials say why")
        sign = 1 if self.higher_is_better else -1
        return max(done, key=lambda one: (sign * one[0], -one[1].number))[1]

    def measure(self, trial: Trial, name: str = "accuracy") -> float | None:
        """Mean over the seeds of a measure on the test part, at the epoch that the criterion chose.

        It needs true labels and was not looked at by the search. None where the trial is not done, its records are
        gone, or the measure was not to be had.
        """
        values = [self._measured(run_id, name) for run_id in trial.runs] if trial.state == "done" else []
        known = [value for value in values if value is not None]
        return fmean(known) if known and len(known) == len(values) else None

    def _measured(self, run_id: str, name: str) -> float | None:
        try:
            record = RecordStore(self.results).find(run_id)
        except RecordError:
            return None
        track = None if record is None else record.result.criteria.get(self.criterion)
        found = None if track is None else track.measures.get("test", {}).get(name)
        return None if found is None else found.value

    def to_frame(self) -> DataFrame:
        """One row per trial: number, state, value, what was chosen, run id of the first seed, seconds, reason."""
        import pandas as pd

        rows = [
            {
                "trial": trial.number,
                "state": trial.state,
                self.criterion: trial.value,
                **{name: trial.config.get(name) for name in self.space},
                "run": trial.runs[0] if trial.runs else "",
                "seconds": trial.seconds,
                "reason": trial.reason,
            }
            for trial in self.trials
        ]
        return pd.DataFrame(rows)

    def count(self, state: State) -> int:
        """How many trials are in a state."""
        return sum(trial.state == state for trial in self.trials)

    def config_file(self) -> str:
        """The best configuration as a run file: ``pubench run --config`` answers it from its record."""
        best = self.best
        value = f"{self.criterion} {best.value:.4f}" if best.value is not None else ""
        head = f"# {self.method} on {self.data}: trial {best.number}, {value}{' (oracle)' if self.oracle else ''}\n"
        return head + yaml.safe_dump(best.spec, sort_keys=False)

    def write(self, path: str | Path) -> Path:
        """Writes :meth:`config_file`. Raises RequestError if it cannot be written."""
        path = Path(path)
        try:
            replace_text(path, self.config_file())
        except OSError as error:
            raise RequestError(f"{path} cannot be written: {error.strerror or error}") from error
        return path

    def __str__(self) -> str:
        mark = " (oracle)" if self.oracle else ""
        states: tuple[State, ...] = ("done", "pruned", "failed", "running")
        counts = ", ".join(f"{number} {state}" for state in states if (number := self.count(state)))
        seeds = f"mean over seeds {', '.join(map(str, self.seeds))}" if len(self.seeds) > 1 else f"seed {self.seeds[0]}"
        lines = [f"{self.method} on {self.data}, by {self.criterion}{mark}, {seeds}: {counts or 'no trial'}"]
        if not self.count("done"):
            return "\n".join([*lines, *(f"trial {t.number}: {t.reason}" for t in self.trials if t.reason)])
        default, best = self.default, self.best
        accuracy = {trial.number: self.measure(trial) for trial in (default, best)}
        known = any(value is not None for value in accuracy.values())
        head = ["", "trial", f"{self.criterion}{mark}", *(["test accuracy (oracle)"] if known else []), *self.space]
        rows = [
            [
                name,
                str(trial.number),
                _number(trial.value, trial.state),
                *([_number(accuracy[trial.number])] if known else []),
                *(brief(trial.config.get(key)) for key in self.space),
            ]
            for name, trial in (("default", default), ("best", best))
        ]
        return "\n".join([*lines, *RenderedTable.of(head, rows).lines(), self._verdict(accuracy)])

    def _verdict(self, accuracy: Mapping[int, float | None]) -> str:
        default, best = self.default, self.best
        if best.number == default.number:
            return "no trial is better than the default"
        if default.value is None or best.value is None:
            return f"the default has no value ({default.reason})"
        text = f"best against default: {self.criterion} {best.value - default.value:+.4f}"
        ours, theirs = accuracy[best.number], accuracy[default.number]
        if ours is not None and theirs is not None:
            text += f", test accuracy {ours - theirs:+.4f} (oracle: the search did not see it)"
        done = self.count("done")
        return f"{text}; the best of {done} values of {self.criterion} is too favorable as an estimate of its own"


def _number(value: float | None, instead: str = "-") -> str:
    return instead if value is None else f"{value:.4f}"


def brief(value: Any) -> str:
    """A hyper-parameter in a line or a table."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
