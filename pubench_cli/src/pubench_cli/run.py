"""``pubench run``: flags and a file become a spec, the spec a result, the result a table or one JSON object."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import yaml

from pubench_core.errors import RecordError
from pubench_core.execution.run import execute
from pubench_core.plugins.registry import registry
from pubench_core.request import Layer, read_yaml, resolve
from pubench_core.specs import RunSpec

from .console import err
from .progress import data_progress, listener
from .results import print_result

Path_ = tuple[str, ...]


def run_once(
    flags: Mapping[Path_, tuple[str, Any]],
    *,
    sets: list[str],
    config: Path | None,
    force: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """``flags``: path in the spec -> (flag as written, value)."""
    spec = build_spec(flags, sets, config)
    if dry_run:
        print(yaml.safe_dump(spec.model_dump(mode="json"), sort_keys=False), end="")
        return
    try:
        # What a plugin prints goes to stderr: stdout is the result and nothing else.
        with listener() as terminal, redirect_stdout(sys.stderr):
            outcome = execute(
                spec,
                registry=registry(),
                listeners=[terminal],
                force=force,
                say=lambda text: err().print(text, markup=False),
                progress=data_progress,
            )
    except RecordError as error:
        if error.result is not None:
            _show(error.result, None, reused=False, as_json=as_json)
        raise
    _show(outcome.result, outcome.folder, reused=outcome.reused, as_json=as_json)


def build_spec(flags: Mapping[Path_, tuple[str, Any]], sets: list[str], config: Path | None) -> RunSpec:
    """The spec of a file and flags; flags win, and among them ``--set`` wins."""
    layers = [read_yaml(config)] if config is not None else []
    given = Layer()
    for path, (flag, value) in flags.items():
        given.put(path, _artifacts(value) if path[-1] == "artifacts" else value, flag)
    return resolve(
        [*layers, given, Layer.of(*sets)], registry(), warn=lambda text: err().print(f"warning: {text}", markup=False)
    )


def _artifacts(text: str) -> list[str]:
    if text == "all":
        return ["scores", "trace"]
    return [] if text == "none" else [name.strip() for name in text.split(",")]


def _show(result: Mapping[str, Any], folder: Path | None, *, reused: bool, as_json: bool) -> None:
    for text in result["warnings"]:
        err().print(f"warning: {text}", markup=False)
    if as_json:
        record = str(folder) if folder is not None else None
        json.dump({**result, "record": record, "reused": reused}, sys.stdout, indent=2, allow_nan=False)
        print()
    else:
        print_result(result, folder, registry())
