"""Any table of OpenML as a task: its number, and a nominal column that is the target (``openml:61/class``).

What is read are the two files that the ``openml`` package keeps: ``dataset.arff``, and ``description.xml``, which names
the default target, the columns to leave out, the license and the checksum.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import numpy.typing as npt

from pubench_core.data.dataset import ClassData, DataRoot, user_cache
from pubench_core.data.source import DataSource, Task
from pubench_core.errors import Hint, RequestError, unknown
from pubench_core.plugins.info import DatasetInfo

from .openml_files import cached, download, downloaded, read_arff, reading_download

Attribute = tuple[str, str | list[str]]


@dataclass(frozen=True)
class Description:
    """OpenML's description of a table. ``left_out``: columns that are no features; ``target``: may be empty."""

    name: str
    version: str
    license: str
    citation: str
    md5: str
    target: str
    left_out: frozenset[str]


class OpenMLTable(DataSource):
    """(n, d) float32 features and class indices of one table.

    Numbers are features as they are, a missing one is the median of its column. A nominal column is one-hot, missing
    values as one more value. Columns of text or dates, and those that OpenML says to ignore, are left out.
    """

    @classmethod
    def task(cls, info: DatasetInfo, name: str) -> DatasetInfo:
        """The record of a table that is here. Raises RequestError for one that is not, or a target that is no class."""
        number, target = parse(info, name)
        path = cached(DataRoot(Path(), "", cache=user_cache()), number)
        if path is None or path.suffix != ".arff":
            raise RequestError(
                f"{info.key}:{name} is not on this machine", field="data.key", hint=Hint("fetch", f"{info.key}:{name}")
            )
        found, attributes = _header(path, path.stat().st_mtime_ns)
        target = target or found.target
        classes = _classes_of(f"{info.key}:{number}", target, attributes)
        return replace(
            info,
            task=f"{number}/{target}",
            name=f"{found.name} (OpenML {number})",
            summary=f"table {number} of OpenML, target '{target}': {classes[1]} against the rest",
            classes=tuple(classes),
            positive=(1,),
            negative=tuple(k for k in range(len(classes)) if k != 1),
            source=f"OpenML, data set {number} ({found.name}, version {found.version})"
            + (f"; cite: {found.citation}" if found.citation else ""),
            license=found.license or "not stated",
        )

    def tasks(self, root: DataRoot) -> tuple[Task, ...]:
        """The tables that are here, with their default targets."""
        found = [(path.parent.name, _header(path, path.stat().st_mtime_ns)[0]) for path in downloaded(root)]
        return tuple(Task(number, {"name": table.name, "target": table.target}) for number, table in found)

    def parts(self, root: DataRoot) -> tuple[DataSource, ...]:
        """A source for each table that is here."""
        if self.info.task:
            return (self,)
        return tuple(OpenMLTable(self.task(self.info, task.name)) for task in self.tasks(root))

    def locate(self, root: DataRoot) -> tuple[Path, ...]:
        """``dataset.arff`` and ``description.xml``; of all tables here without a task."""
        if not self.info.task:
            paths = downloaded(root)
            if not paths:
                raise RequestError(
                    f"no table of {self.info.key} is here; name one to download: {self.info.tasks}",
                    hint=Hint("fetch", f"{self.info.key}:ID"),
                )
        else:
            number, _ = parse(self.info, self.info.task)
            path = cached(root, number)
            if path is None or path.suffix != ".arff":
                raise RequestError(
                    f"table {number} of {self.info.key} is not in {root.cache / 'openml'}", field="data.key"
                )
            paths = [path]
        return tuple(file for path in paths for file in (path, path.with_name("description.xml")))

    def variant(self, root: DataRoot, files: tuple[Path, ...]) -> str:
        return self.info.task

    def read(self, files: tuple[Path, ...], root: DataRoot) -> ClassData:
        number, target = parse(self.info, self.info.task)
        with reading_download(files[0], f"openml:{number}"):
            description, content = read_description(files[1]), files[0].read_bytes()
            if (found := hashlib.md5(content, usedforsecurity=False).hexdigest()) != description.md5:
                raise ValueError(f"md5 {found}, OpenML has {description.md5}")
            attributes, columns = read_arff(files[0])
        names = [name for name, _ in attributes]
        if target not in names:
            raise unknown(f"column of {self.info.address}", target, names, field="data.key")
        labels = columns[names.index(target)]
        if unlabeled := sum(label is None for label in labels):
            raise RequestError(
                f"{self.info.address}: {unlabeled} rows have no value of '{target}'; take another target"
            )
        x = features(attributes, columns, description.left_out | {target}, root)
        index = {name: k for k, name in enumerate(self.info.classes)}
        return ClassData(x=x, y=np.array([index[str(label)] for label in labels], dtype=np.int64))

    def fetch(self, root: DataRoot) -> None:
        if not self.info.task:
            raise RequestError(f"{self.info.key} is downloaded by number: {self.info.tasks}", field="data.key")
        download(self.info, root, parse(self.info, self.info.task)[0])


