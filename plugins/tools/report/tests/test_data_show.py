"""``pubench data show``: what is counted is what a run would train on, and the numbers above it are its facts."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pubench_report import data_show as shown
from pubench_report.data_show import class_counts, heading, plan_of
from sklearn.datasets import load_digits

from pubench_cli.messages import said
from pubench_cli.options import Given, option
from pubench_cli.run import plan_of as plan_of_run
from pubench_core.data.dataset import DataRoot
from pubench_core.engine.build import build_problem
from pubench_core.engine.problem import Problem
from pubench_core.errors import RequestError
from pubench_core.plugins.info import DatasetInfo, MethodInfo
from pubench_core.plugins.registry import registry
from pubench_core.specs import Scheme

SCHEMES: tuple[Scheme, ...] = ("case-control", "single-training-set")
MECHANISMS = ("scar", "s2", "s3", "s4")
NO_FILES = DataRoot(Path("nowhere"), "a test")
DIGITS = "digits"


@pytest.fixture(autouse=True)
def _caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PUBENCH_CACHE", str(tmp_path / "cache"))


def given(**values: Any) -> Given:
    """Options by the names of their parameters: ``given(c="0.25")`` is ``--c 0.25``."""
    return Given(tuple((option("--" + name.replace("_", "-")), value) for name, value in values.items()))


def problem(key: str, **options: Any) -> Problem:
    return build_problem(plan_of(registry(), key, given(**options)), root=NO_FILES)


# ------------------------------------------------------------------ the same split as a run


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("mech", MECHANISMS)
def test_the_split_is_that_of_a_run_with_the_same_seed(scheme: str, mech: str) -> None:
    labels = {"mech": mech, "scheme": scheme, "c": "0.25", "seed": 7}
    of_run = build_problem(plan_of_run(given(method="upu", data=DIGITS, **labels), [], None)).split
    of_table = problem(DIGITS, **labels).split
    assert of_run.train.n_labeled > 100
    for part in ("train", "validation"):
        np.testing.assert_array_equal(getattr(of_table, part).rows, getattr(of_run, part).rows)
        np.testing.assert_array_equal(getattr(of_table, part).labeled, getattr(of_run, part).labeled)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_counts_and_prior_of_the_heading_are_those_of_the_record(scheme: str) -> None:
    plan = plan_of(registry(), DIGITS, given(scheme=scheme))
    facts = build_problem(plan, root=NO_FILES).facts()
    lines = heading(plan, facts)
    n, share = {
        "case-control": ("1,149", "570 / 1,149 = 0.4961"),
        "single-training-set": ("1,092", "513 / 1,092 = 0.4698"),
    }[scheme]
    assert lines == (
        "Digits 8x8",
        f"scar (s1), c = 0.1, {scheme}, seed 2",
        f"57 labeled positives, {n} unlabeled rows U; prior 0.4961, in U {share}",
    )
    assert facts.train.labeled == 57
    assert f"{facts.train.unlabeled:,}" == n
    assert facts.prior.true == pytest.approx(0.4961, abs=5e-5)


# ------------------------------------------------------------------ classes and propensities


def test_class_counts_are_of_the_training_pool() -> None:
    of_digits = problem(DIGITS, mech="s3")
    y = load_digits().target
    counts = class_counts(of_digits, registry().find(DatasetInfo, DIGITS))
    assert list(counts) == list("0246813579")
    train = of_digits.split.train
    for name, (labeled, hidden, negative) in counts.items():
        of_class = y[train.rows] == int(name)
        assert (labeled + hidden + negative, labeled) == (of_class.sum(), (of_class & train.labeled).sum())
    facts = of_digits.facts().train
    labeled, hidden, negative = (sum(of) for of in zip(*counts.values(), strict=True))
    assert (labeled, labeled + hidden, negative) == (facts.labeled, facts.positive, facts.negative)


# ------------------------------------------------------------------ the command


def test_the_table_has_every_class_once(capsys: pytest.CaptureFixture[str]) -> None:
    shown.show(DIGITS, given(offline=True, mech="s3"))
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["Digits 8x8", "sar-lbe-b (s3), c = 0.1, case-control, seed 2"]
    rows = {line.split()[0]: line.split()[1:] for line in lines[4:]}
    assert list(rows) == list("0246813579")
    assert sum(int(row[0]) for row in rows.values()) == 57
    assert rows["1"][:2] == ["0", "0"]
    assert all(row[3].endswith("%") for name, row in rows.items() if name in "02468")


def test_json_has_the_counts_of_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    shown.show(DIGITS, given(offline=True), as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert sum(of["labeled"] for of in found["classes"].values()) == 57
    assert found["problem"][0] == "Digits 8x8"


@pytest.mark.parametrize(
    ("key", "changed", "message"),
    [
        ("digit", {}, "unknown dataset 'digit'; did you mean 'digits'? (pubench list datasets)"),
        (DIGITS, {"mech": "s9"}, "unknown mechanism 's9'"),
        (
            DIGITS,
            {"mech": "given"},
            "mechanism given is for a table of your own; --data my.csv and --label-col COLUMN name it",
        ),
        (DIGITS, {"c": "1.5"}, "--c: given '1.5'; c must be a number in (0, 1]"),
        (DIGITS, {"c": "many"}, "--c: given 'many'; c must be a number in (0, 1]"),
        (DIGITS, {"c": "0.001"}, "c = 0.001 labels nobody"),
        (DIGITS, {"scheme": "one-sample", "c": "0.1"}, "--c: scheme one-sample labels a share of P and U together"),
        (DIGITS, {"scheme": "two-sample", "total": 9000}, "--total 9000: digits allows"),
        (DIGITS, {"scheme": "other"}, "--scheme: given 'other'"),
        (DIGITS, {"seed": -1}, "--seed: given -1"),
    ],
)
def test_a_request_that_cannot_be_met_is_refused(key: str, changed: dict[str, Any], message: str) -> None:
    with pytest.raises(RequestError) as refused:
        shown.show(key, given(offline=True, **changed))
    assert said(refused.value).startswith(message)


def test_any_method_that_loads_will_do() -> None:
    methods = [
        SimpleNamespace(key="oracle", needs=frozenset({"truth"}), load="absent:Absent"),
        SimpleNamespace(key="aaa", kind="method", needs=frozenset(), load="absent_module:Absent"),
    ]
    plugins: Any = SimpleNamespace(infos=lambda kind: [*methods, registry().find(MethodInfo, "upu")])
    assert shown._any_method(plugins) == "upu"
    with pytest.raises(RequestError, match="no method is installed"):
        shown._any_method(SimpleNamespace(infos=lambda kind: methods))  # type: ignore[arg-type]
