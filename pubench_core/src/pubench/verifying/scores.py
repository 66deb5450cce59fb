"""The measures of a record, against those that its stored scores give."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pubench_core.records.files import SCORES, Arrays
from pubench_core.records.scores import MEASURED, scores_of
from pubench_core.results import Measure, Result, said_alike

from .measures import close, same

if TYPE_CHECKING:
    from pubench_core.request import Plan


def other_measures(plan: Plan, result: Result, arrays: Arrays, note: Callable[[str], None]) -> Iterator[str]:
    """Where arrays do not fit, and where they give other measures, values of criteria or warnings than the record has.

    ``note``: hears of metrics that are not installed and therefore not derived again.
    """
    from pubench_core.execution.coverage import knowledge_in
    from pubench_core.metric import Measurer
    from pubench_core.records.measures import measures_of

    shapes = list(_shapes(result, arrays))
    yield from shapes
    if shapes:
        return
    knowledge, measurer = knowledge_in(arrays, result), Measurer(plan.metrics)
    names = [name for name in result.metrics if name in plan.metrics]
    for name in result.metrics:
        if name not in plan.metrics:
            note(f"metric {name} is not installed, and its values are not derived again")
    other = {name for name in names if plan.metrics[name].code != result.metrics[name]}
    derived: dict[str, dict[str, dict[str, Measure]]] = {}
    for name, criterion in result.criteria.items():
        state = criterion.snapshot
        if criterion.undefined:
            continue
        if not state or not scores_of(arrays, state):
            yield f"{SCORES} has no scores of the epoch that {name} chose"
            continue
        if state not in derived:
            derived[state] = measures_of(scores_of(arrays, state), knowledge, names, measurer)
        yield from _apart(name, criterion.measures, derived[state], set(result.metrics) - set(names), other)
        own = derived[state].get("validation", {}).get(name)
        if name in names and name not in other and own is not None and not close(criterion.value, own.value):
            yield f"criterion {name} has the value {_said(criterion.value)}; its scores give {_said(own.value)}"
        yield from _unsaid(name, scores_of(arrays, state), criterion.warnings)


def _shapes(result: Result, arrays: Arrays) -> Iterator[str]:
    """Arrays that do not fit each other, or the counts of the record."""
    needed = ["validation_rows", "validation_labeled", *(["test_rows", "test_labels"] if result.data.test else [])]
    for name in needed:
        if name not in arrays:
            yield f"{SCORES} has no {name}"
            return
    for part in (*MEASURED, "unlabeled"):
        rows = arrays.get(f"{part}_rows")
        for name, array in arrays.items():
            if not name.startswith(f"{part}_") or name == f"{part}_rows" or rows is None:
                continue
            if array.shape[:1] != rows.shape[:1]:
                yield f"{SCORES}: {name} has {array.shape[0] if array.ndim else 0} rows, {part}_rows has {len(rows)}"
            elif array.dtype.kind == "f" and not np.isfinite(array).all():
                yield f"{SCORES}: {name} has values that are not finite"
    for name in ("test_labels", "validation_labels"):
        if name in arrays and not np.isin(arrays[name], (0, 1)).all():
            yield f"{SCORES}: {name} has other labels than 0 and 1"
            return
    test = result.data.test
    if test is not None and len(arrays["test_rows"]) != test.rows:
        yield f"{SCORES} has {len(arrays['test_rows'])} test rows, its result {test.rows}"
    elif test is not None and test.positive is not None and int((arrays["test_labels"] == 1).sum()) != test.positive:
        yield f"{SCORES} has {int((arrays['test_labels'] == 1).sum())} positive test rows, its result {test.positive}"


def _apart(
    criterion: str,
    stored: Mapping[str, Mapping[str, Measure]],
    derived: Mapping[str, Mapping[str, Measure]],
    unknown: Iterable[str],
    other: Iterable[str],
) -> Iterator[str]:
    """Stored measures that are not those of the stored scores. ``other``: metrics whose code has changed since."""
    skipped, changed = frozenset(unknown), frozenset(other)
    for part in sorted({*stored, *derived}):
        before, now = stored.get(part, {}), derived.get(part, {})
        for name in sorted({*before, *now} - skipped):
            old, new = before.get(name), now.get(name)
            if old is None or new is None or not same(old, new):
                by = " (by other code than is installed)" if name in changed else ""
                yield (
                    f"{name} on {part} rows, selected by {criterion}, is {_measured(old)}; its scores give "
                    f"{_measured(new)}{by}"
                )


def _measured(measure: Measure | None) -> str:
    return "not there" if measure is None else _said(measure.value)


def _said(value: float | None) -> str:
    return "no value" if value is None else f"{value:.6g}"


def _unsaid(name: str, scores: Mapping[str, Any], warnings: Sequence[str]) -> Iterator[str]:
    """A warning that the engine gives of decisions that are all alike, and that is not there."""
    part = next((part for part in ("test", "unlabeled") if part in scores), None)
    if part is None or not len(scores[part]):
        return
    positive = scores[part] > 0
    if positive.all() or not positive.any():
        begins = said_alike(part, positive=bool(positive.any()), rows=len(positive))
        if not any(text.startswith(begins) for text in warnings):
            yield f"{begins} at the epoch that {name} chose, and it does not say so"
