"""Learning curves of a report, from the traces of its runs."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path
from typing import Any

import pytest
from browser import browser, needs_browser
from made_studies import made_run, stored
from pubench_report.pages.report import learning, page
from pubench_report.pages.view import views_of
from pubench_report.report.gather import gather
from pubench_report.report.model import comparisons_of, model_of

PA = [0.5, 0.7, 0.9, 0.8, None]
LOSS = [3.0, 2.0, 1.5, 1.25, 1.0]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two methods with two seeds on two data sets; one run has no trace."""
    made = [
        made_run(m, d, s, {"pa": 0.8, "f1": 0.9}) for m in ("nnpu", "vpu") for d in ("imdb", "digits") for s in (2, 25)
    ]
    folder = stored(tmp_path_factory.mktemp("curves") / "results", made)
    for result in made[1:]:
        with (folder / result.run_id / "trace.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["stage", "epoch", "in_stage", "seconds", "loss", "criterion-pa", "criterion-f1"])
            for k, (loss, pa) in enumerate(zip(LOSS, PA, strict=True), 1):
                writer.writerow(["train", k, k, 0.1, loss, "" if pa is None else pa, 0.1 * k])
    return folder


def runs(results: Path) -> list[str]:
    return [path.parent.name for path in sorted(results.glob("*/trace.csv"))]


def model(results: Path) -> Any:
    return model_of(gather(str(results), results, None), "accuracy", "pa")


def test_a_report_holds_each_runs_curves_and_chosen_epochs(results: Path) -> None:
    found = learning(views_of(model(results)), 10**6)
    assert len(found["runs"]) == 7
    assert found["left_out"] == 0
    r, d, seed, step, values, chosen = found["runs"][0]
    assert (found["rows"][r], step, values["pa"]) == ("nnPU", 1, PA)
    assert chosen["f1"] == [3, {"pa": 0.9, "f1": pytest.approx(0.3)}]
    assert seed in (2, 25)
    assert found["data"][d] in ("IMDb", "Digits 8x8")
    assert learning(views_of(model(results)), -1) == {}


@pytest.mark.parametrize("text", ["", "\0\xff", "epoch,criterion-pa\n1,x\n2\n3,4,5,6\n"])
def test_a_trace_that_cannot_be_read_is_no_curve(results: Path, tmp_path: Path, text: str) -> None:
    copy = Path(shutil.copytree(results, tmp_path / "copy"))
    (copy / runs(copy)[0] / "trace.csv").write_text(text)
    assert len(learning(views_of(model(copy)), 10**6)["runs"]) == 6


@needs_browser
def test_the_page_draws_a_line_for_each_run_and_a_mark_for_each_choice(results: Path, tmp_path: Path) -> None:
    made = model(results)
    (tmp_path / "report.html").write_text(
        page(views_of(made), comparisons_of(made, "nnpu"), ["Report"]), encoding="utf-8"
    )
    with browser() as window:
        errors: list[str] = []
        window.on("pageerror", lambda error: errors.append(str(error)))
        window.goto(f"file://{tmp_path}/report.html")
        window.wait_for_selector("#learning-panels svg")
        shown = window.locator("#learning-panels svg")
        assert shown.count() == 2  # methods on the first data set
        window.select_option("[data-curve=criterion]", "f1")
        assert window.locator("#learning-panels circle.a").count() >= 1
        window.click("#board td a >> nth=0")
        assert window.locator("#drawer path.l").count() == 2 - (window.locator("#drawer tbody tr").count() == 1)
        assert errors == []
