"""``pubench check``: a report of every conformance check, for a method or for all methods of a package."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from printed import Run
from pubench_testkit.cli import print_report
from pubench_testkit.conformance import CHECKS, Finding
from refusals import error_line

from pubench_cli.console import out

Make = Callable[..., Path]

DOUBLES = Path(__file__).parents[4] / "tests" / "doubles"
#: Of the doubles, the one that draws from the system. Their module imports torch.
RESTLESS = """
from pubench_core import hookimpl
from pubench_nonconforming import Restless, info_of

@hookimpl
def pubench_methods():
    return [info_of(Restless, key="acme-restless")]
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
    modules = {
        "acme_restless": RESTLESS,
        "pubench_nonconforming": (DOUBLES / "pubench_nonconforming.py").read_text(),
    }
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
    assert error_line(pubench("check", "nnpuu")) == "error: unknown method or package 'nnpuu'; did you mean 'nnpu'?"
