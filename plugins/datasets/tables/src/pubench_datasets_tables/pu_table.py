"""A table of the caller's own, as :func:`pubench.run` takes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pubench.field_names import in_arguments, in_words
from pubench_core.data.labeled import LabeledData
from pubench_core.data.table_reader import in_memory, table_reader
from pubench_core.errors import visible
from pubench_core.plugins.registry import registry

from .held import HeldTable


@dataclass(frozen=True)
class PUTable:
    """A table of the caller's own. Made by :func:`pubench.data`.

    ``own``: the section ``data.own`` of a run's spec. ``scheme``: None means the default, one-sample.
    """

    own: Mapping[str, Any]
    scheme: str | None = None
    _held: tuple[HeldTable, ...] = field(default=(), repr=False)

    @property
    def name(self) -> str:
        """The file's name, or what :func:`pubench.data` was given."""
        return Path(self.own["path"]).name

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on how the table was read: who is labeled, which columns became features, what is unusual."""
        return tuple(map(in_arguments, self._read().notes))

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features, one-hot ones as ``column=value``."""
        return tuple(name for column in self._read().columns for name in column.features)

    def save(self, path: str | Path) -> PUTable:
        """Writes a table that is in memory as a parquet file and returns that file as a table.

        Runs on it have the run ids that they have on this one. Raises ValueError if there is nothing in memory.
        """
        if not self._held:
            raise ValueError(f"{self.name} is already a file; only a table in memory can be saved")
        path = Path(path)
        if path.suffix != ".parquet":
            raise ValueError(f"path must end in .parquet, got {path}")
        files = {"path": path, "test": path.with_name(f"{path.stem}-test.parquet")}
        own = dict(self.own)
        in_no_file = [role for role in files if role in own and in_memory(Path(own[role]))]
        for role, held in zip(in_no_file, self._held, strict=True):
            files[role].write_bytes(held.content)
            own[role] = files[role]
        return PUTable(own, self.scheme)

    def _read(self) -> LabeledData:
        reader = table_reader(registry())
        with in_words():
            return reader.read(reader.spec(self.own))

    def __repr__(self) -> str:
        return visible("\n".join((f"PUTable '{self.name}'", *(f"  {note}" for note in self.notes))))
