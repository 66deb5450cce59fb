"""``pubench run --seeds 3``: one run per seed, each with its record, and how much they differ."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from pathlib import Path

from pubench_datasets_tables.decisions import Decisions
from pubench_study.in_process import carried_out, plans_of, study_of
from pubench_study.seeds import seeds_of

from pubench_cli.console import err, out
from pubench_cli.decisions import decisions_in
from pubench_cli.machine import print_json
from pubench_cli.messages import said
from pubench_cli.options import Given
from pubench_cli.progress import data_progress, display
from pubench_cli.run import layers_of, saying_once
from pubench_core.engine.layers import Layer
from pubench_core.engine.plan import Plan
from pubench_core.errors import PubenchError
from pubench_core.plugins.info import MetricInfo
from pubench_core.plugins.registry import registry
from pubench_core.records.files import read_scores
from pubench_core.records.scores import scores_of
from pubench_core.results import Result

from ..agreement import RankAgreement, agreement_of
from ..cells import mean_and_std
from ..rendering import RenderedTable


@dataclass(frozen=True)
class SeedResult:
    """One finished run. ``folder``: its record; None where none could be written."""

    plan: Plan
    result: Result
    folder: Path | None
    reused: bool

    @property
    def seed(self) -> int:
        """Seed of split, initialization and batches."""
        return self.result.spec.seed


def run_seeds(given: Given, seeds: str, sets: list[str], config: Path | None, *, force: bool, as_json: bool) -> None:
    """Carries out one run per seed and prints what they have in common. A failed one ends no other, and is raised last.

    Every run is resolved before the first one trains.
    """
    once = saying_once()
    settings = Layer.joined(layers_of(given, sets, config))
    study = study_of({"runs": [{"seed": seed} for seed in seeds_of(seeds)]}, settings)
    runs = plans_of(study, settings, registry(), lambda text: once(f"warning: {said(text)}"))
    found: list[SeedResult] = []
    failed: list[PubenchError] = []
    with redirect_stdout(sys.stderr):  # what a plugin prints
        for done in carried_out(runs, said, force=force, say=once, display=display, progress=data_progress):
            if done.result is not None:
                found.append(SeedResult(done.run.plan, done.result, done.folder, done.event.status == "found"))
            if done.error is not None:
                err().print(f"seed {done.run.plan.spec.seed}: {done.event.text}", markup=False)
                failed.append(done.error)
    if found:
        _print(found, as_json=as_json)
    if failed:
        raise failed[0]


def _print(found: Sequence[SeedResult], *, as_json: bool) -> None:
    for done in found:
        for text in dict.fromkeys((*done.result.warnings, *done.result.chosen.warnings)):
            err().print(f"warning: seed {done.seed}: {text}", markup=False)
    decisions = [decisions_in(done.plan, done.result, done.folder) for done in found]
    measures = _measures(found, decisions)
    agreement = _agreement(found, decisions)
    if as_json:
        runs = [
            {
                **done.result.plain(),
                "record": str(done.folder) if done.folder is not None else None,
                "reused": done.reused,
                **({"decisions": asdict(decided)} if decided is not None else {}),
            }
            for done, decided in zip(found, decisions, strict=True)
        ]
        summary = {name: {**_spread(values), "values": values} for name, values in measures.items()}
        print_json({"runs": runs, "summary": summary, "agreement": asdict(agreement) if agreement else None})
        return
    console, first = out(), found[0].result
    if alike := [done.result.chosen.alike_warning for done in found if done.result.chosen.decided_alike]:
        console.print(
            f"warning: {len(alike)} of {len(found)} runs decide every row alike; the first: {alike[0]}",
            style="bold yellow",
            markup=False,
        )
    seeds = ", ".join(str(done.seed) for done in found)
    console.print(f"{first.spec.method.key} on {first.spec.data.key}, seeds {seeds}", style="bold", markup=False)
    head = [f"selected by {first.selected}", "mean", "sd", *(f"seed {done.seed}" for done in found)]
    rows = []
    for name, values in measures.items():
        spread = _spread(values)
        digits = 2 if name.endswith("%") else 4
        shown = (spread["mean"], spread["sd"], *values)
        rows.append([name, *("-" if value is None else f"{value:.{digits}f}" for value in shown)])
    RenderedTable.of(head, rows, wraps=(0,)).print_to(console)
    if agreement is not None:
        console.print(_of_ranks(agreement, len(found)), markup=False)
    for done in found:
        console.print(f"record: {done.folder or 'none could be written'}", markup=False, soft_wrap=True)


def _measures(found: Sequence[SeedResult], decisions: Sequence[Decisions | None]) -> dict[str, list[float | None]]:
    """Row of the table -> a value per run: test measures in percent; else the criterion and what was decided."""
    infos = {info.key: info for info in registry().infos(MetricInfo)}
    rows: dict[str, list[float | None]] = {}
    for key in [key for key in registry().headline() if key in found[0].result.test]:
        rows[f"{infos[key].name}, %"] = [_percent(done.result.test.get(key)) for done in found]
    rows[found[0].result.selected] = [done.result.chosen.value for done in found]
    if all(decided is not None for decided in decisions):
        known = [decided for decided in decisions if decided is not None]
        rows["decided positive, %"] = [_percent(d.decided / d.unlabeled) for d in known]
        rows["held-out decided positive, %"] = [
            _percent(d.recalled / d.held_out) if d.held_out else None for d in known
        ]
        rows["held-out in the top, %"] = [
            _percent(d.told.reached / d.held_out) if d.told is not None and d.held_out else None for d in known
        ]
    return {name: values for name, values in rows.items() if any(value is not None for value in values)}


def _agreement(found: Sequence[SeedResult], decisions: Sequence[Decisions | None]) -> RankAgreement | None:
    """Of the scores of the unlabeled rows, which are the same for every seed."""
    kept = [done for done, decided in zip(found, decisions, strict=True) if decided is not None]
    if len(kept) < 2:
        return None
    scores = []
    for done in kept:
        assert done.folder is not None
        scores.append(scores_of(read_scores(done.folder), done.result.chosen.snapshot)["unlabeled"])
    told = next(decided for decided in decisions if decided is not None).told
    return agreement_of(scores, told.rows if told is not None else 0)


def _of_ranks(agreement: RankAgreement, runs: int) -> str:
    what = f"unlabeled rows, mean over pairs of the {runs} runs:"
    correlation = agreement.rank_correlation
    text = f"{what} rank correlation " + ("undefined" if correlation is None else f"{correlation:.3f}")
    if agreement.overlap is None:
        return text
    return f"{text}; {100 * agreement.overlap:.1f} % of the {agreement.top} highest are the same rows"


def _spread(values: Sequence[float | None]) -> dict[str, float | None]:
    return dict(zip(("mean", "sd"), mean_and_std(value for value in values if value is not None), strict=True))


def _percent(value: float | None) -> float | None:
    return None if value is None else 100 * value
