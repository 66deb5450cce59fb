"""Names for people: of settings, data sets and methods. Their keys are for tooltips and addresses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from string import ascii_uppercase

from pubench_core.plugins.info import DatasetInfo, MechanismInfo, MethodInfo, MetricInfo
from pubench_core.plugins.registry import InfoT, registry
from pubench_core.specs import RunSpec

from ..report.model import ProblemColumn
from ..report.tables import upper

#: Criteria by how early they are offered; others follow.
_OFFERED = ("pa", "last", "f1", "oa", "pauc", "native", "macro-f1")
#: What tells rows of one method, or columns of one data set, apart -> the same for people.
_SETUPS = {
    "calibrate=off": "uncalibrated",
    "calibrate=on": "calibrated",
    "draws=chosen": "tuned",
    "preprocess=none": "raw",
    "preprocess=standardize": "standardized",
}


def info_of(kind: type[InfoT], key: str) -> InfoT | None:
    """Info record of an installed plugin; None if it is not installed."""
    return next((info for info in registry().infos(kind) if info.key == key), None)


def setting_name(spec: RunSpec) -> str:
    """``Case-control, SCAR, 10 % of positives labeled``."""
    mechanism = spec.mechanism
    info = info_of(MechanismInfo, mechanism.key)
    scheme = spec.data.scheme if spec.data.scheme.endswith("-sample") else spec.data.scheme.replace("-", " ")
    parts = [
        upper("case-control" if spec.data.scheme == "case-control" else scheme),
        info.name if info is not None else mechanism.key,
    ]
    if mechanism.variant != "paper":
        parts.append(mechanism.variant)
    if mechanism.amount is not None:
        name, value = mechanism.amount
        parts.append(f"{100 * value:g} % of {'positives' if name == 'c' else 'rows'} labeled")
    return ", ".join(parts)


def setting_names(specs: Sequence[RunSpec]) -> list[str]:
    """A name for each; those that would be called the same say their validation part as well."""
    names, of = [setting_name(spec) for spec in specs], [spec.validation for spec in specs]
    parts = [f"{100 * v.fraction:g} % for validation" if v.folds is None else f"{v.folds} folds" for v in of]
    named = zip(names, parts, strict=True)
    return [name if names.count(name) == 1 else f"{name}, {part}" for name, part in named]


def column_names(columns: Sequence[ProblemColumn]) -> dict[str, str]:
    """Label -> ``Letter, case 1``; of the same name, what tells them apart in short, or else split A, B."""
    called: dict[str, list[str]] = {}
    for column in columns:
        data = column.spec.data
        name = info.name.partition(" (")[0] if (info := info_of(DatasetInfo, data.key)) is not None else data.key
        if data.binarization:
            name += f", {data.binarization.replace('case', 'case ')}"
        called.setdefault(name, []).append(column.label)
    found = {}
    for name, labels in called.items():
        for k, label in enumerate(labels):
            told = label.partition(" [")[2].removesuffix("]")  # in the brackets of a label
            words = _SETUPS.get(told, told.replace("=", " "))
            if not words or len(words) > 30:  # A to Z, then A2 and so on
                words = f"split {ascii_uppercase[k % 26]}{k // 26 + 1 if k > 25 else ''}"
            found[label] = name if len(labels) == 1 else f"{name}, {words}"
    return found


def row_name(row: str, method: str) -> str:
    """``nnPU, uncalibrated`` for ``nnpu [calibrate=off]``; a name that a study gave as it is."""
    if not row.startswith(method):
        return row
    info = info_of(MethodInfo, method)
    setup = row.removeprefix(method).strip(" []")
    words = [_SETUPS.get(part, part.removeprefix("base=")) for part in setup.split(", ") if part]
    return ", ".join([info.name.removesuffix(" (oracle)") if info is not None else method, *words])


def published(method: str) -> str:
    """``NeurIPS 17``; empty if unknown."""
    info = info_of(MethodInfo, method)
    if info is None or info.reference is None:
        return ""
    venue = info.reference.venue
    if len(venue) > 12:
        venue = "".join(word[0] for word in venue.split() if word[0].isupper())
    return f"{venue} {info.reference.year % 100:02d}"


def in_order(criteria: Iterable[str]) -> list[str]:
    """Criteria in the order in which they are offered."""
    return sorted(criteria, key=lambda name: _OFFERED.index(name) if name in _OFFERED else len(_OFFERED))


def criterion_text(key: str) -> tuple[str, str]:
    """(name, what it is) of a selection criterion."""
    own = {
        "last": ("last epoch", "nothing is chosen: the last epoch"),
        "native": ("the method's own", "each method's own rule, which reads no true labels"),
    }
    if key in own:
        return own[key]
    info = info_of(MetricInfo, key)
    return (info.name, info.summary) if info is not None else (key, "")
