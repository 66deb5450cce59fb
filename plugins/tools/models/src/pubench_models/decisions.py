"""Decisions of a result on a user's own rows without known truth, from the scores that its record keeps.

Nothing here is an accuracy. The share decided positive is next to the share that the given prior implies. Labeled
positives that were held out of training say how many positives are found; as they helped to choose the epoch, a little
of that is luck.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pubench.field_names import in_words
from pubench_cli.columns import PrintedColumn, print_table
from pubench_cli.console import out
from pubench_core.data.labeled import BoolArray
from pubench_core.data.table_reader import table_reader
from pubench_core.plugins.registry import registry
from pubench_core.records.files import SCORES, Arrays, predictions_in, read_scores
from pubench_core.records.scores import scores_of
from pubench_core.results import Result
from pubench_core.specs import is_one_sample, unlabeled_prior

if TYPE_CHECKING:
    from pandas import DataFrame

    from pubench import RunResult
    from pubench_core.engine.plan import Plan

#: The given prior, and what it would be if it were off by a fifth.
FACTORS = (0.8, 1.0, 1.2)
_COLUMNS = (
    PrintedColumn("if the prior is", wraps=True),
    PrintedColumn("positive rows", right=True),
    PrintedColumn("share", right=True),
    PrintedColumn("lowest score", right=True, rank=2),
    PrintedColumn("held-out reached", right=True, rank=1),
)


@dataclass(frozen=True)
class TopRows:
    """Highest scores among the unlabeled rows, as many (``share``, ``rows``) as ``factor`` times the prior says.

    ``threshold``: the lowest of them, None if there are none; ``reached``: held-out labeled positives above it.
    """

    factor: float
    prior: float
    share: float
    rows: int
    threshold: float | None
    reached: int


@dataclass(frozen=True)
class Decisions:
    """``unlabeled`` rows, labeled positives ``held_out`` in the validation part, and ``known_negative`` rows, which
    the method ``learned`` from or not; how many of each have a score above 0: ``decided``, ``recalled``, ``mistaken``.

    ``top``: for the given prior and for one a fifth lower and higher; empty where no prior is known.
    """

    unlabeled: int
    decided: int
    held_out: int
    recalled: int
    top: tuple[TopRows, ...]
    known_negative: int = 0
    mistaken: int = 0
    learned: bool = False

    @property
    def told(self) -> TopRows | None:
        """The highest scores at the given prior; None where none is known."""
        return next((rows for rows in self.top if rows.factor == 1.0), None)

    def show(self, plan: Plan) -> None:
        """Prints them below the measures of a run, with what a prior that is off by a fifth would mean."""
        console, told = out(), self.told
        console.print()
        line = f"unlabeled rows: {_of(self.decided, self.unlabeled)} decided positive"
        if told is not None:
            line += f"; by the given prior ({told.prior:.4g}) {told.rows} are ({100 * told.share:.1f} %)"
        console.print(line, markup=False)
        if self.held_out:
            line = f"held-out labeled positives: {_of(self.recalled, self.held_out)} decided positive"
            if told is not None and told.rows:
                line += f", {_of(told.reached, self.held_out)} among the {told.rows} highest scores"
            console.print(line, markup=False)
        if self.known_negative:
            name = "known negatives, which it learned from" if self.learned else "known negatives"
            console.print(f"{name}: {_of(self.mistaken, self.known_negative)} decided positive", markup=False)
        if self.top:
            rows = [_cells(top, self.held_out) for top in self.top]
            print_table(console, _COLUMNS, rows, surplus="below")
            console.print(_what_else(plan, self), markup=False)


def _cells(top: TopRows, held_out: int) -> list[str]:
    name = "as told" if top.factor == 1 else f"x {top.factor:g}"
    threshold = "" if top.threshold is None else f"{top.threshold:.4f}"
    reached = f"{top.reached} of {held_out}" if held_out else ""
    return [f"{top.prior:.4g} ({name})", str(top.rows), f"{100 * top.share:.1f} %", threshold, reached]


def _what_else(plan: Plan, found: Decisions) -> str:
    if "prior" not in plan.method.granted:
        return f"{plan.method.info.key} does not use the prior: these are its own scores, cut at other places"
    others = " and ".join(f"--prior {top.prior:.4g}" for top in found.top if top.factor != 1)
    return (
        f"these are the scores of this run, cut at other places; {plan.method.info.key} also trains by the prior: "
        f"{others} show how it then decides, --seeds 3 how much is chance"
    )


def _of(part: int, whole: int) -> str:
    return f"{part} of {whole} ({100 * part / whole:.1f} %)"


def decisions_in(plan: Plan, result: Result, folder: Path | None) -> Decisions | None:
    """Decisions of a run on a user's table; None for another data set, and where its scores were not to be kept."""
    table = plan.data.table
    if table is None or folder is None or not (folder / SCORES).exists():
        return None
    return decisions_of(result, read_scores(folder), int(table.labeled.sum()), table.known_negative)


