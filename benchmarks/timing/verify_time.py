"""Seconds of processor and peak memory of ``pubench verify --rerun 0`` on 5,000 honest records.

    python -m benchmarks.timing.verify_time benchmarks/results/verify-time.csv [--records 5000] [--folder FOLDER]

uPU and Elkan-Noto are run on four data sets, with three label frequencies and ten seeds: 240 records of 120 splits. The
others are copies with their own ids: their spec names another learning rate, or number of folds, which no file
contradicts. ``--folder`` keeps the records and uses those that are there.
"""

from __future__ import annotations

import argparse
import itertools
import os
import resource
import tempfile
import warnings
from pathlib import Path
from shutil import copytree

import pubench
from benchmarks.raw_rows import append
from benchmarks.timing.overhead import SCRIPT, seconds_of
from pubench_core.engine.layers import Layer
from pubench_core.engine.resolve import resolve
from pubench_core.plugins.registry import registry
from pubench_core.records.files import RESULT, SPEC, yaml_text
from pubench_core.records.record import read_record

DATA = ("digits", "breast-cancer", "spambase", "usps")
CS = (0.1, 0.3, 0.5)
#: Method -> its config, a field that no file of a record contradicts, and other values of it.
METHODS = {
    "upu": ({"epochs": 1}, "lr", lambda n: 3e-4 + n * 1e-7),
    "elkan-noto": ({"base": "logistic"}, "folds", lambda n: 5 + n),
}


def originals(place: Path) -> list[Path]:
    """Folders of runs that were carried out."""
    warnings.simplefilter("ignore")
    return [
        pubench.run(method, data, c=c, seed=seed, config=config, results=place, tracking=False, threads=1).folder
        for (method, (config, _, _)), data, c, seed in itertools.product(METHODS.items(), DATA, CS, range(10))
    ]


def copied(folder: Path, number: int) -> None:
    """Makes a copy of a record under the id that it has with another value in its spec."""
    result = read_record(folder).result
    _, field, value = METHODS[result.spec.method.key]
    plain = result.spec.model_dump(mode="json")
    plain["method"]["config"][field] = value(number)
    plan = resolve([Layer(plain)], registry())
    copy = Path(copytree(folder, folder.parent / plan.run_id))
    (copy / SPEC).write_text(yaml_text(plain))
    changed = result.model_copy(update={"spec": plan.spec, "run_id": plan.run_id})
    (copy / RESULT).write_text(changed.model_dump_json(exclude_none=True, indent=2))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--records", type=int, default=5000)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        place = given.folder or Path(scratch)
        folders = originals(place)
        missing = given.records - len([*place.glob(f"*/{RESULT}")])
        for number in range(missing):
            copied(folders[number % len(folders)], 1 + number // len(folders))
        records = len([*place.glob(f"*/{RESULT}")])
        took = seconds_of([SCRIPT, "verify", place, "--rerun", "0"], dict(os.environ))  # fails if there is a problem
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        row = {"records": records, "seconds": round(took.wall, 1), "processor_seconds": round(took.cpu, 1)}
        row |= {"peak_mib": round(peak), "load": round(os.getloadavg()[0], 1)}
        print(row)
        append(given.out, row)


if __name__ == "__main__":
    main()
