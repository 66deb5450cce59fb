"""The page ``findings.md``: what was found here that the literature does not say, from committed rows.

Every number is computed here. A finding without rows is left out.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable

from benchmarks.pages.parts import table
from benchmarks.pages.readme_report import CONVENTIONAL, Rows, mean, newest, read
from benchmarks.pages.summary import published
from benchmarks.raw_rows import RESULTS

DATA = {"spambase": "Spambase", "20news": "20News", "connect-4": "Connect-4"}
NAMES = {**DATA, "digits": "Digits", "letter": "Letter", "usps": "USPS", "imdb": "IMDb"}
TREES = "pu-bagging"
#: (mechanism, c) -> how the biases of labels are called.
BIASES = {
    ("scar", "0.1"): "SCAR", ("sar-lbe-a", "0.05"): "S2", ("sar-lbe-a", "0.5"): "S2", ("sar-lbe-b", "0.5"): "S3",
    ("sar-pusb", "0.05"): "S4", ("sar-pusb", "0.5"): "S4",
}  # fmt: skip
SMOOTH = ("SCAR", "S2")
SEEDS = ("2", "25", "42")
#: Points of AUC within which a method shares the first place.
NEAR = 0.5
CLASSICS = ("pu-bagging", "elkan-noto", "two-step", "pu-boost")
#: Seeds behind a figure that PU-Bench prints.
PUBLISHED_SEEDS = 10

Row = dict[str, str]
#: Name of a recipe -> key of its method, where it is another one.
RECIPES = {"lbe": "lbe-pu"}
#: By data set.
Runs = dict[str, Rows]


def clean(name: str) -> list[Row]:
    """The rows of a file; all are of clean commits."""
    return read(RESULTS / f"{name}.csv")


def conventional() -> Runs:
    """Runs of PU-Bench's conventional setting."""
    return newest(
        row for path in sorted(RESULTS.glob("study-*.csv")) for row in clean(path.stem) if not row.get("draw")
    )


def at_prior() -> dict[tuple[str, str], dict[str, float]]:
    """(data, method) -> seed -> accuracy of the epoch by ``pa``, decided at the prior."""
    found: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for row in clean("decisions"):
        if row["criterion"] == "pa" and (row["scheme"], row["c"]) == ("case-control", "0.1"):
            found[row["data"], row["method"]][row["seed"]] = float(row["accuracy_at_prior"])
    return found


def choosing_an_epoch(runs: Runs) -> str:
    rows, losses, better, decided = [], [], [], at_prior()
    others = []
    for data, name in DATA.items():
        trained = {
            method: by
            for method, by in runs[data].items()
            if method != "pn" and len(by["f1"]) >= 3 and all(int(row["epochs"]) > 1 for row in by["f1"].values())
        }
        lost = {
            how: statistics.fmean(mean(by["f1"]) - mean(by[how]) for by in trained.values())
            for how in ("pa", "pauc", "last")
        }
        losses.append(lost["pa"])
        better += [name] * (lost["pa"] < lost["last"])
        known = {method: decided[data, method].keys() & by["f1"].keys() for method, by in trained.items()}
        apart = [
            statistics.fmean(float(trained[m]["f1"][s]["accuracy"]) - decided[data, m][s] for s in seeds)
            for m, seeds in known.items()
            if len(seeds) >= 3
        ]
        others += [statistics.fmean(apart)] if apart else []
        cell = f"{others[-1]:.1f} ({len(apart)})" if apart else "-"
        rows.append((name, str(len(trained)), f"{lost['pa']:.1f}", cell, f"{lost['pauc']:.1f}", f"{lost['last']:.1f}"))
    span, most = f"{min(losses):.0f} to {max(losses):.0f}", f"{max(others):.0f}"
    choosing = "Choosing an epoch by 1 to 8 held-out positives"
    return f"""## {choosing} costs {span} points on average at 0, at most {most} at the prior

PU-Bench's validation part is 1 % of the pool: with c = .1 it holds 1 to 8 labeled positives. The table has the lost
points of test accuracy, against an epoch chosen with true labels (F1), both decided at a score of 0. It is the mean
over the methods that have epochs to choose; single methods lose more. In one column the choice without true labels is
decided *at the prior*: as many rows are positive as the prior says. So most of the loss is the threshold's, not the
epoch's. PA does better than taking the last epoch on {len(better)} of {len(DATA)} data sets.

{table(("data", "methods", "by `pa`", "by `pa`, decided at the prior (methods)", "by `pauc`", "last epoch"), rows)}

*Limit*: c = .1 and one size of the validation part; a negative loss is a gain. Rows: `study-conventional.csv`, the
other `study-*.csv` and `decisions.csv`. Command: `pubench study run conventional`."""


def picture(scheme: str) -> str:
    """README's figure in a color scheme."""
    name = "spambase-choice" + {"light": "", "dark": "-dark"}[scheme]
    return f"![Accuracy on Spambase, epoch chosen without and with true labels](images/{name}.png#only-{scheme})"


