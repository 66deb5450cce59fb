"""The tables of ``wang.md`` and its figure: what was measured in the protocol of Wang et al."""

from __future__ import annotations

import csv
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure as Drawing
from pubench_report.drawing import DPI, INK, RULE, SMALL, TEXT, looks
from pubench_report.published import Figure, Publication, PublishedCell, Verdict, source, standard_error, verdict_of

from benchmarks.pages import summary
from benchmarks.pages.parts import listed, table
from benchmarks.raw_rows import RESULTS
from pubench_core.engine.identity import ENGINE_REVISION
from pubench_core.plugins.info import DatasetInfo, MethodInfo
from pubench_core.plugins.registry import registry

CASES = ("study-wang-case1.csv", "study-wang-case2.csv")
SHIFT = "study-label-shift.csv"
CRITERIA = ("pa", "pauc", "oa")


@dataclass(frozen=True)
class Run:
    """One run. ``value``, ``accuracy``, ``epoch``: by criterion; accuracy of the test part in percent."""

    method: str
    data: str
    case: str
    calibrated: bool
    scheme: str
    rate: float
    seed: int
    draw: int
    value: dict[str, float]
    accuracy: dict[str, float]
    epoch: dict[str, str]
    origin: str
    older: bool

    @property
    def row(self) -> str:
        """Key of the method that the paper names."""
        return f"{self.method}-c" if self.calibrated else self.method


def blocks() -> dict[str, str]:
    """The tables of the page."""
    runs = [run for name in CASES for run in read(RESULTS / name)]
    return {"the tables": tables(runs), "what pa-published chooses": choices(runs), "label shift": shift(RESULTS)}


def read(path: Path) -> list[Run]:
    """The runs of a file that ``study_rows.py`` wrote; none where it is not there."""
    if not path.exists():
        return []
    of_run: dict[str, list[dict[str, str]]] = defaultdict(list)
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            of_run[row["run_id"]].append(row)
    return [_run(rows) for rows in of_run.values()]


def _run(rows: Sequence[dict[str, str]]) -> Run:
    first = rows[0]
    settings = dict(text.partition("=")[::2] for text in first["settings"].split())
    return Run(
        method=first["method"],
        data=first["data"],
        case=settings.get("data.binarization", ""),
        # one-sample: a method of the two-sample setting is calibrated unless it is said not to be
        calibrated=settings.get("method.calibrate", "on") == "on" and first["method"] in CALIBRATED,
        scheme=first["scheme"],
        rate=float(first["positive_rate"]),
        seed=int(first["seed"]),
        draw=int(first.get("draw") or 0),
        value={row["criterion"]: float(row["criterion_value"]) for row in rows if row["criterion_value"]},
        accuracy={row["criterion"]: float(row["accuracy"]) for row in rows if row["accuracy"]},
        epoch={row["criterion"]: row["epoch"] for row in rows},
        origin=f"commit `{first['commit']}`; {first['machine']}",
        older=first.get("revision", "") != str(ENGINE_REVISION),
    )


#: Methods of which the paper has calibrated rows.
CALIBRATED = frozenset(cell.method for cell in source("wang2026").cells if cell.calibrate == "on")


# -------------------------------------------------------------------- Tables 11, 13, 15 and 17


def tables(runs: Sequence[Run]) -> str:
    """A section per data set and case: ours next to theirs under every criterion."""
    theirs, names = source("wang2026"), {info.key: info.name for info in registry().infos(DatasetInfo)}
    parts = []
    for data, case in (("letter", "case1"), ("letter", "case2"), ("usps", "case1"), ("usps", "case2")):
        mine = [run for run in runs if (run.data, run.case) == (data, case)]
        cells = [c for c in theirs.cells if (c.data, c.binarization, c.measure) == (data, case, "accuracy")]
        parts.append(f"### {names[data]}, case {case[-1]} (Table {next(c.table for c in cells)})")
        parts += _section(mine, cells, theirs)
    return "\n\n".join(parts)


