"""``pubench run``: options and a file become a plan, the plan a result, the result a table or one JSON object."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import asdict
from pathlib import Path
from typing import Any

import yaml

from pubench_core.data.table_reader import is_table_path
from pubench_core.engine.execute import execute
from pubench_core.engine.layers import Layer
from pubench_core.engine.machine import keep_freed_memory
from pubench_core.engine.plan import Plan
from pubench_core.engine.resolve import resolve
from pubench_core.errors import PubenchError, RecordError, RequestError, visible
from pubench_core.plugins.registry import part, registry
from pubench_core.results import Result, RunResult
from pubench_core.sinks import listeners_of

from .console import err
from .machine import print_json
from .messages import said, say
from .options import Given
from .progress import data_progress, display
from .results import print_result
from .yaml_layers import assigned, read_yaml

#: A table of more bytes takes seconds to read.
LARGE = 2**24


def saying_once() -> Callable[[str], None]:
    """A function that prints a line on stderr unless it did before: facts of the data are the same for every run."""
    before: set[str] = set()

    def once(text: str) -> None:
        if text not in before:
            before.add(text)
            say(text)

    return once


@contextmanager
def shown_traceback() -> Iterator[None]:
    """Prints the traceback of an error that is no wrong request, on stderr, before the line that every error has."""
    try:
        yield
    except PubenchError as error:
        if not isinstance(error, RequestError):
            print(visible("".join(traceback.format_exception(error.__cause__ or error))), end="", file=sys.stderr)
        raise


def run_once(
    given: Given,
    *,
    sets: list[str],
    config: Path | None,
    force: bool,
    dry_run: bool,
    as_json: bool,
    seeds: str | None = None,
    full: bool = False,
) -> None:
    """Carries out what the options, the texts of ``--set`` and the file of ``--config`` describe, and prints it.

    ``seeds``: once for each of several seeds, with what the runs have in common. ``full``: every criterion and measure.
    """
    if seeds is not None:
        clashing = {"--dry-run": dry_run, "--full": full, "--seed": given.get("--seed") is not None}
        if other := next((name for name, is_given in clashing.items() if is_given), ""):
            raise RequestError(f"--seeds {seeds} and {other} exclude each other; leave one out", field="seed")
        part("pubench_seeds", "--seeds")(given, seeds, sets, config, force=force, as_json=as_json)
        return
    plan = plan_of(given, sets, config)
    if dry_run:
        spec = plan.spec.model_dump(mode="json")
        if as_json:
            print_json(spec)
        else:
            print(yaml.safe_dump(spec, sort_keys=False), end="")
        return

    def show(result: Result, folder: Path | None, *, reused: bool) -> None:
        _show(plan, result, folder, reused=reused, as_json=as_json, full=full)

    try:
        carry_out(plan, force=force, show=lambda done: show(done.result, done.folder, reused=done.reused))
    except RecordError as error:
        if error.result is not None:
            show(error.result, None, reused=False)
        raise


def carry_out(plan: Plan, *, force: bool, show: Callable[[RunResult], None]) -> RunResult:
    """Runs a plan, or finds its stored result. ``show`` is called with the outcome as soon as it is stored."""
    keep_freed_memory()
    once, listeners, stdout = saying_once(), listeners_of(plan.spec.execution), sys.stdout
    # What a plugin prints goes to stderr: stdout is the result and nothing else.
    with redirect_stdout(sys.stderr), ExitStack() as live:
        terminal = live.enter_context(display())

        def stored(outcome: RunResult) -> None:
            """At once: a tracker that does not answer must not hold a finished result back."""
            live.close()
            with redirect_stdout(stdout):
                show(outcome)
                stdout.flush()

        return execute(
            plan,
            listeners=listeners,
            display=terminal,
            force=force,
            say=once,
            progress=data_progress,
            stored=stored,
        )


def plan_of(given: Given, sets: list[str], config: Path | None) -> Plan:
    """The plan of a file and options; says that a table of more than :data:`LARGE` bytes is read."""
    table = str(given.get("--data", ""))
    if is_table_path(table) and os.path.isfile(table) and os.path.getsize(table) > LARGE:
        say(f"reading {os.path.basename(table)}")
    return resolve(layers_of(given, sets, config), registry(), warn=lambda text: say(f"warning: {said(text)}"))


def layers_of(given: Given, sets: list[str], config: Path | None) -> list[Layer]:
    """A file and options; options win, and among them ``--set`` wins."""
    return [
        *([read_yaml(config)] if config is not None else []),
        given.layer(),
        assigned(*sets, prefix="--set "),
    ]


def decisions_in(plan: Plan, result: Result, folder: Path | None) -> Any:
    """Decisions of a run on a user's table, by ``pubench_models``; None for others, and where they cannot be had."""
    if plan.data.table is None:
        return None
    try:
        decisions_of = part("pubench_decisions", "a summary of the decisions on a table")
    except PubenchError as error:
        say(error)
        return None
    return decisions_of(plan, result, folder)


def _show(plan: Plan, result: Result, folder: Path | None, *, reused: bool, as_json: bool, full: bool) -> None:
    for text in (*result.warnings, *result.chosen.warnings):
        if as_json or text != result.chosen.alike_warning:  # the first line of the table
            err().print(f"warning: {text}", markup=False)
    decisions = decisions_in(plan, result, folder)
    if as_json:
        more = {"decisions": asdict(decisions)} if decisions is not None else {}
        print_json({**result.model_dump(mode="json"), **more, "record": folder and str(folder), "reused": reused})
        return
    print_result(result, folder, lambda: decisions.show(plan) if decisions else None, full=full)
