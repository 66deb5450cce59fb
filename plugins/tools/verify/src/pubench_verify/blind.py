"""A record's run trained twice, once with other hidden labels and in another order of the file.

Code in the process of a run can reach true labels: through frames, the garbage collector, a function of NumPy that it
has replaced. What it reaches there is another thing the second time, and its scores are not the same bits.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np

from pubench_core.errors import PubenchError
from pubench_core.records.record import Record
from pubench_core.specs import GIVEN

from .derived import plan_here
from .result import Blind, Problem


def blind(record: Record, root: Path, say: Callable[[str], None], draws: random.Random) -> Blind | Problem | None:
    """Whether two trainings give the same scores; None for an oracle, joint runs and data whose truth is not known.

    What criteria of true labels choose is not compared, nor is the last epoch if these end the training elsewhere. A
    problem if any other score differs. ``root``: folder of data files. ``draws``: permutes.
    """
    from pubench_testkit.disguise import other_labels, other_order

    from pubench_core.engine.build import build_problem
    from pubench_core.engine.machine import choose_device, computing
    from pubench_core.engine.train import train

    result = record.result
    if result.oracle or result.folds or result.spec.mechanism.key == GIVEN or result.data.test is None:
        return None
    say(f"{result.run_id}: training {result.spec.method.key} twice, once with other hidden labels")
    rng = np.random.default_rng(draws.randrange(1 << 63))
    try:
        plan = plan_here(result, root, threads=result.threads)
        device = choose_device(plan)
        with computing(plan, device):
            problem = build_problem(plan, device)
            seen = train(plan, problem)
            unseen = train(plan, other_order(other_labels(problem, rng), rng))
    except PubenchError as error:
        return Problem(result.run_id, f"it cannot be trained with other hidden labels: {error}")
    blind = [name for name, criterion in result.criteria.items() if not criterion.oracle and name in seen.scores]
    if len(seen.epochs) != len(unseen.epochs):
        blind = [name for name in blind if name != "last"]
    pairs = {
        f"{name}/{part}": (scores, unseen.scores[name][part])
        for name in blind
        for part, scores in seen.scores[name].items()
    }
    if apart := [name for name, (one, other) in pairs.items() if not np.array_equal(one, other)]:
        what = f"with other hidden labels its scores are others ({', '.join(apart[:3])}): it sees true labels"
        return Problem(result.run_id, what)
    return Blind(result.run_id, sum(len(one) for one, _ in pairs.values())) if pairs else None
