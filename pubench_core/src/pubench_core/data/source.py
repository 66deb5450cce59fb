"""The contract of a data set plugin: where its files are, how they are downloaded, how they are read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..errors import RequestError
from ..plugins.info import DatasetInfo
from ..plugins.registry import blamed, load_class
from .dataset import ClassData, DataRoot, PUTasks


@dataclass(frozen=True)
class Task:
    """One of the problems of a source with tasks. ``facts``: what studies select by (``presences``, ``region``)."""

    name: str
    facts: Mapping[str, int | float | str]


class DataSource(ABC):
    """One data set, or a source of many tasks. ``DatasetInfo.load`` names a subclass; it is made with the info record.

    ``read`` is called once per data set and machine: what it returns is kept as a memory-mapped copy
    (:mod:`pubench_core.data.store`) which every later run opens instead. A source without files (``locate`` returns
    nothing) comes with its package and is read once per process.
    """

    def __init__(self, info: DatasetInfo) -> None:
        self.info = info

    def locate(self, root: DataRoot) -> tuple[Path, ...]:
        """The files that ``read`` reads, always in the same order.

        Raises RequestError (``root.missing``) if one is absent. Must not read them and must not import anything heavy.
        """
        return ()

    @property
    def downloadable(self) -> bool:
        """Whether :meth:`fetch` can get the files; by default, whether the source has a ``fetch`` of its own."""
        return type(self).fetch is not DataSource.fetch

    def variant(self, root: DataRoot, files: tuple[Path, ...]) -> str:
        """Part of the content's identity that is not in the files (the text encoder, say); empty if there is none."""
        return ""

    @abstractmethod
    def read(self, files: tuple[Path, ...], root: DataRoot) -> ClassData | PUTasks:
        """The arrays in the given files: :class:`PUTasks` if the data bring their labels.

        Raises RequestError naming the file that is damaged and what to do.
        """

    def fetch(self, root: DataRoot) -> None:
        """Downloads the files to where ``locate`` finds them. Not called with ``execution.offline``.

        Raises RequestError if they cannot be had by download.
        """
        where = f"get it from {self.info.source} and put it into {root.path / self.info.key}"
        raise RequestError(f"{self.info.key} cannot be downloaded by pubench: {where}")

    # ---------------------------------------------------------------- sources with tasks (DatasetInfo.tasks)

    @classmethod
    def task(cls, info: DatasetInfo, name: str) -> DatasetInfo:
        """The record of one task: ``replace(info, task=name, ...)`` with the task's own name, classes and so on.

        Raises RequestError if there is none of that name.
        """
        raise NotImplementedError(f"{cls.__name__} declares tasks and does not define task()")

    def tasks(self, root: DataRoot) -> tuple[Task, ...]:
        """The tasks that can be listed, with their facts. Raises RequestError if that needs files that are absent."""
        return ()

    def parts(self, root: DataRoot) -> tuple[DataSource, ...]:
        """A source for each prepared copy of the whole: itself, unless tasks are kept in several copies."""
        return (self,)


def source_of(info: DatasetInfo) -> DataSource:
    """The data source behind an info record; PluginError if it is not one."""
    found: type[DataSource] = load_class(info, DataSource)
    with blamed(info, "set up"):
        return found(info)
