"""``verify``, ``reproduce``, ``board build``, ``board check`` and ``submit``: as they are typed, and what they print.

Stdout is the answer and nothing else.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pubench_cli.choices import Format
from pubench_cli.columns import PrintedColumn, print_table
from pubench_cli.commands.shared import PrintFormat, RecordedRun, Results
from pubench_cli.console import err, out
from pubench_cli.machine import print_json
from pubench_cli.messages import said
from pubench_cli.options import Root
from pubench_cli.process import Over
from pubench_cli.progress import data_progress, display
from pubench_cli.recorded_run import folder_of_run
from pubench_core.errors import Notice, counted
from pubench_core.plugins.registry import registry

if TYPE_CHECKING:
    from ..reproduction import Reproduction

#: Versions that are there on one side only are named together from here on: a plugin installed since changes no run.
_FEW = 3


def _say(text: Notice | str) -> None:
    err().print(said(text), markup=False, soft_wrap=True)


def _answer(text: object, style: str = "") -> None:
    out().print(said(str(text)), style=style, markup=False, soft_wrap=True)


def _ended(*, well: bool) -> None:
    if not well:
        raise Over(1)


# -------------------------------------------------------------------- verify


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

    with redirect_stdout(sys.stderr):
        found = verify(
            folder,
            rerun=rerun,
            fresh=fresh,
            blind=blind,
            tolerance=tolerance,
            seed=seed,
            data_root=data_root,
            progress=_say,
        )
    if format is Format.json:
        print_json(found.to_dict())
        return _ended(well=found.ok)
    for note in found.notes:
        _say(note)
    for problem in found.problems:
        _answer(problem)
    for what, count in Counter(found.unchecked.values()).items():
        _answer(f"not checked as a whole: {counted(count, 'run')}: {what}")
    for one in (*found.again, *found.fresh, *found.blind):
        _answer(one)
    unchecked = f", {len(found.unchecked)} not checked as a whole" if found.unchecked else ""
    _answer(
        f"{counted(found.records, 'record')}, {counted(len(found.problems), 'problem')}{unchecked}; measures derived "
        f"again from the scores of {found.records - found.without_scores}; "
        f"{counted(found.checksums, 'checksum')} compared; {counted(found.carried_out, 'run')} carried out again"
    )
    return _ended(well=found.ok)


# -------------------------------------------------------------------- reproduce


def reproduce(
    run: RecordedRun,
    results: Results = Path("results"),
    data: Annotated[
        Path | None,
        typer.Option(help="Where the table of a run on a table of your own is now. (default: the record's)"),
    ] = None,
    test: Annotated[Path | None, typer.Option(help="Where its test rows are now. (default: the record's)")] = None,
    data_root: Annotated[
        Path | None,
        typer.Option("--data-root", help="Folder of data files. (default: the record's, where it is here)"),
    ] = None,
    device: Annotated[str | None, typer.Option(help="auto, cpu or cuda:0. (default: the record's)")] = None,
    threads: Annotated[int | None, typer.Option(help="CPU threads. (default: the record's)", min=1, max=1024)] = None,
    format: PrintFormat = Format.table,
) -> None:
    """Run a record's spec again and say whether the scores are the same to the last bit; if not, what differs.

    The record stays as it is. Exit codes: 0 identical, measures included, 1 not, 2 a wrong request.
    """
    from ..reproduction import Here, reproduced

    folder, here = folder_of_run(results, run), Here(data, test, data_root, device, threads)
    with redirect_stdout(sys.stderr), display() as terminal:
        found = reproduced(folder, here, display=terminal, say=_say, progress=data_progress)
    if format is Format.json:
        print_json({"record": str(folder), **found.to_dict()})
        return _ended(well=found.confirmed)
    spec = found.recorded.spec
    _answer(
        f"{spec.method.key} on {spec.data.key}, seed {spec.seed}, run again in {found.now.seconds.total:.1f} s "
        f"({found.recorded.seconds.total:.1f} s recorded)",
        "bold",
    )
    _answer(found.verdict, "" if found.identical else "yellow")
    for one in found.fields if found.identical or not found.kept_scores else ():
        _answer(one, "yellow")
    if not found.identical and found.kept_scores:
        _print_scores(found)
        _print_measures(found)
    _print_changed(found)
    _answer(f"record: {folder}")
    return _ended(well=found.confirmed)


def _print_scores(found: Reproduction) -> None:
    if not found.scores:
        return
    numbers = ("epoch", "epoch now", "rows", "scores that differ", "largest difference", "decisions that differ")
    columns = [PrintedColumn("selected by"), PrintedColumn("part")]
    columns += [PrintedColumn(name, right=True, rank=int(name == "scores that differ")) for name in numbers]
    rows = []
    for one in found.scores:
        named = "> " if one.criterion == found.recorded.selected else "  "
        apart = ["other rows"] * 3
        if one.different is not None:
            apart = [f"{one.different:,}", f"{one.largest:.3g}", f"{one.decisions:,}"]
        epochs = [str(epoch or "") for epoch in (one.epoch_recorded, one.epoch_now)]
        rows.append([named + one.criterion, one.part, *epochs, f"{one.rows:,}", *apart])
    print_table(out(), columns, rows)


def _print_measures(found: Reproduction) -> None:
    """Test measures that differ, under the criterion that names the result; ``--format json`` has all fields."""
    mine, headline = found.test_measures, registry().headline()
    title = f"test measure, selected by {found.recorded.selected}"
    if not mine:
        return _answer(f"no {title}, differs")
    names = ("recorded", "now", "difference")
    columns = [PrintedColumn(title, wraps=True), *(PrintedColumn(name, right=True) for name in names)]
    rows = []
    for metric in sorted(mine, key=lambda name: headline.index(name) if name in headline else len(headline)):
        old, new = mine[metric].recorded, mine[metric].now
        apart = None if old is None or new is None else new - old
        rows.append([metric, *("-" if value is None else f"{value:.6g}" for value in (old, new, apart))])
    return print_table(out(), columns, rows)


def _print_changed(found: Reproduction) -> None:
    from ..reproduction import ABSENT

    if not found.changed:
        return _answer("code, versions, hardware and threads are those of the record")
    _answer("otherwise than when the record was made:")
    sides = {"recorded": "installed since", "now": "installed no more"}
    folded = {
        side: [one for one in found.changed if one.kind == "versions" and getattr(one, side) == ABSENT]
        for side in sides
    }
    folded = {side: mine for side, mine in folded.items() if len(mine) > _FEW}
    columns = [PrintedColumn("what"), *(PrintedColumn(name, wraps=True) for name in ("name", "recorded", "now"))]
    shown = [one for one in found.changed if not any(one in mine for mine in folded.values())]
    print_table(out(), columns, [[one.kind, one.name, one.recorded, one.now] for one in shown])
    for side, mine in folded.items():
        _answer(f"{sides[side]}: {', '.join(one.name for one in mine)}")
    return None


# -------------------------------------------------------------------- boards and submissions


def build(
    name: Annotated[str, typer.Argument(help="The month, with a name in front if it is not the main board: 2026.12.")],
    sources: Annotated[
        list[Path], typer.Option("--from", help="Folder of records, or file of rows (.csv). Repeatable.")
    ],
    out: Annotated[Path, typer.Option(help="Folder that gets the board.", file_okay=False)] = Path("boards"),
    format: PrintFormat = Format.table,
) -> None:
    """Freeze finished runs as a dated board: rows as parquet, scores apart, checksums, BibTeX.

    A board that is there is never changed. Runs on user tables are left out.
    """
    from pubench_report.rows.files import FACTS

    from ..boards import build

    built = build(name, sources, out)
    if format is Format.json:
        return print_json({**json.loads((built.folder / FACTS).read_text("utf-8")), "folder": str(built.folder)})
    for note in built.notes:
        _say(f"note: {note}")
    _answer(f"{built.folder}: {counted(built.rows, 'row')} of {counted(built.runs, 'run')}")
    scores = "no source has scores" if built.scores is None else f"scores: {built.scores}"
    return _answer(f"{scores}; use it: pubench study compare results --with {built.folder}")


def check(
    folder: Annotated[Path, typer.Argument(help="Folder of a board.", file_okay=False)],
    format: PrintFormat = Format.table,
) -> None:
    """Check the files of a board against its checksums and its format.

    One line per problem. Exit codes: 0 none, 1 some, 2 a wrong request.
    """
    from ..boards import problems_of

    found = problems_of(folder)
    if format is Format.json:
        print_json({"ok": not found, "problems": found})
    else:
        for line in (*found, f"{folder}: {counted(len(found), 'problem')}"):
            _answer(line)
    _ended(well=not found)


def submit(
    folder: Annotated[Path, typer.Argument(help="Folder of records.")] = Path("results"),
    name: Annotated[str, typer.Option(help="Name of the submission: lower case, digits and hyphens.")] = "submission",
    study: Annotated[str | None, typer.Option(help="Only the runs of this study.")] = None,
    methods: Annotated[
        list[str] | None, typer.Option("--method", help="Only runs of this method. Repeatable. (default: all)")
    ] = None,
    board: Annotated[
        str | None, typer.Option("--with", metavar="BOARD", help="A board to compare with: board@2026.12, a folder.")
    ] = None,
    rerun: Annotated[
        int, typer.Option(help="How many runs to repeat, drawn at random; at least one of each method.", min=0)
    ] = 1,
    out: Annotated[Path, typer.Option(help="Folder that gets the files.", file_okay=False)] = Path("."),
    data_root: Root = None,
    format: PrintFormat = Format.table,
) -> None:
    """Pack records for a board, check them as its workflow does, and write what the issue form needs.

    Written: NAME.tar.gz (records with their scores), NAME.md (the text of the issue) and NAME-check.md (the comment
    that the workflow will make); the comment alone if it is refused. Exit codes: 0 accepted, 1 refused, 2 a wrong
    request.
    """
    from pubench_report.rows import read_board

    from ..archive import pack_records
    from ..submission import check, issue_text

    against = None if board is None else read_board(board)
    made = pack_records(folder, name, out, study=study, methods=methods or ())
    with redirect_stdout(sys.stderr):
        found = check(made.archive, board=against, rerun=rerun, data_root=data_root, progress=_say)
    comment, issue = out / f"{name}-check.md", out / f"{name}.md"
    comment.write_text(found.markdown(), encoding="utf-8")
    if found.ok:
        issue.write_text(issue_text(made, found.markdown()), encoding="utf-8")
    else:
        made.archive.unlink()
    if format is Format.json:
        paths = {"archive": str(made.archive), "issue": str(issue)} if found.ok else {}
        print_json({"ok": found.ok, "sha256": made.sha256, "reasons": list(found.reasons), **paths})
    else:
        for line in found.markdown().rstrip().split("\n"):
            _answer(line)
        for path in [made.archive, issue, comment] if found.ok else [comment]:
            _say(f"written: {path}")
        if found.ok:
            records = counted(len(made.records), "record")
            what = f"drop {made.archive.name} on it, and copy the fields of {issue.name}"
            _say(f"send {records}: open the issue form Submission, {what}")
    _ended(well=found.ok)
