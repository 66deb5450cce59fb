"""The table of ``advice-bank.md``: the ways of a first attempt on the table of a bank, next to the answers of
``pubench advise``.
"""

from __future__ import annotations

import pandas as pd

from benchmarks.pages.parts import table
from benchmarks.raw_rows import RESULTS

#: As a way is called on the page -> method and criterion of ``bank-table.csv``, prior .25, means of three seeds.
OF_RUNS = {
    "nnPU, epoch by `pa` (as in the README)": ("nnpu", "pa"),
    "nnPU, epoch by `pauc`": ("nnpu", "pauc"),
    "nnPU, last epoch": ("nnpu", "last"),
    "VPU, epoch by `pauc`": ("vpu", "pauc"),
    "LBE-PU, epoch by `pa` (one seed)": ("lbe-pu", "pa"),
    "PUSB, last epoch": ("pusb", "last"),
    "Count Loss, last epoch": ("count-loss", "last"),
}
#: The same -> method of ``advice-bank.csv``, scored out of fold.
OF_FITS = {
    "logistic regression, P against U": "logistic regression, P against U",
    "PUET": "PUET",
    "random forest, P against U": "random forest, P against U",
    "Elkan-Noto weights, boosting": "Elkan-Noto, boosting",
}


def rows() -> list[tuple[str, float, float]]:
    """(way, AUC on the unlabeled rows, share of positives in the top 200); what has no rows is left out."""
    runs = pd.read_csv(RESULTS / "bank-table.csv").query("true_prior == 0.233 and labeled == 252 and prior == 0.25")
    runs = runs[runs["revision"] == runs["revision"].max()].groupby(["method", "criterion"])[["auc", "top_200"]].mean()
    answers = pd.read_csv(RESULTS / "advice-bank.csv")
    fits = answers[answers["when"].isin(["fit", "by hand"])].set_index("method")
    found = [(way, *map(float, runs.loc[key])) for way, key in OF_RUNS.items()]
    found += [
        (way, *map(float, fits.loc[key, ["auc", "top_200"]])) for way, key in OF_FITS.items() if key in fits.index
    ]
    for when in ("answer", "answer, 60 rows checked"):
        last = answers[answers["when"] == when].iloc[-1]
        found.append((f"advise: {when} ({last['method']})", float(last["auc"]), float(last["top_200"])))
    return sorted(found, key=lambda one: -one[2])


def blocks() -> dict[str, str]:
    """The table, best first, the answers of advise in bold."""
    lines = []
    for way, auc, top in rows():
        cells = (way, f"{auc:.3f}".lstrip("0"), f"{100 * top:.1f} %")
        lines.append([f"**{cell}**" if way.startswith("advise") else cell for cell in cells])
    return {"ways": table(("way", "AUC on the unlabeled rows", "positives in the top 200"), lines)}
