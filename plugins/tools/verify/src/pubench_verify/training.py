"""A run trained in a process of its own, with its labels or with other hidden ones.

In a process that trains twice, a method can keep what it saw the first time.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pubench_core.errors import PubenchError, RunFailed
from pubench_core.plugins.info import MethodInfo
from pubench_core.plugins.registry import registry
from pubench_core.records.files import Arrays
from pubench_core.results import Environment


@dataclass(frozen=True)
class Training:
    """``scores``: criterion/part -> scores. ``opened``: files that show true labels and were opened meanwhile."""

    scores: Arrays
    epochs: int
    opened: tuple[str, ...]
    environment: Environment


def trained(spec: Mapping[str, Any], holding: Path, seed: int | None = None) -> Training:
    """Trains a spec in a process of its own.

    ``holding``: folder that is not to be read meanwhile. ``seed``: permutes hidden labels, and the rows of the file; by
    default they stay. Raises RunFailed with what the process wrote if it fails.
    """
    with tempfile.TemporaryDirectory(prefix="pubench-blind-") as place:
        spec = {**spec, "execution": {**spec["execution"], "results": place}}
        info = registry().find(MethodInfo, spec["method"]["key"])
        modules = [registry().provider(info).module, info.load.split(":")[0]]
        facts = {"spec": spec, "modules": modules, "place": place, "holding": str(holding.resolve()), "seed": seed}
        # -P: modules in the current folder, which may be a stranger's, are not imported
        command = [sys.executable, "-P", "-W", "ignore", "-m", __name__]
        done = subprocess.run(command, input=json.dumps(facts), capture_output=True, text=True, check=False)
        if done.returncode:
            raise RunFailed(next(iter(done.stderr.strip().splitlines()[-1:]), f"exit code {done.returncode}"))
        facts = json.loads(Path(place, "facts.json").read_text())
        with np.load(Path(place, "scores.npz")) as file:
            scores = dict(file)
        return Training(
            scores, facts["epochs"], tuple(facts["opened"]), Environment.model_validate(facts["environment"])
        )


def _train(spec: dict[str, Any], modules: list[str], place: str, holding: str, seed: int | None) -> None:
    """Trains, and writes scores and facts to a folder. ``modules``: of the method; they are imported first."""
    from pubench_testkit.disguise import other_labels, other_order
    from pubench_testkit.opened import foreign, opening, showing_labels

    from pubench_core.engine.build import build_problem
    from pubench_core.engine.layers import Layer
    from pubench_core.engine.machine import capture, choose_device, computing
    from pubench_core.engine.resolve import resolve
    from pubench_core.engine.train import train

    with opening() as imported:
        *_, implementation = map(importlib.import_module, modules)
    plan = resolve([Layer(spec)], registry())
    device = choose_device(plan)
    with computing(plan, device):
        problem = build_problem(plan, device)
        if seed is not None:  # true labels are in no object from here on
            rng = np.random.default_rng(seed)
            problem = other_order(other_labels(problem, rng), rng)
            plan = replace(plan, data=replace(plan.data, table=None))
        with opening() as opened:
            done = train(plan, problem)
        environment = capture(device)
    own = Path(sys.modules[implementation.__name__.split(".")[0]].__file__ or "").resolve().parent
    read = [*showing_labels([*imported, *opened], plan.spec.execution, own, [Path(holding)]), *foreign(opened, own)]
    arrays: dict[str, Any] = {
        f"{name}/{part}": one for name, scores in done.scores.items() for part, one in scores.items()
    }
    np.savez(Path(place, "scores.npz"), **arrays)
    facts = {"epochs": len(done.epochs), "opened": read, "environment": environment.model_dump(mode="json")}
    Path(place, "facts.json").write_text(json.dumps(facts))


if __name__ == "__main__":
    try:
        _train(**json.load(sys.stdin))
    except PubenchError as error:
        sys.exit(" ".join(str(error).split()))
