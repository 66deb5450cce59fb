"""Data of a request: classes by index or name, named binarizations, a user's own table, who gets a label."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..data.source import source_of
from ..data.table_reader import TableReader, is_table_path, table_reader
from ..errors import Hint, RequestError, shortened, unknown
from ..mechanism import Mechanism
from ..plugins.info import DatasetInfo, MechanismInfo
from ..plugins.registry import Registry, load_class
from ..specs import DRAWN_SCHEMES, GIVEN
from ..specs.run import USUAL_POSITIVE_RATE
from .layers import Request
from .plan import DataChoice, MechanismChoice

#: What a resolved spec of a user's table says of classes and of rows to draw.
_TABLE_ONLY: dict[str, Any] = {"positive": [1], "negative": [0], "binarization": None, "total": None}


#: The two sections of the spec, the data that they name, and the mechanism; None if the data bring their labels.
Chosen = tuple[dict[str, dict[str, Any]], DataChoice, MechanismChoice | None]


def choose_data(request: Request, registry: Registry) -> Chosen:
    """A user's table or an installed data set. Raises RequestError for what contradicts itself or does not exist."""
    given = request.sections["data"].get("own")
    if given is not None:
        return _user_table(request, given, table_reader(registry))
    mechanism_section = request.sections["mechanism"]
    info = request.find(registry, DatasetInfo, "data", request.key(DatasetInfo, "data"))
    if info.tasks and not info.task:
        raise RequestError(
            f"{info.key} holds many tasks; data.key must name one, {info.tasks}",
            field="data.key",
            value=info.key,
            hint=Hint("tasks", info.key),
        )
    section = {"preprocess": info.preprocess, **request.sections["data"], "key": info.address}
    section |= _classes(request, info)
    if info.labels != "simulated":
        return _labeled(request, info, section)
    if mechanism_section.get("key") == GIVEN:
        raise RequestError(
            f"mechanism {GIVEN} is for a table of your own; data.own.path=my.csv and data.own.label_col=COLUMN name it",
            field="mechanism.key",
            value=GIVEN,
        )
    amount = _amount(request, section)
    mechanism = request.find(registry, MechanismInfo, "mechanism", mechanism_section.get("key", "scar"))
    variant = str(mechanism_section.get("variant", mechanism.variants[0]))
    if variant not in mechanism.variants:
        raise unknown(f"variant of mechanism {mechanism.key}", variant, mechanism.variants, field="mechanism.variant")
    labeling = {**mechanism_section, **amount, "key": mechanism.key, "variant": variant}
    choice = MechanismChoice(mechanism, load_class(mechanism, Mechanism)(variant))
    return {"data": section, "mechanism": labeling}, DataChoice(info, source_of(info), None), choice


def _amount(request: Request, data: Mapping[str, Any]) -> dict[str, Any]:
    """What says how many rows are labeled: c, or under the schemes that draw P and U a positive rate.

    Raises RequestError for the one that the scheme does not take, and for a number of rows that it does not draw.
    """
    mechanism, scheme = request.sections["mechanism"], data.get("scheme", "case-control")
    rate, needs = mechanism.get("positive_rate"), f"needs scheme {' or '.join(DRAWN_SCHEMES)}; {scheme} takes"
    refused = [
        ("mechanism", "positive_rate", rate, f"{needs} mechanism.c"),
        ("data", "total", data.get("total"), f"{needs} every row of the data set"),
    ]
    if scheme in DRAWN_SCHEMES:
        instead = f"a share of P and U together, mechanism.positive_rate (default {USUAL_POSITIVE_RATE:g})"
        why = f"scheme {scheme} labels {instead}, and takes no mechanism.c"
        refused = [("mechanism", "c", mechanism.get("c"), why)]
    for section, name, value, why in refused:
        if value is not None:
            raise RequestError(f"{request.where(section, name)}: {why}", field=f"{section}.{name}", value=value)
    if scheme not in DRAWN_SCHEMES:
        return {}
    return {"c": None, "positive_rate": USUAL_POSITIVE_RATE if rate is None else rate}


# -------------------------------------------------------------------- a user's table


def _user_table(request: Request, own: Any, reader: TableReader) -> Chosen:
    """The table that a request names, read; labels are its own, so the mechanism is ``given``."""
    data, mechanism = request.sections["data"], request.sections["mechanism"]
    if not isinstance(own, dict) or "path" not in own:
        named = ", ".join(f"data.own.{name}" for name in own) if isinstance(own, dict) else "data.own"
        raise RequestError(f"{named}: only a table of your own has such columns; name it with data.own.path=my.csv")
    path = Path(str(own["path"]))
    if "key" in data and not is_table_path(str(data["key"])) and str(data["key"]) != path.name:
        raise RequestError(
            f"{request.where('data', 'key')}: the data are a data set ({data['key']}) or a file ({path}), not both",
            field="data.key",
            value=data["key"],
        )
    if data.get("preprocess") == "l2":
        raise RequestError(
            f"data.preprocess must be standardize or none for {path.name}, got l2", field="data.preprocess"
        )
    _refuse_simulation(request, path.name)
    spec = reader.spec(own, request.origins)
    table = reader.read(spec)
    path, scheme = spec.path, data.get("scheme", table.scheme)
    if scheme not in DRAWN_SCHEMES:
        raise RequestError(
            f"data.scheme must be one-sample (all rows of {path.name} are one draw) or two-sample (the unlabeled "
            f"rows are a draw, the labeled ones come from elsewhere), got {scheme}",
            field="data.scheme",
            value=scheme,
        )
    info = reader.describe(spec)
    section = {"preprocess": info.preprocess, **data, "own": spec, "key": path.name, "scheme": scheme}
    section |= {"positive": list(info.positive), "negative": list(info.negative)}
    return {"data": section, "mechanism": {**mechanism, "key": GIVEN, "c": None}}, DataChoice(info, None, table), None


