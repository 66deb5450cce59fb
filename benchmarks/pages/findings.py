"""The page ``findings.md``: what was found here that the literature does not say, from committed rows.

Every number is computed here. A finding without rows is left out.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Callable

from benchmarks.pages.parts import table
from benchmarks.pages.readme_report import Rows, mean, newest, read
from benchmarks.pages.summary import published
from benchmarks.raw_rows import RESULTS

DATA = {"spambase": "Spambase", "20news": "20News", "connect-4": "Connect-4"}
CLASSICS = ("pu-bagging", "elkan-noto", "two-step", "pu-boost")
#: Seeds behind a figure that PU-Bench prints.
PUBLISHED_SEEDS = 10

Row = dict[str, str]
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


def choosing_an_epoch(runs: Runs) -> str:
    rows, losses, better = [], [], []
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
        rows.append((name, str(len(trained)), *(f"{value:.1f}" for value in lost.values())))
    return f"""## Choosing an epoch without true labels costs {min(losses):.0f} to {max(losses):.0f} points

PU-Bench's validation part is 1 % of the pool: with c = .1 it holds 1 to 8 labeled positives. The table has the points
of test accuracy that are lost against an epoch chosen with true labels (F1). It is the mean over the methods that have
epochs to choose. PA does better than taking the last epoch on {len(better)} of {len(DATA)} data sets.

{table(("data", "methods", "by `pa`", "by `pauc`", "last epoch"), rows)}

*Limit*: c = .1 and one size of the validation part. Rows: `study-conventional.csv` and the other `study-*.csv`.
Command: `pubench study run conventional`."""


def picture(scheme: str) -> str:
    """README's figure in a color scheme."""
    name = "spambase-choice" + {"light": "", "dark": "-dark"}[scheme]
    return f"![Accuracy on Spambase, epoch chosen without and with true labels](images/{name}.png#only-{scheme})"


def trees_first(runs: Runs) -> str:
    rows, won, beaten = [], [], 0
    for data, name in DATA.items():
        chosen = {m: mean(by["pa"]) for m, by in runs[data].items() if m not in ("pn", "naive") and len(by["pa"]) >= 3}
        best = max(chosen, key=lambda method: chosen[method])
        papers = {method: value for method, value in chosen.items() if method not in CLASSICS}
        rival = max(papers, key=lambda method: papers[method])
        if best == "pu-bagging":
            won.append(name)
            beaten = len(papers)
        others = (f"{mean(runs[data][m]['pa']):.1f}" for m in ("pu-bagging", "naive", "nnpu"))
        cells = (f"`{best}` {chosen[best]:.1f}", f"`{rival}` {papers[rival]:.1f}", *others)
        rows.append((name, *cells, str(len(papers))))
    return f"""## Bagged trees come before all {beaten} PU methods on {" and ".join(won)}

`pu-bagging` takes seconds and has no epoch to choose. `naive`, which takes unlabeled rows as negative, is a strong
baseline on tables. Test accuracy, every choice made without true labels (`pa`). {len(won)} of {len(DATA)} data sets go
to bagged trees.

{table(("data", "best of all", "best without classics", "`pu-bagging`", "`naive`", "`nnpu`", "PU methods"), rows)}

{picture("light")}{picture("dark")}

*Limit*: three data sets, SCAR labels, the true prior given. The best of many methods is chosen on test rows. Rows:
`study-classics.csv`, `study-conventional.csv`. Command: `pubench study run classics`. More:
[the classics](classics.md)."""


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
        if row["standardized"] == "False" or row["data"] != "connect-4":
            cells[row["method"], row["data"]].append(100 * float(row["f1"]))
    apart, judged = [], 0
    for key, values in sorted(cells.items()):
        if key not in paper or len(values) < 3:
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

*Limit*: the recipes are our reading of the code. Rows: `released.csv`. Command:
`python -m benchmarks.studies.released`. More: [the released recipes](released-recipes.md)."""


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

*Limit*: two tables, one seed each. At π of .9 and more the logistic loss fails too. Rows: `own-priors.csv`. Command:
`python -m benchmarks.studies.own_tables priors`. The preset for your own tables uses the logistic loss. More:
[failure modes](failure-modes.md)."""


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
