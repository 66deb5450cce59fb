"""Cost of a study apart from its runs: per run and worker, and to find a finished plan finished.

    python -m benchmarks.timing.study_overhead PART benchmarks/results/overhead-study-PART.csv

``trivial``: 200 runs of a method without a network on digits, two workers. ``mnist``: 50 runs of nnPU on MNIST, one
epoch each, two workers. Overhead is what a worker's time has besides ``seconds.total`` of its runs, start-up apart.
``finished``: seconds until ``pubench study run`` has found 2,880 stored runs of MNIST's size finished.
``threads``: runs per hour of nnPU, two workers with one thread each and one worker with two, in turns.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml
from pubench_study.code_cache import installed_code
from pubench_study.plan import read_plan
from pubench_study.state import Digests
from pubench_study.study_file import StudyFolder

from benchmarks.raw_rows import append
from pubench_core.data.dataset import data_root
from pubench_core.plugins.registry import registry
from pubench_core.records.files import RESULT
from pubench_core.records.store import RecordStore
from pubench_core.specs import ExecutionSpec

SCRIPT = Path(sys.executable).parent / "pubench"
TRIVIAL = """
from pubench.method import Method, MethodConfig, PUData, Run
from pubench_core import MethodInfo, hookimpl

class Trivial(Method[MethodConfig]):
    scored_by = ("kept",)

    def fit(self, data, run):
        x = data.x.reshape(len(data), -1)
        for _ in run.epochs(1):
            self.kept = Kept(x[data.labeled].mean(0) - x[~data.labeled].mean(0))

    def decision_function(self, x):
        return x.reshape(len(x), -1) @ self.kept.direction

class Kept:
    def __init__(self, direction):
        self.direction = direction
    def state_dict(self):
        return {"direction": self.direction}
    def load_state_dict(self, state):
        self.direction = state["direction"]

@hookimpl
def pubench_methods():
    return [MethodInfo(key="trivial", name="Trivial", summary="a difference of means", load=f"{__name__}:Trivial")]
"""


def main(part: str, out: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        rows = {"trivial": trivial, "mnist": mnist, "finished": finished, "threads": threads}[part](Path(folder))
        for row in rows:
            append(out, row)
            print(row)


def command(
    folder: Path, study: dict[str, Any], *more: str, env: dict[str, str] | None = None
) -> tuple[dict[str, Any], float]:
    """Output of ``study run``, and how many seconds it took."""
    (folder / "study.yaml").write_text(yaml.safe_dump(study))
    words = [SCRIPT, "study", "run", "study.yaml", "--results", "results", "--format", "json", "--device", "cpu", *more]
    env = {**os.environ, **(env or {})}
    started = time.perf_counter()
    done = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, check=False)
    if not done.stdout:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout), time.perf_counter() - started


def overhead(
    folder: Path, study: dict[str, Any], runs: int, workers: int, env: dict[str, str] | None = None
) -> dict[str, Any]:
    """Overhead of so many runs, next to a study of one run per worker, which includes start-up and prepared copies."""
    warm, few = ([first + k for k in range(workers)] for first in (20_000, 10_000))
    command(folder, {**study, "name": "warm", "seeds": warm}, "-j", str(workers), env=env)
    _, start = command(folder, {**study, "name": "few", "seeds": few}, "-j", str(workers), env=env)
    seeds = list(range(runs))
    _, many = command(folder, {**study, "name": "many", "seeds": seeds}, "-j", str(workers), env=env)
    known = {r.result.spec.seed: r.result.seconds.total for r in RecordStore(folder / "results").all().readable}
    own = sum(known[seed] for seed in seeds) / runs
    per_run = (many - start) * workers / (runs - workers)
    return {
        "runs": runs, "workers": workers, "start_up_seconds": round(start, 2), "seconds": round(many, 2),
        "own_seconds_per_run": round(own, 4), "overhead_per_run": round(per_run - own, 4),
    }  # fmt: skip


def trivial(folder: Path) -> list[dict[str, Any]]:
    site = folder / "site"
    facts = site / "trivial-1.0.dist-info"
    facts.mkdir(parents=True)
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: trivial\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text("[pubench]\ntrivial = trivial_method\n")
    (site / "trivial_method.py").write_text(TRIVIAL)
    study = {"methods": ["trivial"], "data": ["digits"]}
    return [overhead(folder, study, 200, 2, {"PYTHONPATH": str(site)})]


def mnist(folder: Path) -> list[dict[str, Any]]:
    study = {"methods": [{"key": "nnpu", "config": {"epochs": 1}}], "data": ["mnist"]}
    return [overhead(folder, study, 50, 2)]


def finished(folder: Path) -> list[dict[str, Any]]:
    rates = [round(1e-4 + 1e-6 * k, 6) for k in range(288)]
    methods = [{"key": "nnpu", "config": {"epochs": 1}, "grid": {"lr": rates}}]
    study = {"name": "large", "methods": methods, "data": ["mnist"], "seeds": 10}
    command(folder, study, "--max-time", "1s")  # one run at least
    results = StudyFolder(folder / "results", "large")
    plan, store = read_plan(results), RecordStore(folder / "results")
    assert plan is not None
    template = store.all().readable[0]
    code, digests = installed_code(plan, results, registry()), Digests(registry(), data_root(ExecutionSpec()))
    for run in plan.runs:
        made = store.folder(run.run_id)
        if made.exists():
            continue
        made.mkdir()
        for path in template.folder.iterdir():
            if path.name != RESULT:
                os.link(path, made / path.name)
        result = template.result.model_copy(
            update={"run_id": run.run_id, "spec": run.spec, "code": code.code(run, digests.of(run, {}))}
        )
        (made / RESULT).write_text(json.dumps(result.plain(), indent=2))
    _, first = command(folder, study)
    rows = []
    for _ in range(5):
        said, seconds = command(folder, study)
        assert (said["done"], said["trained"]) == (2880, 0)
        rows.append({"runs": 2880, "first_seconds": round(first, 2), "seconds": round(seconds, 2)})
    return rows


def threads(folder: Path) -> list[dict[str, Any]]:
    rows = []
    for turn in range(2):
        for data, epochs in (("fashion-mnist", 2), ("spambase", 20), ("connect-4", 4)):
            study = {"methods": [{"key": "nnpu", "config": {"epochs": epochs}}], "data": [data]}
            for jobs, each in ((2, 1), (1, 2)):
                seeds = [1000 * turn + 10 * jobs + k for k in range(4)]
                name = f"{data}-{turn}-{jobs}"
                _, seconds = command(
                    folder, {**study, "name": name, "seeds": seeds}, "-j", str(jobs), "--threads", str(each)
                )
                shutil.rmtree(folder / "results")
                facts = {"data": data, "turn": turn, "workers": jobs, "threads_each": each, "runs": 4}
                rows.append({**facts, "seconds": round(seconds, 2), "runs_per_hour": round(4 * 3600 / seconds, 1)})
    return rows


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
