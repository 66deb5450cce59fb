"""Purpose of an answer: a ranking, decisions, or a review of so many rows; and how long it may take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pubench_core.errors import RequestError, shown


@dataclass(frozen=True)
class AdviceGoal:
    """``budget``: how many unlabeled rows are to be reviewed; None unless that is the goal."""

    kind: Literal["rank", "classify", "review"] = "rank"
    budget: int | None = None

    def __str__(self) -> str:
        return self.kind if self.budget is None else f"{self.kind}:{self.budget}"


def goal_of(text: str) -> AdviceGoal:
    """``rank``, ``classify`` or ``review:200``. Raises RequestError for anything else."""
    kind, colon, number = text.partition(":")
    if kind in ("rank", "classify") and not colon:
        return AdviceGoal(kind)  # type: ignore[arg-type]
    if kind == "review" and number.isdecimal() and int(number) > 0:
        return AdviceGoal("review", int(number))
    raise RequestError(f"goal={shown(text)}: must be rank, classify or review:200", field="goal", value=text)
