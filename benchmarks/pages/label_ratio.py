"""The page ``label-ratio.md`` and its figure: what more labels and biased labels do, from rows of
``label-ratio-first`` and ``label-ratio-second``.

Rows with c = .1 on Spambase are those of the conventional setting.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.figure import Figure

from benchmarks.pages.parts import table
from benchmarks.raw_rows import RESULTS, study_rows

METHODS = (
    "pu-bagging", "naive", "elkan-noto", "two-step", "pu-boost", "puet", "dist-pu", "nnpu", "upu", "pusb", "vpu",
    "pue", "lbe-pu", "p3mix-c",
)  # fmt: skip
SEEDS = (2, 25, 42)
MECHANISMS = {"scar": "S1", "sar-lbe-a": "S2", "sar-lbe-b": "S3", "sar-pusb": "S4"}
DATA = {
    "spambase": "Spambase", "letter": "Letter", "usps": "USPS", "20news": "20News", "connect-4": "Connect-4",
    "digits": "Digits",
}  # fmt: skip


def rows(scheme: str = "case-control", settings: str = "validation.fraction=0.01") -> pd.DataFrame:
    """Rows of three seeds, the newest of every run, with the decision at the prior if it is known."""
    frame = study_rows()
    frame = frame[
        frame.data.isin(DATA)
        & frame.method.isin(METHODS)
        & frame.mechanism.isin(MECHANISMS)
        & frame.seed.isin(SEEDS)
        & (frame.draw == "")
        & (frame.scheme == scheme)
        & (frame.prior == "true")
        & (frame.settings == settings)
        & frame.preset.isin(["", "pubench"])
    ]
    run = ["data", "method", "mechanism", "c", "seed", "criterion"]
    frame = frame.sort_values("revision", kind="stable").drop_duplicates(run, keep="last")
    decided = pd.concat(pd.read_csv(RESULTS / f"{name}.csv") for name in ("decisions", "decisions-label-ratio"))
    decided = decided.drop_duplicates(["run_id", "criterion"], keep="last")
    return frame.merge(decided[["run_id", "criterion", "accuracy_at_prior"]], on=["run_id", "criterion"], how="left")


def means(frame: pd.DataFrame, measure: str, criterion: str) -> dict[tuple[str, str, float], dict[str, float]]:
    """(data, mechanism, c) -> method -> mean over three seeds; the last epoch if the criterion has no value."""
    found: dict[tuple[str, str, float], dict[str, float]] = {}
    run = ["data", "mechanism", "c", "method", "seed"]
    chosen = frame[frame.criterion.isin([criterion, "last"]) & frame[measure].notna()]
    chosen = chosen.assign(own=chosen.criterion == criterion).sort_values("own").drop_duplicates(run, keep="last")
    for (data, mechanism, c, method), group in chosen.groupby(["data", "mechanism", "c", "method"]):
        if len(group) == len(SEEDS):
            found.setdefault((data, mechanism, c), {})[method] = float(group[measure].mean())
    return found


def grid(frame: pd.DataFrame, columns: list[tuple[str, str, float]], names: list[str], measure: str, by: str) -> str:
    """A row per method, the best of a column in bold, ``-`` without three seeds."""
    found = means(frame, measure, by)
    best = {key: max(found.get(key, {"": np.nan}).values()) for key in columns}
    lines = []
    for method in METHODS:
        values = [found.get(key, {}).get(method) for key in columns]
        if any(value is not None for value in values):
            cells = (
                "-" if v is None else f"**{v:.1f}**" if v == best[key] else f"{v:.1f}"
                for v, key in zip(values, columns, strict=True)
            )
            lines.append((f"`{method}`", *cells))
    return table(("method", *names), lines)


def by_c(frame: pd.DataFrame, data: str, measure: str, criterion: str) -> str:
    columns = [(data, "scar", c) for c in sorted(frame[(frame.data == data) & (frame.mechanism == "scar")].c.unique())]
    return grid(frame, columns, [f"c = {c:g}" for _, _, c in columns], measure, criterion)


def by_mechanism(frame: pd.DataFrame, data: str, measure: str, criterion: str) -> str:
    columns = [(data, mechanism, c) for c in (0.05, 0.5) for mechanism in MECHANISMS]
    names = [f"{MECHANISMS[mechanism]}, {c:g}" for _, mechanism, c in columns]
    return grid(frame, columns, names, measure, criterion)


def with_several(frame: pd.DataFrame, column: str) -> list[str]:
    """Data sets with several values of ``c`` under SCAR, or several mechanisms, each with three seeds of a method."""
    place = {"c": 2, "mechanism": 1}[column]
    keys = [key for key in means(frame, "auc", "pa") if column == "mechanism" or key[1] == "scar"]
    return [data for data in DATA if len({key[place] for key in keys if key[0] == data}) > 1]


def ranks(frame: pd.DataFrame, criterion: str) -> str:
    """Spearman's correlation of the order of methods in SCAR and under bias."""
    found, lines = means(frame, "auc", criterion), []
    for mechanism in list(MECHANISMS)[1:]:
        cells = []
        for c in (0.05, 0.5):
            here, there = found.get(("spambase", mechanism, c), {}), found.get(("spambase", "scar", c), {})
            both = sorted({*here} & {*there})
            rank = pd.Series({m: here[m] for m in both}).corr(pd.Series({m: there[m] for m in both}), method="spearman")
            cells.append(f"{rank:.2f}" if len(both) > 2 else "-")
        lines.append((MECHANISMS[mechanism], *cells))
    return table(("mechanism", "c = .05", "c = .5"), lines)


