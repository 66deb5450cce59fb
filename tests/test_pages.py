"""Pages, tables and figures show what the committed rows say, and one command writes them."""

from __future__ import annotations

import csv
import statistics
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pubench_report.published import source
from repository import ROOT

from benchmarks.pages import (
    __main__ as pages,
)
from benchmarks.pages import (
    evidence_tables,
    guide,
    keys,
    published_page,
    readme_report,
    species,
    summary,
    wang_page,
)
from benchmarks.raw_rows import RESULTS


def write(path: Path, rows: list[dict[str, object]]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_nothing_is_stale() -> None:
    assert pages.stale(write=False) == [], "run make pages"


def test_a_page_of_other_numbers_is_stale_and_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.md").write_text("# A\n<!-- table one -->\n| 1 |\n<!-- end -->\nMore.\n")
    monkeypatch.setattr(pages, "PAGES", tmp_path)
    monkeypatch.setattr(pages, "WHOLE", {})
    monkeypatch.setattr(pages, "BLOCKS", {"a.md": lambda: {"one": "| 2 |"}})
    assert [path.name for path in pages.pages(write=False)] == ["a.md"]
    assert list(pages.pages(write=True)) == [tmp_path / "a.md"]
    assert (tmp_path / "a.md").read_text() == "# A\n<!-- table one -->\n\n| 2 |\n\n<!-- end -->\nMore.\n"
    assert list(pages.pages(write=False)) == []
    monkeypatch.setattr(pages, "BLOCKS", {"a.md": lambda: {"two": ""}})
    with pytest.raises(SystemExit, match=r"a\.md: has the blocks one; there are tables for two"):
        list(pages.pages(write=False))


def test_a_row_whose_key_fits_no_table_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "a.csv", [{"method": "lbe", "data": "spambase"}, {"method": "nnpu", "data": "disdat/awt01"}])
    assert keys.unknown_keys(tmp_path) == ["a.csv: method 'lbe' fits no table; did you mean 'lbe-pu'?"]
    assert keys.unknown_keys() == []
    monkeypatch.setattr("sys.argv", ["pages", "--check"])
    monkeypatch.setattr(pages, "unknown_keys", lambda: ["a.csv: method 'lbe' fits no table"])
    with pytest.raises(SystemExit, match="fits no table"):
        pages.main()


# -------------------------------------------------------------------- README


@pytest.mark.parametrize(("method", "criterion"), [("nnpu", "pa"), ("pu-bagging", "f1")])
def test_a_cell_of_the_readme_is_the_mean_of_the_newest_row_of_every_seed(method: str, criterion: str) -> None:
    frame = pd.concat(pd.read_csv(path, dtype={"prior": str}) for path in RESULTS.glob("study-*.csv"))
    frame = frame.query("data == 'spambase' and scheme == 'case-control' and mechanism == 'scar' and c == 0.1")
    frame = frame[(frame.method == method) & (frame.criterion == criterion) & (frame.prior == "true")]
    values = frame[frame.settings == "validation.fraction=0.01"].sort_values("revision").groupby("seed").accuracy.last()
    assert len(values) == 10
    cell = f"{statistics.fmean(values):.1f} ± {statistics.stdev(values):.1f}"
    assert readme_report.cell(readme_report.runs(), method, criterion) == cell


def test_neither_an_oracle_nor_the_baseline_is_called_first() -> None:
    found = readme_report.runs()
    assert {"pn (oracle)", "naive (baseline)"} <= {readme_report.label(method) for method in found.method}
    assert not {"pn", "naive"} & set(readme_report.ranked(found))


def test_the_readme_is_read_in_one_sitting_and_opens_with_its_figure() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert 60 <= len(text.splitlines()) <= 90
    assert '="docs/pages/images/spambase-choice.png"' in text.partition("\n## ")[0]


# -------------------------------------------------------------------- Which method?


def _cells(**offsets: float) -> dict[tuple[str, str, str, float], dict[str, dict[int, float]]]:
    """Two data sets, three seeds; a method is the seed's noise and its offset."""
    noise = {2: 0.3, 25: -0.2, 42: -0.1}
    return {
        (data, "case-control", "scar", 0.1): {
            method.replace("_", "-"): {seed: level + value + offset for seed, value in noise.items()}
            for method, offset in {"pu_bagging": 0.0, **offsets}.items()
        }
        for data, level in (("spambase", 90.0), ("letter", 80.0))
    }


def test_a_method_that_is_better_on_every_seed_is_recommended() -> None:
    found = guide.answer(_cells(glws=2.0, naive=-1.0))
    assert found.better == ["glws"]
    assert found.differences == pytest.approx({"glws": 2.0, "naive": -1.0})
    assert found.intervals["glws"] == pytest.approx((2.0, 2.0))  # paired by seed: the noise of seeds cancels