def _section(runs: Sequence[Run], cells: Sequence[PublishedCell], theirs: Publication) -> list[str]:
    printed: dict[str, dict[str, PublishedCell]] = defaultdict(dict)
    for cell in cells:
        printed[f"{cell.method}-c" if cell.calibrate == "on" else cell.method][cell.criterion] = cell
    lines, drawn, reasons, missing = [], [], [], []
    for row, by_criterion in printed.items():
        mine = [run for run in runs if run.row == row]
        if not mine:
            missing.append(row)
            continue
        draws = {seed: {run.draw for run in mine if run.seed == seed} for seed in sorted({run.seed for run in mine})}
        common = set.intersection(*draws.values())
        more = [seed for seed, numbers in draws.items() if numbers > common]
        whole = _beside([run for run in mine if run.draw in common], by_criterion)
        lines.append((f"`{row}`", f"{len(draws)} x {len(common)}", *whole.texts))
        best_drawn = _beside([run for run in mine if run.seed in more], by_criterion) if more else None
        if best_drawn is not None:
            of_split = f"{len(more)} x {max(len(draws[seed]) for seed in more)}"
            drawn.append((f"`{row}`", of_split, *best_drawn.texts))
        if whole.far:
            reasons.append(f"- `{row}`: {_reasons(whole, best_drawn, by_criterion['oa'], theirs, len(common))}.")
    columns = ["row", "splits x draws"]
    columns += [text for name in CRITERIA for text in (f"`{name}`", f"`{name}`, printed")]
    parts = [table([*columns, "verdict"], lines)] if lines else ["Missing: nothing was run yet."]
    if drawn:
        parts += ["The best draw of each split that has more of them than every split has:"]
        parts += [table([*columns, "verdict"], drawn)]
    parts += ["\n".join(reasons)] if reasons else []
    if missing and lines:
        parts.append(f"Missing, since not run yet: {listed(missing)}.")
    if runs:
        parts.append(_origin(runs))
    return parts


def _origin(runs: Sequence[Run]) -> str:
    older = sum(run.older for run in runs)
    said = f"Runs of {', '.join(sorted({run.origin for run in runs}))}."
    return f"{said} {older} of {len(runs)} are of an {summary.OLDER_ROWS}." if older else said


@dataclass(frozen=True)
class _Beside:
    """A row next to the printed one. ``texts``: cells of the table; ``verdicts``: by criterion, if judged."""

    texts: tuple[str, ...]
    verdicts: dict[str, Verdict]

    @property
    def far(self) -> dict[str, Verdict]:
        """The criteria by which the row is above or below."""
        return {name: verdict for name, verdict in self.verdicts.items() if verdict != "matched"}


def _beside(runs: Sequence[Run], printed: Mapping[str, PublishedCell]) -> _Beside:
    """The best draw of every split under every criterion, next to the printed figures."""
    texts, verdicts, said, errors = [], {}, [], []
    for criterion in CRITERIA:
        values, cell = best(runs, criterion), printed[criterion]
        texts += [_mean(values), f"{cell.mean:.2f} ± {cell.printed:.2f}"]
        if len(values) < 2:
            continue
        ours = Figure(statistics.fmean(values), statistics.stdev(values), len(values))
        verdict, error = verdict_of(ours, cell.figure), standard_error(ours, cell.figure)
        if verdict is not None and error is not None:
            verdicts[criterion] = verdict
            errors.append(error)
            if verdict != "matched":
                said.append(f"{criterion} {ours.mean - cell.mean:+.1f} ± {error:.1f}")
    matched = f"matched (SE up to {max(errors):.1f})" if errors else "not judged"
    return _Beside((*texts, "; ".join(said) or matched), verdicts)


def _reasons(whole: _Beside, drawn: _Beside | None, cell: PublishedCell, theirs: Publication, draws: int) -> str:
    """Why a row is above or below theirs, by criterion. ``draws``: those that every split of ours has."""
    names: dict[str, list[str]] = defaultdict(list)
    for name, side in whole.far.items():
        if drawn is not None and drawn.verdicts.get(name) == "matched":
            names["theirs is the best of ten draws, and the best of ours matches"].append(name)
            continue
        reason = theirs.reason_of(cell.method, cell.data, side, draws)
        known = "unexplained" if reason is None else f"{reason.reason} (*{reason.known}*: {reason.evidence})"
        names[known].append(name)
    return "; ".join(f"{', '.join(found)}: {known}" for known, found in names.items())


def best(runs: Iterable[Run], criterion: str) -> list[float]:
    """Test accuracy of the draw that the criterion prefers, on each split."""
    of_seed: dict[int, list[Run]] = defaultdict(list)
    for run in runs:
        if criterion in run.value and criterion in run.accuracy:
            of_seed[run.seed].append(run)
    return [max(group, key=lambda run: run.value[criterion]).accuracy[criterion] for group in of_seed.values()]


def _mean(values: Sequence[float]) -> str:
    if not values:
        return "no value"
    spread = f" ± {statistics.stdev(values) / len(values) ** 0.5:.2f}" if len(values) > 1 else ""
    return f"{statistics.fmean(values):.2f}{spread}"


# -------------------------------------------------------------------- Equation 3 and the published form


