"""Cost of a run apart from training: a cold process, a warm one, and a request that a stored record answers.

    PUBENCH_DATA=... python -m benchmarks.timing.overhead --out benchmarks/results/overhead.csv --source ../older .

Each ``--source`` is a checkout; its ``src`` folders come first on the import path, so that two states of the code are
measured with the same interpreter and packages. They take turns, once per round, byte code cached. Per round:

- ``cold run``: seconds of ``pubench run`` with one epoch of nnPU on digits, in a process of its own. ``import torch``
  next to it is the share of it that no one can save.
- ``warm run``: seconds of resolving and carrying out such a run in a process that has done one before, without the
  seconds inside its epoch (scoring counts).
- ``resolve``, ``covered digits``, ``covered mnist``: seconds of understanding a request, and of answering one from its
  record, medians of ``--repeats`` in one process.
- ``oracle measures``: seconds of all measures that need nothing but true labels, on 60,000 rows.
- ``import pubench``, ``list methods``: seconds of a process.

``cpu_seconds`` is what of it a processor worked: the figure to compare if other work runs alongside it. A warm run has
none, since what its epoch worked is not known.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import raw_rows

SCRIPT = Path(sys.executable).with_name("pubench")
RUN = ("run", "--method", "nnpu", "--data", "digits", "--preset", "quick", "--set", "epochs=1", "--no-tracking")


def environment(source: Path) -> dict[str, str]:
    """The environment of processes that measure a checkout."""
    folders = [*sorted(source.glob("pubench_*/src")), *sorted(source.glob("plugins/*/*/src"))]
    found = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return found | {"PYTHONPATH": os.pathsep.join(str(folder.resolve()) for folder in folders), "OMP_NUM_THREADS": "1"}


@dataclass(frozen=True)
class Seconds:
    """Seconds on the wall clock, and of processors if known."""

    wall: float
    cpu: float | None


def processor() -> float:
    """Seconds that processors worked for this process and for those that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def seconds_of(command: list[str | Path], env: dict[str, str]) -> Seconds:
    """Seconds of a process that ends well."""
    started, worked = time.perf_counter(), processor()
    subprocess.run(command, env=env, check=True, capture_output=True)
    return Seconds(time.perf_counter() - started, processor() - worked)


def measured(source: Path, repeats: int) -> Iterator[tuple[str, Seconds]]:
    """(what, seconds) of everything, once."""
    env = environment(source)
    yield "import torch", seconds_of([sys.executable, "-c", "import torch"], env)
    with tempfile.TemporaryDirectory(prefix="pubench-overhead-") as results:
        yield "cold run", seconds_of([SCRIPT, *RUN, "--results", results], env)
    yield "import pubench", seconds_of([sys.executable, "-c", "import pubench"], env)
    yield "list methods", seconds_of([SCRIPT, "list", "methods"], env)
    probe = [sys.executable, __file__, "--probe", "--repeats", str(repeats)]
    done = subprocess.run(probe, env=env, check=True, capture_output=True, text=True)
    for what, (wall, cpu) in json.loads(done.stdout.splitlines()[-1]).items():
        yield what, Seconds(wall, cpu)


# -------------------------------------------------------------------- inside one process


def probe(repeats: int) -> dict[str, Seconds]:
    """what -> seconds, with the code that the import path finds."""
    from pubench_cli.yaml_layers import assigned
    from pubench_core.engine.execute import execute
    from pubench_core.engine.plan import Plan
    from pubench_core.engine.resolve import resolve
    from pubench_core.plugins.registry import registry

    with tempfile.TemporaryDirectory(prefix="pubench-overhead-") as results:

        def plan(data: str, seed: int, *more: str) -> Plan:
            fixed = ("method.key=nnpu", "method.preset=quick", "epochs=1", f"execution.results={results}")
            layer = assigned(f"data.key={data}", f"seed={seed}", "execution.device=cpu", *fixed, *more)
            return resolve([layer], registry())

        def warm(seed: int) -> float:
            started = time.perf_counter()
            training = execute(plan("digits", seed)).result.seconds.training
            return time.perf_counter() - started - training

        warm(0)
        mnist = plan("mnist", 0, "steps_per_epoch=1", "validation.fraction=0.01")
        execute(mnist)
        digits = plan("digits", 0)
        return {
            "warm run": Seconds(statistics.median(warm(seed) for seed in range(1, 6)), None),
            "resolve": _repeated(lambda: plan("digits", 0), repeats),
            "covered digits": _repeated(lambda: execute(digits), repeats),
            "covered mnist": _repeated(lambda: execute(mnist), repeats),
            "oracle measures": _repeated(_measuring(60_000), repeats),
        }


def _measuring(rows: int) -> Callable[[], Any]:
    """All measures of this many scores, many of them equal."""
    import numpy as np

    from pubench_core.engine.criteria import Installed
    from pubench_core.metric import Measurer, Scored
    from pubench_core.plugins.registry import registry

    metrics = {key: one for key, one in Installed.of(registry()).usable.items() if one.info.needs == {"truth"}}
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, rows).astype(np.int8)
    scores = np.round(rng.normal(truth), 4)
    return lambda: Measurer(metrics).measure_all(metrics, Scored.of(scores, truth=truth))


def _repeated(action: Callable[[], Any], repeats: int) -> Seconds:
    """Medians of one call on the wall clock; of the processor, whose clock is coarser, the mean."""
    walls, worked = [], processor()
    for _ in range(repeats):
        started = time.perf_counter()
        action()
        walls.append(time.perf_counter() - started)
    return Seconds(statistics.median(walls), (processor() - worked) / repeats)


# -------------------------------------------------------------------- rows


def commit_of(source: Path) -> str:
    """Commit of a checkout, with ``-dirty`` if it was changed."""
    words = ["git", "-C", str(source), "describe", "--always", "--dirty", "--abbrev=12"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--source", type=Path, nargs="+", default=[Path()], help="checkouts to measure in turns")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=50)
    parser.add_argument("--probe", action="store_true", help="only what is measured inside one process, as JSON")
    options = parser.parse_args()
    if options.probe:
        print(json.dumps({what: (seconds.wall, seconds.cpu) for what, seconds in probe(options.repeats).items()}))
        return
    taken: dict[tuple[str, str], list[Seconds]] = {}
    commits = {source: commit_of(source) for source in options.source}
    for turn in range(options.rounds + 1):
        for source in options.source:
            for what, seconds in measured(source, options.repeats):
                if turn == 0:
                    continue  # it writes byte code and prepares data
                taken.setdefault((what, commits[source]), []).append(seconds)
                row = {
                    "what": what,
                    "round": turn,
                    "seconds": f"{seconds.wall:.6f}",
                    "cpu_seconds": "" if seconds.cpu is None else f"{seconds.cpu:.6f}",
                    "commit": commits[source],
                    "command": f"overhead.py --rounds {options.rounds} --repeats {options.repeats}",
                }
                if options.out is not None:
                    raw_rows.append(options.out, row)
    for (what, commit), found in sorted(taken.items()):
        wall = statistics.median(one.wall for one in found)
        worked = [one.cpu for one in found if one.cpu is not None]
        cpu = f", {statistics.median(worked) * 1000:.2f} ms of a processor" if worked else ""
        print(f"{what:15} {commit:20} {wall * 1000:.2f} ms{cpu}")


if __name__ == "__main__":
    main()
