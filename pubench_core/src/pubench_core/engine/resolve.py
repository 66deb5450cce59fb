"""From what a user said to a :class:`~pubench_core.engine.plan.Plan`, in one place.

Hyper-parameters resolve in this order: Config defaults < preset < layers in the order given (a run file, then flags).
On a user's table, patience is off by default, and a method's preset ``table`` is used if no preset is named.
Every error names where the value came from, what was given and what is expected. The registry is read here and
nowhere behind it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from pydantic import ValidationError

from ..data.table_reader import Say
from ..errors import Notice, RequestError, shown
from ..plugins.info import BackboneInfo, Info
from ..plugins.registry import Registry, load, part
from ..results import Result
from ..specs import RunSpec, is_one_sample
from ..specs.run import UNKNOWN, run_id
from .criteria import Installed, choose_evaluation, choose_selection, goal_of, named_metrics
from .explain import explain
from .identity import code_of
from .layers import Layer, Request
from .plan import BackboneChoice, Plan
from .resolve_data import choose_data
from .resolve_method import choose_method, choose_prior, refuse_missing_truth


def stored_spec(result: Result, registry: Registry) -> tuple[dict[str, Any], list[str]]:
    """Spec of a stored result, to be resolved here, and its metrics that are not installed: they are left out.

    Metrics that were measured later are named as well. None of them decides a score.
    """
    spec = result.spec.model_dump(mode="json")
    measured = dict.fromkeys((*result.spec.evaluation.metrics, *result.metrics))
    installed = Installed.of(registry, measured).usable
    spec["evaluation"]["metrics"] = [name for name in measured if name in installed]
    return spec, [name for name in measured if name not in installed]


def resolve(
    layers: Iterable[Layer], registry: Registry, warn: Say = lambda text: None, installed: Installed | None = None
) -> Plan:
    """The run that the layers describe, later ones winning.

    A metric that cannot be loaded and was not named is left out, which ``warn`` is called with. ``installed``: metrics
    of the registry, looked up once by a caller that resolves many requests.

    Raises RequestError for an unknown key, field, preset or criterion and for a value out of bounds; PluginError if
    something that was named is broken.
    """
    request = Request.of(layers)
    chosen, data, mechanism = choose_data(request, registry)
    method, preset = choose_method(request, registry, data)
    refuse_missing_truth(method, data)
    info = request.find(registry, BackboneInfo, "backbone", request.sections["backbone"].get("key", data.info.backbone))
    prior, estimator = choose_prior(request, method, data, registry)
    goal, named = goal_of(request), named_metrics(request)
    if installed is None or any(name[-1:].isdigit() for name in {*named} - {*installed.usable}):  # recall-at-200
        installed = Installed.of(registry, named)
    prior_known = prior != UNKNOWN
    sections: dict[str, Any] = {
        **request.sections,
        **chosen,
        "method": {
            **request.sections["method"],
            "key": method.info.key,
            "preset": preset,
            "config": method.config.model_dump(mode="json"),
        },
        "backbone": {**request.sections["backbone"], "key": info.key},
        "decision": {**({} if goal is None else {"rule": goal.rule}), **request.sections["decision"]},
        "selection": choose_selection(request, method, data, installed, prior_known=prior_known),
        "evaluation": choose_evaluation(request, data, installed, prior_known=prior_known),
    }
    lists = (("selection", "criteria"), ("evaluation", "metrics"))
    if any(request.sections[section].get(name, "all") == "all" for section, name in lists):
        for error in installed.broken.values():
            warn(Notice(f"left out: {error}", error.hint))
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
    backbone = BackboneChoice(info, load(info), in_bf16=spec.precision == "bf16")
    found: list[Info] = [one.info for one in (method, backbone, mechanism, estimator) if one is not None]
    return Plan(
        spec=spec,
        run_id=run_id(spec, method.config),
        data=data,
        mechanism=mechanism,
        method=method,
        backbone=backbone,
        estimator=estimator,
        metrics=installed.usable,
        code=code_of(found, registry, data.table),
        joined_by=part("pubench_folds", "validation.folds") if spec.validation.joint else None,
        model_writer=part("pubench_model_writer", "execution.save_model") if spec.execution.save_model else None,
    )
