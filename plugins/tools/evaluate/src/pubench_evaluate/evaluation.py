"""``pubench.evaluate``: what scores are worth where nobody knows a negative, and what each answer assumes.

Measures come from the installed metrics, class priors from the installed estimators; nothing here trains anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pubench.field_names import in_words
from pubench_core.errors import RequestError, shown
from pubench_core.specs import is_one_sample

from .audit import AuditResult
from .belief import Belief, belief_in, wanted_estimator
from .measures import MOST_RESAMPLES, Measured, Resampling, curves_of, installed_metrics, measured, resamples_for
from .prior import asked, infos_of, narrowed
from .report_card import Evaluation
from .scored_rows import LabeledScores, scored_rows
from .thresholds import Cuts, ThresholdCut

#: Bins of the histogram of scores.
BINS = 30
#: How a contradiction ends that is not infeasible by chance.
BEYOND_CHANCE = "more than chance explains"
#: Below so many labeled rows, intervals are rough.
FEW = 30


def evaluate(
    scores: Any,
    labeled: Any,
    *,
    prior: float | tuple[float, float] | str | None = None,
    purity: float = 1.0,
    truth: Any = None,
    scheme: str = "one-sample",
    threshold: float | None = None,
    budget: int | None = None,
    recall: float | None = None,
    name: str = "scores",
    pos_label: Any = None,
    resamples: int | None = None,
    n_unlabeled: int | None = None,
    audited: AuditResult | None = None,
    thorough: bool = True,
    seed: int = 0,
) -> Evaluation:
    """A report card of scores, from labeled positives and unlabeled rows alone.

    ``scores``: (n,) higher means more positive, from a model that was not trained on these rows. ``labeled``: (n,)
    1/0, 1/-1 or True/False. ``prior``: π of the population as a number, as two ends of an interval (or ``"0.2..0.4"``),
    or ``"estimated:KEY"``; without it, what needs a prior is left out. ``purity``: β, the share of true positives among
    the labeled rows. ``truth``: true labels, for oracle measures next to the others. ``scheme``: ``one-sample`` or
    ``single-training-set`` (labeled and unlabeled rows together are one draw from the population), ``two-sample`` (the
    unlabeled rows alone are) or ``case-control`` (all rows are, the labeled ones among them).
    A row is decided positive where its score is above ``threshold`` (0), or among the ``budget`` highest of the
    unlabeled rows, or where that finds the share ``recall`` of the positives: at most one of the three.
    ``name``: what the scores are called. ``resamples``: of the intervals of PA and PAUC, at most 100,000; by default
    1000 for at most 2,000 rows, 400 for 20,000, 100 for 100,000 and none beyond. ``n_unlabeled``: how many unlabeled
    rows there are in all, if those with a score are a random part of them (held out of training, say); budgets and
    numbers of positives are then of all.
    ``audited``: what checked rows say (:func:`pubench.audit_answers`). It narrows the prior, or replaces one that it
    contradicts; if it rejects SCAR, no number of positives is expected. ``thorough``: False leaves out curves and the
    intervals that metrics draw themselves, which take seconds.

    Raises InvalidRequest (a ValueError) for what contradicts itself.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(2000) < 0.3
    >>> labeled = y & (rng.random(2000) < 0.5)
    >>> card = evaluate(rng.normal(2 * y), labeled, prior=0.3, threshold=1.0, resamples=0)
    >>> card.decision.rows > 0
    True
    """
    with in_words():
        rows = scored_rows(scores, labeled, truth=truth, scheme=scheme, purity=purity, pos_label=pos_label)
        prior = narrowed(prior, audited)
        wanted = wanted_estimator(prior)
        infos = infos_of("scores", [wanted], word="prior=estimated:") if wanted else []
        found = [asked(info, rows.of_labeled, rows.of_unlabeled, rows, seed) for info in infos]
        belief = belief_in(prior, rows, *found)
        if audited is not None and audited.prior.interval is not None:
            belief = replace(belief, source=f"narrowed by {audited.checked} checked rows; the middle is used")
        _check_counts(rows, resamples, n_unlabeled)
        cuts = Cuts(rows, belief, seed, n_unlabeled)
        decision = cuts.chosen(threshold, budget, recall)
    drawn = Resampling(resamples_for(len(rows.scores)) if resamples is None else resamples, seed)
    rows = rows.knowing(
        prior=belief.prior, prior_interval=belief.interval, threshold=decision.threshold, thorough=thorough
    )
    measures = measured(rows, installed_metrics(), drawn)
    curves, band = curves_of(rows, measures)
    budgets, recalls = cuts.budgets(decision.budget), cuts.recalls(decision.target)
    contradictions = _contradictions(decision, (*budgets, *recalls), measures)
    if audited is not None and audited.scar.rejected:
        contradictions.insert(0, f"Checked rows reject SCAR (p = {audited.scar.p_value:.2g})")
    warnings = [
        *contradictions[1:],  # the headline has the first
        *_warnings(rows, belief, decision, given=threshold is not None),
    ]
    if contradictions:
        decision, budgets, recalls = _unknown(decision), tuple(map(_unknown, budgets)), tuple(map(_unknown, recalls))
    counts = {"rows": len(rows.scores), "labeled": rows.n_labeled, "unlabeled": len(rows.unlabeled)}
    return Evaluation(
        name=name,
        rows=counts if n_unlabeled is None else {**counts, "all_unlabeled": n_unlabeled},
        scheme=rows.scheme,
        purity=rows.purity,
        belief=belief,
        measures=measures,
        decision=decision,
        budgets=budgets,
        recalls=recalls,
        curves=curves,
        band=band,
        contradictions=tuple(contradictions),
        warnings=tuple(warnings),
        notes=tuple(_notes(rows, belief, n_unlabeled)),
        checked="" if audited is None else audited.sentence,
        scar_tested=audited is not None and audited.scar.p_value is not None,
        histogram=_histogram(rows),
    )


def _check_counts(rows: LabeledScores, resamples: int | None, n_unlabeled: int | None) -> None:
    """Raises RequestError for more resamples than anybody waits for, or fewer unlabeled rows than have a score."""
    if resamples is not None and not 0 <= resamples <= MOST_RESAMPLES:
        raise RequestError(
            f"resamples={shown(resamples)}: must be between 0 and {MOST_RESAMPLES:,}",
            field="resamples",
            value=resamples,
        )
    if n_unlabeled is not None and n_unlabeled < len(rows.unlabeled):
        raise RequestError(
            f"n_unlabeled={shown(n_unlabeled)}: must be at least {len(rows.unlabeled)}, which have a score",
            field="n_unlabeled",
            value=n_unlabeled,
        )


def _unknown(cut: ThresholdCut) -> ThresholdCut:
    """A cut at which nothing can be expected."""
    return replace(cut, expected=None, expected_interval=None)


def _histogram(rows: LabeledScores) -> dict[str, tuple[float, ...]]:
    edges = np.histogram_bin_edges(rows.scores, BINS)
    groups = {"labeled": rows.scores[rows.labeled], "unlabeled": rows.scores[~rows.labeled]}
    shares = {name: np.histogram(scores, edges)[0] / len(scores) for name, scores in groups.items()}
    return {name: tuple(values.tolist()) for name, values in {"edges": edges, **shares}.items()}


# -------------------------------------------------------------------- what a reader must know


def _warnings(rows: LabeledScores, belief: Belief, decision: ThresholdCut, *, given: bool) -> list[str]:
    said = []
    if rows.scores.min() == rows.scores.max():
        said.append("every row has the same score: nothing is ranked")
    elif decision.rows in (0, len(rows.unlabeled)):
        which = "no unlabeled row" if not decision.rows else "every unlabeled row"
        inside = rows.scores.min() >= 0 and rows.scores.max() <= 1
        remedy = "; where scores are probabilities, 0.5 is the usual threshold" if inside and not given else ""
        said.append(f"{which} is above the threshold {decision.threshold:.4g}{remedy}")
    if decision.tied is not None:
        picked, equal = decision.tied
        said.append(
            f"{equal:,} unlabeled rows share the lowest score of the budget, of which {picked:,} are taken at random; "
            "measures of a decision count all of them as positive"
        )
    if rows.n_labeled < FEW:
        said.append(f"only {rows.n_labeled} labeled rows: every interval here is rough")
    if belief.share is not None and belief.share >= rows.purity:
        said.append(
            f"the share of positives among the unlabeled rows ({belief.share:.3g}) is not below that among the labeled "
            f"ones ({rows.purity:.3g}): nothing can be recovered"
        )
    if rows.truth is not None and rows.purity == 1 and (wrong := int((rows.labeled & ~rows.truth).sum())):
        said.append(
            f"{wrong} of {rows.n_labeled} labeled rows are negative by the true labels, and purity=1 says that "
            f"all are positive; give purity={1 - wrong / rows.n_labeled:.3g}, or check the two columns"
        )
    return said


def _contradictions(
    decision: ThresholdCut, others: Sequence[ThresholdCut], measures: Mapping[str, Measured]
) -> list[str]:
    """What cannot be if the prior is right and labeled rows are a random draw of all positives."""
    said, both = [], "The prior and the labeled rows imply"
    if decision.infeasible:
        chance = f", {BEYOND_CHANCE}" if decision.contradicted else ""
        said.append(f"{both} {decision.implied:,.0f} positives among these {decision.all_rows:,} rows{chance}")
    for cut in others:
        if cut.contradicted and cut.all_rows != decision.all_rows:
            said.append(f"{both} {cut.implied:,.0f} positives among the top {cut.all_rows:,} rows, {BEYOND_CHANCE}")
    if infeasible := [found.info.name for found in measures.values() if found.infeasible]:
        said.append(f"What is recovered cannot be: {', '.join(infeasible)} outside of [0, 1]")
    return said


def _notes(rows: LabeledScores, belief: Belief, n_all: int | None) -> list[str]:
    which = "labeled and unlabeled rows together are" if is_one_sample(rows.scheme) else "the unlabeled rows are"
    said = [
        "the scores are of a model that was not trained on these rows: on its own training rows "
        "every number here is too good",
        f"{which} a random draw from the population ({rows.scheme})",
        "labeled rows are a random draw of all positives (SCAR): all measures that say so, every estimate of the "
        "prior, every share of the positives and every number of positives to expect",
    ]
    if n_all is not None:
        said.append(
            f"the {len(rows.unlabeled):,} unlabeled rows here are a random part of all {n_all:,}, and the others are "
            "ranked as well as they are; a model's own training rows may not be"
        )
    if rows.purity == 1:
        said.append("every labeled row is truly positive (purity 1)")
    if belief.prior is None:
        said.append(
            "no prior is given: precision, the recovered curves and the numbers of positives to expect need one"
        )
    return said


__all__ = ["Evaluation", "evaluate"]
