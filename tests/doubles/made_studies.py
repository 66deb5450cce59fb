"""Results of many methods made by hand, for tests of what is said of them; numbers are drawn, not trained."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from made_results import made_result, made_spec

from pubench_core.records.files import result_text
from pubench_core.records.store import RecordStore
from pubench_core.results import CriterionResult, Measure, PeakMemory, Result, Seconds
from pubench_core.specs import DataSpec, MechanismSpec, MethodSpec, RunSpec, SelectionSpec, ValidationSpec
from pubench_core.specs.fields import short_hash

CRITERIA = ("pa", "pauc", "oa", "f1", "macro-f1", "last")
ORACLE = frozenset({"oa", "f1", "macro-f1"})
MEASURES = ("accuracy", "precision", "recall", "f1", "macro-f1", "auc")
#: What the engine says of a state that decides every row alike.
ALIKE = (
    "all 921 test rows are decided negative (scores from -1.4 to -0.1, decided at 0): the order of the scores may mean "
    "something, the decisions do not"
)


def made_run(
    method: str,
    data: str,
    seed: int,
    values: dict[str, float],
    *,
    c: float = 0.1,
    mechanism: str = "scar",
    alike: Iterable[str] = (),
    **changes: Any,
) -> Result:
    """``values``: criterion -> accuracy; the other measures are near it. ``alike``: criteria whose state collapsed."""
    spec = made_spec().model_copy(
        update={
            "data": DataSpec(key=data, positive=(1,), negative=(0,)),
            "mechanism": MechanismSpec(key=mechanism, c=c),
            "method": MethodSpec(key=method, config={"lr": 0.01, "epochs": 40}),
            "validation": ValidationSpec(fraction=0.01),
            "selection": SelectionSpec(criterion="f1", criteria=tuple(values)),
            "seed": seed,
        }
    )
    criteria = {
        name: CriterionResult(
            oracle=name in ORACLE,
            epoch=3,
            value=value,
            snapshot="epoch-3",
            warnings=(ALIKE,) if name in alike else (),
            measures={
                part: {key: Measure(value=min(1.0, value + 0.01 * k)) for k, key in enumerate(MEASURES)}
                for part in ("test", "validation")
            },
        )
        for name, value in values.items()
    }
    return made_result(run_id_of(spec), spec=spec, criteria=criteria, selected="f1", warnings=(), **changes)


def run_id_of(spec: RunSpec) -> str:
    """An id that differs for runs that do."""
    return short_hash(spec.model_dump(mode="json", exclude={"selection", "evaluation", "execution"}))


def varied(result: Result, **sections: Any) -> Result:
    """The result of another run, whose spec has these sections."""
    spec = result.spec.model_copy(update=sections)
    return result.model_copy(update={"spec": spec, "run_id": run_id_of(spec)})


def made_study(
    methods: Sequence[str],
    data: Sequence[str],
    seeds: Sequence[int],
    cs: Sequence[float] = (0.1,),
    mechanisms: Sequence[str] = ("scar",),
) -> list[Result]:
    """Every combination. Values, seconds and memory differ; every third method collapses once."""
    rng = np.random.default_rng(0)
    found = []
    for mechanism in mechanisms:
        for c in cs:
            for d, key in enumerate(data):
                for m, method in enumerate(methods):
                    level = 0.6 + 0.3 * ((7 * m + 3 * d) % 17) / 17 + 0.05 * c
                    seconds, size = 2.0 * 1.2**m + rng.uniform(), int(2**20 * (200 + 37 * m))
                    for seed in seeds:
                        values = {name: float(level + 0.02 * rng.normal()) for name in CRITERIA}
                        found.append(
                            made_run(
                                method, key, seed, values, c=c, mechanism=mechanism,
                                alike=["f1"] if m % 3 == 0 and seed == seeds[0] else [],
                                oracle=method == "pn",
                                at_once=1,
                                seconds=Seconds(
                                    total=seconds, training=seconds, evaluation=0.1, per_epoch=0.1,
                                    per_epoch_training=0.1,
                                ),
                                peak_memory=PeakMemory(bytes=size, what="peak resident during the run"),
                            )
                        )  # fmt: skip
    return found


def stored(folder: Path, results: Iterable[Result]) -> Path:
    """Their records in a folder."""
    store = RecordStore(folder)
    for result in results:
        with store.write(result.run_id) as place:
            (place / "result.json").write_text(result_text(result), encoding="utf-8")
    return folder
