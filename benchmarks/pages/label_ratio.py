"""The page ``label-ratio.md`` and its figure: what more labels and biased labels do."""

from __future__ import annotations

import pandas as pd
from matplotlib import colormaps
from matplotlib.figure import Figure

from benchmarks.pages.parts import interval, render, table
from benchmarks.pages.queries import DATA, SEEDS, by_pa, rows, studies

METHODS = (
    "pu-bagging", "naive", "elkan-noto", "two-step", "pu-boost", "puet", "dist-pu", "nnpu", "upu", "pusb", "vpu",
    "pue", "lbe-pu", "p3mix-c",
)  # fmt: skip
CLASSICS = METHODS[:5]
MECHANISMS = {"scar": "S1", "sar-lbe-a": "S2", "sar-lbe-b": "S3", "sar-pusb": "S4"}
SETS = ("spambase", "letter", "usps", "20news", "connect-4", "digits")
FREQUENCIES = (0.05, 0.5)
RULES = {
    "half": "1/2", "prior_x0.5": "half the prior", "prior_x1": "prior", "prior_x2": "twice",
    "prior_estimated": "estimated prior", "tmi": "NTC-tMI", "off": "estimate is off by",
}  # fmt: skip


def means(measure: str, scheme: str = "case-control", settings: str = "validation.fraction=0.01") -> pd.DataFrame:
    """A row per (data, mechanism, c), a column per method: means over three seeds by ``pa``, missing with fewer."""
    frame = by_pa(studies(settings, scheme=scheme))
    for column, wanted in (("data", SETS), ("method", METHODS), ("mechanism", MECHANISMS), ("seed", SEEDS)):
        frame = frame[frame[column].isin([*wanted])]
    found = frame.groupby(["data", "mechanism", "c", "method"])[measure].agg(["mean", "count"])
    return found[found["count"] == len(SEEDS)]["mean"].unstack()


def grid(found: pd.DataFrame, columns: list[tuple[str, str, float]], names: list[str]) -> str:
    """A row per method, the best of a column in bold, ``-`` without three seeds."""
    shown = found.reindex(columns)[[method for method in METHODS if method in found]].T.dropna(how="all")
    lines = [
        (f"`{method}`", *("-" if pd.isna(v) else f"**{v:.1f}**" if v == shown[key].max() else f"{v:.1f}"
                          for key, v in row.items()))
        for method, row in shown.iterrows()
    ]  # fmt: skip
    return table(("method", *names), lines)


def by_c(found: pd.DataFrame, data: str) -> str:
    columns = [key for key in found.index if key[:2] == (data, "scar")]
    return grid(found, columns, [f"c = {c:g}" for _, _, c in columns])


def by_mechanism(found: pd.DataFrame, data: str) -> str:
    columns = [(data, mechanism, c) for c in FREQUENCIES for mechanism in MECHANISMS]
    return grid(found, columns, [f"{MECHANISMS[mechanism]}, {c:g}" for _, mechanism, c in columns])


def with_several(found: pd.DataFrame, column: str) -> list[str]:
    """Data sets with several values of ``c`` under SCAR, or several mechanisms."""
    keys = found.index.to_frame()
    keys = keys[(keys.mechanism == "scar") | (column == "mechanism")]
    return [data for data in SETS if keys[keys.data == data][column].nunique() > 1]


def aistats() -> pd.DataFrame:
    """Rows on tables of AISTATS 2025: bias, table, unit (what is paired), method with its preset or base, measures.

    ``balanced``: balanced accuracy; test rows are stratified, so that their share of positives is the told prior.
    """
    found = rows("study-teisseyre2025").query("criterion == 'last'").fillna({"preset": "", "settings": ""})
    base = found.settings.str.extract(r"\bbase=(\S+)")[0].fillna("")
    named = (found.method + " " + found.preset.where(found.preset != "", base)).str.strip()
    bias, share = found.mechanism.str[-2:].str.upper(), found.told_prior
    balanced = (found.recall + (found.accuracy - share * found.recall) / (1 - share)) / 2
    return found.assign(bias=bias, table=found.data, unit=found.seed.astype(str), method=named, balanced=balanced)


def over_bagging(found: pd.DataFrame, measure: str = "auc") -> pd.DataFrame:
    """A measure minus that of bagged trees, paired by unit: a row per bias and table, a column per method."""
    values = found.groupby(["bias", "table", "unit", "method"])[measure].mean().unstack()
    return values.sub(values.pop("pu-bagging"), axis=0).groupby(level=[0, 1]).mean().dropna(how="all")


def biased_tables(measure: str) -> tuple[str, pd.Series]:
    """A measure minus bagged trees' on tables of AISTATS 2025: means over tables with intervals; how many tables."""
    found = aistats()
    apart = over_bagging(found, measure).dropna(axis=1, thresh=50)  # nearly all
    seeds = found.groupby("method").seed.nunique()
    lines = [
        (code(name) + " ¹" * int(seeds[name] == 1), *apart[name].groupby(level=0).apply(interval)) for name in apart
    ]
    return table(("method", "S1", "S2", "S3", "S4"), lines), apart.groupby(level=0).size()


