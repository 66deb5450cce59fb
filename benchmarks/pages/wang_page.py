"""The tables of ``wang.md`` and its figure: what was measured in the protocol of Wang et al."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure as Drawing
from pubench_report.drawing import DPI, INK, RULE, SERIES, SMALL, TEXT
from pubench_report.published import Figure, PublishedCell, Verdict, source, standard_error, verdict_of

from benchmarks.pages.parts import listed, table
from benchmarks.pages.summary import OLDER_ROWS
from benchmarks.raw_rows import RESULTS
from pubench_core.engine.identity import ENGINE_REVISION
from pubench_core.plugins.info import DatasetInfo, MethodInfo
from pubench_core.plugins.registry import registry

CASES = ("study-wang-case1.csv", "study-wang-case2.csv")
SHIFT = "study-label-shift.csv"
CRITERIA = ("pa", "pauc", "oa")
#: In the order of the legend.
WAYS = ("one-sample", "one-sample, calibrated", "two-sample")
NOT_RUN = "Missing: nothing was run yet."
#: Methods of which the paper has calibrated rows.
CALIBRATED = frozenset(cell.method for cell in source("wang2026").cells if cell.calibrate == "on")


def blocks() -> dict[str, str]:
    """The tables of the page."""
    runs = read(*(RESULTS / name for name in CASES))
    return {"the tables": tables(runs), "what pa-published chooses": choices(runs), "label shift": shift(RESULTS)}


def read(*paths: Path) -> pd.DataFrame:
    """A row per run and criterion. ``row``: name of the paper's row; ``sampling``: one of :data:`WAYS`."""
    frame = pd.concat([pd.read_csv(path, dtype={"settings": str, "revision": str}) for path in paths])
    settings = frame.settings.fillna("")
    # one-sample: a method of the two-sample setting is calibrated unless it is said not to be
    calibrated = ~settings.str.contains("method.calibrate=off", regex=False) & frame.method.isin(CALIBRATED)
    one_sample = frame.scheme.where(~calibrated, frame.scheme + ", calibrated")
    return frame.assign(
        case=settings.str.extract(r"data\.binarization=(\S+)", expand=False),
        row=frame.method.where(~calibrated, frame.method + "-c"),
        sampling=one_sample.where(frame.scheme != "two-sample", frame.scheme),
        draw=frame.draw.fillna(0).astype(int) if "draw" in frame else 0,
    )


# -------------------------------------------------------------------- Tables 11, 13, 15 and 17


def tables(runs: pd.DataFrame) -> str:
    """A section per data set and case: ours next to theirs under every criterion."""
    names, parts = {info.key: info.name for info in registry().infos(DatasetInfo)}, []
    for data, case in (("letter", "case1"), ("letter", "case2"), ("usps", "case1"), ("usps", "case2")):
        cells = [
            cell for cell in source("wang2026").cells
            if (cell.data, cell.binarization, cell.measure) == (data, case, "accuracy")
        ]  # fmt: skip
        parts.append(f"### {names[data]}, case {case[-1]} (Table {cells[0].table})")
        parts += _section(runs[(runs.data == data) & (runs.case == case)], cells)
    return "\n\n".join(parts)


