"""Every conformance check fails for a method that breaks its promise, and for no other reason."""

from __future__ import annotations

import ast
import contextlib
import copy
import importlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pubench_testkit.conformance import CHECKS, UNDECLARABLE, Subject, check_method
from pubench_testkit.conformance.register import check_one
from pubench_testkit.conformance.source_text import acting, reaching_out
from pubench_testkit.conformance.subject import SAMPLES
from registries import registry_with

from pubench_core.engine import train
from pubench_core.engine.select import Selection, Snapshot
from pubench_core.plugins.info import MethodInfo
from pubench_core.plugins.registry import Registry

OURS = [f"pubench_{name}" for name in ("nonconforming", "climbing", "prying", "recalling", "thieving", "scheming")]


#: Ways to true labels in the memory of the process.
IN_MEMORY = ("framed", "inspected", "collected", "evaluated", "formatted")


@pytest.fixture(scope="module")
def plugins() -> Registry:
    return registry_with(SAMPLES.value, *OURS)


def subject(plugins: Registry, key: str) -> Subject:
    return Subject(plugins.find(MethodInfo, key), plugins)


@pytest.mark.parametrize(
    ("key", "check", "word"),
    [
        ("peeks", "hidden-labels", "hidden labels permuted"),
        ("peeks", "needs", "the info record needs prior, requires(config) says prior, truth"),
        ("relative", "order-of-rows", "scored alone"),
        ("restless", "same-seed-same-scores", "the same seed twice"),
        ("stubborn", "other-seed-other-scores", "seeds 2 and 25"),
        ("lost", "finite-scores", "nan"),
        ("brittle", "one-label", "ZeroDivisionError"),
        ("brittle", "prior-near-0-and-1", "ZeroDivisionError"),
        ("brittle", "small-batches", "ZeroDivisionError"),
        ("scribbling", "writes-nothing", "pubench-scribble"),
        ("unsavable", "save-and-load", "Unsavable.assemble must make it"),
        ("vectorsonly", "image-text-tabular", "rows are not vectors"),
        ("climbs", "order-of-the-file", "the file's rows in another order"),
        ("climbs", "own-arguments", "uses _getframe"),
        ("overhears", "hidden-labels", "hidden labels permuted"),
        ("pries", "own-arguments", "uses _features, a private attribute of data or run"),
        ("browses", "reads-no-data", "training opened"),
        ("recalls", "reads-no-data", "digits.csv.gz"),
        ("recalls", "own-arguments", "imports sklearn.datasets; a method has no data but what fit is given"),
        ("counts", "scoring-changes-nothing", "scoring changed scored"),
        ("borrows", "scoring-changes-nothing", "has no attribute 'center'"),
        ("hoards", "earlier-runs", "a run of another seed in between"),
        *((f"thief-{way}", "hidden-labels", "hidden labels permuted") for way in IN_MEMORY),
        ("replaces", "hidden-labels", "hidden labels permuted"),
        *((f"schemer-{way}", "hidden-labels", "hidden labels permuted") for way in ("matched", "walked", "outermost")),
        ("thief-memory", "reads-no-data", "training opened /proc/self/mem"),
        ("thief-by-a-child", "reads-no-data", "another process or a connection (subprocess.Popen)"),
        ("thief-by-a-fork", "reads-no-data", "another process or a connection (os.fork)"),
        ("thief-by-network", "reads-no-data", "another process or a connection (socket.connect)"),
        ("wraps", "finite-scores", "must return scores as a torch.Tensor, got Wrapped"),
    ],
)
def test_a_broken_promise_is_noticed(plugins: Registry, key: str, check: str, word: str) -> None:
    finding = check_one(subject(plugins, key), check)
    assert finding.verdict == "failed"
    assert word in finding.reason


