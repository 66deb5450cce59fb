"""``pubench verify``: what it prints."""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import redirect_stdout
from pathlib import Path

from pubench_cli.console import err, out
from pubench_cli.machine import print_json
from pubench_cli.messages import said
from pubench_core.errors import counted

from ..verification import Verification, verify


def check(
    folder: Path, *, rerun: int, fresh: int, tolerance: float, seed: int | None, data_root: Path | None, as_json: bool
) -> bool:
    """Prints a line per problem and one that says what was looked at; returns whether there is none."""
    with redirect_stdout(sys.stderr):  # stdout is the answer and nothing else
        found = verify(
            folder, rerun=rerun, fresh=fresh, tolerance=tolerance, seed=seed, data_root=data_root, progress=_say
        )
    if as_json:
        print_json(found.to_dict())
    else:
        _print(found)
    return found.ok


def _say(text: str) -> None:
    err().print(said(text), markup=False, soft_wrap=True)


def _print(found: Verification) -> None:
    console = out()
    for note in found.notes:
        err().print(said(note), markup=False, soft_wrap=True)
    for problem in found.problems:
        console.print(said(str(problem)), markup=False, soft_wrap=True)
    for what, count in Counter(found.unchecked.values()).items():
        console.print(f"not checked as a whole: {counted(count, 'run')}: {what}", markup=False, soft_wrap=True)
    for one in found.again:
        same = "the same scores to the last bit" if one.identical else f"test measures within {one.largest:.4g}"
        if one.other_epochs:
            same += f"; another epoch, and not compared, by {', '.join(one.other_epochs)}"
        console.print(f"{one.run_id}: carried out again in {one.seconds:.1f} s: {same}", markup=False, soft_wrap=True)
    for tried in found.fresh:
        console.print(said(f"{tried.run_id}: {tried}"), markup=False, soft_wrap=True)
    derived = found.records - found.without_scores
    unchecked = f", {len(found.unchecked)} not checked as a whole" if found.unchecked else ""
    console.print(
        f"{counted(found.records, 'record')}, {counted(len(found.problems), 'problem')}{unchecked}; measures derived "
        f"again from the scores of {derived}; {counted(found.checksums, 'checksum')} compared; "
        f"{counted(found.carried_out, 'run')} carried out again",
        markup=False,
        soft_wrap=True,
    )
