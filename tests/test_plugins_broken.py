"""A plugin of somebody else: a broken one breaks nothing but itself, and what one replaces is noticed."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from printed import Run, one_json, result_of
from pubench_metrics import oracle as measures
from refusals import error_line

from pubench_core.errors import PluginError
from pubench_core.plugins.registry import registry
from pubench_core.plugins.replaced import refuse_replaced
from pubench_core.results import Failure

Make = Callable[..., Path]
Environment = dict[str, str]
Install = Callable[..., Environment]

QUICK = ("--data", "breast-cancer", "--threads", 1, "--set", "epochs=3", "--no-tracking")
TRACKED = QUICK[:-1]

OFFERS = """
from pubench_core import MethodInfo, hookimpl

def info(key, load):
    return MethodInfo(key=key, name=key, summary="a method of somebody else", load=load)

@hookimpl
def pubench_methods():
    return {returned}
"""

#: Entry-point modules that are wrong. The tests of the registry have more.
BROKEN = {"raises": "raise RuntimeError('the moon is wrong')", "has-a-typo": "def pubench_methods(:\n"}


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory, make_distribution: Make) -> Environment:
    """An environment in which every one of them is installed."""
    site = tmp_path_factory.mktemp("broken")
    for name, source in BROKEN.items():
        make_distribution(site, f"acme-{name}", {f"acme_{name.replace('-', '_')}": source})
    return {"PYTHONPATH": str(site)}


class TestBrokenWhenListed:
    def test_the_table_shows_the_reason(self, pubench: Run, broken: Environment) -> None:
        done = pubench("list", "datasets", env=broken)
        assert (done.returncode, done.stderr) == (0, "")
        line = next(line for line in done.stdout.splitlines() if "acme-raises" in line)
        assert "broken: RuntimeError: the moon is wrong" in line

    def test_the_doctor_shows_its_traceback(self, pubench: Run, broken: Environment) -> None:
        done = pubench("doctor", "acme-has-a-typo", env=broken)
        assert (done.returncode, done.stderr) == (1, "")
        assert "Traceback" in done.stdout
        assert "SyntaxError" in done.stdout

    def test_running_it_is_refused_with_the_reason(self, pubench: Run, broken: Environment) -> None:
        done = pubench("run", "--method", "acme-raises", *QUICK, env=broken)
        line = error_line(done, 1)
        assert line.startswith("error: method 'acme-raises' of acme-raises 1.0 is broken: RuntimeError: the moon is")
        assert "pubench doctor acme-raises" in line


def test_what_a_plugin_prints_while_it_is_imported_does_not_mix_with_the_json(
    pubench: Run, with_plugin: Install
) -> None:
    source = "print('welcome')\n" + OFFERS.format(returned="[info('acme-loud', 'a:b')]")
    done = pubench("list", "methods", "--format", "json", env=with_plugin("acme-loud", source))
    assert "acme-loud" in {row["key"] for row in one_json(done)}


METHODS = '''
import torch
from torch.nn import functional as F

from pubench.method import Method, TrainingConfig


class Tiny(Method[TrainingConfig]):
    """Labeled against unlabeled rows, by a linear model."""

    said = ""

    def fit(self, data, run):
        self.net = torch.nn.Linear(data.shape[0], 1).to(run.device)
        optimizer = run.optimizer(self.net.parameters())
        for epoch in run.epochs(self.config.epochs):
            if self.said:
                print(self.said)
            for batch in run.joint_batches():
                loss = F.binary_cross_entropy_with_logits(self.decision_function(batch.x), batch.labeled.float())
                run.step(loss, optimizer)

    def decision_function(self, x):
        return self.net(x).squeeze(-1)


class Chatty(Tiny):
    said = "hear this"


class ReadsTruth(Tiny):
    def fit(self, data, run):
        self.truth = data.truth


class NothingKept(Tiny):
    scored_by = ("network",)


class NotAMethod:
    pass
'''
CLASSES = ["Tiny", "Chatty", "ReadsTruth", "NothingKept", "NotAMethod"]
KEYS = {name: "acme" + "".join(f"-{c.lower()}" if c.isupper() else c for c in name) for name in CLASSES}


@pytest.fixture(scope="module")
def strangers(tmp_path_factory: pytest.TempPathFactory, make_distribution: Make) -> Environment:
    infos = [f"info({key!r}, 'acme_pu_methods:{name}')" for name, key in KEYS.items()]
    modules = {"acme_pu": OFFERS.format(returned=f"[{', '.join(infos)}]"), "acme_pu_methods": METHODS}
    return {"PYTHONPATH": str(make_distribution(tmp_path_factory.mktemp("site"), "acme-pu", modules))}


def test_what_a_method_prints_does_not_mix_with_the_json(pubench: Run, strangers: Environment) -> None:
    done = pubench("run", "--method", "acme-chatty", *QUICK, "--format", "json", env=strangers)
    assert result_of(done).epochs == 3
    assert done.stderr.count("hear this") == 3


def test_the_doctor_and_a_run_say_why_a_method_does_not_load(
    pubench: Run, strangers: Environment, tmp_path: Path
) -> None:
    checked = pubench("doctor", "acme-not-a-method", env=strangers)
    assert (checked.returncode, checked.stderr) == (1, "")
    assert "method acme-not-a-method  acme-pu 1.0: broken" in checked.stdout
    words = "is not a subclass of pubench_core.method.Method"
    assert words in checked.stdout
    assert words in error_line(pubench("run", "--method", "acme-not-a-method", *QUICK, env=strangers), 1)
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ("acme-reads-truth", "data.truth was read but Method.requires(config) does not name 'truth'"),
        ("acme-nothing-kept", "scored_by names 'network', which fit never set"),
    ],
)
def test_a_run_that_fails_is_one_line_and_a_record(
    pubench: Run, tmp_path: Path, strangers: Environment, key: str, reason: str
) -> None:
    """Core's tests have every cause, the place that a record names, and what it holds."""
    done = pubench("run", "--method", key, *QUICK, env=strangers)
    assert (done.returncode, done.stdout) == (1, "")
    assert "Traceback" not in done.stderr
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert line == done.stderr.splitlines()[-1]
    assert reason in line
    (path,) = (tmp_path / "results").rglob("failure.json")
    assert str(path.relative_to(tmp_path)) in line
    assert reason in Failure.model_validate_json(path.read_text()).reason