def choices(runs: Sequence[Run]) -> str:
    """How often ``pa`` and ``pa-published`` choose different epochs of a run, and what that costs in test accuracy."""
    lines = []
    groups: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        if {"pa", "pa-published"} <= run.accuracy.keys():
            groups[f"{run.data}, case {run.case[-1:]}"].append(run)
            groups["all"].append(run)
    for name, mine in sorted(groups.items(), key=lambda group: (group[0] == "all", group[0])):
        other = [run for run in mine if run.epoch["pa"] != run.epoch["pa-published"]]
        gains = [run.accuracy["pa"] - run.accuracy["pa-published"] for run in other]
        median = f"{statistics.median(gains):+.2f}" if gains else ""
        mean = f"{statistics.fmean(gains):+.2f}" if gains else ""
        worse = sum(gain < 0 for gain in gains)
        extreme = f"{min(gains):+.2f} to {max(gains):+.2f}" if gains else ""
        lines.append((name, len(mine), len(other), mean, median, extreme, worse))
    columns = ("data", "runs", "another epoch", "mean gain of `pa`", "median", "range", "of these worse by `pa`")
    return table(columns, lines) or "Missing: nothing was run yet."


# -------------------------------------------------------------------- label shift


def shift(results: Path) -> str:
    """Test accuracy by ``pa`` against the positive rate, per data set, method and way of sampling."""
    runs = read(results / SHIFT)
    rates = sorted({run.rate for run in runs})
    groups: dict[tuple[str, str, str], dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        if "pa" in run.accuracy:
            groups[run.data, run.method, sampling(run)][run.rate].append(run.accuracy["pa"])
    lines = [
        (*key[:2], key[2], *(_mean(by_rate[rate]) if rate in by_rate else "missing" for rate in rates))
        for key, by_rate in sorted(groups.items())
    ]
    made = table(("data", "method", "sampling", *(f"r = {rate:g}" for rate in rates)), lines)
    return f"{made}\n\n{_origin(runs)}" if made else "Missing: nothing was run yet."


def sampling(run: Run) -> str:
    """Two-sample data, or one-sample data with U as it is or with U and P."""
    if run.scheme == "two-sample":
        return run.scheme
    return "one-sample, calibrated" if run.calibrated else run.scheme


# -------------------------------------------------------------------- the figure of label shift

#: In the order of the legend.
WAYS = ("one-sample", "one-sample, calibrated", "two-sample")


def draw(runs: Sequence[Run]) -> Drawing:
    """A panel per data set and method: test accuracy by ``pa`` against the positive rate, a line per way of sampling.

    Means over splits; a bar is one standard error where there are several.
    """
    methods = list(dict.fromkeys(run.method for run in runs))
    data = list(dict.fromkeys(run.data for run in runs))
    figure = Drawing(figsize=(2.1 * len(methods) + 0.6, 2.0 * len(data) + 0.9), dpi=DPI)
    panels = figure.subplots(len(data), len(methods), sharex=True, sharey="row", squeeze=False)
    names = {info.key: info.name for kind in (DatasetInfo, MethodInfo) for info in registry().infos(kind)}
    for axes_of_row, one in zip(panels, data, strict=True):
        for axes, method in zip(axes_of_row, methods, strict=True):
            for way, look in zip(WAYS, looks(len(WAYS)), strict=True):
                mine = [run for run in runs if (run.data, run.method, sampling(run)) == (one, method, way)]
                rates, means, errors = _points(mine)
                axes.errorbar(
                    rates, means, yerr=errors, color=look.color, marker=look.marker, linestyle=look.line,
                    markersize=4.5, linewidth=1.3, capsize=2, label=way,
                )  # fmt: skip
            axes.grid(color=RULE, linewidth=0.6)
            axes.tick_params(labelsize=SMALL, colors=INK)
            axes.set_title(names[method], fontsize=TEXT, color=INK)
        axes_of_row[0].set_ylabel(f"{names[one]}: accuracy, %", fontsize=SMALL, color=INK)
    for axes in panels[-1]:
        axes.set_xlabel("positive rate r", fontsize=SMALL, color=INK)
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=len(WAYS), fontsize=SMALL, frameon=False)
    figure.tight_layout(rect=(0, 0.4 / figure.get_figheight(), 1, 1))
    return figure


def _points(runs: Sequence[Run]) -> tuple[list[float], list[float], list[float]]:
    """Positive rates, mean accuracies and their standard errors (0 for one split)."""
    by_rate: dict[float, list[float]] = defaultdict(list)
    for run in runs:
        if "pa" in run.accuracy:
            by_rate[run.rate].append(run.accuracy["pa"])
    rates = sorted(by_rate)
    values = [by_rate[rate] for rate in rates]
    errors = [statistics.stdev(v) / len(v) ** 0.5 if len(v) > 1 else 0.0 for v in values]
    return rates, [statistics.fmean(v) for v in values], errors


def with_several_rates(runs: Sequence[Run]) -> list[Run]:
    """Those of methods that were run at more than one positive rate on their data set."""
    rates: dict[tuple[str, str], set[float]] = defaultdict(set)
    for run in runs:
        rates[run.data, run.method].add(run.rate)
    return [run for run in runs if len(rates[run.data, run.method]) > 1]


def shifted() -> list[Run]:
    """The runs of the figure."""
    return with_several_rates(read(RESULTS / SHIFT))
