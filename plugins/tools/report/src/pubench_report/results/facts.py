"""Facts of one run: the columns of every frame, and the fields that runs are chosen by."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from pubench_study.frame import facts_of as spec_facts

from pubench.running import RunResult
from pubench_core.specs import RunSpec

from ..grouping import FailedRun, spec_of

#: Columns that every frame has, before the measures.
FACTS = (
    "run_id", "name", "method", "data", "mechanism", "c", "positive_rate", "scheme", "prior", "prior_from",
    "prior_true", "seed", "preset", "backbone", "oracle", "criterion", "criterion_oracle", "criterion_value", "epoch",
    "epochs", "seconds", "warnings",
)  # fmt: skip

#: Measures that come first.
_FIRST = ("accuracy", "precision", "recall", "f1", "macro-f1", "auc")


def criteria_of(runs: Iterable[RunResult]) -> tuple[str, ...]:
    """Selection criteria that a run tracked, in order of appearance."""
    return tuple(dict.fromkeys(name for run in runs for name in run.result.criteria))


def metrics_of(runs: Iterable[RunResult], part: str) -> tuple[str, ...]:
    """Metrics that a run has a measure of on a part, the well-known ones first."""
    found = dict.fromkeys(
        metric for run in runs for criterion in run.result.criteria.values() for metric in criterion.measured(part)
    )
    first = [metric for metric in _FIRST if metric in found]
    return tuple(dict.fromkeys([*first, *found]))


def known_of(name: str, run: RunResult | FailedRun) -> dict[str, Any]:
    """Facts of a run, hyper-parameters included."""
    facts = {"name": name, **spec_facts(run.spec)} if isinstance(run, FailedRun) else facts_of(name, run)
    return {**facts, **config_of(spec_of(run))}


def facts_of(name: str, run: RunResult, criterion: str | None = None) -> dict[str, Any]:
    """The columns of a run, under one of its criteria (by default the one that names it)."""
    result, shown = run.result, criterion or run.result.selected
    chosen, prior = result.criteria[shown], result.data.prior
    known = {
        "run_id": result.run_id,
        "name": name,
        **spec_facts(result.spec),
        "prior": prior.given,
        "prior_true": prior.true,
        "oracle": result.oracle,
        "criterion": shown,
        "criterion_oracle": chosen.oracle,
        "criterion_value": chosen.value,
        "epoch": chosen.epoch,
        "epochs": result.epochs,
        "seconds": result.seconds.total,
        "warnings": warnings_of(run, shown),
    }
    return {column: known[column] for column in FACTS}


def config_of(spec: RunSpec) -> dict[str, Any]:
    """Hyper-parameters by the names of their columns."""
    return {f"config.{name}": value for name, value in spec.method.config.items()}


def warnings_of(run: RunResult, criterion: str) -> str:
    """Warnings of a run and of one of its criteria, on one line; empty if there are none."""
    return "; ".join((*run.result.warnings, *run.result.criteria[criterion].warnings))


def fits(facts: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether every column that is asked for is there and has one of the values."""
    return all(
        column in facts and facts[column] in (value if _several(value) else (value,))
        for column, value in wanted.items()
    )


def _several(value: object) -> bool:
    return isinstance(value, Collection) and not isinstance(value, (str, bytes))
