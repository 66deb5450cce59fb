"""Tables on terminals of any width: no number and no header is ever cut.

Where a table is too wide, its texts are wrapped, then whole columns are left out (and named) or put under the others,
and where even that does not help, every row becomes a few lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

#: Blanks between two columns, and where that makes all of them fit.
GAP, NARROW_GAP = 2, 1
#: A text is wrapped to no fewer characters than this.
NARROWEST = 18


@dataclass(frozen=True)
class PrintedColumn:
    """``wraps``: whether it holds texts that may go on in the next line. ``rank``: 0 is always shown; of the others,
    the highest is left out first.
    """

    name: str
    right: bool = False
    wraps: bool = False
    rank: int = 0


def print_table(
    console: Console,
    columns: Sequence[PrintedColumn],
    rows: Sequence[Sequence[str | Text]],
    styles: Sequence[str] = (),
    *,
    surplus: Literal["left out", "below"] = "left out",
    everything: str = "",
) -> None:
    """``styles``: of each row. ``surplus``: what becomes of columns for which there is no room.

    ``everything``: what the user can type to see the columns that are left out.
    """
    texts = [[cell if isinstance(cell, Text) else Text(cell) for cell in row] for row in rows]
    styles = styles or [""] * len(rows)
    lines = [[line for row in texts for line in row[k].plain.split("\n")] for k in range(len(columns))]
    natural = [max(map(cell_len, [column.name, *lines[k]])) for k, column in enumerate(columns)]
    least = [min(n, max(NARROWEST, _word(c.name))) if c.wraps else n for n, c in zip(natural, columns, strict=True)]
    room = console.width
    gap = GAP if _fits(least, room, GAP) or not _fits(least, room, NARROW_GAP) else NARROW_GAP
    kept, surplus_columns = _kept(columns, least, room, gap, by_rank=surplus == "left out")
    if not _fits([least[k] for k in kept], room, gap):
        _print_stacked(console, columns, texts, styles)
        return
    _print_grid(console, columns, texts, styles, _widths(kept, natural, least, room, gap), gap)
    if surplus_columns and surplus == "below":
        below = [0, *surplus_columns]
        again = [[row[k] for k in below] for row in texts]
        print_table(console, [columns[k] for k in below], again, styles, surplus=surplus)
    elif surplus_columns:
        names = ", ".join(columns[k].name for k in surplus_columns) + (f" ({everything})" if everything else "")
        console.print(Text(f"not shown at this width: {names}", style="dim"))


def _word(text: str) -> int:
    return max(map(cell_len, text.split()), default=0)


def _fits(widths: Sequence[int], room: int, gap: int) -> bool:
    return sum(widths) + gap * (len(widths) - 1) <= room


def _kept(
    columns: Sequence[PrintedColumn], least: Sequence[int], room: int, gap: int, *, by_rank: bool
) -> tuple[list[int], list[int]]:
    """(shown, surplus) columns: by rank, or the first ones that there is room for, at least two of them."""
    kept, surplus = list(range(len(columns))), []
    while not _fits([least[k] for k in kept], room, gap):
        dropped = max(kept, key=lambda k: (columns[k].rank, k)) if by_rank else kept[-1]
        if (by_rank and columns[dropped].rank == 0) or len(kept) <= 2:
            break
        kept.remove(dropped)
        surplus.append(dropped)
    return kept, sorted(surplus)


def _widths(kept: Sequence[int], natural: Sequence[int], least: Sequence[int], room: int, gap: int) -> dict[int, int]:
    """What each column gets: the least, and what is left over goes to those that are narrowest and want more."""
    widths = {k: least[k] for k in kept}
    left = room - sum(widths.values()) - gap * (len(kept) - 1)
    while left > 0 and (wanting := [k for k in kept if widths[k] < natural[k]]):
        narrowest = min(wanting, key=lambda k: widths[k])
        widths[narrowest] += 1
        left -= 1
    return widths


def _print_grid(
    console: Console,
    columns: Sequence[PrintedColumn],
    rows: Sequence[Sequence[Text]],
    styles: Sequence[str],
    widths: dict[int, int],
    gap: int,
) -> None:
    """``widths``: of each column that is shown."""
    lines = []
    for row, style in zip([[Text(column.name) for column in columns], *rows], ["bold", *styles], strict=True):
        for parts in zip_longest(*(_lines(console, columns[k], row[k], width) for k, width in widths.items())):
            whole = (part or Text(" " * width) for part, width in zip(parts, widths.values(), strict=True))
            lines.append(Text(" " * gap, style).join(whole))
    console.print(Text("\n").join(lines), soft_wrap=True)


def _lines(console: Console, column: PrintedColumn, cell: Text, width: int) -> list[Text]:
    """A cell as lines of one width."""
    fits = "\n" not in cell.plain and cell_len(cell.plain) <= width
    lines = [cell.copy()] if fits else [*cell.wrap(console, width, overflow="fold", no_wrap=not column.wraps)]
    for line in lines:
        line.rstrip()
        line.align("right" if column.right else "left", width)
    return lines


def _print_stacked(
    console: Console, columns: Sequence[PrintedColumn], rows: Sequence[Sequence[Text]], styles: Sequence[str]
) -> None:
    """Every row as lines of ``name: value``, the first value as their heading."""
    for row, style in zip(rows, styles, strict=True):
        console.print(row[0], style=style or "bold", overflow="fold")
        for column, cell in zip(columns[1:], row[1:], strict=True):
            if cell.plain:
                console.print(Text(f"  {column.name}: ") + cell, style=style, overflow="fold")
