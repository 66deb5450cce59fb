"""A plugin of somebody else: a sound one works like our own, a broken one breaks nothing but itself."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from refusals import error_line

from pubench_core.plugins.registry import registry
from pubench_core.plugins.replaced import refuse_replaced
from pubench_core.results import Failure, Result

Run = Callable[..., "subprocess.CompletedProcess[str]"]
Make = Callable[..., Path]

QUICK = ("--data", "digits", "--threads", 1, "--set", "epochs=3", "--no-tracking")
TRACKED = QUICK[:-1]

OFFERS = """
from pubench_core import MethodInfo, hookimpl

def info(key, load):
    return MethodInfo(key=key, name=key, summary="a method of somebody else", load=load)

@hookimpl
def pubench_methods():
    return {returned}
"""

#: What a plugin's entry-point module may do wrong -> words of the reason that the listing gives. The tests of the
#: registry have more.
BROKEN = {
    "raises": ("raise RuntimeError('the moon is wrong')", "RuntimeError: the moon is wrong"),
    "exits": ("raise SystemExit('goodbye')", "SystemExit: goodbye"),
    "has-a-typo": ("def pubench_methods(:\n", "SyntaxError"),
    "returns-numbers": (OFFERS.format(returned="[42]"), "42; every item must be a MethodInfo"),
    "takes-too-much": (
        "from pubench_core import hookimpl\n@hookimpl\ndef pubench_run_started(event, secrets): pass",
        "secrets",
    ),
}


def result_of(done: subprocess.CompletedProcess[str]) -> Result:
    """The result on stdout."""
    plain = json.loads(done.stdout)
    del plain["record"], plain["reused"]
    return Result.model_validate(plain)


def module_of(name: str) -> str:
    return "acme_" + name.replace("-", "_")


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory, make_distribution: Make) -> dict[str, str]:
    """An environment in which every one of them is installed."""
    site = tmp_path_factory.mktemp("broken")
    for name, (source, _) in BROKEN.items():
        make_distribution(site, f"acme-{name}", {module_of(name): source})
    return {"PYTHONPATH": str(site)}


@pytest.fixture(scope="module")
def rows(broken: dict[str, str], pubench_in: Callable[[Path], Run], tmp_path_factory: pytest.TempPathFactory) -> Any:
    done = pubench_in(tmp_path_factory.mktemp("listing"))("list", "methods", "--format", "json", env=broken)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


class TestBrokenWhenListed:
    @pytest.mark.parametrize("name", BROKEN)
    def test_the_row_says_which_distribution_and_why(self, rows: list[dict[str, Any]], name: str) -> None:
        mine = [row for row in rows if row["package"] == f"acme-{name}"]
        assert mine
        for row in mine:
            assert (row["status"], row["version"]) == ("broken", "1.0")
            assert BROKEN[name][1] in row["reason"]

    def test_everything_else_is_listed_as_ok(self, rows: list[dict[str, Any]]) -> None:
        assert {row["key"] for row in rows if row["status"] == "ok"} >= {"nnpu", "upu", "pn"}
        assert all(row["status"] == "ok" for row in rows if row["package"].startswith("pubench-"))

    def test_the_table_shows_the_reason(self, pubench: Run, broken: dict[str, str]) -> None:
        done = pubench("list", "datasets", env=broken)
        assert (done.returncode, done.stderr) == (0, "")
        line = next(line for line in done.stdout.splitlines() if "acme-raises" in line)
        assert "broken: RuntimeError: the moon is wrong" in line

    def test_a_run_of_something_else_goes_on(self, pubench: Run, broken: dict[str, str]) -> None:
        done = pubench("run", "--method", "nnpu", *QUICK, env=broken)
        assert done.returncode == 0
        assert "acme" not in done.stderr + done.stdout

    @pytest.mark.parametrize("name", ["raises", "has-a-typo", "returns-numbers"])
    def test_the_doctor_shows_its_traceback(self, pubench: Run, broken: dict[str, str], name: str) -> None:
        done = pubench("doctor", f"acme-{name}", env=broken)
        assert (done.returncode, done.stderr) == (1, "")
        assert "Traceback" in done.stdout
        assert BROKEN[name][1] in done.stdout

    def test_running_it_is_refused_with_the_reason(self, pubench: Run, broken: dict[str, str]) -> None:
        done = pubench("run", "--method", "acme-raises", *QUICK, env=broken)
        line = error_line(done, 1)
        assert line.startswith("error: method 'acme-raises' of acme-raises 1.0 is broken: RuntimeError: the moon is")
        assert "pubench doctor acme-raises" in line


class TestPluginThatPrints:
    def test_what_it_prints_while_it_is_imported_does_not_mix_with_the_json(
        self, pubench: Run, tmp_path: Path, make_distribution: Make
    ) -> None:
        source = "print('welcome')\n" + OFFERS.format(returned="[info('acme-loud', 'a:b')]")
        site = make_distribution(tmp_path / "site", "acme-loud", {"acme_loud": source})
        done = pubench("list", "methods", "--format", "json", env={"PYTHONPATH": str(site)})
        assert done.returncode == 0
        assert "acme-loud" in {row["key"] for row in json.loads(done.stdout)}


class TestTakenKey:
    @pytest.fixture
    def rival(self, tmp_path: Path, make_distribution: Make) -> dict[str, str]:
        source = OFFERS.format(returned="[info('upu', 'a:b'), info('acme-free', 'a:b')]")
        return {"PYTHONPATH": str(make_distribution(tmp_path / "site", "acme-rival", {"acme_rival": source}))}

    def test_running_it_is_refused_and_others_run(self, pubench: Run, rival: dict[str, str]) -> None:
        done = pubench("run", "--method", "upu", *QUICK, env=rival)
        assert (done.returncode, done.stdout) == (1, "")
        assert "is also claimed by" in done.stderr
        assert pubench("run", "--method", "nnpu", *QUICK, env=rival).returncode == 0


METHODS = '''
import torch
from torch.nn import functional as F

from pubench.method import Method, TrainingConfig


class Tiny(Method[TrainingConfig]):
    """Labeled against unlabeled rows, by a linear model."""

    said = ""
    bad_step = 0

    def fit(self, data, run):
        self.net = torch.nn.Linear(data.shape[0], 1).to(run.device)
        optimizer = run.optimizer(self.net.parameters())
        for epoch in run.epochs(self.config.epochs):
            if self.said:
                print(self.said)
            for number, batch in enumerate(run.joint_batches(), 1):
                loss = F.binary_cross_entropy_with_logits(self.decision_function(batch.x), batch.labeled.float())
                if (epoch.total + 1, number) == (2, self.bad_step):
                    loss = loss * float("nan")
                run.step(loss, optimizer)

    def decision_function(self, x):
        return self.net(x).squeeze(-1)


class Chatty(Tiny):
    said = "hear this"


class NanLoss(Tiny):
    bad_step = 3


class Misshapen(Tiny):
    def decision_function(self, x):
        return self.net(x) if not torch.is_grad_enabled() else super().decision_function(x)


class Raises(Tiny):
    def fit(self, data, run):
        for epoch in run.epochs(5):
            self.net = torch.nn.Linear(data.shape[0], 1)
            if epoch.total == 1:
                raise ValueError("the tide\\ncame in")


class ReadsTruth(Tiny):
    def fit(self, data, run):
        self.truth = data.truth


class ReadsPrior(Tiny):
    def fit(self, data, run):
        self.prior = data.prior


class NoEpochs(Tiny):
    def fit(self, data, run):
        self.net = torch.nn.Linear(data.shape[0], 1)


class NothingKept(Tiny):
    scored_by = ("network",)


class NotAMethod:
    pass
'''
CLASSES = ["Tiny", "Chatty", "NanLoss", "Misshapen", "Raises"]
CLASSES += ["ReadsTruth", "ReadsPrior", "NoEpochs", "NothingKept", "NotAMethod"]
KEYS = {name: "acme" + "".join(f"-{c.lower()}" if c.isupper() else c for c in name) for name in CLASSES}


@pytest.fixture(scope="module")
def strangers(tmp_path_factory: pytest.TempPathFactory, make_distribution: Make) -> dict[str, str]:
    infos = [f"info({key!r}, 'acme_pu_methods:{name}')" for name, key in KEYS.items()]
    infos += ["info('acme-absent-module', 'acme_nowhere:X')", "info('acme-absent-class', 'acme_pu_methods:X')"]
    modules = {"acme_pu": OFFERS.format(returned=f"[{', '.join(infos)}]"), "acme_pu_methods": METHODS}
    return {"PYTHONPATH": str(make_distribution(tmp_path_factory.mktemp("site"), "acme-pu", modules))}


class TestSoundMethod:
    def test_a_sound_method_is_listed_and_runs_like_our_own(self, pubench: Run, strangers: dict[str, str]) -> None:
        found = json.loads(pubench("list", "methods", "--format", "json", env=strangers).stdout)
        row = next(row for row in found if row["key"] == "acme-tiny")
        assert (row["status"], row["package"], row["version"]) == ("ok", "acme-pu", "1.0")
        assert pubench("doctor", "acme-tiny", env=strangers).returncode == 0
        arguments = (*QUICK, "--set", "lr=0.1", "--select", "last", "--format", "json")
        done = pubench("run", "--method", "acme-tiny", *arguments, env=strangers)
        assert done.returncode == 0, done.stderr
        result = result_of(done)
        assert (result.epochs, result.oracle) == (3, False)
        assert result.code.parts["method acme-tiny"]
        assert result.code.versions["acme-pu"] == "1.0"
        assert result.test["auc"] > 0.6

    def test_what_it_prints_does_not_mix_with_the_json(self, pubench: Run, strangers: dict[str, str]) -> None:
        done = pubench("run", "--method", "acme-chatty", *QUICK, "--format", "json", env=strangers)
        assert done.returncode == 0
        assert result_of(done).epochs == 3
        assert done.stderr.count("hear this") == 3


class TestMethodThatDoesNotLoad:
    @pytest.mark.parametrize(
        ("key", "words"),
        [
            ("acme-absent-module", "No module named 'acme_nowhere'"),
            ("acme-absent-class", "has no attribute 'X'"),
            ("acme-not-a-method", "is not a subclass of pubench_core.method.Method"),
        ],
    )
    def test_the_doctor_and_a_run_say_why(
        self, pubench: Run, strangers: dict[str, str], key: str, words: str, tmp_path: Path
    ) -> None:
        checked = pubench("doctor", key, env=strangers)
        assert (checked.returncode, checked.stderr) == (1, "")
        assert f"method {key}  acme-pu 1.0: broken" in checked.stdout
        assert words in checked.stdout
        done = pubench("run", "--method", key, *QUICK, env=strangers)
        line = error_line(done, 1)
        assert words in line
        assert not (tmp_path / "results").exists()

    def test_the_doctor_counts_them_and_finds_the_rest_sound(self, pubench: Run, strangers: dict[str, str]) -> None:
        done = pubench("doctor", env=strangers)
        assert done.returncode == 0
        assert "3 broken" in done.stdout


class TestFailingRun:
    """Exit 1, one line, a failure record that says where, and no record of a result."""

    def failed(
        self, pubench: Run, folder: Path, key: str, env: Mapping[str, str], *arguments: Any
    ) -> tuple[str, Failure]:
        """The error line and the failure record."""
        done = pubench("run", "--method", key, *QUICK, *arguments, env=env)
        assert (done.returncode, done.stdout) == (1, "")
        assert "Traceback" not in done.stderr
        errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
        assert errors == done.stderr.splitlines()[-1:]
        (path,) = (folder / "results").rglob("failure.json")
        assert path.parent.parent == folder / "results" / "failed"
        assert path.parent.name.endswith("-1")
        assert str(path.relative_to(folder)) in errors[0]
        assert not list((folder / "results").rglob("result.json"))
        assert [p.name for p in (folder / "results" / ".incoming").iterdir() if p.name != ".lock"] == []
        found = Failure.model_validate_json(path.read_text())
        assert found.run_id == path.parent.name.removesuffix("-1")
        assert found.spec.method.key == key
        assert found.code.parts[f"method {key}"]
        assert found.environment.python
        return errors[0], found

    def test_a_loss_that_is_not_finite_names_stage_epoch_and_step(
        self, pubench: Run, tmp_path: Path, strangers: dict[str, str]
    ) -> None:
        line, record = self.failed(pubench, tmp_path, "acme-nan-loss", strangers)
        assert "loss is nan" in line
        assert "(stage train, epoch 2, step 3)" in line
        assert (record.cause, record.reason) == ("non-finite", "loss is nan")
        assert (record.stage, record.epoch, record.step) == ("train", 2, 3)

    def test_an_exception_in_fit_is_recorded_with_its_traceback(
        self, pubench: Run, tmp_path: Path, strangers: dict[str, str]
    ) -> None:
        line, record = self.failed(pubench, tmp_path, "acme-raises", strangers)
        assert "ValueError: the tide came in" in line
        assert (record.cause, record.reason) == ("error", "ValueError: the tide came in")
        assert 'raise ValueError("the tide' in record.traceback
        assert (record.stage, record.epoch) == ("train", 2)

    @pytest.mark.parametrize(
        ("key", "words"),
        [
            ("acme-reads-truth", "data.truth was read but Method.requires(config) does not name 'truth'"),
            ("acme-reads-prior", "data.prior was read but Method.requires(config) does not name 'prior'"),
            ("acme-no-epochs", "NoEpochs.fit never went through run.epochs"),
            ("acme-nothing-kept", "scored_by names 'network', which fit never set"),
            ("acme-misshapen", "Misshapen must return scores of shape (288,) for 288 rows, got shape (288, 1)"),
        ],
    )
    def test_a_broken_contract_is_named(
        self, pubench: Run, tmp_path: Path, strangers: dict[str, str], key: str, words: str
    ) -> None:
        line, record = self.failed(pubench, tmp_path, key, strangers)
        assert words in line
        assert record.cause == "error"
        assert words in record.reason

    def test_a_second_failure_is_kept_beside_the_first(
        self, pubench: Run, tmp_path: Path, strangers: dict[str, str]
    ) -> None:
        _, record = self.failed(pubench, tmp_path, "acme-nan-loss", strangers)
        pubench("run", "--method", "acme-nan-loss", *QUICK, env=strangers)
        names = {path.name for path in (tmp_path / "results" / "failed").iterdir()}
        assert names == {f"{record.run_id}-1", f"{record.run_id}-2"}


EARS = """
import json, os
from pubench_core import hookimpl

