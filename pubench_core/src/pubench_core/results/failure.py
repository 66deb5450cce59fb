"""Why a run has no result: the content of ``failure.json``."""

from __future__ import annotations

from typing import Literal

from pydantic import AliasChoices, Field

from ..errors import Cause
from ..specs import RunSpec
from .result import Code, Environment, Stored


class Failure(Stored):
    """A run that was refused after its split was built, or that started and did not finish."""

    failure_version: Literal[1] = Field(description="version of this format")
    run_id: str = Field(description="the run it would have been")
    cause: Cause = Field(description="what kind of failure it is")
    reason: str = Field(description="what happened, in words")
    stage: str | None = Field(None, description="stage of training that was reached")
    epoch: int | None = Field(None, description="epoch that was reached, from 1")
    step: int | None = Field(
        None,
        validation_alias=AliasChoices("step", "batch"),  # as it was called at first
        description="step of the epoch that was reached, from 1",
    )
    code: Code = Field(description="the code that failed")
    spec: RunSpec = Field(description="the resolved spec")
    traceback: str = Field(description="of the error")
    environment: Environment = Field(description="what it ran on")
    failed_at: str = Field(description="UTC, ISO 8601")
