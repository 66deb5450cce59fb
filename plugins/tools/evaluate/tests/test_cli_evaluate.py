"""``pubench evaluate``, ``pubench audit`` and ``pubench prior`` on tables and runs: what they print and refuse."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from printed import Run, one_json
from refusals import error_line

N = 300
LABELS = ("--label-col", "labeled")
FAST = (*LABELS, "--resamples", "50")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``scores.csv``: two columns of scores, labels as words, the truth, an id; and parquet of it."""
    folder = tmp_path_factory.mktemp("scores")
    rng = np.random.default_rng(0)
    truth = rng.random(N) < 0.4
    labeled = truth & (rng.random(N) < 0.4)
    table = pd.DataFrame(
        {
            "id": [f"{k:04d}" for k in range(N)],
            "score": rng.normal(2 * truth),
            "other": rng.normal(truth),
            "labeled": labeled.astype(int),
            "said": np.where(labeled, "known", ""),
            "y": truth.astype(int),
            "x_1": rng.normal(2 * truth),
            "x_2": rng.normal(2 * truth),
        }
    )
    table.to_csv(folder / "scores.csv", index=False)
    table.to_parquet(folder / "scores.parquet", index=False)
    return folder


@pytest.fixture(scope="module")
def run_id(home: Path, here: Run) -> str:
    """Of a run in ``results``, for which nothing was tracked."""
    return trained(here, "--data", "digits", "--c", "0.3", "--set", "epochs=1")


def trained(here: Run, *words: str) -> str:
    """The id of a run of nnPU."""
    run = ("run", "--method", "nnpu", "--no-tracking", "--threads", "1", "--format", "json")
    return str(one_json(here(*run, *words))["run_id"])


#: A run on ``scores.csv``, whose rows are named by ``id``.
OWN = ("--data", "scores.csv", *LABELS, "--drop", "said,y,other,score", "--prior", "0.4", "--set", "epochs=2")


@pytest.fixture
def drawn(here: Run, tmp_path: Path) -> Callable[..., pd.DataFrame]:
    """``drawn(...)``: the sheet of an audit, which is ``audit.csv`` in the folder of the test."""

    def draw(*words: str) -> pd.DataFrame:
        done = here("audit", *words, "--out", tmp_path / "audit.csv")
        assert done.returncode == 0, done.stderr
        return pd.read_csv(tmp_path / "audit.csv", dtype=str, keep_default_na=False)

    return draw


def answered(here: Run, sheet: pd.DataFrame, answers: Any, folder: Path) -> dict[str, Any]:
    """What a sheet with these answers says."""
    sheet.assign(answer=answers).to_csv(folder / "filled.csv", index=False)
    return one_json(here("audit", "--answers", folder / "filled.csv", "--format", "json"))


# -------------------------------------------------------------------- evaluate


def test_a_card_is_printed_with_what_to_expect_first(here: Run) -> None:
    done = here("evaluate", "scores.csv", *FAST, "--prior", "0.3..0.4", "--budget", "100")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith(f"scores.csv: {N} rows")
    assert lines[2].startswith("Review the top 100 of 262 unlabeled rows: expect ")
    for words in ("recovered-auc", "neither prior nor SCAR", "assumed: every labeled row is truly positive"):
        assert words in done.stdout


def test_json_is_one_value_and_formats_of_tables_and_of_labels_say_the_same(here: Run) -> None:
    first = one_json(here("evaluate", "scores.csv", *FAST, "--prior", "0.4", "--format", "json"))
    packed = one_json(here("evaluate", "scores.parquet", *FAST, "--prior", "0.4", "--format", "json"))
    words = ("--label-col", "said", "--positive-value", "known", *FAST[2:], "--prior", "0.4")
    assert first["measures"] == packed["measures"]
    assert one_json(here("evaluate", "scores.csv", *words, "--format", "json"))["measures"] == first["measures"]


