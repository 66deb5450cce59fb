"""Result of a search."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import yaml
from pubench_report.rendering import Printed, RenderedTable

from pubench.field_names import in_words
from pubench.running import RunResult, carry_out
from pubench_core.errors import RequestError
from pubench_core.records.files import replace_text
from pubench_core.results import plain_data

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial
    from pandas import DataFrame

#: ``running``: begun and not ended, by this process or by one that is gone.
State = Literal["done", "pruned", "failed", "running"]
#: Attributes of a trial in Optuna's journal: what it is, and its outcome.
FACTS, OUTCOME = "pubench", "ended"


class TrialOutcome(NamedTuple):
    """Outcome of a trial, or of one of its runs."""

    state: State
    value: float | None = None
    reason: str = ""
    seconds: float | None = None


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
        ended = TrialOutcome(*kept.user_attrs[OUTCOME]) if kept.state.is_finished() else TrialOutcome("running")
        facts, spec = kept.user_attrs[FACTS], kept.user_attrs[FACTS]["spec"] or {}
        what = facts["chosen"], facts["config"], tuple(facts["runs"])
        return cls(number, ended.state, ended.value, *what, ended.reason, ended.seconds, spec, results)

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


@dataclass(frozen=True, repr=False)
class Tuned(Printed):
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
        """The configuration as it is. Raises IndexError where no trial has begun."""
        return self.trials[0]

    @property
    def best(self) -> Trial:
        """The best by the criterion, the first of equal ones. Raises ValueError where no trial has a value."""
        done = {trial.value: trial for trial in reversed(self.trials) if trial.value is not None}
        if not done:
            raise ValueError("no trial has a value; trials say why")
        return done[(max if self.higher_is_better else min)(done)]

    def to_frame(self) -> DataFrame:
        """One row per trial: what :meth:`to_dict` has of it, hyper-parameters as ``config.NAME``."""
        import pandas as pd

        return pd.json_normalize(self.to_dict()["trials"])

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON holds it."""
        facts = {name: value for name, value in asdict(self).items() if name not in ("higher_is_better", "signal")}
        facts["trials"] = [{k: v for k, v in one.items() if not k.startswith("_")} for one in facts["trials"]]
        marked = {"default": self.trials[0] if self.trials else None, "best": self.best if self.count("done") else None}
        return {
            **plain_data(facts),
            **{name: None if trial is None else trial.number for name, trial in marked.items()},
            "best_spec": None if marked["best"] is None else marked["best"].spec,
        }

    def count(self, state: State) -> int:
        """How many trials are in a state."""
        return sum(trial.state == state for trial in self.trials)

    def config_file(self) -> str:
        """The best configuration as a run file: ``pubench run --config`` answers it from its record."""
        best = self.best
        head = f"# {self.method} on {self.data}: trial {best.number}, {self.criterion} {best.value:.4f}{self._mark}\n"
        return head + yaml.safe_dump(best.spec, sort_keys=False)

    def write(self, path: str | Path) -> Path:
        """Writes :meth:`config_file`. Raises RequestError if it cannot be written."""
        path = Path(path)
        try:
            replace_text(path, self.config_file())
        except OSError as error:
            raise RequestError(f"{path} cannot be written: {error.strerror or error}") from error
        return path

    @property
    def _mark(self) -> str:
        return " (oracle)" if self.oracle else ""

    def shown(self) -> tuple[list[str], RenderedTable, list[str]]:
        """How the trials ended; the default and the best one, and how far they are apart."""
        counts = Counter(trial.state for trial in self.trials)
        ended = ", ".join(f"{counts[state]} {state}" for state in get_args(State) if counts[state])
        seeds = f"{'mean over seeds' if len(self.seeds) > 1 else 'seed'} {', '.join(map(str, self.seeds))}"
        above = [f"{self.method} on {self.data}, by {self.criterion}{self._mark}, {seeds}: {ended or 'no trial'}"]
        if not counts["done"]:
            reasons = [f"trial {trial.number}: {trial.reason}" for trial in self.trials if trial.reason]
            return above, RenderedTable.of((), ()), reasons
        default, best = self.default, self.best
        rows = [
            [
                name,
                one.number,
                one.state if one.value is None else f"{one.value:.4f}",
                *(brief(one.config.get(key)) for key in self.space),
            ]
            for name, one in (("default", default), ("best", best))
        ]
        head = ["", "trial", f"{self.criterion}{self._mark}", *self.space]
        below = f"the best of {counts['done']} values of {self.criterion} is too favorable as an estimate of its own"
        if best.number == default.number:
            below = "no trial is better than the default"
        elif default.value is None:
            below = f"the default has no value ({default.reason}); {below}"
        return above, RenderedTable.of(head, rows), [below]


def brief(value: Any) -> str:
    """A hyper-parameter in a line or a table."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
