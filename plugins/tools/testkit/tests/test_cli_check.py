"""``pubench check``: a report of every conformance check, for a method or for all methods of a package."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pubench_testkit.cli import print_report
from pubench_testkit.conformance import CHECKS, Finding

from pubench_cli.console import out

Run = Callable[..., Any]
Make = Callable[..., Path]

RESTLESS = """
import os
import torch
from pubench_core import MethodInfo, hookimpl

@hookimpl
def pubench_methods():
    return [MethodInfo(key="acme-restless", name="Restless", summary="draws from the system",
                       load="acme_restless_method:Restless")]
"""
METHOD = """
import os
import torch
from pubench.method import Field, Method, TrainingConfig
from torch.nn.functional import binary_cross_entropy_with_logits as bce

class Config(TrainingConfig):
    epochs: int = Field(2, ge=1, description="epochs")

class Restless(Method[Config]):
    def fit(self, data, run):
        self.net = run.backbone()
        optimizer = run.optimizer(self.net.parameters())
        for _ in run.epochs(self.config.epochs):
            for batch in run.joint_batches():
                run.step(bce(self.net(batch.x), batch.labeled.float()), optimizer)
        with torch.no_grad():
            self.net.head.bias += int.from_bytes(os.urandom(2), "big") / 65536

    def decision_function(self, x):
        return self.net(x)
"""


def test_a_method_that_conforms_is_a_table_with_a_row_per_check(pubench: Run) -> None:
    done = pubench("check", "nnpu")
    assert done.returncode == 0, done.stderr
    for check in CHECKS:
        assert check in done.stdout
    assert "passed" in done.stdout.splitlines()[-1]
    assert "failed" not in done.stdout


@pytest.fixture
def restless(pubench: Run, tmp_path: Path, make_distribution: Make) -> Run:
    modules = {"acme_restless": RESTLESS, "acme_restless_method": METHOD}
    site = make_distribution(tmp_path / "site", "acme-restless", modules)
    return lambda *arguments: pubench(*arguments, env={"PYTHONPATH": str(site)})


@pytest.mark.parametrize("name", ["acme-restless"])
def test_one_that_does_not_is_exit_1_and_named_with_what_failed(restless: Run, name: str) -> None:
    done = restless("check", name, "--format", "json")
    assert done.returncode == 1
    found = {f["check"]: f for f in json.loads(done.stdout)["acme-restless"]}
    assert not found["same-seed-same-scores"]["ok"]
    assert "the same seed twice" in found["same-seed-same-scores"]["reason"]
    assert not found["light-info"]["ok"]  # its entry point imports torch
    assert found["schemes"]["ok"]
    last = done.stderr.splitlines()[-1]
    assert last.startswith("error: ")
    assert "acme-restless same-seed-same-scores" in last


def test_a_reason_is_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    out.cache_clear()
    print_report("acme", [Finding(check, "failed", "it broke", 0.1) for check in ("schemes", "calibration", "needs")])
    rows = [line.rstrip() for line in capsys.readouterr().out.splitlines() if "failed" in line]
    assert [row.partition("0.1")[2].strip() for row in rows[:3]] == ["it broke", "as schemes", "as schemes"]


def test_an_unknown_name_is_one_line(pubench: Run) -> None:
    done = pubench("check", "nnpuu")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: unknown method or package 'nnpuu'; did you mean 'nnpu'?\n"