def test_the_card_is_written_as_one_page(here: Run, home: Path) -> None:
    done = here("evaluate", "scores.csv", *FAST, "--prior", "0.4", "--html", "card.html")
    assert done.returncode == 0, done.stderr
    page = (home / "card.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "recovered AUC" in page
    assert "the report card: card.html" in done.stderr


def test_a_run_is_evaluated_on_rows_that_were_held_out_with_its_prior_and_scheme(here: Run, run_id: str) -> None:
    found = one_json(here("evaluate", run_id, *FAST[2:], "--format", "json"))
    assert found["scheme"] == "case-control"
    assert found["name"] == f"nnpu on digits, run {run_id}, validation part"
    assert found["measures"]["auc"]["oracle"]
    assert found["belief"]["prior"] == pytest.approx(0.5, abs=0.05)
    audited = one_json(here("audit", run_id, "--n", "20", "--out", "run.csv", "--format", "json"))
    assert len(audited["rows"]) == 20


@pytest.fixture(scope="module")
def own_run(home: Path, here: Run) -> str:
    return trained(here, *OWN)


def test_a_budget_of_a_run_counts_all_unlabeled_rows_of_its_table(here: Run, home: Path, own_run: str) -> None:
    n = int((pd.read_csv(home / "scores.csv").labeled == 0).sum())
    found = one_json(here("evaluate", own_run, *FAST[2:], "--budget", "60", "--format", "json"))
    held_out = found["rows"]["unlabeled"]
    assert found["rows"]["all_unlabeled"] == n
    assert found["decision"]["all_rows"] == 60
    assert found["decision"]["rows"] == round(60 * held_out / n)
    says = f"Review the top 60 of {n} unlabeled rows (estimated from {found['decision']['rows']} of {held_out} that "
    assert found["headline"].startswith(says)
    over = error_line(here("evaluate", own_run, *FAST[2:], "--budget", str(n + 1)))
    assert f"--budget must be from 1 to {n}, the number of unlabeled rows" in over


EVALUATE, AUDIT = ("evaluate", "scores.csv"), ("audit", "scores.csv")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (EVALUATE, "--label-col is missing: name a column of scores.csv: "),
        ((*EVALUATE, "--label-col", "lable"), "did you mean 'labeled'?"),
        ((*EVALUATE, *LABELS, "--score-col", "said"), "expected numbers"),
        ((*EVALUATE, *FAST, "--prior", "0.01"), "--prior 0.01: "),
        ((*EVALUATE, *FAST, "--budget", "3", "--threshold", "1"), "--budget: threshold is given as well"),
        ((*EVALUATE, *FAST, "--html", "card.txt"), "--html must end in .html, got card.txt"),
        (("evaluate", "absent.csv", *FAST), "cannot read absent.csv"),
        (("evaluate", "nosuchrun"), "no finished run 'nosuchrun'"),
        (("audit",), "takes a table or a run"),
        ((*AUDIT, *LABELS, "--n", "1", "--out", "b.csv"), "--n must be from 2 to "),
        ((*AUDIT, *LABELS, "--out", "b.txt"), "--out must end in .csv, got b.txt"),
        ((*AUDIT, *LABELS, "--ids", "name", "--out", "b.csv"), "column of scores.csv (--ids) 'name'"),
        (("audit", "--answers", "scores.csv"), "there is no column 'audit'"),
        (("prior", "scores.csv"), "--label-col is missing"),
    ],
)
def test_a_wrong_request_is_one_line_with_a_flag_and_exit_code_2(
    home: Path, pubench_within: Run, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], says: str
) -> None:
    monkeypatch.chdir(home)
    assert says in error_line(pubench_within(*words))


# -------------------------------------------------------------------- audit


def test_a_sheet_is_drawn_filled_and_read(here: Run, home: Path) -> None:
    made = here(*AUDIT, *LABELS, "--ids", "id", "--n", "40", "--budget", "60", "--out", "a.csv")
    assert made.returncode == 0, made.stderr
    assert "20 above the threshold" in made.stdout
    sheet = pd.read_csv(home / "a.csv", dtype=str, keep_default_na=False)
    assert list(sheet.columns) == ["audit", "row", "id", "answer"]
    assert set(sheet.answer) == {""}
    assert (sheet.id == sheet.row.map(lambda row: f"{int(row):04d}")).all()
    truth = pd.read_csv(home / "scores.csv").y
    found = answered(here, sheet, ["yes" if truth[int(row)] else "no" for row in sheet.row], home)
    assert found["checked"] == 40
    assert found["prior"]["low"] <= truth.mean() <= found["prior"]["high"]
    said = here("audit", "--answers", "filled.csv")
    assert "SCAR is " in said.stdout
    assert "Clopper and Pearson 1934" in said.stdout


