"""Content of an answer: the method, what it promises, and everything that it rests on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pubench_core.results import plain_data

from ..evaluation import Evaluation
from .choose import AdviceGoal, ChosenMethod
from .evidence import Agreement, Audited, OverBagging
from .fitting import NotFitted
from .labeling import Scar
from .look import Look
from .prior import Prior

if TYPE_CHECKING:
    from pandas import DataFrame

#: Changes if the meaning of a field of ``answer.json`` changes.
VERSION = 1


@dataclass(frozen=True)
class Compared:
    """A method next to bagged trees. ``found``: share of held-out labeled positives above the budget's last row.

    ``held_out``, ``checked``: differences to bagged trees; None for bagged trees themselves, and without
    checked rows.
    """

    name: str
    method: str
    baseline: bool
    seconds: float
    pauc: float
    found: float
    held_out: OverBagging | None
    agreement: Agreement | None
    checked: OverBagging | None
    prior: float | None


@dataclass(frozen=True)
class Promise:
    """Positives among the ``budget`` highest unlabeled rows. ``low``, ``high``: whatever holds of the labeling.

    ``if_scar``: the narrower interval if labels are SCAR; None if there is none. ``by``: what it rests on.
    """

    budget: int
    low: int
    high: int
    by: str
    if_scar: tuple[int, int] | None = None


@dataclass(frozen=True)
class AdviceFacts:
    """Facts of an answer. ``folder`` holds the page, ranked rows, the sheet to check and the model.

    ``headline``: the answer in sentences. ``promise``: positives among the highest rows. ``choice``: the method and
    those not shown to be worse. ``compared``: every fitted method; ``not_fitted``: the others, and why.
    ``complete``: False for a first answer, which compared nothing and has no model yet.
    """

    folder: Path
    goal: AdviceGoal
    look: Look
    scheme: str
    scar: Scar
    prior: Prior
    compared: tuple[Compared, ...]
    not_fitted: tuple[NotFitted, ...]
    choice: ChosenMethod
    promise: Promise
    card: Evaluation
    audited: Audited | None
    warnings: tuple[str, ...]
    seconds: float
    model: str | None
    sheet: str | None
    thresholds: Mapping[str, float] = field(default_factory=dict)
    before: Mapping[str, Any] | None = None
    complete: bool = True

    @property
    def answer(self) -> str:
        """Name of the method."""
        return self.choice.answer

    @property
    def headline(self) -> str:
        """The answer first, then what it promises, then what would say more."""
        return " ".join(_sentences(self))

    def ranked(self) -> DataFrame:
        """All unlabeled rows, the likeliest positive first: rank, row, what names it, score, decision, checked."""
        import pandas as pd

        return pd.read_csv(self.folder / "ranked.csv")

    def to_dict(self) -> dict[str, Any]:
        """Everything, as ``answer.json`` holds it."""
        result = None if self.audited is None else self.audited.result.to_dict()
        return {
            "version": VERSION,
            "complete": self.complete,
            "answer": self.answer,
            "headline": self.headline,
            "goal": str(self.goal),
            "alike": list(self.choice.alike),
            "chosen_by": self.choice.by,
            "promise": plain_data(asdict(self.promise)),
            "prior": plain_data(asdict(self.prior)),
            "scar": {**plain_data(asdict(self.scar)), "sentence": self.scar.sentence},
            "scheme": self.scheme,
            "table": plain_data(asdict(self.look)),
            "methods": [plain_data(asdict(one)) for one in self.compared],
            "not_fitted": [{"name": one.candidate.name, "reason": one.reason} for one in self.not_fitted],
            "thresholds": dict(self.thresholds),
            "audited": result,
            "before": self.before,
            "model": self.model,
            "sheet": self.sheet,
            "warnings": list(self.warnings),
            "seconds": round(self.seconds, 1),
        }

    def __repr__(self) -> str:
        return f"<advice on {self.look.name}: {self.answer}; {self.folder}>"


def _sentences(advice: AdviceFacts) -> Sequence[str]:
    """The headline."""
    look, choice, promise, prior = advice.look, advice.choice, advice.promise, advice.prior
    said = [_choice(advice)]
    where = f"{promise.budget:,} highest of {look.unlabeled:,} unlabeled rows"
    if promise.by == "checked rows":
        said.append(f"Of the {where}, {promise.low:,} to {promise.high:,} are positive (95 %, by checked rows).")
    elif prior.interval is None:
        said.append(f"How many of the {where} are positive cannot be said: the share of positives is unknown.")
    else:
        scar = promise.if_scar
        if advice.scar.status == "contradicted":
            narrower = "nothing narrower, as labeled rows are no random draw of the positives or the prior is wrong"
        elif scar is None:
            narrower = "nothing narrower, as scores, labels and prior do not fit together"
        else:
            tested = "which checked rows do not contradict" if advice.scar.holds else "which is not tested"
            narrower = f"{scar[0]:,} to {scar[1]:,} if labeled rows are a random draw of positives, {tested}"
        share = " to ".join(dict.fromkeys(f"{end:.3g}" for end in prior.interval))
        source = f"{prior.source} as if labeled rows were a random draw" if prior.assumes_scar else prior.source
        said.append(
            f"Of the {where}, {promise.low:,} to {promise.high:,} are positive if the prior is {share} ({source}); "
            f"{narrower}."
        )
    if advice.audited is None and advice.sheet is not None:
        said.append(f"Check the rows of {advice.sheet} and ask again with them: nothing else says more.")
    elif choice.by == "default" and advice.audited is not None:
        compared = any(one.checked is not None for one in advice.compared)
        said.append(
            "The checked rows show no method that is better."
            if compared
            else "Too few rows of one class are checked to compare methods by them."
        )
    return said


def _choice(advice: AdviceFacts) -> str:
    choice = advice.choice
    others = [name for name in choice.alike if name != choice.answer]
    if not advice.complete:
        return f"First answer: use {choice.answer}; nothing was compared with it yet."
    if choice.by == "checked rows":
        sure = next(
            one.checked.better for one in advice.compared if one.name == choice.answer and one.checked is not None
        )
        return f"Use {choice.answer}: by the checked rows it ranks better than bagged trees with {sure:.0%} certainty."
    if not advice.compared[1:]:
        return f"Use {choice.answer}; nothing else was compared."
    same = f"; {len(others)} of {len(advice.compared) - 1} others are not shown to be worse" if others else ""
    return f"Use {choice.answer}{same}."