def by_auc(mechanism: str, c: str) -> dict[str, dict[str, float]]:
    """Data set -> method -> mean AUC of three seeds, epoch by ``pa``, or the last one if ``pa`` has no value."""
    cells: dict[tuple[str, str, str], tuple[bool, str, float]] = {}
    asked = {**CONVENTIONAL, "mechanism": mechanism, "c": c}
    for row in (row for path in sorted(RESULTS.glob("study-*.csv")) for row in clean(path.stem)):
        usual = asked.items() <= row.items() and row["preset"] in ("", "pubench") and not row["draw"]
        if usual and row["seed"] in SEEDS and row["criterion"] in ("pa", "last") and row["auc"]:
            key, one = (row["data"], row["method"], row["seed"]), (row["criterion"] == "pa", row["revision"])
            if key not in cells or cells[key][:2] < one:
                cells[key] = (*one, float(row["auc"]))
    values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for (data, method, _), (_, _, auc) in cells.items():
        values[data][method] += [auc] if method not in ("pn", "naive") else []
    return {
        data: {method: statistics.fmean(of) for method, of in methods.items() if len(of) == len(SEEDS)}
        for data, methods in values.items()
    }


def behind(methods: dict[str, float]) -> tuple[float, str]:
    """Points of AUC by which bagged trees are below the best other method, and that method."""
    best = max((method for method in methods if method != TREES), key=lambda method: methods[method])
    return methods[best] - methods[TREES], best


def trees_first(runs: Runs) -> str:
    rows = []
    for data, name in DATA.items():
        chosen = {m: mean(by["pa"]) for m, by in runs[data].items() if m not in ("pn", "naive") and len(by["pa"]) >= 3}
        best = max(chosen, key=lambda method: chosen[method])
        papers = {method: value for method, value in chosen.items() if method not in CLASSICS}
        rival = max(papers, key=lambda method: papers[method])
        others = (f"{mean(runs[data][m]['pa']):.1f}" for m in (TREES, "naive", "nnpu"))
        cells = (f"`{best}` {chosen[best]:.1f}", f"`{rival}` {papers[rival]:.1f}", *others)
        rows.append((name, *cells, str(len(papers))))
    biases = {
        place: {data: of for data, of in by_auc(*place).items() if TREES in of and len(of) > 1} for place in BIASES
    }
    gaps: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for place, found in biases.items():
        for data, methods in found.items():
            gaps[data][BIASES[place]].append(behind(methods)[0])
    judged = {data for data, by in gaps.items() if by.keys() >= set(SMOOTH)}
    won = {data for data in judged if max(gap for bias in SMOOTH for gap in gaps[data][bias]) <= NEAR}
    lines = [(NAMES[data], *(against(found.get(data)) for found in biases.values())) for data in sorted(gaps)]
    labels = [f"{bias}, c = {c.lstrip('0')}" for (_, c), bias in BIASES.items()]
    few = sorted({NAMES[data] for found in biases.values() for data, of in found.items() if len(of) < 4})
    return f"""## Under SCAR and smooth bias, bagged trees rank first on {len(won)} of {len(judged)} data sets

*First*: AUC within {NEAR} points of the best. These are {named(won)}; not {named(judged - won)}.
Under SCAR, a labeled positive is any positive. Under smooth bias (S2), likelier positives are labeled more often; under
S3, unlikelier ones. S4 is the bias of the PUSB paper. Under S3 and S4 the order differs by data set. Difference of AUC
between `pu-bagging` and the best other method, epoch by `pa`, mean over three seeds:

{table(("data", *labels), lines)}

`pu-bagging` takes seconds and has no epoch to choose. `naive`, which takes unlabeled rows as negative, is a strong
baseline on tables. Test accuracy under SCAR with c = .1, epoch by `pa`; classics decide at the prior, the others at 0:

{table(("data", "best of all", "best without classics", "`pu-bagging`", "`naive`", "`nnpu`", "PU methods"), rows)}

{picture("light")}{picture("dark")}

*Limit*: few data sets, the true prior given; {", ".join(few)} have fewer than four methods in some
columns. The best of many methods is chosen on test rows. The leaf size of `naive`, `elkan-noto` and `two-step` was
chosen by test AUC on Spambase; that of `pu-bagging` was not. Rows: `study-*.csv`. Command: `pubench study run
classics`. More: [the classics](classics.md)."""


def against(methods: dict[str, float] | None) -> str:
    """``+1.1 `elkan-noto` ``: how far bagged trees are above the best other method."""
    if methods is None:
        return "-"
    gap, best = behind(methods)
    return f"{-gap:+.1f} `{best}`"


def named(data: Iterable[str]) -> str:
    return ", ".join(sorted(NAMES[one] for one in data))