def test_a_sheet_that_is_there_is_never_replaced(here: Run, home: Path) -> None:
    (home / "mine.csv").write_text("answers of a day\n")
    assert "mine.csv exists already" in error_line(here("audit", "scores.csv", *LABELS, "--out", "mine.csv"))
    assert (home / "mine.csv").read_text() == "answers of a day\n"


def test_the_sheet_of_a_run_shows_its_ids_and_features_and_all_unlabeled_rows(
    here: Run, home: Path, own_run: str, drawn: Callable[..., pd.DataFrame], tmp_path: Path
) -> None:
    table = pd.read_csv(home / "scores.csv", dtype=str)
    sheet = drawn(own_run, "--n", str((table.labeled == "0").sum()), "--budget", "60")
    assert list(sheet.columns) == ["audit", "row", "id", "x_1", "x_2", "answer"]
    assert sorted(sheet.row.astype(int)) == np.flatnonzero(table.labeled == "0").tolist()
    for name in ("id", "x_1", "x_2"):
        assert sheet[name].tolist() == table[name][sheet.row.astype(int)].tolist()
    found = answered(here, sheet, table.y[sheet.row.astype(int)].to_numpy(), tmp_path)
    assert found["prior"]["value"] == pytest.approx((table.y == "1").mean())  # every row is checked
    assert "those of a run with folds do" in found["scar"]["undefined"]


def test_a_joint_record_is_judged_by_scores_out_of_fold_of_all_rows(
    here: Run, home: Path, drawn: Callable[..., pd.DataFrame], tmp_path: Path
) -> None:
    """Every row counts once: the budget, the sheet and SCAR are about the whole table."""
    folds = ("--folds", "3", "--refit", "all", "--save-model", "--no-tracking", "--threads", "1", "--format", "json")
    made = here("run", "--method", "nnpu", *OWN, *folds)
    run, table = one_json(made)["run_id"], pd.read_csv(home / "scores.csv", dtype=str)
    assert made.stderr.count("fold 3 of 3: ") == 1
    assert made.stderr.count(" labeled positives, ") == 1, "facts of the table, once for all folds"
    n = int((table.labeled == "0").sum())
    card = one_json(here("evaluate", run, *FAST[2:], "--budget", "60", "--format", "json"))
    assert card["name"] == f"nnpu on scores.csv, run {run}, scores out of fold"
    assert card["rows"]["unlabeled"] == n
    assert card["decision"]["rows"] == 60
    sheet = drawn(run, "--n", str(n), "--budget", "60")
    assert sorted(sheet.row.astype(int)) == np.flatnonzero(table.labeled == "0").tolist()
    found = answered(here, sheet, table.y[sheet.row.astype(int)].to_numpy(), tmp_path)
    assert found["prior"]["value"] == pytest.approx((table.y == "1").mean())
    assert found["scar"]["undefined"] in (None, "")
    assert found["scar"]["p_value"] > 0.01  # labels are a random draw
    predicted = here("predict", run, "scores.csv", "--out", "joint-predicted.csv")
    assert predicted.returncode == 0, predicted.stderr
    scores = pd.read_csv(home / "joint-predicted.csv").sort_values("row")
    assert scores.decision_at_prior.isin([0, 1]).all()
    assert scores.score[table.y == "1"].mean() > scores.score[table.y == "0"].mean()


