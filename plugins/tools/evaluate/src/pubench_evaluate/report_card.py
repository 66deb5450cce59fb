"""A report card as one HTML file in the style of the board, and its sentences, which the terminal prints as well."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from pubench_report.rendering import RenderedTable

from pubench_core.results import plain_data

from .estimates import RULE, EstimatedPrior, estimates_table, spans_of, summary
from .measuring import Measured, PlottedCurve
from .page import between, framed, page_from
from .paired import Comparison, Difference
from .prior_input import Belief
from .thresholds import DRAWS, ThresholdCut

#: Measures at the top of the page, those that there are; the others are folded.
FIRST = ("recovered-auc", "recovered-recall", "recovered-precision", "pauc")


@dataclass(frozen=True)
class Evaluation:
    """A report card."""

    name: str
    rows: Mapping[str, int]
    """counts"""
    scheme: str
    purity: float
    belief: Belief
    estimates: tuple[EstimatedPrior, ...]
    measures: Mapping[str, Measured]
    decision: ThresholdCut
    """what lies above the threshold"""
    budgets: tuple[ThresholdCut, ...]
    recalls: tuple[ThresholdCut, ...]
    curves: Mapping[str, PlottedCurve] = field(default_factory=dict)
    """raw and recovered, those that there are"""
    band: Mapping[str, tuple[float, ...]] | None = None
    comparison: Comparison | None = None
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
    by_prior: tuple[tuple[float, float, float], ...] = ()
    """(prior, low, high) number of positives of the decision for priors from half to one and a half of the one used"""

    def __getitem__(self, key: str) -> float | None:
        """The value of a measure; None where it is undefined. Raises KeyError for one that was not measured."""
        return self.measures[key].value

    @property
    def headline(self) -> str:
        """Sentence that says what to expect of the decision or, if nothing can be expected, why and what helps."""
        return headline(self)

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON holds it."""
        facts = plain_data(asdict(self)) | {"headline": self.headline}
        del facts["scar_tested"]
        return {**facts, "measures": {key: found.to_dict() for key, found in self.measures.items()}}

    def html(self) -> str:
        """A page of its own: one file that loads nothing, light and dark."""
        return page_of(self)

    def _repr_html_(self) -> str:
        return framed(self.html())

    def __repr__(self) -> str:
        values = [f"{key} {m.value:.4g}" for key, m in self.measures.items() if m.value is not None]
        more = f"; {len(self.warnings)} warnings" if self.warnings else ""
        return f"<evaluation of {self.name}: {', '.join(values[:4])}{more}>"


def page_of(card: Evaluation) -> str:
    """The whole page."""
    rows = card.rows
    facts = (
        f"{card.name}: {rows['rows']:,} rows, {rows['labeled']:,} labeled positives, {rows['unlabeled']:,} unlabeled; "
        f"{card.scheme}; {belief_line(card)}"
    )
    measures = [found for key in FIRST if (found := card.measures.get(key)) is not None and found.value is not None]
    return page_from(
        "report_card.html.j2",
        f"{card.name}: evaluation without negatives",
        _drawn(card),
        facts=facts,
        headline=headline(card),
        verdict=verdict(card.comparison),
        warnings=card.warnings,
        reviews=reviews_table(card),
        how=HOW,
        first=[(found.name, *shown_value(found), assumed(found)) for found in measures[:3]],
        measures=measures_table(card, on_page=True),
        models=models_table(card.comparison),
        comparison=card.comparison,
        recovered="recovered-roc" in card.curves,
        estimates=estimates_table(card.estimates),
        summary=summary(card.estimates) if card.estimates else "",
        rule=RULE,
        notes=card.notes,
    )


# -------------------------------------------------------------------- sentences that the terminal prints, too


def belief_line(card: Evaluation) -> str:
    """Line about the assumed prior."""
    belief = card.belief
    if belief.prior is None:
        return "no prior given"
    where = "" if belief.interval is None else f" (between {belief.interval[0]:.3g} and {belief.interval[1]:.3g})"
    return f"class prior {belief.prior:.3g}{where}, {belief.source}; share of positives in U {belief.share:.3g}"


