"""How many held-out labeled positives does a choice need? Rows from the folds of a study, without training.

    python -m benchmarks.studies validation-size folders=[DIR]

Every fold keeps its held-out scores and test scores at a dozen epochs. Of the held-out labeled positives of all folds,
``held_out`` are drawn at random, with as large a share of the unlabeled rows: so much a smaller validation part would
know. A criterion chooses by these, as the engine does, and the test part tells what the choice costs.

``question``: ``epoch`` (of one method), ``method`` (each at the epoch that the criterion chose; the one with the
highest value is taken) or ``prior`` (``epoch`` with all held-out rows, where PA is given ``factor`` times the prior;
training was given the right one). ``lost``: points of test accuracy below the best choice, ``lost_at_prior`` of
accuracy by the decision at the prior, ``lost_auc`` points of AUC: means over ``draws``. ``of_last`` and ``of_random``:
what the last epoch, or a random epoch or method, loses (accuracy). Accuracies are means over the models of all folds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from pubench_study.crossfit import Fold, fold_of
from sklearn.metrics import roc_auc_score

from benchmarks.studies.case import Case
from pubench_core.data.generator import Part
from pubench_core.engine.score import state_name
from pubench_core.engine.select import HeldOut, SelectableState, Track
from pubench_core.metric import FloatArray, Knowledge, Scored, measure
from pubench_core.plugins.info import MetricInfo
from pubench_core.plugins.registry import load, registry
from pubench_core.records.store import RecordStore

SIZES = (1, 2, 3, 5, 8, 12, 20, 30, 50, 80, 120, 200, 300, 500)
FACTORS = (0.5, 0.8, 1.0, 1.25, 2.0)
CRITERIA = ("pa", "pauc")
DRAWS = 40
KEY = ("question", "data", "c", "seed", "method", "criterion", "held_out", "factor")


@dataclass(frozen=True)
class Cell:
    """Joined folds of one method on one problem. ``folds``: in order."""

    data: str
    c: float
    seed: int
    method: str
    folds: Sequence[Fold]

    @cached_property
    def states(self) -> list[str]:
        """States that every fold keeps, in the order of their epochs."""
        return [state_name(*key) for key in self.folds[0].kept if all(key in fold.kept for fold in self.folds)]

    @cached_property
    def test(self) -> dict[str, FloatArray]:
        """Points of accuracy at 0, of accuracy at the prior, and of AUC, (states,) each: means over folds."""
        found = defaultdict(list)
        for state in self.states:
            of_folds = [_test(fold, state) for fold in self.folds]
            for name, values in zip(("lost", "lost_at_prior", "lost_auc"), zip(*of_folds, strict=True), strict=True):
                found[name].append(100 * float(np.mean(values)))
        return {name: np.array(values) for name, values in found.items()}

    @cached_property
    def held_out(self) -> int:
        """Held-out labeled positives of all folds."""
        return sum(int(fold.arrays["validation_labeled"].sum()) for fold in self.folds)


def _test(fold: Fold, state: str) -> tuple[float, float, float]:
    """Accuracy at 0 and at the prior, and AUC of one fold's model on the test part."""
    truth, scores = fold.arrays["test_labels"] == 1, fold.scores("test", state)
    known = _known(fold)
    of_u, prior = fold.scores("validation", state)[known.unlabeled], fold.result.data.prior.given_unlabeled
    threshold = float(np.quantile(of_u, 1 - (prior or 0.0)))
    accuracies = [float(((scores > cut) == truth).mean()) for cut in (0.0, threshold)]
    return accuracies[0], accuracies[1], float(roc_auc_score(truth, scores))


def _known(fold: Fold) -> Knowledge:
    scheme = fold.result.spec.data.scheme
    part = Part(fold.arrays["validation_rows"], fold.arrays["validation_labeled"].astype(bool))
    return Knowledge(
        labeled=np.flatnonzero(part.labeled),
        unlabeled=part.unlabeled(scheme),
        prior=fold.result.data.prior.given,
        scheme=scheme,
    )


def drawn(cell: Cell, number: int, rng: np.random.Generator) -> list[Knowledge]:
    """Knowledge of a validation part with ``number`` labeled positives in all, for every fold."""
    known = [_known(fold) for fold in cell.folds]
    of_fold = np.repeat(np.arange(len(known)), [len(one.labeled) for one in known])
    taken = np.bincount(rng.permutation(of_fold)[:number], minlength=len(known))
    share = number / len(of_fold)
    return [
        replace(
            one,
            labeled=rng.choice(one.labeled, n, replace=False),
            unlabeled=rng.choice(one.unlabeled, max(1, round(share * len(one.unlabeled))), replace=False),
        )
        for one, n in zip(known, taken, strict=True)
    ]


