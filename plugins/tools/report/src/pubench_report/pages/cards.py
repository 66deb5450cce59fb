"""Cards of plugins, for the pages of methods and data sets. Implementations are not imported."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pubench_core.plugins.info import DatasetInfo, MethodInfo, Reference
from pubench_core.plugins.registry import Entry, registry

#: (what, its value) of a card.
Facts = list[tuple[str, str]]


def method_card(key: str) -> tuple[MethodInfo | None, Facts, list[dict[str, Any]]]:
    """Card of a method: its info record in words, its presets."""
    entry = _entry("method", key)
    info = entry.info if entry is not None else None
    if not isinstance(info, MethodInfo):
        return None, [], []
    facts = [
        *_shared(entry, info.reference),
        ("family", info.family),
        ("what is followed, and where it deviates", info.follows),
        ("made for", f"{'one-sample and two-sample' if info.setting == 'either' else info.setting} data"),
        ("needs besides features and labels", ", ".join(sorted(info.needs)) or "nothing"),
        *((f"declared failure: {check}", reason) for check, reason in info.declared_failures.items()),
    ]
    presets = [
        {
            "name": name,
            "source": preset.note or "no source is named",
            "values": _values(preset.values),
            "per_data": [(data, _values(values)) for data, values in preset.per_data.items()],
        }
        for name, preset in info.presets.items()
    ]
    return info, [fact for fact in facts if fact[1]], presets


def data_card(key: str) -> tuple[DatasetInfo | None, Facts]:
    """Card of a data set: its info record in words."""
    entry = _entry("dataset", key)
    info = entry.info if entry is not None else None
    if not isinstance(info, DatasetInfo):
        return None, []
    facts = [
        *_shared(entry, info.reference),
        ("rows are", {"image": "images", "text": "texts", "tabular": "rows of a table"}[info.modality]),
        ("classes", f"{len(info.classes)}: {_shortened(info.classes)}"),
        ("positive", _shortened([info.classes[k] for k in info.positive])),
        ("negative", _shortened([info.classes[k] for k in info.negative])),
        ("other binarizations", ", ".join(info.binarizations)),
        ("preprocessing", info.preprocess),
        ("source", info.source),
        ("terms", info.license),
    ]
    return info, [fact for fact in facts if fact[1]]


def _entry(kind: str, key: str) -> Entry | None:
    return next((one for one in registry().entries(kind) if one.key == key and one.status == "ok"), None)


def _shared(entry: Entry | None, reference: Reference | None) -> Facts:
    package = f"{entry.distribution} {entry.version}" if entry is not None else ""
    address = reference.url if reference is not None else ""
    return [("published", str(reference) if reference is not None else ""), ("address", address), ("package", package)]


def _values(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items()) or "the defaults"


def _shortened(names: Iterable[str]) -> str:
    names = list(names)
    return ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