def note(**what):
    with open(os.environ["HEARD"], "a") as file:
        print(json.dumps(what), file=file)

@hookimpl
def pubench_run_started(event):
    note(hook="started", run=event.run_id, labeled=event.labeled, data=event.data)

@hookimpl
def pubench_epoch_finished(event):
    note(hook="epoch", run=event.run_id, epoch=event.epoch, stage=event.stage, criteria=list(event.criteria))

@hookimpl
def pubench_run_finished(event):
    epochs, cause = event.result and event.result.epochs, event.failure and event.failure.cause
    note(hook="finished", run=event.run_id, status=event.status, record=str(event.record), epochs=epochs, cause=cause)
"""
DEAF = """
from pubench_core import hookimpl

@hookimpl
def pubench_epoch_finished(event):
    raise OSError("deaf")
"""


class TestListeners:
    @pytest.fixture
    def listening(
        self, tmp_path: Path, make_distribution: Make, strangers: dict[str, str], tracking_database: Path
    ) -> dict[str, str]:
        """One listener that writes down what it hears, one that fails, and methods that fail."""
        (tmp_path / "results").mkdir()
        shutil.copy(tracking_database, tmp_path / "results")
        make_distribution(tmp_path / "site", "acme-ears", {"acme_ears": EARS})
        make_distribution(tmp_path / "site", "acme-deaf", {"acme_deaf": DEAF})
        site = os.pathsep.join([str(tmp_path / "site"), strangers["PYTHONPATH"]])
        return {"PYTHONPATH": site, "HEARD": str(tmp_path / "heard")}

    def heard(self, folder: Path) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (folder / "heard").read_text().splitlines()]

    def test_one_hears_everything_and_one_that_fails_is_reported_once(
        self, pubench: Run, tmp_path: Path, listening: dict[str, str]
    ) -> None:
        done = pubench("run", "--method", "nnpu", *TRACKED, "--format", "json", env=listening)
        assert done.returncode == 0
        result, record = result_of(done), json.loads(done.stdout)["record"]
        started, *epochs, finished = self.heard(tmp_path)
        assert (started["hook"], started["run"], started["labeled"]) == ("started", result.run_id, 57)
        assert started["data"] is None  # the counts of hidden positives come when the run is over
        assert all(e["criteria"] == ["pa", "pauc"] for e in epochs)
        assert [(e["hook"], e["epoch"], e["stage"]) for e in epochs] == [("epoch", n, "train") for n in (1, 2, 3)]
        assert (finished["hook"], finished["status"], finished["record"]) == ("finished", "finished", record)
        assert (finished["run"], finished["epochs"], finished["cause"]) == (result.run_id, 3, None)

        (warning,) = [line for line in done.stderr.splitlines() if "deaf" in line]
        assert warning.startswith("warning: listener acme_deaf failed in pubench_epoch_finished")
        assert "OSError: deaf" in warning
        alone = pubench("run", "--method", "nnpu", *QUICK, "--results", "alone", "--format", "json")
        assert result_of(alone).criteria == result.criteria

    def test_one_hears_of_a_failure(self, pubench: Run, tmp_path: Path, listening: dict[str, str]) -> None:
        assert pubench("run", "--method", "acme-nan-loss", *TRACKED, env=listening).returncode == 1
        last = self.heard(tmp_path)[-1]
        assert (last["hook"], last["status"]) == ("finished", "failed")
        assert (last["epochs"], last["cause"]) == (None, "non-finite")
        assert (tmp_path / last["record"] / "failure.json").exists()

    def test_none_is_called_with_no_tracking(self, pubench: Run, tmp_path: Path, listening: dict[str, str]) -> None:
        done = pubench("run", "--method", "nnpu", *QUICK, env=listening)
        assert done.returncode == 0
        assert "deaf" not in done.stderr
        assert not (tmp_path / "heard").exists()


MEASURES = """
from pubench_core import MetricInfo, hookimpl

