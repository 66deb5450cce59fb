"""The page of an answer in the style of the board: one file, the answer first, then the seven steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pubench_report.rendering import RenderedTable
from pubench_study.durations import duration

from pubench_core.results import plain_data

from ..report_card import framed
from .facts import AdviceFacts, Compared

if TYPE_CHECKING:
    from .evidence import OverBagging

_HOW = (
    "Every row is scored by a model that did not see it. Held-out labeled positives say which method finds what looks "
    "like the labeled rows; they do not choose, because they mislead if labels are not a random draw (measured: "
    "docs/pages/advice.md). Only checked rows choose."
)


@dataclass(frozen=True, repr=False)
class Advice(AdviceFacts):
    """Answer of :func:`pubench.advise`, with its page; a notebook shows the page."""

    def html(self) -> str:
        """The page: one file without scripts."""
        return page_of(self)

    def _repr_html_(self) -> str:
        return framed(self.html())


def page_of(advice: AdviceFacts) -> str:
    """The whole page."""
    from pubench_report.pages.template import rendered, script_json  # jinja2: only when a page is written

    look, prior = advice.look, advice.prior
    ends = ", ".join(
        f"{name} end of the prior: score at least {value:.4f}" for name, value in advice.thresholds.items()
    )
    return rendered(
        "advice.html.j2",
        f"Advice on {look.name}",
        ("advice.js",),
        "pubench_evaluate",
        facts=f"Advice on {look.name}: {look.rows:,} rows, {look.labeled:,} labeled positive, {look.unlabeled:,} "
        f"unlabeled, {look.features:,} features; goal {advice.goal}; {duration(advice.seconds)}",
        headline=advice.headline,
        warnings=advice.warnings,
        before=_before(advice),
        model=advice.model,
        sheet=advice.sheet if advice.audited is None else None,
        notes=look.notes,
        labeling=_labeling(advice),
        prior=(
            f"The share of positives in the population is {between(prior.interval)} ({prior.source}"
            f"{', which assumes that labels are a random draw of the positives' if prior.assumes_scar else ''})."
            if prior.interval is not None
            else f"Nothing is known of the share of positives ({prior.source}). Give --prior LOW..HIGH, or check rows."
        ),
        estimators=_estimators(advice),
        estimated="" if prior.estimated is None else prior.estimated.summary,
        methods=_methods(advice.compared),
        how=_HOW,
        not_fitted=[f"{one.candidate.name}: {one.reason}" for one in advice.not_fitted],
        answer=_answer(advice),
        cuts=_cuts(advice),
        ends=f"To decide: {ends}. Column decision of ranked.csv is of the middle." if ends else "",
        drawn=script_json(plain_data({"found": _found(advice), "differences": _differences(advice.compared)})),
    )


# -------------------------------------------------------------------- what advice.js draws


def _found(advice: AdviceFacts) -> dict[str, Any] | None:
    """Positives found against rows reviewed, near the budget, and what is promised there; None without a prior."""
    card, promise = advice.card, advice.promise
    if card.belief.share is None:
        return None
    cuts = [cut for cut in card.budgets if cut.all_rows and cut.all_rows <= 2.5 * promise.budget]
    band = [(cut.all_rows, *cut.expected_interval) for cut in cuts if cut.expected_interval is not None]
    return {
        "budget": promise.budget,
        "low": promise.low,
        "high": promise.high,
        "most": max([promise.budget, *(cut.all_rows for cut in cuts)]),
        "share": card.belief.share,
        "band": [(0, 0, 0), *band] if band else [],
    }


def _differences(compared: Sequence[Compared]) -> dict[str, Any]:
    """Each method's difference to bagged trees with its interval: by checked rows if there are any, else held out."""
    checked = any(one.checked is not None for one in compared)
    found = [(one.name, one.checked if checked else one.held_out) for one in compared]
    return {
        "by": "checked rows" if checked else "held-out labeled positives",
        "rows": [(name, one.difference, *one.interval) for name, one in found if one is not None],
    }


# -------------------------------------------------------------------- tables and sentences


