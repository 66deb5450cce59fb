"""``pubench check``: the conformance checks of a method, or of every method of a package, as a readable report."""

from __future__ import annotations

from rich.text import Text

from pubench_cli.columns import PrintedColumn, print_table
from pubench_cli.console import err, out
from pubench_cli.machine import print_json
from pubench_core.errors import PluginError, unknown
from pubench_core.plugins.info import MethodInfo
from pubench_core.plugins.registry import Entry, registry

from ..conformance import CHECKS, Finding, Subject, check_method

STYLES = {"passed": "green", "declared": "yellow", "not applicable": "dim"}


def check(name: str, *, as_json: bool) -> None:
    """Prints one row per check. Raises PluginError if a method does not conform, RequestError for an unknown name."""
    found = {key: check_method(Subject.of(key), _print_line) for key in methods_of(name)}
    if as_json:
        plain = {key: [{**vars(f), "ok": f.ok} for f in findings] for key, findings in found.items()}
        print_json(plain)
    else:
        for key, findings in found.items():
            _print(key, findings)
    bad = [f"{key} {f.check}" for key, findings in found.items() for f in findings if not f.ok]
    if bad:
        raise PluginError(f"{len(bad)} of {sum(map(len, found.values()))} checks failed: {', '.join(bad)}")


def methods_of(name: str) -> list[str]:
    """Keys of the methods meant: a method by key or alias, or all of a distribution."""
    entries: list[Entry] = registry().entries("method")
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


COLUMNS = (
    PrintedColumn("check"),
    PrintedColumn("what must hold", wraps=True, rank=2),
    PrintedColumn("verdict", wraps=True),
    PrintedColumn("seconds", right=True, rank=1),
    PrintedColumn("reason", wraps=True),
)


def _print(key: str, findings: list[Finding]) -> None:
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