def raises(view): raise ZeroDivisionError("no luck")

@hookimpl
def pubench_metrics():
    def info(key, load, **more):
        return MetricInfo(key=key, name=key, summary="", load=load, needs=frozenset({"truth"}), **more)
    return [OFFERED]
"""


class TestMetricThatFails:
    """Every installed metric is measured by default; one that fails loses its own value, and the run goes on."""

    @pytest.fixture
    def installed(self, tmp_path: Path, make_distribution: Make) -> Callable[[str], dict[str, str]]:
        """``installed(load)``: an environment with the metric acme-luck, which can choose an epoch."""

        def make(load: str) -> dict[str, str]:
            source = MEASURES.replace("OFFERED", f"info('acme-luck', {load!r}, criterion=True)")
            return {"PYTHONPATH": str(make_distribution(tmp_path / "site", "acme-measure", {"acme_measure": source}))}

        return make

    @pytest.mark.parametrize("load", ["acme_measure:raises", "acme_none:x"])
    def test_the_run_goes_on_without_its_value(
        self, pubench: Run, installed: Callable[[str], dict[str, str]], load: str
    ) -> None:
        done = pubench("run", "--method", "nnpu", *QUICK, "--format", "json", env=installed(load))
        assert done.returncode == 0, done.stderr.splitlines()[-1]
        result = result_of(done)
        assert 0 < (result.test["accuracy"] or 0) < 1
        assert result.test.get("acme-luck") is None
        assert "acme-luck" in done.stderr
        assert "acme-luck" not in result.criteria  # a metric of somebody else is tracked where it is named

    @pytest.mark.parametrize(
        "arguments",
        [
            ("--select", "acme-luck"),
            ("--set", "selection.criteria=[pa, acme-luck]"),
            ("--set", "evaluation.metrics=[acme-luck]"),
        ],
        ids=["chosen", "tracked", "measured"],
    )
    def test_named_though_it_does_not_load_it_is_refused_in_one_line(
        self, pubench: Run, installed: Callable[[str], dict[str, str]], arguments: tuple[str, ...]
    ) -> None:
        done = pubench("run", "--method", "nnpu", *QUICK, *arguments, env=installed("acme_none:x"))
        line = error_line(done, 1)
        assert line.startswith("error: metric 'acme-luck' cannot be loaded from acme_none:x: ")
        assert line.endswith("(pubench doctor acme-luck)")


REPLACES = """
import sys
from pubench_core import MetricInfo, hookimpl
import pubench_metrics_oracle.measures as theirs

