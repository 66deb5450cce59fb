"""Mean ± standard deviation of test accuracy per method and data set from raw rows, as a Markdown table.

    python benchmarks/summary.py benchmarks/results/*-accuracy.csv --data spambase 20news connect-4 \
        --paper ../shared/reference/pubench_table1.csv

A cell says how many seeds it has, and ``missing`` where it has none; after the stroke stands the paper's figure. Rows
of a run that was given another prior than the true one are left out. ``docs/method_pages.py`` reads the rows with the
functions here.
"""

from __future__ import annotations

import argparse
import csv
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

#: What ``method_cost.py`` runs beside every method.
REFERENCE = "nnpu"
#: Columns that hold a test measure, beside ``accuracy_by_<criterion>``.
MEASURES = ("accuracy", "precision", "recall", "f1", "macro-f1", "auc")
#: How the published tables call what pubench calls by key.
PUBLISHED = {
    "20news": "20News", "imdb": "IMDb", "mnist": "MNIST", "fashion-mnist": "F-MNIST", "cifar10": "CIFAR-10",
    "adni": "ADNI", "connect-4": "Connect-4", "spambase": "Spambase", "nnpu": "nnPU", "pn": "PN",
    "upu": "uPU", "p3mix-c": "P3Mix-C", "nnpu-ga": "nnPU-GA",
    "dist-pu": "Dist-PU",
}  # fmt: skip


@dataclass(frozen=True)
class Protocol:
    """How a run was labeled, trained and chosen. ``sets``: what its command assigns further (``lr=1e-3``)."""

    scheme: str
    mechanism: str
    c: str
    preset: str
    criterion: str
    prior: str
    sets: tuple[str, ...]


@dataclass(frozen=True)
class AccuracyRow:
    """A run of ``accuracy.py``. ``measures``: column -> value on the test part, in percent."""

    method: str
    data: str
    seed: int
    protocol: Protocol
    measures: Mapping[str, float]
    file: str
    commit: str
    machine: str


@dataclass(frozen=True)
class CostRow:
    """A short run of ``method_cost.py``. ``seconds``: per epoch, training and scoring together.

    ``ratio``: to the seconds of ``REFERENCE`` in the same minutes; none for the reference itself.
    """

    method: str
    data: str
    preset: str
    threads: int
    seconds: float
    ratio: float | None
    file: str
    commit: str
    machine: str


def read_accuracy(paths: Iterable[Path]) -> Iterator[AccuracyRow]:
    """The rows of ``accuracy.py`` in these files; other files have none."""
    for path, row in _rows(paths, {"run_id", "selected_by", "accuracy"}):
        said = _command(row["command"])
        yield AccuracyRow(
            method=row["method"],
            data=row["data"],
            seed=int(row["seed"]),
            protocol=Protocol(
                said.scheme, said.mech, said.c, said.preset, row["selected_by"], row["prior"], tuple(said.set)
            ),
            measures={name: float(text) for name, text in row.items() if text and _is_measure(name)},
            file=path.name,
            commit=row["commit"],
            machine=row["machine"],
        )


def read_costs(paths: Iterable[Path]) -> Iterator[CostRow]:
    """The rows of ``method_cost.py`` in these files, each as two: the method's and the reference's."""
    for path, row in _rows(paths, {"seconds_per_epoch", f"{REFERENCE}_seconds_per_epoch", "ratio"}):
        said = _command(row["command"])
        for method, seconds, ratio in (
            (row["method"], row["seconds_per_epoch"], float(row["ratio"])),
            (REFERENCE, row[f"{REFERENCE}_seconds_per_epoch"], None),
        ):
            yield CostRow(
                method=method,
                data=said.data,
                preset=said.preset,
                threads=int(row["threads"]),
                seconds=float(seconds),
                ratio=ratio,
                file=path.name,
                commit=row["commit"],
                machine=row["machine"],
            )


def by_data(rows: Iterable[AccuracyRow], measure: str) -> dict[tuple[str, str], list[float]]:
    """(method, data) -> one value per seed; of rows with the same seed the last counts."""
    found: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    for row in rows:
        if measure in row.measures:
            found[row.method, row.data][row.seed] = row.measures[measure]
    return {key: list(values.values()) for key, values in found.items()}


def spread(values: Sequence[float]) -> str:
    """Mean ± sample standard deviation; the value itself where there is one."""
    deviation = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.2f}{deviation}"


def _rows(paths: Iterable[Path], columns: set[str]) -> Iterator[tuple[Path, dict[str, str]]]:
    """(file, row) of every file that has these columns."""
    for path in paths:
        with path.open(newline="") as file:
            reader = csv.DictReader(file)
            if columns <= set(reader.fieldnames or ()):
                yield from ((path, row) for row in reader)


def _is_measure(column: str) -> bool:
    return column in MEASURES or column.startswith("accuracy_by_")


def _command(text: str) -> argparse.Namespace:
    """The options of a ``pubench run`` that a row needs."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    for name in ("--data", "--scheme", "--mech", "--c", "--preset"):
        parser.add_argument(name, default="")
    parser.add_argument("--set", action="append", default=[])
    return parser.parse_known_args(text.split())[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="+", type=Path)
    parser.add_argument("--data", nargs="+", required=True)
    parser.add_argument("--measure", default="accuracy")
    parser.add_argument("--paper", type=Path)
    options = parser.parse_args()
    found = by_data((row for row in read_accuracy(options.rows) if row.protocol.prior == "true"), options.measure)
    paper = {}
    if options.paper:
        with options.paper.open(newline="") as file:
            paper = {(r["method"], r["dataset"]): f"{r['mean']} ± {r['std']}" for r in csv.DictReader(file)}
    methods = sorted({method for method, _ in found})
    print(line(["method", *options.data]))
    print(line(["---"] * (1 + len(options.data))))
    for method in methods:
        cells = [f"`{method}`"]
        for data in options.data:
            published = paper.get((PUBLISHED.get(method, method.upper()), PUBLISHED.get(data, data)))
            cells.append(cell(found.get((method, data), [])) + (f" / {published}" if published else ""))
        print(line(cells))


def cell(values: Sequence[float]) -> str:
    """Mean, deviation, number of seeds."""
    return f"{spread(values)} ({len(values)})" if values else "missing"


def line(cells: Iterable[str]) -> str:
    """One row of a Markdown table."""
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    main()
