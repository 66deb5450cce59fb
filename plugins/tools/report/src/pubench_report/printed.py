"""Base of objects that print as text, and in a notebook as a table."""

from __future__ import annotations

from collections.abc import Sequence

from .pages.template import table_html
from .rendering import RenderedTable, TableEntry, aligned, alike_text


class Printed:
    """Base of what prints as text, and in a notebook as a table."""

    def _shown(self) -> tuple[Sequence[str], RenderedTable, Sequence[str]]:
        """Lines above, the table, lines below."""
        raise NotImplementedError

    def __str__(self) -> str:
        above, table, below = self._shown()
        left = (*range(table.left), *table.texts)
        place = " " if any(entry.mark for row in table.rows for entry in row) else ""
        head = [name if k in left else f"{name}{place}" for k, name in enumerate(table.head)]
        rows = [[_plain(entry, "" if k in left else place) for k, entry in enumerate(row)] for row in table.rows]
        return "\n".join([*above, *(aligned(head, rows, left) if rows else []), *below])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return table_html(*self._shown())


def _plain(entry: TableEntry, place: str) -> str:
    """The last character is the place of the mark, if the table has any."""
    return f"{entry.text}{alike_text(entry)}" + (f"{'*' if entry.mark == 'best' else ' '}" if place else "")
