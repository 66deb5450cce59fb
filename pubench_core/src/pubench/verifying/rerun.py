"""A run carried out again: what it gives, and whether that is what its record says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pubench_core.errors import PubenchError, RunFailed
from pubench_core.records.record import Record

from ..reproducing import Reproduction, reproduce
from .found import Again, Problem

#: Kinds of change that alone let the last digits of a run differ.
_ROUNDING = frozenset({"versions", "system", "hardware", "threads"})
#: Test measures by which a run carried out again is compared on another machine.
_COMPARED = ("accuracy", "f1", "macro-f1", "auc")


def carried_out_again(
    record: Record, tolerance: float, root: Path | None, say: Callable[[str], None]
) -> Again | Problem:
    """What the run of a record gives now; the problem, if it is another result than the record has.

    ``tolerance``: how much a test measure may differ where processor, versions or threads are others. ``root``: folder
    of data files, by default the record's.
    """
    run_id = record.result.run_id
    say(f"carrying {run_id} out again ({record.result.seconds.total:.0f} s recorded)")
    try:
        found = reproduce(record.folder, data_root=root, say=say)
    except RunFailed as error:
        return Problem(run_id, f"carried out again, it fails: {error}")
    except PubenchError as error:
        return Problem(run_id, f"it cannot be carried out again here: {error}")
    largest = _largest(found)
    if found.identical:
        return Again(run_id, True, largest, found.now.seconds.total)
    elsewhere = sorted({change.kind for change in found.changed if change.kind in _ROUNDING})
    if elsewhere and largest <= tolerance:
        return Again(run_id, False, largest, found.now.seconds.total)
    why = f"though {', '.join(elsewhere)} are others" if elsewhere else "on the same machine with the same versions"
    what = f"{len(found.apart)} of {found.arrays} arrays of scores" if found.kept_scores else "its measures"
    return Problem(run_id, f"carried out again, {what} differ, a test measure by {largest:.4g}, {why}")


def _largest(found: Reproduction) -> float:
    """The largest difference of a test measure under the criterion that names the result.

    1 where a value is on one side only.
    """
    mine = [one for one in found.measures if one.criterion == found.recorded.selected and one.metric in _COMPARED]
    apart = [1.0 if (one.recorded is None) != (one.now is None) else abs(one.difference or 0.0) for one in mine]
    return max(apart, default=0.0)