def _before(advice: AdviceFacts) -> RenderedTable | None:
    """What checked rows changed."""
    before, promise = advice.before, advice.promise
    if before is None:
        return None
    promised = before["promise"]
    rows = [
        ["method", before["answer"], advice.answer],
        ["prior", between(before["prior"]), between(advice.prior.interval)],
        [
            "positives in the highest rows",
            f"{promised['low']:,} to {promised['high']:,} of {promised['budget']:,}",
            f"{promise.low:,} to {promise.high:,} of {promise.budget:,}",
        ],
    ]
    return RenderedTable.of(("", "before", "after"), rows, left=3)


def between(interval: Sequence[float] | None) -> str:
    """An interval in words."""
    return "unknown" if interval is None else f"{interval[0]:.3f} to {interval[1]:.3f}"


def _labeling(advice: AdviceFacts) -> tuple[str, ...]:
    if advice.scheme == "one-sample":
        taken = (
            "All rows are taken as one draw from the population, some of whose positives are labeled (one-sample): the "
            "file holds labeled and unlabeled rows together.",
            "If the unlabeled rows were drawn from everybody and the labeled ones collected elsewhere, ask with "
            "--scheme two-sample: the prior then is the share of positives among the unlabeled rows. Rankings stay.",
        )
    else:
        taken = (
            "The unlabeled rows alone are taken as a draw from the population; labeled rows come from elsewhere "
            "(two-sample).",
            "If labeled and unlabeled rows were drawn together, ask with --scheme one-sample.",
        )
    return (*taken, advice.scar.sentence)


def _estimators(advice: AdviceFacts) -> RenderedTable | None:
    estimated = advice.prior.estimated
    if estimated is None:
        return None
    rows = [
        [
            key,
            "" if value is None else f"{value:.3f}",
            "" if low is None or high is None else f"{low:.3f} to {high:.3f}",
            f"no: {why}" if why else "yes",
        ]
        for key, value, low, high, why in estimated.each
    ]
    return RenderedTable.of(("estimator (assumes SCAR)", "prior", "95 %", "counts"), rows)


def _methods(compared: Sequence[Compared]) -> RenderedTable:
    def said(found: OverBagging | None) -> str:
        return (
            "" if found is None else f"{found.difference:+.3f} ({found.interval[0]:+.3f} to {found.interval[1]:+.3f})"
        )

    checked = any(one.checked is not None for one in compared)
    head = ["method", "held-out PAUC", "difference, 95 %", "held-out positives found", "same rank", "same top"]
    head += ["AUC by checked rows: difference, 95 %"] if checked else []
    rows = [
        [
            one.name + (" (no PU method)" if one.baseline else ""),
            f"{one.pauc:.3f}",
            said(one.held_out),
            f"{100 * one.found:.0f} %",
            "" if one.agreement is None else f"{one.agreement.rank:.2f}",
            "" if one.agreement is None else f"{100 * one.agreement.top:.0f} %",
            *([said(one.checked)] if checked else []),
            f"{one.seconds:.0f}",
        ]
        for one in compared
    ]
    return RenderedTable.of((*head, "seconds"), rows)


def _answer(advice: AdviceFacts) -> list[str]:
    choice = advice.choice
    why = (
        "Checked rows chose it."
        if choice.by == "checked rows"
        else "It is the default: of all constant choices it loses least, and no criterion without checked rows does "
        "better. Checked rows can change it."
    )
    others = [name for name in choice.alike if name != choice.answer]
    return [f"{choice.answer}. {why}", *([f"Not shown to be worse: {', '.join(others)}."] if others else [])]


def _cuts(advice: AdviceFacts) -> RenderedTable:
    card, scar = advice.card, advice.scar
    doubt = "" if scar.holds else " (not tested)" if scar.status == "untested" else f" ({scar.status})"
    rows = [
        [
            f"the top {cut.budget:,}"
            if cut.budget
            else f"{100 * (cut.target or 0):g} % of positives: {cut.all_rows:,} rows",
            "no number: contradicted"
            if card.contradictions
            else "needs a prior"
            if cut.expected_interval is None
            else f"{cut.expected_interval[0]:,.0f} to {cut.expected_interval[1]:,.0f}",
            ""
            if cut.recall_interval is None
            else f"{100 * cut.recall_interval[0]:.0f} to {100 * cut.recall_interval[1]:.0f} %",
            f"{cut.threshold:.4f}",
        ]
        for cut in (*card.budgets, *card.recalls)
    ]
    head = ("review", f"positives, if SCAR{doubt}", f"of all positives, if SCAR{doubt}", "score above")
    return RenderedTable.of(head, rows)
