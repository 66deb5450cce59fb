"""Whether a run is of the protocol of a publication: what it may not have otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pubench.running import RunResult
from pubench_core.errors import PluginError
from pubench_core.plugins.info import DatasetInfo, MechanismInfo, MethodInfo
from pubench_core.plugins.registry import registry
from pubench_core.specs import DataSpec, RunSpec
from pubench_core.specs.fields import about

from ..published import PublishedCell, PublishedProtocol


def why_not(run: RunResult, protocol: PublishedProtocol, printed: Sequence[PublishedCell], name: str) -> str:
    """Why a run is not of the protocol, or not in the tables; empty where it is both."""
    spec, (amount, number) = run.result.spec, protocol.amount
    if not printed:
        return f"{name} has no figure for it"
    for what, mine, theirs in (
        ("scheme", spec.data.scheme, protocol.scheme),
        ("mechanism", spec.mechanism.key, protocol.mechanism),
        (amount.replace("_", " "), getattr(spec.mechanism, amount), number),
        ("prior", spec.prior, "true" if protocol.prior is None else protocol.prior),
        ("validation fraction", spec.validation.fraction, protocol.validation),
        ("preset", spec.method.preset, protocol.preset),
    ):
        if mine != theirs:
            return f"other protocol: {what} {mine}, theirs {theirs}"
    if not fitting(spec, printed):
        return "other protocol: other classes, or calibrated otherwise"
    return _changed(spec, protocol)


def fitting(spec: RunSpec, printed: Sequence[PublishedCell]) -> list[PublishedCell]:
    """The figures that are of these classes and this calibration."""
    info = next((one for one in registry().infos(DatasetInfo) if one.key == spec.data.key), None)
    if info is None or spec.data.own is not None:
        return []
    classes = {"": (info.positive, info.negative), **info.binarizations}
    return [
        one
        for one in printed
        if (found := classes.get(one.binarization)) is not None
        and tuple(map(tuple, map(sorted, found))) == (spec.data.positive, spec.data.negative)
        and one.calibrate in ("", spec.method.calibrate)
    ]


def _changed(spec: RunSpec, protocol: PublishedProtocol) -> str:
    """Names the first field that is not what the protocol, or data set, mechanism, method and preset by themselves
    give, if any.
    """
    data = next(one for one in registry().infos(DatasetInfo) if one.key == spec.data.key)
    mechanism = next((one for one in registry().infos(MechanismInfo) if one.key == spec.mechanism.key), None)
    by_itself = (
        ("data.total", spec.data.total, None),
        ("data.preprocess", spec.data.preprocess, data.preprocess),
        ("data.test", spec.data.test, DataSpec.model_fields["test"].default),
        ("data.test_fraction", spec.data.test_fraction, DataSpec.model_fields["test_fraction"].default),
        ("backbone", spec.backbone.key, data.backbone),
        ("mechanism.variant", spec.mechanism.variant, mechanism.variants[0] if mechanism else spec.mechanism.variant),
    )
    theirs = protocol.data.get(spec.data.key, {})
    for field, mine, own in by_itself:
        if mine != theirs.get(field, own):
            whose = f"theirs {theirs[field]}" if field in theirs else f"by itself {own}"
            return f"other protocol: {field} {mine}, {whose}"
    return _changed_config(spec, drawn=protocol.draws > 1)


def _changed_config(spec: RunSpec, *, drawn: bool) -> str:
    """A hyper-parameter that is not the preset's. The method is imported for it: only its Config has the defaults.

    ``drawn``: those that a method declares a range for may be others.
    """
    from pubench_core.engine.resolve_method import method_class

    info = next((one for one in registry().infos(MethodInfo) if one.key == spec.method.key), None)
    preset = info.presets.get(spec.method.preset or "") if info is not None else None
    unchecked = f"{spec.method.key} with preset {spec.method.preset} is not installed, so its values cannot be checked"
    if info is None or preset is None:
        return unchecked
    try:
        config = method_class(info).Config
    except PluginError:
        return unchecked
    own: Mapping[str, Any] = config.model_validate(preset.resolve(spec.data.key)).model_dump(mode="json")
    free = {name for name, field in config.model_fields.items() if drawn and about(field, "search") is not None}
    for name, value in spec.method.config.items():
        if own.get(name) != value and name not in free:
            return f"other protocol: {name} {value}, preset {own.get(name)}"
    return ""
