"""An answer and its sentences: what the terminal and the page show, the answer first."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pubench_report.rendering import RenderedTable
from pubench_study.durations import duration

from pubench_core.results import plain_data

from ..audit.statistics import ScarTest
from ..belief import Belief, Interval, in_short
from ..evaluation import Evaluation
from ..page import Part, Report
from ..prior import PriorEstimates
from .choice import DEFAULT, TAUGHT, Audited, Fit
from .look import Look

if TYPE_CHECKING:
    from pandas import DataFrame

#: Changes if the meaning of a field of ``answer.json`` changes.
VERSION = 5
#: Rows of a sheet.
SHEET = 60


@dataclass(frozen=True)
class Promise:
    """Positives among the ``budget`` highest unlabeled rows."""

    budget: int
    low: int
    high: int
    by: str
    """what the range rests on"""


@dataclass(frozen=True, repr=False)
class Advice(Report):
    """Answer of :func:`pubench.advise`, with its page; a notebook shows the page."""

    folder: Path
    """holds the page, ranked rows, the sheet to check and the model"""
    goal: str
    look: Look
    scheme: str
    scar: ScarTest
    prior: Belief
    estimates: PriorEstimates | None
    estimated: Interval | None
    """the range of the estimators, which an answer without checked rows asked"""
    given: Interval | None
    """the prior as the user gave it"""
    answer: str
    """name of the method"""
    fits: tuple[Fit, ...]
    """bagged trees first, then the methods that checked rows compare with them"""
    promise: Promise
    card: Evaluation | None
    """None before labeled rows have scores"""
    audited: Audited | None
    warnings: tuple[str, ...]
    seconds: float
    model: str
    sheet: str | None

    template = "advice.html.j2"

    def ranked(self) -> DataFrame:
        """All unlabeled rows, the likeliest positive first: rank, row, what names it, score, decision, checked."""
        import pandas as pd

        return pd.read_csv(self.folder / "ranked.csv")

    def to_dict(self) -> dict[str, Any]:
        """Everything, as ``answer.json`` holds it."""
        same = ("answer", "headline", "goal", "given", "estimated", "scheme", "model", "sheet", "warnings")
        return {
            "version": VERSION,
            **plain_data({name: getattr(self, name) for name in same}),
            **{
                name: plain_data(asdict(getattr(self, name)))
                for name in ("promise", "prior", "estimates")
                if getattr(self, name) is not None
            },
            "scar": {**plain_data(asdict(self.scar)), "verdict": self.scar.verdict, "sentence": self.scar.sentence},
            "table": plain_data(asdict(self.look)),
            "methods": [
                {
                    "name": fit.candidate.name,
                    "method": fit.candidate.method,
                    "seconds": round(fit.seconds, 2),
                    "checked": None if fit.checked is None else plain_data(asdict(fit.checked)),
                    "not_fitted": fit.reason,
                }
                for fit in self.fits
            ],
            "audited": None if self.audited is None else self.audited.result.to_dict(),
            "filled": None if self.audited is None else str(self.audited.sheet.absolute()),
            "seconds": round(self.seconds, 1),
        }

    def figures(self) -> dict[str, Any]:
        """Figures of the page."""
        return {} if self.card is None else self.card.figures()

    def parts(self) -> list[Part]:
        """Lines and tables for a terminal: the answer, what to know first, the methods, and where everything is."""
        said: list[Part] = [self.headline, *(f"warning: {line}" for line in self.warnings), ""]
        said += [f"prior: {self.prior_line}", self.scar.sentence, self.choice]
        said += [""] if self.audited is None else [self.audited.result.more, ""]
        if self.fits[1:]:
            said += [self.methods, ""]
        if self.sheet is not None:
            said += [f"rows to check: {self.sheet}; then the same command with --audited {self.sheet}", self.why_these]
        said += [f"ranked rows: {self.folder / 'ranked.csv'}", f"page: {self.folder / 'advice.html'}"]
        return [*said, f"new rows: pubench predict {self.model} new.csv", f"{duration(self.seconds)} in all"]

    # ---------------------------------------------------------------- sentences

    @property
    def title(self) -> str:
        """Title of the page."""
        return f"Advice on {self.look.name}"

    @property
    def headline(self) -> str:
        """The method, what its highest rows hold, and the rows to check: at most 25 words."""
        promise, top = self.promise, f"the top {self.promise.budget:,}"
        checked, on = promise.by == "checked rows", ", if labels are SCAR (untested)"
        if checked:
            on = ", by the checked rows" if self.taught is None else ""
        check = "" if self.sheet is None else f"check the {SHEET} rows of {Path(self.sheet).name}"
        said = f"How many of {top} are positive cannot be said{f' yet: {check}' if check else ''}."
        narrow = promise.high - promise.low <= promise.budget / 2  # a wider range leaves out less than half
        if narrow and (checked or self.scar.verdict != "contradicted"):
            said = f"Of {top}, {promise.low:,} to {promise.high:,} are positive{on}{f'; {check}' if check else ''}."
        return f"Use {self.answer}. {said}"

    @property
    def prior_line(self) -> str:
        """Where the prior lies, and who says so."""
        scar = ", as if labels were a random draw of the positives" if self.prior.estimated else ""
        line = f"{in_short(self.prior.interval)} ({self.prior.source}{scar})"
        if self.audited is None:
            return line
        checked, said = self.audited.result.prior, [] if self.given is None else [line]
        said.append(f"{checked.value:.3g} by the checked rows ({in_short(checked.interval)})")
        if self.estimated is not None:
            said.append(f"{in_short(self.estimated)} by estimators, if labels were a random draw of the positives")
        return "; ".join(said)

    @property
    def why_these(self) -> str:
        """Purpose of the rows of the sheet."""
        n = self.promise.budget
        return f"{min(SHEET // 2, n)} of them measure the top {n:,}; all measure the prior and train the answer."

    @property
    def taught(self) -> Fit | None:
        """The answer, if it trained on the checked rows."""
        return next((fit for fit in self.fits if fit.candidate.name == self.answer and fit.candidate.taught), None)

    @property
    def choice(self) -> str:
        """Why it is this method, and what training on checked rows did."""
        method, others = self.answer.removesuffix(TAUGHT), [fit for fit in self.fits[1:] if not fit.candidate.taught]
        if not others:
            return f"{method}: of all constant choices it loses least. Checked rows can change it."
        why = (
            "the checked rows show no method that is better" if method == DEFAULT.name else "the checked rows chose it"
        )
        if all(fit.checked is None for fit in others):
            why = "no other method was compared, as too few rows of one class are checked or the time was up"
        changed = self.taught and self.taught.checked
        said = f" Over bagged trees that do not know the checked rows, its AUC changes by {changed}." if changed else ""
        return f"{method}: {why}.{said}"

    # ---------------------------------------------------------------- tables

    @property
    def methods(self) -> RenderedTable:
        """Every method by checked rows, and why some were not fitted; empty for bagged trees alone."""
        rows = [
            [
                fit.candidate.name,
                *((f"not fitted: {fit.reason}", "") if fit.reason else (str(fit.checked or ""), duration(fit.seconds))),
            ]
            for fit in sorted(self.fits if self.fits[1:] else (), key=lambda fit: bool(fit.reason))
        ]
        head = ("method", "AUC by checked rows minus bagged trees, 95 %", "time")
        return RenderedTable.of(head, rows, texts=(1,), wraps=(0, 1))