def headline(card: Evaluation) -> str:
    """Sentence about the rows above the threshold: how many are positive, or why nobody can say and what helps."""
    return " ".join(part for part in (_expected(card), card.checked) if part)


def _expected(card: Evaluation) -> str:
    """The headline as far as it follows from labeled rows and the prior."""
    cut, what = card.decision, _reviewed(card)
    if card.contradictions:
        beyond = any(one.contradicted for one in (cut, *card.budgets, *card.recalls))
        chance = ", or nearly all of them are positive and it is chance" if cut.infeasible else ", or it is chance"
        return (
            f"{what}: no number of positives can be given. {card.contradictions[0]}. Labeled rows score higher than "
            f"other positives (labels are not SCAR), or the prior is too large{'' if beyond else chance}. "
            f"{'' if card.checked else 'Sixty rows that a person checks settle it: pubench audit.'}"
        ).rstrip()
    if cut.expected is not None and cut.expected_interval is not None:
        low, high = cut.expected_interval
        about = f" (about {cut.expected:,.0f})" if card.scar_tested else ""
        untested = "" if card.scar_tested else "; SCAR is not tested here"
        count = f"expect {low:,.0f} to {high:,.0f} positives{about}"
        return f"{what}: {count}, {found_of(cut)}, if labels are SCAR and the prior is right{untested}."
    if cut.recall is not None:
        return f"{what}: {found_of(cut)}, if labels are SCAR. How many positives to expect there needs a prior."
    return f"{what}. What to expect there needs a prior."


def _reviewed(card: Evaluation) -> str:
    """Which rows the headline is about, of how many, and from which ones that is known."""
    cut, n_all = card.decision, card.rows.get("all_unlabeled", card.rows["unlabeled"])
    if cut.budget is not None:
        what = f"Review the top {cut.budget:,} of {n_all:,} unlabeled rows"
        if cut.tied is not None:
            what += f" (a random {cut.tied[0]:,} of {cut.tied[1]:,} with the same score among them)"
    elif cut.target is not None:
        what = f"To find {100 * cut.target:g} % of the positives, review the {cut.all_rows:,} of {n_all:,} unlabeled "
        what += f"rows above {cut.threshold:.4g}"
    else:
        what = f"Review the {cut.all_rows:,} of {n_all:,} unlabeled rows above the threshold {cut.threshold:.4g}"
    if n_all == card.rows["unlabeled"]:
        return what
    return f"{what} (estimated from {cut.rows:,} of {card.rows['unlabeled']:,} that were held out of training)"


def count_of(cut: ThresholdCut) -> str:
    """How many positives to expect above a threshold; a word if there cannot be as many as the prior implies.

    Empty if the prior is unknown, or contradicted by another part of the card.
    """
    if cut.contradicted or cut.infeasible:
        return "contradicted" if cut.contradicted else "infeasible"
    if cut.expected_interval is None:
        return ""
    low, high = cut.expected_interval
    return f"{low:,.0f} to {high:,.0f}"


def found_of(cut: ThresholdCut) -> str:
    """Which share of the positives lies above a threshold."""
    if cut.recall_interval is None:
        return "share of the positives found unknown"
    return f"{between(cut.recall_interval, percent=True)} of all positives"


def assumed(measured: Measured | Difference) -> str:
    """Assumptions of a measure, in words."""
    if measured.oracle:
        return "true labels"
    return ", ".join("the prior" if name == "prior" else name for name in measured.assumes) or "neither prior nor SCAR"


# -------------------------------------------------------------------- content of the page

HOW = (
    f"95 % intervals: percentiles of {DRAWS:,} draws. The share of positives above the threshold comes from the "
    "labeled rows there (Jeffreys posterior), the prior from its interval; the number of positives is binomial. They "
    "hold under SCAR, and if the prior is right. Infeasible: the prior and the labeled rows imply more positives than "
    "there are rows. Contradicted: chance does not explain that."
)


