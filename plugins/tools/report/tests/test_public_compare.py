"""``pubench.compare``: several methods on several data sets, resumed, with failures that end no other run."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pubench_study.seeds import SEEDS

import pubench
from pubench import InvalidRequest, PubenchWarning, Results, compare
from pubench.running import run

pytestmark = [
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.filterwarnings("ignore::pubench.PubenchWarning"),  # one epoch is not enough to decide well
]

Compare = Callable[..., Results]
ONE_EPOCH = {"epochs": 1}


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Compare:
    """``compare`` of one epoch in an empty folder, saying nothing."""
    monkeypatch.chdir(tmp_path)

    def call(methods: Any, **more: Any) -> Results:
        usual = {"data": "digits", "seeds": 1, "config": ONE_EPOCH, "tracking": False, "progress": False, "threads": 1}
        return compare(methods, **{**usual, **more})

    return call


def settings_of(results: Results) -> list[tuple[str, str, int]]:
    return [(r.result.spec.method.key, r.result.spec.data.key, r.result.spec.seed) for r in results]


# ---------------------------------------------------------------- what is run


def test_every_method_is_run_on_all_data_with_all_seeds(small: Compare) -> None:
    """A list of seeds may be one that can be read once; a number means the first of the published protocol."""
    assert SEEDS == (2, 25, 42, 52, 99, 103, 250, 666, 777, 2026)
    results = small(["upu", "nnpu"], data=["digits", "breast-cancer"], seeds=iter([2, 25]))
    expected = [(m, d, s) for d in ("digits", "breast-cancer") for s in (2, 25) for m in ("upu", "nnpu")]
    assert settings_of(results) == expected
    table = results.table()
    assert (table.rows, table.columns) == (("upu", "nnpu"), ("digits", "breast-cancer"))
    assert {len(cell.values) for cell in table.cells.values()} == {2}


def test_a_run_of_a_comparison_is_the_run_that_run_gives(small: Compare) -> None:
    (one,) = small("nnpu", c=0.2, seeds=[7])
    alone = run("nnpu", "digits", c=0.2, seed=7, config=ONE_EPOCH, tracking=False, threads=1, results="elsewhere")
    assert alone.run_id == one.run_id
    assert alone.test == one.test


def test_two_settings_of_one_method_are_two_rows(small: Compare) -> None:
    methods = {"nnpu": "nnpu", "slow": {"method": "nnpu", "config": {"lr": 1e-6}}, "upu": {"prior": 0.4}}
    results = small(methods)
    assert results.methods == ("nnpu", "slow", "upu")
    rates = results.to_frame(config=["lr"])["config.lr"].tolist()
    assert rates[1] == 1e-6
    assert rates[0] != 1e-6
    assert [r.result.spec.method.config["epochs"] for r in results] == [1, 1, 1]
    assert results[2].result.data.prior.given == 0.4
    assert results.table().rows == ("nnpu [prior=true]", "slow [prior=true]", "upu [prior=0.4]")


def test_tables_of_the_caller_s_own_are_compared_on(small: Compare) -> None:
    x = np.random.default_rng(0).normal(size=(200, 3))
    truth = x[:, 0] > 0
    table = pubench.data(x, labeled=truth & (x[:, 1] < 0), truth=truth, name="mine")
    results = small(["nnpu", "upu"], data=[table, "digits"], seeds=2)
    assert results.data == ("mine", "digits")
    assert results.table().columns == (
        "mine [scheme=one-sample, mechanism=given]",
        "digits [scheme=case-control, mechanism=scar, c=0.1]",
    )


def test_everything_that_run_takes_can_be_given() -> None:
    """Seeds stand for the seed; the method is what is compared."""
    taken = set(inspect.signature(run).parameters) - {"method", "seed"}
    assert taken <= set(inspect.signature(compare).parameters)


def test_select_is_another_name_of_the_criterion(small: Compare) -> None:
    results = small(["nnpu", "upu"], data="digits", seeds=1, select="last")
    assert {one.result.selected for one in results} == {"last"}
    with pytest.raises(InvalidRequest, match="criterion='pa' and select='last' set the same argument; give one"):
        small(["nnpu", "upu"], data="digits", seeds=1, criterion="pa", select="last")


def test_what_is_given_reaches_every_run(small: Compare) -> None:
    given: dict[str, tuple[Any, str]] = {
        "c": (0.3, "mechanism.c"),
        "mechanism": ("s2", "mechanism.key"),
        "scheme": ("single-training-set", "data.scheme"),
        "positive": (iter([1, 3]), "data.positive"),
        "prior": (0.3, "prior"),
        "validation": (0.3, "validation.fraction"),
        "criterion": ("last", "selection.criterion"),
        "artifacts": (["trace"], "execution.artifacts"),
        "settings": ({"data.test_fraction": 0.3}, "data.test_fraction"),
    }
    both = small(["upu", "nnpu"], **{argument: value for argument, (value, _) in given.items()})
    runs = [*both, *small("upu", results="usual")]
    for argument, (_, field) in given.items():
        one, other, usual = (attrgetter(field)(run.result.spec) for run in runs)
        assert one == other != usual, argument


# ---------------------------------------------------------------- stored runs


def test_what_is_stored_is_not_run_again(small: Compare) -> None:
    assert [r.reused for r in small(["upu", "nnpu"])] == [False, False]
    again = small(["upu", "nnpu", "pn"])
    assert [r.reused for r in again] == [True, True, False]
    assert [r.reused for r in small("nnpu", force=True)] == [False]


def test_an_interrupted_comparison_goes_on_where_it_was(small: Compare) -> None:
    def interrupt(line: str) -> None:
        if line.startswith("[2/3]"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        small("nnpu", seeds=3, progress=interrupt)
    assert [r.reused for r in small("nnpu", seeds=3)] == [True, True, False]


# ---------------------------------------------------------------- failures


def test_a_run_that_fails_ends_no_other(small: Compare) -> None:
    diverging = {"method": "nnpu", "config": {"lr": 1e30, "optimizer": "sgd"}}
    results = small({"diverging": diverging, "upu": "upu"}, seeds=2)
    assert settings_of(results) == [("upu", "digits", 2), ("upu", "digits", 25)]
    assert [(f.name, f.spec.seed) for f in results.failures] == [("diverging", 2), ("diverging", 25)]
    assert {failure.cause for failure in results.failures} == {"non-finite"}
    table = results.table()
    assert table.rows == ("diverging", "upu")
    assert table.cells["diverging", "digits"].seeds == 2
    assert any(note.startswith("diverging on digits, seed 2: non-finite") for note in table.notes)
    assert "failed: diverging on digits, seed 25: non-finite" in repr(results)


def test_a_run_that_its_split_refuses_ends_no_other(small: Compare) -> None:
    """At this label frequency, 212 malignant rows leave too few labels, and the digits just enough."""
    results = small("nnpu", data=["breast-cancer", "digits"], c=0.006, criterion="last")
    assert settings_of(results) == [("nnpu", "digits", 2)]
    (failure,) = results.failures
    assert (failure.spec.data.key, failure.cause) == ("breast-cancer", "refused")


def test_files_that_are_not_there_are_said_once_before_anything_is_trained(small: Compare, tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match=r"spambase: no .* in"):
        small(["nnpu", "upu"], data=["digits", "spambase"], seeds=2, data_root=tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("methods", "more", "message"),
    [
        (["nnpu", "nnpuu"], {}, r"unknown method 'nnpuu'; did you mean 'nnpu'\?"),
        (["nnpu"], {"seeds": True}, "seeds must be .*, got True"),
        (["nnpu"], {"seeds": [1, 1]}, r"seeds must be .* list of different seeds .*, got \[1, 1\]"),
        (["nnpu"], {"seeds": []}, "seeds must be .* list of different seeds"),
        (["nnpu", "nnpu"], {}, "methods: 'nnpu' is given twice"),
        ([], {}, "methods must be .*, got nothing"),
        (3, {}, "methods must be .*, got 3"),
        (["nnpu"], {"data": np.zeros((3, 2))}, "data must be .*, got ndarray"),
        (
            ["nnpu"],
            {"data": ["my.csv"]},
            r"data must be a table made of the file: pubench.data\('my.csv', lab",
        ),
        (["nnpu"], {"data": []}, "data: .* given none"),
        ({"a": {"method": "nnpu", "c": 0.2}}, {}, r"methods\['a'\]: unknown setting 'c'; known: backbone"),
        ({"a": 3}, {}, r"methods\['a'\] must be a key or a mapping with .*, got 3"),
        ({"a": {"method": "nnpu", "config": 3}}, {}, r"methods\['a'\]: config must be a mapping of hyper-parameters"),
        ({"a": {"preset": "quick"}}, {}, "unknown method 'a'"),
        ({"a": "nnpu", "b": "nnpu"}, {}, "'b on digits, seed 2' is the same run as 'a on digits, seed 2'"),
    ],
)
def test_a_wrong_request_is_refused_before_anything_is_trained(
    small: Compare, tmp_path: Path, methods: Any, more: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidRequest, match=message) as refused:
        small(methods, **more)
    assert "\n" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------- what is said


def test_one_line_per_run_is_said(small: Compare, capsys: pytest.CaptureFixture[str]) -> None:
    lines: list[str] = []
    small(["upu", "pn"], progress=lines.append)
    assert [line.split(":")[0] for line in lines] == ["[1/2] upu on digits, seed 2", "[2/2] pn on digits, seed 2"]
    assert "accuracy 0." in lines[1]
    assert capsys.readouterr() == ("", "")
    small(["upu", "pn"], progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert [line.endswith("by pa, stored") for line in err.splitlines()] == [True, True]
    small("upu")
    assert capsys.readouterr() == ("", "")


def test_why_a_stored_run_is_run_again_is_said(small: Compare) -> None:
    small("nnpu", artifacts=["trace"])
    lines: list[str] = []
    small("nnpu", artifacts=["trace", "scores"], progress=lines.append)
    assert "the stored record has no scores; running again" in lines[0]


@pytest.mark.filterwarnings("error")
def test_warnings_of_runs_are_pointed_out_once(small: Compare) -> None:
    with pytest.warns(PubenchWarning) as heard:
        results = small(["upu", "nnpu"], config={"epochs": 2}, seeds=2)
    (warning,) = heard
    assert "of 4 runs have warnings: upu on digits (" in str(warning.message)
    assert str(warning.message) in results.table().notes
    assert warning.filename == __file__


def test_what_is_said_of_a_table_is_said_once(small: Compare) -> None:
    rng = np.random.default_rng(0)
    table = pubench.data(rng.normal(size=(200, 3)), labeled=np.arange(200) < 50, name="mine")
    lines: list[str] = []
    small(["nnpu", "upu"], data=table, prior=0.5, progress=lines.append)
    assert ["200 rows" in line for line in lines] == [True, False]
    assert all(" by pa, " in line for line in lines)
