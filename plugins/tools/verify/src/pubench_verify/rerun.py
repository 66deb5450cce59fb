"""A run carried out again: what it gives, and whether that is what its record says."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from pathlib import Path

from pubench_core.errors import PubenchError, RunFailed
from pubench_core.records.record import Record

from .reproduction import ROUNDING, Reproduction, reproduce
from .result import Again, RecordProblem

#: Measures by which a run carried out again is compared on another machine.
_COMPARED = ("accuracy", "f1", "macro-f1", "auc", "pa", "pauc")
#: Reruns that all differ in the same direction are a problem below this probability.
SIGNIFICANT = 0.001


def carried_out_again(
    record: Record, tolerance: float, root: Path, say: Callable[[str], None]
) -> Again | RecordProblem:
    """Result of the run of a record now; the problem, if it is another result than the record has.

    ``tolerance``: how much a measure may differ where processor, versions or threads are others. ``root``: folder
    of data files.
    """
    run_id = record.result.run_id
    say(f"carrying {run_id} out again ({record.result.seconds.total:.0f} s recorded)")
    try:
        found = reproduce(record.folder, data_root=root, say=say)
    except RunFailed as error:
        return RecordProblem(run_id, f"carried out again, it fails: {error}", again=True)
    except PubenchError as error:
        return RecordProblem(run_id, f"it cannot be carried out again here: {error}")
    criteria = _compared(found)
    largest = _largest(found, criteria)
    if found.identical:
        if found.fields:
            return RecordProblem(
                run_id, f"carried out again, it gives the same scores, and {found.fields[0]}", again=True
            )
        return Again(run_id, True, largest, found.now.seconds.total)
    if found.other_rows:
        return RecordProblem(run_id, f"carried out again, {', '.join(found.other_rows)} are others", again=True)
    elsewhere = sorted({change.kind for change in found.changed if change.kind in ROUNDING})
    if elsewhere and largest <= tolerance:
        left_out = tuple(name for name in found.recorded.criteria if name not in criteria)
        return Again(run_id, False, largest, found.now.seconds.total, left_out, _recorded_better(found))
    why = f"though {', '.join(elsewhere)} are others" if elsewhere else "on the same machine with the same versions"
    what = f"{len(found.apart)} of {found.arrays} arrays" if found.kept_scores else "its measures"
    return RecordProblem(run_id, f"carried out again, {what} differ, a measure by {largest:.4g}, {why}", again=True)


def one_sided(again: Sequence[Again]) -> tuple[str, float] | None:
    """How many records were better than their rerun with other bits, in words, and how probable that is by chance.

    The probability is that of a sign test (two-sided) over runs whose test accuracy differs; None if there is none.
    """
    signs = [one.recorded_better for one in again if one.recorded_better is not None]
    if not signs:
        return None
    from scipy.stats import binomtest  # a second that most calls do not need

    better = sum(signs)
    chance = float(binomtest(better, len(signs)).pvalue)
    return f"{better} of {len(signs)} records have a higher test accuracy than their rerun (p = {chance:.2g})", chance


def _recorded_better(found: Reproduction) -> bool | None:
    """Whether the record has the higher test accuracy; None if both have the same, or none."""
    old, new = (result.test.get("accuracy") for result in (found.recorded, found.now))
    return None if old is None or new is None or old == new else old > new


def _compared(found: Reproduction) -> set[str]:
    """The criterion that names the result, and every other that chose the same epoch both times.

    Where rounding differs, an epoch may be another one, with another model.
    """
    epochs = {name: criterion.epoch for name, criterion in found.now.criteria.items()}
    same = {name for name, one in found.recorded.criteria.items() if name in epochs and one.epoch == epochs[name]}
    return {*same, found.recorded.selected}


def _largest(found: Reproduction, criteria: Container[str]) -> float:
    """The largest difference of a measure of any part under these criteria; 1 where a value is on one side only."""
    largest = 0.0
    for name, criterion in found.recorded.criteria.items():
        if name not in criteria:
            continue
        now = found.now.criteria.get(name)
        for part, measures in criterion.measures.items():
            again = now.measures.get(part, {}) if now is not None else {}
            for metric in measures.keys() & set(_COMPARED) & found.now.metrics.keys():
                old, new = measures[metric].value, again[metric].value if metric in again else None
                apart = 0.0 if old is None or new is None else abs(new - old)
                largest = max(largest, 1.0 if (old is None) != (new is None) else apart)
    return largest
