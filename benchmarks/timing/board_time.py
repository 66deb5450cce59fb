"""Seconds and memory of pages and boards of 5,000 runs: `pubench site` and `pubench board build`.

    python -m benchmarks.timing.board_time benchmarks/results/board-time.csv

25 methods, 10 data sets, 2 label frequencies, 10 seeds. Specs are those of the installed plugins; measures are drawn as
shares of 2,000 test rows, nothing is trained. ``site records``: pages from a folder of records. ``board records``: a
dated board from that folder. ``site rows``: pages from a file of rows, six criteria per run. ``board rows``: a dated
board from that file. ``processor_seconds`` is what the command computed, ``seconds`` what passed, ``peak_mib`` its
largest resident memory. The first round is not counted: it leaves compiled files and the disk's cache behind.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.raw_rows import append
from benchmarks.timing.overhead import SCRIPT
from pubench_cli.yaml_layers import assigned
from pubench_core.engine.resolve import resolve
from pubench_core.plugins.registry import registry
from pubench_core.results import CriterionResult, Environment, Measure, Result, Seconds

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "doubles"))
from made_results import made_result
from made_studies import CRITERIA, MEASURES, ORACLE, run_id_of, stored

METHODS = (
    "naive", "elkan-noto", "pu-bagging", "two-step", "nnpu", "upu", "pusb", "vpu", "nnpu-ga", "dist-pu", "pulda",
    "cvir", "lbe-pu", "mpe-pu", "robust-pu", "pan", "pubn", "self-pu", "p3mix-c", "p3mix-e", "glws", "count-loss",
    "puet", "pue", "holistic-pu",
)  # fmt: skip
DATA = (
    "spambase", "20news", "connect-4", "mnist", "fashion-mnist", "usps", "letter", "pendigits", "landsat", "mushroom",
)  # fmt: skip
CS, SEEDS, ROUNDS = (0.05, 0.1), range(10), 2
TEST_ROWS = 2000


def results() -> Iterator[Result]:
    """Finished runs of all combinations."""
    rng = np.random.default_rng(0)
    for m, method in enumerate(METHODS):
        for d, data in enumerate(DATA):
            for c in CS:
                given = {"method.key": method, "data.key": data, "mechanism.c": c, "validation.fraction": 0.01}
                plan = resolve([assigned(*(f"{name}={value}" for name, value in given.items()))], registry())
                level = 0.6 + 0.3 * ((7 * m + 3 * d) % 17) / 17
                for seed in SEEDS:
                    spec = plan.spec.model_copy(update={"seed": seed})
                    drawn_values = rng.normal(level, 0.02, (len(CRITERIA), len(MEASURES))).clip(0, 1)
                    values = (drawn_values * TEST_ROWS).round() / TEST_ROWS
                    criteria = {
                        name: CriterionResult(
                            oracle=name in ORACLE,
                            epoch=int(rng.integers(1, 40)),
                            value=float(drawn[0]),
                            measures={
                                "test": {k: Measure(value=float(v)) for k, v in zip(MEASURES, drawn, strict=True)}
                            },
                        )
                        for name, drawn in zip(CRITERIA, values, strict=True)
                    }
                    seconds = float(rng.uniform(1, 100))
                    spent = Seconds(
                        total=seconds, training=seconds, evaluation=0.1, per_epoch=0.1, per_epoch_training=0.1
                    )
                    yield made_result(
                        run_id_of(spec), spec=spec, criteria=criteria, at_once=1, seconds=spent, warnings=()
                    )


def written(place: Path) -> tuple[Path, Path]:
    """A folder of records, and a file of their rows."""
    from pubench_report.rows import as_file
    from pubench_submit.submitted_rows import board_rows

    records, rows = stored(place / "results", results()), place / "rows.csv"
    environment = Environment(
        python="3.12.0", platform="Linux", packages={}, cpu="a", cpu_count=1, threads=1, device="cpu"
    )
    for folder in records.glob("*/result.json"):
        folder.with_name("environment.json").write_text(environment.model_dump_json())
    as_file(board_rows([records])[0]).to_csv(rows, index=False)
    return records, rows


def measured(command: list[str | Path]) -> dict[str, float]:
    """Costs of a process that ends well. One process each: memory is the maximum of all children."""
    probe = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); "
        "u = resource.getrusage(resource.RUSAGE_CHILDREN); print(u.ru_utime + u.ru_stime, u.ru_maxrss)"
    )
    started = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", probe, *command], check=True, capture_output=True, text=True)
    seconds = time.perf_counter() - started
    worked, peak = map(float, done.stdout.split())
    return {"seconds": round(seconds, 2), "processor_seconds": round(worked, 2), "peak_mib": round(peak / 1024)}


def main(out: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        records, rows = written(place)
        for turn in range(ROUNDS + 1):
            for what, source in (("records", records), ("rows", rows)):
                site, board = place / f"site-{what}", place / f"{what}-{turn}"
                commands = {
                    "site": [SCRIPT, "site", source, "--out", site],
                    "board": [SCRIPT, "board", "build", "2026.12", "--from", source, "--out", board],
                }
                for name, command in commands.items():
                    found = {"what": f"{name} {what}", "runs": 5000, **measured(command)}
                    found["front_page_kb"] = round((site / "index.html").stat().st_size / 1e3)
                    print(found, f"load {os.getloadavg()[0]:.1f}", flush=True)
                    if turn:
                        append(out, found)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
