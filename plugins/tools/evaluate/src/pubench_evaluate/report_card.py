"""A report card as one HTML file in the style of the board, and its sentences, which the terminal prints as well."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from pubench_report.rendering import RenderedTable

from pubench_core.results import plain_data

from .estimates import RULE, EstimatedPrior, summary
from .facts import CardFacts, PriorFindings
from .measuring import Measured
from .paired import Comparison, Difference
from .thresholds import DRAWS, ThresholdCut

#: Measures at the top of the page, those that there are; the others are folded.
FIRST = ("recovered-auc", "recovered-recall", "recovered-precision", "pauc")


def page_of(card: CardFacts) -> str:
    """The whole page."""
    rows = card.rows
    facts = (
        f"{card.name}: {rows['rows']:,} rows, {rows['labeled']:,} labeled positives, {rows['unlabeled']:,} unlabeled; "
        f"{card.scheme}; {belief_line(card)}"
    )
    measures = [found for key in FIRST if (found := card.measures.get(key)) is not None and found.value is not None]
    return _rendered(
        "report_card.html.j2",
        f"{card.name}: evaluation without negatives",
        _drawn(card),
        facts=facts,
        headline=headline(card),
        verdict=verdict(card.comparison),
        warnings=card.warnings,
        reviews=_reviews(card),
        how=_HOW,
        first=[(found.name, *shown_value(found), assumed(found)) for found in measures[:3]],
        measures=_measures(card),
        models=_two_models(card.comparison),
        resamples=0 if card.comparison is None else card.comparison.resamples,
        recovered="recovered-roc" in card.curves,
        estimates=_estimates(card.estimates),
        summary=summary(card.estimates) if card.estimates else "",
        rule=RULE,
        notes=card.notes,
    )


def page_of_priors(found: PriorFindings) -> str:
    """A page of the estimators alone."""
    facts = f"{found.rows:,} rows, {found.labeled:,} labeled; {found.scheme}; {found.read}"
    believed = None if found.true is None else ("true", found.true, None)
    return _rendered(
        "priors.html.j2",
        f"Class prior of {found.name}",
        {"priors": _spans(found.estimates, believed)},
        facts=facts,
        warnings=found.warnings,
        estimates=_estimates(found.estimates),
        summary=summary(found.estimates) if found.estimates else "",
        rule=RULE,
    )


def framed(page: str) -> str:
    """A page inside of another one (a notebook), which its styles must not change."""
    return f'<iframe srcdoc="{escape(page, quote=True)}" style="width:100%;height:900px;border:0"></iframe>'


def _rendered(template: str, title: str, drawn: dict[str, Any], **given: Any) -> str:
    from pubench_report.pages.template import rendered, script_json  # jinja2: only if a page is written

    scripts = ("report_card.js",)
    return rendered(template, title, scripts, __package__ or "", drawn=script_json(plain_data(drawn)), **given)


# -------------------------------------------------------------------- sentences that the terminal prints, too


def belief_line(card: CardFacts) -> str:
    """Line about the assumed prior."""
    belief = card.belief
    if belief.prior is None:
        return "no prior given"
    where = "" if belief.interval is None else f" (between {belief.interval[0]:.3g} and {belief.interval[1]:.3g})"
    return f"class prior {belief.prior:.3g}{where}, {belief.source}; share of positives in U {belief.share:.3g}"


def headline(card: CardFacts) -> str:
    """Sentence about the rows above the threshold: how many are positive, or why nobody can say and what helps."""
    return " ".join(part for part in (_expected(card), card.checked) if part)


def _expected(card: CardFacts) -> str:
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


def _reviewed(card: CardFacts) -> str:
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


def between(interval: tuple[float, float] | None, *, percent: bool = False) -> str:
    """An interval in words; empty if there is none.

    >>> between((0.25, 0.5)), between((0.25, 0.5), percent=True)
    ('0.250 to 0.500', '25 to 50 %')
    """
    if interval is None:
        return ""
    low, high = interval
    return f"{100 * low:.0f} to {100 * high:.0f} %" if percent else f"{low:.3f} to {high:.3f}"


def assumed(measured: Measured | Difference) -> str:
    """Assumptions of a measure, in words."""
    if measured.oracle:
        return "true labels"
    return ", ".join("the prior" if name == "prior" else name for name in measured.assumes) or "neither prior nor SCAR"


# -------------------------------------------------------------------- content of the page

_HOW = (
    f"95 % intervals: percentiles of {DRAWS:,} draws. The share of positives above the threshold comes from the "
    "labeled rows there (Jeffreys posterior), the prior from its interval; the number of positives is binomial. They "
    "hold under SCAR, and if the prior is right. Infeasible: the prior and the labeled rows imply more positives than "
    "there are rows. Contradicted: chance does not explain that."
)


def _drawn(card: CardFacts) -> dict[str, Any]:
    """What ``report_card.js`` draws."""
    found = sorted(
        {
            (cut.all_rows, *cut.expected_interval)
            for cut in (card.decision, *card.budgets, *card.recalls)
            if cut.expected_interval is not None
        }
    )
    curves = {name: list(zip(curve.x, curve.y, strict=True)) for name, curve in card.curves.items()}
    band = [] if card.band is None else list(zip(*(card.band[name] for name in ("fpr", "low", "high")), strict=True))
    believed = None if card.belief.prior is None else ("used here", card.belief.prior, card.belief.interval)
    return {
        "review": {"cuts": found, "share": card.belief.share, "reviewed": card.decision.all_rows},
        "curves": curves,
        "band": band,
        "histogram": {**card.histogram, "threshold": card.decision.threshold},
        "by_prior": card.by_prior,
        "priors": _spans(card.estimates, believed),
    }


def _spans(
    estimates: Sequence[EstimatedPrior], believed: tuple[str, float, tuple[float, float] | None] | None
) -> list[tuple[str, float, tuple[float, float] | None, bool]]:
    """π by each estimator with its interval, and what is believed."""
    found = [(one.name, one.prior, one.prior_interval, False) for one in estimates if one.prior is not None]
    return found if believed is None else [*found, (*believed, True)]


def _reviews(card: CardFacts) -> RenderedTable:
    rows = [
        [
            f"the top {cut.budget:,}"
            if cut.budget
            else f"for {100 * (cut.target or 0):g} % recall: {cut.all_rows:,} rows",
            count_of(cut) or ("" if card.contradictions else "needs a prior"),
            between(cut.recall_interval, percent=True) or "needs a prior",
            f"{cut.threshold:.4g}",
        ]
        for cut in (*card.budgets, *card.recalls)
    ]
    return RenderedTable.of(("review", "positives, if SCAR", "of all positives, if SCAR", "threshold"), rows)


def shown_value(found: Measured, digits: int = 3) -> tuple[str, str]:
    """A value and its interval as text; no number of one that cannot be, which is cut to what can."""
    if found.infeasible:
        return "infeasible", ""
    return "" if found.value is None else f"{found.value:.{digits}f}", between(found.interval)


def _measures(card: CardFacts) -> RenderedTable:
    rows = [
        [f"{found.name}: {found.summary}", *shown_value(found), assumed(found), found.note]
        for found in card.measures.values()
    ]
    return RenderedTable.of(("measure", "value", "95 % interval", "assumes", "note"), rows, texts=(3, 4))


def _estimates(estimates: Sequence[EstimatedPrior]) -> RenderedTable:
    """Each estimator's prior, and why some are left out."""
    rows = [
        [
            found.name,
            "" if found.prior is None else f"{found.prior:.3f}",
            between(found.prior_interval),
            f"no: {found.left_out}" if found.left_out else "yes",
            found.note,
        ]
        for found in estimates
    ]
    return RenderedTable.of(("estimator", "prior", "95 % interval", "in the range", "note"), rows, texts=(3, 4))


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


def _two_models(comparison: Comparison | None) -> RenderedTable | None:
    if comparison is None:
        return None
    first, second = comparison.names
    rows = []
    for found in comparison.differences:
        better = {"first": first, "second": second}.get(found.better, "not shown")
        values = ["" if v is None else f"{v:.3f}" for v in (found.first, found.second)]
        rows.append([found.name, *values, between(found.interval), better, assumed(found)])
    return RenderedTable.of(("measure", first, second, "difference, 95 %", "better", "assumes"), rows, texts=(4, 5))
