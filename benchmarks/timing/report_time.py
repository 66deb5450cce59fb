"""Seconds of ``pubench study report`` on 2,880 runs as one HTML page, and the page's size.

    python -m benchmarks.timing.report_time benchmarks/results/report-time.csv

16 methods, 6 data sets, 3 label frequencies, 10 seeds; results are made by hand as those of the tests are (numbers are
drawn, nothing is trained). ``processor_seconds`` is what the command computed, ``seconds`` what passed; ``start`` and
``start_processor`` are those of ``pubench study report --help`` in between, which does nothing. Five rounds after one
that is not counted, which leaves compiled files and the disk's cache behind.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from benchmarks.raw_rows import append
from benchmarks.timing.overhead import SCRIPT, seconds_of

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "doubles"))
from made_studies import made_study, stored

METHODS = (
    "nnpu", "upu", "pn", "pusb", "vpu", "nnpu-ga", "dist-pu", "pulda", "cvir", "lbe-pu", "mpe-pu", "robust-pu", "pan",
    "pubn", "self-pu", "p3mix-c",
)  # fmt: skip
DATA = ("spambase", "20news", "connect-4", "mnist", "fashion-mnist", "usps")
CS = (0.05, 0.1, 0.3)
ROUNDS = 5
REPORT = (SCRIPT, "study", "report")


def main(out: Path) -> None:
    results, env = made_study(METHODS, DATA, range(10), CS), dict(os.environ)
    with tempfile.TemporaryDirectory() as folder:
        records, page = stored(Path(folder) / "results", results), Path(folder) / "report.html"
        for turn in range(ROUNDS + 1):
            start = seconds_of([*REPORT, "--help"], env)
            report = seconds_of([*REPORT, records, "--format", "html", "--out", page], env)
            row = {
                "runs": len(results),
                "seconds": round(report.wall, 2),
                "processor_seconds": round(report.cpu, 2),
                "start": round(start.wall, 2),
                "start_processor": round(start.cpu, 2),
                "page_mb": round(page.stat().st_size / 1e6, 2),
                "load": round(os.getloadavg()[0], 1),
            }
            print(row, flush=True)
            if turn:
                append(out, row)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
