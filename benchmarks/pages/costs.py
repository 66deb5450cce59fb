"""The tables of ``cost-and-speed.md``: seconds and memory of methods next to nnPU, and rows through their networks."""

from __future__ import annotations

from benchmarks.pages.parts import table
from benchmarks.pages.queries import DATA, rows


def speed(*data: str) -> str:
    """Median seconds of an epoch here and of the published benchmark's code, in turns, by data set and method."""
    found = rows("published-code").query("data in @data")
    found = found.pivot_table(index=["data", "method"], columns="what", values="seconds", aggfunc="median", sort=False)
    lines = [
        (DATA[key], f"`{method}`", f"{ours:.3g}", f"{theirs:.3g}", f"{theirs / ours:.2f}")
        for (key, method), ours, theirs in found[["pubench ieee", "published"]].itertuples()
    ]
    return table(("data", "method", "here, s", "published code, s", "ratio"), lines)


def blocks() -> dict[str, str]:
    """Medians would hide how few repeats there are: the first round of each method is shown."""
    first = rows("method-cost").drop_duplicates(["method", "next_to"])
    beside = first[first.method == "nnpu"].set_index("next_to").seconds
    costs = [
        (f"`{row.method}`", f"{row.seconds:.2f}", f"{row.training_seconds:.2f}",
         f"{row.seconds / beside[row.method]:.2f}", row.peak_mib)
        for row in first[first.method != "nnpu"].drop_duplicates("method").itertuples()
    ]  # fmt: skip
    short = rows("pass-counts").query("preset == 'pubench'").drop_duplicates("method", keep="last")
    reference = int(short.set_index("method").cost["nnpu"])
    passes = [
        (f"`{row.method}`", f"{row.trained:,}", f"{row.forward:,}", f"{row.cost / reference:.1f}")
        for row in short.sort_values("cost", kind="stable").itertuples()
    ]
    return {
        "speed": speed(*DATA),
        "cost": table(("method", "seconds per epoch", "of them training", "ratio to nnPU", "peak MiB"), costs),
        "passes": table(("method", "trained", "forward only", "ratio to nnPU"), passes),
    }
