"""Trials as Optuna keeps them: a journal in the folder of the search, which a kill at any moment leaves usable.

Every proposal is a function of the seed, the number of the trial and what is known of the earlier ones, so that a
search that was interrupted goes on as it would have gone on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import optuna
from optuna.samplers import TPESampler
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import FrozenTrial, TrialState

from pubench_core.errors import RecordError, shortened
from pubench_core.randomness import stream

from .result import FACTS, FAILED, OUTCOME, State
from .space import Dimension

JOURNAL = "journal.log"
#: Of the one search that a journal holds.
_NAME = "pubench"


class Proposals:
    """The journal of one search, held by one process. Raises RecordError if it cannot be read or written."""

    def __init__(self, folder: Path, space: Mapping[str, Dimension], seed: int, *, higher_is_better: bool) -> None:
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._path, self._space, self._seed = folder / JOURNAL, space, seed
        with self._writing():
            _mended(self._path)
            # What a killed process left locked; the folder is held by this one.
            self._path.with_name(f"{JOURNAL}.lock").unlink(missing_ok=True)
            self._storage = JournalStorage(JournalFileBackend(str(self._path)))
            self._study = optuna.create_study(
                storage=self._storage,
                study_name=_NAME,
                direction="maximize" if higher_is_better else "minimize",
                load_if_exists=True,
            )

    def describe(self, facts: Mapping[str, Any]) -> None:
        """Writes down, once, what is searched for."""
        with self._writing():
            for name in sorted(facts.keys() - self._study.user_attrs):
                self._study.set_user_attr(name, facts[name])

    def begun(self) -> list[FrozenTrial]:
        """Every trial that was begun, in order. A trial without facts was not: its process died before."""
        with self._writing():
            return [trial for trial in self._study.get_trials(deepcopy=False) if FACTS in trial.user_attrs]

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
            self._storage.set_trial_user_attr(self._id(key), FACTS, dict(facts))

    def end(
        self, key: int, state: State, value: float | None, facts: Mapping[str, Any], reached: tuple[int, float] | None
    ) -> None:
        """Writes down the outcome of a trial. ``reached``: (epoch, best value) at which it was pruned."""
        with self._writing():
            self._storage.set_trial_user_attr(self._id(key), OUTCOME, dict(facts))
            if reached is not None:
                self._storage.set_trial_intermediate_value(self._id(key), *reached)
            if state == "failed":  # the sampler passes over FAIL, and takes one that was pruned at once for a bad one
                self._storage.set_trial_user_attr(self._id(key), FAILED, True)
            self._study.tell(key, value, state=TrialState.COMPLETE if state == "done" else TrialState.PRUNED)

    def _id(self, key: int) -> int:
        study = self._storage.get_study_id_from_name(_NAME)
        return self._storage.get_trial_id_from_study_id_trial_number(study, key)

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


def _mended(path: Path) -> None:
    """Drops a last line that was not written to its end: what is appended would become part of it."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        with path.open("r+b") as file:
            file.truncate(whole)
