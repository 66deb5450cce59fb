"""From what a user said to a :class:`~pubench_core.engine.plan.Plan`, in one place.

Hyper-parameters resolve in this order: Config defaults < preset < layers in the order given (a run file, then flags).
On a user's table, patience is off by default, and a method's preset ``table`` is used if no preset is named.
Every error names where the value came from, what was given and what is expected. The registry is read here and
nowhere behind it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pydantic import ValidationError

from ..errors import Hint, Notice, PluginError, RequestError, shown, unknown
from ..method import AnyMethod, Method
from ..plugins.info import BackboneInfo, Info, MethodInfo, PriorInfo
from ..plugins.registry import Registry, load
from ..prior import PriorEstimator
from ..specs import RunSpec, is_one_sample
from ..specs.config import TrainingConfig
from ..specs.run import TEST, UNKNOWN, run_id
from .criteria import Installed, choose_evaluation, choose_selection, goal_of, named_metrics
from .explain import explain
from .identity import code_of
from .layers import Layer, Request
from .plan import BackboneChoice, DataChoice, EstimatorChoice, MethodChoice, Plan
from .resolve_data import DataSections, choose_data

#: Preset for a user's own table: it must work for any prior, without a negative to choose by.
OWN_TABLE = "table"


def resolve(layers: Iterable[Layer], registry: Registry, warn: Callable[[str], None] = lambda text: None) -> Plan:
    """The run that the layers describe, later ones winning.

    A metric that cannot be loaded and was not named is left out, which ``warn`` is called with.

    Raises RequestError for an unknown key, field, preset or criterion and for a value out of bounds; PluginError if
    something that was named is broken.
    """
    request = Request.of(layers)
    data = choose_data(request, registry)
    method, preset = _method(request, registry, data.choice)
    _refuse_missing_truth(method, data)
    info = request.find(
        registry, BackboneInfo, "backbone", request.sections["backbone"].get("key", data.choice.info.backbone)
    )
    backbone = BackboneChoice(info, load(info))
    installed, goal = Installed.of(registry, named_metrics(request)), goal_of(request)
    prior = _wanted_prior(request, method, data, registry)
    prior_known = prior != UNKNOWN
    sections: dict[str, Any] = {
        **request.sections,
        "data": data.data,
        "mechanism": data.mechanism,
        "method": {
            **request.sections["method"],
            "key": method.info.key,
            "preset": preset,
            "config": method.config.model_dump(mode="json"),
        },
        "backbone": {**request.sections["backbone"], "key": backbone.info.key},
        "decision": {**({} if goal is None else {"rule": goal.rule}), **request.sections["decision"]},
        "selection": choose_selection(request, method, data.choice, installed, prior_known=prior_known),
        "evaluation": choose_evaluation(request, data.choice, installed, prior_known=prior_known),
    }
    _warn_of_broken(request, installed, warn)
    if os.environ.get("OMP_DYNAMIC", "").strip().lower() == "true":
        warn("OMP_DYNAMIC=true is set in the environment: torch may hang for good in its backward pass; unset it")
    try:
        spec = RunSpec.model_validate({**request.rest, "prior": prior, **sections})
    except ValidationError as error:
        for name, value in request.rest.items():
            if name not in RunSpec.model_fields and name in type(method.config).model_fields:
                raise RequestError(
                    f"{request.where(name)}: a run has no field '{name}'; it is a hyper-parameter of "
                    f"{method.info.key}, written method: {{config: {{{name}: {shown(value)}}}}}",
                    field=name,
                    value=value,
                ) from None
        raise explain(error, RunSpec, (), request.origins) from None
    wanted = spec.method.calibrate
    if not is_one_sample(spec.data.scheme):
        wanted = "auto"
    elif wanted == "auto":
        wanted = "on" if method.info.setting == "two-sample" else "off"
    spec = spec.model_copy(update={"method": spec.method.model_copy(update={"calibrate": wanted})})
    spec, estimator = _prior(spec, registry, data)
    found: list[Info] = [method.info, backbone.info]
    if data.mechanism_choice is not None:
        found.append(data.mechanism_choice.info)
    if estimator is not None:
        found.append(estimator.info)
    return Plan(
        spec=spec,
        run_id=run_id(spec, method.config),
        data=data.choice,
        mechanism=data.mechanism_choice,
        method=method,
        backbone=backbone,
        estimator=estimator,
        metrics=installed.usable,
        code=code_of(found, registry, data.choice.table),
    )


# -------------------------------------------------------------------- method and backbone


def _method(request: Request, registry: Registry, data: DataChoice) -> tuple[MethodChoice, str | None]:
    """The method with its configuration, and the preset that this started from.

    On a user's table, patience is off unless it is set, and the preset :data:`OWN_TABLE` is used if the method has it
    and none is named.
    """
    info = request.find(registry, MethodInfo, "method", request.key(MethodInfo, "method"))
    implementation = method_class(info)
    section = request.sections["method"]
    preset, given = section.get("preset"), section.get("config") or {}
    values: dict[str, Any] = {}
    if data.table is not None:
        if issubclass(implementation.Config, TrainingConfig):
            values["patience"] = None
        if preset is None and OWN_TABLE in info.presets:
            preset = OWN_TABLE
    if preset is not None:
        if str(preset) not in info.presets:
            raise unknown(f"preset of {info.key}", str(preset), info.presets, field="method.preset")
        values |= info.presets[str(preset)].resolve(data.info.key)
    if request.sections["validation"].get("folds") is not None and "patience" in implementation.Config.model_fields:
        values["patience"] = None  # one epoch is chosen for all folds, of those that every fold reaches
    if not isinstance(given, Mapping):
        raise RequestError(
            f"method.config must be a mapping of {info.key}'s fields, given {shown(given)}", field="method.config"
        )
    try:
        config = implementation.Config.model_validate({**values, **given})
    except ValidationError as error:
        prefix, hint = ("method", "config"), Hint("describe", info.key)
        raise explain(error, implementation.Config, prefix, request.origins, info.key, hint) from None
    method = MethodChoice(info, implementation, config, implementation.requires(config), implementation.uses(config))
    return method, preset


def method_class(info: MethodInfo) -> type[AnyMethod]:
    """The method behind an info record; PluginError if it is not a :class:`Method`."""
    found = load(info)
    if not (isinstance(found, type) and issubclass(found, Method)):
        raise PluginError(f"method '{info.key}': {info.load} is not a subclass of pubench_core.method.Method")
    return found


def _refuse_missing_truth(method: MethodChoice, data: DataSections) -> None:
    """RequestError for a method that is granted true labels on a table that has none."""
    if "truth" in method.requires and not data.choice.truth_in_pool:
        key, name = method.info.key, data.choice.info.name
        if data.choice.table is None:
            lacks = f"{key} needs true labels of rows to train on and {data.data['key']} has none"
            raise RequestError(f"{lacks}; take another method", field="method.key", value=key)
        raise RequestError(
            f"{key} needs true labels and {name} has none; data.own.truth_col=COLUMN names them",
            field="data.own.truth_col",
        )


# -------------------------------------------------------------------- what depends on the validated spec


def _ways_to_a_prior(registry: Registry) -> str:
    ways = "give what you believe (prior=0.3)"
    return f"{ways} or have it estimated (prior=estimated:KEY)" if registry.infos(PriorInfo) else ways


def _wanted_prior(request: Request, method: MethodChoice, data: DataSections, registry: Registry) -> Any:
    """The prior that was asked for; where none was, the true one, or none where nobody knows it or needs it.

    Raises RequestError for a method that needs one and is to have none.
    """
    needed, hidden = "prior" in method.requires, not data.choice.truth_in_pool
    wanted = request.rest.get("prior", UNKNOWN if hidden and not needed else "true")
    if needed and wanted == UNKNOWN and not hidden:
        raise RequestError(
            f"{method.info.key} needs the class prior, and prior unknown tells it none; the true one is known here "
            f"(prior=true), or {_ways_to_a_prior(registry)}",
            field="prior",
            value=wanted,
        )
    if needed and (wanted == UNKNOWN or (hidden and "prior" not in request.rest)):
        raise RequestError(
            f"{method.info.key} needs the class prior, which nobody knows here; {_ways_to_a_prior(registry)}",
            field="prior",
            value=wanted,
        )
    return wanted


def _prior(spec: RunSpec, registry: Registry, data: DataSections) -> tuple[RunSpec, EstimatorChoice | None]:
    """The estimator that the spec names, if any; RequestError for a true prior where the truth is not known."""
    word, _, rest = str(spec.prior).partition(":")
    if word == TEST and (data.choice.truth_in_pool or not data.choice.can_be_tested):
        why = "the true prior is known (prior=true)" if data.choice.truth_in_pool else "there is no test part"
        raise RequestError(
            f"prior test is for data of which only the test part has true labels; here {why}", field="prior", value=TEST
        )
    if word in ("true", "scaled") and not data.choice.truth_in_pool:
        raise RequestError(
            f"prior {spec.prior}: without true labels the true class prior is not known; {_ways_to_a_prior(registry)}",
            field="prior",
            value=spec.prior,
        )
    if word != "estimated":
        return spec, None
    info = registry.find(PriorInfo, rest)
    made = load(info)
    if not (isinstance(made, type) and issubclass(made, PriorEstimator)):
        raise PluginError(f"prior '{info.key}': {info.load} is not a subclass of pubench_core.prior.PriorEstimator")
    return spec.model_copy(update={"prior": f"estimated:{info.key}"}), EstimatorChoice(info, made())


def _warn_of_broken(request: Request, installed: Installed, warn: Callable[[str], None]) -> None:
    """Says which metrics are left out, where all were meant."""
    everything = (
        request.sections["selection"].get("criteria", "all"),
        request.sections["evaluation"].get("metrics", "all"),
    )
    if "all" in everything:
        for error in installed.broken.values():
            warn(Notice(f"left out: {error}", error.hint))
