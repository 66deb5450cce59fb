"""Trials as Optuna keeps them: a journal in the folder of the search, which a kill at any moment leaves usable.

Every proposal is a function of the seed, the number of the trial and what is known of the earlier ones, so that a
search that was interrupted goes on as it would have gone on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import optuna
from optuna.pruners import MedianPruner
from optuna.samplers import TPESampler
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import FrozenTrial, TrialState
from pubench_study.task import GivenUp

from pubench_core.errors import RecordError, shortened
from pubench_core.plugins.events import EpochFinished
from pubench_core.randomness import stream

from .result import FACTS, OUTCOME, TrialOutcome
from .space import Dimension

JOURNAL = "journal.log"
#: No run is given up before so many trials have finished.
STARTUP = 5
#: Of the one search that a journal holds.
_NAME = "pubench"


class Proposals:
    """The journal of one search, held by one process. Raises RecordError if it cannot be read or written."""

    def __init__(self, folder: Path, space: Mapping[str, Dimension], seed: int, *, higher_is_better: bool) -> None:
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._path, self._space, self._seed = folder / JOURNAL, space, seed
        with self._writing():
            content = self._path.read_bytes() if self._path.exists() else b""
            if (whole := content.rfind(b"\n") + 1) < len(
                content
            ):  # a kill left half a line, which would swallow the next
                with self._path.open("r+b") as file:
                    file.truncate(whole)
            # What a killed process left locked; the folder is held by this one.
            self._path.with_name(f"{JOURNAL}.lock").unlink(missing_ok=True)
            self._storage = JournalStorage(JournalFileBackend(str(self._path)))
            self._study = optuna.create_study(
                storage=self._storage,
                study_name=_NAME,
                direction="maximize" if higher_is_better else "minimize",
                load_if_exists=True,
            )

    def begun(self) -> list[FrozenTrial]:
        """Every trial that was begun, in order. A trial without facts was not: its process died before."""
        with self._writing():
            return [trial for trial in self._study.get_trials(deepcopy=False) if FACTS in trial.user_attrs]

    @property
    def best(self) -> float:
        """The best value so far. Raises ValueError if there is none."""
        return self._study.best_value

    def ask(self, number: int, first: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        """Optuna's number of a new trial, and its hyper-parameters. ``first``: those of the first one."""
        wanted = self._space if number else {name: self._space[name] for name in first}
        seed = int(stream(self._seed, "trials", number).integers(2**32))
        self._study.sampler = TPESampler(seed=seed, constant_liar=True)
        with self._writing():
            for trial in self._study.get_trials(deepcopy=False):
                if trial.state == TrialState.RUNNING and FACTS not in trial.user_attrs:
                    self._study.tell(trial.number, state=TrialState.FAIL)
            # one that waits was put there by a process that died before it asked
            if not number and not self._study.get_trials(deepcopy=False, states=(TrialState.WAITING,)):
                self._study.enqueue_trial(dict(first))
            asked = self._study.ask(fixed_distributions=dict(wanted))
        return asked.number, dict(asked.params)

    def begin(self, key: int, facts: Mapping[str, Any]) -> None:
        """Writes down what a trial is. ``key``: Optuna's number; ``facts``: as JSON holds them."""
        with self._writing():
            self._storage.set_trial_user_attr(_trial_id(self._study, key), FACTS, dict(facts))

    def end(self, key: int, outcome: TrialOutcome) -> None:
        """Writes down the outcome of a trial."""
        with self._writing():
            self._storage.set_trial_user_attr(_trial_id(self._study, key), OUTCOME, list(outcome))
            # Optuna gets a failed one as pruned: its sampler passes over FAIL, and takes one pruned at once for bad
            state = TrialState.COMPLETE if outcome.state == "done" else TrialState.PRUNED
            self._study.tell(key, outcome.value, state=state)

    def median_rule(self, key: int, criterion: str, epochs: int) -> MedianRule:
        """Pruner of a trial, for the process that trains its first run."""
        return MedianRule(self._path.absolute(), key, criterion, epochs)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise RecordError(f"{self._path} cannot be read or written: {error.strerror or error}") from error
        except (ValueError, KeyError, AssertionError) as error:
            raise RecordError(
                f"{self._path} is damaged ({shortened(str(error))}); move its folder away, the records of its runs stay"
            ) from error


def _trial_id(study: optuna.Study, key: int) -> int:
    return study.get_trials(deepcopy=False)[key]._trial_id


@dataclass(frozen=True)
class MedianRule:
    """Optuna's median pruner, in the process that trains a run: it writes every epoch's value to the journal.

    A run is given up in the second half of its epochs, when :data:`STARTUP` trials have a value.
    """

    journal: Path
    key: int
    """Optuna's number of the trial."""
    criterion: str
    epochs: int

    def pubench_epoch_finished(self, event: EpochFinished) -> None:
        """Implements the lifecycle hook. Raises GivenUp if no value so far reaches the median of earlier trials."""
        value = event.criteria.get(self.criterion)
        if value is None:
            return
        study, trial = self._opened
        study._storage.set_trial_intermediate_value(trial, event.epoch, value)
        pruner = MedianPruner(STARTUP, self.epochs // 2 + 1, n_min_trials=STARTUP)
        if pruner.prune(study, study._storage.get_trial(trial)):
            raise GivenUp(f"at epoch {event.epoch}: {self.criterion} is below the median of earlier trials")

    @cached_property
    def _opened(self) -> tuple[optuna.Study, int]:
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        storage = JournalStorage(JournalFileBackend(str(self.journal)))
        study = optuna.load_study(study_name=_NAME, storage=storage)
        return study, _trial_id(study, self.key)