def accuracy(view): return 0.9931
THEIRS.WHAT = accuracy

@hookimpl
def pubench_metrics():
    return []
"""


class TestFunctionOfAnother:
    """A hash is of a file; what is called must be what the file defines."""

    @pytest.mark.parametrize(
        ("theirs", "what", "named"),
        [
            ("theirs", "accuracy", "pubench_metrics_oracle.measures:accuracy"),
            ("theirs", "_ratio", "pubench_metrics_oracle.measures:_ratio"),
            ("__import__('pubench_upu.method').method.UPU", "fit", "pubench_upu.method:UPU.fit"),
            ("__import__('pubench_core.metric').metric", "measure", "pubench_core.metric:measure"),
        ],
    )
    def test_a_run_is_refused_and_names_who_replaced_it(
        self, pubench: Run, tmp_path: Path, make_distribution: Make, theirs: str, what: str, named: str
    ) -> None:
        source = REPLACES.replace("THEIRS", theirs).replace("WHAT", what)
        env = {"PYTHONPATH": str(make_distribution(tmp_path / "site", "acme-better", {"acme_better": source}))}
        done = pubench("run", "--method", "upu", *QUICK, cold=True, env=env)
        assert (done.returncode, done.stdout) == (1, "")
        assert f"{named} was replaced by a function of acme_better" in done.stderr.splitlines()[-1]

    def test_decorated_functions_are_their_file_s(self) -> None:
        refuse_replaced(registry().packages())


class TestMetricOfTwoPlugins:
    def test_every_run_says_that_it_is_missed(self, pubench: Run, tmp_path: Path, make_distribution: Make) -> None:
        source = MEASURES.replace("OFFERED", "info('accuracy', 'acme_rival:raises')")
        env = {"PYTHONPATH": str(make_distribution(tmp_path / "site", "acme-rival", {"acme_rival": source}))}
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


SOURCES = """
import numpy as np
from pubench_core import DatasetInfo, MechanismInfo, hookimpl
from pubench_core.data.dataset import ClassData
from pubench_core.data.source import DataSource
from pubench_core.mechanism import Mechanism

