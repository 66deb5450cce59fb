"""``pubench run``: options and a file become a plan, the plan a result, the result a table or one JSON object."""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout
from pathlib import Path

import yaml

from pubench_core.errors import RecordError
from pubench_core.execution.run import execute
from pubench_core.plugins.registry import registry
from pubench_core.request import Layer, Plan, read_yaml, resolve
from pubench_core.results import Result

from .console import err
from .messages import said
from .options import Given
from .progress import data_progress, display
from .results import print_result


def run_once(given: Given, *, sets: list[str], config: Path | None, force: bool, dry_run: bool, as_json: bool) -> None:
    """Carries out what the options, the texts of ``--set`` and the file of ``--config`` describe, and prints it."""
    plan = plan_of(given, sets, config)
    if dry_run:
        print(yaml.safe_dump(plan.spec.model_dump(mode="json"), sort_keys=False), end="")
        return
    tracking = registry().listeners if plan.spec.execution.tracking else []
    try:
        # What a plugin prints goes to stderr: stdout is the result and nothing else.
        with display() as terminal, redirect_stdout(sys.stderr):
            outcome = execute(plan, listeners=tracking, display=terminal, force=force, say=say, progress=data_progress)
    except RecordError as error:
        if error.result is not None:
            _show(error.result, None, reused=False, as_json=as_json)
        raise
    _show(outcome.result, outcome.folder, reused=outcome.reused, as_json=as_json)


def plan_of(given: Given, sets: list[str], config: Path | None) -> Plan:
    """The plan of a file and options; options win, and among them ``--set`` wins."""
    layers = [read_yaml(config)] if config is not None else []
    return resolve(
        [*layers, given.layer(), Layer.of(*sets, prefix="--set ")],
        registry(),
        warn=lambda text: err().print(f"warning: {said(text)}", markup=False),
    )


def say(text: str) -> None:
    """A line on stderr."""
    err().print(said(text), markup=False)


def _show(result: Result, folder: Path | None, *, reused: bool, as_json: bool) -> None:
    for text in (*result.warnings, *result.chosen.warnings):
        err().print(f"warning: {text}", markup=False)
    if as_json:
        record = str(folder) if folder is not None else None
        json.dump({**result.plain(), "record": record, "reused": reused}, sys.stdout, indent=2, allow_nan=False)
        print()
    else:
        print_result(result, folder, registry())
