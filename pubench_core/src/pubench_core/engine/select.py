"""Choosing an epoch under every criterion at once, so that each result is what it would be alone."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from ..errors import PluginError, RequestError
from ..method import AnyMethod
from ..metric import Scored
from ..plugins.info import MetricInfo


@dataclass(frozen=True)
class Snapshot:
    """Copies of the attributes in ``scored_by``."""

    state: Mapping[str, Any]

    @classmethod
    def take(cls, method: AnyMethod) -> Snapshot:
        """Raises PluginError if a name in ``scored_by`` is missing or of a kind that cannot be copied."""
        state = {}
        for name in method.scored_by:
            if not hasattr(method, name):
                raise PluginError(f"{type(method).__name__}.scored_by names '{name}', which fit never set")
            state[name] = _copied(getattr(method, name), name)
        return cls(state)

    def restore(self, method: AnyMethod) -> None:
        """Puts the copies back; modules keep their identity."""
        for name, value in self.state.items():
            current = getattr(method, name)
            if hasattr(current, "load_state_dict"):
                current.load_state_dict(value)
            else:
                setattr(method, name, copy.deepcopy(value))


def _copied(value: Any, name: str) -> Any:
    if hasattr(value, "state_dict"):
        return {
            k: v.detach().clone() if isinstance(v, Tensor) else copy.deepcopy(v) for k, v in value.state_dict().items()
        }
    if isinstance(value, Tensor):
        return value.detach().clone()
    if isinstance(value, (np.ndarray, bool, int, float, str)) or value is None:
        return copy.deepcopy(value)
    raise PluginError(
        f"scored_by names '{name}', a {type(value).__name__}; it must be a module, tensor, array, number or have "
        "state_dict and load_state_dict"
    )


@dataclass(frozen=True)
class HeldOut:
    """How one state decides and ranks the validation rows, without a true label.

    ``alike``: it decides all of them positive, or all negative. ``ranking``: share of pairs (labeled positive,
    unlabeled row) in the right order, ties counted half; -1 if there is no such pair.
    """

    alike: bool = False
    ranking: float = -1.0

    @classmethod
    def of(cls, scored: Scored) -> HeldOut:
        """From scores of the validation rows and what is known of them."""
        scores, known = scored.scores, scored.knowledge
        positive = scored.decisions
        alike = bool(len(scores)) and bool(positive.all() or not positive.any())
        if known.labeled is None or known.unlabeled is None or not len(known.labeled) or not len(known.unlabeled):
            return cls(alike)
        labeled, unlabeled = scores[known.labeled], np.sort(scores[known.unlabeled])
        below = np.searchsorted(unlabeled, labeled, "left") + np.searchsorted(unlabeled, labeled, "right")
        return cls(alike, float(below.mean() / (2 * len(unlabeled))))


@dataclass(frozen=True)
class SelectableState:
    """One state that a criterion may choose. ``value``: of the criterion; none for ``last``. ``snapshot``: none for a
    state of several folds.
    """

    value: float | None
    epoch: int
    candidate: str
    snapshot: Snapshot | None
    held_out: HeldOut = HeldOut()


class Track:
    """One criterion: the state that it chooses, and how long it has waited for a better one.

    The best value wins, the first of equal ones. A criterion that reads no true label (not ``oracle``) has two more
    rules, because PA is the same for all states that decide every row alike:

    - Of equal values, the state with the better held-out ranking wins.
    - A state that decides every validation row alike is chosen only if no other state ranks the held-out positives
      better. If one does, the best-valued of those that decide both ways is chosen, else the best-ranking one.

    Patience counts epochs that decide both ways and are strictly worse than the best of them so far.
    """

    def __init__(self, name: str, undefined: str = "", info: MetricInfo | None = None) -> None:
        """``info``: of the metric that it is; None for the method's own criterion and for ``last``."""
        self.name, self.undefined = name, undefined
        self.stopped_at: int | None = None
        self._sign = 1 if info is None or info.higher_is_better else -1
        self._oracle = info is not None and info.oracle
        self._waited = 0
        self._best: SelectableState | None = None
        self._deciding: SelectableState | None = None
        self._ranking: SelectableState | None = None

    @property
    def active(self) -> bool:
        """Whether it can still change."""
        return not self.undefined and self.stopped_at is None

    @property
    def chosen(self) -> SelectableState | None:
        """The state that it chooses, of those it was offered; None before the first one."""
        best = self._best
        if best is None or self._oracle or not best.held_out.alike:
            return best
        others = (other for other in (self._deciding, self._ranking) if other is not None)
        return next((other for other in others if other.held_out.ranking > best.held_out.ranking), best)

    def start_stage(self) -> None:
        """Forgets how long it has waited."""
        self._waited = 0

    def best_of(self, by_candidate: Mapping[str, float | None]) -> tuple[str, float | None]:
        """(candidate, value) of the best one, the first of equal ones; ("", None) if none has a value."""
        values = {candidate: value for candidate, value in by_candidate.items() if value is not None}
        if not values:
            return "", None
        best = max(values, key=lambda candidate: self._sign * values[candidate])
        return best, values[best]

    def offer(self, choices: list[SelectableState], epoch: int, patience: int | None) -> None:
        """The states of one epoch, one for each candidate that has a value."""
        before = self._deciding
        for choice in choices:
            self._best = self._better(choice, self._best)
            if not choice.held_out.alike:
                self._deciding = self._better(choice, self._deciding)
            if self._ranking is None or choice.held_out.ranking > self._ranking.held_out.ranking:
                self._ranking = choice
        deciding = [self._worth(choice) for choice in choices if not choice.held_out.alike]
        if deciding and (before is None or max(deciding) > self._worth(before)):
            self._waited = 0
        elif not choices or (deciding and before is not None and max(deciding) < self._worth(before)):
            self._waited += 1
            if patience is not None and self._waited >= patience:
                self.stopped_at = epoch

    def close(self, choice: SelectableState) -> None:
        """Fixes the state, whatever was offered."""
        self._best, self._deciding, self._ranking = choice, None, None

    def _worth(self, choice: SelectableState) -> float:
        assert choice.value is not None
        return self._sign * choice.value

    def _better(self, new: SelectableState, old: SelectableState | None) -> SelectableState:
        if old is None or self._worth(new) > self._worth(old):
            return new
        tied = not self._oracle and self._worth(new) == self._worth(old)
        return new if tied and new.held_out.ranking > old.held_out.ranking else old


