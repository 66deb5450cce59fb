"""Tables as text, and as HTML. No library: core has none for terminals."""

from __future__ import annotations

import html
from collections.abc import Collection, Sequence


def aligned(head: Sequence[str], rows: Sequence[Sequence[str]], left: Collection[int] = (0,)) -> list[str]:
    """Lines of a table, two spaces between columns; the columns in ``left`` flush left, the others flush right.

    >>> print(*aligned(["method", "digits"], [["nnpu", "86.70"], ["p3mix-c", "5.00"]]), sep="|")
    method   digits|nnpu      86.70|p3mix-c    5.00
    """
    widths = [max(len(row[k]) for row in [head, *rows]) for k in range(len(head))]
    return [
        "  ".join(
            cell.ljust(width) if k in left else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in [head, *rows]
    ]


def html_table(
    caption: str, head: Sequence[str], rows: Sequence[Sequence[str]], bold: Collection[tuple[int, int]] = ()
) -> str:
    """A table with its caption; ``bold``: (row, column) of cells in bold. Everything is escaped."""

    def cell(row: int, column: int, text: str) -> str:
        escaped = html.escape(text)
        return f"<td><b>{escaped}</b></td>" if (row, column) in bold else f"<td>{escaped}</td>"

    top = "".join(f"<th>{html.escape(name)}</th>" for name in head)
    body = "".join(
        "<tr>" + "".join(cell(r, c, text) for c, text in enumerate(row)) + "</tr>" for r, row in enumerate(rows)
    )
    return f"<table><caption>{html.escape(caption)}</caption><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
