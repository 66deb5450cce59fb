"""A plugin of somebody else: a sound one works like our own, a broken one breaks nothing but itself."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

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

#: What a plugin's entry-point module may do wrong -> words of the reason that the listing gives.
BROKEN = {
    "raises": ("raise RuntimeError('the moon is wrong')", "RuntimeError: the moon is wrong"),
    "exits": ("raise SystemExit('goodbye')", "SystemExit: goodbye"),
    "has-a-typo": ("def pubench_methods(:\n", "SyntaxError"),
    "needs-what-is-not-there": ("import a_module_that_nobody_has", "No module named 'a_module_that_nobody_has'"),
    "returns-text": (OFFERS.format(returned="'nnpu'"), "returned str; it must return a list of MethodInfo"),
    "returns-numbers": (OFFERS.format(returned="[42]"), "42; every item must be a MethodInfo"),
    "returns-nothing": (OFFERS.format(returned="None"), "returned NoneType"),
    "has-a-loud-key": (OFFERS.format(returned="[info('Loud Key', 'a:b')]"), "'Loud Key' must be lower-case"),
    "loads-a-path": (OFFERS.format(returned="[info('path', 'a/b.py')]"), "'package.module:attribute'"),
    "repeats-itself": (
        OFFERS.format(returned="[info('twice', 'a:b'), info('twice', 'a:c')]"),
        "'twice' is also claimed by",
    ),
    "fails-when-asked": (OFFERS.format(returned="1 / 0"), "ZeroDivisionError"),
    "has-no-hook": ("x = 1", "implements no pubench hook"),
    "misspells-a-hook": (
        "from pubench_core import hookimpl\n@hookimpl\ndef pubench_method(): return []",
        "did you mean 'pubench_methods'?",
    ),
    "asks-for-too-much": (
        "from pubench_core import hookimpl\n@hookimpl\ndef pubench_run_started(event, secrets): pass",
        "secrets",
    ),
}


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
        assert (done.returncode, done.stdout) == (1, "")
        (line,) = done.stderr.splitlines()
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
        source = OFFERS.format(returned="[info('upu', 'a:b'), info('acme-own', 'a:b')]")
        return {"PYTHONPATH": str(make_distribution(tmp_path / "site", "acme-rival", {"acme_rival": source}))}

    def test_it_is_usable_from_neither_and_each_row_names_the_other(self, pubench: Run, rival: dict[str, str]) -> None:
        found = json.loads(pubench("list", "methods", "--format", "json", env=rival).stdout)
        reasons = {row["package"]: row["reason"] for row in found if row["key"] == "upu"}
        assert reasons == {
            "acme-rival": "'upu' is also claimed by pubench-upu 0.1.0",
            "pubench-upu": "'upu' is also claimed by acme-rival 1.0",
        }
        assert all(row["status"] == "ok" for row in found if row["key"] in ("nnpu", "pn", "acme-own"))

    def test_running_it_is_refused_and_others_run(self, pubench: Run, rival: dict[str, str]) -> None:
        done = pubench("run", "--method", "upu", *QUICK, env=rival)
        assert (done.returncode, done.stdout) == (1, "")
        assert "is also claimed by" in done.stderr
        assert pubench("run", "--method", "nnpu", *QUICK, env=rival).returncode == 0


METHODS = '''
import warnings

import torch
from torch.nn import functional as F

from pubench_core.method import Method
from pubench_core.specs.config import MethodConfig


class Tiny(Method[MethodConfig]):
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
                loss = F.binary_cross_entropy_with_logits(self.score(batch.x), batch.labeled.float())
                if (epoch.total + 1, number) == (2, self.bad_step):
                    loss = loss * float("nan")
                run.step(loss, optimizer)

    def score(self, x):
        return self.net(x).squeeze(-1)


class Chatty(Tiny):
    said = "look at me"


class NanLoss(Tiny):
    bad_step = 3


class NanScores(Tiny):
    def score(self, x):
        return super().score(x) * (float("nan") if not torch.is_grad_enabled() else 1)


class Misshapen(Tiny):
    def score(self, x):
        return self.net(x) if not torch.is_grad_enabled() else super().score(x)


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
CLASSES = ["Tiny", "Chatty", "NanLoss", "NanScores", "Misshapen", "Raises", "ReadsTruth", "ReadsPrior"]
CLASSES += ["NoEpochs", "NothingKept", "NotAMethod"]
KEYS = {name: "acme" + "".join(f"-{c.lower()}" if c.isupper() else c for c in name) for name in CLASSES}


@pytest.fixture(scope="module")
def strangers(tmp_path_factory: pytest.TempPathFactory, make_distribution: Make) -> dict[str, str]:
    infos = [f"info({key!r}, 'acme_pu_methods:{name}')" for name, key in KEYS.items()]
    infos += ["info('acme-absent-module', 'acme_nowhere:X')", "info('acme-absent-class', 'acme_pu_methods:X')"]
    modules = {"acme_pu": OFFERS.format(returned=f"[{', '.join(infos)}]"), "acme_pu_methods": METHODS}
    return {"PYTHONPATH": str(make_distribution(tmp_path_factory.mktemp("site"), "acme-pu", modules))}


class TestSoundMethod:
    def test_it_is_listed_and_runs_like_our_own(self, pubench: Run, strangers: dict[str, str]) -> None:
        found = json.loads(pubench("list", "methods", "--format", "json", env=strangers).stdout)
        row = next(row for row in found if row["key"] == "acme-tiny")
        assert (row["status"], row["package"], row["version"]) == ("ok", "acme-pu", "1.0")
        assert pubench("doctor", "acme-tiny", env=strangers).returncode == 0
        asked = (*QUICK, "--set", "lr=0.1", "--select", "last", "--format", "json")
        done = pubench("run", "--method", "acme-tiny", *asked, env=strangers)
        told = json.loads(done.stdout)
        assert (done.returncode, told["epochs"], told["oracle"]) == (0, 3, False)
        assert any(name.startswith("acme-pu (acme_pu_methods)") for name in told["code"]["parts"])
        assert told["test"]["auc"] > 0.6

    def test_what_it_prints_does_not_mix_with_the_json(self, pubench: Run, strangers: dict[str, str]) -> None:
        done = pubench("run", "--method", "acme-chatty", *QUICK, "--format", "json", env=strangers)
        assert done.returncode == 0
        assert json.loads(done.stdout)["epochs"] == 3
        assert done.stderr.count("look at me") == 3


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
        assert (done.returncode, done.stdout) == (1, "")
        (line,) = done.stderr.splitlines()
        assert line.startswith("error: ")
        assert words in line
        assert not (tmp_path / "results").exists()

    def test_the_doctor_counts_them_and_finds_the_rest_sound(self, pubench: Run, strangers: dict[str, str]) -> None:
        done = pubench("doctor", env=strangers)
        assert done.returncode == 0
        assert "3 broken" in done.stdout


class TestFailingRun:
    """Exit 1, one line, a failure record that says where; nothing that looks finished."""

    def failed(
        self, pubench: Run, folder: Path, key: str, around: Mapping[str, str], *arguments: Any
    ) -> tuple[str, dict[str, Any]]:
        """The error line and the failure record."""
        done = pubench("run", "--method", key, *QUICK, *arguments, env=around)
        assert (done.returncode, done.stdout) == (1, "")
        assert "Traceback" not in done.stderr
        errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
        assert errors == done.stderr.splitlines()[-1:]
        (path,) = (folder / "results").rglob("failure.json")
        assert path.parent.parent == folder / "results" / "failed"
        assert path.parent.name.endswith("-1")
        assert str(path.relative_to(folder)) in errors[0]
        assert not list((folder / "results").rglob("result.json"))
        assert list((folder / "results" / ".incoming").iterdir()) == []
        found = json.loads(path.read_text())
        assert found["run_id"] == path.parent.name.removesuffix("-1")
        assert found["spec"]["method"]["key"] == key
        return errors[0], found

    def test_a_loss_that_is_not_finite_names_stage_epoch_and_batch(
        self, pubench: Run, tmp_path: Path, strangers: dict[str, str]
    ) -> None:
        line, record = self.failed(pubench, tmp_path, "acme-nan-loss", strangers)
        assert "loss is nan" in line
        assert "(stage train, epoch 2, batch 3)" in line
        assert (record["stage"], record["epoch"], record["batch"]) == ("train", 2, 3)
        assert record["reason"] == "loss is nan"

    def test_scores_that_are_not_finite_name_stage_and_epoch(
        self, pubench: Run, tmp_path: Path, strangers: dict[str, str]
    ) -> None:
        line, record = self.failed(pubench, tmp_path, "acme-nan-scores", strangers)
        assert "the score of row 0 is nan" in line
        assert "(stage train, epoch 1)" in line
        assert (record["stage"], record["epoch"]) == ("train", 1)

    def test_an_exception_in_fit_is_recorded_with_its_traceback(
        self, pubench: Run, tmp_path: Path, strangers: dict[str, str]
    ) -> None:
        line, record = self.failed(pubench, tmp_path, "acme-raises", strangers)
        assert "ValueError: the tide came in" in line
        assert record["reason"] == "ValueError: the tide\ncame in"
        assert 'raise ValueError("the tide' in record["traceback"]
        assert (record["stage"], record["epoch"]) == ("train", 2)
        assert record["environment"]["python"]
        assert any("acme_pu_methods" in name for name in record["code"]["parts"])

    @pytest.mark.parametrize(
        ("key", "words"),
        [
            ("acme-reads-truth", "data.truth was read but Method.requires(config) does not name 'truth'"),
            ("acme-reads-prior", "data.prior was read but Method.requires(config) does not name 'prior'"),
            ("acme-no-epochs", "NoEpochs.fit never went through run.epochs"),
            ("acme-nothing-kept", "scored_by names 'network', which fit never set"),
            ("acme-misshapen", "(288,) is right"),
        ],
    )
    def test_a_broken_contract_is_named(
        self, pubench: Run, tmp_path: Path, strangers: dict[str, str], key: str, words: str
    ) -> None:
        line, record = self.failed(pubench, tmp_path, key, strangers)
        assert words in line
        assert words in record["reason"]

    def test_a_second_failure_is_kept_beside_the_first(
        self, pubench: Run, tmp_path: Path, strangers: dict[str, str]
    ) -> None:
        _, record = self.failed(pubench, tmp_path, "acme-nan-loss", strangers)
        pubench("run", "--method", "acme-nan-loss", *QUICK, env=strangers)
        names = {path.name for path in (tmp_path / "results" / "failed").iterdir()}
        assert names == {f"{record['run_id']}-1", f"{record['run_id']}-2"}


EARS = """
import json, os
from pubench_core import hookimpl

