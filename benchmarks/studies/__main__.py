"""Adds the missing rows of one of the experiments here to a file of ``benchmarks/results``.

    PUBENCH_DATA=... nice -n 19 python -m benchmarks.studies prior-error data=[digits,wine] seeds=[2]
    python -m benchmarks.studies recovered-error data=[pima] --out /tmp/rows.csv

``NAME=VALUE`` sets a parameter of the experiment, in YAML. Cases whose rows are in the file are not measured again, so
an experiment that was interrupted goes on with the same command.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch

from benchmarks.raw_rows import RESULTS, append, keys, parser_of
from benchmarks.studies import prior_error, recovered_error, validation_size
from benchmarks.studies.case import Case

#: Name of an experiment, and by default of its file of rows -> its cases.
EXPERIMENTS: dict[str, Callable[..., Iterator[Case]]] = {
    "prior-error": prior_error.cases,
    "recovered-error": recovered_error.cases,
    "validation-size": validation_size.cases,
}


def main() -> None:
    given = parser_of(__doc__, "experiment", EXPERIMENTS).parse_args()
    torch.set_num_threads(1)
    out = given.out or RESULTS / f"{given.experiment}.csv"
    for case in EXPERIMENTS[given.experiment](**dict(given.parameters)):
        if tuple(map(str, case.key.values())) not in keys(out, list(case.key)):
            for row in case.rows():
                append(out, row)
                print(*row.values(), sep=", ", flush=True)


if __name__ == "__main__":
    main()
