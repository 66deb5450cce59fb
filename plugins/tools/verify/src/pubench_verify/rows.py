"""The rows and labels of a record, against those that its spec draws from the data as they are here."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pubench_core.data.columns import as_plain
from pubench_core.errors import PubenchError
from pubench_core.records.files import SCORES, Arrays
from pubench_core.records.scores import rows_and_labels
from pubench_core.results import Result

from .measures import alike, close

if TYPE_CHECKING:
    from pubench_core.engine.plan import Plan
    from pubench_core.engine.problem import Parts

#: What a labeling mechanism does not decide.
_TEST = ("test_rows", "test_labels")


class Drawn(NamedTuple):
    """``arrays``: digests of rows and labels as ``scores.npz`` has them; the others as ``result.json`` has them.

    ``facts``: name of a field of its data -> value.
    """

    arrays: dict[str, str]
    parts: Parts
    prior: float | None
    facts: dict[str, Any]


class Draws:
    """Draws of specs, each once: methods and their settings decide nothing of it."""

    def __init__(self) -> None:
        self._known: dict[str, Drawn] = {}

    def of(self, plan: Plan, say: Callable[[str], None]) -> Drawn:
        """Rows and labels of a plan's parts. Raises PubenchError where the data cannot be drawn from."""
        from pubench_core.data.paths import data_root
        from pubench_core.engine.build import draw_split, true_prior
        from pubench_core.engine.open import open_data
        from pubench_core.engine.problem import parts_of

        spec = plan.spec
        key = spec.model_dump_json(include={"seed", "data", "mechanism", "validation"})
        if key not in self._known:
            root = data_root(spec.execution, say)
            opened = open_data(plan, root)
            (split, truth, _), given = draw_split(plan, opened, root), opened.data.labeled
            unlabeled = None if given is None or opened.columns is None else np.flatnonzero(~given)
            rows = rows_and_labels(split, truth.test, truth.validation, unlabeled)
            self._known[key] = Drawn(
                arrays={name: _digest(array) for name, array in rows.items()},
                parts=parts_of(split, spec.data.scheme, *truth),
                prior=true_prior(spec, split, truth.train),
                facts={
                    "modality": opened.data.modality,
                    "shape": opened.data.shape,
                    "dropped": opened.data.dropped,
                    "encoding": None if opened.columns is None else tuple(as_plain(opened.columns)),
                    "notes": opened.notes,
                },
            )
        return self._known[key]


def _digest(array: npt.NDArray[Any]) -> str:
    """Of whole numbers or truth values."""
    return hashlib.sha256(array.astype(np.int64).tobytes()).hexdigest()


def other_rows(plan: Plan, result: Result, arrays: Arrays, draws: Draws, say: Callable[[str], None]) -> Iterator[str]:
    """Where stored rows, labels or counts are not those that are drawn here.

    Of mechanisms that need a posterior the test part alone is compared: its last digits, which versions and processors
    decide, can label other rows.
    """
    try:
        drawn = draws.of(plan, say)
    except PubenchError as error:
        yield f"its rows cannot be drawn here: {error}"
        return
    fitted = plan.mechanism is not None and plan.mechanism.info.needs_posterior
    for name in _TEST if fitted else drawn.arrays:
        if name in drawn.arrays and (name not in arrays or _digest(arrays[name]) != drawn.arrays[name]):
            yield f"{SCORES}: {name} are not those that its spec draws from {plan.spec.data.key}"
    stored = {"train": result.data.train, "validation": result.data.validation, "test": result.data.test}
    for part, counts in drawn.parts.items():
        if stored[part] != counts:
            yield f"its counts of the {part} part are not those that its spec draws from {plan.spec.data.key}"
    for name, value in drawn.facts.items():
        if not alike(getattr(result.data, name), value):
            yield f"its data.{name} is not that of {plan.spec.data.key}"
    if not close(result.data.prior.true, drawn.prior):
        yield f"its true prior is {result.data.prior.true}; its spec draws {drawn.prior}"