def test_a_method_that_is_better_on_one_data_set_only_is_not() -> None:
    cells = _cells(glws=3.0)
    cells["letter", "case-control", "scar", 0.1]["glws"] = dict.fromkeys((2, 25, 42), 78.0)
    found = guide.answer(cells)
    assert guide.cells_in(found)[0] == "`pu-bagging`, open"
    assert found.intervals["glws"][0] < 0 < found.intervals["glws"][1]
    incomplete = _cells(glws=2.0, naive=1.0)  # a method counts if every data set of the line has it
    del incomplete["letter", "case-control", "scar", 0.1]["glws"]
    assert guide.answer(incomplete).better == ["naive"]
    assert guide.cells_in(guide.answer({})) == ("unknown", "")


# -------------------------------------------------------------------- next to published figures


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """Rows of PU-Bench's main protocol on Spambase."""
    with (RESULTS / "study-conventional-13.csv").open(newline="") as file:
        known = next(row for row in csv.DictReader(file) if row["criterion"] == "f1" and row["selected"] == "True")
    given: list[dict[str, object]] = [
        {"method": "lbe-pu", "seed": 2, "f1": 90.0},
        {"method": "lbe-pu", "seed": 25, "f1": 92.0, "recall": 100.0, "precision": 50.0},
        {"method": "puet", "seed": 2, "f1": 85.43, "revision": 1},
        {"method": "puet", "seed": 25, "f1": 86.43},
        {"method": "nnpu", "seed": 2, "f1": 81.66},
        {"method": "upu", "seed": 2, "f1": 90.0},
        {"method": "vpu", "seed": 2, "f1": 90.0, "c": 0.3},
    ]
    rows = [{**known, "data": "spambase", "accuracy": 50.0, "run_id": k, **row} for k, row in enumerate(given)]
    write(tmp_path / "study-made.csv", [{**row, "revision": row.get("revision", "")} for row in rows])
    return tmp_path


def test_every_cell_that_ran_has_its_verdict_and_the_others_are_missing(made: Path) -> None:
    text = published_page.table_1(made)
    assert text.startswith(
        "Of the 152 cells of Table 1, 3 were run: 1 matched, 1 known difference, 1 not judged. 149 are missing (–)"
    )
    section = text.partition("### Spambase\n")[2].partition("\n### ")[0]
    assert "| 2 | 91.00 ± 1.41 !1 | 68.53 ± 3.71 | +22.47 ± 1.54 | above, known difference |" in section
    assert "| 2 | 85.93 ± 0.71 | 84.43 ± 4.23 | +1.50 ± 1.43 | matched |" in section
    assert "| 1 | 81.66 | 81.66 ± 2.73 | +0.00 | not judged |" in section
    assert "(*run*: benchmarks/results/released.csv)" in section
    assert "### MNIST" not in text
    assert "| `lbe-pu` | – | – | – | – | – | – | – | k +22.5 { .known-difference } |" in text
    assert len(source("pubench2026").cells) == len(summary.published()) == 19 * 8


# -------------------------------------------------------------------- the protocol of Wang et al.


def run(method: str, seed: int, chosen: dict[str, tuple[float, int, float]], **more: Any) -> list[dict[str, object]]:
    """The rows of a run on Letter. ``chosen``: criterion -> (value, epoch, test accuracy)."""
    given = {"calibrate": "", "scheme": "one-sample", "rate": 0.3, "draw": 0, "case": "case1", **more}
    settings = f"data.binarization={given['case']}"
    settings += f" method.calibrate={given['calibrate']}" if given["calibrate"] else ""
    facts = {
        "method": method,
        "data": "letter",
        "positive_rate": given["rate"],
        "scheme": given["scheme"],
        "seed": seed,
    }
    facts |= {"draw": given["draw"], "settings": settings, "commit": "abc", "machine": "here", "revision": ""}
    facts["run_id"] = f"{method}{seed}{sorted(given.items(), key=str)}"
    return [
        {**facts, "criterion": criterion, "criterion_value": value, "epoch": epoch, "accuracy": accuracy}
        for criterion, (value, epoch, accuracy) in chosen.items()
    ]


def both(accuracy: float, value: float = 1.0) -> dict[str, tuple[float, int, float]]:
    return dict.fromkeys(("pa", "pauc", "oa"), (value, 3, accuracy))


