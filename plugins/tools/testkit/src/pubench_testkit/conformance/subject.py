"""A method under examination, and the short runs that the checks make of it."""

from __future__ import annotations

import importlib
import pickle
import random
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import EntryPoint
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import torch

from pubench_cli.yaml_layers import assigned
from pubench_core.engine.build import build_problem
from pubench_core.engine.plan import Plan
from pubench_core.engine.problem import Problem
from pubench_core.engine.resolve import resolve
from pubench_core.engine.resolve_method import method_class
from pubench_core.engine.train import Trained, train
from pubench_core.errors import PluginError, RequestError, RunFailed
from pubench_core.plugins.events import Listeners
from pubench_core.plugins.info import MethodInfo
from pubench_core.plugins.registry import GROUP, Registry, installed
from pubench_core.specs import DRAWN_SCHEMES
from pubench_testkit.opened import Opened, opening

FloatArray = npt.NDArray[np.float64]
T = TypeVar("T")

SAMPLES = EntryPoint("conformance-samples", "pubench_testkit.conformance.samples", GROUP)
#: Steps per epoch of methods whose preset or default gives a number of them: about a pass over the 200 rows.
STEPS = 4
#: Criteria that no true label enters, and others: what they choose must not reach the method either.
BLIND, ORACLE = ("pa", "pauc", "last"), ("oa", "f1")


@cache
def registry_with_samples() -> Registry:
    """Every installed plugin, and the three sample problems."""
    points, broken = installed()
    return Registry([*points, SAMPLES], broken)


@dataclass(frozen=True)
class Usual:
    """A training of a plain :meth:`Subject.plan`, which several checks look at and none may change."""

    plan: Plan
    problem: Problem
    trained: Trained
    seconds: float

    @property
    def scores(self) -> dict[str, FloatArray]:
        """See :func:`scores_of`."""
        return scores_of(self.trained)


@dataclass(frozen=True)
class SecondTraining:
    """A second training of the plain plan, under another state of the caller's random generators.

    ``changed``: generators of the caller that it left in another state; ``opened``: what the training opened.
    """

    scores: dict[str, FloatArray]
    changed: list[str]
    opened: list[Opened]


