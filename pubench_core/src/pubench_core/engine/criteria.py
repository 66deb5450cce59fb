"""Which criteria a run tracks and which metrics are measured on it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import ceil, floor
from typing import Any

from ..errors import Hint, PluginError, RequestError, shown, unknown
from ..method import Method
from ..metric import MetricPlugin
from ..plugins.info import MetricInfo
from ..plugins.registry import Registry, load
from ..results import DecisionRule
from ..specs.fields import short_hash
from .identity import metric_code
from .layers import Request
from .plan import DataChoice, MethodChoice

#: Tracked unless other criteria are given, as far as they are installed: PU-only ones, oracle ones, the last epoch.
DEFAULT_CRITERIA = ("pa", "pauc", "native", "oa", "f1", "macro-f1", "last")


@dataclass(frozen=True)
class Installed:
    """``usable``: every metric that loads; ``broken``: why the others do not, by key."""

    usable: Mapping[str, MetricPlugin]
    broken: Mapping[str, PluginError]

    @classmethod
    def of(cls, registry: Registry, named: Iterable[str] = ()) -> Installed:
        """All metrics of a registry; of those that take a number, the ones that are ``named`` (``recall-at-200``)."""
        usable: dict[str, MetricPlugin] = {}
        broken = {
            entry.key: PluginError(f"metric '{entry.key}' of {entry.distribution} is broken: {entry.reason}")
            for entry in registry.entries("metric")
            if entry.status != "ok" and entry.info is not None
        }
        for info in registry.infos(MetricInfo):
            try:
                function = load(info)
                if not info.parameter:
                    usable[info.key] = MetricPlugin(info, function, metric_code(info, registry))
                    continue
                pattern = rf"{re.escape(info.key)}-([1-9]\d{{0,8}})"
                matches = (re.fullmatch(pattern, str(name)) for name in named)
                for number in sorted({int(match[1]) for match in matches if match}):
                    one = replace(info, key=f"{info.key}-{number}", name=f"{info.name} {number}")
                    code = short_hash([metric_code(info, registry), number])
                    usable[one.key] = MetricPlugin(one, partial(function, number=number), code)
            except PluginError as error:
                broken[info.key] = error
        return cls(usable, broken)


def named_metrics(request: Request) -> list[str]:
    """Metrics and criteria that a request names."""
    selection, goal = request.sections["selection"], goal_of(request)
    given = [*names(selection.get("criterion", ())), *names(selection.get("criteria", ()))]
    given += names(request.sections["evaluation"].get("metrics", ()))
    return [str(name) for name in (*given, *((goal.criterion, *goal.also) if goal is not None else ()))]


@dataclass(frozen=True)
class Goal:
    """Use of scores: the criterion that chooses the epoch, the decision that is shown first, what else is tracked."""

    criterion: str
    rule: DecisionRule
    also: tuple[str, ...] = ()


def goal_of(request: Request) -> Goal | None:
    """The goal of a request, if it names one. Raises RequestError for what is none."""
    given = request.sections["selection"].get("goal")
    if given is None:
        return None
    text = str(given)
    if text in _GOALS:
        return _GOALS[text]
    if match := re.fullmatch(r"review:([1-9]\d{0,8})", text):
        return Goal(f"recall-at-{match[1]}", "zero")
    if match := re.fullmatch(r"decide:(0?\.\d{1,8})\.\.(0?\.\d{1,8})", text):
        low, high = floor(100 * float(match[1]) + 1e-9), ceil(100 * float(match[2]) - 1e-9)
        if 1 <= low < high <= 99:  # a prior that is too high costs less than one that is too low: validation-size.md
            return Goal(f"pa-at-{high}", "prior", (f"pa-at-{low}",))
    raise RequestError(
        f"{request.where('selection', 'goal')} must be rank, decide, decide:LOW..HIGH (decide:0.2..0.3) or "
        f"review:NUMBER (review:200), got {shown(given)}",
        field="selection.goal",
        value=given,
    )


#: To rank rows, and to call as many of them positive as the prior says. To review k rows: what the top k find.
_GOALS = {"rank": Goal("pauc", "zero"), "decide": Goal("pa", "prior")}


def _known_of(data: DataChoice, *, prior: bool) -> dict[str, frozenset[str]]:
    """Needs of metrics that are known of the rows of each part."""
    validation = {"labeled", "scheme", *(["prior"] if prior else []), *(["truth"] if data.truth_in_pool else [])}
    return {"test": frozenset(["truth"] if data.can_be_tested else []), "validation": frozenset(validation)}


def _lacking(what: str, field: str, data: DataChoice, *, prior: bool = False) -> RequestError:
    """The error for something that needs true labels, or the ``prior``, if there are none."""
    if prior:
        return RequestError(f"{what} needs the class prior and none is known; prior=0.3 gives one", field=field)
    own = data.table is not None
    rows, advice = ("", "; data.own.truth_col=COLUMN names them") if own else (" of rows to train on", "")
    return RequestError(f"{what} needs true labels{rows} and {data.info.name} has none{advice}", field=field)


def choose_selection(
    request: Request, method: MethodChoice, data: DataChoice, installed: Installed, *, prior_known: bool
) -> dict[str, Any]:
    """The section ``selection``: the criterion that names the result, and all that are tracked.

    What needs true labels or a prior is left out by default if there are none, and refused where it is named.
    """
    section, hidden = request.sections["selection"], {"scheme", "labeled", "truth", "prior"}
    hidden -= _known_of(data, prior=prior_known)["validation"]

    def lacks(name: str) -> bool:
        return name in installed.usable and bool(installed.usable[name].info.needs & hidden)

    found = [key for key, plugin in installed.usable.items() if plugin.info.criterion]
    if method.implementation.selection_score is not Method.selection_score:
        found.append("native")
    found.append("last")
    known = tuple(dict.fromkeys([*(name for name in DEFAULT_CRITERIA if name in found), *found]))
    goal = goal_of(request)
    usual = ("pa" if prior_known else "pauc") if goal is None else goal.criterion
    criterion, given = section.get("criterion", usual), section.get("criteria", "all")
    named, field = ((criterion,) if given == "all" else (criterion, *names(given))), "selection.criterion"
    for name in map(str, named):
        if name in installed.broken:
            raise installed.broken[name]
        if name == "native" and name not in known:
            raise RequestError(f"method '{method.info.key}' has no selection score of its own ('native')", field=field)
        if name not in known:
            raise unknown("selection criterion", name, known, field=field)
        if lacks(name):
            prior = data.truth_in_pool or not installed.usable[name].info.oracle
            raise _lacking(f"criterion '{name}'", field, data, prior=prior)
    if given != "all":
        return {**section, "criterion": criterion, "criteria": given}
    tracked = [name for name in DEFAULT_CRITERIA if name in known and not lacks(name)]
    for name in (criterion, *(() if goal is None else goal.also)):
        if name not in tracked:
            tracked.insert(len(tracked) - 1, name)
    return {**section, "criterion": criterion, "criteria": tuple(tracked)}


def choose_evaluation(request: Request, data: DataChoice, installed: Installed, *, prior_known: bool) -> dict[str, Any]:
    """The section ``evaluation``: metrics to measure, by default all for which some part knows enough."""
    section, known = request.sections["evaluation"], _known_of(data, prior=prior_known)
    trace = names(section.get("trace", ()))
    for part, rows, is_known in (("train", "training", data.truth_in_pool), ("test", "test", data.can_be_tested)):
        if part in trace and not is_known:
            raise _lacking(f"evaluation.trace: tracing {rows} rows", "evaluation.trace", data)
    needs = {key: plugin.info.needs for key, plugin in installed.usable.items()}
    measurable = [key for key, needed in needs.items() if any(needed <= of_part for of_part in known.values())]
    given = section.get("metrics", "all")
    if given == "all":
        return {**section, "metrics": tuple(measurable)}
    for name in map(str, names(given)):
        if name in installed.broken:
            raise installed.broken[name]
        if name not in installed.usable:
            raise unknown("metric", name, installed.usable, field="evaluation.metrics", hint=Hint("list", "metric"))
        if name not in measurable:
            prior = not installed.usable[name].info.oracle
            raise _lacking(f"metric '{name}'", "evaluation.metrics", data, prior=prior)
    return {**section, "metrics": given}


def names(value: Any) -> tuple[Any, ...]:
    """A value that may stand for a list of one."""
    return tuple(value) if isinstance(value, (list, tuple)) else (value,)
