"""The contract of a plugin that reads users' tables: rows that bring their labels."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..plugins.info import DatasetInfo, TableInfo
from ..plugins.registry import Registry, absent, load_class
from ..specs import UserTableSpec
from .labeled import LabeledData

if TYPE_CHECKING:
    from pandas import DataFrame

#: Takes a line for the user.
Say = Callable[[str], None]
#: The distribution of this repository that reads users' tables.
PACKAGE = "pubench-datasets-tables"
#: Start of the path of a table in memory.
MEMORY = "memory:"
#: A task of a data source: ``disdat/nsw14``, ``openml:61/class``.
_ADDRESS = re.compile(r"[a-z0-9][a-z0-9-]+(/[\w-]+|:[^\\]+)")

#: What most columns become.
A_NUMBER = "a number"

Use = Literal["labels", "truth", "feature", "groups", "weights", "names rows", "left out"]


@dataclass(frozen=True)
class ColumnUse:
    """``what``: what a feature becomes, or why a column is none. ``distinct``: different values, gaps apart.

    ``missing``: cells without a value. ``examples``: the first values that differ, long texts shortened.
    """

    name: str
    use: Use
    what: str
    distinct: int
    missing: int
    examples: tuple[str, ...]


class TableReader(ABC):
    """Reads users' tables, as core and the command line need it.

    ``TableInfo.load`` names a subclass; it is made with the info record. Paths name files or tables in memory
    (:data:`MEMORY`). Everything raises RequestError for what is wrong with a file or a column.
    """

    def __init__(self, info: TableInfo) -> None:
        self.info = info

    @abstractmethod
    def frame(
        self, path: Path, texts: Collection[str] = (), say: Say = lambda text: None, *, no_header: bool = False
    ) -> DataFrame:
        """The table in a file, one column per field. ``texts``: columns whose numbers stay texts (``007``).

        ``say``: called with a line for each thing that was guessed. ``no_header``: columns are called c1, c2, ...
        """

    @abstractmethod
    def rows(self, own: UserTableSpec, texts: Collection[str] = (), say: Say = lambda text: None) -> DataFrame:
        """The rows of a table as its spec says, after them those of its file of positives, if that has rows."""

    @abstractmethod
    def checksum(self, path: Path) -> str:
        """SHA-256 of a file or of a table in memory."""

    @abstractmethod
    def spec(self, own: Mapping[str, Any], origins: Mapping[tuple[str, ...], str] | None = None) -> UserTableSpec:
        """The section ``data.own`` of a request with the checksums of its files.

        ``origins``: where fields were written. RequestError also for files that are not those that it was written for.
        """

    @abstractmethod
    def describe(self, own: UserTableSpec) -> DatasetInfo:
        """Info record of a table, like that of a data set."""

    @abstractmethod
    def read(self, own: UserTableSpec) -> LabeledData:
        """The rows of a table as its spec says: features, who is labeled, true labels if there are any."""

    @abstractmethod
    def uses(
        self, frame: DataFrame, own: UserTableSpec | None = None, table: LabeledData | None = None
    ) -> list[ColumnUse]:
        """Use of every column; without a spec, if each of them were a feature."""


def in_memory(path: Path) -> bool:
    """Whether a path names a table that is, or was, in memory."""
    return str(path).startswith(MEMORY)


def is_table_path(text: str) -> bool:
    """Whether a text that names data means a file: the key of a data set has no such character.

    ``disdat/nsw14`` and ``openml:61/class`` are addresses of tasks, unless a file or folder has that name.
    """
    if _ADDRESS.fullmatch(text) and not in_memory(Path(text)) and not Path(text).exists():
        return False
    return any(character in text for character in "./\\")


def table_reader(registry: Registry) -> TableReader:
    """The installed reader of users' tables. Raises RequestError, naming what to install, if there is none."""
    infos = registry.infos(TableInfo)
    if not infos:
        raise absent("a reader of your own tables", PACKAGE)
    reader: TableReader = load_class(infos[0], TableReader)(infos[0])
    return reader
