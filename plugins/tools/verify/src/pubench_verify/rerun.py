"""A run carried out again: what it gives, and whether that is what its record says."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Container, Sequence
from pathlib import Path
from typing import TypeVar

from pubench_report.suspicion import MEASURES

from pubench_core.errors import PubenchError, RunFailed
from pubench_core.records.record import Record
from pubench_core.results.result import AT_PRIOR

from .reproduction import ROUNDING, Reproduction, reproduced
from .result import Again, RecordProblem

Drawn = TypeVar("Drawn")

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
    started = time.monotonic()
    try:
        found = reproduced(record.folder, data_root=root, say=say, alone=True)
    except RunFailed as error:
        return RecordProblem(run_id, f"carried out again, it fails: {error}", again=True)
    except PubenchError as error:
        return RecordProblem(run_id, f"it cannot be carried out again here: {error}")
    return judged(found, tolerance, time.monotonic() - started)


def judged(found: Reproduction, tolerance: float, seconds: float) -> Again | RecordProblem:
    """Whether another run gives what a record has, the last digits apart if it was computed elsewhere."""
    run_id, criteria = found.recorded.run_id, _compared(found)
    largest = _largest(found, criteria)
    if found.identical:
        if found.fields:
            return RecordProblem(
                run_id, f"carried out again, it gives the same scores, and {found.fields[0]}", again=True
            )
        return Again(run_id, True, largest, seconds)
    if found.other_rows:
        return RecordProblem(run_id, f"carried out again, {', '.join(found.other_rows)} are others", again=True)
    elsewhere = sorted({change.kind for change in found.changed if change.kind in ROUNDING})
    if elsewhere and largest <= tolerance:
        left_out = tuple(name for name in found.recorded.criteria if name not in criteria)
        return Again(run_id, False, largest, seconds, left_out, _recorded_better(found))
    why = f"though {', '.join(elsewhere)} are others" if elsewhere else "on the same machine with the same versions"
    what = f"{len(found.apart)} of {found.arrays} arrays" if found.kept_scores else "its measures"
    return RecordProblem(run_id, f"carried out again, {what} differ, a measure by {largest:.4g}, {why}", again=True)


def drawn(records: Sequence[Drawn], number: int, draws: random.Random, method: Callable[[Drawn], str]) -> list[Drawn]:
    """``number`` of the records, at random; one of each method comes before a second of any.

    Nothing that a record says of itself but its method steers which.
    """
    order = draws.sample(records, len(records))
    first = {method(record): record for record in reversed(order)}
    return sorted(order, key=lambda one: one is not first[method(one)])[:number]


def one_sided(again: Sequence[Again]) -> tuple[str, float] | None:
    """How many records were better than their rerun with other bits, in words, and how probable that is by chance.

    The probability is that of a sign test (two-sided) over runs whose measure differs, of the measure with the lowest;
    None if there is none.
    """
    found = []
    for metric in MEASURES:
        signs = [one.recorded_better[metric] for one in again if metric in one.recorded_better]
        if signs:
            from scipy.stats import binomtest  # a second that most calls do not need

            better, chance = sum(signs), float(binomtest(sum(signs), len(signs)).pvalue)
            words = f"{better} of {len(signs)} records have a higher test {metric} than their rerun (p = {chance:.2g})"
            found.append((words, chance))
    return min(found, key=lambda one: one[1], default=None)


def _recorded_better(found: Reproduction) -> dict[str, bool]:
    """Measure -> whether the record has the higher one on test rows, of those that differ."""
    old, new = found.recorded.test, found.now.test
    values = {name: (old.get(name), new.get(name)) for name in MEASURES}
    return {
        name: one > other
        for name, (one, other) in values.items()
        if one is not None and other is not None and one != other
    }


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
        for part in criterion.measures:
            measures, again = criterion.measured(part), now.measured(part) if now is not None else {}
            for metric in measures:
                if (base := metric.removesuffix(AT_PRIOR)) not in _COMPARED or base not in found.now.metrics:
                    continue
                old, new = measures[metric].value, again[metric].value if metric in again else None
                apart = 0.0 if old is None or new is None else abs(new - old)
                largest = max(largest, 1.0 if (old is None) != (new is None) else apart)
    return largest
