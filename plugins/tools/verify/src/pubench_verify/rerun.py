"""Runs carried out again for ``verify``: which, and whether they give what their records say."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from pubench_report.suspicion import MEASURES

from pubench_core.errors import PubenchError, RunFailed
from pubench_core.records.record import read_record
from pubench_core.results import AT_PRIOR

from .findings import Again, RecordProblem, Say
from .reproduction import Here, Reproduction, reproduced

Drawn = TypeVar("Drawn")

#: Measures by which a run carried out again is compared on another machine.
_COMPARED = ("accuracy", "f1", "macro-f1", "auc", "pa", "pauc")
#: Reruns that all differ in the same direction are a problem below this probability.
SIGNIFICANT = 0.001


def drawn(records: Sequence[Drawn], draws: random.Random, method: Callable[[Drawn], str]) -> list[Drawn]:
    """The records in random order; one of each method comes before a second of any.

    Nothing that a record says of itself but its method steers which.
    """
    order = draws.sample(records, len(records))
    first = {method(record): record for record in reversed(order)}
    return sorted(order, key=lambda one: one is not first[method(one)])


def again(folder: Path, root: Path, tolerance: float, say: Say) -> Again | RecordProblem:
    """Rerun of a record in a process of its own: the problem, if it cannot be, or gives another result.

    ``root``: folder of data files; ``tolerance``: how much a measure may differ where processor, versions or threads
    are others.
    """
    record = read_record(folder)
    run_id = record.result.run_id
    say(f"carrying {run_id} out again ({record.result.seconds.total:.0f} s recorded)")
    started = time.monotonic()
    try:
        found = reproduced(record, Here(data_root=root), say=say, alone=True)
    except RunFailed as error:
        return RecordProblem(run_id, f"carried out again, it fails: {error}", again=True)
    except PubenchError as error:
        return RecordProblem(run_id, f"it cannot be carried out here: {error}")
    if found.opened and not record.result.oracle:
        what = f"while it trains it opens {', '.join(found.opened[:5])}: true labels may be there"
        return RecordProblem(run_id, what, again=True)
    return _judged(found, tolerance, f"carried out again in {time.monotonic() - started:.1f} s")


def _judged(found: Reproduction, tolerance: float, took: str) -> Again | RecordProblem:
    """Whether another run gives what a record has, the last digits apart if it was computed elsewhere.

    Where rounding differs, a criterion may choose another epoch, with another model; measures are compared under
    those that chose the same one, and under the one that names the result.
    """
    old, new = found.recorded, found.now
    epochs = {name: criterion.epoch for name, criterion in new.criteria.items()}
    other = [name for name, one in old.criteria.items() if name not in epochs or one.epoch != epochs[name]]
    other_epochs = [name for name in other if name != old.selected]
    largest = max(
        (
            1.0 if one.recorded is None or one.now is None else abs(one.now - one.recorded)
            for (criterion, _, metric), one in found.measures.items()
            if criterion not in other_epochs and metric.removesuffix(AT_PRIOR) in _COMPARED
        ),
        default=0.0,
    )
    if found.confirmed:
        return Again(old.run_id, f"{took}: the same scores to the last bit", identical=True, largest=largest)
    if found.identical:
        why = f"it gives the same scores, and {found.fields[0]}"
    elif found.other_rows:
        why = f"{', '.join(found.other_rows)} are others"
    elif found.elsewhere and largest <= tolerance:
        pairs = {name: (one.recorded, one.now) for name, one in found.test_measures.items() if name in MEASURES}
        better = {name: pair[0] > pair[1] for name, pair in pairs.items() if None not in pair}
        left_out = f"; another epoch, and not compared, by {', '.join(other_epochs)}" if other_epochs else ""
        what = f"{took}: test measures within {largest:.4g}{left_out}"
        return Again(old.run_id, what, largest=largest, recorded_better=better)
    else:
        what = f"{len(found.apart)} of {found.arrays} arrays" if found.kept_scores else "its measures"
        where = f"more than {', '.join(found.elsewhere[:3])} can explain"
        if not found.elsewhere:
            where = "on the same machine with the same versions"
        why = f"{what} differ, a measure by {largest:.4g}, {where}"
    return RecordProblem(old.run_id, f"carried out again, {why}", again=True)


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
