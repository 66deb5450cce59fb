"""Writes the README's table of methods: what each is, and what was measured of it, from the rows in ``results/``.

python benchmarks/readme_table.py            # writes
python benchmarks/readme_table.py --check    # exit code 1 where the README has another table
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

import summary

from pubench_core.plugins.info import DatasetInfo, MethodInfo
from pubench_core.plugins.registry import registry

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
START, END = "<!-- written by benchmarks/readme_table.py -->\n", "<!-- end -->\n"
PRESETS = {"pubench", "wang"}


def table() -> str:
    """Markdown: every data set with the number of seeds that one protocol has on it, marked if any row is older."""
    names = {info.key: info.name for info in registry().infos(DatasetInfo)}
    plain = {info.key for info in registry().infos(MethodInfo) if not PRESETS & set(info.presets)}  # run as they are
    seeds: dict[tuple[str, str, summary.Protocol], dict[int, bool]] = defaultdict(dict)
    for row in summary.read_accuracy(sorted((ROOT / "benchmarks" / "results").glob("*.csv"))):
        if row.protocol.preset in PRESETS or row.method in plain:
            seeds[row.method, row.data, row.protocol][row.seed] = row.older
    most: dict[str, dict[str, dict[int, bool]]] = defaultdict(dict)
    for (method, data, _), found in seeds.items():
        most[method][data] = max(most[method].get(data, {}), found, key=len)
    lines = [summary.line(["method", "paper", "measured on (seeds)"]), summary.line(["---"] * 3)]
    for info in sorted(registry().infos(MethodInfo), key=lambda info: (info.family, info.key)):
        paper = f"{info.name}, {info.reference.venue} {info.reference.year}" if info.reference else info.name
        measured = sorted(most[info.key].items())
        data = ", ".join(
            f"{names.get(key, key)} ({len(n)}{f' {summary.OLDER}' if any(n.values()) else ''})" for key, n in measured
        )
        lines.append(summary.line([f"`{info.key}`", paper, data or "not yet"]))
    lines += ["", f"{summary.OLDER}: some or all of its runs are of an {summary.OLDER_ROWS}."]
    return "\n".join(lines) + "\n"


def main() -> None:
    before, rest = README.read_text(encoding="utf-8").split(START)
    written, after = rest.split(END)
    if sys.argv[1:] == ["--check"]:
        sys.exit(written.strip() != table().strip() and "README.md: run python benchmarks/readme_table.py")
    README.write_text(f"{before}{START}\n{table()}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
