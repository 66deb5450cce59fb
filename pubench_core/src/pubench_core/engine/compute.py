"""One run, computed: problem, training, result; who hears of it while it trains.

What :func:`compute` returns can be stored by this process, by another one, or on another machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

import torch

from ..data.dataset import DataRoot
from ..data.table_reader import Say
from ..isolation import isolated, left_as_found, staying
from ..plugins.events import EpochFinished, Listeners, RunFinished, RunStarted
from .build import build_problem
from .finish import Finished, finished
from .machine import PeakMemoryMeter, capture, computing
from .open import OpenedData
from .plan import Plan
from .train import train


@dataclass(frozen=True)
class Audience:
    """Who hears of a run while it trains. ``listeners`` get what needs no true label, ``display`` everything.

    ``epochs`` keeps every epoch for the end, when listeners are given the rest.
    """

    listeners: Listeners = field(default_factory=Listeners)
    display: Listeners = field(default_factory=Listeners)
    epochs: list[EpochFinished] = field(default_factory=list)

    def notify(self, event: RunStarted | EpochFinished, device: torch.device) -> None:
        """Calls both; what they draw at random is not missing in the run."""
        hook = "pubench_run_started"
        if isinstance(event, EpochFinished):
            hook = "pubench_epoch_finished"
            self.epochs.append(event)
        with isolated(0, device):
            self.display.notify(hook, event)
            self.listeners.notify(hook, event.without_truth())

    def finished(self, event: RunFinished) -> None:
        """The run is over: everybody gets everything."""
        event = replace(event, epochs=tuple(self.epochs))
        with left_as_found():
            for listeners in (self.display, self.listeners):
                listeners.notify("pubench_run_finished", event)


def compute(
    plan: Plan,
    opened: OpenedData,
    root: DataRoot,
    device: torch.device,
    audience: Audience,
    ended: Callable[[], None] = lambda: None,
    say: Say = lambda text: None,
) -> Finished:
    """Trains, selects, scores and measures. ``ended`` is called when training is over.

    Raises RequestError if the request cannot be met on this split, RunFailed if training fails, PluginError if a plugin
    breaks its contract.
    """
    with computing(plan, device), left_unchanged(plan, say):
        environment = capture(device)
        memory = PeakMemoryMeter(device)
        problem = build_problem(plan, device, opened=opened, root=root)

        def started() -> None:
            facts = problem.facts()
            labeled, unlabeled = facts.train.labeled or 0, facts.train.unlabeled or 0
            event = RunStarted(plan.run_id, opened.code.hash, plan.spec, str(device), labeled, unlabeled, facts)
            audience.notify(event, device)

        report = partial(audience.notify, device=device)
        trained = train(plan, problem, memory=memory, started=started, report=report, ended=ended)
        return finished(plan, problem, trained, environment)


@contextmanager
def left_unchanged(plan: Plan, say: Say) -> Iterator[None]:
    """A block that calls plugins of a run: what they change of the process is put back, and said."""
    changed: list[str] = []
    try:
        with left_as_found() as changed, staying():
            yield
    finally:
        if changed:
            say(f"the run of {plan.spec.method.key} changed {', '.join(changed)}, and it was put back")