def single_training_set(case_control: dict[tuple[str, str, float], dict[str, float]]) -> str:
    """The section of the other scheme: what it changes, with U ∪ P given as unlabeled rows and without."""
    given = rows("single-training-set")
    apart = rows("single-training-set", "method.calibrate=off validation.fraction=0.01")
    with_p, without = means(given, "accuracy", "pa"), means(apart, "accuracy", "pa")
    moved: dict[str, float] = {}  # largest change of a method from case-control
    for key, values in with_p.items():
        for method, value in values.items():
            moved[method] = max(moved.get(method, 0.0), abs(value - case_control[key][method]))
    same = [method for method in METHODS if moved.get(method, 1) < 0.05]
    lost = {key[2]: {m: with_p[key][m] - value for m, value in without[key].items()} for key in sorted(without)}
    said = ", ".join(
        f"{min(points.values()):+.1f} (`{min(points, key=lambda m: points[m])}`) to "
        f"{max(points.values()):+.1f} (`{max(points, key=lambda m: points[m])}`) at c = {c:g}"
        for c, points in lost.items()
    )
    return f"""## Spambase, in the scheme `single-training-set`

There the labeled positives are missing from U. A method that takes U for a draw from the population is given U ∪ P as
its unlabeled rows ([calibration](settings.md)). So {", ".join(f"`{m}`" for m in same)} have the rows of
case-control and the same results; no other method changes by more than {max(moved.values()):.1f} points.

Points of accuracy that calibration adds:
{said}."""


