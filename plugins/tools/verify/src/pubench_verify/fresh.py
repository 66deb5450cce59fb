"""A method of a record on a problem that nobody could prepare for: another split, other positive classes.

A method that carries the data with its labels scores as well as it likes on the published splits. It does not know
which classes are positive here, nor which rows are labeled.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable
from pathlib import Path

from pubench_report.suspicion import MEASURES

from pubench_core.errors import PubenchError
from pubench_core.plugins.info import DatasetInfo
from pubench_core.plugins.registry import registry
from pubench_core.records.record import Record
from pubench_core.results import Result
from pubench_core.specs import GIVEN, RunSpec

from .result import ORACLE, Fresh, RecordProblem

#: A method is suspected if it falls this much further below the oracle on a fresh problem. Honest nnPU on digits fell
#: by .11 with one split; a method that carries the rows with their labels falls by .5.
DROP = 0.25


def fresh(record: Record, root: Path, say: Callable[[str], None], draws: random.Random) -> Fresh | RecordProblem | None:
    """The method and the oracle on a fresh problem and on the record's; None for what has no test measures of its own
    or no other classes: an oracle, data that bring their labels.

    A problem, if the method falls further behind the oracle than :data:`DROP`. ``root``: folder of data files.
    ``draws``: chooses seed and classes.
    """
    result = record.result
    if result.oracle or result.spec.mechanism.key == GIVEN or result.test.get("accuracy") is None:
        return None
    try:
        seed, positive, negative = draws.randrange(1 << 31), *_other_classes(result.spec, draws)
        say(
            f"{result.run_id}: {result.spec.method.key} on {result.spec.data.key} with seed {seed}, positive {positive}"
        )
        here = {"seed": seed, "data.positive": list(positive), "data.negative": list(negative)}
        with tempfile.TemporaryDirectory(prefix="pubench-fresh-") as place:
            before, now, oracle = (
                _measures(result, Path(place), root, changed, oracle=oracle)
                for changed, oracle in (({}, True), (here, False), (here, True))
            )
        recorded = {name: value for name in MEASURES if (value := result.test.get(name)) is not None}
        method, data = result.spec.method.key, result.spec.data.key
        tried = [
            Fresh(result.run_id, method, data, name, value, before[name], now[name], oracle[name], seed, positive)
            for name, value in recorded.items()
            if name in before and name in now and name in oracle
        ]
        found = max(tried, key=lambda one: one.drop)
    except PubenchError as error:
        return RecordProblem(result.run_id, f"its method cannot be carried out on a fresh problem: {error}")
    if found.drop > DROP:
        return RecordProblem(
            result.run_id, f"on a fresh problem it falls {found.drop:.3f} further below the oracle: {found}"
        )
    return found


def _other_classes(spec: RunSpec, draws: random.Random) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """As many positive and negative classes as there are, drawn from all classes of the data, but not the same ones."""
    known = range(len(registry().find(DatasetInfo, spec.data.key).classes))
    before = set(spec.data.positive or ())
    while True:
        drawn = draws.sample(known, min(len(known), len(spec.data.positive or ()) + len(spec.data.negative or ())))
        positive = tuple(sorted(drawn[: len(before)]))
        if set(positive) != before:
            return positive, tuple(sorted(set(drawn) - set(positive)))


def _measures(
    result: Result, place: Path, root: Path, changed: dict[str, object], *, oracle: bool = False
) -> dict[str, float]:
    """Test measures of the record's method, or of the oracle, on its problem with some fields changed."""
    from pubench_core.engine.execute import execute
    from pubench_core.engine.layers import Layer
    from pubench_core.engine.resolve import resolve, stored_spec

    spec, _ = stored_spec(result, registry())
    spec["execution"] |= {"results": str(place), "data_root": str(root), "device": "auto", "tracking": False}
    spec["execution"] |= {"save_model": False, "artifacts": [], "threads": result.threads}
    spec["prior"] = "true"
    for name, value in changed.items():
        section, _, field = name.rpartition(".")
        (spec[section] if section else spec)[field] = value
    if oracle:
        spec["method"] = {"key": ORACLE}
        spec["selection"] = {}
    done = execute(resolve([Layer(spec)], registry()))
    return {name: done.result.test.get(name) or 0.0 for name in MEASURES if name in done.result.test}