def code(name: str) -> str:
    """A method as code, and its preset or base."""
    method, _, rest = name.partition(" ")
    return f"`{method}` {rest}".strip()


def decided() -> tuple[str, pd.Series]:
    """Accuracy of bagged trees on the same tables by threshold, means over tables; how many tables, one seed each."""
    found = rows("decisions-biased").query("method == 'pu-bagging'").dropna(subset="prior_estimated")
    by = found.assign(off=100 * (found.estimate - found.prior).abs()).groupby(found.mechanism.str[-2:].str.upper())
    lines = [(kind, *(f"{v:.1f}" for v in row)) for kind, row in by[[*RULES]].mean().iterrows()]
    return table(("mechanism", *RULES.values()), lines), by.data.nunique()


def calibration(case_control: pd.DataFrame) -> dict[str, object]:
    """Changes by the other scheme, with U ∪ P given as unlabeled rows and without."""
    given = means("accuracy", "single-training-set")
    apart = means("accuracy", "single-training-set", "method.calibrate=off validation.fraction=0.01")
    moved = (given - case_control).loc[given.index].abs().max()
    added = [(c, (given - apart).loc[key].dropna()) for key in apart.index for c in key[2:]]
    return {
        "same": ", ".join(f"`{method}`" for method in METHODS if method in moved and moved[method] < 0.05),
        "moved": f"{moved.max():.1f}",
        "added": ", ".join(
            f"{of.min():+.1f} (`{of.idxmin()}`) to {of.max():+.1f} (`{of.idxmax()}`) at c = {c:g}" for c, of in added
        ),
    }


def page() -> str:
    auc, found = means("auc"), means("accuracy")
    labels, biased = with_several(auc, "c"), with_several(auc, "mechanism")
    gain = (found.loc["spambase", "scar", 0.5] - found.loc["spambase", "scar", 0.02]).dropna()
    first, best = auc.idxmax(axis=1), auc.max(axis=1)
    scar = [first[key] for key in auc.index if key[1] == "scar" and key[0] in labels]
    under_bias = [first[key] for key in auc.index if key[1] != "scar" and auc.loc[key].count() > 9]
    others = sorted({*under_bias} - {*CLASSICS})
    leader = max(others, key=under_bias.count)
    drop = {
        mechanism: sum(best["spambase", "scar", c] - best["spambase", mechanism, c] for c in FREQUENCIES) / 2
        for mechanism in MECHANISMS
    }
    return render(
        "label-ratio.md",
        labels=labels,
        biased=biased,
        names=DATA,
        not_run=[
            f"{what} on {', '.join(DATA[data] for data in SETS if data not in has)}"
            for what, has in (("other c than .1", labels), ("S2 to S4", biased))
            if len(has) < len(SETS)
        ],
        gain=gain,
        classics=sum(method in CLASSICS for method in scar),
        scar=scar,
        biased_classics=sum(method in CLASSICS for method in under_bias),
        under_bias=under_bias,
        leader=leader,
        best=best,
        first=first,
        also=", ".join(f"{best[d, 'sar-lbe-b', 0.05]:.0f} ({DATA[d]})" for d in biased if d != "spambase"),
        drop=drop,
        ahead=[found.pusb["spambase", "sar-pusb", c] - found.nnpu["spambase", "sar-pusb", c] for c in FREQUENCIES],
        accuracy=by_c(found, "spambase"),
        by_c={data: by_c(auc, data) for data in labels},
        by_mechanism={data: by_mechanism(auc, data) for data in biased},
        tables=biased_tables("auc"),
        balanced=biased_tables("balanced")[0],
        at_prior=biased_tables("accuracy-at-prior")[0],
        decided=decided(),
        **calibration(found),
    )


def draw(found: pd.DataFrame) -> Figure:
    """Accuracy by ``pa`` against c, a panel per data set."""
    shown = with_several(found, "c")
    figure = Figure(figsize=(12, 3.6), layout="constrained")
    panels = figure.subplots(1, len(shown))
    colors = dict(zip(METHODS, colormaps["tab20"].colors, strict=False))
    for panel, data in zip(panels, shown, strict=True):
        lines = found.loc[data, "scar"]
        for method in METHODS:
            points = lines[method].dropna() if method in lines else lines.iloc[:0, 0]
            if len(points) > 1:
                style = "-" if method in METHODS[:6] else "--"
                panel.plot(points.index, points, style, color=colors[method], label=method, marker="o", ms=3)
        panel.set(title=DATA[data], xscale="log")
        panel.set_xticks(lines.index, [f"{c:g}" for c in lines.index], minor=False)
        panel.minorticks_off()
    panels[0].set_ylabel("test accuracy, %, epoch by pa")
    figure.supxlabel("share of positives labeled, c")
    lines = {label: line for panel in panels for line, label in zip(*panel.get_legend_handles_labels(), strict=True)}
    figure.legend(lines.values(), lines, loc="outside right center", fontsize=8, frameon=False)
    return figure
