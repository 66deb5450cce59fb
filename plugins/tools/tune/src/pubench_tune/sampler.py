"""Trials as Optuna keeps them: a journal in the folder of the search, which a kill at any moment leaves usable.

Every proposal is a function of the seed, the number of the trial and what is known of the earlier ones, so that a
search that was interrupted goes on as it would have gone on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pubench_core.errors import RecordError, shortened
from pubench_core.randomness import stream

from .space import Dimension

JOURNAL = "journal.log"
#: ``running``: begun and not ended, by this process or by one that is gone.
State = Literal["running", "done", "pruned", "failed"]
#: Key of a trial's own facts. A trial without them was never begun.
_FACTS = "pubench"
_FAILED = "failed"
#: Of the one search that a journal holds.
_NAME = "pubench"


@dataclass(frozen=True)
class Kept:
    """A trial of the journal. ``number``: from 0, the configuration as it is; ``key``: Optuna's own number.

    ``facts``: what :meth:`Proposals.begin` was given, and what :meth:`Proposals.end` added.
    """

    number: int
    key: int
    state: State
    value: float | None
    facts: Mapping[str, Any] = field(default_factory=dict)


class Proposals:
    """The journal of one search, held by one process. Raises RecordError if it cannot be read or written."""

    def __init__(self, folder: Path, space: Mapping[str, Dimension], seed: int, *, higher_is_better: bool) -> None:
        import optuna
        from optuna.storages import JournalStorage
        from optuna.storages.journal import JournalFileBackend

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._path, self._seed = folder / JOURNAL, seed
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
            self._space = {name: dimension.distribution() for name, dimension in space.items()}

    def kept(self) -> list[Kept]:
        """Every trial that was begun, in order."""
        from optuna.trial import TrialState

        states: dict[TrialState, State] = {
            TrialState.COMPLETE: "done",
            TrialState.PRUNED: "pruned",
            TrialState.FAIL: "failed",
        }
        with self._writing():
            begun = [trial for trial in self._study.get_trials(deepcopy=False) if _FACTS in trial.user_attrs]
        found = []
        for number, trial in enumerate(begun):
            state = "failed" if _FAILED in trial.user_attrs else states.get(trial.state, "running")
            value = trial.value if state == "done" else None
            facts = {**trial.user_attrs[_FACTS], **trial.user_attrs.get("ended", {})}
            found.append(Kept(number, trial.number, state, value, facts))
        return found

    def ask(self, number: int, first: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        """Optuna's number of a new trial, and its hyper-parameters. ``first``: those of the first one."""
        from optuna.samplers import TPESampler
        from optuna.trial import TrialState

        wanted = self._space if number else {name: self._space[name] for name in first}
        self._study.sampler = TPESampler(
            seed=int(stream(self._seed, "trials", number).integers(2**32)), constant_liar=True
        )
        with self._writing():
            for trial in self._study.get_trials(deepcopy=False):
                if trial.state == TrialState.RUNNING and _FACTS not in trial.user_attrs:  # its process died too early
                    self._study.tell(trial.number, state=TrialState.FAIL)
            # one that waits was put there by a process that died before it asked
            if not number and not self._study.get_trials(deepcopy=False, states=(TrialState.WAITING,)):
                self._study.enqueue_trial(dict(first))
            asked = self._study.ask(fixed_distributions=wanted)
        return asked.number, dict(asked.params)

    def begin(self, key: int, facts: Mapping[str, Any]) -> None:
        """Writes down what a trial is; ``facts`` as JSON holds them."""
        with self._writing():
            self._storage.set_trial_user_attr(self._id(key), _FACTS, dict(facts))

    def end(
        self, key: int, state: State, value: float | None, facts: Mapping[str, Any], reached: tuple[int, float] | None
    ) -> None:
        """Writes down what became of a trial. ``reached``: (epoch, best value) where it was pruned."""
        from optuna.trial import TrialState

        with self._writing():
            self._storage.set_trial_user_attr(self._id(key), "ended", dict(facts))
            if reached is not None:
                self._storage.set_trial_intermediate_value(self._id(key), *reached)
            if state == "failed":  # the sampler passes over FAIL, and takes one that was pruned at once for a bad one
                self._storage.set_trial_user_attr(self._id(key), _FAILED, True)
            if state == "done":
                self._study.tell(key, value)
            else:
                self._study.tell(key, state=TrialState.PRUNED)

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