@pytest.mark.parametrize(
    ("module", "word"),
    [
        ("thieving", "uses getattr with a name that it makes"),
        ("thieving", "uses dataclasses.inspect.currentframe: inspect by way of another module"),
        ("thieving", "uses torch.sys.modules: sys by way of another module"),
        ("thieving", "uses eval"),
        ("thieving", "uses __traceback__"),
        ("thieving", "uses from_file"),
        ("thieving", "uses dir_fd, which hides what is opened"),
        ("thieving", "imports socket"),
        ("thieving", "imports subprocess"),
        ("scheming", "imports traceback"),
        ("scheming", "uses f_back in a pattern"),
        ("scheming", "uses __traceback__ in a pattern"),
        ("scheming", "uses getattr with a name that it makes"),
        ("scheming", "uses __array_interface__"),
        ("scheming", "uses environb"),
        ("scheming", "uses seed_seq"),
    ],
)
def test_the_source_of_a_thief_says_how_it_reaches_out(module: str, word: str) -> None:
    file = Path(importlib.import_module(f"pubench_{module}").__file__ or "")
    assert any(line.endswith(word) or f"{word};" in line for line in reaching_out(file))


def test_the_engine_shields_the_callers_generators_and_the_check_notices_if_it_does_not(
    plugins: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert check_one(subject(plugins, "meddling"), "callers-random-state").verdict == "passed"
    monkeypatch.setattr(train, "isolated", lambda seed, device: contextlib.nullcontext())
    finding = check_one(subject(plugins, "meddling"), "callers-random-state")
    assert finding.verdict == "failed"
    assert "random state was changed: python" in finding.reason


def test_a_copy_of_the_state_tells_nothing_and_the_check_notices_if_it_does(
    plugins: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    # a network whose criteria of true labels improve at other epochs than those of other labels
    listens = Subject(plugins.find(MethodInfo, "listens"), plugins, sets=("backbone.key=mlp",))
    assert check_one(listens, "hidden-labels").verdict == "passed"
    update = Selection.update

    def copies_what_is_better(
        self: Selection, epoch: int, values: Any, held_out: Any, patience: Any, take: Any
    ) -> None:
        tried = copy.deepcopy(self)
        update(tried, epoch, values, held_out, patience, lambda: Snapshot({}))
        better = any(track.chosen and track.chosen.epoch == epoch for track in tried.tracks.values())
        update(self, epoch, values, held_out, patience, take if better else lambda: Snapshot({}))

    monkeypatch.setattr(Selection, "update", copies_what_is_better)
    finding = check_one(replace(listens), "hidden-labels")
    assert finding.verdict == "failed"
    assert "hidden labels permuted" in finding.reason


@pytest.mark.parametrize(
    ("source", "word"),
    [
        ("import contextvars", "imports contextvars"),
        ("import importlib", "imports importlib"),
        ("from importlib import import_module", "imports importlib.import_module"),
        ("import importlib.metadata\nimportlib.import_module('x')", "uses importlib.import_module"),
        ("import sys\nsys.modules['x']", "uses sys.modules"),
        ("import sys as s\ns.modules", "uses sys.modules"),
        ("from sys import modules", "imports sys.modules"),
        ("__import__('x')", "uses __import__"),
        ("import pubench_core\npubench_core.training.epochs.ENGINE", "uses pubench_core.training.epochs.ENGINE"),
        ("import pubench_core.engine as e", "imports pubench_core.engine"),
        ("from pubench_core import engine", "imports pubench_core.engine"),
        ("from pubench_core.plugins import registry", "imports pubench_core.plugins.registry"),
        ("from sklearn import datasets", "imports sklearn.datasets"),
        ("import sklearn\nsklearn.datasets.load_digits()", "uses sklearn.datasets.load_digits"),
        ("from torchvision.datasets import MNIST", "imports torchvision.datasets"),
        ("from pubench_datasets_tabular import digits", "imports pubench_datasets_tabular"),
        ("import pubench\npubench.load_results('results')", "uses pubench.load_results; pubench.method has"),
        ("from pubench import data", "imports pubench.data; pubench.method has"),
    ],
)
def test_a_way_round_what_a_method_is_given_is_seen_in_its_source(tmp_path: Path, source: str, word: str) -> None:
    (tmp_path / "method.py").write_text(source)
    assert any(word in found for found in reaching_out(tmp_path))


@pytest.mark.parametrize(
    "source",
    [
        "import sys\nprint(sys.float_info.max)",
        "from importlib.metadata import version",
        "from importlib import resources",
        "import pubench_core\npubench_core.hookimpl",
        "from pubench_core import MethodInfo\nfrom pubench_core.method import Method",
        "from pubench_core.plugins.info import Preset",
        "from pubench.method import Method\nimport pubench.method as method",
        "import sklearn.linear_model\nfrom sklearn import tree",
        "net.modules()",
    ],
)
def test_what_a_method_has_use_for_is_not_held_against_it(tmp_path: Path, source: str) -> None:
    (tmp_path / "method.py").write_text(source)
    assert reaching_out(tmp_path) == []


def test_heavy_imports_of_the_entry_point_are_noticed(
    plugins: Registry, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """By their names: an empty torch, and an entry point that imports it, are found by the process that looks."""
    sound = subject(plugins, "sound")
    (tmp_path / "torch.py").touch()
    (tmp_path / f"{sound.info.package}.py").write_text("import torch\ndef pubench_methods(): ...\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    finding = check_one(sound, "light-info")
    assert finding.verdict == "failed"
    assert "torch" in finding.reason


@pytest.mark.parametrize(
    ("statement", "described"),
    [
        ("import os", True),
        ('"""Words."""', True),
        ("A, B = 1, 2", True),
        ("def pubench_methods(): return []", True),
        ("if TYPE_CHECKING:\n    import torch", True),
        ("torch.relu = None", False),
        ("A[0] = 1", False),
        ("subprocess.run(['x'])", False),
        ("for x in y: pass", False),
        ("if True:\n    A = 1", False),
        ("class A: pass", False),
    ],
)
def test_a_module_that_describes_does_nothing_else(tmp_path: Path, statement: str, described: bool) -> None:
    (tmp_path / "info.py").write_text(statement)
    first = ast.unparse(ast.parse(statement)).splitlines()[0]
    assert acting(tmp_path / "info.py") == ([] if described else [f"info.py:1: {first}"])


def test_a_preset_that_config_refuses_is_noticed(plugins: Registry) -> None:
    from pubench_core import Preset

    sound = subject(plugins, "sound")
    broken = replace(sound, info=replace(sound.info, presets={"quick": Preset(values={"epocs": 3})}))
    finding = check_one(broken, "config")
    assert finding.verdict == "failed"
    assert "epocs" in finding.reason


@pytest.mark.parametrize("key", ["sound", "savable"])
def test_a_method_that_keeps_its_promises_passes(plugins: Registry, key: str) -> None:
    found = {f.check: f for f in check_method(subject(plugins, key))}
    assert list(found) == list(CHECKS)
    bad = {f.check: f.reason for f in found.values() if not f.ok and f.check != "light-info"}  # one module holds all
    assert not bad


def test_a_declared_failure_is_not_held_against_it_and_keeps_both_reasons(plugins: Registry) -> None:
    finding = check_one(subject(plugins, "vectors-declared"), "image-text-tabular")
    assert (finding.verdict, finding.ok) == ("declared", True)
    assert "made for vectors" in finding.reason
    assert "rows are not vectors" in finding.reason


def test_a_declared_failure_that_passes_is_said(plugins: Registry) -> None:
    finding = check_one(subject(plugins, "sound-declared"), "calibration")
    assert (finding.verdict, finding.ok) == ("passes although declared", False)


@pytest.mark.parametrize("check", sorted(UNDECLARABLE))
def test_what_every_result_rests_on_cannot_be_declared(plugins: Registry, check: str) -> None:
    assert check in CHECKS
    sound = subject(plugins, "restless-declared")
    declared = replace(sound, info=replace(sound.info, declared_failures={check: "it likes chance"}))
    finding = check_one(declared, check)
    assert (finding.verdict, finding.ok) == ("may not be declared", False)


def test_declaring_a_check_that_does_not_exist_is_said(plugins: Registry) -> None:
    first = check_method(subject(plugins, "unheard"))[0]
    assert (first.check, first.ok) == ("no-such-check", False)
