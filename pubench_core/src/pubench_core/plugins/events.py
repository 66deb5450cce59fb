"""Events that listeners of a run receive, and calling them: one that fails is reported once and harms no run.

While a run trains, a listener gets nothing that needs true labels: a method's own package may carry listeners. What
was left out comes with :class:`RunFinished`.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from ..errors import said_by, visible
from ..results import DataFacts, Failure, Result
from ..specs import RunSpec


@dataclass(frozen=True)
class RunStarted:
    """A run starts to train.

    ``spec``: resolved; ``code``: hash of the code that runs; ``labeled``, ``unlabeled``: rows of the training table.

    ``data``: counts and priors, some of which need true labels; None where listeners get this event.
    """

    run_id: str
    code: str
    spec: RunSpec
    device: str
    labeled: int
    unlabeled: int
    data: DataFacts | None = None

    def without_truth(self) -> RunStarted:
        """The event as listeners get it."""
        return replace(self, data=None)


@dataclass(frozen=True)
class EpochFinished:
    """An epoch was trained and, if selectable, scored.

    ``epoch`` counts from 1 over all stages, ``in_stage`` within the stage; ``criteria``: value or None (undefined).

    ``seconds``: training only; ``evaluation_seconds``: scoring for selection and tracing. ``values``: reported
    losses (means over the epoch) and traced measures. ``needs_truth``: names of criteria and values that were measured
    against true labels. ``positive_decisions``: share in [0, 1] of the validation rows that the method, by its first
    candidate, calls positive; 0 or 1 where it has collapsed; None where this epoch scored no validation row.
    """

    run_id: str
    stage: str
    epoch: int
    in_stage: int
    stage_epochs: int
    seconds: float
    evaluation_seconds: float
    criterion: str
    criteria: Mapping[str, float | None] = field(default_factory=dict)
    values: Mapping[str, float] = field(default_factory=dict)
    needs_truth: frozenset[str] = frozenset()
    positive_decisions: float | None = None

    def without_truth(self) -> EpochFinished:
        """The event as listeners get it: what was measured against true labels is left out."""
        return replace(
            self,
            criteria={name: value for name, value in self.criteria.items() if name not in self.needs_truth},
            values={name: value for name, value in self.values.items() if name not in self.needs_truth},
            needs_truth=frozenset(),
        )


@dataclass(frozen=True)
class RunFinished:
    """A run ended, and its record is on disk.

    ``record``: the run's folder, or that of its failure. Either ``result`` or ``failure`` is there.

    ``epochs``: every epoch with all that was measured.
    """

    run_id: str
    status: Literal["finished", "refused", "failed"]
    record: Path
    result: Result | None = None
    failure: Failure | None = None
    epochs: tuple[EpochFinished, ...] = ()


class Listeners:
    """Objects (modules or instances) with any of the lifecycle hooks as attributes."""

    def __init__(self, listeners: Iterable[Any] = ()) -> None:
        self._listeners = list(listeners)

    def notify(self, hook: str, event: Any) -> None:
        """Calls one hook on every listener that has it; each gets its own copy of the event."""
        for listener in list(self._listeners):
            try:
                function = getattr(listener, hook, None)
                if function is not None:
                    function(event=copy.deepcopy(event))
            except KeyboardInterrupt:
                raise
            # A listener is somebody else's code in a run that must go on: reported once, then silent. One that wants to
            # end the process (SystemExit) has no say in that.
            except BaseException as error:  # noqa: BLE001
                self._listeners = [other for other in self._listeners if other is not listener]
                name = getattr(listener, "__name__", type(listener).__name__)
                text = f"listener {name} failed in {hook} and is left out: {said_by(error)}"
                with suppress(OSError, ValueError):  # a full disk or a closed stream is no reason to end a run
                    print("warning:", visible(text), file=sys.stderr)