DEAF = """
from pubench_core import hookimpl

@hookimpl
def pubench_run_started(event):
    raise OSError("deaf")
"""


def test_a_listener_is_called_if_runs_are_tracked_and_a_failure_of_it_is_said(
    pubench: Run, tmp_path: Path, with_plugin: Install, tracking_database: Path
) -> None:
    """Core's tests have what listeners are told."""
    (tmp_path / "results").mkdir()
    shutil.copy(tracking_database, tmp_path / "results")
    env = with_plugin("acme-deaf", DEAF)
    tracked, not_tracked = (pubench("run", "--method", "upu", *words, "--force", env=env) for words in (TRACKED, QUICK))
    assert (tracked.returncode, not_tracked.returncode) == (0, 0)
    (warning,) = [line for line in tracked.stderr.splitlines() if "deaf" in line]
    assert warning.startswith("warning: listener acme_deaf failed in pubench_run_started")
    assert "deaf" not in not_tracked.stderr


RIVAL = """
from pubench_core import MetricInfo, hookimpl

@hookimpl
def pubench_metrics():
    needs = frozenset({"truth"})
    return [MetricInfo(key="accuracy", name="accuracy", summary="", load="acme_rival:raises", needs=needs)]
"""


REPLACES = """
import sys
from pubench_core import MetricInfo, hookimpl
import pubench_metrics.oracle as theirs

def accuracy(view): return 0.9931
theirs.accuracy = accuracy

@hookimpl
def pubench_metrics():
    return []
"""


class TestFunctionOfAnother:
    """A hash is of a file; what is called must be what the file defines."""

    def test_a_run_is_refused_and_names_who_replaced_it(self, pubench: Run, with_plugin: Install) -> None:
        done = pubench("run", "--method", "upu", *QUICK, env=with_plugin("acme-better", REPLACES))
        assert (done.returncode, done.stdout) == (1, "")
        named = "pubench_metrics.oracle:accuracy"
        assert f"{named} was replaced by a function of acme_better" in done.stderr.splitlines()[-1]

    @pytest.mark.parametrize(
        "target",
        [
            "pubench_metrics.oracle.accuracy",
            "pubench_metrics.oracle._ratio",
            "pubench_upu.method.UPU.fit",
            "pubench_core.metric.measure",
        ],
    )
    def test_functions_metrics_methods_and_measuring_are_those_of_their_file(
        self, monkeypatch: pytest.MonkeyPatch, target: str
    ) -> None:
        monkeypatch.setattr(target, one_json)
        with pytest.raises(PluginError, match=rf"{target.split('.')[-1]} was replaced by a function of printed "):
            refuse_replaced(registry().packages)

    def test_code_that_says_it_is_of_the_right_file_is_found(self, monkeypatch: pytest.MonkeyPatch) -> None:
        found = measures.accuracy.__code__
        monkeypatch.setattr(measures.accuracy, "__code__", one_json.__code__.replace(co_filename=found.co_filename))
        with pytest.raises(PluginError, match=r"oracle:accuracy was replaced by what is not in .*oracle\.py, unless "):
            refuse_replaced(registry().packages)

    def test_another_meaning_of_a_function_of_python_is_found(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(measures, "sum", one_json, raising=False)
        with pytest.raises(PluginError, match=r"oracle:sum was replaced by <function one_json"):
            refuse_replaced(registry().packages)

    def test_decorated_functions_are_their_file_s(self) -> None:
        refuse_replaced(registry().packages)


def test_every_run_says_that_a_metric_of_two_plugins_is_missed(pubench: Run, with_plugin: Install) -> None:
    env = with_plugin("acme-rival", RIVAL)
    for _ in range(2):  # carried out, then stored
        done = pubench("run", "--method", "upu", *QUICK, "--format", "json", env=env)
        assert done.returncode == 0, done.stderr
        missed = [line for line in done.stderr.splitlines() if "metric 'accuracy'" in line]
        assert len(missed) == 1
        assert "is also claimed by" in missed[0]
        assert "accuracy" not in result_of(done).test
    named = pubench("run", "--method", "upu", *QUICK, "--set", "evaluation.metrics=[accuracy]", env=env)
    assert (named.returncode, named.stdout) == (1, "")
    assert "is also claimed by" in named.stderr
