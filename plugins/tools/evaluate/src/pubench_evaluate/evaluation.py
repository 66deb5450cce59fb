"""``pubench.evaluate``: what scores are worth where nobody knows a negative, and what each answer assumes.

Measures come from the installed metrics, class priors from the installed estimators; nothing here trains anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from pubench_report.rendering import RenderedTable

from pubench.field_names import in_words
from pubench_core.errors import RequestError, shown
from pubench_core.results import plain_data
from pubench_core.specs import is_one_sample

from .audit import AuditResult
from .belief import Belief, belief_in, wanted_estimator
from .measures import RESAMPLES, Measured, PlottedCurve, curves_of, installed_metrics, measured
from .page import Part, Report, between
from .prior import asked, infos_of, narrowed
from .scored_rows import LabeledScores, scored_rows
from .thresholds import DRAWS, Cuts, ThresholdCut

#: Bins of the histogram of scores.
BINS = 30
#: How a contradiction ends that is not infeasible by chance.
BEYOND_CHANCE = "more than chance explains"
#: Below so many labeled rows, intervals are rough.
FEW = 30


@dataclass(frozen=True, repr=False)
class Evaluation(Report):
    """A report card."""

    name: str
    rows: Mapping[str, int]
    """counts"""
    scheme: str
    purity: float
    belief: Belief
    measures: Mapping[str, Measured]
    decision: ThresholdCut
    """what lies above the threshold"""
    budgets: tuple[ThresholdCut, ...]
    recalls: tuple[ThresholdCut, ...]
    curves: Mapping[str, PlottedCurve] = field(default_factory=dict)
    """raw and recovered, those that there are"""
    band: Mapping[str, tuple[float, ...]] | None = None
    contradictions: tuple[str, ...] = ()
    """parts that are impossible under the prior and SCAR labels; if there is one, no cut has an ``expected``
    number of positives"""
    warnings: tuple[str, ...] = ()
    """what a reader must know"""
    notes: tuple[str, ...] = ()
    """what every number here assumes"""
    checked: str = ""
    scar_tested: bool = False
    histogram: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """``edges`` of bins of scores, and the shares of ``labeled`` and ``unlabeled`` rows in them"""

    template = "report_card.html.j2"
    how = (
        f"95 % intervals: percentiles of {DRAWS:,} draws. The share of positives above the threshold comes from the "
        "labeled rows there (Jeffreys posterior), the prior from its interval; the number of positives is binomial. "
        "They assume SCAR and a right prior. Infeasible: by the prior and the labeled rows, there would be more "
        "positives than rows. Contradicted: chance does not explain that."
    )

    def __getitem__(self, key: str) -> float | None:
        """The value of a measure; None where it is undefined. Raises KeyError for one that was not measured."""
        return self.measures[key].value

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON holds it."""
        facts = plain_data(asdict(replace(self, measures={}))) | {"headline": self.headline}
        del facts["scar_tested"]
        return {**facts, "measures": {key: found.to_dict() for key, found in self.measures.items()}}

    def parts(self) -> list[Part]:
        """Lines and tables for a terminal: what to expect first, then the measures and what they assume."""
        rows = self.rows
        return [
            f"{self.name}: {rows['rows']} rows, {rows['labeled']} labeled, {rows['unlabeled']} unlabeled; "
            f"{self.scheme}",
            self.belief.line,
            self.headline,
            *(f"warning: {line}" for line in self.warnings),
            *("", self.reviews),
            *("", self.measures_table()),
            *("", *(f"assumed: {line}" for line in self.notes)),
        ]

    # ---------------------------------------------------------------- sentences

    @property
    def title(self) -> str:
        """Title of the page."""
        return f"{self.name}: evaluation without negatives"

    @property
    def headline(self) -> str:
        """Sentence that says what to expect of the decision or, if nothing can be expected, why and what helps."""
        return " ".join(part for part in (self._expected, self.checked) if part)

    @property
    def _expected(self) -> str:
        """The headline as far as it follows from labeled rows and the prior."""
        cut, what = self.decision, self._reviewed
        if self.contradictions:
            beyond = any(one.contradicted for one in (cut, *self.budgets, *self.recalls))
            chance = ", or nearly all of them are positive and it is chance" if cut.infeasible else ", or it is chance"
            return (
                f"{what}: no number of positives can be given. {self.contradictions[0]}. Labeled rows score higher "
                f"than other positives (labels are not SCAR), or the prior is too large{'' if beyond else chance}. "
                f"{'' if self.checked else 'Sixty rows that a person checks settle it: pubench audit.'}"
            ).rstrip()
        if cut.expected is not None and cut.expected_interval is not None:
            low, high = cut.expected_interval
            about = f" (about {cut.expected:,.0f})" if self.scar_tested else ""
            untested = "" if self.scar_tested else "; SCAR is not tested here"
            count = f"expect {low:,.0f} to {high:,.0f} positives{about}"
            return f"{what}: {count}, {_found(cut)}, if labels are SCAR and the prior is right{untested}."
        if cut.recall is not None:
            return f"{what}: {_found(cut)}, if labels are SCAR. How many positives to expect there needs a prior."
        return f"{what}. What to expect there needs a prior."

    @property
    def _reviewed(self) -> str:
        """Which rows the headline is about, of how many, and from which ones that is known."""
        cut, n_part = self.decision, self.rows["unlabeled"]
        n_all = self.rows.get("all_unlabeled", n_part)
        if cut.budget is not None:
            what = f"Review the top {cut.budget:,} of {n_all:,} unlabeled rows"
            if cut.tied is not None:
                what += f" (a random {cut.tied[0]:,} of {cut.tied[1]:,} with the same score among them)"
        elif cut.target is not None:
            what = f"To find {100 * cut.target:g} % of the positives, review the {cut.all_rows:,} of {n_all:,} "
            what += f"unlabeled rows above {cut.threshold:.4g}"
        else:
            what = f"Review the {cut.all_rows:,} of {n_all:,} unlabeled rows above the threshold {cut.threshold:.4g}"
        if n_all == n_part:
            return what
        return f"{what} (estimated from {cut.rows:,} of {n_part:,} that were held out of training)"

    # ---------------------------------------------------------------- tables and figures

    @property
    def reviews(self) -> RenderedTable:
        """How many positives a review of so many rows would find."""
        rows = [
            [
                f"the top {cut.budget:,}" if cut.budget else f"for {100 * (cut.target or 0):g} % recall",
                f"{cut.all_rows:,}",
                _count(cut) or ("" if self.contradictions else "needs a prior"),
                between(cut.recall_interval, percent=True) or "needs a prior",
                f"{cut.threshold:.4g}",
            ]
            for cut in (*self.budgets, *self.recalls)
        ]
        head = ("review", "rows", "positives, if SCAR", "of all positives, if SCAR", "threshold")
        return RenderedTable.of(head, rows, ranks={3: 1, 4: 2})

    def measures_table(self, *, on_page: bool = False) -> RenderedTable:
        """Every measure by its key, on a page in words, and what it assumes."""
        rows = [
            [
                f"{found.info.name}: {found.info.summary}" if on_page else key,
                *_shown(found, 3 if on_page else 4),
                _assumed(found),
                found.note,
            ]
            for key, found in self.measures.items()
        ]
        head = ("measure", "value", "95 % interval", "assumes", "note")
        return RenderedTable.of(head, rows, texts=(3, 4), wraps=(3, 4), ranks={4: 1})

    def figures(self) -> dict[str, Any]:
        """Figures of the page: positives found against rows reviewed, curves and scores."""
        cuts = (self.decision, *self.budgets, *self.recalls)
        found = sorted({(cut.all_rows, *cut.expected_interval) for cut in cuts if cut.expected_interval is not None})
        band = () if self.band is None else zip(*(self.band[name] for name in ("fpr", "low", "high")), strict=True)
        return {
            "review": {"cuts": found, "share": self.belief.share, "reviewed": self.decision.all_rows},
            "curves": {name: list(zip(curve.x, curve.y, strict=True)) for name, curve in self.curves.items()},
            "band": list(band),
            "histogram": {**self.histogram, "threshold": self.decision.threshold},
        }


