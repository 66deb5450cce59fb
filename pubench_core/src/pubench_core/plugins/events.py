"""What listeners of a run receive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ..results import DataFacts, Failure, Result
from ..specs import RunSpec


@dataclass(frozen=True)
class RunStarted:
    """``spec``: resolved; ``code``: hash of the code that runs; ``data``: counts and priors."""

    run_id: str
    code: str
    spec: RunSpec
    device: str
    data: DataFacts


@dataclass(frozen=True)
class EpochFinished:
    """``epoch`` counts from 1 over all stages, ``in_stage`` within the stage; ``criteria``: value or None (undefined).

    ``seconds``: training only; ``evaluation_seconds``: scoring for selection and tracing. ``values``: reported
    losses (means over the epoch) and traced measures.
    """

    run_id: str
    stage: str
    epoch: int
    in_stage: int
    stage_epochs: int
    seconds: float
    evaluation_seconds: float
    criterion: str
    criteria: Mapping[str, float | None] = field(default_factory=dict)
    values: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class RunFinished:
    """``record``: the run's folder, or that of its failure. Either ``result`` or ``failure`` is there."""

    run_id: str
    status: Literal["finished", "refused", "failed"]
    record: Path
    result: Result | None = None
    failure: Failure | None = None