def decisions_of(
    result: Result, arrays: Arrays, labeled: int, known_negative: BoolArray | None = None
) -> Decisions | None:
    """Decisions of a run on a user's table, in the selected state; None for another data set.

    ``arrays``: its stored scores. ``labeled``: labeled rows of the whole table. ``known_negative``: (n,) of its rows.
    """
    scores = scores_of(arrays, result.chosen.snapshot)
    if "unlabeled" not in scores:
        return None
    negative = np.zeros(len(scores["unlabeled"]), bool)
    if known_negative is not None:
        negative = known_negative[arrays["unlabeled_rows"]]
    unlabeled, negatives = scores["unlabeled"][~negative], scores["unlabeled"][negative]
    held_out = scores.get("validation", unlabeled[:0])[arrays["validation_labeled"].astype(bool)]
    prior = result.data.prior.given
    taken = labeled if is_one_sample(result.spec.data.scheme) else 0
    top, n = list[TopRows](), len(unlabeled)
    for factor, assumed in [(f, f * prior) for f in FACTORS if prior is not None and f * prior < 1]:
        # labeled rows that are part of the draw from the population are positives that U lacks
        share = min(max(unlabeled_prior(assumed, taken, n + taken), 0.0), 1.0)
        rows = round(share * n)
        threshold = float(np.partition(unlabeled, n - rows)[n - rows]) if rows else None
        reached = int((held_out >= threshold).sum()) if threshold is not None else 0
        top.append(TopRows(factor, assumed, share, rows, threshold, reached))
    above = [int((some > 0).sum()) for some in (unlabeled, held_out, negatives)]
    learned = bool(result.data.negatives)
    return Decisions(n, above[0], len(held_out), above[1], tuple(top), len(negatives), above[2], learned)


def decisions(run: RunResult) -> Decisions:
    """Decisions of a run on the unlabeled rows of a user table, next to the number that the prior implies, and how
    that would move if the prior were off by a fifth; the command line prints it below such a result.

    Raises ValueError for a data set, if the run kept no scores, or if its table names known negatives and has changed.
    """
    there, own, negative = (run.folder / SCORES).exists(), run.result.spec.data.own, None
    if own is not None and own.known_negative:  # the record does not name them
        reader = table_reader(registry())
        with in_words():
            negative = reader.read(reader.spec(own.model_dump(exclude_defaults=True))).known_negative
    found = decisions_of(run.result, read_scores(run.folder), run.result.labeled, negative) if there else None
    if found is None:
        raise ValueError(f"run {run.run_id} has no decisions; they need a user table (pubench.data) and stored scores")
    return found


def predictions(run: RunResult) -> DataFrame:
    """Row, score, rank and decision of the unlabeled rows of a user table, highest score first.

    Columns that name the rows (left out of the features as ids, or dropped) are next to ``row``, as texts.

    Raises ValueError where the labels were simulated.
    """
    import pandas as pd

    path = predictions_in(run.folder, run.result.selected)
    if not path.exists():
        raise ValueError(f"run {run.run_id} has no predictions; only runs on user tables (pubench.data) keep them")
    numbers = {"row": int, "score": float, "rank": int, "decision": int, "decision_at_prior": int}
    found = pd.read_csv(path, dtype=str, keep_default_na=False)  # everything else names the rows
    found = found.astype({name: kind for name, kind in numbers.items() if name in found.columns})
    return found.sort_values("rank", ignore_index=True)
