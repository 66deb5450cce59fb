"""Choosing an epoch under every criterion at once, so that each result is what it would be alone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from ..data.generator import fraction_that_labels
from ..errors import RequestError
from .snapshot import Snapshot


@dataclass
class Track:
    """One criterion: its best epoch so far (the first of equal ones), and how long it has waited for a better one."""

    name: str
    undefined: str = ""
    higher_is_better: bool = True
    best: float | None = None
    epoch: int | None = None
    candidate: str = ""
    snapshot: Snapshot | None = None
    waited: int = 0
    stopped_at: int | None = None

    @property
    def active(self) -> bool:
        """Whether it can still change."""
        return not self.undefined and self.stopped_at is None

    def better(self, value: float, than: float | None) -> bool:
        """Whether a value is strictly better than another; than none, any is."""
        if than is None:
            return True
        return value > than if self.higher_is_better else value < than

    def best_of(self, by_candidate: Mapping[str, float | None]) -> tuple[str, float | None]:
        """(candidate, value) of the best one, the first of equal ones; ("", None) if none has a value."""
        found: tuple[str, float | None] = ("", None)
        for candidate, value in by_candidate.items():
            if value is not None and self.better(value, found[1]):
                found = candidate, value
        return found


class Selection:
    """All criteria of a run. ``last`` has no value: it is the state after every planned epoch."""

    def __init__(
        self, names: tuple[str, ...], undefined: Mapping[str, str], lower_is_better: Collection[str] = ()
    ) -> None:
        #: Why training ended before its plan; empty where it did not.
        self.ended = ""
        self.tracks = {name: Track(name, undefined.get(name, ""), name not in lower_is_better) for name in names}

    @property
    def exhausted(self) -> bool:
        """No criterion can still change: training may end."""
        return not any(track.active for track in self.tracks.values())

    def start_stage(self) -> None:
        """Patience counts within a stage: what a criterion waited for in an earlier one is forgotten."""
        for track in self.tracks.values():
            track.waited = 0

    def update(
        self,
        epoch: int,
        values: Mapping[str, Mapping[str, float | None]],
        patience: int | None,
        take: Callable[[], Snapshot],
    ) -> None:
        """``values``: criterion -> candidate -> value (None where undefined).

        ``take`` runs code of the method, which it would tell that a criterion, perhaps one of true labels, has
        improved: it is called once, whether or not one has.
        """
        snapshot = take()
        for name, by_candidate in values.items():
            track = self.tracks[name]
            if not track.active:
                continue
            candidate, value = track.best_of(by_candidate)
            if value is not None and track.better(value, track.best):
                track.best, track.epoch, track.candidate = value, epoch, candidate
                track.snapshot, track.waited = snapshot, 0
            else:
                track.waited += 1
                if patience is not None and track.waited >= patience:
                    track.stopped_at = epoch

    def chosen(self, name: str) -> bool:
        """Whether a criterion has chosen an epoch so far."""
        return self.tracks[name].snapshot is not None

    def close_without_last(self, why: str) -> None:
        """Training ended before its plan, and its state is of no use: ``last`` has none, the others what they chose."""
        self.ended = f"{why}; the epochs before count"
        if "last" in self.tracks:
            self.tracks["last"].undefined = why

    def close(self, epoch: int, snapshot: Snapshot, candidate: str) -> None:
        """Training is over: ``last`` becomes the final state."""
        if "last" in self.tracks:
            track = self.tracks["last"]
            track.epoch, track.snapshot, track.candidate = epoch, snapshot, candidate


def refuse_undefined(
    criterion: str,
    undefined: Mapping[str, str],
    *,
    counts: tuple[int, int] | None,
    c: float | None,
    known: tuple[str, ...],
) -> None:
    """Raises RequestError if the criterion that names the result has no value on this split, with a way out.

    ``counts``: (negatives, positives) before the validation part was split off, ``c`` the label frequency; None where
    they are not known.
    """
    reason = undefined.get(criterion)
    if not reason:
        return
    fraction = fraction_that_labels(counts, c) if counts is not None and c is not None else None
    remedies = [f"validation.fraction={fraction:g} would do"] if fraction else []
    defined = [name for name in known if name not in undefined]
    remedies.append(f"selection.criterion can be {', '.join(defined)} here")
    raise RequestError(
        f"selection criterion '{criterion}' is undefined on this split: {reason}; {'; or '.join(remedies)}",
        field="selection.criterion",
        value=criterion,
    )
