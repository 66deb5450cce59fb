"""Draws the internal label shift from the rows of the study ``label-shift``, as Wang et al. do in Figures 2 and 3.

python docs/label_shift.py docs/pages/images/label-shift.png
"""

from __future__ import annotations

import statistics
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

sys.path.insert(0, str(Path(__file__).parent))

from pubench_report.drawing import DPI, INK, RULE, SMALL, TEXT, looks
from wang_page import RESULTS, SHIFT, Run, read, sampling

from pubench_core.plugins.info import DatasetInfo, MethodInfo
from pubench_core.plugins.registry import registry

#: In the order of the legend.
WAYS = ("one-sample", "one-sample, calibrated", "two-sample")


def draw(runs: Sequence[Run]) -> Figure:
    """A panel per data set and method: test accuracy by ``pa`` against the positive rate, a line per way of sampling.

    Means over splits; a bar is one standard error where there are several.
    """
    methods = list(dict.fromkeys(run.method for run in runs))
    data = list(dict.fromkeys(run.data for run in runs))
    figure = Figure(figsize=(2.1 * len(methods) + 0.6, 2.0 * len(data) + 0.9), dpi=DPI)
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


if __name__ == "__main__":
    draw(with_several_rates(read(RESULTS / SHIFT))).savefig(sys.argv[1], metadata={"Software": None})