def decisions(_: Runs) -> str:
    cells: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in clean("as-many-positive"):
        if row["criterion"] == "f1" and row["data"] in DATA:
            cells[row["method"], row["data"]].append(row)

    def gain(found: list[Row]) -> float:
        return statistics.fmean(float(row["f1_as_many"]) - float(row["f1"]) for row in found)

    most = sorted((key for key in cells if len(cells[key]) >= 2), key=lambda key: -gain(cells[key]))[:6]
    rows = []
    for method, data in most:
        found = cells[method, data]
        measures = ("share", "positive", "f1", "f1_as_many")
        means = (f"{statistics.fmean(float(row[measure]) for row in found):.1f}" for measure in measures)
        rows.append((f"`{method}` on {DATA[data]}", *means, str(len(found))))
    return f"""## A poor F1 is often a threshold, not a ranking

Many runs with a poor F1 order the rows well and decide too few or too many positive. The same scores, with as many rows
decided positive as there are:

{table(("run", "decided positive, %", "positive, %", "F1 at 0", "F1 at the prior", "seeds"), rows)}

*Limit*: these are the six largest gains, and the true share is known here. Rows: `as-many-positive.csv`."""


def released(_: Runs) -> str:
    paper, cells = published(), defaultdict(list)
    for row in clean("released"):
        key = (RECIPES.get(row["method"], row["method"]), row["data"])
        if row["standardized"] == "True":  # Connect-4 in another form: no cell of the paper
            continue
        if key not in paper:
            raise ValueError(f"released.csv: PU-Bench prints no cell for {key[0]} on {key[1]}")
        cells[key].append(100 * float(row["f1"]))
    apart, judged = [], 0
    for key, values in sorted(cells.items()):
        if len(values) < 3:
            continue
        judged += 1
        theirs, deviation = map(float, paper[key].split(" ± "))
        error = math.hypot(statistics.stdev(values) / math.sqrt(len(values)), deviation / math.sqrt(PUBLISHED_SEEDS))
        if abs(statistics.fmean(values) - theirs) > 2 * error:
            apart.append((f"`{key[0]}` on {key[1]}", f"{statistics.fmean(values):.1f}", paper[key], str(len(values))))
    return f"""## {len(apart)} of {judged} published cells are not what the released code gives

PU-Bench's recipes were read from its released code and run in plain PyTorch, without this engine. These F1 scores
differ from the printed ones by more than two standard errors:

{table(("cell", "released recipe", "printed", "seeds"), apart)}

*Limit*: the recipes are our reading of the code. Rows: `released.csv`. Script:
`released.py` of [commit 2d14196a](experiments.md#scripts-in-the-history).
More: [the released recipes](released-recipes.md)."""


def sigmoid(_: Runs) -> str:
    rows = [row for row in clean("own-priors") if row["criterion"] in ("pa", "")]
    names = {("nnpu", "{}"): "nnPU, sigmoid loss", ("nnpu", '{"surrogate": "logistic"}'): "nnPU, logistic loss"}
    names["bagged-trees", "{}"] = "bagged trees"
    priors = ("0.05", "0.1", "0.2", "0.5", "0.8")
    lines = []
    for (method, config), name in names.items():
        for data in ("bank", "pendigits"):
            mine = {
                float(row["true_prior"]): row["auc"]
                for row in rows
                if (row["method"], row["config"], row["table"]) == (method, config, data)
            }
            values = (f"{float(mine[float(p)]):.2f}" if mine.get(float(p)) else "" for p in priors)
            lines.append((f"{name}, {data}", *values))
    return f"""## nnPU's sigmoid loss fails far from a prior of one half

The sigmoid risk of a constant decision falls toward the larger class and loses its gradient there. AUC on the unlabeled
rows, by prior, with the epoch chosen by `pa`:

{table(("", *(f"π = {p}" for p in priors)), lines)}

![AUC and share decided positive against the class prior, for both losses and bagged trees](images/loss-and-prior.png)

*Limit*: two tables, one seed each. At π of .9 and more the logistic loss fails too. Rows: `own-priors.csv`. Script:
`own_tables.py` of [commit 2d14196a](experiments.md#scripts-in-the-history). The preset for your own tables uses the
logistic loss. More: [failure modes](failure-modes.md)."""


def speed(_: Runs) -> str:
    seconds = {row["what"]: float(row["seconds"]) for row in clean("epoch-time") if row["threads"] == "1"}
    methods = [what.split()[1] for what in seconds if what.startswith("published ")]
    rows = [
        (f"`{m}`", f"{seconds[f'pubench {m}']:.1f}", f"{seconds[f'published {m}']:.1f}",
         f"{seconds[f'published {m}'] / seconds[f'pubench {m}']:.1f}")
        for m in methods
    ]  # fmt: skip
    return f"""## The same epoch takes a half to a quarter of the time

One epoch on Fashion-MNIST (LeNet, one thread), with three parts scored, in turns with the published benchmark's way:

{table(("method", "here, s", "published way, s", "ratio"), rows)}

*Limit*: one processor, one epoch each, no GPU. Rows: `epoch-time.csv`. Command: `python -m benchmarks.timing
epoch-time`."""


FINDINGS: tuple[Callable[[Runs], str], ...] = (choosing_an_epoch, trees_first, decisions, released, sigmoid, speed)


def page() -> str:
    runs = conventional()
    parts = [
        """# Findings

What was measured here that the literature on PU learning does not say. `make pages` computes every number on this page
from rows in `benchmarks/results/`, each with its run, a clean commit and the machine. Each finding ends with its
limit."""
    ]
    return "\n\n".join([*parts, *(finding(runs) for finding in FINDINGS)]) + "\n"
