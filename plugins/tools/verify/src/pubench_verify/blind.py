"""A record's run trained with other hidden labels and in another order of the file: its scores must stay the same.

Code in the process of a run can reach true labels: through frames, the garbage collector, a function of NumPy that it
has replaced, files. What it reaches in memory is another thing here, and what it opens is seen.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np

from pubench_core.errors import PubenchError
from pubench_core.records.files import Arrays, read_scores
from pubench_core.records.record import Record, read_record
from pubench_core.records.scores import scores_of
from pubench_core.specs import GIVEN

from .reproduction import compared, spec_again
from .rerun import judged
from .result import Blind, RecordProblem


def blind(
    record: Record, root: Path, say: Callable[[str], None], draws: random.Random, *, tolerance: float
) -> Blind | RecordProblem | None:
    """Whether a training with other hidden labels gives the scores of a record; None for an oracle, joint runs and data
    whose truth is not known.

    What criteria of true labels choose is not compared, nor is the last epoch if these end the training elsewhere. If
    the record has other scores, a training with its own labels must give those of the one without, and be a sound rerun
    of it (:func:`judged`); one that gives the record's bits shows that it was computed here, whatever it says.
    ``root``: folder of data files. ``draws``: permutes.
    """
    from .training import trained

    result = record.result
    if result.oracle or result.folds or result.spec.mechanism.key == GIVEN or result.data.test is None:
        return None
    say(f"{result.run_id}: training {result.spec.method.key} with other hidden labels")
    try:
        spec = spec_again(result, root, say=say)
        with trained(spec, record.folder.parent, seed=draws.randrange(1 << 63)) as (folder, opened):
            unseen, epochs = _scores(read_record(folder)), read_record(folder).result.epochs
        if opened:
            what = f"while it trains it opens {', '.join(opened[:5])}: true labels may be there"
            return RecordProblem(result.run_id, what)
        recorded = _scores(record, last=epochs == result.epochs)
        if not recorded:
            return None
        if not _apart(recorded, unseen):
            return Blind(result.run_id, sum(map(len, recorded.values())))
        say(f"{result.run_id}: other scores than its record has; training it with its own labels")
        with trained(spec, record.folder.parent) as (folder, _):
            again = read_record(folder)
            seen = _scores(again, last=epochs == again.result.epochs)
            found = compared(record, again, read_scores(record.folder), read_scores(folder))
    except PubenchError as error:
        return RecordProblem(result.run_id, f"it cannot be trained with other hidden labels: {error}")
    if apart := _apart(seen, unseen):
        what = f"with other hidden labels its scores are others ({', '.join(apart[:3])}): it sees true labels"
        return RecordProblem(result.run_id, what)
    sound = judged(found, tolerance, again.result.seconds.total)
    return sound if isinstance(sound, RecordProblem) else Blind(result.run_id, sum(map(len, seen.values())), False)


def _scores(record: Record, *, last: bool = True) -> Arrays:
    """Criterion/part -> scores, of criteria that read no true label."""
    result, arrays = record.result, read_scores(record.folder)
    return {
        f"{name}/{part}": scores
        for name, one in result.criteria.items()
        if not one.oracle and one.snapshot and (last or name != "last")
        for part, scores in scores_of(arrays, one.snapshot).items()
    }


def _apart(scores: Arrays, others: Arrays) -> list[str]:
    """Names of scores that are not the same in both."""
    return [name for name, one in scores.items() if name not in others or not np.array_equal(one, others[name])]
