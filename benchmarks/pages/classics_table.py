"""The tables of ``docs/pages/classics.md``: the classics next to PU methods, by base, and by label frequency.

From the rows of studies: case-control, SCAR, true prior, 1 % for validation. Which PU method is
best is chosen on test rows, for each of three criteria.
"""

from __future__ import annotations

import pandas as pd

from benchmarks.pages.parts import table
from benchmarks.raw_rows import study_rows

CLASSICS = ("naive", "elkan-noto", "pu-bagging", "two-step", "pu-boost")
BASES = ("trees", "forest", "boosting", "logistic")
DATA = {
    "spambase": "Spambase", "letter": "Letter", "usps": "USPS", "20news": "20News", "connect-4": "Connect-4",
    "imdb": "IMDb", "mnist": "MNIST", "fashion-mnist": "Fashion-MNIST",
}  # fmt: skip
MEASURES = ("accuracy", "f1", "auc", "average-precision", "seconds")


def rows() -> pd.DataFrame:
    """One row for each data set, method, variant, c, seed and criterion: the newest."""
    frame = study_rows()
    frame = frame[
        frame.data.isin(DATA)
        & (frame.mechanism == "scar")
        & (frame.scheme == "case-control")
        & (frame.prior == "true")
        & (frame.draw == "")
        & frame.accuracy.notna()
        & (frame.method != "pn")
        & frame.settings.str.contains("validation.fraction=0.01", regex=False)
    ].copy()
    frame["variant"] = frame.settings.str.extract(r"\b(?:base|form)=(\S+)", expand=False)
    other = frame.variant.isna() & (frame.settings != "validation.fraction=0.01")
    frame["variant"] = frame.variant.fillna(frame.method.map({"pu-boost": "risk"}).fillna("trees"))
    run = ["data", "method", "variant", "c", "seed", "criterion"]
    return frame[~other].sort_values("revision", kind="stable").drop_duplicates(run, keep="last")


def number(values: pd.Series) -> str:
    return f"{values.mean():.1f}" if values.notna().all() and len(values) else ""


def line(name: str, by: str, group: pd.DataFrame) -> tuple[str, ...]:
    return name, by, str(len(group)), *(number(group[measure]) for measure in MEASURES)


def first_table(frame: pd.DataFrame) -> str:
    """The classics with trees, and the best PU methods, at c = .1."""
    parts = []
    usual = frame[(frame.c == 0.1) & frame.variant.isin(["trees", "risk"])]
    for data, name in DATA.items():
        here = usual[usual.data == data]
        classic = here.method.isin(CLASSICS)
        if not classic.any():
            continue
        seeds = min(3, here[classic].seed.nunique())
        last = here[classic & (here.criterion == "last")].groupby("method")
        lines = [line(f"`{method}`", "last", group) for method, group in last]
        lines.sort(key=lambda cells: -float(cells[3]))
        for criterion in ("pa", "last", "f1"):
            others = here[~classic & (here.criterion == criterion)]
            chosen = others[others.groupby("method").seed.transform("size") >= seeds]
            if len(chosen):
                best = chosen.groupby("method").accuracy.mean().idxmax()
                by = "f1 (oracle)" if criterion == "f1" else criterion
                lines.append(line(f"best PU method: `{best}`", by, chosen[chosen.method == best]))
        head = ("method", "epoch by", "seeds", "accuracy", "F1", "AUC", "AP", "seconds")
        parts.append(f"**{name}**\n\n{table(head, lines)}")
    return "\n\n".join(parts)


def crossed(frame: pd.DataFrame, by: str, columns: tuple[object, ...]) -> list[tuple[str, ...]]:
    """A row for each data set and method with at least two columns: accuracy and AUC, means over seeds 2, 25 and 42."""
    lines = []
    for data, name in DATA.items():
        for method in CLASSICS:
            here = frame[(frame.data == data) & (frame.method == method) & frame.seed.isin([2, 25, 42])]
            groups = {value: here[here[by] == value] for value in columns}
            cells = [
                f"{number(g.accuracy)} / {number(g.auc)}" if g.seed.nunique() == 3 else "" for g in groups.values()
            ]
            if sum(map(bool, cells)) > 1:
                lines.append((name, f"`{method}`", *cells))
    return lines


def tables() -> dict[str, str]:
    frame = rows()
    last = frame[frame.criterion == "last"]
    usual = last[last.variant.isin(["trees", "risk"])]
    label_frequencies = (0.02, 0.05, 0.1, 0.3, 0.5)
    return {
        "first": first_table(frame),
        "bases": table(("data", "method", *BASES), crossed(last[last.c == 0.1], "variant", BASES)),
        "label frequencies": table(
            ("data", "method", *(f"c = {c:g}".replace("0.", ".") for c in label_frequencies)),
            crossed(usual, "c", label_frequencies),
        ),
    }
