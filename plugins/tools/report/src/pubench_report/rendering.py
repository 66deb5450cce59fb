"""Tables, and what writes them: one renderer for each of plain text, terminal, Markdown, LaTeX, CSV and HTML."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
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
    """One place of a table. ``alike``: runs that decide every row alike; ``link``: identifier of the cell's runs,
    or another page's address; ``below``: points below the best, which pages draw, and ``interval`` of them.
    """

    text: str
    mark: Mark = ""
    alike: int = 0
    link: str = ""
    why: str = ""
    below: float | None = None
    interval: tuple[float, float] | None = None


@dataclass(frozen=True)
class RenderedTable:
    """``left``: how many columns, from the first, hold names; ``texts``: further columns of texts. ``notes``: what its
    reader must know.
    """

    key: str
    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[TableEntry, ...], ...]
    notes: tuple[str, ...] = ()
    left: int = 1
    texts: tuple[int, ...] = ()


@dataclass(frozen=True)
class Section:
    """Tables that belong together under one heading."""

    key: str
    title: str
    text: str
    tables: tuple[RenderedTable, ...]


def alike_text(entry: TableEntry) -> str:
    """`` !2`` of a cell in which two runs decide every row alike."""
    return f" !{entry.alike}" if entry.alike else ""


# -------------------------------------------------------------------- plain text, and in notebooks


def aligned(head: Sequence[str], rows: Sequence[Sequence[str]], left: Collection[int] = (0,)) -> list[str]:
    """Lines of a table, two spaces between columns; the columns in ``left`` flush left, the others flush right.

    >>> print(*aligned(["method", "digits"], [["nnpu", "86.70"], ["p3mix-c", "5.00"]]), sep="|")
    method   digits|nnpu      86.70|p3mix-c    5.00
    """
    columns = [PrintedColumn(name, right=k not in left) for k, name in enumerate(head)]
    return as_plain_text(lambda console: print_table(console, columns, rows), width=WIDEST).splitlines()


# -------------------------------------------------------------------- terminal


def print_sections(console: Console, title: Sequence[str], sections: Sequence[Section]) -> None:
    """Headings, tables and notes. Nothing is left out at any width: what does not fit goes below."""
    for line in title:
        console.print(Text(visible(line)), soft_wrap=True)
    for section in sections:
        console.print()
        console.print(Text(section.title, style="bold"))
        console.print(Text(section.text), soft_wrap=True)
        for table in section.tables:
            if not table.rows and not table.notes:
                continue
            console.print()
            console.print(Text(visible(table.title), style="bold"), soft_wrap=True)
            if table.rows:
                columns = [PrintedColumn(visible(name), right=k >= table.left) for k, name in enumerate(table.head)]
                rows = [[_terminal(entry, k < table.left) for k, entry in enumerate(row)] for row in table.rows]
                print_table(console, columns, rows, surplus="below")
            for note in table.notes:
                console.print(Text(visible(f"note: {note}")), soft_wrap=True)
        if section.key == "results":
            console.print(Text(f"{LEGEND['table']}; {GAPS}"), soft_wrap=True)


def _terminal(entry: TableEntry, name: bool) -> Text:
    """The last character of a number is the place of its mark, so that digits stand under digits."""
    mark = {"best": "*", "second": "+", "": " "}[entry.mark]
    text = visible(entry.text) if name else f"{visible(entry.text)}{alike_text(entry)}{mark}"
    return Text(text, style={"best": "bold", "second": "underline", "": ""}[entry.mark])


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
        rule = ["---" if k < table.left else "---:" for k in range(len(table.head))]
        rows = [[md_escaped(name) for name in table.head], rule, *([_md_entry(e) for e in row] for row in table.rows)]
        lines += [*(f"| {' | '.join(row)} |" for row in rows), ""]
    return [*lines, *(f"- {md_escaped(note)}" for note in table.notes), *([""] if table.notes else [])]


def _md_entry(entry: TableEntry) -> str:
    text = md_escaped(entry.text)
    return {"best": f"**{text}**", "second": f"*{text}*", "": text}[entry.mark] + alike_text(entry)


def md_escaped(text: str) -> str:
    """Escapes Markdown."""
    return re.sub(r"([\\`*_\[\]<>|])", r"\\\1", _one_line(text))


# -------------------------------------------------------------------- LaTeX


def latex(title: Sequence[str], sections: Sequence[Section]) -> str:
    """One ``table`` with booktabs rules per table; ``\\usepackage{booktabs}`` is all that it needs."""
    lines = ["% needs \\usepackage{booktabs}", *(f"% {_one_line(line)}" for line in title)]
    for section in sections:
        lines += ["", f"% {_one_line(section.title)}: {_one_line(section.text)}"]
        for table in section.tables:
            lines += _latex_table(section, table)
    return "\n".join(lines) + "\n"


def _latex_table(section: Section, table: RenderedTable) -> list[str]:
    notes = [f"% {_one_line(note)}" for note in table.notes]
    if not table.rows:
        return [f"% {_one_line(table.title)}", *notes] if notes else []
    marked = any(entry.mark or entry.alike for row in table.rows for entry in row)
    caption = f"{_tex(section.title)}: {_tex(table.title)}. {_tex(section.text)}"
    caption += f" {LEGEND['latex'][0].upper()}{LEGEND['latex'][1:]}." if marked else ""
    rows = [" & ".join(_tex_entry(entry) for entry in row) + r" \\" for row in table.rows]
    return [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{caption}}}",
        rf"\label{{tab:{table.key}}}",
        rf"\begin{{tabular}}{{{'l' * table.left}{'r' * (len(table.head) - table.left)}}}",
        r"\toprule",
        " & ".join(_tex(name) for name in table.head) + r" \\",
        r"\midrule",
        *rows,
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
        *notes,
    ]


def _tex_entry(entry: TableEntry) -> str:
    text = _tex(entry.text)
    marked = {"best": rf"\textbf{{{text}}}", "second": rf"\underline{{{text}}}", "": text}[entry.mark]
    return f"{marked} !{entry.alike}" if entry.alike else marked


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
