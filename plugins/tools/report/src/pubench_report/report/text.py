"""Reports as text: for a terminal, as Markdown, LaTeX and CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from pubench_cli.columns import Column, print_table
from pubench_core.errors import visible

from .model import Cell, Model
from .statistics import Comparison
from .tables import Entry, Section, Table

#: What the marks of each format mean.
LEGEND = {
    "table": "* best, + second of its column; !n: n of the runs decide every row alike",
    "md": "**bold**: best, *italic*: second of its column; !n: n of the runs decide every row alike",
    "latex": r"bold: best, underlined: second of its column; !$n$: $n$ of the runs decide every row alike",
    "html": "bold: best, underlined: second of its column; “alike n”: n of the runs decide every row alike",
}
GAPS = "-: no value; ·: not run"
CSV_COLUMNS = (
    "setting", "data", "method", "oracle", "criterion", "criterion_oracle", "measure", "mean", "std", "n",
    "seeds", "mark", "alike", "baseline", "pairs", "difference", "p", "adjusted_p", "decision", "run_ids",
)  # fmt: skip


def _alike(entry: Entry) -> str:
    return f" !{entry.alike}" if entry.alike else ""


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
                columns = [Column(visible(name), right=k >= table.left) for k, name in enumerate(table.head)]
                rows = [[_terminal(entry, k < table.left) for k, entry in enumerate(row)] for row in table.rows]
                print_table(console, columns, rows, surplus="below")
            for note in table.notes:
                console.print(Text(visible(f"note: {note}")), soft_wrap=True)
        if section.key == "results":
            console.print(Text(f"{LEGEND['table']}; {GAPS}"), soft_wrap=True)


def _terminal(entry: Entry, name: bool) -> Text:
    """The last character of a number is the place of its mark, so that digits stand under digits."""
    mark = {"best": "*", "second": "+", "": " "}[entry.mark]
    text = visible(entry.text) if name else f"{visible(entry.text)}{_alike(entry)}{mark}"
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


def md_table(table: Table) -> list[str]:
    """The title of a table, an empty line, its rows, its notes; nothing where it has neither rows nor notes."""
    lines = [f"**{md_escaped(table.title)}**", ""] if table.rows or table.notes else []
    if table.rows:
        rule = ["---" if k < table.left else "---:" for k in range(len(table.head))]
        rows = [[md_escaped(name) for name in table.head], rule, *([_md_entry(e) for e in row] for row in table.rows)]
        lines += [*(f"| {' | '.join(row)} |" for row in rows), ""]
    return [*lines, *(f"- {md_escaped(note)}" for note in table.notes), *([""] if table.notes else [])]


def _md_entry(entry: Entry) -> str:
    text = md_escaped(entry.text)
    return {"best": f"**{text}**", "second": f"*{text}*", "": text}[entry.mark] + _alike(entry)


def md_escaped(text: str) -> str:
    """A text of which Markdown takes no character for its own."""
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


def _latex_table(section: Section, table: Table) -> list[str]:
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


def _tex_entry(entry: Entry) -> str:
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


def csv_text(model: Model, tests: Sequence[Comparison]) -> str:
    """A row per cell and criterion, of the chosen measure. Values as the metric gives them, not in percent."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, CSV_COLUMNS, lineterminator="\n", restval="")
    writer.writeheader()
    for test in tests:
        for criterion in model.criteria:
            cells = model.cells(model.measure, criterion)
            for column in test.setting.columns:
                for row in model.rows_of(test.setting):
                    cell = cells[row, column.label]
                    if not cell.seeds:
                        continue
                    found = _csv_cell(model, cell, row, column.label, criterion)
                    pair = test.pairs.get((column.name, row)) if criterion == model.criterion else None
                    if pair is not None:
                        found |= {"baseline": pair.reference, "pairs": pair.n, "difference": pair.difference}
                        found |= {"p": pair.p, "adjusted_p": pair.adjusted, "decision": pair.decision}
                    writer.writerow({"setting": test.setting.words, "data": column.name, **found})
    return stream.getvalue()


def _csv_cell(model: Model, cell: Cell, row: str, column: str, criterion: str) -> dict[str, object]:
    runs = model.gathered.grid.cell(row, column).runs
    return {
        "method": row,
        "oracle": row in model.oracles,
        "criterion": criterion,
        "criterion_oracle": criterion in model.oracle_criteria,
        "measure": model.measure.key,
        "mean": cell.mean,
        "std": cell.std,
        "n": len(cell.values),
        "seeds": cell.seeds,
        "mark": cell.mark,
        "alike": cell.alike,
        "run_ids": " ".join(run.run_id for run in runs.values()),
    }
