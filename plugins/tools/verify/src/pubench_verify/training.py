"""A record's run carried out in a process of its own, with its labels or with other hidden ones.

Both look the same to a method: the same module, arguments, environment and functions that call it. In a process that
trains twice, a method can keep what it saw the first time.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pubench_core.engine.execute import Work, execute
from pubench_core.engine.finish import Finished
from pubench_core.engine.plan import Plan
from pubench_core.errors import PubenchError, RunFailed
from pubench_core.plugins.info import MethodInfo
from pubench_core.plugins.registry import registry


@contextmanager
def trained(spec: Mapping[str, Any], holding: Path, seed: int | None = None) -> Iterator[tuple[Path, list[str]]]:
    """Carries out a spec: the folder of its record, which is removed after the block, and files that show true labels
    and were opened meanwhile.

    ``holding``: folder that is not to be read meanwhile. ``seed``: permutes hidden labels, and the rows of the file; by
    default they stay. Raises RunFailed with what the process wrote.
    """
    with tempfile.TemporaryDirectory(prefix="pubench-verify-") as place:
        spec = {**spec, "execution": {**spec["execution"], "results": place}}
        info = registry().find(MethodInfo, spec["method"]["key"])
        modules = [registry().provider(info).module, info.load.split(":")[0]]
        facts = {"spec": spec, "modules": modules, "holding": str(holding.resolve()), "seed": seed}
        # -P: modules in the current folder, which may be a stranger's, are not imported
        command = [sys.executable, "-P", "-W", "ignore", "-m", __name__]
        done = subprocess.run(command, input=json.dumps(facts), capture_output=True, text=True, check=False)
        if done.returncode:
            why = next(iter(done.stderr.strip().splitlines()[-1:]), f"exit code {done.returncode}")
            raise RunFailed(why)
        told = json.loads(Path(place, FACTS).read_text())
        yield Path(told["folder"]), told["opened"]


FACTS = "opened.json"


@dataclass(frozen=True)
class _Watched(Work):
    """Trains as a run does. ``seed``: permutes hidden labels, and rows of the file. ``opened``: gets opened files."""

    seed: int | None = None
    opened: list[Any] = field(default_factory=list)

    def finish(self, plan: Plan, parts: list[Any], ended: Callable[[], None], at_once: int | None) -> Finished:
        """Result of the run."""
        from pubench_testkit.disguise import other_labels, other_order
        from pubench_testkit.opened import opening

        from pubench_core.engine.build import build_problem
        from pubench_core.engine.finish import finished
        from pubench_core.engine.machine import computing
        from pubench_core.engine.open import open_data
        from pubench_core.engine.train import train
        from pubench_core.isolation import staying

        with computing(plan, self.device), staying():
            problem = build_problem(plan, self.device, opened=open_data(plan, self.root), root=self.root)
            if self.seed is not None:  # other true labels are in no object from here on
                rng = np.random.default_rng(self.seed)
                problem = other_order(other_labels(problem, rng), rng)
            with opening() as opened:
                done = train(plan, problem)
            self.opened.extend(opened)
            return finished(plan, problem, done, self.environment)


def _carry_out(spec: dict[str, Any], modules: list[str], holding: str, seed: int | None) -> None:
    """Writes a record and the files that were opened. ``modules``: of the method; they are imported first."""
    from pubench_testkit.opened import Opened, foreign, opening, showing_labels

    from pubench_core.engine.layers import Layer
    from pubench_core.engine.resolve import resolve

    with opening() as imported:
        *_, implementation = map(importlib.import_module, modules)
    plan, opened = resolve([Layer(spec)], registry()), list[Opened]()
    if plan.joined_by is None:
        plan = replace(plan, joined_by=partial(_Watched, seed=seed, opened=opened))
    done = execute(plan, force=True)
    own = Path(sys.modules[implementation.__name__.split(".")[0]].__file__ or "").resolve().parent
    read = [*showing_labels([*imported, *opened], plan.spec.execution, own, [Path(holding)]), *foreign(opened, own)]
    Path(spec["execution"]["results"], FACTS).write_text(json.dumps({"folder": str(done.folder), "opened": read}))


if __name__ == "__main__":
    try:
        _carry_out(**json.load(sys.stdin))
    except PubenchError as error:
        print(" ".join(str(error).split()), file=sys.stderr)
        sys.exit(1)
