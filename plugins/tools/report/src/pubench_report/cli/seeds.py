"""``pubench run --seeds 3``: one run per seed, each with its record, and how much they differ."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from pubench_study.in_process import Done, carried_out, plans_of, study_of
from pubench_study.seeds import seeds_of

from pubench_cli.console import err, out
from pubench_cli.machine import print_json
from pubench_cli.messages import said
from pubench_cli.options import Given
from pubench_cli.progress import data_progress, display
from pubench_cli.run import decisions_in, layers_of, saying_once
from pubench_core.engine.layers import Layer
from pubench_core.errors import PubenchError
from pubench_core.metric import FloatArray
from pubench_core.plugins.info import MetricInfo
from pubench_core.plugins.registry import registry
from pubench_core.records.files import read_scores
from pubench_core.records.scores import scores_of
from pubench_core.results import Result

from ..cells import mean_and_std
from ..rendering import RenderedTable

if TYPE_CHECKING:
    from pubench_models.decisions import Decisions

#: One finished run of a seed.
SeedRun = tuple[Done, Result]


def run_seeds(given: Given, seeds: str, sets: list[str], config: Path | None, *, force: bool, as_json: bool) -> None:
    """Carries out one run per seed and prints what they have in common. A failed one ends no other, and is raised last.

    Every run is resolved before the first one trains.
    """
    once = saying_once()
    settings = Layer.joined(layers_of(given, sets, config))
    study = study_of({"runs": [{"seed": seed} for seed in seeds_of(seeds)]}, settings)
    runs = plans_of(study, settings, registry(), lambda text: once(f"warning: {said(text)}"))
    found: list[SeedRun] = []
    failed: list[PubenchError] = []
    with redirect_stdout(sys.stderr):  # what a plugin prints
        for done in carried_out(runs, said, force=force, say=once, display=display, progress=data_progress):
            if done.result is not None:
                found.append((done, done.result))
            if done.error is not None:
                err().print(f"seed {done.run.plan.spec.seed}: {done.event.text}", markup=False)
                failed.append(done.error)
    if found:
        _print(found, as_json=as_json)
    if failed:
        raise failed[0]


def _print(found: Sequence[SeedRun], *, as_json: bool) -> None:
    for _, result in found:
        for text in dict.fromkeys((*result.warnings, *result.chosen.warnings)):
            err().print(f"warning: seed {result.spec.seed}: {text}", markup=False)
    decisions = [decisions_in(done.run.plan, result, done.folder) for done, result in found]
    measures = _measures([result for _, result in found], decisions)
    spreads = {name: mean_and_std(v for v in values if v is not None) for name, values in measures.items()}
    kept = [(done, result, decided) for (done, result), decided in zip(found, decisions, strict=True) if decided]
    agreement = None
    if len(kept) > 1:  # the unlabeled rows are the same for every seed
        told = kept[0][2].told
        scores = [
            scores_of(read_scores(done.folder), result.chosen.snapshot)["unlabeled"]
            for done, result, _ in kept
            if done.folder is not None
        ]
        agreement = agreement_of(scores, told.rows if told is not None else 0)
    if as_json:
        runs = [
            {
                **result.plain(),
                "record": str(done.folder) if done.folder is not None else None,
                "reused": done.event.status == "found",
                **({"decisions": asdict(decided)} if decided is not None else {}),
            }
            for (done, result), decided in zip(found, decisions, strict=True)
        ]
        summary = {
            name: {"mean": spreads[name][0], "sd": spreads[name][1], "values": values}
            for name, values in measures.items()
        }
        print_json({"runs": runs, "summary": summary, "agreement": asdict(agreement) if agreement else None})
        return
    console, first = out(), found[0][1]
    if alike := [result.chosen.alike_warning for _, result in found if result.chosen.decided_alike]:
        text = f"warning: {len(alike)} of {len(found)} runs decide every row alike; the first: {alike[0]}"
        console.print(text, style="bold yellow", markup=False)
    seeds = [str(result.spec.seed) for _, result in found]
    title = f"{first.spec.method.key} on {first.spec.data.key}, seeds {', '.join(seeds)}"
    console.print(title, style="bold", markup=False)
    rows = []
    for name, values in measures.items():
        digits = 2 if name.endswith("%") else 4
        numbers = (*spreads[name], *values)
        rows.append([name, *("-" if value is None else f"{value:.{digits}f}" for value in numbers)])
    head = [f"selected by {first.selected}", "mean", "sd", *(f"seed {seed}" for seed in seeds)]
    RenderedTable.of(head, rows, wraps=(0,)).print_to(console)
    if agreement is not None:
        correlation = agreement.rank_correlation
        shown = "undefined" if correlation is None else f"{correlation:.3f}"
        text = f"unlabeled rows, mean over pairs of the {len(found)} runs: rank correlation {shown}"
        if agreement.overlap is not None:
            text += f"; {100 * agreement.overlap:.1f} % of the {agreement.top} highest are the same rows"
        console.print(text, markup=False)
    for done, _ in found:
        console.print(f"record: {done.folder or 'none could be written'}", markup=False, soft_wrap=True)


def _measures(found: Sequence[Result], decisions: Sequence[Decisions | None]) -> dict[str, list[float | None]]:
    """Row of the table -> a value per run: test measures in percent; else the criterion and what was decided."""

    def percent(value: float | None) -> float | None:
        return None if value is None else 100 * value

    infos = {info.key: info for info in registry().infos(MetricInfo)}
    keys = [key for key in registry().headline() if key in found[0].test]
    rows = {f"{infos[key].name}, %": [percent(result.test.get(key)) for result in found] for key in keys}
    rows[found[0].selected] = [result.chosen.value for result in found]
    known = [decided for decided in decisions if decided is not None]
    if len(known) == len(decisions):
        rows["decided positive, %"] = [percent(d.decided / d.unlabeled) for d in known]
        counts: dict[str, list[int | None]] = {
            "held-out decided positive, %": [d.recalled for d in known],
            "held-out in the top, %": [None if d.told is None else d.told.reached for d in known],
        }
        for name, of in counts.items():
            pairs = zip(of, known, strict=True)
            rows[name] = [None if n is None or not d.held_out else percent(n / d.held_out) for n, d in pairs]
    return {name: values for name, values in rows.items() if any(value is not None for value in values)}


@dataclass(frozen=True)
class RankAgreement:
    """How alike several runs rank the same rows, means over all pairs of runs.

    ``rank_correlation``: Spearman's; None where a run gives every row one score. ``overlap``: share of the ``top``
    highest rows that both have there; None if there are none.
    """

    rank_correlation: float | None
    overlap: float | None
    top: int


def agreement_of(scores: Sequence[FloatArray], top: int) -> RankAgreement:
    """``scores``: (n,) of the same rows, for each of at least two runs. ``top``: how many of the highest count as such.

    Rows of equal scores share the mean of their ranks; at the edge of the top, all rows of the lowest score are in it.
    """
    from scipy.stats import rankdata

    ranks = [rankdata(values) for values in scores]
    constant = any(values.min() == values.max() for values in ranks)
    pairs = list(combinations(range(len(scores)), 2))
    correlations = [] if constant else [float(np.corrcoef(ranks[a], ranks[b])[0, 1]) for a, b in pairs]
    highest = [set(np.flatnonzero(v >= np.partition(v, len(v) - top)[len(v) - top]).tolist()) for v in scores if top]
    overlaps = [len(highest[a] & highest[b]) / max(len(highest[a]), len(highest[b])) for a, b in pairs if top]
    return RankAgreement(
        rank_correlation=float(np.mean(correlations)) if correlations else None,
        overlap=float(np.mean(overlaps)) if overlaps else None,
        top=top,
    )
