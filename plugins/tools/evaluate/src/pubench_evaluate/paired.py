"""Two models on the same rows: paired differences, and whether measures that assume different things agree on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pubench_core.errors import RequestError
from pubench_core.metric import Knowledge, Measurer, MetricPlugin, Scored
from pubench_core.plugins.info import MetricInfo
from pubench_core.results import Measure

from .resampling import COMPARED, Resampling, interval_of, resampled
from .scored_rows import ScoredRows, scored_rows
from .thresholds import Cuts, ThresholdCut

#: Oracle metrics by which two models are compared where the truth is known.
_COMPARED_ORACLE = ("auc", "f1")


@dataclass(frozen=True)
class Difference:
    """One metric of two models on the same rows.

    ``first``, ``second``: its values; ``interval``: of second minus first, paired percentile bootstrap. ``better``:
    ``first`` or ``second`` where the interval excludes 0; empty where it does not, or there is none.
    """

    key: str
    name: str
    assumes: tuple[str, ...]
    oracle: bool
    first: float | None
    second: float | None
    interval: tuple[float, float] | None = None
    better: str = ""
    undefined: str = ""
    higher_is_better: bool = True

    @property
    def leans_to(self) -> str:
        """Which has the better value, whether or not that may be chance; empty where they are equal."""
        if self.first is None or self.second is None or self.first == self.second:
            return ""
        return "second" if (self.second > self.first) == self.higher_is_better else "first"


@dataclass(frozen=True)
class Comparison:
    """Two models on the same rows. ``warnings``: where measures contradict each other, in words."""

    names: tuple[str, str]
    differences: tuple[Difference, ...]
    resamples: int
    warnings: tuple[str, ...]


def other_model(rows: ScoredRows, scores: Any) -> ScoredRows:
    """The same rows with the scores of another model."""
    if np.shape(scores) != rows.scores.shape:
        raise RequestError(
            f"compare: expected {len(rows.scores)} scores, of the same rows in the same order; given shape "
            f"{np.shape(scores)}",
            field="compare",
        )
    try:
        return replace(rows, scores=scored_rows(scores, rows.labeled).scores)
    except RequestError as error:
        raise RequestError(f"compare: {error}", field="compare") from None


def compared(
    names: tuple[str, str],
    rows: ScoredRows,
    other: ScoredRows,
    known: Knowledge,
    metrics: Mapping[str, MetricPlugin],
    cuts: Cuts,
    decision: ThresholdCut,
    drawn: Resampling,
) -> Comparison:
    """Paired: both models on the same resampled rows; the other model's threshold is made as the first one's was."""
    wanted = (*COMPARED, *(_COMPARED_ORACLE if rows.scheme != "two-sample" else ()))
    chosen = {key: metrics[key] for key in wanted if key in metrics and metrics[key].fits(known)}
    made_for = {"budget": decision.budget, "recall": decision.target}
    given = decision.threshold if decision.budget is None and decision.target is None else None
    there = replace(cuts, rows=other).chosen(given, **made_for)  # type: ignore[arg-type]
    models = [(rows.scores, known), (other.scores, replace(known, threshold=there.threshold))]
    measurer = Measurer(chosen)
    plain_models = [(s, replace(k, thorough=False)) for s, k in models]
    of_each = [{key: measurer.measure(key, Scored.of(s, k)) for key in chosen} for s, k in plain_models]
    defined = {key: chosen[key] for key in chosen if all(one[key].value is not None for one in of_each)}
    values = resampled(plain_models, rows, defined, drawn)
    intervals = {key: interval_of(values[:, 1, k] - values[:, 0, k]) for k, key in enumerate(defined)}
    differences = tuple(
        _difference(chosen[key].info, of_each[0][key], of_each[1][key], intervals.get(key)) for key in chosen
    )
    return Comparison(names, differences, drawn.times, tuple(_contradictions(names, differences)))


def _difference(info: MetricInfo, first: Measure, second: Measure, interval: tuple[float, float] | None) -> Difference:
    better = ""
    if interval is not None and not interval[0] <= 0 <= interval[1]:
        better = "second" if (interval[0] > 0) == info.higher_is_better else "first"
    return Difference(
        key=info.key,
        name=info.name,
        assumes=tuple(sorted(info.assumes)),
        oracle=info.oracle,
        first=first.value,
        second=second.value,
        interval=interval,
        better=better,
        undefined=first.undefined or second.undefined,
        higher_is_better=info.higher_is_better,
    )


def _contradictions(names: tuple[str, str], differences: Sequence[Difference]) -> list[str]:
    """Where measures that need SCAR and those that do not name different models as the better one."""
    needing = [d for d in differences if "SCAR" in d.assumes and not d.oracle and d.leans_to]
    others = [d for d in differences if "SCAR" not in d.assumes and not d.oracle and d.leans_to]
    said = []
    for other in others:
        against = [d for d in needing if d.leans_to != other.leans_to]
        if not against:
            continue
        best = names[0] if against[0].leans_to == "first" else names[1]
        rest = names[0] if other.leans_to == "first" else names[1]
        sure = other.better and any(d.better for d in against)
        chance = "" if sure else "; at least one of these differences may be chance"
        keys = ", ".join(d.key for d in against)
        said.append(
            f"measures that need SCAR ({keys}) put {best} first, {other.key}, which does not, {rest}{chance}; "
            "if labeled positives are not a random draw of all positives, do not choose by the former: audit some rows"
        )
    return said
