"""Raw rows, as every script here keeps them: appended to a CSV file, with the commit, the machine and the command."""

from __future__ import annotations

import argparse
import csv
import platform
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # some scripts here measure something else and need no pubench
    import pandas as pd

ROOT = Path(__file__).parents[1]
#: Where rows are committed.
RESULTS = ROOT / "benchmarks" / "results"


def parser_of(doc: str | None, **choices: Iterable[str]) -> argparse.ArgumentParser:
    """Arguments of a script: one of each of the ``choices``, then ``parameters`` (name, value) and ``out``."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    for what, names in choices.items():
        parser.add_argument(what, choices=list(names))
    parser.add_argument("parameters", nargs="*", metavar="NAME=VALUE", type=_parameter)
    parser.add_argument("--out", type=Path)
    return parser


def _parameter(text: str) -> tuple[str, Any]:
    import yaml

    name, _, value = text.partition("=")
    return name, yaml.safe_load(value)


def append(path: Path, row: Mapping[str, Any]) -> None:
    """Adds a row to a file, with commit, machine and command unless the row has them.

    A new file gets the row's names as its header. Exits if the file has other columns, or if the row would go into
    ``results/`` and the checkout has uncommitted changes.
    """
    whole = dict(row) | {name: value() for name, value in ORIGIN.items() if name not in row}
    if path.resolve().is_relative_to(RESULTS) and str(whole["commit"]).endswith("-dirty"):
        sys.exit(f"{path}: the checkout has uncommitted changes: commit them first, or write to another folder")
    columns = list(whole)
    if path.exists():
        with path.open(newline="") as file:
            columns = next(csv.reader(file), [])
        if set(columns) != set(whole):
            sys.exit(f"{path} has the columns {', '.join(columns)}; the new row has {', '.join(whole)}")
    new = not path.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, columns)
        if new:
            writer.writeheader()
        writer.writerow(whole)


@cache
def study_rows(files: str = "study-*.csv") -> pd.DataFrame:
    """The rows of all committed studies, one after another; measures in percent by their own names."""
    from pubench_report.rows.files import read_rows

    frame = read_rows(*sorted(RESULTS.glob(files)))
    shares = {name: name.removeprefix("test_") for name in frame if name.startswith("test_")}
    frame[[*shares]] = (100 * frame[[*shares]]).round(4)
    return frame.rename(columns={**shares, "prior": "told_prior", "prior_from": "prior"})


def keys(path: Path, names: Sequence[str]) -> set[tuple[str, ...]]:
    """The values of some columns of a file's rows, as texts; none if there is no file."""
    if not path.exists():
        return set()
    with path.open(newline="") as file:
        return {tuple(row[name] for name in names) for row in csv.DictReader(file)}


@cache
def commit() -> str:
    """Commit of this checkout, with ``-dirty`` if anything except the rows themselves is changed."""
    here = ["git", "-C", str(ROOT)]
    head = subprocess.run([*here, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True)
    changed = subprocess.run([*here, "diff", "--quiet", "HEAD", "--", ".", ":(exclude)benchmarks/results"])
    return f"{head.stdout.strip()}{'-dirty' if changed.returncode else ''}"


@cache
def machine() -> str:
    """System, architecture, model name of the processor."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "?")
    return f"{platform.system()} {platform.machine()}, {model}"


def command() -> str:
    """The script or package and its arguments, as they were called."""
    script = Path(sys.argv[0])
    called = ["python", "-m", f"benchmarks.{script.parent.name}"] if script.stem == "__main__" else [script.name]
    return shlex.join([*called, *sys.argv[1:]])


#: What every row says of where it is from.
ORIGIN: Mapping[str, Callable[[], str]] = {"commit": commit, "machine": machine, "command": command}
