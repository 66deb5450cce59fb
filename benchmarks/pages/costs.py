"""The tables of ``cost-and-speed.md``: seconds and memory of methods next to nnPU, and rows through their networks."""

from __future__ import annotations

from benchmarks.pages.parts import table
from benchmarks.pages.readme_report import read
from benchmarks.raw_rows import RESULTS


def blocks() -> dict[str, str]:
    """Medians would hide how few repeats there are: the first round of each method is shown."""
    rows, passes = read(RESULTS / "method-cost.csv"), read(RESULTS / "pass-counts.csv")
    beside = {row["next_to"]: float(row["seconds"]) for row in reversed(rows) if row["method"] == "nnpu"}
    first = {row["method"]: row for row in reversed(rows) if row["method"] != "nnpu"}
    costs = [
        (f"`{method}`", f"{float(row['seconds']):.2f}", f"{float(row['training_seconds']):.2f}",
         f"{float(row['seconds']) / beside[method]:.2f}", row["peak_mib"])
        for method, row in reversed(first.items())
    ]  # fmt: skip
    short = {row["method"]: row for row in passes if row["preset"] == "pubench"}
    lines = [
        (f"`{method}`", f"{int(row['trained']):,}", f"{int(row['forward']):,}",
         f"{int(row['cost']) / int(short['nnpu']['cost']):.1f}")
        for method, row in sorted(short.items(), key=lambda one: int(one[1]["cost"]))
    ]  # fmt: skip
    return {
        "cost": table(("method", "seconds per epoch", "of them training", "ratio to nnPU", "peak MiB"), costs),
        "passes": table(("method", "trained", "forward only", "ratio to nnPU"), lines),
    }
