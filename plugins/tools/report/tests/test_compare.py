"""``pubench study compare``: only what was run alike is compared, and what is left out is said."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from made_results import made_result
from pubench_report import results
from pubench_report.cli import compare as command
from pubench_report.comparison import beside_published, beside_results, compare_with
from pubench_report.published import NOT_RELEASED, source
from pubench_report.results import Results, load_results

from pubench.field_names import InvalidRequest
from pubench.running import RunResult
from pubench_cli import console, machine
from pubench_core.engine.layers import Layer
from pubench_core.engine.resolve import resolve
from pubench_core.errors import RequestError
from pubench_core.plugins.info import MetricInfo
from pubench_core.plugins.registry import registry
from pubench_core.results import CriterionResult, Measure

PROTOCOL: dict[str, Any] = {
    "method": {"key": "nnpu", "preset": "pubench"},
    "data": {"key": "spambase"},
    "validation": {"fraction": 0.01},
    "selection": {"criterion": "f1"},
}
ROOT = Path(__file__).parents[4]
ALIKE = "all 920 test rows are decided positive (scores from 0.1 to 0.2, decided at 0): ..."


def run(
    measured: float | None, seed: int = 2, warnings: tuple[str, ...] = (), criterion: str = "f1", value: float = 0.5,
    **changed: Any,
) -> RunResult:  # fmt: skip
    """A finished run in PU-Bench's main protocol, except for ``changed`` sections. ``value``: of its criterion.

    ``measured``: its test F1, and its accuracy.
    """
    sections = {
        name: {**PROTOCOL.get(name, {}), **more} if isinstance(more, dict) else more for name, more in changed.items()
    }
    plan = resolve([Layer({**PROTOCOL, **sections, "seed": seed})], registry())
    measure = Measure(undefined="none") if measured is None else Measure(value=measured)
    chosen = CriterionResult(
        oracle=True,
        epoch=1,
        value=value,
        snapshot="epoch-1",
        warnings=warnings,
        measures={"test": {"accuracy": measure, "f1": measure}},
    )
    result = made_result(plan.run_id, spec=plan.spec, selected=criterion, criteria={criterion: chosen})
    return RunResult(result, Path("results") / plan.run_id)


LBE = {"key": "lbe-pu", "preset": "pubench"}


def three(mean: float = 0.9, std: float = 0.02, **changed: Any) -> list[RunResult]:
    return [run(value, seed, **changed) for value, seed in ((mean - std, 2), (mean, 25), (mean + std, 42))]


def test_a_cell_of_the_protocol_stands_beside_the_published_one_with_the_reason() -> None:
    """LBE on Spambase: 68.53 ± 3.71 is published, so 90.00 ± 2.00 is many standard errors above."""
    found = beside_published(Results(three(method=LBE)), "pubench2026")
    (cell,) = found.cells
    assert (cell.method, cell.data, cell.ours.n, cell.theirs.n) == ("lbe-pu", "spambase", 3, 10)
    assert cell.ours.mean == pytest.approx(90.0)
    assert cell.ours.std == pytest.approx(2.0)
    assert (cell.theirs.mean, cell.theirs.std) == (68.53, 3.71)
    assert cell.difference == pytest.approx(21.47)
    assert cell.standard_error == pytest.approx((2.0**2 / 3 + 3.71**2 / 10) ** 0.5)
    assert (cell.verdict, cell.standing) == ("above", "known difference")  # the released recipe gives neither
    assert cell.reason is not None
    assert "released recipe" in cell.reason.reason
    assert len(found.missing) == 151
    assert ("lbe-pu", "spambase") not in found.missing
    assert found.measure == "f1"
    assert "read as F1" in found.notes[-1]
    assert found.counts() == {
        **dict.fromkeys(("matched", "explained", NOT_RELEASED, "unexplained", "not judged", "left out"), 0),
        "known difference": 1,
        "missing": 151,
    }


def test_pu_bench_is_compared_by_f1_whatever_its_caption_says() -> None:
    made = run(0.8166)
    made.result.criteria["f1"].measures["test"]["accuracy"] = Measure(value=0.99)
    found = beside_published(Results([made]), "pubench2026")
    assert found.cells[0].ours.mean == pytest.approx(81.66)
    with pytest.raises(RequestError, match="unknown measure of PU-Bench 'accuracy'"):
        beside_published(Results([made]), "pubench2026", measure="accuracy")


def test_one_run_is_not_judged_however_near_it_is() -> None:
    found = beside_published(Results([run(0.8166)]), "pubench2026")
    (cell,) = found.cells
    assert (cell.verdict, cell.standing, cell.reason) == (None, "not judged", None)
    assert cell.texts()[4:] == ["+0.00", "not judged", ""]
    assert found.counts()["not judged"] == 1
    assert "not judged: one run on a side, or no spread on both, gives no standard error (SE)" in found.remarks()


def test_a_cell_of_fewer_draws_that_is_below_theirs_is_a_known_difference() -> None:
    runs = [of_wang(value, seed) for value, seed in ((0.80, 2), (0.81, 25), (0.82, 42))]
    (cell,) = beside_published(Results(runs), "wang2026", criterion="pa").cells
    assert (cell.verdict, cell.standing) == ("below", "known difference")
    assert cell.reason is not None
    assert "best of 10 hyper-parameter draws on every split, ours is not" in cell.reason.reason
    (cell,) = beside_published(Results([of_wang(0.9, seed) for seed in (2, 25)]), "wang2026", criterion="pa").cells
    assert (cell.verdict, cell.standing) == ("above", "unexplained")


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"data": {"scheme": "single-training-set"}}, "data.scheme single-training-set, theirs case-control"),
        ({"mechanism": {"c": 0.3}}, "mechanism.c 0.3, theirs 0.1"),
        ({"mechanism": {"key": "sar-pusb"}}, "mechanism.key sar-pusb, theirs scar"),
        ({"prior": 0.4}, "prior 0.4, theirs true"),
        ({"validation": {"fraction": 0.2}}, "validation.fraction 0.2, theirs 0.01"),
        ({"method": {"preset": "quick"}}, "preset quick, theirs pubench"),
        ({"data": {"positive": [0], "negative": [1]}}, "other classes"),
        ({"data": {"preprocess": "none"}}, "data.preprocess none, theirs standardize"),
        ({"data": {"test_fraction": 0.3}}, "data.test_fraction 0.3, theirs 0.2"),
        ({"backbone": {"key": "mlp-wang"}}, "backbone mlp-wang, theirs mlp"),
        ({"method": {"config": {"lr": 0.02}}}, "method.config.lr 0.02, theirs"),
        ({"method": {"config": {"surrogate": "logistic"}}}, "method.config.surrogate logistic, theirs sigmoid"),
    ],
)
def test_a_run_of_another_protocol_is_left_out_and_said(changed: Mapping[str, Any], why: str) -> None:
    found = beside_published(Results([run(0.9, **changed)]), "pubench2026")
    assert found.cells == ()
    (left,) = found.left_out
    assert left.why.startswith("other protocol: ")
    assert why in left.why
    assert len(found.missing) == 152


def test_a_method_without_a_published_figure_and_a_run_without_a_value_are_left_out() -> None:
    found = beside_published(Results([run(0.9, method={"key": "upu"}), run(None)]), "pubench2026")
    assert [(one.method, one.why) for one in found.left_out] == [
        ("upu", "PU-Bench has no figure for it"),
        ("nnpu", "no run has a value of f1 by f1"),
    ]


def test_runs_that_decide_every_row_alike_are_counted() -> None:
    (cell,) = beside_published(Results([run(0.61, warnings=(ALIKE,)), run(0.9, 25)]), "pubench2026").cells
    assert cell.ours.alike == 1
    assert str(cell.ours) == "75.50 ± 20.51 (2, 1 alike)"


WANG: dict[str, Any] = {
    "prior": 0.5,
    "method": {"preset": "wang", "calibrate": "off"},
    "data": {
        "key": "letter", "scheme": "one-sample", "binarization": "case1", "total": 13000, "preprocess": "none",
        "test": "drawn", "test_fraction": 0.1,
    },
    "mechanism": {"c": None, "positive_rate": 0.3},
    "validation": {"fraction": 0.1},
    "selection": {"criterion": "pa"},
}  # fmt: skip


def of_wang(accuracy: float = 0.9, seed: int = 2, value: float = 1.2, **changed: Any) -> RunResult:
    """A finished run in the protocol of Wang et al., except for ``changed`` sections."""
    return run(accuracy, seed, criterion="pa", value=value, **{**WANG, **changed})


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({}, ""),
        ({"scheme": "two-sample"}, "data.scheme two-sample, theirs one-sample"),
        ({"total": 400}, "data.total 400, theirs 13000"),
        ({"test": "own"}, "data.test own, theirs drawn"),
        ({"preprocess": "standardize"}, "data.preprocess standardize, theirs none"),
        ({"epochs": 5}, "method.config.epochs 5, theirs "),  # no range is declared for it, so it is not drawn
    ],
)
def test_only_runs_of_the_sample_that_wang_and_others_drew_are_compared(changed: dict[str, Any], why: str) -> None:
    other = {"method": {**WANG["method"], "config": changed}} if "epochs" in changed else {}
    made = of_wang(**(other or {"data": {**WANG["data"], **changed}}))
    found = beside_published(Results([made]), "wang2026", criterion="pa")
    assert len(found.left_out) == bool(why)
    assert all(one.why.startswith(f"other protocol: {why}") for one in found.left_out)
    assert [(cell.method, cell.data) for cell in found.cells] == ([] if why else [("nnpu", "letter case1")])
    assert "best of ten hyper-parameter draws" in found.notes[-1]


@pytest.mark.parametrize("calibrate", ["off", "on"])
def test_a_calibrated_run_is_compared_with_the_calibrated_row(calibrate: str) -> None:
    made = of_wang(method={**WANG["method"], "calibrate": calibrate})
    (cell,) = beside_published(Results([made]), "wang2026", criterion="pa").cells
    figures = {
        one.calibrate: one.mean
        for one in source("wang2026").cells
        if (one.method, one.data, one.binarization) == ("nnpu", "letter", "case1")
        and (one.criterion, one.measure) == ("pa", "accuracy")
    }
    assert set(figures) == {"off", "on"}
    assert figures["off"] != figures["on"]
    assert cell.theirs.mean == figures[calibrate]


def test_the_draw_that_the_criterion_prefers_is_compared_on_each_split() -> None:
    """Two splits, three draws each: on the first the second draw is chosen, on the other the third."""
    drawn = [
        (2, 0.001, 0.90, 1.1), (2, 0.002, 0.70, 1.3), (2, 0.0005, 0.95, 1.2),
        (25, 0.001, 0.91, 1.0), (25, 0.002, 0.92, 1.0), (25, 0.0005, 0.80, 1.4),
    ]  # fmt: skip
    runs = [
        of_wang(accuracy, seed, value=value, method={**WANG["method"], "config": {"lr": lr}})
        for seed, lr, accuracy, value in drawn
    ]
    found = beside_published(Results(runs), "wang2026", criterion="pa")
    assert found.left_out == ()
    (cell,) = found.cells
    assert str(cell.ours) == "75.00 ± 7.07 (2)"
    assert "the best of 3 finished draws by pa, on each split" in found.notes[0]

    table = Results(runs).best_of_draws("pa").table("accuracy", "pa")
    assert table.rows == ("nnpu",)
    assert table.cells[table.rows[0], table.columns[0]].mean == pytest.approx(0.75)
    assert len(Results(runs).table("accuracy", "pa").rows) == 3
    assert [run.result.spec.method.config["lr"] for run in Results(runs).best_of_draws("pa")] == [0.002, 0.0005]


def test_runs_of_two_presets_are_no_draws_of_one_another() -> None:
    other = of_wang(0.8, value=1.9, method={**WANG["method"], "preset": "official", "config": {"lr": 0.05}})
    runs = Results([of_wang(0.9), other])
    assert len(runs.best_of_draws("pa")) == 2


def test_the_lower_value_is_chosen_where_a_criterion_is_better_when_lower(monkeypatch: pytest.MonkeyPatch) -> None:
    infos = [replace(one, higher_is_better=one.key != "pa") for one in registry().infos(MetricInfo)]
    monkeypatch.setattr("pubench_report.cells.registry", lambda: SimpleNamespace(infos=lambda kind: infos))
    drawn = [(0.001, 1.3), (0.002, 1.1), (0.0005, 1.2)]
    runs = [of_wang(value=value, method={**WANG["method"], "config": {"lr": lr}}) for lr, value in drawn]
    (chosen,) = Results(runs).best_of_draws("pa")
    assert chosen.result.spec.method.config["lr"] == 0.002


def test_a_criterion_without_figures_and_no_runs_are_refused() -> None:
    with pytest.raises(RequestError, match="unknown criterion of PU-Bench 'pa'; known: f1"):
        beside_published(Results([run(0.9)]), "pubench2026", criterion="pa")
    with pytest.raises(RequestError, match="no finished runs"):
        beside_published(Results([]), "pubench2026")


# -------------------------------------------------------------------- another folder


def test_another_folder_is_compared_where_the_spec_is_the_same_but_for_seeds() -> None:
    theirs = Results([*[run(value, seed) for value, seed in ((0.80, 52), (0.84, 99))], run(0.9, method={"key": "upu"})])
    mine = Results([*three(), run(0.7, data={"key": "connect-4"})])
    found = beside_results(mine, theirs, "other")
    (cell,) = found.cells
    assert [cell.ours.mean, cell.theirs.mean] == pytest.approx([90, 82])
    assert cell.theirs.n == 2
    assert cell.theirs.std == pytest.approx(2.8284, abs=1e-4)
    assert (cell.verdict, cell.standing) == ("above", "unexplained")
    assert [(one.data, one.why) for one in found.left_out] == [("connect-4", "other has no run of the same spec")]
    assert found.missing == (("upu", "spambase"),)
    assert found.alike == "the same spec except for seeds, epoch chosen by f1 (oracle)"


def test_a_measure_that_is_no_share_is_compared_as_it_is() -> None:
    mine, theirs = ([run(value, seed) for seed in (2, 25)] for value in (0.5, 0.4))
    for one in (*mine, *theirs):
        measures = one.result.criteria["f1"].measures["test"]
        measures["mcc"] = Measure(value=measures["f1"].value)
    (cell,) = beside_results(Results(mine), Results(theirs), "other", measure="mcc").cells
    assert (cell.ours.mean, cell.theirs.mean) == (0.5, 0.4)


def test_runs_that_are_the_same_on_both_sides_are_said_and_missing_cells_have_their_own_names() -> None:
    theirs = Results([*three(), run(0.7, mechanism={"c": 0.2}), run(0.7, mechanism={"c": 0.3})])
    found = beside_results(Results(three()), theirs, "other")
    assert found.notes == ("3 of 3 runs compared have the same seed and spec on both sides",)
    assert found.missing == (("nnpu", "spambase [c=0.2]"), ("nnpu", "spambase [c=0.3]"))
    assert not beside_results(Results([run(0.5, 99)]), Results(three()), "other").notes


def test_results_are_compared_from_python() -> None:
    mine = Results(three(method=LBE))
    with_table = compare_with(mine, "pubench2026")
    assert with_table.cells == beside_published(mine, "pubench2026").cells
    assert "90.00 ± 2.00 (3)  68.53 ± 3.71 (10)" in str(with_table)
    assert "released recipe" in with_table._repr_html_()
    assert with_table.to_frame()["ours_mean"].tolist() == [90.0]
    empty = compare_with(Results([run(0.9, prior=0.4)]), "pubench2026").to_frame()
    assert (len(empty), empty.columns.tolist()) == (0, with_table.to_frame().columns.tolist())
    others = [run(value, seed, method=LBE) for value, seed in ((0.87, 52), (0.91, 99))]
    with_other = compare_with(mine, Results(others))
    assert (with_other.theirs, with_other.cells[0].verdict) == ("other results", "matched")
    assert with_other.cells[0].texts()[5:] == ["yes", ""]
    with pytest.raises(InvalidRequest, match=r"other must be a publication .*, got pubench2025; did you mean"):
        compare_with(mine, "pubench2025")


# -------------------------------------------------------------------- the command

Command = Callable[..., tuple[str, str]]


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Command:
    """What the command prints of three runs of the protocol and one of another, by format."""
    made = Results([*three(method=LBE), run(0.5, prior=0.4)])
    monkeypatch.setattr(
        results, "load_results", lambda path, study: load_results(path) if Path(path).is_file() else made
    )
    monkeypatch.setattr(machine, "_printed", False)

    def carried_out(
        form: str | None, other: str = "pubench2026", out: Path | None = None, sources: tuple[str, ...] = ()
    ) -> tuple[str, str]:
        console.out.cache_clear()
        command.compare(other, [*sources] or None, None, tmp_path, None, None, form, out)
        console.out.cache_clear()
        found = capsys.readouterr()
        return found.out, found.err

    return carried_out


def test_every_format_has_the_figures_and_says_what_is_left_out(said: Command) -> None:
    table, _ = said("table")
    line = next(line for line in table.splitlines() if line.startswith("lbe-pu"))
    assert line.split()[:2] == ["lbe-pu", "spambase"]
    assert (
        "90.00 ± 2.00 (3)  68.53 ± 3.71 (10)    +21.47 ± 1.65  no, above    known difference: the released recipe"
        in line
    )
    assert "1 known difference, 1 left out, 151 missing" in table
    assert "left out (1), other protocol: prior 0.4, theirs true: nnpu [prior=0.4] on spambase" in table
    row = "| lbe-pu | spambase | 90.00 ± 2.00 (3) | 68.53 ± 3.71 (10) | +21.47 ± 1.65 | no, above | known difference: "
    assert row in said("md")[0]
    text, rest = said("csv")
    (fields,) = csv.DictReader(io.StringIO(text))
    assert (fields["ours_mean"], fields["theirs_mean"], fields["difference"]) == ("90.0", "68.53", "21.47")
    assert float(fields["standard_error"]) == pytest.approx(1.6461, abs=1e-4)
    assert (fields["verdict"], fields["standing"]) == ("above", "known difference")
    assert fields["evidence"] == "benchmarks/results/released.csv"
    assert "left out (1)" in rest
    found = json.loads(said("json")[0])
    assert found["counts"]["missing"] == len(found["missing"]) == 151
    assert found["cells"][0]["ours_n"] == 3
    assert found["left_out"][0]["method"] == "nnpu [prior=0.4]"


@pytest.mark.parametrize("ending", ["md", "csv", "json"])
def test_a_file_has_what_would_be_printed(said: Command, tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"compared.{ending}"
    printed, rest = said(None, out=file)
    assert printed == ""
    assert rest.splitlines()[-1] == f"written: {file}"
    assert file.read_text() == said(ending)[0]


def test_files_of_rows_are_compared_as_their_runs_are(said: Command) -> None:
    """A run that two files have the rows of counts once."""
    rows = [str(ROOT / "benchmarks" / "results" / f"study-methods-{k}.csv") for k in (2, 3)]
    found = [json.loads(said("json", sources=tuple(given))[0]) for given in (rows[:1], rows[1:], rows)]
    counts = [{(cell["method"], cell["data"]): cell["ours_n"] for cell in one["cells"]} for one in found]
    assert counts[0]["pan", "connect-4"] >= 3
    assert counts[1]["self-pu", "20news"] >= 3
    cells = {*counts[0], *counts[1]}  # the seeds of nnPU that both files have are the same ones
    assert counts[2] == {cell: max(one.get(cell, 0) for one in counts[:2]) for cell in cells}


def test_a_folder_without_runs_is_named(monkeypatch: pytest.MonkeyPatch, said: Command, tmp_path: Path) -> None:
    monkeypatch.setattr(results, "load_results", lambda folder, study: Results([]))
    with pytest.raises(RequestError, match=rf"{tmp_path} has no finished run to compare: it holds no records"):
        said("table")
    with pytest.raises(RequestError, match=r"no folder of records and no study in .* is called 'nowhere'"):
        said("table", sources=("nowhere",))
