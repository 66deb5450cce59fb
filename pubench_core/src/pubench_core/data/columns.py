"""How the columns of a table become features, as plain data: recorded with a run, and kept in a saved model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Column:
    """How one column of the table becomes features: numbers as they are, categories one-hot in this order."""

    name: str
    kind: Literal["number", "category"]
    categories: tuple[str, ...] = ()

    @property
    def features(self) -> list[str]:
        """Names of the features it becomes."""
        return [self.name] if self.kind == "number" else [f"{self.name}={value}" for value in self.categories]


def as_plain(columns: Sequence[Column]) -> list[dict[str, Any]]:
    """The columns as plain data, for records."""
    return [{"name": c.name, "kind": c.kind, "categories": list(c.categories)} for c in columns]


def texts_of(columns: Sequence[Column]) -> tuple[str, ...]:
    """Columns that another file must be read with as texts: a category ``10`` is not the number 10."""
    return tuple(column.name for column in columns if column.kind == "category")
