"""A record's run trained with other hidden labels and in another order of the file: its scores must stay the same.

Code in the process of a run can reach true labels: through frames, the garbage collector, a function of NumPy that it
has replaced, files. What it reaches in memory is another thing here, and what it opens is seen.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from pubench_core.errors import PubenchError
from pubench_core.records.files import Arrays, read_scores
from pubench_core.records.record import Record, read_record
from pubench_core.records.scores import scores_of
from pubench_core.results import Result
from pubench_core.specs import GIVEN

from .reproduction import computed_elsewhere, environment_of, spec_again
from .result import Blind, RecordProblem
from .training import trained


def blind(
    record: Record, root: Path, say: Callable[[str], None], draws: random.Random, *, tolerance: float
) -> Blind | RecordProblem | None:
    """Whether a training with other hidden labels gives the scores of a record; None for an oracle, joint runs and data
    whose truth is not known.

    What criteria of true labels choose is not compared, nor is the last epoch if these end the training elsewhere. If
    another processor or version may round otherwise, a training with the true labels must give the same bits as the
    one without, and ranks and both decisions of the record but for ``tolerance``; if it gives the bits of the record,
    this was computed here, whatever it says. ``root``: folder of data files. ``draws``: permutes.
    """
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
            seen, elsewhere = _scores(again), computed_elsewhere(record, environment_of(folder))
    except PubenchError as error:
        return RecordProblem(result.run_id, f"it cannot be trained with other hidden labels: {error}")
    last = epochs == again.result.epochs == result.epochs
    names = [name for name in recorded if name in seen and (last or not name.startswith("last/"))]
    if apart := _apart({name: seen[name] for name in names}, unseen):
        what = f"with other hidden labels its scores are others ({', '.join(apart[:3])}): it sees true labels"
        return RecordProblem(result.run_id, what)
    worst, how = max((_otherwise(result, name, recorded[name], seen[name]) for name in names), default=(1.0, "scores"))
    if worst > tolerance or not elsewhere:
        what = (
            f"carried out again in a process of its own, {how} of {worst:.2%} of its rows are others than in its record"
        )
        return RecordProblem(result.run_id, what)
    return Blind(result.run_id, sum(len(seen[name]) for name in names), as_recorded=False)


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


def _otherwise(result: Result, name: str, recorded: Any, now: Any) -> tuple[float, str]:
    """The largest share of rows with other decisions, at 0 and at the prior, or another place in the order; which."""
    if len(recorded) != len(now):
        return 1.0, "scores"
    threshold = result.criteria[name.split("/")[0]].threshold
    above = float(np.mean(recorded > (0 if threshold is None else threshold)))
    ranks = [np.argsort(np.argsort(scores, kind="stable"), kind="stable") for scores in (recorded, now)]
    at_prior = [rank >= len(rank) * (1 - above) for rank in ranks]
    return max(
        (float(np.mean((recorded > 0) != (now > 0))), "decisions at 0"),
        (float(np.mean(at_prior[0] != at_prior[1])), "decisions at the prior"),
        (float(np.mean(np.abs(ranks[0] - ranks[1]))) / max(len(now), 1), "ranks"),
    )
