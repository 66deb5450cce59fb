"""Runs carried out again: which, and whether they give what their records say.

With its own labels (:func:`carried_out_again`), with other hidden ones (:func:`blind`), on a problem that nobody could
prepare for (:func:`fresh`).
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from pubench_report.suspicion import MEASURES

from pubench_core.errors import PubenchError, RunFailed
from pubench_core.plugins.info import DatasetInfo
from pubench_core.plugins.registry import registry
from pubench_core.records.files import Arrays, read_scores
from pubench_core.records.record import Record, read_record
from pubench_core.records.scores import scores_of
from pubench_core.results import Result
from pubench_core.results.result import AT_PRIOR
from pubench_core.specs import GIVEN, RunSpec

from .reproduction import ROUNDING, Here, Reproduction, compared, reproduced, spec_again
from .result import Again, RecordProblem, Tried

Drawn = TypeVar("Drawn")
Say = Callable[[str], None]

#: Measures by which a run carried out again is compared on another machine.
_COMPARED = ("accuracy", "f1", "macro-f1", "auc", "pa", "pauc")
#: Reruns that all differ in the same direction are a problem below this probability.
SIGNIFICANT = 0.001
#: The method that is granted the true labels, by which a problem's difficulty is measured.
ORACLE = "pn"
#: A method is suspected if it falls this much further below the oracle on a fresh problem. Honest nnPU on digits fell
#: by .11 with one split; a method that carries the rows with their labels falls by .5.
DROP = 0.25


def drawn(records: Sequence[Drawn], number: int, draws: random.Random, method: Callable[[Drawn], str]) -> list[Drawn]:
    """``number`` of the records, at random; one of each method comes before a second of any.

    Nothing that a record says of itself but its method steers which.
    """
    order = draws.sample(records, len(records))
    first = {method(record): record for record in reversed(order)}
    return sorted(order, key=lambda one: one is not first[method(one)])[:number]


def carried_out_again(record: Record, tolerance: float, root: Path, say: Say) -> Again | RecordProblem:
    """Result of the run of a record now; the problem, if it is another result than the record has.

    ``tolerance``: how much a measure may differ where processor, versions or threads are others. ``root``: folder
    of data files.
    """
    run_id = record.result.run_id
    say(f"carrying {run_id} out again ({record.result.seconds.total:.0f} s recorded)")
    started = time.monotonic()
    try:
        found = reproduced(record.folder, Here(data_root=root), say=say, alone=True)
    except RunFailed as error:
        return RecordProblem(run_id, f"carried out again, it fails: {error}", again=True)
    except PubenchError as error:
        return RecordProblem(run_id, f"it cannot be carried out again here: {error}")
    return _judged(found, tolerance, time.monotonic() - started)


def _judged(found: Reproduction, tolerance: float, seconds: float) -> Again | RecordProblem:
    """Whether another run gives what a record has, the last digits apart if it was computed elsewhere.

    Where rounding differs, a criterion may choose another epoch, with another model; measures are compared under those
    that chose the same one, and under the one that names the result.
    """
    old, new = found.recorded, found.now
    epochs = {name: criterion.epoch for name, criterion in new.criteria.items()}
    other = [name for name, one in old.criteria.items() if name not in epochs or one.epoch != epochs[name]]
    other_epochs = tuple(name for name in other if name != old.selected)
    largest = max(
        (
            1.0 if one.recorded is None or one.now is None else abs(one.now - one.recorded)
            for (criterion, _, metric), one in found.measures.items()
            if criterion not in other_epochs and metric.removesuffix(AT_PRIOR) in _COMPARED
        ),
        default=0.0,
    )
    elsewhere = sorted({change.kind for change in found.changed if change.kind in ROUNDING})
    if found.identical and found.fields:
        why = f"it gives the same scores, and {found.fields[0]}"
    elif found.identical:
        return Again(old.run_id, True, largest, seconds)
    elif found.other_rows:
        why = f"{', '.join(found.other_rows)} are others"
    elif elsewhere and largest <= tolerance:
        differ = {name: one for name, one in found.test_measures.items() if name in MEASURES}
        both = {name: one for name, one in differ.items() if None not in (one.recorded, one.now)}
        better = {name: one.recorded > one.now for name, one in both.items()}
        return Again(old.run_id, False, largest, seconds, other_epochs, better)
    else:
        what = f"{len(found.apart)} of {found.arrays} arrays" if found.kept_scores else "its measures"
        where = (
            f"though {', '.join(elsewhere)} are others" if elsewhere else "on the same machine with the same versions"
        )
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


# -------------------------------------------------------------------- other hidden labels


def blind(
    record: Record, root: Path, say: Say, draws: random.Random, *, tolerance: float
) -> Tried | RecordProblem | None:
    """Whether a training with other hidden labels, and in another order of the file, gives the scores of a record; None
    for an oracle, joint runs and data whose truth is not known.

    Code in the process of a run can reach true labels: through frames, the garbage collector, a function of NumPy that
    it has replaced, files. What it reaches in memory is another thing here, and what it opens is seen.

    What criteria of true labels choose is not compared, nor is the last epoch if these end the training elsewhere. If
    the record has other scores, a training with its own labels must give those of the one without, and be a sound rerun
    of it; one that gives the record's bits shows that it was computed here, whatever it says.
    ``root``: folder of data files. ``draws``: permutes.
    """
    from .training import trained

    result = record.result
    if result.oracle or result.folds or result.spec.mechanism.key == GIVEN or result.data.test is None:
        return None
    say(f"{result.run_id}: training {result.spec.method.key} with other hidden labels")
    same, whose = "with other hidden labels the same {:,} scores to the last bit{}", ""
    try:
        spec = spec_again(result, Here(data_root=root), say)
        with trained(spec, record.folder.parent, seed=draws.randrange(1 << 63)) as (folder, opened):
            unseen, epochs = _unsupervised(read_record(folder)), read_record(folder).result.epochs
        if opened:
            what = f"while it trains it opens {', '.join(opened[:5])}: true labels may be there"
            return RecordProblem(result.run_id, what)
        seen = _unsupervised(record, last=epochs == result.epochs)
        if not seen:
            return None
        if _apart(seen, unseen):
            say(f"{result.run_id}: other scores than its record has; training it with its own labels")
            with trained(spec, record.folder.parent) as (folder, _):
                again = read_record(folder)
                seen = _unsupervised(again, last=epochs == again.result.epochs)
                found = compared(record, again, read_scores(record.folder), read_scores(folder))
            if apart := _apart(seen, unseen):
                what = f"with other hidden labels its scores are others ({', '.join(apart[:3])}): it sees true labels"
                return RecordProblem(result.run_id, what)
            judged, whose = _judged(found, tolerance, again.result.seconds.total), " as with its own, on this machine"
            if isinstance(judged, RecordProblem):
                return judged
    except PubenchError as error:
        return RecordProblem(result.run_id, f"it cannot be trained with other hidden labels: {error}")
    return Tried(result.run_id, same.format(sum(map(len, seen.values())), whose))


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


# -------------------------------------------------------------------- another problem


def fresh(record: Record, root: Path, say: Say, draws: random.Random) -> Tried | RecordProblem | None:
    """The method and the oracle on another split with other positive classes, and the oracle on the record's; None for
    what has no test measures of its own or no other classes: an oracle, data that bring their labels.

    A method that carries the data with its labels scores as well as it likes on the published splits, and does not know
    which classes are positive here, nor which rows are labeled. A problem, if it falls further behind the oracle than
    :data:`DROP`. ``root``: folder of data files. ``draws``: chooses seed and classes.
    """
    result, spec = record.result, record.result.spec
    if result.oracle or spec.mechanism.key == GIVEN or result.test.get("accuracy") is None:
        return None
    try:
        seed, positive, negative = draws.randrange(1 << 31), *_other_classes(spec, draws)
        problem = f"{spec.method.key} on {spec.data.key}, seed {seed}, positive {list(positive)}"
        say(f"{result.run_id}: {problem}")
        here = {"seed": seed, "data": {"positive": list(positive), "negative": list(negative)}}
        pn = {"method": {"key": ORACLE}, "selection": {}}
        before, now, oracle = (_measures(result, root, changed) for changed in (pn, here, here | pn))
    except PubenchError as error:
        return RecordProblem(result.run_id, f"its method cannot be carried out on a fresh problem: {error}")
    measured = before.keys() & now.keys() & oracle.keys()
    recorded = {name: value for name in MEASURES if name in measured and (value := result.test.get(name)) is not None}
    drops = {name: oracle[name] - now[name] - before[name] + value for name, value in recorded.items()}
    worst = max(drops, key=drops.__getitem__)
    what = (
        f"{problem}: {worst} {now[worst]:.4f} ({ORACLE} {oracle[worst]:.4f}); in the record {recorded[worst]:.4f} "
        f"({ORACLE} {before[worst]:.4f})"
    )
    if drops[worst] <= DROP:
        return Tried(result.run_id, what)
    fall = f"on a fresh problem it falls {drops[worst]:.3f} further below the oracle"
    return RecordProblem(result.run_id, f"{fall}: {what}")


def _other_classes(spec: RunSpec, draws: random.Random) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """As many positive and negative classes as there are, drawn from all classes of the data, but not the same ones."""
    known = range(len(registry().find(DatasetInfo, spec.data.key).classes))
    before = set(spec.data.positive or ())
    while True:
        chosen = draws.sample(known, min(len(known), len(spec.data.positive or ()) + len(spec.data.negative or ())))
        positive = tuple(sorted(chosen[: len(before)]))
        if set(positive) != before:
            return positive, tuple(sorted(set(chosen) - set(positive)))


def _measures(result: Result, root: Path, changed: Mapping[str, Any]) -> dict[str, float]:
    """Test measures of a record's method on its problem, given the true prior, with some fields of the spec changed."""
    from pubench_core.engine.execute import execute
    from pubench_core.engine.layers import Layer
    from pubench_core.engine.resolve import resolve

    spec = spec_again(result, Here(data_root=root, device="auto"), lambda text: None)
    spec |= {"prior": "true", **changed, "data": spec["data"] | changed.get("data", {})}
    with tempfile.TemporaryDirectory(prefix="pubench-fresh-") as place:
        spec["execution"] |= {"results": place, "artifacts": []}
        test = execute(resolve([Layer(spec)], registry())).result.test
    return {name: test.get(name) or 0.0 for name in MEASURES if name in test}