# -------------------------------------------------------------------- how it is made


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
    ``name``: what the scores are called. ``resamples``: of the intervals of PA and PAUC; by default
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
        if n_unlabeled is not None and n_unlabeled < len(rows.unlabeled):
            need = f"must be at least {len(rows.unlabeled)}, which have a score"
            raise RequestError(f"n_unlabeled={shown(n_unlabeled)}: {need}", field="n_unlabeled", value=n_unlabeled)
        cuts = Cuts(rows, belief, seed, n_unlabeled)
        decision = cuts.chosen(threshold, budget, recall)
    if resamples is None:
        resamples = next((times for most, times in RESAMPLES if len(rows.scores) <= most), 0)
    rows = rows.knowing(
        prior=belief.prior, prior_interval=belief.interval, threshold=decision.threshold, thorough=thorough
    )
    measures = measured(rows, installed_metrics(), resamples, seed)
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


# -------------------------------------------------------------------- words of a cell


def _count(cut: ThresholdCut) -> str:
    """How many positives to expect above a threshold; a word if there cannot be as many as the prior implies.

    Empty if the prior is unknown, or contradicted by another part of the card.
    """
    if cut.contradicted or cut.infeasible:
        return "contradicted" if cut.contradicted else "infeasible"
    if cut.expected_interval is None:
        return ""
    low, high = cut.expected_interval
    return f"{low:,.0f} to {high:,.0f}"


def _found(cut: ThresholdCut) -> str:
    """Which share of the positives lies above a threshold."""
    if cut.recall_interval is None:
        return "share of the positives found unknown"
    return f"{between(cut.recall_interval, percent=True)} of all positives"


def _assumed(found: Measured) -> str:
    """Assumptions of a measure, in words."""
    if found.info.oracle:
        return "true labels"
    return (
        ", ".join("the prior" if name == "prior" else name for name in sorted(found.info.assumes))
        or "neither prior nor SCAR"
    )


def _shown(found: Measured, digits: int = 3) -> tuple[str, str]:
    """A value and its interval as text; no number of one that cannot be, which is cut to what can."""
    if found.infeasible:
        return "infeasible", ""
    return "" if found.value is None else f"{found.value:.{digits}f}", between(found.interval)
