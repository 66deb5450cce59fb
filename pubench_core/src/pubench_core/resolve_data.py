"""What data a request means: classes by index or name, named binarizations, a file of the user's own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from .data.tables import is_table_path, read_table, sha256_of
from .errors import RequestError, unknown
from .info import DatasetInfo, MechanismInfo
from .registry import Registry
from .specs import GIVEN, OwnFile

Path_ = tuple[str, ...]
Origins = Mapping[Path_, str]

#: How rows of a user's file can have come about (Wang et al.); the first is the default.
OWN_SCHEMES = ("one-sample", "two-sample")


def own_file(data: dict[str, Any], mechanism: dict[str, Any], origins: Origins) -> dict[str, Any] | None:
    """The fields of :class:`OwnFile`, with checksums, where the request names a file; None where it names a data set.

    Fills in the key, the scheme and the mechanism ``given``. Raises RequestError if a simulated labeling, classes or
    another scheme are asked for as well, or if the file is not the one that the request was written for.
    """
    own = data.get("own")
    if own is None:
        if mechanism.get("key") == GIVEN:
            raise RequestError(f"mechanism {GIVEN} is for a file of your own (--data my.csv --label-col COLUMN)")
        return None
    if not isinstance(own, dict) or "path" not in own:
        told = ", ".join(f"--{name.replace('_', '-')}" for name in own) if isinstance(own, dict) else "data.own"
        raise RequestError(f"{told}: only a file of your own has columns to name (--data my.csv)")
    path = Path(str(own["path"]))
    if "key" in data and not is_table_path(str(data["key"])):
        where = origins.get(("data", "key"), "data.key")
        raise RequestError(f"{where}: the data are a data set ({data['key']}) or a file ({path}), not both")
    if data.get("preprocess") == "l2":
        raise RequestError(f"data.preprocess l2: for {path.name} it is standardize or none")
    asked = [("mechanism", name) for name, none in (("key", GIVEN), ("c", None)) if mechanism.get(name, none) != none]
    asked += [("data", name) for name in ("positive", "negative", "binarization") if _was_asked(data, name)]
    if asked:
        where = origins.get(asked[0], ".".join(asked[0]))
        raise RequestError(
            f"{where}: {path.name} comes with its own labels, so nobody simulates them; leave out --mech, --c and "
            "class lists"
        )
    checked = {**own, "path": path, "sha256": sha256_of(path)}
    if not own.get("label_col"):
        columns = list(read_table(path).columns)
        told = ", ".join(columns if len(columns) <= 12 else [*columns[:6], "...", *columns[-6:]])
        raise RequestError(f"{path.name}: say which column holds the labels with --label-col; its columns are {told}")
    if own.get("test") is not None:
        checked |= {"test": Path(str(own["test"])), "test_sha256": sha256_of(Path(str(own["test"])))}
    for name, file in (("sha256", path), ("test_sha256", checked.get("test"))):
        if own.get(name) not in (None, checked.get(name)):
            raise RequestError(
                f"{file} is not the file this spec was written for: sha256 {str(checked.get(name))[:16]}, "
                f"{str(own[name])[:16]} in the spec; leave {name} out to take the file as it is"
            )
    scheme = data.setdefault("scheme", OWN_SCHEMES[0])
    if scheme not in OWN_SCHEMES:
        raise RequestError(
            f"scheme {scheme}: the rows of {path.name} are one-sample (all of them one draw, some labeled) or "
            "two-sample (the unlabeled rows alone are a draw, the labeled come from elsewhere)"
        )
    data["own"], data["key"] = checked, path.name
    mechanism |= {"key": GIVEN, "c": None}
    return checked


def _was_asked(data: Mapping[str, Any], name: str) -> bool:
    """Whether a class list is more than what a resolved spec of a user's file says."""
    default = {"positive": [1], "negative": [0], "binarization": None}[name]
    given = data.get(name, default)
    return (list(given) if isinstance(given, (list, tuple)) else given) != default


def own_info(own: OwnFile) -> DatasetInfo:
    """What a user's file is, in the words of a data set plugin. Nothing is loaded by its import string."""
    return DatasetInfo(
        key="own",
        name=own.path.name,
        summary="a file of the user's own",
        load="pubench_core.data.own:read_own",
        modality="tabular",
        classes=("negative", "positive"),
        positive=(1,),
        negative=(0,),
        backbone="mlp",
        preprocess="standardize",
    )


def choose_mechanism(mechanism: dict[str, Any], info: MechanismInfo) -> None:
    """Fills in key and variant; RequestError for a variant that the mechanism does not have."""
    mechanism["key"] = info.key
    variant = mechanism.setdefault("variant", info.variants[0])
    if variant not in info.variants:
        raise unknown(f"variant of mechanism {info.key}", str(variant), info.variants)


def choose_classes(data: dict[str, Any], info: DatasetInfo, origins: Origins) -> None:
    """Makes ``positive`` and ``negative`` lists of class indices.

    Either may be given as indices or class names, in a list or joined by commas; one given alone leaves every other
    class to the other side. ``binarization`` names a pair of lists that the data set declares.
    """
    name = data.get("binarization")
    if name is not None:
        if name not in info.binarizations:
            known = list(info.binarizations)
            raise unknown(f"binarization of {info.key}", str(name), known)
        positive, negative = info.binarizations[name]
        for side, lists in (("positive", positive), ("negative", negative)):
            if side in data and _indices(data[side], info, side, origins) != list(lists):
                raise RequestError(f"--binarization {name} says which classes are {side}; leave out --{side}")
        data |= {"positive": positive, "negative": negative}
        return
    given: dict[str, list[Any]] = {
        side: _indices(data[side], info, side, origins) for side in ("positive", "negative") if side in data
    } or {"positive": list(info.positive), "negative": list(info.negative)}
    for side, other in (("positive", "negative"), ("negative", "positive")):
        if side not in given:
            given[side] = [k for k in range(len(info.classes)) if k not in given[other]]
    data |= given


def _indices(given: Any, info: DatasetInfo, side: str, origins: Origins) -> list[Any]:
    """Class indices; what is neither an index nor a name is refused, what is no scalar is left to the schema."""
    items: Iterable[Any] = given.split(",") if isinstance(given, str) else given
    if not isinstance(items, (list, tuple)):
        items = [items]
    by_name = {name.lower(): k for k, name in enumerate(info.classes)}
    found: list[Any] = []
    for item in items:
        if isinstance(item, str) and item.strip().lower() in by_name:
            found.append(by_name[item.strip().lower()])
            continue
        if isinstance(item, bool):
            found.append(item)  # said with the field's bounds
            continue
        try:
            index = int(item)
        except (TypeError, ValueError, OverflowError):
            if not isinstance(item, str):
                found.append(item)  # said with the field's bounds
                continue
            index = -1
        if not 0 <= index < len(info.classes):
            where = origins.get(("data", side), side)
            raise RequestError(
                f"{where}: {info.key} has no class {str(item).strip()}; its classes are 0 to {len(info.classes) - 1} "
                f"({', '.join(info.classes)})"
            )
        found.append(item if isinstance(item, float) else index)
    return found


def dataset_info(key: str, own: OwnFile | None, registry: Registry) -> DatasetInfo:
    """The info record behind a spec's data."""
    return own_info(own) if own is not None else registry.find(DatasetInfo, key)