class Moons(DataSource):
    def read(self, files, root):
        rng = np.random.default_rng(0)
        y = np.arange(400) % 2
        return ClassData(x=(rng.normal(size=(400, 5)) + 2 * y[:, None]).astype(np.float32), y=y)

class Nonsense(DataSource):
    def read(self, files, root): return [1, 2, 3]

class Raises(DataSource):
    def read(self, files, root): raise KeyError("moon")

def function(root): return [1, 2, 3]

class First(Mechanism):
    def choose(self, x_pos, posterior_logit, n, rng): return np.arange(n)

class Twice(Mechanism):
    def choose(self, x_pos, posterior_logit, n, rng): return np.zeros(n, dtype=int)

@hookimpl
def pubench_datasets():
    def info(key):
        load = f"acme_sources:{key if key == 'function' else key.title()}"
        return DatasetInfo(key=f"acme-{key}", name=key, summary="", load=load, modality="tabular",
                           classes=("no", "yes"), positive=(1,), negative=(0,), backbone="mlp")
    return [info("moons"), info("nonsense"), info("raises"), info("function")]

@hookimpl
def pubench_mechanisms():
    def info(key, name):
        return MechanismInfo(key=key, name=name, summary="", load=f"acme_sources:{name}", assumption="SAR")
    return [info("acme-first", "First"), info("acme-twice", "Twice"), info("acme-odd", "Moons")]
