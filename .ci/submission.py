"""Steps of the workflow ``submission``: read an issue's fields, then check the archive.

    python .ci/submission.py fields EVENT.json               archive=, sha256=, package=, as GITHUB_OUTPUT takes them
    python .ci/submission.py check ARCHIVE --comment OUT.md  [--sha256 HEX] [--with BOARD] [--rerun N] [--data-root DIR]

``fields`` reads what strangers wrote: a field of another form ends it with exit code 2 and one line, before anything is
fetched or installed. ``check`` writes the comment and ends with exit code 0 for a sound submission, 1 for one that is
refused, 2 for a wrong request. A test calls both.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

#: Field of the form -> what it may hold. Every value is put into a command line.
FIELDS = {
    "archive": (
        "Archive",
        r"https://github\.com/(?:user-attachments/files/\d+|[\w.-]+/[\w.-]+/files/\d+)/[\w.-]+\.zip",
    ),
    "sha256": ("SHA-256 of the archive", r"[0-9a-f]{64}"),
    "package": ("Package", r"[A-Za-z0-9][\w.-]*==[\w.]+|git\+https://github\.com/[\w.-]+/[\w.-]+@[0-9a-f]{40}"),
}
#: What a form has where nothing was given.
NONE = "_No response_"


def fields(event: Path) -> dict[str, str]:
    """The fields of an issue. Ends the program for one of another form, or another than the comment repeats.

    ``package`` may be empty: a shipped method.
    """
    told = json.loads(event.read_text(encoding="utf-8"))
    body = str(told["issue"]["body"]).replace("\r\n", "\n")
    sections = dict(re.findall(r"(?ms)^### (.+?)\n+(.*?)(?=\n+### |\Z)", body))
    found = {}
    for name, (title, form) in FIELDS.items():
        text = sections.get(title, "").strip()
        if name == "archive" and (linked := re.fullmatch(r"\[[^\]\n]*\]\((\S+)\)", text)):
            text = linked[1]
        if name == "package" and text in ("", NONE):
            text = ""
        elif not re.fullmatch(form, text, re.ASCII):
            raise SystemExit(f"error: the field {title} must match {form}, got {text[:100]!r}")
        found[name] = text
    looked_at = ["check", found["sha256"], *([found["package"]] if found["package"] else [])]
    if str(told["comment"]["body"]).split() != looked_at:
        raise SystemExit(
            f"error: the comment must repeat what was looked at, {' '.join(looked_at)!r}: the issue changed"
        )
    return found


def check(options: argparse.Namespace) -> int:
    """Writes the comment. Returns the exit code."""
    from pubench_verify.findings import RecordProblem, Verification

    import pubench
    from pubench_core.data.cache import sha256_of
    from pubench_core.errors import PubenchError

    archive = options.archive
    try:
        digest = sha256_of(archive)
        if options.sha256 not in (None, digest):
            problem = RecordProblem("the archive", f"it has the SHA-256 {digest}, the issue says {options.sha256}")
            found = Verification(archive, problems=(problem,), sha256=digest)
        else:
            found = pubench.verify(
                archive,
                board=options.board,
                rerun=options.rerun,
                data_root=options.data_root,
                progress=lambda line: print(line, file=sys.stderr, flush=True),
            )
    except (PubenchError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    verdict = "sound" if found.ok else f"refused, {len(found.problems)} reasons"
    lines = [*str(found).split("\n"), *(f"note: {note}" for note in found.notes)]
    comment = f"**{verdict}**\n\n" + "".join(
        f"    {line}\n" for line in lines
    )  # of code: nothing is marked up or named
    options.comment.write_text(comment, encoding="utf-8")
    print(comment, end="")
    return 0 if found.ok else 1


def main(arguments: list[str] | None = None) -> int:
    """Returns the exit code."""
    parser = argparse.ArgumentParser(prog=".ci/submission.py", description=(__doc__ or "").split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    of_issue = commands.add_parser("fields", help="the fields of an issue, one a line")
    of_issue.add_argument("event", type=Path, help="the event that the workflow was started by")
    of_archive = commands.add_parser("check", help="check an archive and write the comment")
    of_archive.add_argument("archive", type=Path)
    of_archive.add_argument("--comment", type=Path, required=True, help="the file to write")
    of_archive.add_argument("--sha256", help="what the issue says")
    of_archive.add_argument("--with", dest="board", help="a board: board@2026.12, or its folder")
    of_archive.add_argument(
        "--rerun", type=int, default=1, help="how many runs to carry out again, at least one of each method"
    )
    of_archive.add_argument("--data-root", type=Path, help="folder of data files")
    options = parser.parse_args(arguments)
    if options.command == "check":
        return check(options)
    for name, value in fields(options.event).items():
        print(f"{name}={value}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