def review_drawn(card: Evaluation) -> dict[str, Any]:
    """The figure of positives found against rows reviewed."""
    cuts = (card.decision, *card.budgets, *card.recalls)
    found = sorted({(cut.all_rows, *cut.expected_interval) for cut in cuts if cut.expected_interval is not None})
    return {"review": {"cuts": found, "share": card.belief.share, "reviewed": card.decision.all_rows}}


def _drawn(card: Evaluation) -> dict[str, Any]:
    """What ``report_card.js`` draws."""
    curves = {name: list(zip(curve.x, curve.y, strict=True)) for name, curve in card.curves.items()}
    band = [] if card.band is None else list(zip(*(card.band[name] for name in ("fpr", "low", "high")), strict=True))
    believed = None if card.belief.prior is None else ("used here", card.belief.prior, card.belief.interval)
    return {
        **review_drawn(card),
        "curves": curves,
        "band": band,
        "histogram": {**card.histogram, "threshold": card.decision.threshold},
        "by_prior": card.by_prior,
        "priors": spans_of(card.estimates, believed),
    }


def reviews_table(card: Evaluation) -> RenderedTable:
    """How many positives a review of so many rows would find."""
    rows = [
        [
            f"the top {cut.budget:,}" if cut.budget else f"for {100 * (cut.target or 0):g} % recall",
            f"{cut.all_rows:,}",
            count_of(cut) or ("" if card.contradictions else "needs a prior"),
            between(cut.recall_interval, percent=True) or "needs a prior",
            f"{cut.threshold:.4g}",
        ]
        for cut in (*card.budgets, *card.recalls)
    ]
    head = ("review", "rows", "positives, if SCAR", "of all positives, if SCAR", "threshold")
    return RenderedTable.of(head, rows, ranks={3: 1, 4: 2})


def shown_value(found: Measured, digits: int = 3) -> tuple[str, str]:
    """A value and its interval as text; no number of one that cannot be, which is cut to what can."""
    if found.infeasible:
        return "infeasible", ""
    return "" if found.value is None else f"{found.value:.{digits}f}", between(found.interval)


def measures_table(card: Evaluation, *, on_page: bool = False) -> RenderedTable:
    """Every measure by its key, on a page in words, and what it assumes."""
    rows = [
        [
            f"{found.name}: {found.summary}" if on_page else key,
            *shown_value(found, 3 if on_page else 4),
            assumed(found),
            found.note,
        ]
        for key, found in card.measures.items()
    ]
    head = ("measure", "value", "95 % interval", "assumes", "note")
    return RenderedTable.of(head, rows, texts=(3, 4), wraps=(3, 4), ranks={4: 1})


def verdict(comparison: Comparison | None) -> str:
    """Sentence that says which of two models is better, and by how many measures; empty for one model."""
    if comparison is None:
        return ""
    first, second = comparison.names
    better = [found.better for found in comparison.differences]
    counts = {name: better.count(side) for name, side in ((first, "first"), (second, "second"))}
    if not any(counts.values()):
        return f"{first} and {second} cannot be told apart by any of {len(better)} measures."
    return "; ".join(f"{name} is better by {n} of {len(better)} measures" for name, n in counts.items() if n) + "."


def models_table(comparison: Comparison | None) -> RenderedTable | None:
    """Every measure of two models, the first and the second."""
    if comparison is None:
        return None
    rows = [
        [
            found.key,
            *("" if value is None else f"{value:.4f}" for value in (found.first, found.second)),
            between(found.interval),
            found.better or "not shown",
            assumed(found),
        ]
        for found in comparison.differences
    ]
    head = ("measure", "first", "second", "second - first, 95 %", "better", "assumes")
    return RenderedTable.of(head, rows, texts=(4, 5), wraps=(5,), ranks={5: 1})
