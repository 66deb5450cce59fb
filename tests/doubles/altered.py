"""Changes of a record's files, and every single alteration of them: one leaf of its JSON or YAML, one array."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from pubench_study.export import SUMS
from pydantic import BaseModel

from pubench_core.data.cache import sha256_of
from pubench_core.results import Result
from pubench_core.specs import RunSpec

#: Field that is left out at its default -> another value of its type.
_PUT: dict[str, Any] = {
    "interval": [0.1, 0.2],
    "stopped_at": 3,
    "value": 0.5,
    "at_once": 2,
    "model": {"snapshot": "epoch-3"},
    "estimate": {"estimator": "km2", "share": 0.4, "seconds": 1.0},
    "encoding": [{"name": "x"}],
    "labeled": 5,
    "unlabeled": 5,
    "positive": 5,
    "negative": 5,
    "unlabeled_positive": 5,
    "unlabeled_negative": 5,
}
#: (file, path within it with dots) -> changes that file of a record in a folder.
Alteration = tuple[str, str, Callable[[Path], None]]


def edit_json(path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Changes a file of JSON."""
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def put(path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    """Another value at a dotted path, for :func:`edit_json`."""
    *above, name = path.split(".")

    def change(content: dict[str, Any]) -> None:
        inner = _at(content, tuple(above))
        assert inner[name] != value
        inner[name] = value

    return change


def edit_scores(folder: Path, change: Callable[[dict[str, Any]], Any], *, checksum: bool = True) -> None:
    """Changes the arrays of a record and, as a forger would, their checksum in its result."""
    with np.load(folder / "scores.npz") as stored:
        arrays = dict(stored)
    change(arrays)
    np.savez(folder / "scores.npz", **arrays)
    if checksum:
        digest = sha256_of(folder / "scores.npz")[:16]
        edit_json(folder / "result.json", lambda content: content.update(scores=digest))


def own_table(path: Path) -> Path:
    """Writes a table of 200 rows with true labels; every other positive is labeled."""
    x = np.random.default_rng(0).normal(size=(200, 2)).round(3)
    truth = x.sum(axis=1) > 0
    rows = np.column_stack([x, truth, truth & (np.arange(200) % 2 == 1)])
    np.savetxt(path, rows, "%g", ",", header="x,y,truth,labeled", comments="")
    return path


def list_checksums(folder: Path) -> Path:
    """Writes the list of checksums of what is in a folder now."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != SUMS]
    (folder / SUMS).write_text("".join(f"{sha256_of(path)}  {path.relative_to(folder).as_posix()}\n" for path in files))
    return folder / SUMS


def alterations(folder: Path) -> Iterator[Alteration]:
    """Of every leaf of ``result.json``, ``environment.json`` and ``spec.yaml``, and every array of ``scores.npz``.

    Fields that are left out of ``result.json`` at their defaults are put there.
    """
    for name in ("result.json", "environment.json", "spec.yaml"):
        content = _content(folder / name)
        for path in _leaves(content):
            for kind, value in _others(_at(content, path)):
                yield name, ".".join(map(str, path)) + kind, _putting(name, path, value)
    for path, value in _left_out(Result.model_validate_json((folder / "result.json").read_bytes())):
        yield "result.json", ".".join(path) + " put there", _putting("result.json", path, value)
    with np.load(folder / "scores.npz") as stored:
        arrays = dict(stored)
    for array_name, array in arrays.items():
        for kind, value in _other_arrays(array):
            yield "scores.npz", f"{array_name}{kind}", _storing(array_name, value)
    yield "scores.npz", "another array", _storing("secret", np.arange(3))


def _content(path: Path) -> Any:
    """JSON is YAML, of which a parser in Python takes most of a test's time."""
    text = path.read_text()
    return (
        json.loads(text) if path.suffix == ".json" else yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    )


def _leaves(content: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(content, dict) and content:
        for name, value in content.items():
            yield from _leaves(value, (*above, name))
    elif isinstance(content, list) and content and isinstance(content[0], (dict, list)):
        for number, value in enumerate(content):
            yield from _leaves(value, (*above, number))
    else:
        yield above


def _left_out(part: BaseModel, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Path and another value of every field at its default."""
    written = part.model_dump()
    for name in type(part).model_fields:
        value = getattr(part, name)
        if isinstance(value, RunSpec):
            continue
        if isinstance(value, BaseModel):
            yield from _left_out(value, (*above, name))
        elif isinstance(value, dict):
            for key, inner in value.items():
                yield from _in_dictionary(inner, (*above, name, key))
        if name not in written:
            yield (*above, name), _PUT.get(name, ["x"] if value == () else {"x": 1} if value == {} else "x")


def _in_dictionary(inner: Any, above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(inner, BaseModel):
        yield from _left_out(inner, above)
    elif isinstance(inner, dict):
        for key, value in inner.items():
            yield from _in_dictionary(value, (*above, key))


def _at(content: Any, path: tuple[Any, ...]) -> Any:
    for name in path:
        content = content[name]
    return content


def _others(value: Any) -> Iterator[tuple[str, Any]]:
    """(what is otherwise, another value) of a leaf."""
    if isinstance(value, bool):
        yield "", not value
    elif isinstance(value, int):
        yield "", value + 1
    elif isinstance(value, float):
        yield "", value * 1.01 + 0.001
    elif isinstance(value, str):
        yield "", f"{value[:-1]}{'0' if value[-1:] != '0' else '1'}" if value else "x"
    elif isinstance(value, list):
        yield " longer", [*value, value[-1] + 1 if value and isinstance(value[-1], (int, float)) else "x"]
        if value:
            yield " shorter", value[:-1]
    elif isinstance(value, dict):
        yield " fuller", {"x": 1}
    else:
        yield "", 0.5


def _other_arrays(array: Any) -> Iterator[tuple[str, Any]]:
    changed = copy.deepcopy(array)
    changed[0] = not changed[0] if array.dtype == bool else changed[0] + 1
    yield "", changed
    yield " shorter", array[:-1]
    yield " as another type", array.astype(np.float32 if array.dtype != np.float32 else np.float64)
    yield " gone", None


def _putting(name: str, path: tuple[Any, ...], value: Any) -> Callable[[Path], None]:
    def put(folder: Path) -> None:
        content = _content(folder / name)
        inner = _at(content, path[:-1])
        inner[path[-1]] = value
        text = yaml.safe_dump(content, sort_keys=False) if name.endswith(".yaml") else json.dumps(content)
        (folder / name).write_text(text)

    return put


def _storing(name: str, value: Any) -> Callable[[Path], None]:
    def store(folder: Path) -> None:
        edit_scores(folder, lambda a: a.pop(name) if value is None else a.update({name: value}))

    return store