"""


class TestSources:
    @pytest.fixture
    def sources(self, tmp_path: Path, make_distribution: Make) -> dict[str, str]:
        site = make_distribution(tmp_path / "site", "acme-sources", {"acme_sources": SOURCES})
        return {"PYTHONPATH": str(site)}

    def test_data_and_labels_of_somebody_else(self, pubench: Run, sources: dict[str, str]) -> None:
        request = (*QUICK, "--data", "acme-moons", "--mech", "acme-first", "--c", "0.25")
        done = pubench("run", "--method", "nnpu", *request, "--format", "json", env=sources)
        result = result_of(done)
        assert (
            result.data.train.positive == 128
        )  # of 200, less a fifth to test on, less a fifth of the rest to validate
        assert result.data.train.labeled == result.data.train.positive // 4
        assert result.code.parts["data acme-moons"] == result.data.digest
        assert result.code.parts["mechanism acme-first"]
        assert result.code.versions["acme-sources"] == "1.0"

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (("--data", "acme-nonsense"), "acme_sources:Nonsense returned list instead of ClassData"),
            (
                ("--data", "acme-function"),
                "acme_sources:function is not a subclass of pubench_core",
            ),
            (("--data", "digits", "--mech", "acme-twice"), "the mechanism chose 1 distinct positives instead of 57"),
            (("--data", "digits", "--mech", "acme-odd"), "acme-odd"),
        ],
        ids=["no-data", "no-source", "too-few-labels", "no-mechanism"],
    )
    def test_a_broken_contract_is_one_line(
        self, pubench: Run, sources: dict[str, str], arguments: tuple[str, ...], words: str
    ) -> None:
        done = pubench("run", "--method", "nnpu", "--no-tracking", *arguments, env=sources)
        line = error_line(done, 1)
        assert words in line

    def test_a_loader_that_raises_is_named_and_leaves_nothing_finished(
        self, pubench: Run, tmp_path: Path, sources: dict[str, str]
    ) -> None:
        done = pubench("run", "--method", "nnpu", *QUICK, "--data", "acme-raises", env=sources)
        assert (done.returncode, done.stdout) == (1, "")
        last = done.stderr.splitlines()[-1]
        assert "KeyError" in last
        assert "moon" in last
        assert not list((tmp_path / "results").rglob("result.json"))