def test_the_sheet_of_a_run_shows_the_columns_that_are_named(
    here: Run, own_run: str, drawn: Callable[..., pd.DataFrame]
) -> None:
    sheet = drawn(own_run, "--ids", "said", "--n", "10")
    assert list(sheet.columns) == ["audit", "row", "said", "x_1", "x_2", "answer"]
    for words, says in (
        (("--ids", "labeled"), "--ids labeled is a column of labels"),
        (("--ids", "nobody"), "column of scores.csv (--ids) 'nobody'"),
        (("--label-col", "labeled"), "--label-col needs a table (.csv, .parquet ...); "),
    ):
        assert says in error_line(here("audit", own_run, *words, "--out", "none.csv"))


def test_a_run_whose_table_was_edited_still_names_its_rows(here: Run, home: Path, tmp_path: Path) -> None:
    table = pd.read_csv(home / "scores.csv", dtype=str)[["id", "labeled", "x_1", "x_2"]]
    table.to_csv(home / "edited.csv", index=False)
    run = trained(here, "--data", "edited.csv", *LABELS, "--prior", "0.4", "--set", "epochs=1")
    table.iloc[::-1].to_csv(home / "edited.csv", index=False)
    made = here("audit", run, "--n", "10", "--out", tmp_path / "sheet.csv")
    assert "edited.csv was changed since: the sheet has no features" in made.stderr
    sheet = pd.read_csv(tmp_path / "sheet.csv", dtype=str)
    assert list(sheet.columns) == ["audit", "row", "id", "answer"]
    assert (sheet.id == sheet.row.map(lambda row: f"{int(row):04d}")).all()
    assert "was changed since" in error_line(here("audit", run, "--ids", "id", "--out", "none.csv"))


def test_a_sheet_with_other_rows_or_without_its_design_says_what_is_wrong(
    here: Run, drawn: Callable[..., pd.DataFrame], tmp_path: Path
) -> None:
    sheet = drawn("scores.csv", *LABELS, "--n", "10")
    sheet.assign(answer=1, row=sheet.row.astype(int) + 0.5).to_csv(tmp_path / "half.csv", index=False)
    half = here("audit", "--answers", tmp_path / "half.csv", "--design", tmp_path / "audit.design.npz")
    assert "must name every row once, by its whole number" in error_line(half)
    (tmp_path / "audit.design.npz").unlink()
    assert "name it with --design FILE" in here("audit", "--answers", tmp_path / "audit.csv").stderr


# -------------------------------------------------------------------- prior


def test_estimators_read_features(here: Run, home: Path) -> None:
    features = ("--drop", "id,score,other,said", "--truth-col", "y", "--estimators", "bbe,tice")
    found = one_json(here("prior", "scores.csv", *LABELS, *features, "--format", "json"))
    assert [estimate["key"] for estimate in found["estimates"]] == ["bbe", "tice"]
    assert found["true"] == pytest.approx(pd.read_csv(home / "scores.csv").y.mean())
    assert set(found["estimates"][0]) >= {"share", "prior", "prior_interval", "left_out", "warnings", "diagnostics"}
    assert found["summary"].startswith(("class prior", "no range"))


def test_priors_are_one_column_after_a_range_in_lines_of_a_page(here: Run, home: Path) -> None:
    rng = np.random.default_rng(0)
    truth = rng.random(600) < 0.4
    x = rng.normal(2 * truth[:, None], size=(600, 2))
    labeled = (truth & (rng.random(600) < 0.5)).astype(int)
    pd.DataFrame({"x_1": x[:, 0], "x_2": x[:, 1], "labeled": labeled}).to_csv(home / "larger.csv", index=False)
    done = here("prior", "larger.csv", *LABELS)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    summary = next(line for line in lines if line.startswith("class prior "))
    assert "if labels are SCAR (95 % by " in summary
    assert lines.index(summary) < next(k for k, line in enumerate(lines) if line.startswith("estimator "))
    assert max(map(len, lines)) <= 120
    assert "share in U" not in done.stdout
    assert "prior: share of positives in the population." in done.stdout
    assert "no: off by 0.17 on average on known shares" in done.stdout
    assert "km1" not in done.stdout
    stages = [line for line in done.stderr.splitlines() if line.startswith("estimating by ")]
    assert stages[0] == "estimating by alphamax (1 of 7)"
    assert len(stages) == 7
