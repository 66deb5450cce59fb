"""A report card: its sentences and tables, which the terminal and a page in the style of the board share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from pubench_report.rendering import RenderedTable

from pubench_core.results import plain_data

from .belief import Belief
from .measures import Measured, PlottedCurve
from .page import Part, Report, between
from .thresholds import DRAWS, ThresholdCut

HOW = (
    f"95 % intervals: percentiles of {DRAWS:,} draws. The share of positives above the threshold comes from the "
    "labeled rows there (Jeffreys posterior), the prior from its interval; the number of positives is binomial. They "
    "hold under SCAR, and if the prior is right. Infeasible: the prior and the labeled rows imply more positives than "
    "there are rows. Contradicted: chance does not explain that."
)


@dataclass(frozen=True)
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
    how = HOW

    def __getitem__(self, key: str) -> float | None:
        """The value of a measure; None where it is undefined. Raises KeyError for one that was not measured."""
        return self.measures[key].value

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON holds it."""
        facts = plain_data(asdict(self)) | {"headline": self.headline}
        del facts["scar_tested"]
        return {**facts, "measures": {key: found.to_dict() for key, found in self.measures.items()}}

    def __repr__(self) -> str:
        values = [f"{key} {m.value:.4g}" for key, m in self.measures.items() if m.value is not None]
        more = f"; {len(self.warnings)} warnings" if self.warnings else ""
        return f"<evaluation of {self.name}: {', '.join(values[:4])}{more}>"

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

    def review_figure(self) -> dict[str, Any]:
        """The figure of positives found against rows reviewed."""
        cuts = (self.decision, *self.budgets, *self.recalls)
        found = sorted({(cut.all_rows, *cut.expected_interval) for cut in cuts if cut.expected_interval is not None})
        return {"review": {"cuts": found, "share": self.belief.share, "reviewed": self.decision.all_rows}}

    def figures(self) -> dict[str, Any]:
        """Figures of the page."""
        band = () if self.band is None else zip(*(self.band[name] for name in ("fpr", "low", "high")), strict=True)
        return {
            **self.review_figure(),
            "curves": {name: list(zip(curve.x, curve.y, strict=True)) for name, curve in self.curves.items()},
            "band": list(band),
            "histogram": {**self.histogram, "threshold": self.decision.threshold},
        }


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