def note(**what):
    with open(os.environ["HEARD"], "a") as file:
        print(json.dumps(what), file=file)

@hookimpl
def pubench_run_started(event):
    note(hook="started", run=event.run_id, labeled=event.facts["train"]["labeled"])

@hookimpl
def pubench_epoch_finished(event):
    note(hook="epoch", run=event.run_id, epoch=event.epoch, stage=event.stage)

@hookimpl
def pubench_run_finished(event):
    note(hook="finished", run=event.run_id, status=event.status, record=str(event.record))
"""
DEAF = """
from pubench_core import hookimpl

@hookimpl
def pubench_epoch_finished(event):
    raise OSError("deaf")
"""


class TestListeners:
    @pytest.fixture
    def around(self, tmp_path: Path, make_distribution: Make, strangers: dict[str, str]) -> dict[str, str]:
        """One listener that writes down what it hears, one that fails, and methods that fail."""
        make_distribution(tmp_path / "site", "acme-ears", {"acme_ears": EARS})
        make_distribution(tmp_path / "site", "acme-deaf", {"acme_deaf": DEAF})
        site = os.pathsep.join([str(tmp_path / "site"), strangers["PYTHONPATH"]])
        return {"PYTHONPATH": site, "HEARD": str(tmp_path / "heard")}

    def heard(self, folder: Path) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (folder / "heard").read_text().splitlines()]

    def test_one_hears_everything_and_one_that_fails_is_reported_once(
        self, pubench: Run, tmp_path: Path, around: dict[str, str]
    ) -> None:
        done = pubench("run", "--method", "nnpu", *TRACKED, "--format", "json", env=around)
        assert done.returncode == 0
        told = json.loads(done.stdout)
        started, *epochs, finished = self.heard(tmp_path)
        assert (started["hook"], started["run"], started["labeled"]) == ("started", told["run_id"], 57)
        assert [(e["hook"], e["epoch"], e["stage"]) for e in epochs] == [("epoch", n, "train") for n in (1, 2, 3)]
        assert (finished["hook"], finished["status"], finished["record"]) == ("finished", "finished", told["record"])

        (warning,) = [line for line in done.stderr.splitlines() if "deaf" in line]
        assert warning.startswith("warning: listener acme_deaf failed in pubench_epoch_finished")
        assert "OSError: deaf" in warning
        alone = json.loads(pubench("run", "--method", "nnpu", *QUICK, "--results", "alone", "--format", "json").stdout)
        assert alone["criteria"] == told["criteria"]

    def test_one_hears_of_a_failure(self, pubench: Run, tmp_path: Path, around: dict[str, str]) -> None:
        assert pubench("run", "--method", "acme-nan-loss", *TRACKED, env=around).returncode == 1
        last = self.heard(tmp_path)[-1]
        assert (last["hook"], last["status"]) == ("finished", "failed")
        assert (tmp_path / last["record"] / "failure.json").exists()

    def test_none_is_told_with_no_tracking(self, pubench: Run, tmp_path: Path, around: dict[str, str]) -> None:
        done = pubench("run", "--method", "nnpu", *QUICK, env=around)
        assert done.returncode == 0
        assert "deaf" not in done.stderr
        assert not (tmp_path / "heard").exists()


MEASURES = """
from pubench_core import MetricInfo, hookimpl

