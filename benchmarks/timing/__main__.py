"""Measures seconds of one of the timings here and appends the rows to ``benchmarks/results/NAME.csv``.

    python -m benchmarks.timing published-code folder=PU-BENCH
    PUBENCH_DATA=... python -m benchmarks.timing method-cost methods=[vpu,pulda] --rounds 2 --out /tmp/rows.csv

``NAME=VALUE`` sets a parameter of the timing, in YAML. Sides of a case take turns; run it on a quiet machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from benchmarks.raw_rows import RESULTS, append, parser_of
from benchmarks.timing import engine, published
from benchmarks.timing.turns import Case, rounds, summary

TIMINGS: dict[str, Callable[..., Iterator[Case]]] = {
    "method-cost": engine.method_cost,
    "published-code": published.published_code,
}


def main() -> None:
    parser = parser_of(__doc__, "timing", TIMINGS)
    parser.add_argument("--rounds", type=int, default=5, help="besides the first, which is not kept")
    given = parser.parse_args()
    for case in TIMINGS[given.timing](**dict(given.parameters)):
        rows = list(rounds(case, given.rounds))
        for row in rows:
            append(given.out or RESULTS / f"{given.timing}.csv", row)
        print(*case.facts.values(), summary(rows, case.column), sep=", ", flush=True)


if __name__ == "__main__":
    main()