def parse(info: DatasetInfo, name: str) -> tuple[int, str]:
    """Number and target of a task; an empty target means the default. Raises RequestError for another form."""
    match = re.fullmatch(r"(\d{1,9})(?:/(.+))?", name)
    if match is None:
        raise RequestError(f"a task of {info.key} must read {info.tasks}, got {info.key}:{name}", field="data.key")
    return int(match[1]), match[2] or ""


def features(
    attributes: Sequence[Attribute], columns: Sequence[Sequence[Any]], left_out: frozenset[str], root: DataRoot
) -> npt.NDArray[np.float32]:
    """(n, d) of every column that is a number or nominal; ``root.say`` hears what is left out or filled."""
    parts: list[npt.NDArray[Any]] = []
    for (name, kind), column in zip(attributes, columns, strict=True):
        missing = np.array([value is None for value in column])
        if name in left_out:
            continue
        if isinstance(kind, list):
            values = np.array(["" if value is None else str(value) for value in column], dtype=object)
            parts += [values == value for value in (*kind, *([""] if missing.any() else []))]
        elif kind in ("REAL", "INTEGER", "NUMERIC"):
            numbers = np.array([np.nan if value is None else value for value in column], dtype=np.float64)
            if missing.any():
                root.say(f"'{name}': {int(missing.sum())} missing numbers are the median of the others")
                numbers[missing] = np.median(numbers[~missing]) if not missing.all() else 0.0
            parts.append(numbers)
        else:
            root.say(f"'{name}' is of type {kind.lower()} and is left out")
    if not parts:
        raise RequestError("no column is a number or nominal, so there is no feature")
    return np.stack(parts, axis=1).astype(np.float32)


def read_description(path: Path) -> Description:
    """Reads ``description.xml``. Raises RequestError if it is absent or damaged."""
    with reading_download(path, f"openml:{path.parent.name}"):
        root = ElementTree.fromstring(path.read_bytes())
    found: dict[str, list[str]] = {}
    for element in root:
        found.setdefault(element.tag.rpartition("}")[2], []).append((element.text or "").strip())

    def one(name: str) -> str:
        return found.get(name, [""])[0]

    return Description(
        name=one("name"),
        version=one("version"),
        license=one("licence"),
        citation=" ".join(one("citation").split()),
        md5=one("md5_checksum"),
        target=one("default_target_attribute"),
        left_out=frozenset([*found.get("ignore_attribute", []), *found.get("row_id_attribute", [])]),
    )


@lru_cache(maxsize=256)
def _header(path: Path, changed: int) -> tuple[Description, Mapping[str, str | list[str]]]:
    """Description and columns of a table. ``changed``: time of the file, which a cached answer belongs to."""
    with reading_download(path, f"openml:{path.parent.name}"):
        return read_description(path.with_name("description.xml")), dict(read_arff(path, rows=False)[0])


def _classes_of(address: str, target: str, attributes: Mapping[str, str | list[str]]) -> list[str]:
    """Values of the target. Raises RequestError if it is not a column with at least two values."""
    nominal = {name: kind for name, kind in attributes.items() if isinstance(kind, list) and len(kind) > 1}
    if target in nominal:
        return nominal[target]
    if target and target not in attributes:
        raise unknown(f"column of {address}", target, nominal, field="data.key")
    wrong = (
        f"'{target}' is not a nominal column with at least two values" if target else "OpenML names no default target"
    )
    named = ", ".join(list(nominal)[:8]) or "there is none"
    raise RequestError(f"{address}: {wrong}; name a target with {address}/TARGET: {named}", field="data.key")
