"""``pubench verify``: a line per problem, and one that says what was looked at."""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pubench_cli.choices import Format
from pubench_cli.commands.shared import PrintFormat
from pubench_cli.console import err, out
from pubench_cli.machine import print_json
from pubench_cli.messages import said
from pubench_cli.options import Root
from pubench_cli.process import Over
from pubench_core.errors import counted

if TYPE_CHECKING:
    from ..result import Blind, Fresh, Verification


def verify(
    folder: Annotated[Path, typer.Argument(help="Folder of records, or one record.")],
    rerun: Annotated[int, typer.Option(help="How many runs to carry out again, chosen at random.", min=0)] = 1,
    fresh: Annotated[
        int,
        typer.Option(help="How many methods to try on another split with other positive classes.", min=0),
    ] = 0,
    blind: Annotated[int, typer.Option(help="How many runs to train with other hidden labels.", min=0)] = 0,
    tolerance: Annotated[
        float,
        typer.Option(help="How much a test measure may differ on another machine.", min=0, max=1),
    ] = 0.02,
    seed: Annotated[int | None, typer.Option(help="Seed for choosing runs to repeat. (default: random)")] = None,
    data_root: Root = None,
    format: PrintFormat = Format.table,
) -> None:
    """Check records that others made: files, specs, code, measures from stored scores; run some of them again.

    One line per problem. Exit codes: 0 none, 1 some, 2 a wrong request.
    """
    from ..verification import verify

    def say(text: str) -> None:
        err().print(said(text), markup=False, soft_wrap=True)

    with redirect_stdout(sys.stderr):  # stdout is the answer and nothing else
        found = verify(
            folder,
            rerun=rerun,
            fresh=fresh,
            blind=blind,
            tolerance=tolerance,
            seed=seed,
            data_root=data_root,
            progress=say,
        )
    if format is Format.json:
        print_json(found.to_dict())
    else:
        for note in found.notes:
            say(note)
        for line in _lines(found):
            out().print(said(line), markup=False, soft_wrap=True)
    if not found.ok:
        raise Over(1)


def _lines(found: Verification) -> list[str]:
    lines = [*map(str, found.problems)]
    for what, count in Counter(found.unchecked.values()).items():
        lines.append(f"not checked as a whole: {counted(count, 'run')}: {what}")
    for one in found.again:
        same = "the same scores to the last bit" if one.identical else f"test measures within {one.largest:.4g}"
        if one.other_epochs:
            same += f"; another epoch, and not compared, by {', '.join(one.other_epochs)}"
        lines.append(f"{one.run_id}: carried out again in {one.seconds:.1f} s: {same}")
    tried: list[Fresh | Blind] = [*found.fresh, *found.blind]
    lines += [f"{one.run_id}: {one}" for one in tried]
    unchecked = f", {len(found.unchecked)} not checked as a whole" if found.unchecked else ""
    return [
        *lines,
        f"{counted(found.records, 'record')}, {counted(len(found.problems), 'problem')}{unchecked}; measures derived "
        f"again from the scores of {found.records - found.without_scores}; "
        f"{counted(found.checksums, 'checksum')} compared; {counted(found.carried_out, 'run')} carried out again",
    ]
