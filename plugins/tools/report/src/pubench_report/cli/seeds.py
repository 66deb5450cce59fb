"""``pubench run --seeds 3``: one run per seed, each with its record, and how much they differ."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

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
from pubench_core.plugins.registry import registry
from pubench_core.records.files import read_scores
from pubench_core.records.scores import scores_of
from pubench_core.results import Result

from ..cells import ShownMeasure, mean_and_std
from ..rendering import RenderedTable


def run_seeds(given: Given, seeds: str, sets: list[str], config: Path | None, *, force: bool, as_json: bool) -> None:
    """Carries out one run per seed and prints what they have in common. A failed one ends no other, and is raised last.

    Every run is resolved before the first one trains.
    """
    once = saying_once()
    settings = Layer.joined(layers_of(given, sets, config))
    study = study_of({"runs": [{"seed": seed} for seed in seeds_of(seeds)]}, settings)
    runs = plans_of(study, settings, registry(), lambda text: once(f"warning: {said(text)}"))
    found: list[tuple[Done, Result]] = []
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


def _print(found: Sequence[tuple[Done, Result]], *, as_json: bool) -> None:
    results = [result for _, result in found]
    for result in results:
        for text in dict.fromkeys((*result.warnings, *result.chosen.warnings)):
            err().print(f"warning: seed {result.spec.seed}: {text}", markup=False)
    decisions = [decisions_in(done.run.plan, result, done.folder) for done, result in found]
    summary: dict[str, dict[str, Any]] = {}
    for name, values in _measures(results, decisions).items():
        mean, std = mean_and_std(value for value in values if value is not None)
        summary[name] = {"mean": mean, "sd": std, "values": values}
    scores = [  # of unlabeled rows, which are the same for every seed
        scores_of(read_scores(done.folder), result.chosen.snapshot)["unlabeled"]
        for (done, result), decided in zip(found, decisions, strict=True)
        if decided is not None and done.folder is not None
    ]
    told = next((decided.told for decided in decisions if decided is not None), None)
    agreement = agreement_of(scores, told.rows if told is not None else 0) if len(scores) > 1 else None
    if as_json:
        runs = [
            {
                **result.model_dump(mode="json"),
                "record": str(done.folder) if done.folder is not None else None,
                "reused": done.event.status == "found",
                **({"decisions": asdict(decided)} if decided is not None else {}),
            }
            for (done, result), decided in zip(found, decisions, strict=True)
        ]
        print_json({"runs": runs, "summary": summary, "agreement": asdict(agreement) if agreement else None})
        return
    if alike := [result.chosen.alike_warning for result in results if result.chosen.decided_alike]:
        text = f"warning: {len(alike)} of {len(found)} runs decide every row alike; the first: {alike[0]}"
        out().print(text, style="bold yellow", markup=False)
    first, seeds = results[0], [str(result.spec.seed) for result in results]
    rows = []
    for name, of in summary.items():
        digits = 2 if name.endswith("%") else 4
        numbers = (of["mean"], of["sd"], *of["values"])
        rows.append([name, *("-" if value is None else f"{value:.{digits}f}" for value in numbers)])
    title = f"{first.spec.method.key} on {first.spec.data.key}, seeds {', '.join(seeds)}"
    out().print(title, style="bold", markup=False)
    head = [f"selected by {first.selected}", "mean", "sd", *(f"seed {seed}" for seed in seeds)]
    RenderedTable.of(head, rows, wraps=(0,)).print_to(out())
    if agreement is not None:
        out().print(f"unlabeled rows, mean over pairs of the {len(found)} runs: {agreement}", markup=False)
    for done, _ in found:
        out().print(f"record: {done.folder or 'none could be written'}", markup=False, soft_wrap=True)


def _measures(found: Sequence[Result], decisions: Sequence[Any]) -> dict[str, list[float | None]]:
    """Row of the table -> a value per run: test measures in percent; else the criterion and what was decided."""

    def percent(values: Iterable[float | None]) -> list[float | None]:
        return [None if value is None else 100 * value for value in values]

    keys = [key for key in registry().headline() if key in found[0].test]
    rows = {ShownMeasure.of(key).label: percent(result.test.get(key) for result in found) for key in keys}
    rows[found[0].selected] = [result.chosen.value for result in found]
    known = [decided for decided in decisions if decided is not None]
    if len(known) == len(decisions):
        held_out = [(d.recalled, None if d.told is None else d.told.reached, d.held_out) for d in known]
        rows["decided positive, %"] = percent(d.decided / d.unlabeled for d in known)
        for k, name in enumerate(("held-out decided positive, %", "held-out in the top, %")):
            counts = [(one[k], one[2]) for one in held_out]
            rows[name] = percent(None if n is None or not of else n / of for n, of in counts)
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

    def __str__(self) -> str:
        correlation = "undefined" if self.rank_correlation is None else f"{self.rank_correlation:.3f}"
        found = f"rank correlation {correlation}"
        if self.overlap is not None:
            found += f"; {100 * self.overlap:.1f} % of the {self.top} highest are the same rows"
        return found


def agreement_of(scores: Sequence[FloatArray], top: int) -> RankAgreement:
    """``scores``: (n,) of the same rows, for each of at least two runs. ``top``: how many of the highest count as such.

    Rows of equal scores share the mean of their ranks; at the edge of the top, all rows of the lowest score are in it.
    """
    from scipy.stats import rankdata

    of, pairs = np.stack(scores), np.triu_indices(len(scores), 1)
    correlation = overlap = None
    if (of.min(axis=1) < of.max(axis=1)).all():
        correlation = float(np.corrcoef(rankdata(of, axis=1))[pairs].mean())
    if top:
        highest = (of >= np.partition(of, -top, axis=1)[:, [-top]]).astype(np.int64)
        both = highest @ highest.T
        overlap = float((both / np.maximum.outer(both.diagonal(), both.diagonal()))[pairs].mean())
    return RankAgreement(correlation, overlap, top)
