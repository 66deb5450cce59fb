"""Keys of committed rows that fit no table: nothing installed has them, and no file declares them as its own."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path

from benchmarks.raw_rows import RESULTS
from pubench_core.plugins.info import DatasetInfo, Info, MechanismInfo, MethodInfo, MetricInfo
from pubench_core.plugins.registry import registry

KINDS: dict[str, type[Info]] = {
    "method": MethodInfo, "data": DatasetInfo, "mechanism": MechanismInfo, "criterion": MetricInfo,
}  # fmt: skip
#: Keys that a column may have besides those of plugins.
ALSO = {"criterion": {"last", "native", ""}, "mechanism": {"given"}}
#: Files whose rows have names of their own, and what they are.
OWN: dict[str, dict[str, set[str]]] = {
    "bank-folds.csv": {"criterion": {"recall-at-200"}},
    "bank-table.csv": {"method": {"bagged-trees"}},
    "own-priors.csv": {"method": {"bagged-trees"}},
    "own-tables.csv": {"method": {"bagged-trees"}, "mechanism": {"biased"}},
    "pulearn.csv": {"method": {"bagging"}},
    "released.csv": {"method": {"lbe"}},
    "sparse-text.csv": {"method": {"by-hand-logistic", "by-hand-bag"}},
}
#: Rows whose methods are ways to score a table, methods with a base, or sets of methods; names of sources of data.
FREE = {
    "bagging-base.csv": {"mechanism"}, "advice-bank.csv": {"method"}, "kernel-choice.csv": {"data", "mechanism"},
    "advice-checked.csv": {"mechanism"}, "advice-fits.csv": {"method", "mechanism"},
    "advice-wider.csv": {"method", "mechanism"}, "species.csv": {"method"}, "two-parts.csv": {"method"},
    "validation-size.csv": {"method", "data"}, "mean-of-three.csv": {"data", "mechanism"},
    "prior-error.csv": {"data"}, "recovered-error.csv": {"data"}, "scar-power.csv": {"mechanism", "data"},
}  # fmt: skip


def unknown_keys(results: Path = RESULTS) -> list[str]:
    """A line for each key of a row that fits no table."""
    known = {
        column: {name for info in registry().infos(kind) for name in (info.key, *getattr(info, "aliases", ()))}
        for column, kind in KINDS.items()
    }
    return [line for path in sorted(results.glob("*.csv")) for line in _unknown(path, known)]


def _unknown(path: Path, known: dict[str, set[str]]) -> Iterator[str]:
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for column in KINDS.keys() - FREE.get(path.name, set()):
        allowed = known[column] | ALSO.get(column, set()) | OWN.get(path.name, {}).get(column, set())
        for key in sorted({row[column].partition("/")[0] for row in rows if column in row} - allowed):
            near = get_close_matches(key, allowed, 1)
            yield f"{path.name}: {column} {key!r} fits no table" + (f"; did you mean {near[0]!r}?" if near else "")
