"""Timings of runs: what the engine costs, methods next to nnPU, folds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.raw_rows import ROOT, result_of
from benchmarks.timing.turns import SCRIPT, Case, process
from pubench_cli.yaml_layers import assigned
from pubench_core.engine.execute import execute
from pubench_core.engine.plan import Plan
from pubench_core.engine.resolve import resolve
from pubench_core.plugins.registry import registry

QUICK = ("run", "--method", "nnpu", "--data", "digits", "--preset", "quick", "--set", "epochs=1", "--no-tracking")


def overhead(sources: tuple[str, ...] = (str(ROOT),), repeats: int = 50) -> Iterator[Case]:
    """A run apart from training, for checkouts: ``src`` folders of a source come first on the import path.

    ``resolve``, ``covered digits``: a request, and one that a record answers; both in one process, seconds of one call.
    """
    work: dict[str, Callable[[], dict[str, Any] | None]] = {}
    for source in map(Path, sources):
        folders = [*sorted(source.glob("pubench_*/src")), *sorted(source.glob("plugins/*/*/src"))]
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(str(one.resolve()) for one in folders)}
        env.pop("PYTHONDONTWRITEBYTECODE", None)

        def cold(env: dict[str, str] = env) -> dict[str, Any]:
            with tempfile.TemporaryDirectory() as results:
                return process(SCRIPT, *QUICK, "--results", results, env=env)

        def inside(what: str, env: dict[str, str] = env) -> dict[str, Any]:
            command = [sys.executable, "-m", "benchmarks.timing.engine", what, str(repeats)]
            done = subprocess.run(command, env=env, cwd=ROOT, check=True, capture_output=True, text=True)
            return {**json.loads(done.stdout.splitlines()[-1]), "peak_mib": "", "load": ""}

        name = source.resolve().name
        work |= {f"{name}: cold run": cold}
        for what in ("import torch", "import pubench"):
            work[f"{name}: {what}"] = partial(process, sys.executable, "-c", what, env=env)
        work[f"{name}: list methods"] = partial(process, SCRIPT, "list", "methods", env=env)
        work |= {f"{name}: {what}": partial(inside, what) for what in ("warm run", "resolve", "covered digits")}
    yield Case({}, work)


def _inside(what: str, repeats: int) -> dict[str, float]:
    """Seconds of one call, with the code that the import path finds."""
    with tempfile.TemporaryDirectory() as results:

        def plan(seed: int = 0) -> Plan:
            fixed = ("method.key=nnpu", "method.preset=quick", "epochs=1", f"execution.results={results}")
            return resolve([assigned("data.key=digits", f"seed={seed}", "execution.device=cpu", *fixed)], registry())

        known = plan()
        spent = [execute(known).result.seconds.training]
        began, worked = time.perf_counter(), time.process_time()
        for k in range(1, repeats + 1):
            if what == "warm run":
                spent.append(execute(plan(k)).result.seconds.training)
            elif what == "resolve":
                plan()
            else:
                execute(known)
        seconds = time.perf_counter() - began - sum(spent[1:])  # a warm run without its epoch
        return {"seconds": seconds / repeats, "cpu_seconds": (time.process_time() - worked) / repeats}


def method_cost(
    methods: tuple[str, ...], epochs: int = 2, threads: int = 2, sets: tuple[str, ...] = ()
) -> Iterator[Case]:
    """Seconds per epoch and memory of methods on Fashion-MNIST, each next to nnPU, a process each."""
    for method in methods:
        sides = {
            name: partial(_cost, name, epochs, threads, sets if name == method else ()) for name in (method, "nnpu")
        }
        yield Case({"next_to": method, "epochs": epochs, "threads": threads}, sides, "method")


def _cost(method: str, epochs: int, threads: int, sets: tuple[str, ...]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as results:
        words = [
            SCRIPT, "run", "--method", method, "--data", "fashion-mnist", "--mech", "scar", "--c", "0.1", "--preset",
            "pubench", "--select", "last", "--threads", str(threads), "--device", "cpu", "--artifacts", "none",
            "--results", results, "--no-tracking", "--format", "json",
        ]  # fmt: skip
        for text in (f"epochs={epochs}", "patience=null", "validation.fraction=0.01", *sets):
            words += ["--set", text]
        result = result_of(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    peak = round(result.peak_memory.bytes / 2**20)
    training = round(result.seconds.per_epoch_training, 3)
    return {"seconds": result.seconds.per_epoch, "training_seconds": training, "peak_mib": peak}


if __name__ == "__main__":
    print(json.dumps(_inside(sys.argv[1], int(sys.argv[2]))))