def _section(runs: pd.DataFrame, cells: list[PublishedCell]) -> list[str]:
    printed: dict[str, dict[str, PublishedCell]] = defaultdict(dict)
    for cell in cells:
        printed[f"{cell.method}-c" if cell.calibrate == "on" else cell.method][cell.criterion] = cell
    lines, drawn, reasons = [], [], []
    for row, by_criterion in printed.items():
        mine = runs[runs.row == row]
        if mine.empty:
            continue
        draws = mine.groupby("seed").draw.agg(set)
        common = set.intersection(*draws)
        more = draws[draws.map(len) > len(common)]
        texts, verdicts = _beside(mine[mine.draw.isin(common)], by_criterion)
        lines.append((f"`{row}`", f"{len(draws)} x {len(common)}", *texts))
        best_drawn: dict[str, Verdict] = {}
        if len(more):
            texts, best_drawn = _beside(mine[mine.seed.isin(more.index)], by_criterion)
            drawn.append((f"`{row}`", f"{len(more)} x {more.map(len).max()}", *texts))
        if why := _reasons(verdicts, best_drawn, by_criterion["oa"], len(common)):
            reasons.append(f"- `{row}`: {why}.")
    if not lines:
        return [NOT_RUN]
    head = ["row", "splits x draws", *(text for name in CRITERIA for text in (f"`{name}`", f"`{name}`, printed"))]
    parts = [table([*head, "verdict"], lines)]
    if drawn:
        parts += ["The best draw of each split that has more of them than every split has:"]
        parts += [table([*head, "verdict"], drawn)]
    parts += ["\n".join(reasons)] if reasons else []
    if missing := [row for row in printed if row not in {*runs.row}]:
        parts.append(f"Missing, since not run yet: {listed(missing)}.")
    return [*parts, _origin(runs)]


def _origin(frame: pd.DataFrame) -> str:
    runs = frame.drop_duplicates("run_id")
    older = (runs.revision != str(ENGINE_REVISION)).sum()
    said = f"Runs of {', '.join(sorted({*('commit `' + runs.commit + '`; ' + runs.machine)}))}."
    return f"{said} {older} of {len(runs)} are of an {OLDER_ROWS}." if older else said


def _beside(runs: pd.DataFrame, printed: Mapping[str, PublishedCell]) -> tuple[list[str], dict[str, Verdict]]:
    """Cells: the best draw of every split under every criterion, next to the printed figures; verdicts, if judged."""
    texts, verdicts, said, errors = [], dict[str, Verdict](), [], []
    for criterion in CRITERIA:
        values, cell = best(runs, criterion), printed[criterion]
        texts += [_mean(values), f"{cell.mean:.2f} ± {cell.printed:.2f}"]
        if len(values) < 2:
            continue
        ours = Figure(float(values.mean()), float(values.std()), len(values))
        verdict, error = verdict_of(ours, cell.figure), standard_error(ours, cell.figure)
        if verdict is not None and error is not None:
            verdicts[criterion] = verdict
            errors.append(error)
            if verdict != "matched":
                said.append(f"{criterion} {ours.mean - cell.mean:+.1f} ± {error:.1f}")
    matched = f"matched (SE up to {max(errors):.1f})" if errors else "not judged"
    return [*texts, "; ".join(said) or matched], verdicts


def _reasons(verdicts: Mapping[str, Verdict], drawn: Mapping[str, Verdict], cell: PublishedCell, draws: int) -> str:
    """Why a row is above or below theirs, by criterion. ``draws``: those that every split of ours has."""
    names: dict[str, list[str]] = defaultdict(list)
    for name, side in verdicts.items():
        if side == "matched":
            continue
        if drawn.get(name) == "matched":
            names["theirs is the best of ten draws, and the best of ours matches"].append(name)
            continue
        reason = source("wang2026").reason_of(cell.method, cell.data, side, draws)
        known = "unexplained" if reason is None else f"{reason.reason} (*{reason.known}*: {reason.evidence})"
        names[known].append(name)
    return "; ".join(f"{', '.join(found)}: {known}" for known, found in names.items())


def best(runs: pd.DataFrame, criterion: str) -> pd.Series:
    """Test accuracy of the draw that the criterion prefers, on each split."""
    mine = runs.loc[runs.criterion == criterion, ["seed", "criterion_value", "accuracy"]].dropna()
    return mine.sort_values("criterion_value", ascending=False, kind="stable").drop_duplicates("seed").accuracy


def _mean(values: pd.Series) -> str:
    if values.empty:
        return "no value"
    return f"{values.mean():.2f}" + (f" ± {values.sem():.2f}" if len(values) > 1 else "")


# -------------------------------------------------------------------- Equation 3 and the published form