#: Epochs, counted over those that may be selected, whose states a fold keeps: every half octave, and the last.
CHECKPOINTS = frozenset(round(2 ** (k / 2)) for k in range(64))


class Selection:
    """All criteria of a run. ``last`` has no value: it is the state after every planned epoch.

    ``checkpoints``: epoch -> state, of a run that is one of several folds; one epoch is chosen for all of them.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        undefined: Mapping[str, str],
        infos: Mapping[str, MetricInfo],
        *,
        keeps_checkpoints: bool = False,
    ) -> None:
        self.checkpoints: dict[int, Snapshot] = {}
        self.keeps_checkpoints, self._updates = keeps_checkpoints, 0
        #: Why training ended before its plan; empty if it did not.
        self.ended = ""
        self.tracks = {name: Track(name, undefined.get(name, ""), infos.get(name)) for name in names}

    @property
    def exhausted(self) -> bool:
        """No criterion can still change: training may end."""
        return not any(track.active for track in self.tracks.values())

    def start_stage(self) -> None:
        """Patience counts within a stage: what a criterion waited for in an earlier one is forgotten."""
        for track in self.tracks.values():
            track.start_stage()

    def update(
        self,
        epoch: int,
        values: Mapping[str, Mapping[str, float | None]],
        held_out: Mapping[str, HeldOut],
        patience: int | None,
        take: Callable[[], Snapshot],
    ) -> None:
        """``values``: criterion -> candidate -> value (None if undefined); ``held_out``: candidate -> its state.

        ``take`` runs code of the method, which could learn from it that a criterion, perhaps one of true labels, has
        improved: it is called once, whether or not one has.
        """
        snapshot = take()
        self._updates += 1
        if self.keeps_checkpoints and self._updates in CHECKPOINTS:
            self.checkpoints[epoch] = snapshot
        for name, by_candidate in values.items():
            if self.tracks[name].active:
                choices = [
                    SelectableState(value, epoch, candidate, snapshot, held_out[candidate])
                    for candidate, value in by_candidate.items()
                    if value is not None
                ]
                self.tracks[name].offer(choices, epoch, patience)

    def close_without_last(self, why: str) -> None:
        """Training ended before its plan, and its state is of no use: ``last`` has none, the others what they chose."""
        self.ended = f"{why}; the epochs before count"
        if "last" in self.tracks:
            self.tracks["last"].undefined = why

    def close(self, epoch: int, snapshot: Snapshot, candidate: str) -> None:
        """Training is over: ``last`` becomes the final state."""
        if "last" in self.tracks:
            self.tracks["last"].close(SelectableState(None, epoch, candidate, snapshot))
        if self.keeps_checkpoints:
            self.checkpoints[epoch] = snapshot


def refuse_undefined(criterion: str, undefined: Mapping[str, str], known: tuple[str, ...]) -> None:
    """Raises RequestError if the criterion that names the result has no value on this split, with those that have."""
    if criterion in undefined:
        defined = ", ".join(name for name in known if name not in undefined)
        raise RequestError(
            f"selection criterion '{criterion}' is undefined on this split: {undefined[criterion]}; "
            f"raise validation.fraction, or selection.criterion can be {defined} here",
            field="selection.criterion",
            value=criterion,
        )