def raises(view): raise ZeroDivisionError("no luck")
def nan(view): return float("nan")
def text(view): return "high"

@hookimpl
def pubench_metrics():
    def info(key, load, **more):
        return MetricInfo(key=key, name=key, summary="", load=load, tag="oracle", needs=frozenset({"truth"}), **more)
    return [OFFERED]
"""


class TestMetricThatFails:
    """Every installed metric is measured by default; one that fails costs its own value, not the run."""

    @pytest.mark.parametrize("criterion", [False, True], ids=["measure", "criterion"])
    @pytest.mark.parametrize("load", ["acme_measure:raises", "acme_measure:nan", "acme_measure:text", "acme_none:x"])
    def test_the_run_goes_on_without_its_value(
        self, pubench: Run, tmp_path: Path, make_distribution: Make, load: str, criterion: bool
    ) -> None:
        source = MEASURES.replace("OFFERED", f"info('acme-luck', {load!r}, criterion={criterion})")
        site = make_distribution(tmp_path / "site", "acme-measure", {"acme_measure": source})
        done = pubench("run", "--method", "nnpu", *QUICK, "--format", "json", env={"PYTHONPATH": str(site)})
        assert done.returncode == 0, done.stderr.splitlines()[-1]
        told = json.loads(done.stdout)
        assert 0 < told["test"]["accuracy"] < 1
        assert told["test"].get("acme-luck") is None
        assert "acme-luck" in done.stderr

    def test_asking_for_it_is_answered_by_one_line(self, pubench: Run, tmp_path: Path, make_distribution: Make) -> None:
        source = MEASURES.replace("OFFERED", "info('acme-luck', 'acme_none:x', criterion=True)")
        site = make_distribution(tmp_path / "site", "acme-measure", {"acme_measure": source})
        asked = ("--select", "acme-luck")
        done = pubench("run", "--method", "nnpu", *QUICK, *asked, env={"PYTHONPATH": str(site)})
        assert (done.returncode, done.stdout) == (1, "")
        last = done.stderr.splitlines()[-1]
        assert last.startswith("error: ")
        assert "acme-luck" in last
        assert "acme_none" in last


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
        asked = (*QUICK, "--data", "acme-moons", "--mech", "acme-first", "--c", "0.25")
        done = pubench("run", "--method", "nnpu", *asked, "--format", "json", env=sources)
        told = json.loads(done.stdout)
        assert told["data"]["train"]["labeled"] == told["data"]["train"]["positive"] // 4
        assert "acme-sources (acme_sources)" in told["code"]["parts"]

    @pytest.mark.parametrize(
        ("asked", "words"),
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
        self, pubench: Run, sources: dict[str, str], asked: tuple[str, ...], words: str
    ) -> None:
        done = pubench("run", "--method", "nnpu", "--no-tracking", *asked, env=sources)
        assert (done.returncode, done.stdout) == (1, "")
        (line,) = done.stderr.splitlines()
        assert line.startswith("error: ")
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
