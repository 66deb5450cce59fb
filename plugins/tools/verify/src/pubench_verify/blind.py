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
from pubench_core.records.record import Record
from pubench_core.records.scores import scores_of
from pubench_core.specs import GIVEN

from .derived import spec_here
from .reproduction import computed_elsewhere
from .result import Blind, RecordProblem
from .training import trained


def blind(
    record: Record, root: Path, say: Callable[[str], None], draws: random.Random, *, tolerance: float
) -> Blind | RecordProblem | None:
    """Whether a training with other hidden labels gives the scores of a record; None for an oracle, joint runs and data
    whose truth is not known.

    What criteria of true labels choose is not compared, nor is the last epoch if these end the training elsewhere.
    If another processor or version may round otherwise, its scores are compared with those of a training with the true
    labels, whose decisions may differ from the record's by ``tolerance``. ``root``: folder of data files. ``draws``:
    permutes.
    """
    result = record.result
    if result.oracle or result.folds or result.spec.mechanism.key == GIVEN or result.data.test is None:
        return None
    say(f"{result.run_id}: training {result.spec.method.key} with other hidden labels")
    try:
        spec, arrays = spec_here(result, root, threads=result.threads), read_scores(record.folder)
        unseen = trained(spec, record.folder.parent, seed=draws.randrange(1 << 63))
        names = [name for name, one in result.criteria.items() if not one.oracle and one.snapshot]
        recorded = {
            f"{name}/{part}": scores
            for name in names
            for part, scores in scores_of(arrays, result.criteria[name].snapshot).items()
            if name != "last" or unseen.epochs == result.epochs
        }
        if unseen.opened:
            return RecordProblem(
                result.run_id, f"while it trains it opens {', '.join(unseen.opened[:5])}: true labels may be there"
            )
        if not recorded:
            return None
        if not _apart(recorded, unseen.scores):
            return Blind(result.run_id, sum(map(len, recorded.values())))
        say(f"{result.run_id}: other scores than its record has; training it with its own labels")
        seen = trained(spec, record.folder.parent)
    except PubenchError as error:
        return RecordProblem(result.run_id, f"it cannot be trained with other hidden labels: {error}")
    if seen.epochs != unseen.epochs:
        recorded = {name: scores for name, scores in recorded.items() if not name.startswith("last/")}
    own = {name: seen.scores[name] for name in recorded if name in seen.scores}
    if apart := _apart(own, unseen.scores):
        what = f"with other hidden labels its scores are others ({', '.join(apart[:3])}): it sees true labels"
        return RecordProblem(result.run_id, what)
    otherwise = max(float(np.mean((recorded[name] > 0) != (own[name] > 0))) if name in own else 1 for name in recorded)
    if otherwise > tolerance or not computed_elsewhere(record, seen.environment):
        what = f"trained in a process of its own, it decides {otherwise:.2%} of the rows otherwise than its record"
        return RecordProblem(result.run_id, what)
    return Blind(result.run_id, sum(map(len, own.values())), as_recorded=False)


def _apart(scores: Arrays, others: Arrays) -> list[str]:
    """Names of scores that are not the same in both."""
    return [name for name, one in scores.items() if name not in others or not np.array_equal(one, others[name])]
