"""``pubench data check my.csv``: what is understood of a user's table, before anything is trained."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.text import Text

from pubench_core.data.table_reader import A_NUMBER, ColumnUse, is_table_path, table_reader
from pubench_core.plugins.registry import registry

from .columns import PrintedColumn, print_table
from .console import out
from .machine import print_json
from .messages import in_flags
from .options import TABLE_FLAGS, Given

_COLUMNS = (
    PrintedColumn("column", wraps=True),
    PrintedColumn("is", wraps=True),
    PrintedColumn("what becomes of it", wraps=True),
    PrintedColumn("values", right=True, rank=3),
    PrintedColumn("missing", right=True, rank=1),
    PrintedColumn("such as", wraps=True, rank=2),
)


def print_table_facts(file: str, given: Given, *, as_json: bool) -> None:
    """Prints every column's type and use, who is labeled, and unusual facts.

    Raises RequestError for a table that a run would refuse. Without a column of labels, says which could be one.
    """
    path = Path(file)
    own = {option.path[-1]: value for option, value in given.values if option.flag in TABLE_FLAGS}
    guessed: list[str] = []
    reader = table_reader(registry())
    if not own.keys() & {"label_col", "positives", "unlabeled"}:
        frame = reader.frame(path, say=guessed.append, no_header=bool(own.get("no_header")))
        _print_unlabeled(path, reader.uses(frame), len(frame), guessed, as_json=as_json)
        return
    spec = reader.spec({**own, "path": path})
    table, frame = reader.read(spec), reader.rows(spec)
    uses = reader.uses(frame, spec, table)
    commands = _commands(path, given)
    if as_json:
        negative = 0 if table.known_negative is None else int(table.known_negative.sum())
        facts = {
            "file": str(path),
            "rows": len(table.labeled),
            "labeled": int(table.labeled.sum()),
            "unlabeled": int((~table.labeled).sum()) - negative,
            "known_negative": negative,
            "features": [name for column in table.columns for name in column.features],
            "columns": [asdict(use) for use in uses],
            "notes": [in_flags(note) for note in table.notes],
            "run": commands[-1],
        }
        print_json(facts)
        return
    _print_uses(path, uses, len(frame))
    for note in table.notes:
        out().print(in_flags(note), markup=False)
    out().print("\nnothing is trained yet; next:", *commands, sep="\n", markup=False, soft_wrap=True)


def label_candidates(uses: Sequence[ColumnUse]) -> list[str]:
    """Columns that could say who is labeled, the likely ones first: of that name, or of one value and blank cells."""
    found = [use for use in uses if use.distinct == 2 or (use.distinct == 1 and use.missing)]
    return [use.name for use in sorted(found, key=lambda use: (_LABEL_NAME.search(use.name) is None, use.distinct))]


def _print_unlabeled(path: Path, uses: Sequence[ColumnUse], rows: int, guessed: list[str], *, as_json: bool) -> None:
    """A first look: nobody has said which column holds the labels."""
    candidates = label_candidates(uses)
    if as_json:
        facts = {"file": str(path), "rows": rows, "columns": [asdict(use) for use in uses], "notes": guessed}
        print_json({**facts, "could_be_labels": candidates})
        return
    _print_uses(path, uses, rows)
    for note in guessed:
        out().print(note, markup=False)
    could = ", ".join(f"'{name}'" for name in candidates[:LIKELY]) or "no column has two values, or one and blank cells"
    could += f" and {len(candidates) - LIKELY} more" if len(candidates) > LIKELY else ""
    out().print(f"\nsay who is labeled with --label-col COLUMN; could be: {could}", markup=False)


#: Columns of two values that are named as possible labels, the likely ones first, and names of such.
LIKELY = 8
_LABEL_NAME = re.compile(
    r"label|target|class|positive|known|confirmed|presence|present|observed|outcome|fraud|^(y|s|pu|made|hit|active)$",
    re.IGNORECASE,
)
#: So many columns that become a number each are listed; of more, a few, and how many there are.
LISTED, A_FEW = 40, 10


def _print_uses(path: Path, uses: Sequence[ColumnUse], rows: int) -> None:
    console = out()
    console.print(Text(f"{path.name}: {rows} rows, {len(uses)} columns", "bold"))
    numbers = [use.name for use in uses if use.what == A_NUMBER]
    hidden = set(numbers[A_FEW:]) if len(numbers) > LISTED else set[str]()
    shown = [use for use in uses if use.name not in hidden]
    cells = [
        [u.name, u.use, in_flags(u.what), str(u.distinct), str(u.missing or ""), ", ".join(u.examples)] for u in shown
    ]
    styles = ["dim" if use.use == "left out" else "" for use in shown]
    print_table(console, _COLUMNS, cells, styles, everything="--format json")
    if hidden:
        console.print(f"and {len(hidden)} more columns that become a number each (--format json)", markup=False)


def _commands(path: Path, given: Given) -> list[str]:
    """What comes next for the table as it was described: advice, if that takes all of its options, and a run."""
    named = [
        [option.flag] if option.field.switch is not None else [option.flag, str(value)]
        for option, value in given.values
        if option.flag in TABLE_FLAGS
    ]
    table = [str(path if is_table_path(str(path)) else f"./{path}"), *(word for pair in named for word in pair)]
    run = shlex.join(["pubench", "run", "--method", "pu-bagging", "--data", *table])
    for_advice = {flag for flag, *_ in named}.isdisjoint(("--truth-col", "--test"))
    return [shlex.join(["pubench", "advise", *table]), run] if for_advice else [run]
