"""Tools for tests of plugins: short trainings by the engine or without it, facts of every method.

The conformance checks are run by the kit's pytest plugin. A method's package states facts of its own next to them::

    from pubench_testkit.testing import MethodFacts, Trainer

    trained = Trainer("my-method", short=("epochs=2", "mechanism.c=0.3"))

    class TestFacts(MethodFacts):
        trained = trained
        learns = (("epochs=20 lr=1e-3 mechanism.c=0.3", 0.85),)
        options = ("margin=3", "surrogate=logistic")

Vectors of the papers' official code: :mod:`pubench_testkit.reference`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from pubench.method import Backbone, MethodConfig
from pubench_cli.yaml_layers import assigned
from pubench_core.engine.build import build_problem
from pubench_core.engine.plan import Plan
from pubench_core.engine.resolve import resolve
from pubench_core.engine.resolve_method import method_class
from pubench_core.engine.train import Trained, train
from pubench_core.method import AnyMethod
from pubench_core.metric import FloatArray
from pubench_core.plugins.info import MethodInfo
from pubench_core.plugins.registry import registry
from pubench_core.specs import Scheme
from pubench_core.training.run import Run
from pubench_core.training.views import Features, PUData, PUPart

from .conformance import CHECKS, Subject
from .conformance.register import check_one
from .reference import Arrays as Arrays
from .reference import Case as Case
from .reference import Vectors as Vectors
from .reference import joined as joined
from .reference import linear as linear
from .reference import reference_arrays as reference_arrays
from .reference import reference_folder as reference_folder

ConfigT = TypeVar("ConfigT", bound=MethodConfig)
MethodT = TypeVar("MethodT", bound=AnyMethod)

#: The only criterion is the last epoch: no validation row need be labeled.
LAST = ("selection.criterion=last", "selection.criteria=[last]")


@lru_cache(maxsize=1)
def _subject(key: str, sets: tuple[str, ...]) -> Subject:
    """One for all checks of a method, which share what they train."""
    return Subject.of(key, sets)


class MethodConformance:
    """Every conformance check as a test of its own. ``key``: the installed method; ``sets``: what shortens it."""

    key: ClassVar[str]
    sets: ClassVar[tuple[str, ...]] = ()

    def test_declares_only_checks_that_exist(self) -> None:
        assert set(Subject.of(self.key).info.declared_failures) <= set(CHECKS)

    @pytest.mark.parametrize("check", CHECKS)
    def test_conforms(self, check: str) -> None:
        finding = check_one(_subject(self.key, self.sets), check)
        if finding.verdict == "not applicable":
            pytest.skip(finding.reason)
        if finding.verdict == "declared":
            pytest.xfail(finding.reason)
        assert finding.ok, f"{finding.verdict}: {finding.reason}"


@dataclass(frozen=True)
class Trainer:
    """Trains one method by the engine, without a record. Settings are those of ``--set``: ``epochs=2``.

    ``sets``: settings of every training; ``short``: what makes a training take seconds.
    """

    key: str
    short: tuple[str, ...] = ()
    sets: tuple[str, ...] = ("backbone.key=mlp-wang",)

    @property
    def info(self) -> MethodInfo:
        return registry().find(MethodInfo, self.key)

    def preset(self, name: str, data: str = "digits") -> dict[str, Any]:
        """Values of a preset for a data set."""
        return dict(self.info.presets[name].resolve(data))

    def plan(self, *sets: str, data: str = "digits") -> Plan:
        """The resolved request."""
        return resolve([assigned(f"data.key={data}", f"method.key={self.key}", *self.sets, *sets)], registry())

    def __call__(self, *sets: str, data: str = "digits") -> Trained:
        plan = self.plan(*sets, data=data)
        return train(plan, build_problem(plan))

    def shortly(self, *sets: str, data: str = "digits") -> Trained:
        """A short training."""
        return self(*self.short, *sets, data=data)

    def last(self, *sets: str, data: str = "digits") -> FloatArray:
        """Test scores after the last epoch of a short training."""
        return self.shortly(*LAST, *sets, data=data).scores["last"]["test"]


@cache
def _compared(trainer: Trainer, sets: tuple[str, ...]) -> FloatArray:
    """Scores that are compared between options, which hold on any data: the smaller of the embedded sets."""
    return trainer.last(*sets, data="breast-cancer")


def accuracy(result: Trained, criterion: str = "last") -> float:
    """Share of correct decisions on the test part."""
    truth = result.evaluator.problem.truth_test
    return float(((result.scores[criterion]["test"] > 0) == truth).mean())


class MethodFacts:
    """Facts of every trained method, each a test of its own. The conformance checks have others.

    Settings are written with spaces between them. ``learns``: settings, and the accuracy ``by`` a criterion that they
    exceed; ``options``: each gives another result, in trainings under ``compared_in``; ``stages``: settings of a short
    training, and the stages of its epochs, of which no epoch of the stage ``unselected`` is chosen; ``defaults``: the
    preset that has the default values; ``presets_in``: what shortens a preset, by default what shortens a training;
    ``extremes``: problems at the edge besides those of the conformance checks, or with settings that these do not have.
    """

    trained: ClassVar[Trainer]
    learns: ClassVar[Sequence[tuple[str, float]]] = ()
    by: ClassVar[str] = "last"
    options: ClassVar[Sequence[str]] = ()
    compared_in: ClassVar[tuple[str, ...]] = ()
    stages: ClassVar[Sequence[tuple[str, Sequence[str]]]] = ()
    unselected: ClassVar[str] = ""
    defaults: ClassVar[str] = ""
    presets_in: ClassVar[tuple[str, ...] | None] = None
    extremes: ClassVar[Sequence[str]] = ()

    def __init_subclass__(cls) -> None:
        """Leaves out facts without a case."""
        facts = {
            "it_learns": cls.learns,
            "an_option_gives_another_result": cls.options,
            "epochs_are_of_their_stages_and_chosen_in_the_last": cls.stages,
            "a_preset_has_the_default_values": cls.defaults,
            "an_extreme_problem_has_a_result": cls.extremes,
        }
        for fact in (fact for fact, cases in facts.items() if not cases):
            setattr(cls, f"test_{fact}", None)

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        cases: dict[str, Sequence[Any]] = {
            "preset": list(self.trained.info.presets),
            "learning, floor": self.learns,
            "option": self.options,
            "staged, expected": self.stages,
            "extreme": self.extremes,
        }
        for names, values in cases.items():
            if names.split(",")[0] in metafunc.fixturenames:
                metafunc.parametrize(names, values)

    def test_a_preset_has_a_result(self, preset: str) -> None:
        shorter = self.trained.short if self.presets_in is None else self.presets_in
        result = self.trained(f"method.preset={preset}", *shorter, *LAST)
        assert np.isfinite(result.scores["last"]["test"]).all()

    def test_a_preset_has_the_default_values(self) -> None:
        config = method_class(self.trained.info).Config
        assert config.model_validate(self.trained.info.presets[self.defaults].values) == config()

    def test_it_learns(self, learning: str, floor: float) -> None:
        alone = LAST if self.by == "last" else ()  # other criteria score the validation part after every epoch
        assert accuracy(self.trained(*alone, *learning.split()), self.by) > floor

    def test_an_option_gives_another_result(self, option: str) -> None:
        plain, other = (_compared(self.trained, (*self.compared_in, *more)) for more in ((), option.split()))
        assert np.isfinite(other).all()
        assert not np.allclose(plain, other)

    def test_epochs_are_of_their_stages_and_chosen_in_the_last(self, staged: str, expected: Sequence[str]) -> None:
        result = self.trained.shortly(*staged.split())
        assert [event.stage for event in result.epochs] == list(expected)
        assert {event.stage for event in result.epochs if event.criteria} == {*expected} - {self.unselected}

    def test_an_extreme_problem_has_a_result(self, extreme: str) -> None:
        result = self.trained.shortly(*LAST, *extreme.split())
        assert np.isfinite(result.scores["last"]["test"]).all()
        if "mechanism.c=0.002" in extreme:
            assert result.evaluator.problem.split.train.n_labeled == 1


class Call(NamedTuple):
    """One call of a watched function. ``result`` of an iterator: the items that were taken from it, a list."""

    args: tuple[Any, ...]
    options: dict[str, Any]
    result: Any


def watch(patch: pytest.MonkeyPatch, owner: Any, name: str, note: Callable[..., Any] | None = None) -> list[Any]:
    """Calls of a function of a module, or of a method of a class, from now on: a list that grows.

    Holds a :class:`Call` for each that has returned; with ``note``, what that gives for the arguments before the call.
    """
    found: list[Any] = []
    original = getattr(owner, name)

    def watched(*args: Any, **options: Any) -> Any:
        if note is not None:
            found.append(note(*args, **options))
        result = original(*args, **options)
        items: list[Any] = []
        if note is None:
            found.append(Call(args, options, items if isinstance(result, Iterator) else result))
        return _noted(result, items) if isinstance(result, Iterator) else result

    patch.setattr(owner, name, watched)
    return found


def _noted(result: Iterator[Any], items: list[Any]) -> Iterator[Any]:
    for item in result:
        items.append(item)
        yield item


def watch_state(patch: pytest.MonkeyPatch, owner: Any, name: str, network: Callable[..., nn.Module]) -> list[bool]:
    """Whether each call of a function, from now on, leaves the state of a network as it was.

    ``network`` gives it for the arguments of the call.
    """
    found: list[bool] = []
    original = getattr(owner, name)

    def watched(*args: Any, **options: Any) -> Any:
        before = {name: value.clone() for name, value in network(*args, **options).state_dict().items()}
        result = original(*args, **options)
        after = network(*args, **options).state_dict()
        found.append(all(torch.equal(value, after[name]) for name, value in before.items()))
        return result

    patch.setattr(owner, name, watched)
    return found


def check_finite(loss: Tensor, *inputs: Tensor) -> None:
    """Asserts that a loss is finite, and so are its gradients by all of the inputs."""
    loss.backward()
    assert loss.isfinite()
    for values in inputs:
        assert values.grad is not None
        assert values.grad.isfinite().all()


def pu_table(
    x: Tensor | FloatArray,
    n_labeled: int,
    scheme: Scheme = "single-training-set",
    *,
    copied: bool = False,
    prior: float | None = None,
    unlabeled_prior: float | None = None,
) -> PUData:
    """Rows x as training and validation data; the first ``n_labeled`` are labeled positives.

    ``copied``: the labeled rows are in U too, as in a calibrated case-control sample. ``prior`` is granted, None too.
    """
    x = torch.as_tensor(x, dtype=torch.float32)
    instance = torch.arange(len(x), device=x.device)
    if copied:
        instance = torch.cat([instance[:n_labeled], instance])
    part = (Features(x), instance, torch.arange(len(instance), device=x.device) < n_labeled, scheme)
    return PUData(
        *part,
        validation=PUPart(*part),
        granted=frozenset({"prior"}),
        prior=prior,
        unlabeled_prior=unlabeled_prior,
        truth=None,
    )


def run_on(
    data: PUData,
    config: ConfigT,
    build: Callable[[int], Backbone] | None = None,
    *,
    seed: int = 2,
    threads: int = 1,
) -> Run[ConfigT]:
    """A run without an engine, where its data are. ``build``: makes the backbone; without it, asking for one fails."""
    device = data.instance.device
    return Run(config=config, data=data, seed=seed, device=device, threads=threads, build=build or _no_backbone)


def _no_backbone(outputs: int) -> Backbone:
    raise AssertionError("this test has networks of its own")


def fit(
    kind: type[MethodT],
    data: PUData,
    build: Callable[[int], Backbone] | None = None,
    *,
    seed: int = 2,
    threads: int = 1,
    **config: Any,
) -> tuple[MethodT, Run[Any]]:
    """A method trained without an engine, see :func:`run_on`, and its run."""
    method = kind(kind.Config(**config))
    run = run_on(data, method.config, build, seed=seed, threads=threads)
    method.fit(data, run)
    return method, run


def fit_small(kind: type[MethodT], **config: Any) -> tuple[MethodT, PUData]:
    """A method trained on 40 rows of 6 features by a network with batch norm; 10 rows are labeled, and in U too."""
    x = torch.randn(40, 6, generator=torch.Generator().manual_seed(0))
    x[:20] += 1
    data = pu_table(x, 10, "case-control", copied=True, prior=0.5)
    return fit(kind, data, _normed, **config)[0], data


def _normed(outputs: int) -> Backbone:
    stage = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU())
    return Backbone([stage], nn.Identity(), 8, outputs)


def layer_names(network: nn.Module) -> list[str]:
    """Classes of the layers that have no others in them, in order; with the slope or the share that some have."""
    leaves = [module for module in network.modules() if not list(module.children())]
    values = {nn.LeakyReLU: "negative_slope", nn.Dropout: "p"}
    said = [f" {getattr(leaf, values[type(leaf)])}" if type(leaf) in values else "" for leaf in leaves]
    return [type(leaf).__name__ + value for leaf, value in zip(leaves, said, strict=True)]


class ViewsAsked:
    """Stands in for a run where a method asks for views: rows come back as they are, and what was asked is kept.

    ``asked``: (name of the function, options) of every view, in order.
    """

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def augment(self, view: Callable[..., Any], rows: Any, **options: Any) -> Any:
        """The rows."""
        self.asked.append((view.__name__, options))
        return rows