def page() -> str:
    frame = rows()
    auc, found = means(frame, "auc", "pa"), means(frame, "accuracy", "pa")
    labels, biased = with_several(frame, "c"), with_several(frame, "mechanism")
    not_run = [
        f"{what} on {', '.join(DATA[data] for data in DATA if data not in has)}"
        for what, has in (("other c than .1", labels), ("S2 to S4", biased))
        if len(has) < len(DATA)
    ]
    not_run += [
        "single-training-set on other data",
        "`p3mix-c` on Spambase other than c = .1",
        "c of .01 and above .5",
        "all longer methods",
    ]
    low, high = found["spambase", "scar", 0.02], found["spambase", "scar", 0.5]
    gain = {m: high[m] - low[m] for m in low if m in high}
    most, least = max(gain, key=lambda m: gain[m]), min(gain, key=lambda m: gain[m])
    first = {key: max(values, key=lambda m: values[m]) for key, values in auc.items()}
    scar = [key for key in first if key[1] == "scar" and key[0] in labels]
    bagging = sum(first[key] == "pu-bagging" for key in scar)
    classics = sum(first[key] in METHODS[:5] for key in scar)
    under_bias = [first[key] for key, values in auc.items() if key[1] != "scar" and len(values) > 9]
    leader = max(set(under_bias), key=lambda m: (m not in METHODS[:5], under_bias.count(m)))
    best = {key: max(values.values()) for key, values in auc.items()}
    drop = {
        mechanism: np.mean([best["spambase", "scar", c] - best["spambase", mechanism, c] for c in (0.05, 0.5)])
        for mechanism in MECHANISMS
    }
    also = ", ".join(f"{best[d, 'sar-lbe-b', 0.05]:.0f} ({DATA[d]})" for d in biased if d != "spambase")
    ahead = [found["spambase", "sar-pusb", c]["pusb"] - found["spambase", "sar-pusb", c]["nnpu"] for c in (0.05, 0.5)]
    parts = [
        f"""# More labels, and biased ones

PU-Bench asks what the share of labeled positives (its Figures 5 and 13) and the labeling mechanism (Figures 6, 14 to
16) change. `make pages` computes this page from committed rows. It is **small**: {len(labels)} data
sets, three seeds, methods that take seconds. PU-Bench has 18 methods, eight data sets and ten seeds.

- More labels help every method on Spambase: from c = .02 to .5, accuracy rises by {gain[least]:.0f} (`{least}`) to
  {gain[most]:.0f} points (`{most}`).
- By AUC, a classic is first in {classics} of {len(scar)} cells with SCAR labels, `pu-bagging` in {bagging}. With
  biased labels (S2 to S4) it is so in {sum(m in METHODS[:5] for m in under_bias)} of {len(under_bias)}; of the other
  methods, `{leader}` is first most often ({under_bias.count(leader)}).
- If unlikely positives are labeled (S3, c = .05), **every method ranks worse than chance** on Spambase: the best AUC is
  {best["spambase", "sar-lbe-b", 0.05]:.0f}. With half of the positives labeled it is
  {best["spambase", "sar-lbe-b", 0.5]:.0f} (`{first["spambase", "sar-lbe-b", 0.5]}`). At c = .05 the best AUC on other
  data is {also}.
- S2 and S4 label likely positives. On Spambase they cost the best method
  {drop["sar-lbe-a"]:.1f} and {drop["sar-pusb"]:.1f} points
  of AUC, mean over c = .05 and .5.
- `pusb` assumes a bias of S4's kind. It trains nnPU's network and moves the threshold. Under S4 its
  accuracy is {ahead[0]:+.0f} and {ahead[1]:+.0f} points from `nnpu`'s.

![Test accuracy against the share of labeled positives](images/label-ratio.png)

S1 to S4 are the [mechanisms](data.md#who-is-labeled) `scar`, `sar-lbe-a`, `sar-lbe-b`, `sar-pusb`. Values are means
over seeds 2, 25, 42 of test measures in percent. `pa` reads no true label; *oracle* takes the epoch of the highest F1
on true labels. With c of .02 and .05 no labeled row of Spambase is held out: `pa` has no value there, and the last
epoch counts. *At 0* is a method's own decision. *At the prior*, as many unlabeled rows are positive as the prior says,
and [fewer new rows as c grows](numbers.md#from-scores-to-decisions); classics decide so by themselves. `-`: not run
with three seeds, or scores were not kept."""
    ]
    for data in labels:
        parts.append(f"## {DATA[data]}, by label frequency")
        if data == "spambase":
            parts.append(f"Accuracy, epoch by `pa`, at 0:\n\n{by_c(frame, data, 'accuracy', 'pa')}")
        parts.append(f"AUC, epoch by `pa`:\n\n{by_c(frame, data, 'auc', 'pa')}")
    for data in biased:
        parts.append(f"## {DATA[data]}, by mechanism")
        parts.append(f"AUC, epoch by `pa`:\n\n{by_mechanism(frame, data, 'auc', 'pa')}")
    parts.append(single_training_set(found))
    parts.append(
        f"""Spearman's correlation between the order of methods by AUC under SCAR and under bias, on Spambase:

{ranks(frame, "pa")}

*Limits*: the true prior is given. Under bias, PA and the decision at the prior still assume SCAR. Simulated bias is
that of a logistic regression on true labels. Not run: {"; ".join(not_run)}.

Rows: `study-label-ratio-*.csv`, `study-conventional.csv`, `study-classics.csv`,
`decisions*.csv`. Commands, all resumable:

<!-- not run in CI: hours -->

```
pubench study run benchmarks/studies/label-ratio-first.yaml --results results
pubench study run benchmarks/studies/label-ratio-second.yaml --results results
pubench study run pu-bench --results results
```"""
    )
    return "\n\n".join(parts) + "\n"


def draw(frame: pd.DataFrame) -> Figure:
    """Accuracy by ``pa`` against c, a panel per data set."""
    found, shown = means(frame, "accuracy", "pa"), with_several(frame, "c")
    figure = Figure(figsize=(12, 3.6), layout="constrained")
    panels = figure.subplots(1, len(shown))
    colors = dict(zip(METHODS, colormaps["tab20"].colors, strict=False))
    for panel, data in zip(panels, shown, strict=True):
        cs = sorted(c for key, mechanism, c in found if (key, mechanism) == (data, "scar"))
        for method in METHODS:
            points = [(c, found[data, "scar", c][method]) for c in cs if method in found[data, "scar", c]]
            if len(points) > 1:
                style = "-" if method in METHODS[:6] else "--"
                panel.plot(*zip(*points, strict=True), style, color=colors[method], label=method, marker="o", ms=3)
        panel.set(title=DATA[data], xscale="log")
        panel.set_xticks(cs, [f"{c:g}" for c in cs], minor=False)
        panel.minorticks_off()
    panels[0].set_ylabel("test accuracy, %, epoch by pa")
    figure.supxlabel("share of positives labeled, c")
    lines = {label: line for panel in panels for line, label in zip(*panel.get_legend_handles_labels(), strict=True)}
    figure.legend(lines.values(), lines, loc="outside right center", fontsize=8, frameon=False)
    return figure
