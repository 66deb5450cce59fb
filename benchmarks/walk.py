"""Where the code of one run lies: modules of core and the command line in the order in which a run enters them.

    python benchmarks/walk.py            two counts, each with and without the command line's start
    python benchmarks/walk.py --modules  the walk itself, a line for each stay in a module

Trains nnPU on `digits` for two epochs. A step is the first call of a function of a module; methods of classes and
nested functions do not count, imports are done before. A stay is a row of steps in one module, a return a stay in a
module that the walk had left. Few returns mean that the files can be read one after the other.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from types import FrameType
from typing import Any

REQUEST = "run --method nnpu --data digits --c 0.1 --set epochs=2 --no-tracking --format json"
PACKAGES = ("pubench", "pubench_core", "pubench_cli")
#: Imported before, so that what runs at import is not part of the walk.
BEFORE = (
    "pubench_cli.run", "pubench_core.engine.execute", "pubench_core.engine.resolve", "pubench_nnpu.method",
    "pubench_metrics_oracle", "pubench_mechanisms",
)  # fmt: skip
#: Where the request of the user has been read.
START = ("pubench_cli.run", "run_once")


@contextmanager
def walking(steps: list[tuple[str, str]]) -> Iterator[None]:
    """Adds each function at its first call."""
    known: set[Any] = set()

    def called(frame: FrameType, event: str, _: Any) -> None:
        module = frame.f_globals.get("__name__", "")
        if event != "call" or module.split(".")[0] not in PACKAGES or frame.f_code in known:
            return
        known.add(frame.f_code)
        if frame.f_code.co_qualname.isidentifier():
            steps.append((module, frame.f_code.co_name))

    sys.setprofile(called)
    try:
        yield
    finally:
        sys.setprofile(None)


def stays(steps: list[tuple[str, str]]) -> list[tuple[str, list[str]]]:
    """Modules in order, each with the functions that are first called during the stay."""
    return [(module, [name for _, name in part]) for module, part in itertools.groupby(steps, lambda step: step[0])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--modules", action="store_true")
    options = parser.parse_args()
    for module in BEFORE:
        importlib.import_module(module)
    command = importlib.import_module("pubench_cli.main").main
    steps: list[tuple[str, str]] = []
    sys.argv = ["pubench", *REQUEST.split()]
    with tempfile.TemporaryDirectory() as folder, open(os.devnull, "w") as nowhere:
        os.chdir(folder)
        with redirect_stdout(nowhere), redirect_stderr(nowhere), walking(steps):
            try:
                command()
            except SystemExit as end:
                if end.code:
                    raise
    inside = steps[steps.index(START) :]
    if options.modules:
        print(*(f"{module}: {', '.join(names)}" for module, names in stays(inside)), sep="\n")
    for what, part in (
        ("from the flags to the record", inside),
        (
            "of these in core",
            [step for step in inside if step[0] != "pubench_cli" and not step[0].startswith("pubench_cli.")],
        ),
        ("with the start of the command line", steps),
    ):
        found = stays(part)
        entered, modules = len(found), len({module for module, _ in found})
        print(f"{what}: {len(part)} functions, {modules} modules, {entered} stays, {entered - modules} returns")


if __name__ == "__main__":
    main()
