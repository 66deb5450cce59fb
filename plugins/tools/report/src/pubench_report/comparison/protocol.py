"""Whether a run is of the protocol of a publication: what it may not have otherwise."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pubench.running import RunResult
from pubench_core.errors import PluginError, RequestError
from pubench_core.plugins.info import DatasetInfo, MethodInfo
from pubench_core.plugins.registry import registry
from pubench_core.specs import RunSpec
from pubench_core.specs.fields import about

from ..published import PublishedCell, PublishedProtocol
from ..rows.record import assignments_of, by_itself

#: Fields that :func:`fitting` compares: the names of classes and calibration differ between publications.
_FITTED = ("data.positive", "data.negative", "data.binarization", "method.calibrate")


def why_not(run: RunResult, protocol: PublishedProtocol, printed: Sequence[PublishedCell], name: str) -> str:
    """Why a run is not of the protocol, or not in the tables; empty where it is both.

    The run of the protocol is what method, data set and preset give with the fields that the publication names. Of a
    publication that chose among draws, hyper-parameters that a method declares a range for may be others.
    """
    spec, prior = run.result.spec, "true" if protocol.prior is None else protocol.prior
    if not printed:
        return f"{name} has no figure for it"
    other = "other protocol: other classes, or calibrated otherwise"
    if spec.data.own is not None:
        return other
    if spec.prior != prior:
        return f"other protocol: prior {spec.prior}, theirs {prior}"
    from pubench_core.engine.resolve_method import method_class  # only the Config of a method has its ranges

    drawn = protocol.draws > 1
    unchecked = f"{spec.method.key} with preset {protocol.preset} is not installed, so its values cannot be checked"
    try:
        theirs = by_itself(json.dumps(_request(spec, protocol), sort_keys=True))
        fields = method_class(registry().find(MethodInfo, spec.method.key)).Config.model_fields if drawn else {}
    except (PluginError, RequestError):
        return unchecked
    free = [f"method.config.{name}" for name, field in fields.items() if about(field, "search") is not None]
    mine = assignments_of(spec)
    for field in sorted(theirs, key=lambda field: (field.startswith("method.config."), field != "method.preset")):
        if mine.get(field) != theirs[field] and field not in (*_FITTED, *free):
            return f"other protocol: {field} {mine.get(field)}, theirs {theirs[field]}"
    return "" if fitting(spec, printed) else other


def _request(spec: RunSpec, protocol: PublishedProtocol) -> dict[str, Any]:
    """The run of the protocol on the classes of a spec, as a request."""
    data = {"key": spec.data.key, "scheme": protocol.scheme, "positive": spec.data.positive}
    found: dict[str, Any] = {
        "method": {"key": spec.method.key, "preset": protocol.preset, "calibrate": spec.method.calibrate},
        "data": {**data, "negative": spec.data.negative},
        "mechanism": {"key": protocol.mechanism, **dict([protocol.amount])},
        "validation": {"fraction": protocol.validation},
        "prior": "true" if protocol.prior is None else protocol.prior,
    }
    for field, value in protocol.data.get(spec.data.key, {}).items():
        section, _, name = (field if "." in field else f"{field}.key").partition(".")
        found.setdefault(section, {})[name] = value
    return found


def fitting(spec: RunSpec, printed: Sequence[PublishedCell]) -> list[PublishedCell]:
    """The figures that are of these classes and this calibration."""
    info = next((one for one in registry().infos(DatasetInfo) if one.key == spec.data.key), None)
    classes = {} if info is None else {"": (info.positive, info.negative), **info.binarizations}
    return [
        one
        for one in printed
        if (found := classes.get(one.binarization)) is not None
        and tuple(map(tuple, map(sorted, found))) == (spec.data.positive, spec.data.negative)
        and one.calibrate in ("", spec.method.calibrate)
    ]
