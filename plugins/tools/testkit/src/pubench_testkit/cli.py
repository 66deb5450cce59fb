"""The commands ``check``, ``new`` and ``new-method``: as they are typed, and what they print."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from pubench_cli.choices import Format, PrintFormat
from pubench_cli.columns import PrintedColumn, print_table
from pubench_cli.console import err, out
from pubench_cli.machine import print_json
from pubench_core.errors import PluginError, unknown
from pubench_core.plugins.info import MethodInfo
from pubench_core.plugins.registry import registry

if TYPE_CHECKING:
    from .conformance import Finding


def methods_and_packages(incomplete: str) -> list[str]:
    """Completion of a method's key or of the name of a package that has methods."""
    entries = registry().entries("method")
    return sorted({name for e in entries for name in (e.key, e.distribution) if name.startswith(incomplete)})


NewKey = Annotated[str, typer.Argument(help="Its key: lower-case words joined by hyphens (my-method).")]
NewPath = Annotated[
    Path | None, typer.Option("--path", help="Folder that gets the package's folder. (default: here)", file_okay=False)
]
NewFamily = Annotated[
    str | None,
    typer.Option("--family", help="How a method uses unlabeled rows: risk (default), disambiguation or generative."),
]
NewTemplate = Annotated[
    str | None, typer.Option("--template", help="How a method trains: network (default), two-stage or trees.")
]
InRepo = Annotated[bool, typer.Option("--in-repo", help="Into plugins/ of the checkout that this folder is in.")]


def new(
    kind: Annotated[str, typer.Argument(help="What it is: method, dataset, mechanism, metric, sink or command.")],
    key: NewKey,
    path: NewPath = None,
    family: NewFamily = None,
    template: NewTemplate = None,
    in_repo: InRepo = False,
) -> None:
    """Make a package with a plugin that works, its tests, and comments that say what to replace."""
    from .scaffold import create

    create(kind, key, path=path, in_repo=in_repo, template=template, family=family)


def new_method(
    key: NewKey,
    path: NewPath = None,
    family: NewFamily = None,
    template: NewTemplate = None,
    in_repo: InRepo = False,
) -> None:
    """Make a package with a method that works; the same as new method KEY."""
    new("method", key, path, family, template, in_repo)


def check(
    name: Annotated[
        str,
        typer.Argument(help="Method key or alias, or the name of a package.", autocompletion=methods_and_packages),
    ],
    format: PrintFormat = Format.table,
) -> None:
    """Put a method through every conformance check. Exit code 1 if one fails."""
    from .conformance import Subject, check_method

    found = {key: check_method(Subject.of(key), _print_line) for key in methods_of(name)}
    if format is Format.json:
        print_json({key: [{**vars(f), "ok": f.ok} for f in findings] for key, findings in found.items()})
    else:
        for key, findings in found.items():
            print_report(key, findings)
    bad = [f"{key} {f.check}" for key, findings in found.items() for f in findings if not f.ok]
    if bad:
        raise PluginError(f"{len(bad)} of {sum(map(len, found.values()))} checks failed: {', '.join(bad)}")


def methods_of(name: str) -> list[str]:
    """Keys of the methods meant: a method by key or alias, or all of a distribution."""
    entries = registry().entries("method")
    broken = [e for e in entries if e.status != "ok" and name in (e.key, e.distribution)]
    if broken:
        raise PluginError(f"{broken[0].key} ({broken[0].distribution}) is {broken[0].status}: {broken[0].reason}")
    by_package = [e.key for e in entries if e.distribution == name]
    if by_package:
        return by_package
    known = {alias for e in entries if e.info for alias in (e.key, *e.info.aliases)}
    if name not in known:
        raise unknown("method or package", name, {*known, *(e.distribution for e in entries)})
    return [registry().find(MethodInfo, name).key]


def _print_line(finding: Finding) -> None:
    err().print(f"{finding.check}: {finding.verdict} ({finding.seconds:.1f} s)", markup=False)


STYLES = {"passed": "green", "declared": "yellow", "not applicable": "dim"}
COLUMNS = (
    PrintedColumn("check"),
    PrintedColumn("what must hold", wraps=True, rank=2),
    PrintedColumn("verdict", wraps=True),
    PrintedColumn("seconds", right=True, rank=1),
    PrintedColumn("reason", wraps=True),
)


def print_report(key: str, findings: list[Finding]) -> None:
    """A table with a row per check; a reason is printed once."""
    from .conformance import CHECKS

    rows: list[list[str | Text]] = []
    given: dict[str, str] = {}
    for f in findings:
        demand = (CHECKS[f.check].__doc__ or "").strip() if f.check in CHECKS else ""
        reason = f"as {given[f.reason]}" if f.reason in given else f.reason
        if reason:
            given.setdefault(reason, f.check)
        rows.append([f.check, demand, Text(f.verdict, STYLES.get(f.verdict, "bold red")), f"{f.seconds:.1f}", reason])
    out().print(key, style="italic", markup=False)
    print_table(out(), COLUMNS, rows, everything=f"pubench check {key} --format json")
    counts = {v: sum(f.verdict == v for f in findings) for v in dict.fromkeys(f.verdict for f in findings)}
    out().print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
