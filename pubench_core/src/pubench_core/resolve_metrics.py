"""Which measures a run takes: the criteria it tracks, the metrics of its test part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .errors import PluginError, RequestError, unknown
from .info import MethodInfo, MetricInfo
from .method import AnyMethod, Method
from .registry import Registry, load


@dataclass(frozen=True)
class Truth:
    """Where true labels are known: in the pool that is trained on, in a part to test on. ``of``: the data's name."""

    of: str
    pool: bool = True
    test: bool = True


def known_criteria(registry: Registry, method: type[AnyMethod]) -> tuple[str, ...]:
    """Every criterion that can choose an epoch for this method: PU-only ones first, oracle ones, ``last``."""
    metrics = [m for m in registry.infos(MetricInfo) if m.criterion]
    observed = [m.key for m in metrics if m.tag != "oracle"]
    oracle = [m.key for m in metrics if m.tag == "oracle"]
    native = ["native"] if method.selection_score is not Method.selection_score else []
    return (*observed, *native, *oracle, "last")


def choose_metrics(
    sections: dict[str, dict[str, Any]],
    registry: Registry,
    method: MethodInfo,
    implementation: type[AnyMethod],
    warn: Callable[[str], None],
    truth: Truth,
) -> None:
    """Fills in selection.criteria and evaluation.metrics, and refuses names that are not installed or do not load.

    What needs true labels is absent where there are none, and refused where it is asked for.
    """
    criteria = known_criteria(registry, implementation)
    oracle = {m.key for m in registry.infos(MetricInfo) if m.tag == "oracle"}
    if not truth.pool:
        for name in (
            sections["selection"].get("criterion", "pa"),
            *names(sections["selection"].get("criteria", "all")),
        ):
            if isinstance(name, str) and name in oracle:
                raise RequestError(f"criterion '{name}' needs true labels and {truth.of} has none (--truth-col COLUMN)")
        criteria = tuple(name for name in criteria if name not in oracle)
    wanted = sections["selection"].get("criterion", "pa")
    unusable = metrics_that_do_not_load(registry)
    if not isinstance(wanted, str):
        raise unknown("selection criterion", str(wanted), criteria)
    if wanted in unusable:
        raise unusable[wanted]
    tracked = sections["selection"].get("criteria", "all")
    usable = tuple(name for name in criteria if name not in unusable)
    sections["selection"]["criteria"] = usable if tracked == "all" else tracked
    for name in (wanted, *names(sections["selection"]["criteria"])):
        if name not in criteria:
            if name == "native":
                raise RequestError(f"method '{method.key}' has no selection score of its own ('native')")
            raise unknown("selection criterion", str(name), criteria)
    measures = [m.key for m in registry.infos(MetricInfo) if m.needs <= {"truth"}]
    if not truth.pool and "train" in names(sections["evaluation"].get("trace", ())):
        raise RequestError(
            f"evaluation.trace: {truth.of} has no true labels to trace on training rows (--truth-col COLUMN)"
        )
    if not truth.test:
        if sections["evaluation"].get("metrics", "all") not in ("all", [], ()) or "test" in names(
            sections["evaluation"].get("trace", ())
        ):
            raise RequestError(f"evaluation: {truth.of} has no true labels to measure against (--truth-col COLUMN)")
        measures = []
    chosen = sections["evaluation"].get("metrics", "all")
    sections["evaluation"]["metrics"] = [m for m in measures if m not in unusable] if chosen == "all" else chosen
    for name, error in unusable.items():
        if name in (*names(sections["selection"]["criteria"]), *names(sections["evaluation"]["metrics"])):
            raise error
        warn(f"left out: {error}")
    for name in names(sections["evaluation"]["metrics"]):
        if name not in measures:
            raise unknown("metric of the test part", str(name), measures, listing="pubench list metrics")


def metrics_that_do_not_load(registry: Registry) -> dict[str, PluginError]:
    """Why, by key."""
    broken = {}
    for info in registry.infos(MetricInfo):
        try:
            load(info)
        except PluginError as error:
            broken[info.key] = error
    return broken


def names(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (list, tuple)) else (value,)