def _labeled(request: Request, info: DatasetInfo, section: dict[str, Any]) -> Chosen:
    """A data set that brings its labels, under the scheme that its record declares; the mechanism is ``given``."""
    _refuse_simulation(request, info.address)
    scheme = section.get("scheme", info.labels)
    if scheme != info.labels:
        raise RequestError(
            f"scheme {scheme}: the labels of {info.address} were sampled {info.labels}; leave out data.scheme",
            field="data.scheme",
            value=scheme,
        )
    mechanism = {**request.sections["mechanism"], "key": GIVEN, "c": None}
    sections = {"data": {**section, "scheme": scheme}, "mechanism": mechanism}
    return sections, DataChoice(info, source_of(info), None), None


def _refuse_simulation(request: Request, name: str) -> None:
    """RequestError for a simulated labeling, or for other classes, of data that come with their labels."""
    data, mechanism = request.sections["data"], request.sections["mechanism"]
    given = [
        ("mechanism", name)
        for name, absent in (("key", GIVEN), ("c", None), ("positive_rate", None))
        if mechanism.get(name, absent) != absent
    ]
    for field, usual in _TABLE_ONLY.items():
        value = data.get(field, usual)
        if (list(value) if isinstance(value, tuple) else value) != usual:
            given.append(("data", field))
    if given:
        raise RequestError(
            f"{request.where(*given[0])}: {name} comes with its own labels, so none are simulated; leave out "
            "mechanism.key, mechanism.c, mechanism.positive_rate, data.total and class lists",
            field=".".join(given[0]),
        )


# -------------------------------------------------------------------- classes


def _classes(request: Request, info: DatasetInfo) -> dict[str, list[Any]]:
    """``positive`` and ``negative`` as lists of class indices.

    Either may be given as indices or class names, in a list or joined by commas; one given alone leaves every other
    class to the other side. ``binarization`` names a pair of lists that the data set declares.
    """
    data = request.sections["data"]
    name = data.get("binarization")
    lists = {side: _indices(request, info, side) for side in ("positive", "negative") if side in data}
    if name is not None:
        if str(name) not in info.binarizations:
            raise unknown(f"binarization of {info.key}", str(name), info.binarizations, field="data.binarization")
        declared = dict(zip(("positive", "negative"), map(list, info.binarizations[str(name)]), strict=True))
        for side, indices in lists.items():
            if indices != declared[side]:
                raise RequestError(
                    f"data.binarization={name} says which classes are {side}; leave out data.{side}",
                    field=f"data.{side}",
                    value=data[side],
                )
        return declared
    if not lists:
        return {"positive": list(info.positive), "negative": list(info.negative)}
    for side, other in (("positive", "negative"), ("negative", "positive")):
        if side not in lists:
            lists[side] = [k for k in range(len(info.classes)) if k not in lists[other]]
    return lists


def _indices(request: Request, info: DatasetInfo, side: str) -> list[Any]:
    """Class indices; what is neither an index nor a name is refused, what is no scalar is left to the schema."""
    given = request.sections["data"][side]
    items: Iterable[Any] = given.split(",") if isinstance(given, str) else given
    if not isinstance(items, (list, tuple)):
        items = [items]
    return [_index(request, info, side, item) for item in items]


def _index(request: Request, info: DatasetInfo, side: str, item: Any) -> Any:
    by_name = {name.lower(): k for k, name in enumerate(info.classes)}
    if isinstance(item, str) and item.strip().lower() in by_name:
        return by_name[item.strip().lower()]
    if isinstance(item, bool):
        return item  # refused by the schema, with what the field accepts
    try:
        index = int(item)
    except (TypeError, ValueError, OverflowError):
        if not isinstance(item, str):
            return item  # refused by the schema, with what the field accepts
        index = -1
    if not 0 <= index < len(info.classes):
        raise RequestError(
            f"{request.origins.get(('data', side), side)}: {info.key} has no class {shortened(str(item))}; its classes "
            f"are 0 to {len(info.classes) - 1} ({', '.join(info.classes)})",
            field=f"data.{side}",
            value=item,
        )
    return item if isinstance(item, float) else index
