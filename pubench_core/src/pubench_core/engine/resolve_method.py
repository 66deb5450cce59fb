"""Method of a request, with its validated configuration, and the prior that it is given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from ..errors import Hint, RequestError, shown, unknown
from ..method import AnyMethod, Method
from ..plugins.info import MethodInfo, PriorInfo
from ..plugins.registry import Registry, load_class
from ..prior import PriorEstimator
from ..specs.config import TrainingConfig
from ..specs.run import TEST, UNKNOWN
from .explain import explain
from .layers import Request
from .plan import DataChoice, EstimatorChoice, MethodChoice

#: Preset for a user's own table: it must work for any prior, without a negative to choose by.
OWN_TABLE = "table"


def choose_method(request: Request, registry: Registry, data: DataChoice) -> tuple[MethodChoice, str | None]:
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
    found: type[AnyMethod] = load_class(info, Method)
    return found


def refuse_missing_truth(method: MethodChoice, data: DataChoice) -> None:
    """RequestError for a method that is granted true labels on a table that has none."""
    if "truth" in method.requires and not data.truth_in_pool:
        key, name = method.info.key, data.info.name
        if data.table is None:
            lacks = f"{key} needs true labels of rows to train on and {data.info.address} has none"
            raise RequestError(f"{lacks}; take another method", field="method.key", value=key)
        raise RequestError(
            f"{key} needs true labels and {name} has none; data.own.truth_col=COLUMN names them",
            field="data.own.truth_col",
        )


def choose_prior(
    request: Request, method: MethodChoice, data: DataChoice, registry: Registry
) -> tuple[Any, EstimatorChoice | None]:
    """The prior that was asked for, and the estimator that it names, if any.

    If none was asked for, it is the true one, or none if nobody knows it or needs it. Raises RequestError for a method
    that needs one and is to have none, and for a true prior of data whose truth is not known.
    """
    needed, hidden = "prior" in method.requires, not data.truth_in_pool
    wanted = request.rest.get("prior", UNKNOWN if hidden and not needed else "true")
    ways = "give what you believe (prior=0.3)"
    if registry.infos(PriorInfo):
        ways += " or have it estimated (prior=estimated:KEY)"
    if needed and (wanted == UNKNOWN or (hidden and "prior" not in request.rest)):
        why = "and prior=unknown gives none; take the true one (prior=true), or"
        raise RequestError(
            f"{method.info.key} needs the class prior, {'which is not known here;' if hidden else why} {ways}",
            field="prior",
            value=wanted,
        )
    word, _, rest = ("true" if wanted is True else str(wanted)).partition(":")
    if word == TEST and (data.truth_in_pool or not data.can_be_tested):
        why = "the true prior is known (prior=true)" if data.truth_in_pool else "there is no test part"
        raise RequestError(
            f"prior=test needs data with true labels in the test part only; here {why}", field="prior", value=TEST
        )
    if word in ("true", "scaled") and hidden:
        raise RequestError(
            f"prior {wanted}: without true labels the true class prior is not known; {ways}",
            field="prior",
            value=wanted,
        )
    if word != "estimated" or not rest:
        return wanted, None
    info = registry.find(PriorInfo, rest)
    return f"estimated:{info.key}", EstimatorChoice(info, load_class(info, PriorEstimator)())
