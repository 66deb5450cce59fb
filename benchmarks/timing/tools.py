"""Timings of commands on many runs: sites, boards and verification."""

from __future__ import annotations

import itertools
import sys
import tempfile
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np

import pubench
from benchmarks.raw_rows import ROOT
from benchmarks.timing.turns import SCRIPT, Case, process
from pubench_cli.yaml_layers import assigned
from pubench_core.engine.layers import Layer
from pubench_core.engine.resolve import resolve
from pubench_core.plugins.registry import registry
from pubench_core.records.files import RESULT, SPEC, yaml_text
from pubench_core.records.record import read_record
from pubench_core.results import CriterionResult, Environment, Measure, Result, Seconds

sys.path.insert(0, str(ROOT / "tests" / "doubles"))
from made_results import made_result
from made_studies import CRITERIA, MEASURES, ORACLE, run_id_of, stored

METHODS = (
    "nnpu", "upu", "pn", "pusb", "vpu", "nnpu-ga", "dist-pu", "pulda", "cvir", "lbe-pu", "mpe-pu", "robust-pu", "pan",
    "pubn", "self-pu", "p3mix-c",
)  # fmt: skip
DATA = ("spambase", "20news", "connect-4", "mnist", "fashion-mnist", "usps")
MORE_METHODS = (
    "naive", "elkan-noto", "pu-bagging", "two-step", "p3mix-e", "glws", "count-loss", "puet", "pue", "holistic-pu",
)  # fmt: skip
MORE_DATA = ("letter", "pendigits", "landsat", "mushroom")
TEST_ROWS = 2000


def board_time() -> Iterator[Case]:
    """``site`` and ``board`` from 5,000 made records, and from the file of their rows, six criteria per run."""
    from pubench_report.rows.files import as_file, read_rows

    with tempfile.TemporaryDirectory() as folder:
        place, names = Path(folder), itertools.count()
        records, rows = stored(place / "results", _results()), place / "rows.csv"
        environment = Environment(
            python="3.12.0", platform="Linux", packages={}, cpu="a", cpu_count=1, threads=1, device="cpu"
        )
        for path in records.glob("*/result.json"):
            path.with_name("environment.json").write_text(environment.model_dump_json())
        as_file(read_rows(records)).to_csv(rows, index=False)

        def site(source: Path) -> dict[str, Any]:
            spent = process(SCRIPT, "site", source, "--out", place / "site")
            return {**spent, "front_page_kb": round((place / "site" / "index.html").stat().st_size / 1e3)}

        def board(source: Path) -> dict[str, Any]:
            out = place / f"board-{next(names)}"
            return {**process(SCRIPT, "board", "2026.12", "--from", source, "--out", out), "front_page_kb": ""}

        sides = {
            f"{what.__name__} {name}": partial(what, source)
            for name, source in (("records", records), ("rows", rows))
            for what in (site, board)
        }
        yield Case({"runs": 5000}, sides)


def _results() -> Iterator[Result]:
    """Finished runs of 25 methods, 10 data sets, 2 label frequencies, 10 seeds; measures are shares of 2,000 rows."""
    rng = np.random.default_rng(0)
    methods = [method for method in METHODS if method != "pn"] + list(MORE_METHODS)
    for (m, method), (d, data), c in itertools.product(enumerate(methods), enumerate(DATA + MORE_DATA), (0.05, 0.1)):
        given = {"method.key": method, "data.key": data, "mechanism.c": c, "validation.fraction": 0.01}
        plan = resolve([assigned(*(f"{name}={value}" for name, value in given.items()))], registry())
        level = 0.6 + 0.3 * ((7 * m + 3 * d) % 17) / 17
        for seed in range(10):
            spec = plan.spec.model_copy(update={"seed": seed})
            drawn = rng.normal(level, 0.02, (len(CRITERIA), len(MEASURES))).clip(0, 1)
            criteria = {
                name: CriterionResult(
                    oracle=name in ORACLE,
                    epoch=int(rng.integers(1, 40)),
                    value=float(values[0]),
                    measures={"test": {k: Measure(value=float(v)) for k, v in zip(MEASURES, values, strict=True)}},
                )
                for name, values in zip(CRITERIA, (drawn * TEST_ROWS).round() / TEST_ROWS, strict=True)
            }
            took = float(rng.uniform(1, 100))
            spent = Seconds(total=took, training=took, evaluation=0.1, per_epoch=0.1, per_epoch_training=0.1)
            yield made_result(run_id_of(spec), spec=spec, criteria=criteria, at_once=1, seconds=spent, warnings=())


#: Method -> its config, a field that no file of a record contradicts, and other values of it.
HONEST: dict[str, tuple[dict[str, Any], str, Any]] = {
    "upu": ({"epochs": 1}, "lr", lambda n: 3e-4 + n * 1e-7),
    "elkan-noto": ({"base": "logistic"}, "folds", lambda n: 5 + n),
}


def verify_time(records: int = 5000, folder: str | None = None) -> Iterator[Case]:
    """``verify --rerun 0`` on honest records: 240 runs, and copies with their own ids whose spec names another value.

    ``folder`` keeps the records and uses those that are there.
    """
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as scratch:
        place, data, cs = Path(folder or scratch), ("digits", "breast-cancer", "spambase", "usps"), (0.1, 0.3, 0.5)
        runs = [
            pubench.run(method, key, c=c, seed=seed, config=config, results=place, tracking=False, threads=1).folder
            for (method, (config, _, _)), key, c, seed in itertools.product(HONEST.items(), data, cs, range(10))
        ]
        for number in range(records - len([*place.glob(f"*/{RESULT}")])):
            _copied(runs[number % len(runs)], 1 + number // len(runs))
        yield Case({"records": records}, {"verify": partial(process, SCRIPT, "verify", place, "--rerun", "0")})


def _copied(folder: Path, number: int) -> None:
    result = read_record(folder).result
    _, field, value = HONEST[result.spec.method.key]
    plain = result.spec.model_dump(mode="json")
    plain["method"]["config"][field] = value(number)
    plan = resolve([Layer(plain)], registry())
    copy = Path(copytree(folder, folder.parent / plan.run_id))
    (copy / SPEC).write_text(yaml_text(plain))
    changed = result.model_copy(update={"spec": plan.spec, "run_id": plan.run_id})
    (copy / RESULT).write_text(changed.model_dump_json(exclude_none=True, indent=2))