def chosen(cell: Cell, criterion: str, known: Sequence[Knowledge], factor: float = 1.0) -> tuple[int, float]:
    """(position of the state that a criterion chooses, its value there): the mean over folds with a labeled row."""
    info = next(one for one in registry().infos(MetricInfo) if one.key == criterion)
    function, track = load(info), Track(criterion)
    for number, state in enumerate(cell.states):
        parts = []
        for fold, one in zip(cell.folds, known, strict=True):
            if len(one.labeled):
                prior = min(factor * (one.prior or 0.0), 0.999)
                parts.append((len(one.labeled), Scored.of(fold.scores("validation", state), replace(one, prior=prior))))
        weights = [n for n, _ in parts]
        held = [HeldOut.of(scored) for _, scored in parts]
        value = np.average([measure(function, info, scored).value for _, scored in parts], weights=weights)
        ranking = float(np.average([one.ranking for one in held], weights=weights))
        track.offer(
            [SelectableState(float(value), number, "", None, HeldOut(all(h.alike for h in held), ranking))],
            number,
            None,
        )
    assert track.chosen is not None
    return track.chosen.epoch, track.chosen.value or 0.0


def of_epochs(cell: Cell) -> Iterator[dict[str, Any]]:
    """Points lost by choosing the epoch, by criterion and number of held-out positives; and by a wrong prior."""
    best = {name: values.max() for name, values in cell.test.items()}
    common = {
        "of_last": round(best["lost"] - cell.test["lost"][-1], 4),
        "of_random": round(best["lost"] - float(cell.test["lost"].mean()), 4),
    }
    for criterion in CRITERIA:
        for number in sizes(cell.held_out):
            whole = number == cell.held_out
            rng = np.random.default_rng(cell.seed)
            picks = [chosen(cell, criterion, drawn(cell, number, rng))[0] for _ in range(1 if whole else DRAWS)]
            yield _row(cell, "epoch", criterion, number, 1.0, _lost(best, cell.test, picks), len(picks)) | common
    everything = drawn(cell, cell.held_out, np.random.default_rng(0))
    for factor in FACTORS:
        pick, _ = chosen(cell, "pa", everything, factor)
        yield _row(cell, "prior", "pa", cell.held_out, factor, _lost(best, cell.test, [pick]), 1) | common


def of_methods(cells: Sequence[Cell]) -> Iterator[dict[str, Any]]:
    """Points lost by choosing among methods: every draw of rows is the same for all of them."""
    first = cells[0]
    for criterion in CRITERIA:
        for number in sizes(first.held_out):
            rng, lost, at_random = np.random.default_rng(first.seed), [], []
            for _ in range(1 if number == first.held_out else DRAWS):
                seed = int(rng.integers(2**31))
                picks = [chosen(one, criterion, drawn(one, number, np.random.default_rng(seed))) for one in cells]
                found = {
                    name: np.array([one.test[name][at] for one, (at, _) in zip(cells, picks, strict=True)])
                    for name in first.test
                }
                taken = int(np.argmax([value for _, value in picks]))
                lost.append({name: values.max() - values[taken] for name, values in found.items()})
                at_random.append(found["lost"].max() - found["lost"].mean())
            means = {name: float(np.mean([one[name] for one in lost])) for name in first.test}
            row = _row(first, "method", criterion, number, 1.0, means, len(lost))
            yield row | {"method": f"of {len(cells)}", "of_last": "", "of_random": round(float(np.mean(at_random)), 4)}


def sizes(most: int) -> list[int]:
    """Numbers of held-out labeled positives to look at; the last is all there are."""
    return [*(size for size in SIZES if size < most), most]


def _lost(best: Mapping[str, float], test: Mapping[str, FloatArray], picks: Sequence[int]) -> dict[str, float]:
    return {name: float(best[name] - test[name][picks].mean()) for name in best}


def _row(
    cell: Cell, question: str, criterion: str, number: int, factor: float, lost: Mapping[str, float], draws: int
) -> dict[str, Any]:
    key = (question, cell.data, cell.c, cell.seed, cell.method, criterion, number, factor)
    return dict(zip(KEY, key, strict=True)) | {name: round(value, 4) for name, value in lost.items()} | {"draws": draws}


def cells_in(folders: Sequence[Path]) -> list[Cell]:
    """Every run of which all folds are there."""
    found: dict[tuple[str, float, int, str], dict[int, Fold]] = defaultdict(dict)
    folds_of = {}
    for folder in folders:
        for record in RecordStore(folder).all().readable:
            spec = record.result.spec
            if spec.validation.fold is not None:
                key = (spec.data.key, spec.mechanism.c or 0.0, spec.seed, spec.method.key)
                found[key][spec.validation.fold] = fold_of(record.folder, record.result)
                folds_of[key] = spec.validation.folds
    whole = {key: folds for key, folds in found.items() if len(folds) == folds_of[key]}
    return [Cell(*key, [folds[number] for number in sorted(folds)]) for key, folds in sorted(whole.items())]


def cases(folders: Sequence[str]) -> Iterator[Case]:
    """A case per cell with several states, then one per problem with several methods; the last row is the key."""
    problems = defaultdict(list)
    for cell in cells_in([Path(folder) for folder in folders]):
        problems[cell.data, cell.c, cell.seed].append(cell)
        if len(cell.states) > 1:
            yield Case(_key(cell, "prior", cell.method, "pa"), partial(of_epochs, cell))
    for group in problems.values():
        if len(group) > 1:
            yield Case(_key(group[0], "method", f"of {len(group)}", "pauc"), partial(of_methods, group))


def _key(cell: Cell, question: str, method: str, criterion: str) -> dict[str, object]:
    key = (question, cell.data, cell.c, cell.seed, method, criterion, cell.held_out, 1.0)
    return dict(zip(KEY, key, strict=True))
