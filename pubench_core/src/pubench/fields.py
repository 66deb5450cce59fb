"""Arguments that set fields of a run. ``make generated`` writes them from ``pubench_core/specs/run.py``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypedDict


class SharedFields(TypedDict, total=False):
    """Fields that every run of a search shares."""

    binarization: str | None
    positive: Iterable[int | str] | None
    negative: Iterable[int | str] | None
    scheme: str | None
    total: int | None
    mechanism: str | None
    c: float | None
    positive_rate: float | None
    checked: int | None
    prior: float | str | None
    validation: float | None
    folds: int | None
    refit: str | None
    preset: str | None
    calibrate: str | None
    config: Mapping[str, Any] | None
    backbone: str | None
    precision: str | None
    device: str | None
    threads: int | None
    timeout: float | None
    results: str | Path | None
    data_root: str | Path | None
    encoder: str | Path | None
    offline: bool | None
    artifacts: Iterable[str] | None
    save_model: bool | None


class ComparedFields(SharedFields, total=False):
    """Fields that every run of a comparison shares."""

    criterion: str | None
    select: str | None
    goal: str | None
    decision: str | None
    tracking: bool | None
    sinks: Mapping[str, Any] | None


class RunFields(ComparedFields, total=False):
    """Fields of one run."""

    seed: int | None
