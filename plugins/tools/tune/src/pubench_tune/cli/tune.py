"""``pubench tune``: options become a search, what it found a table and a file."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pubench_cli.console import out
from pubench_cli.machine import print_json
from pubench_cli.messages import say
from pubench_cli.options import Given
from pubench_cli.out_file import refuse_unwritable
from pubench_cli.yaml_layers import assigned, read_yaml
from pubench_core.errors import RequestError
from pubench_core.plugins.registry import registry

from ..driver import BEST, SearchRequest, search
from ..result import Trial, Tuned

_CRITERION = "selection.criterion"


def tune_method(
    given: Given,
    method: str,
    asked: SearchRequest,
    sets: Sequence[str],
    config: Path | None,
    to: Path | None,
    *,
    as_json: bool,
) -> int:
    """Carries out what is missing of the search, and prints what it found; the exit code."""
    if to is not None:
        refuse_unwritable(to, device=False)
    flags, set_here = given.layer(), assigned(*sets, prefix="--set ")
    flags.put(("method", "key"), method, method)
    if "seed" in set_here.values:
        raise RequestError("--set seed: a search takes --seeds, such as --seeds 2,25", field="seed")
    layers = [*([] if config is None else [read_yaml(config)]), flags, set_here]
    try:
        found = search(layers, asked, registry(), _say)
    except RequestError as error:  # the criterion has another flag here than in other commands
        text = str(error).replace(_CRITERION, "--criterion")
        raise RequestError(text, field=error.field, value=error.value, hint=error.hint) from error
    written = found.write(to) if to is not None and found.count("done") else None
    if as_json:
        print_json(_plain(found))
    else:
        _print(found, written)
    if found.interrupted:
        _say(f"{found.interrupted}; the same command again goes on with what is left")
    if found.interrupted == "interrupted":
        return 128 + (found.signal or signal.SIGINT)
    return 1 if found.interrupted or not found.count("done") else 0


def _say(text: str) -> None:
    say(text.replace(_CRITERION, "--criterion"))


def _print(found: Tuned, written: Path | None) -> None:
    console = out()
    console.print(str(found), markup=False, soft_wrap=True)
    if not found.count("done"):
        return
    console.print()
    console.print(found.config_file(), markup=False, soft_wrap=True, end="")
    where = written or found.folder / BEST
    _say(f"pubench run --config {where} --results {found.results} is answered from its record")


def _plain(found: Tuned) -> dict[str, Any]:
    """As JSON holds it; what needs true labels is under ``oracle_test_accuracy``."""
    best = found.best if found.count("done") else None
    default = found.default if found.trials else None
    return {
        "method": found.method,
        "data": found.data,
        "criterion": found.criterion,
        "oracle": found.oracle,
        "seeds": list(found.seeds),
        "space": dict(found.space),
        "folder": str(found.folder),
        "interrupted": found.interrupted,
        "trials": [_trial(trial) for trial in found.trials],
        "default": default.number if default is not None else None,
        "best": best.number if best is not None else None,
        "best_spec": best.spec if best is not None else None,
        "oracle_test_accuracy": {
            "default": found.measure(default) if default is not None else None,
            "best": found.measure(best) if best is not None else None,
        },
    }


def _trial(trial: Trial) -> dict[str, Any]:
    return {name: value for name, value in asdict(trial).items() if not name.startswith("_")}
