"""Tables, and what writes them: terminals and plain text, Markdown, LaTeX, CSV, HTML (``pages/template.py``)."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from rich.console import Console
from rich.text import Text

from pubench_cli.columns import PrintedColumn, print_table
from pubench_cli.console import as_plain_text
from pubench_core.errors import visible

Mark = Literal["", "best", "second"]
#: What the marks of each format mean.
LEGEND = {
    "table": "* best, + second of its column; !n: n of the runs decide every row alike",
    "md": "**bold**: best, *italic*: second of its column; !n: n of the runs decide every row alike",
    "latex": r"bold: best, underlined: second of its column; !$n$: $n$ of the runs decide every row alike",
    "html": "bold: best, underlined: second of its column; “alike n”: n of the runs decide every row alike",
}
#: Characters of a line of a text that no terminal cuts.
WIDEST = 1 << 20
GAPS = "-: no value; ·: not run"


@dataclass(frozen=True)
class TableEntry:
    """One place of a table."""

    text: str
    mark: Mark = ""
    alike: int = 0
    """runs that decide every row alike"""
    link: str = ""
    """identifier of the cell's runs, or another page's address"""
    why: str = ""
    style: str = ""
    """on a terminal, if it is not that of its mark"""


@dataclass(frozen=True)
class RenderedTable:
    """Rows under a head. Every table of reports, cards and searches is one; there is a writer for each format."""

    head: tuple[str, ...]
    rows: tuple[tuple[TableEntry, ...], ...]
    key: str = ""
    title: str = ""
    notes: tuple[str, ...] = ()
    """what its reader must know"""
    left: int = 1
    """columns of names, from the first"""
    texts: tuple[int, ...] = ()
    """further columns of texts; all others are numbers"""
    wraps: tuple[int, ...] = ()
    """columns that a terminal may wrap"""
    ranks: Mapping[int, int] = field(default_factory=dict)
    """column -> how early a terminal without room leaves it out"""

    @classmethod
    def of(cls, head: Iterable[str], rows: Iterable[Iterable[object]], **more: Any) -> RenderedTable:
        """Table of texts and numbers, entries among them if they have a mark or a link."""
        entries = ([one if isinstance(one, TableEntry) else TableEntry(str(one)) for one in row] for row in rows)
        return cls(tuple(head), tuple(map(tuple, entries)), **more)

    def is_text(self, k: int) -> bool:
        """Whether a column is flush left."""
        return k < self.left or k in self.texts

    def print_to(
        self,
        console: Console,
        styles: Sequence[str] = (),
        *,
        surplus: Literal["left out", "below"] = "below",
        everything: str = "",
    ) -> None:
        """Prints head and rows, as :func:`pubench_cli.columns.print_table` does. ``styles``: of rows.

        If anything is marked, the last character of a number is the place of its mark: digits stand under digits.
        """
        place = any(entry.mark for row in self.rows for entry in row)
        columns = []
        for k, name in enumerate(self.head):
            text = visible(name) + (" " if place and not self.is_text(k) else "")
            columns.append(PrintedColumn(text, not self.is_text(k), k in self.wraps, self.ranks.get(k, 0)))
        rows = [[_terminal(entry, place and not self.is_text(k)) for k, entry in enumerate(row)] for row in self.rows]
        if rows:
            print_table(console, columns, rows, styles, surplus=surplus, everything=everything)

    def lines(self) -> list[str]:
        """Head and rows as lines of text.

        >>> print(*RenderedTable.of(["method", "digits"], [["nnpu", "86.70"], ["p3mix-c", "5.00"]]).lines(), sep="|")
        method   digits|nnpu      86.70|p3mix-c    5.00
        """
        return as_plain_text(self.print_to, width=WIDEST).splitlines() if self.rows else []


_SIGNS: Mapping[Mark, tuple[str, str]] = {"best": ("*", "bold"), "second": ("+", "underline"), "": (" ", "")}


def _terminal(entry: TableEntry, place: bool) -> Text:
    sign, style = _SIGNS[entry.mark]
    return Text(f"{visible(entry.text)}{alike_text(entry)}{sign if place else ''}", style=entry.style or style)


def alike_text(entry: TableEntry) -> str:
    """`` !2`` of a cell in which two runs decide every row alike."""
    return f" !{entry.alike}" if entry.alike else ""


class Printed:
    """Base of what prints as text, and in a notebook as a table."""

    def shown(self) -> tuple[Sequence[str], RenderedTable, Sequence[str]]:
        """Lines above, the table, lines below."""
        raise NotImplementedError

    def __str__(self) -> str:
        above, table, below = self.shown()
        return "\n".join([*above, *table.lines(), *below])

    def __repr__(self) -> str:
        return str(self)

    def print_to(self, console: Console) -> None:
        """The same on a terminal of any width."""
        above, table, below = self.shown()
        print_sections(console, above, ())
        table.print_to(console)
        print_sections(console, below, ())

    def _repr_html_(self) -> str:
        from .pages.template import fragment  # jinja2, which text does not need

        above, table, below = self.shown()
        return fragment("table.html.j2", above=above, table=table, below=below)


@dataclass(frozen=True)
class Section:
    """Tables that belong together under one heading."""

    key: str
    title: str
    text: str
    tables: tuple[RenderedTable, ...]


def print_sections(console: Console, title: Sequence[str], sections: Sequence[Section]) -> None:
    """Headings, tables and notes. Nothing is left out at any width: what does not fit goes below."""
    soft = not console.is_terminal  # a terminal cuts words
    for line in title:
        console.print(Text(visible(line)), soft_wrap=soft)
    for section in sections:
        console.print()
        console.print(Text(section.title, style="bold"))
        console.print(Text(section.text), soft_wrap=soft)
        for table in section.tables:
            if not table.rows and not table.notes:
                continue
            console.print()
            console.print(Text(visible(table.title), style="bold"), soft_wrap=soft)
            table.print_to(console)
            for note in table.notes:
                console.print(Text(visible(f"note: {note}")), soft_wrap=soft)
        if section.key == "results":
            console.print(Text(f"{LEGEND['table']}; {GAPS}"), soft_wrap=soft)


# -------------------------------------------------------------------- Markdown


def markdown(title: Sequence[str], sections: Sequence[Section]) -> str:
    """Headings, pipe tables and notes."""
    lines = [f"# {md_escaped(title[0])}", "", *(f"{md_escaped(line)}  " for line in title[1:]), ""]
    for section in sections:
        lines += [f"## {section.title}", "", md_escaped(section.text), ""]
        if section.key == "results":
            lines += [f"{LEGEND['md']}; {GAPS}.", ""]
        for table in section.tables:
            lines += md_table(table)
    return "\n".join(lines).rstrip() + "\n"


def md_table(table: RenderedTable) -> list[str]:
    """The title of a table, an empty line, its rows, its notes; nothing where it has neither rows nor notes."""
    lines = [f"**{md_escaped(table.title)}**", ""] if table.rows or table.notes else []
    if table.rows:
        marks = {"best": "**{}**", "second": "*{}*", "": "{}"}
        rows = [[marks[e.mark].format(md_escaped(e.text)) + alike_text(e) for e in row] for row in table.rows]
        left = [k for k in range(len(table.head)) if k < table.left]
        lines += [*md_rows(map(md_escaped, table.head), rows, left), ""]
    return [*lines, *(f"- {md_escaped(note)}" for note in table.notes), *([""] if table.notes else [])]


def md_rows(head: Iterable[str], rows: Iterable[Iterable[str]], left: Collection[int]) -> list[str]:
    """Lines of a pipe table of Markdown. ``left``: columns of texts."""
    head = list(head)
    rule = ["---" if k in left else "---:" for k in range(len(head))]
    return [f"| {' | '.join(row)} |" for row in (head, rule, *rows)]


def md_escaped(text: str) -> str:
    """Escapes Markdown, and names of people that a forum would send a message."""
    return re.sub(r"(?<!\w)@(?=\w)", "@<!-- -->", re.sub(r"([\\`*_\[\]<>|])", r"\\\1", _one_line(text)))


# -------------------------------------------------------------------- LaTeX


def latex(title: Sequence[str], sections: Sequence[Section]) -> str:
    """One ``table`` with booktabs rules per table; ``\\usepackage{booktabs}`` is all that it needs."""
    from .pages.template import fragment  # jinja2, which other formats do not need

    return fragment(
        "report.tex.j2",
        title=title,
        sections=sections,
        tex=_tex,
        line=_one_line,
        cell=_tex_cell,
        legend=LEGEND["latex"],
    )


def _tex_cell(entry: TableEntry) -> str:
    marks = {"best": r"\textbf{%s}", "second": r"\underline{%s}", "": "%s"}
    return marks[entry.mark] % _tex(entry.text) + alike_text(entry)


_TEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "±": r"$\pm$", "·": r"$\cdot$", "<": "$<$", ">": "$>$",
    "[": r"{[}", "|": r"\textbar{}", "α": r"$\alpha$", "π": r"$\pi$",
}  # fmt: skip


def _tex(text: str) -> str:
    return "".join(_TEX.get(character, character) for character in _one_line(text))


def _one_line(text: str) -> str:
    return " ".join(visible(text).split())


# -------------------------------------------------------------------- CSV


#: Text that a spreadsheet would compute: names come from study files, which others write. Numbers are none.
_FORMULA = re.compile(r"(?![+-]?\d*\.?\d*(e[+-]?\d+)?( ± \d*\.?\d+)?$)[=+\-@\t\r]", re.IGNORECASE)


def csv_of(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    """A row for each; what a row does not have is empty. A text that a spreadsheet would compute begins with ``'``."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    for cells in (columns, *([row.get(name, "") for name in columns] for row in rows)):
        writer.writerow([f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) else cell for cell in cells])
    return stream.getvalue()
