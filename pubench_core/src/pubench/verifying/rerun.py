"""A run carried out again: what it gives, and whether that is what its record says."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from pathlib import Path

from pubench_core.errors import PubenchError, RunFailed
from pubench_core.records.record import Record

from ..reproducing import Reproduction, reproduce
from .found import Again, Problem

#: Kinds of change that alone let the last digits of a run differ.
_ROUNDING = frozenset({"versions", "system", "hardware", "threads"})
#: Test measures by which a run carried out again is compared on another machine.
_COMPARED = ("accuracy", "f1", "macro-f1", "auc")


def carried_out_again(record: Record, tolerance: float, root: Path, say: Callable[[str], None]) -> Again | Problem:
    """What the run of a record gives now; the problem, if it is another result than the record has.

    ``tolerance``: how much a test measure may differ where processor, versions or threads are others. ``root``: folder
    of data files.
    """
    run_id = record.result.run_id
    say(f"carrying {run_id} out again ({record.result.seconds.total:.0f} s recorded)")
    try:
        found = reproduce(record.folder, data_root=root, say=say)
    except RunFailed as error:
        return Problem(run_id, f"carried out again, it fails: {error}", again=True)
    except PubenchError as error:
        return Problem(run_id, f"it cannot be carried out again here: {error}")
    criteria = _compared(found)
    largest = _largest(found, criteria)
    if found.identical:
        if (wrong := next(_other_epochs(found), None)) is not None:
            return Problem(run_id, f"carried out again, it gives the same scores, and {wrong}", again=True)
        return Again(run_id, True, largest, found.now.seconds.total)
    if found.other_rows:
        return Problem(run_id, f"carried out again, {', '.join(found.other_rows)} are others", again=True)
    elsewhere = sorted({change.kind for change in found.changed if change.kind in _ROUNDING})
    if elsewhere and largest <= tolerance:
        left_out = tuple(name for name in found.recorded.criteria if name not in criteria)
        return Again(run_id, False, largest, found.now.seconds.total, left_out)
    why = f"though {', '.join(elsewhere)} are others" if elsewhere else "on the same machine with the same versions"
    what = f"{len(found.apart)} of {found.arrays} arrays" if found.kept_scores else "its measures"
    return Problem(run_id, f"carried out again, {what} differ, a test measure by {largest:.4g}, {why}", again=True)


def _other_epochs(found: Reproduction) -> Iterator[str]:
    """Where a record says another number of epochs, or another epoch of a criterion."""
    mine, now = found.recorded, found.now
    if mine.epochs != now.epochs:
        yield f"{now.epochs} epochs, where it says {mine.epochs}"
    for name, criterion in mine.criteria.items():
        if name in now.criteria and criterion.epoch != now.criteria[name].epoch:
            yield f"{name} chooses epoch {now.criteria[name].epoch}, where it says {criterion.epoch}"


def _compared(found: Reproduction) -> set[str]:
    """The criterion that names the result, and every other that chose the same epoch both times.

    Where rounding differs, an epoch may be another one, with another model.
    """
    epochs = {name: criterion.epoch for name, criterion in found.now.criteria.items()}
    same = {name for name, one in found.recorded.criteria.items() if name in epochs and one.epoch == epochs[name]}
    return {*same, found.recorded.selected}


def _largest(found: Reproduction, criteria: Container[str]) -> float:
    """The largest difference of a test measure under these criteria; 1 where a value is on one side only."""
    mine = [one for one in found.measures if one.criterion in criteria and one.metric in _COMPARED]
    apart = [1.0 if (one.recorded is None) != (one.now is None) else abs(one.difference or 0.0) for one in mine]
    return max(apart, default=0.0)
