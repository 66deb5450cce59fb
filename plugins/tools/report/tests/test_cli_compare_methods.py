"""``pubench compare-methods``: a table and tests of differences in one command, on ``pubench.compare``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from printed import Done, Run
from pubench_report.cli import compare_methods
from pubench_report.grouping import FailedRun
from refusals import error_line

import pubench
from pubench_cli import machine
from pubench_cli.options import Given

SHORT = ("--set", "epochs=1", "--no-tracking", "--threads", "1")


@pytest.fixture(scope="module")
def done(here: Run) -> Done:
    """Two methods, two data sets, two seeds."""
    return here("compare-methods", "vpu", "nnpu", "--data", "digits,breast-cancer", "--seeds", "2", *SHORT)


def test_one_command_gives_the_table_and_the_tests(done: Done) -> None:
    assert done.returncode == 0, done.stderr
    lines = done.stdout.strip().splitlines()
    assert " first" in lines[0]  # the verdict
    assert lines[2:4] == [
        "Results",
        "Accuracy at the prior, %, on test rows, mean ± sample standard deviation over seeds; epochs selected by pa.",
    ]
    table = lines.index("method  digits (2 seeds)  breast-cancer (2 seeds)")
    assert [line.split()[0] for line in lines[table + 1 : table + 3]] == ["vpu", "nnpu"]
    (head,) = [line.split() for line in lines if "difference to vpu" in line]
    assert head == ["data", "method", "pairs", "difference", "to", "vpu", "p", "adjusted", "p", "decision"]
    assert len([line for line in lines if line.startswith(("digits ", "breast-cancer "))]) == 2
    assert "Two-sided paired t-test" in done.stdout
    notes = [line for line in lines if line.startswith("note: ")]
    assert len(notes) == len({*notes})  # no note is said twice
    assert "[8/8] nnpu on breast-cancer, seed 25: accuracy" in done.stderr
    assert "to_frame" not in done.stdout


def test_stored_runs_are_reused_and_the_figures_are_those_of_the_records(done: Done, here: Run, home: Path) -> None:
    again = here(
        *("compare-methods", "vpu", "nnpu", "--data", "digits,breast-cancer", "--seeds", "2,25", *SHORT),
        *("--baseline", "nnpu", "--measure", "auc", "--format", "json"),
    )
    assert again.returncode == 0, again.stderr
    found = json.loads(again.stdout)
    assert all(run["reused"] for run in found["runs"])
    assert len(found["runs"]) == 8
    results = pubench.load_results(home / "results")
    tests = results.significance("auc", reference="nnpu").to_frame().set_index("data")
    means = results.table("auc").to_frame().set_index(["method", "data"])["mean"]
    for cell in found["cells"]:
        assert cell["mean"] == pytest.approx(means[cell["method"], cell["data"]])
        if cell["method"] == "vpu":
            assert cell["baseline"] == "nnpu"
            assert cell["difference"] == pytest.approx(tests.loc[cell["data"], "difference"])
    assert len(found["cells"]) == 4
    assert [one["why"] for one in found["ranks"]] == ["2 methods are ranked, and 3 are needed"]


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("nnpu", "--data", "digits"), "expected at least two methods"),
        (("nnpu", "vpu", "--data", "my.csv", "--label-col", "s"), "cannot read my.csv: No such file or directory"),
        (("nnpu", "vpu", "--data", "digits", "--label-col", "s"), "--label-col needs a table of your own (my.csv)"),
        (("nnpu", "vpu", "--data", ","), "--data must name data sets, with commas between"),
        (("nnpu", "vpu", "--data", "digits", "--out", "a.xyz"), "--out a.xyz: expected a name that ends in .html"),
        (("nnpu", "vpu", "--data", "digits", "--baseline", "upu"), "--baseline upu: expected one of the methods"),
        (("nnpu", "vpu", "--data", "digits", "--measure", "acuracy"), "unknown measure 'acuracy'; did you mean"),
        (("nnpu", "vpu", "--data", "digits", "--c", "3"), "--c: given '3'"),
        (("nnpu", "vpu", "--data", "digits", "--set", "bogus=1"), "--set bogus=1"),
        (("nnpu", "puet", "--data", "digits", "--set", "lr=0.1"), "here it holds for every method; a study can give"),
    ],
)
def test_a_wrong_request_is_refused_before_anything_is_trained(
    words: tuple[str, ...], error: str, tmp_path: Path, pubench_within: Run
) -> None:
    assert error in error_line(pubench_within("compare-methods", *words, "--no-tracking"))
    assert not (tmp_path / "results").exists()


@pytest.fixture(scope="module")
def own(home: Path) -> Path:
    """A table with labels and true labels: 60 of 200 rows are positive, 30 of them labeled."""
    rng = np.random.default_rng(0)
    truth = np.arange(200) < 60
    columns = {"a": rng.normal(size=200) + 2 * truth, "b": rng.normal(size=200), "labeled": np.arange(200) < 30}
    frame = pd.DataFrame({**columns, "truth": truth.astype(int)})
    frame.drop(columns="truth").to_csv(home / "own.csv", index=False)
    frame.to_csv(home / "true.csv", index=False)
    return home / "own.csv"


OWN = ("--label-col", "labeled", "--prior", "0.3", "--seeds", "2", "--preset", "quick", *SHORT)


def test_methods_are_compared_on_a_table_of_ones_own_by_measures_that_need_no_true_labels(
    here: Run, own: Path, home: Path
) -> None:
    done = here("compare-methods", "vpu", "nnpu", "--data", "own.csv", *OWN)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.strip().splitlines()
    titles = [line.partition(", mean")[0] for line in lines if "mean ± sample" in line]
    assert titles == ["PA, on validation rows", "PAUC, on validation rows"]
    assert len([line for line in lines if line.startswith(("vpu  ", "nnpu  "))]) == 4
    assert lines.count("note: every method has its preset quick") == 2
    assert "note: pauc is measured on validation rows, which chose the epochs, and assumes that labeled" in done.stdout
    assert "nothing is decided over 2 seeds: more seeds (such as 10)" in done.stdout
    found = json.loads(here("compare-methods", "vpu", "nnpu", "--data", "own.csv", *OWN, "--format", "json").stdout)
    assert all(run["reused"] for run in found["runs"])
    assert [cell["measure"] for cell in found["cells"]] == ["pa", "pa", "pauc", "pauc"]
    assert {cell["part"] for cell in found["cells"]} == {"validation"}
    table = pubench.load_results(home / "results").where(data="own.csv").table("pa", part="validation")
    assert found["cells"][0]["mean"] == pytest.approx(table.cells["vpu", "own.csv"].mean)


def test_criteria_measures_and_reports_that_need_true_labels_are_refused_for_such_a_table(
    here: Run, own: Path, home: Path
) -> None:
    for words, error in (
        (("--select", "f1"), "criterion 'f1' needs true labels and own.csv has none; --truth-col COLUMN names them"),
        (("--measure", "auc"), "--measure auc needs true labels and own.csv has none; --truth-col COLUMN names them"),
        (("--out", "a.tex"), "--out a.tex: a report shows measures on test rows, and own.csv has no true labels"),
    ):
        assert error in error_line(here("compare-methods", "vpu", "nnpu", "--data", "own.csv", *OWN, *words))


def test_a_table_with_true_labels_is_measured_on_test_rows_next_to_a_data_set_and_in_a_report(
    here: Run, own: Path, home: Path
) -> None:
    words = ("--data", "true.csv,digits", "--truth-col", "truth", *OWN, "--out", "report.tex")
    done = here("compare-methods", "vpu", "nnpu", *words)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.strip().splitlines()
    assert lines[3].startswith("Accuracy at the prior, %, on test rows, mean ±")
    heads = dict.fromkeys(line.split()[1] for line in lines if line.startswith("method ") and "seeds" in line)
    assert [*heads] == ["true.csv", "digits"]  # each has a table by both decisions
    assert "written: report.tex" in done.stderr
    assert "\\begin{tabular}" in (home / "report.tex").read_text()


def test_where_every_run_failed_the_exit_code_is_1(tmp_path: Path, pubench_in: Callable[[Path], Run]) -> None:
    words = ("compare-methods", "nnpu", "upu", "--data", "breast-cancer", "--c", "0.006", "--seeds", "1")
    done = pubench_in(tmp_path)(*words, "--no-tracking", "--select", "last")
    assert (done.returncode, done.stdout) == (1, "")
    assert "error: no run has a result, so nothing can be compared; the first failure: nnpu on" in done.stderr


def test_a_run_that_failed_is_said_and_makes_the_exit_code_1(
    done: Done,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    finished = pubench.load_results(home / "results")
    failed = FailedRun("vpu", "0" * 16, finished[0].result.spec, "out-of-memory", "the machine is full")
    both = pubench.Results([*finished, failed])
    monkeypatch.setattr(compare_methods, "results_of", lambda *runs: both)
    monkeypatch.setattr(machine, "_printed", False)
    assert not compare_methods.compare_methods(Given(), ["vpu", "nnpu"], "digits,breast-cancer", "2", as_json=True)
    found = json.loads(capsys.readouterr().out)
    (line,) = found["failures"]
    assert line.endswith("out-of-memory: the machine is full")
    assert len(found["runs"]) == len(finished)
