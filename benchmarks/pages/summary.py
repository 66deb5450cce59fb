"""Mean ± standard deviation of a test measure per method and data set from raw rows, as a Markdown table.

    make pages benchmarks/results/*.csv --data spambase 20news connect-4 --measure f1

A cell says how many seeds it has, and ``missing`` where it has none; after the stroke stands the paper's figure, of F1.
Rows of another protocol than PU-Bench's conventional one are left out. ``docs/method_pages.py`` and
``docs/results_page.py`` read the rows with the functions here.

Rows are of studies (``study_rows.py``) or of their predecessor, one command per run; if a study has the same run, its
row counts. A row of the present engine revision counts before an older one; what has older ones is marked.
"""

from __future__ import annotations

import argparse
import csv
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from pubench_core.engine.identity import ENGINE_REVISION

#: What ``benchmarks.timing method-cost`` runs besides every method.
REFERENCE = "nnpu"
#: Columns that hold a test measure, besides ``accuracy_by_<criterion>``.
MEASURES = ("accuracy", "precision", "recall", "f1", "macro-f1", "auc")
#: Mark of a mean over such rows, and what they are.
OLDER, OLDER_ROWS = "†", f"older engine revision (now {ENGINE_REVISION})"
#: What PU-Bench prints: F1 in percent, mean and standard deviation.
PUBLISHED = files("pubench_report.published") / "pubench2026.csv"


@dataclass(frozen=True)
class Protocol:
    """How a run was labeled, trained and chosen. ``sets``: what its command assigns further (``lr=1e-3``).

    ``positive_rate``: what says how many rows are labeled where ``c`` is empty.
    """

    scheme: str
    mechanism: str
    c: str
    preset: str
    criterion: str
    prior: str
    sets: tuple[str, ...]
    positive_rate: str = ""


#: PU-Bench's main comparison.
CONVENTIONAL = Protocol("case-control", "scar", "0.1", "pubench", "f1", "true", ("validation.fraction=0.01",))


@dataclass(frozen=True)
class AccuracyRow:
    """A run. ``measures``: of the test part, in percent.

    They are named ``f1`` by the criterion that names the result and ``f1_by_pa`` by any. ``undefined``: criteria that
    have no value in this run. ``revision``: of the engine; empty if it is not known, as in rows of one command
    per run.
    """

    method: str
    data: str
    seed: int
    protocol: Protocol
    measures: Mapping[str, float]
    undefined: frozenset[str]
    file: str
    commit: str
    machine: str
    revision: str = ""

    @property
    def older(self) -> bool:
        """Whether the row is of another engine revision than the present one."""
        return self.revision != str(ENGINE_REVISION)


@dataclass(frozen=True)
class CostRow:
    """A short run of ``benchmarks.timing method-cost``. ``seconds``: per epoch, training and scoring together.

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
    """The runs in these files, each method, data set, seed and protocol once; files of other scripts have none."""
    paths = list(paths)
    found: dict[tuple[str, str, int, Protocol], AccuracyRow] = {}
    for row in sorted((*_of_commands(paths), *_of_studies(paths)), key=lambda row: not row.older):
        found[row.method, row.data, row.seed, row.protocol] = row
    yield from found.values()


def _of_commands(paths: Iterable[Path]) -> Iterator[AccuracyRow]:
    """A row per run, with the command that made it."""
    for path, row in _rows(paths, {"run_id", "selected_by", "accuracy"}):
        said = _command(row["command"])
        yield AccuracyRow(
            method=row["method"],
            data=row["data"],
            seed=int(row["seed"]),
            protocol=Protocol(
                said.scheme, said.mech, said.c, said.preset, row["selected_by"], row["prior"], tuple(said.set)
            ),
            measures={
                **{name: float(text) for name, text in row.items() if text and _is_measure(name)},
                **{f"{name}_by_{row['selected_by']}": float(row[name]) for name in MEASURES if row.get(name)},
            },
            undefined=frozenset(),
            file=path.name,
            commit=row["commit"],
            machine=row["machine"],
        )


def _of_studies(paths: Iterable[Path]) -> Iterator[AccuracyRow]:
    """A row per run and criterion, as ``study_rows.py`` writes them."""
    runs: dict[tuple[Path, str], list[dict[str, str]]] = defaultdict(list)
    for path, row in _rows(paths, {"run_id", "criterion", "selected", "study"}):
        runs[path, row["run_id"]].append(row)
    for (path, _), rows in runs.items():
        named = _named(rows)
        measures = {name: float(named[name]) for name in MEASURES if named[name]}
        for row in rows:
            measures |= {f"{name}_by_{row['criterion']}": float(row[name]) for name in MEASURES if row[name]}
        yield AccuracyRow(
            method=named["method"],
            data=named["data"],
            seed=int(named["seed"]),
            protocol=_protocol(named),
            measures=measures,
            undefined=frozenset(row["criterion"] for row in rows if not row["epoch"]),
            file=path.name,
            commit=named["commit"],
            machine=named["machine"],
            revision=named.get("revision", ""),
        )


def _named(rows: Sequence[Mapping[str, str]]) -> Mapping[str, str]:
    """The row of the criterion that names a run; in PU-Bench's main protocol that of its code, whichever was first."""
    for row in rows:
        if _protocol(row) == CONVENTIONAL:
            return row
    return next(row for row in rows if row["selected"] == "True")


def _protocol(row: Mapping[str, str]) -> Protocol:
    return Protocol(
        row["scheme"],
        row["mechanism"],
        row["c"],
        row["preset"],
        row["criterion"],
        row["prior"],
        tuple(row["settings"].split()),
        row.get("positive_rate", ""),
    )


def published() -> dict[tuple[str, str], str]:
    """(method, data) -> F1 as PU-Bench prints it, ``mean ± standard deviation``."""
    with PUBLISHED.open(newline="") as file:
        return {(row["method"], row["data"]): f"{row['mean']} ± {row['printed']}" for row in csv.DictReader(file)}


def read_costs(paths: Iterable[Path]) -> Iterator[CostRow]:
    """The rows of ``method-cost`` in these files; those of the reference follow the method's that they are next to."""
    rows = list(_rows(paths, {"next_to", "training_seconds"}))
    beside = {_pair(row): float(row["seconds"]) for _, row in rows if row["method"] == REFERENCE}
    for path, row in rows:
        seconds = float(row["seconds"])
        yield CostRow(
            method=row["method"],
            data="fashion-mnist",
            preset="pubench",
            threads=int(row["threads"]),
            seconds=seconds,
            ratio=None if row["method"] == REFERENCE else seconds / beside[_pair(row)],
            file=path.name,
            commit=row["commit"],
            machine=row["machine"],
        )


def _pair(row: Mapping[str, str]) -> tuple[str, ...]:
    return row["next_to"], row["round"], row["commit"], row["machine"]


def by_data(rows: Iterable[AccuracyRow], measure: str) -> dict[tuple[str, str], list[float]]:
    """(method, data) -> one value per seed, of rows of one protocol."""
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in rows:
        if measure in row.measures:
            found[row.method, row.data].append(row.measures[measure])
    return dict(found)


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
