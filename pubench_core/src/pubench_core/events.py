"""The plain data that lifecycle listeners receive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class RunStarted:
    """``spec``: the resolved spec as plain data; ``code``: hash of the code that runs; ``facts``: counts and priors."""

    run_id: str
    code: str
    spec: Mapping[str, Any]
    device: str
    facts: Mapping[str, Any]


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
    """``status``: finished or failed; ``record``: the run's folder; ``result``: content of its json file."""

    run_id: str
    status: str
    record: Path | None
    result: Mapping[str, Any]


@dataclass(frozen=True)
class StudyFinished:
    """``runs``: run id of every run and how it ended."""

    name: str
    runs: Mapping[str, str]