@dataclass(frozen=True)
class Subject:
    """``sets``: what shortens the method for a check (``warm_up=1``), besides two short epochs of batches of 64.

    What several checks look at is made once per object: a method that was edited needs a new one.
    """

    info: MethodInfo
    registry: Registry
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    sets: tuple[str, ...] = ()
    _kept: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def of(cls, key: str, sets: tuple[str, ...] = ()) -> Subject:
        """The installed method of this key. Raises RequestError if there is none."""
        registry = registry_with_samples()
        return cls(registry.find(MethodInfo, key), registry, sets=sets)

    @property
    def is_oracle(self) -> bool:
        """Whether it is granted the true labels."""
        return "truth" in self.info.needs

    def plan(self, *sets: str, modality: str = "tabular", scheme: str = "case-control", seed: int = 2) -> Plan:
        """A short run: preset ``quick`` where the method has one, two epochs, c or a positive rate of 0.3."""
        quick = self.info.presets.get("quick")
        values = {name: field.default for name, field in method_class(self.info).Config.model_fields.items()}
        values |= quick.resolve(f"conformance-{modality}") if quick else {}
        short = {"epochs": 2, "batch_size": 64, "patience": "null"}
        if values.get("steps_per_epoch") is not None:
            short["steps_per_epoch"] = STEPS
        return resolve(
            [
                assigned(
                    f"method.key={self.info.key}",
                    f"data.key=conformance-{modality}",
                    f"data.scheme={scheme}",
                    "mechanism.positive_rate=0.3" if scheme in DRAWN_SCHEMES else "mechanism.c=0.3",
                    "validation.fraction=0.25",
                    "selection.criterion=last",
                    f"selection.criteria=[{', '.join(BLIND + ORACLE)}]",
                    f"seed={seed}",
                    f"method.preset={'quick' if quick else 'null'}",
                    *(f"{name}={value}" for name, value in short.items() if name in values),
                    *self.sets,
                    *sets,
                )
            ],
            self.registry,
        )

    def problem(self, plan: Plan) -> Problem:
        """The labeled problem of a plan, on the subject's device."""
        return build_problem(plan, self.device)

    def train(self, plan: Plan, problem: Problem | None = None) -> Trained:
        """Trains without a record; the only listeners are those in the method's package, if it carries any."""
        carried = Listeners([importlib.import_module(self.info.package)])
        return train(
            plan,
            problem or self.problem(plan),
            report=lambda event: carried.notify("pubench_epoch_finished", event.without_truth()),
        )

    def scores(self, plan: Plan, problem: Problem | None = None) -> dict[str, FloatArray]:
        """See :func:`scores_of`."""
        return scores_of(self.train(plan, problem))

    def usual(self, scheme: str = "case-control") -> Usual:
        """The training of the plain plan of a scheme, done at the first call."""

        def trained() -> Usual:
            started = time.process_time()  # of this process: others may be at work
            plan = self.plan(scheme=scheme)
            problem = self.problem(plan)
            return Usual(plan, problem, self.train(plan, problem), time.process_time() - started)

        return self.once(("usual", scheme), trained)

    def again(self) -> SecondTraining:
        """The second training, done at the first call, after the first: compilers fill their caches on first use."""

        def trained() -> SecondTraining:
            with caller_state(1):  # or whatever it was, if another check has trained it
                plan = self.usual().plan
            with caller_state(2) as changed:
                problem = self.problem(plan)
                with opening() as opened:
                    scores = self.scores(plan, problem)
            return SecondTraining(scores, changed, opened)

        return self.once("again", trained)

    def once(self, name: Hashable, make: Callable[[], T]) -> T:
        """Value of ``make``, made at the first call of this name; its exception is raised again each time."""
        if name not in self._kept:
            self._kept[name] = make()
        found: T = self._kept[name]
        return found

    def runs_or_refuses(self, plan: Plan, what: str) -> None:
        """A result of finite scores, or one clear refusal (RequestError); anything else fails the check."""
        try:
            scores = self.scores(plan)
        except RequestError:
            return  # one line that says what would do
        except (RunFailed, PluginError) as error:
            raise AssertionError(f"{what}: {error}") from error
        assert_finite(scores, what)

    def on(self, device: torch.device) -> Subject:
        """The same subject on another device."""
        return replace(self, device=device)


def scores_of(trained: Trained) -> dict[str, FloatArray]:
    """criterion/part -> scores, under the criteria that no true label enters."""
    kept = {name: parts for name, parts in trained.scores.items() if name not in ORACLE}
    return {f"{name}/{part}": scores for name, parts in kept.items() for part, scores in parts.items()}


def assert_finite(scores: dict[str, FloatArray], what: str) -> None:
    """Every score is a finite number."""
    for name, values in scores.items():
        bad = np.flatnonzero(~np.isfinite(values))
        assert not len(bad), f"{what}: score {bad[0]} by {name} is {values[bad[0]]}"


def assert_same(one: dict[str, FloatArray], other: dict[str, FloatArray], what: str) -> None:
    """Bit for bit."""
    assert one.keys() == other.keys(), f"{what}: {sorted(one.keys() ^ other.keys())} is in one result only"
    for name in one:
        differ = np.flatnonzero(one[name] != other[name])
        assert not len(differ), f"{what}: {len(differ)} of {len(one[name])} scores by {name} differ"


def _states() -> dict[str, Any]:
    """State of every global generator."""
    of_torch = torch.get_rng_state().numpy().tobytes()
    return {"python": random.getstate(), "numpy": pickle.dumps(np.random.get_state()), "torch": of_torch}


@contextmanager
def caller_state(seed: int) -> Iterator[list[str]]:
    """Seeds every global generator; gives the names of those that the block changed, once it ends."""
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    before, changed = _states(), list[str]()
    yield changed
    changed += [name for name, state in _states().items() if state != before[name]]
