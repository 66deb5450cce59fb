"""Runs carried out again: which, and whether they give what their records say.

With their own labels (:meth:`Reruns.again`), or with other hidden ones (:meth:`Reruns.blind`).
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from pubench_report.suspicion import MEASURES

from pubench_core.errors import PubenchError, RunFailed
from pubench_core.records.files import Arrays, read_scores
from pubench_core.records.record import Record, read_record
from pubench_core.records.scores import scores_of
from pubench_core.results import AT_PRIOR
from pubench_core.specs import GIVEN

from .findings import Again, RecordProblem, Say
from .reproduction import Here, Reproduction, compared, reproduced, spec_again

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


@dataclass(frozen=True)
class Reruns:
    """Carries out runs of records again and judges what they give."""

    root: Path
    """folder of data files"""
    tolerance: float
    """how much a measure may differ where processor, versions or threads are others"""
    draws: random.Random
    """permutes labels"""
    say: Say

    def of(self, how: Callable[[Record], Again | RecordProblem | None], folder: Path) -> Again | RecordProblem | None:
        """Rerun of a record; a problem if its run cannot be carried out, None if ``how`` says nothing of such runs."""
        record = read_record(folder)
        try:
            return how(record)
        except RunFailed as error:
            return RecordProblem(record.result.run_id, f"carried out again, it fails: {error}", again=True)
        except PubenchError as error:
            return RecordProblem(record.result.run_id, f"it cannot be carried out here: {error}")

    def again(self, record: Record) -> Again | RecordProblem:
        """Rerun with its own labels: the problem, if it gives another result than the record has."""
        self.say(f"carrying {record.result.run_id} out again ({record.result.seconds.total:.0f} s recorded)")
        started = time.monotonic()
        found = reproduced(record.folder, Here(data_root=self.root), say=self.say, alone=True)
        return self._judged(found, time.monotonic() - started)

    def _judged(self, found: Reproduction, seconds: float) -> Again | RecordProblem:
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
        took = f"carried out again in {seconds:.1f} s"
        if found.identical and not found.fields:
            return Again(old.run_id, f"{took}: the same scores to the last bit", identical=True, largest=largest)
        if found.identical:
            why = f"it gives the same scores, and {found.fields[0]}"
        elif found.other_rows:
            why = f"{', '.join(found.other_rows)} are others"
        elif found.elsewhere and largest <= self.tolerance:
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

    def blind(self, record: Record) -> Again | RecordProblem | None:
        """Rerun with other hidden labels and another order of the file, which must give the record's scores;
        None for an oracle, joint runs and data whose truth is not known.

        Code in the process of a run can reach true labels: through frames, the garbage collector, a function of NumPy
        that it has replaced, files. What it reaches in memory is another thing here, and what it opens is seen.

        What criteria of true labels choose is not compared, nor is the last epoch if these end the training elsewhere.
        If the record has other scores, a training with its own labels must give those of the one without, and be a
        sound rerun of it; one that gives the record's bits shows that it was computed here, whatever it says.
        """
        from .training import trained

        result = record.result
        if result.oracle or result.folds or result.spec.mechanism.key == GIVEN or result.data.test is None:
            return None
        self.say(f"{result.run_id}: training {result.spec.method.key} with other hidden labels")
        spec = spec_again(result, Here(data_root=self.root), self.say)
        with trained(spec, record.folder.parent, seed=self.draws.randrange(1 << 63)) as (folder, opened):
            other = read_record(folder)
            unseen, epochs = _unsupervised(other), other.result.epochs
        if opened:
            what = f"while it trains it opens {', '.join(opened[:5])}: true labels may be there"
            return RecordProblem(result.run_id, what)
        seen = _unsupervised(record, last=epochs == result.epochs)
        if not seen:
            return None
        if _apart(seen, unseen):
            self.say(f"{result.run_id}: other scores than its record has; training it with its own labels")
            with trained(spec, record.folder.parent) as (folder, _):
                again = read_record(folder)
                seen = _unsupervised(again, last=epochs == again.result.epochs)
                found = compared(record, again, read_scores(record.folder), read_scores(folder))
            if apart := _apart(seen, unseen):
                what = f"with other hidden labels its scores are others ({', '.join(apart[:3])}): it sees true labels"
                return RecordProblem(result.run_id, what)
            judged = self._judged(found, again.result.seconds.total)
            if isinstance(judged, RecordProblem):
                return judged
        scores = sum(map(len, seen.values()))
        return Again(result.run_id, f"with other hidden labels the same {scores:,} scores to the last bit")


def _unsupervised(record: Record, *, last: bool = True) -> Arrays:
    """Criterion/part -> scores, of criteria that read no true label."""
    arrays = read_scores(record.folder)
    return {
        f"{name}/{part}": scores
        for name, one in record.result.criteria.items()
        if not one.oracle and one.snapshot and (last or name != "last")
        for part, scores in scores_of(arrays, one.snapshot).items()
    }


def _apart(scores: Arrays, others: Arrays) -> list[str]:
    """Names of scores that are not the same in both."""
    return [name for name, one in scores.items() if name not in others or not np.array_equal(one, others[name])]


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
