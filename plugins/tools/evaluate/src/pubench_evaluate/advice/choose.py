"""The goal of an answer, and its rule: bagged trees, unless rows that a person checked speak for another method.

Held-out labeled positives (PAUC, spies) do not choose. Where labels are not SCAR they prefer the method that finds
what looks like the labeled rows, and cost more than they gain: ``docs/pages/advice.md`` has the measurement.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pubench_core.errors import RequestError, shown

from .evidence import OverBagging

#: How sure checked rows must be that another method is better. Fixed by ``benchmarks/studies/advice_regret.py`` on the
#: half of the sources that it names, judged on the other half.
SURE = 0.8
#: Methods whose interval of the difference to the answer reaches this close are not shown to be worse.
ALIKE = 0.01


@dataclass(frozen=True)
class ChosenMethod:
    """``answer``: name of the method; ``alike``: those not shown to be worse, the answer first.

    ``by``: ``default`` or ``checked rows``.
    """

    answer: str
    alike: tuple[str, ...]
    by: str


def choose(
    default: str, held_out: Mapping[str, OverBagging], checked: Mapping[str, OverBagging | None], sure: float = SURE
) -> ChosenMethod:
    """The answer. ``held_out``, ``checked``: name -> difference to ``default`` by labeled positives, by checked rows.

    ``default`` itself is in neither.
    """
    compared = {name: found for name, found in checked.items() if found is not None}
    best = max(compared, key=lambda name: compared[name].better, default=None)
    answer, by = default, "default"
    if best is not None and compared[best].better >= sure:
        answer, by = best, "checked rows"
    evidence = compared or held_out
    alike = [name for name, found in evidence.items() if name != answer and _reaches(evidence, name, answer)]
    if answer != default and evidence[answer].interval[0] <= ALIKE:
        alike.insert(0, default)
    return ChosenMethod(answer, (answer, *alike), by)


def _reaches(evidence: Mapping[str, OverBagging], name: str, answer: str) -> bool:
    """Whether a method may be within :data:`ALIKE` of the answer; both are known by their difference to the default."""
    of_answer = evidence[answer].difference if answer in evidence else 0.0
    return evidence[name].interval[1] - of_answer >= -ALIKE


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