def test_a_cell_is_of_the_best_draw_of_every_split_and_far_ones_are_said(tmp_path: Path) -> None:
    drawn = [(2, 0, 1.1, 85.0), (2, 1, 1.2, 86.0), (25, 0, 1.3, 84.0), (25, 1, 1.0, 99.0)]
    runs = [run("nnpu", seed, both(acc, value), calibrate="off", draw=draw) for seed, draw, value, acc in drawn]
    runs += [run("lbe-pu", seed, both(accuracy)) for seed, accuracy in ((2, 94.0), (25, 96.0))]
    runs += [run("pusb", seed, both(60.0), calibrate="off", case="case1") for seed in (2, 25)]
    runs += [run("pusb", seed, both(99.0), calibrate="off", case="case2") for seed in (2, 25)]
    text = wang_page.tables(wang_page.read(write(tmp_path / "a.csv", [row for rows in runs for row in rows])))
    first, second = text.partition("### USPS")[0].split("### Letter Recognition, case ")[1:]
    assert "| `nnpu` | 2 x 2 | 85.00 ± 1.00 | 85.13 ± 0.46 | 85.00 ± 1.00 |" in first
    assert "| pauc +5.5 ± 2.2 |" in first  # by pa 85.13 ± 0.46 is printed, by oa 85.60 ± 0.31
    assert "pa +9.4 ± 1.7" in first
    reasons = {line.split("`")[1]: line for part in (first, second) for line in part.splitlines() if line[:3] == "- `"}
    assert "propensity" in reasons["lbe-pu"]
    assert "decided by a quantile of U" in first
    assert reasons["pusb"].endswith(": unexplained.")  # above in case 2: what is known is why it is below
    assert "### USPS, case 2 (Table 17)\n\nMissing: nothing was run yet." in text


def test_the_cost_of_the_published_form_counts_epochs_chosen_differently(tmp_path: Path) -> None:
    pairs = [(90.0, 3, 90.0), (88.0, 9, 80.0), (85.0, 8, 86.0), (79.0, 5, 79.0)]
    runs = [
        run("nnpu", seed, {"pa": (1.0, 3, pa), "pa-published": (1.4, epoch, other)})
        for seed, (pa, epoch, other) in enumerate(pairs)
    ]
    text = wang_page.choices(wang_page.read(write(tmp_path / "a.csv", [row for rows in runs for row in rows])))
    assert text.splitlines()[-1] == "| all | 4 | 3 | +2.33 | +0.00 | -1.00 to +8.00 | 1 |"


def test_the_label_shift_has_a_line_per_method_and_sampling_in_table_and_figure(tmp_path: Path) -> None:
    runs = [
        run("nnpu", 2, both(90.0), calibrate="off", rate=0.1),
        run("nnpu", 25, both(94.0), calibrate="off", rate=0.1),
        run("nnpu", 2, both(90.0), rate=0.5),
        run("nnpu", 2, both(90.0), scheme="two-sample", rate=0.5),
        run("upu", 2, both(90.0)),
    ]
    path = write(tmp_path / wang_page.SHIFT, [row for rows in runs for row in rows])
    assert "| letter | nnpu | one-sample | 92.00 ± 2.00 | missing | missing |" in wang_page.shift(tmp_path)
    kept = wang_page.points(path)
    assert {*kept.method} == {"nnpu"}
    assert kept.loc[0, ["positive_rate", "mean", "sem"]].tolist() == [0.1, 92.0, 2.0]
    (panel,) = wang_page.draw(kept).axes
    assert [line.get_label() for line in panel.containers] == list(wang_page.WAYS)


# -------------------------------------------------------------------- tables of measures, estimators and tests


def test_tables_of_evidence_are_means_of_their_rows() -> None:
    estimates = pd.DataFrame({"estimator": "bbe", "c": 0.1, "error": [0.1, -0.3, None], "covered": [1, 0, None]})
    assert "| `bbe` | 0.1 | 2 of 3 | 0.200 | -0.100 | 1 of 2 |" in evidence_tables.priors(estimates)["prior-error"]
    found = pd.DataFrame({"best_test_accuracy": [0.85, 0.8, 0.79, 0.82]}).assign(
        data="digits", method="nnpu", default_test_accuracy=0.8
    )
    assert "| in all | 1 | 4 | 2 | 1 | 1 | +1.50 | -1.0 to +5.0 |" in evidence_tables.searches(found)["tuning"]


def test_a_guide_that_orders_as_the_survey_does_has_tau_1() -> None:
    frame = pd.DataFrame({"species": ["s"] * 3, "seed": [2] * 3, "method": ["a", "b", "c"], "auc": [0.6, 0.7, 0.8]})
    frame = frame.assign(pauc=[0.1, 0.2, 0.3], spies=[0.3, 0.2, 0.1])
    pauc, spies = species.predicted(frame, ["a", "b", "c"]).splitlines()[2:]
    assert "+1.00 | 0.800 | 0.700" in pauc
    assert "-1.00 | 0.600 | 0.700" in spies


def test_the_published_wins_and_ties_give_the_published_p() -> None:
    """28 wins, 1 loss, 7 ties: 6.5e-6 (the supplement of Jain et al.)."""
    assert evidence_tables.p_of(28, 1, 7) == pytest.approx(6.5e-6, rel=0.02)