def choices(runs: pd.DataFrame) -> str:
    """How often ``pa`` and ``pa-published`` choose different epochs of a run, and what that costs in test accuracy."""
    ours, theirs = (runs[runs.criterion == name].dropna(subset="accuracy") for name in ("pa", "pa-published"))
    both = ours.merge(theirs[["run_id", "epoch", "accuracy"]], on="run_id", suffixes=("", "_published"))
    both["gain"] = (both.accuracy - both.accuracy_published).where(both.epoch != both.epoch_published)
    lines = []
    for name, mine in [*both.groupby(both.data + ", case " + both.case.str[-1]), ("all", both)]:
        other = mine.gain.dropna()
        said = ("", "", "")
        if len(other):
            said = (f"{other.mean():+.2f}", f"{other.median():+.2f}", f"{other.min():+.2f} to {other.max():+.2f}")
        lines.append((name, len(mine), len(other), *said, (other < 0).sum()))
    columns = ("data", "runs", "another epoch", "mean gain of `pa`", "median", "range", "of these worse by `pa`")
    return table(columns, lines) if len(both) else NOT_RUN


# -------------------------------------------------------------------- label shift


def shift(results: Path) -> str:
    """Test accuracy by ``pa`` against the positive rate, per data set, method and way of sampling."""
    if not (results / SHIFT).exists():
        return NOT_RUN
    runs = read(results / SHIFT)
    means = runs[runs.criterion == "pa"].dropna(subset="accuracy").groupby(
        ["data", "method", "sampling", "positive_rate"]
    ).accuracy.apply(_mean).unstack(fill_value="missing")  # fmt: skip
    lines = [(*key, *cells) for key, cells in means.iterrows()]
    made = table(("data", "method", "sampling", *(f"r = {rate:g}" for rate in means)), lines)
    return f"{made}\n\n{_origin(runs)}"


def points(path: Path = RESULTS / SHIFT) -> pd.DataFrame:
    """Mean accuracies by ``pa`` and standard errors (0 for one split) of methods with several positive rates."""
    runs = read(path)
    runs = runs[runs.groupby(["data", "method"]).positive_rate.transform("nunique") > 1]
    runs = runs[runs.criterion == "pa"].dropna(subset="accuracy")
    found = runs.groupby(["data", "method", "sampling", "positive_rate"], sort=False).accuracy.agg(["mean", "sem"])
    return found.fillna(0.0).reset_index()


def draw(found: pd.DataFrame) -> Drawing:
    """A panel per data set and method: test accuracy by ``pa`` against the positive rate, a line per way of sampling.

    Means over splits; a bar is one standard error where there are several.
    """
    methods, data = found.method.unique(), found.data.unique()
    figure = Drawing(figsize=(2.1 * len(methods) + 0.6, 2.0 * len(data) + 0.9), dpi=DPI)
    panels = figure.subplots(len(data), len(methods), sharex=True, sharey="row", squeeze=False)
    names = {info.key: info.name for kind in (DatasetInfo, MethodInfo) for info in registry().infos(kind)}
    for (row, column), axes in np.ndenumerate(panels):
        here = found[(found.data == data[row]) & (found.method == methods[column])].sort_values("positive_rate")
        for way, look in zip(WAYS, SERIES, strict=False):
            mine = here[here.sampling == way]
            axes.errorbar(
                mine.positive_rate, mine["mean"], yerr=mine["sem"], **look,
                markersize=4.5, linewidth=1.3, capsize=2, label=way,
            )  # fmt: skip
        axes.grid(color=RULE, linewidth=0.6)
        axes.tick_params(labelsize=SMALL, colors=INK)
        axes.set_title(names[methods[column]], fontsize=TEXT, color=INK)
        if not column:
            axes.set_ylabel(f"{names[data[row]]}: accuracy, %", fontsize=SMALL, color=INK)
    for axes in panels[-1]:
        axes.set_xlabel("positive rate r", fontsize=SMALL, color=INK)
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=len(WAYS), fontsize=SMALL, frameon=False)
    figure.tight_layout(rect=(0, 0.4 / figure.get_figheight(), 1, 1))
    return figure
