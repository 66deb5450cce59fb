"""Results and failures made by hand, for tests of what is done with them."""

from __future__ import annotations

from typing import Any

from pubench_core.results import (
    RECORD_VERSION,
    Code,
    CriterionResult,
    DataFacts,
    Environment,
    Failure,
    Measure,
    PartFacts,
    PeakMemory,
    PriorFacts,
    Result,
    Seconds,
)
from pubench_core.specs import BackboneSpec, DataSpec, EvaluationSpec, MechanismSpec, MethodSpec, RunSpec, SelectionSpec

RUN = "0123456789abcdef"


def made_spec() -> RunSpec:
    """A spec of plugins that nobody installed."""
    return RunSpec(
        data=DataSpec(key="toy", positive=(0,), negative=(1,)),
        mechanism=MechanismSpec(),
        method=MethodSpec(key="tiny", config={"lr": 0.01}),
        backbone=BackboneSpec(key="mlp"),
        selection=SelectionSpec(criteria=("pa", "last")),
        evaluation=EvaluationSpec(metrics=("f1", "pa")),
    )


def made_code() -> Code:
    """The code of such a run."""
    return Code.of({"engine": "revision 0", "method tiny": "f" * 16}, {"pubench-tiny": "1.0"})


def made_result(run_id: str = RUN, **changes: Any) -> Result:
    """A complete result with every kind of field in use; ``changes``: fields that are otherwise."""
    counts = {"rows": 10, "positive": 4, "negative": 6}
    fields: dict[str, Any] = {
        "record_version": RECORD_VERSION,
        "run_id": run_id,
        "code": made_code(),
        "spec": made_spec(),
        "oracle": False,
        "selected": "pa",
        "criteria": {
            "pa": CriterionResult(
                oracle=False,
                epoch=2,
                value=1.25,
                snapshot="epoch-2",
                code="a" * 16,
                measures={
                    "test": {"f1": Measure(value=0.5, interval=(0.4, 0.6), details={"n": 10, "grid": [0.1, 0.2]})},
                    "validation": {"pa": Measure(value=1.25, warnings=("few rows",))},
                },
            ),
            "last": CriterionResult(
                oracle=False, epoch=3, snapshot="last", measures={"test": {"f1": Measure(undefined="no positive row")}}
            ),
        },
        "metrics": {"f1": "b" * 16, "pa": "a" * 16},
        "data": DataFacts(
            modality="tabular",
            shape=(3,),
            dropped=0,
            train=PartFacts(**counts, labeled=2, unlabeled=10, unlabeled_positive=4, unlabeled_negative=6),
            validation=PartFacts(**counts, labeled=1),
            test=PartFacts(**counts),
            prior=PriorFacts(given=0.4, true=0.4),
            calibrated=False,
            digest="c" * 16,
        ),
        "epochs": 3,
        "seconds": Seconds(total=1.0, training=0.5, evaluation=0.25, per_epoch=0.25, per_epoch_training=0.1),
        "peak_memory": PeakMemory(bytes=1024, what="peak resident during the run"),
        "warnings": ("a line",),
        "device": "cpu",
        "threads": 1,
        "finished_at": "2026-01-01T00:00:00Z",
    }
    return Result(**{**fields, **changes})


def made_failure(run_id: str = RUN, **changes: Any) -> Failure:
    """A failure of such a run."""
    fields: dict[str, Any] = {
        "failure_version": 1,
        "run_id": run_id,
        "cause": "non-finite",
        "reason": "loss is nan",
        "stage": "train",
        "epoch": 2,
        "batch": 7,
        "code": made_code(),
        "spec": made_spec(),
        "traceback": "Traceback (most recent call last): ...",
        "environment": Environment(
            python="3.12.0", platform="Linux", packages={"torch": "2"}, cpu="a", cpu_count=1, threads=1, device="cpu"
        ),
        "failed_at": "2026-01-01T00:00:00Z",
    }
    return Failure(**{**fields, **changes})
