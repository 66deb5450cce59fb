"""Prior of a request: what was asked for, and the estimator that it names."""

from __future__ import annotations

from typing import Any

from ..errors import PluginError, RequestError
from ..plugins.info import PriorInfo
from ..plugins.registry import Registry, load
from ..prior import PriorEstimator
from ..specs.run import TEST, UNKNOWN
from .layers import Request
from .plan import EstimatorChoice, MethodChoice
from .resolve_data import DataSections


def _ways_to_a_prior(registry: Registry) -> str:
    ways = "give what you believe (prior=0.3)"
    return f"{ways} or have it estimated (prior=estimated:KEY)" if registry.infos(PriorInfo) else ways


def choose_prior(
    request: Request, method: MethodChoice, data: DataSections, registry: Registry
) -> tuple[Any, EstimatorChoice | None]:
    """The prior that was asked for, and the estimator that it names, if any.

    If none was asked for, it is the true one, or none if nobody knows it or needs it. Raises RequestError for a method
    that needs one and is to have none, and for a true prior of data whose truth is not known.
    """
    needed, hidden = "prior" in method.requires, not data.choice.truth_in_pool
    wanted = request.rest.get("prior", UNKNOWN if hidden and not needed else "true")
    if needed and wanted == UNKNOWN and not hidden:
        raise RequestError(
            f"{method.info.key} needs the class prior, and prior=unknown gives none; take the true one "
            f"(prior=true), or {_ways_to_a_prior(registry)}",
            field="prior",
            value=wanted,
        )
    if needed and (wanted == UNKNOWN or (hidden and "prior" not in request.rest)):
        raise RequestError(
            f"{method.info.key} needs the class prior, which is not known here; {_ways_to_a_prior(registry)}",
            field="prior",
            value=wanted,
        )
    word, _, rest = ("true" if wanted is True else str(wanted)).partition(":")
    if word == TEST and (data.choice.truth_in_pool or not data.choice.can_be_tested):
        why = "the true prior is known (prior=true)" if data.choice.truth_in_pool else "there is no test part"
        raise RequestError(
            f"prior=test needs data with true labels in the test part only; here {why}", field="prior", value=TEST
        )
    if word in ("true", "scaled") and hidden:
        raise RequestError(
            f"prior {wanted}: without true labels the true class prior is not known; {_ways_to_a_prior(registry)}",
            field="prior",
            value=wanted,
        )
    if word != "estimated" or not rest:
        return wanted, None
    info = registry.find(PriorInfo, rest)
    made = load(info)
    if not (isinstance(made, type) and issubclass(made, PriorEstimator)):
        raise PluginError(f"prior '{info.key}': {info.load} is not a subclass of pubench_core.prior.PriorEstimator")
    return f"estimated:{info.key}", EstimatorChoice(info, made())
