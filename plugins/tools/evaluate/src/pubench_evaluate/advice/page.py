"""An answer, its sentences, and its page in the style of the board: one file, the answer first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pubench_report.rendering import RenderedTable
from pubench_study.durations import duration

from pubench_core.results import plain_data

from ..estimates import estimates_table
from ..evaluation import Evaluation
from ..page import framed, page_from
from ..report_card import HOW, review_drawn, reviews_table
from .choice import DEFAULT, AdviceGoal, Audited, Compared
from .fits import NotFitted
from .look import Look
from .prior import Prior, Scar, said

if TYPE_CHECKING:
    from pandas import DataFrame

#: Changes if the meaning of a field of ``answer.json`` changes.
VERSION = 2
#: Rows of a sheet.
SHEET = 60


@dataclass(frozen=True)
class Promise:
    """Positives among the ``budget`` highest unlabeled rows."""

    budget: int
    low: int
    high: int
    by: str
    """what the range rests on; it holds whatever the labeling is"""
    if_scar: tuple[int, int] | None = None
    """the narrower range if labels are SCAR; None if there is none"""

    def says(self, ends: tuple[int, int] | None) -> bool:
        """Whether a range leaves out half of what could be, so that it is worth saying."""
        return ends is not None and ends[1] - ends[0] <= self.budget / 2


@dataclass(frozen=True, repr=False)
class Advice:
    """Answer of :func:`pubench.advise`, with its page; a notebook shows the page."""

    folder: Path
    """holds the page, ranked rows, the sheet to check and the model"""
    goal: AdviceGoal
    look: Look
    scheme: str
    scar: Scar
    prior: Prior
    given: tuple[float, float] | None
    """the prior as the user gave it"""
    answer: str
    """name of the method"""
    compared: tuple[Compared, ...]
    """every fitted method, bagged trees first"""
    not_fitted: tuple[NotFitted, ...]
    promise: Promise
    card: Evaluation
    audited: Audited | None
    warnings: tuple[str, ...]
    seconds: float
    model: str | None
    sheet: str | None
    thresholds: Mapping[str, float] = field(default_factory=dict)
    before: Mapping[str, Any] | None = None
    """prior, promise and method before rows were checked"""

    @property
    def headline(self) -> str:
        """The method, what its highest rows hold, and the rows to check: at most 25 words."""
        return " ".join(_sentences(self))

    def ranked(self) -> DataFrame:
        """All unlabeled rows, the likeliest positive first: rank, row, what names it, score, decision, checked."""
        import pandas as pd

        return pd.read_csv(self.folder / "ranked.csv")

    def to_dict(self) -> dict[str, Any]:
        """Everything, as ``answer.json`` holds it."""
        return {
            "version": VERSION,
            "answer": self.answer,
            "headline": self.headline,
            "goal": str(self.goal),
            "promise": plain_data(asdict(self.promise)),
            "prior": plain_data(asdict(self.prior)),
            "given": plain_data(self.given),
            "scar": {**plain_data(asdict(self.scar)), "sentence": self.scar.sentence},
            "scheme": self.scheme,
            "table": plain_data(asdict(self.look)),
            "methods": [plain_data(asdict(one)) for one in self.compared],
            "not_fitted": [{"name": one.candidate.name, "reason": one.reason} for one in self.not_fitted],
            "thresholds": dict(self.thresholds),
            "audited": None if self.audited is None else self.audited.result.to_dict(),
            "filled": None if self.audited is None else str(self.audited.sheet.absolute()),
            "before": self.before,
            "model": self.model,
            "sheet": self.sheet,
            "warnings": list(self.warnings),
            "seconds": round(self.seconds, 1),
        }

    def html(self) -> str:
        """The page: one file that loads nothing."""
        return _page_of(self)

    def _repr_html_(self) -> str:
        return framed(self.html())

    def __repr__(self) -> str:
        return f"<advice on {self.look.name}: {self.answer}; {self.folder}>"


# -------------------------------------------------------------------- sentences


def _sentences(advice: Advice) -> Iterator[str]:
    """The headline."""
    promise, top = advice.promise, f"the top {advice.promise.budget:,}"
    if advice.audited is not None:
        by = next((one.checked for one in advice.compared if one.name == advice.answer), None)
        yield (
            f"Use {advice.answer}."
            if by is None
            else f"Use {advice.answer}, by the checked rows ({by.better:.0%} sure)."
        )
    else:
        yield f"Use {advice.answer}."
    found, on = (promise.low, promise.high), ", if the prior is right"
    if promise.by == "checked rows":
        on = ", by the checked rows" if advice.answer == DEFAULT.name else ""
    elif advice.scar.status != "contradicted" and promise.says(promise.if_scar):
        found, on = promise.if_scar or found, " if labels are SCAR, which is untested"
    check = "" if advice.sheet is None else f"check the {SHEET} rows of {Path(advice.sheet).name}."
    if promise.says(found):
        yield f"Of {top}, {found[0]:,} to {found[1]:,} are positive{on}{f'; {check}' if check else '.'}"
    else:
        yield f"How many of {top} are positive cannot be said{f' yet: {check}' if check else '.'}"


def choice_of(advice: Advice) -> Iterator[str]:
    """Why it is this method."""
    others = len(advice.compared) - 1
    if advice.answer != DEFAULT.name:
        yield f"{advice.answer}: checked rows chose it."
    elif advice.audited is not None and others:
        known = any(one.checked is not None for one in advice.compared)
        yield (
            f"{advice.answer}: the checked rows show no method that is better."
            if known
            else f"{advice.answer}: too few rows of one class are checked to compare methods by them."
        )
    else:
        yield (
            f"{advice.answer}: of all constant choices it loses least, and no criterion without checked rows does "
            "better. Checked rows can change it."
        )


def labeling_of(advice: Advice) -> tuple[str, ...]:
    """How rows were labeled, and what can be known of it."""
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


# -------------------------------------------------------------------- the page


def _page_of(advice: Advice) -> str:
    look, prior, card = advice.look, advice.prior, advice.card
    ends = ", ".join(
        f"{name} end of the prior: score at least {value:.4f}" for name, value in advice.thresholds.items()
    )
    estimates = () if prior.estimated is None else prior.estimated.estimates
    return page_from(
        "advice.html.j2",
        f"Advice on {look.name}",
        review_drawn(card),
        facts=f"Advice on {look.name}: {look.rows:,} rows, {look.labeled:,} labeled positive, {look.unlabeled:,} "
        f"unlabeled, {look.features:,} features; goal {advice.goal}; {duration(advice.seconds)}",
        headline=advice.headline,
        warnings=advice.warnings,
        before=_before(advice),
        advice=advice,
        labeling=labeling_of(advice),
        prior=f"Share of positives in the population: {said(prior.interval)} ({prior.source}"
        f"{', as if labels were a random draw of the positives' if prior.assumes_scar and prior.interval else ''}).",
        estimates=estimates_table(estimates),
        methods=methods_table(advice),
        choice=choice_of(advice),
        reviews=reviews_table(card),
        how=HOW,
        ends=f"To decide: {ends}. Column decision of ranked.csv is of the middle." if ends else "",
    )


def _before(advice: Advice) -> RenderedTable | None:
    """What checked rows changed."""
    before, promise = advice.before, advice.promise
    if before is None:
        return None
    promised = before["promise"]
    rows = [
        ["method", before["answer"], advice.answer],
        ["prior", said(before["prior"]), said(advice.prior.interval)],
        [
            f"positives in the top {promise.budget:,}",
            f"{promised['low']:,} to {promised['high']:,} of {promised['budget']:,}",
            f"{promise.low:,} to {promise.high:,} of {promise.budget:,}",
        ],
    ]
    return RenderedTable.of(("", "before", "after"), rows, left=3)


def methods_table(advice: Advice) -> RenderedTable:
    """Every fitted method, by checked rows if there are any, and those that were not fitted; empty for one alone."""
    if not advice.compared[1:] and not advice.not_fitted:
        return RenderedTable.of((), ())
    rows = [
        [
            one.name + (" (no PU method)" if one.baseline else ""),
            str(one.checked or ""),
            f"{one.pauc:.3f}",
            duration(one.seconds),
        ]
        for one in advice.compared
    ]
    rows += [[one.candidate.name, "", "", f"not fitted: {one.reason}"] for one in advice.not_fitted]
    head = ("method", "AUC by checked rows minus bagged trees, 95 %", "held-out PAUC (does not choose)", "time")
    return RenderedTable.of(head, rows, texts=(3,), wraps=(0, 3), ranks={2: 1})
