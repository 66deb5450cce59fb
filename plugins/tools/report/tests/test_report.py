"""What a report says: marks, gaps, collapsed results, tests against scipy, and how each run is repeated."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from made_reports import compared_in, made_model
from made_results import made_failure
from made_studies import CRITERIA, made_run, made_study, stored, varied
from pubench_report.cells import MeasuredCell, ShownMeasure
from pubench_report.grouping import FailedRun, NamedRun
from pubench_report.pages.report import page
from pubench_report.pages.template import script_json
from pubench_report.pages.view import views_of
from pubench_report.rendering import RenderedTable, Section, csv_of, latex, markdown, print_sections
from pubench_report.report.gather import Gathered, gather
from pubench_report.report.model import Model, Significance, check_baseline, comparisons_of, model_of
from pubench_report.report.tables import csv_text, sections
from pubench_report.report.write import title_lines
from pubench_report.significance import Pair
from rich.console import Console

from pubench.running import RunResult
from pubench_core.engine.decision_warnings import _one_sided
from pubench_core.engine.score import State
from pubench_core.errors import RequestError
from pubench_core.results import CriterionResult
from pubench_core.specs import MechanismSpec, MethodSpec

METHODS = ["nnpu", "pn", "vpu", "upu", "cvir"]
DATA = ["spambase", "20news", "imdb"]


@pytest.fixture(scope="module")
def gathered(tmp_path_factory: pytest.TempPathFactory) -> Gathered:
    """Five methods on three data sets with four seeds, two runs of upu missing on imdb."""
    results = made_study(METHODS, DATA, [2, 25, 42, 52])
    lacking = {("upu", "imdb", 42), ("upu", "imdb", 52)}
    kept = [r for r in results if (r.spec.method.key, r.spec.data.key, r.spec.seed) not in lacking]
    return gather(str(stored(tmp_path_factory.mktemp("report") / "records", kept)), Path("results"), None)


@pytest.fixture(scope="module")
def model(gathered: Gathered) -> Model:
    return model_of(gathered, "accuracy", None)


@pytest.fixture(scope="module")
def compared(model: Model) -> Significance:
    (found,) = comparisons_of(model, "nnpu")
    return found


@pytest.fixture(scope="module")
def tables(model: Model, compared: Significance) -> dict[str, RenderedTable]:
    return tables_of(sections(model, [compared]))


def pair_of(tests: Significance, data: str, method: str) -> Pair:
    (found,) = [pair for pair in tests.pairs if (pair.data, pair.method) == (data, method)]
    return found


def tables_of(parts: Iterable[Section]) -> dict[str, RenderedTable]:
    return {table.key: table for part in parts for table in part.tables}


def cell(model: Model, row: str, data: str) -> MeasuredCell:
    column = next(c for s in model.settings for c in s.columns if c.name == data)
    return model.cells(model.measure, model.criterion)[row, column.label]


# ---------------------------------------------------------------- cells


def test_readings_of_a_mechanism_are_settings_of_their_own(tmp_path: Path) -> None:
    paper = made_run("nnpu", "imdb", 2, {"f1": 0.5})
    code = varied(paper, mechanism=paper.spec.mechanism.model_copy(update={"variant": "code"}))
    settings = made_model(tmp_path, [paper, code]).settings
    assert sorted(setting.varying for setting in settings) == ["", "variant code"]


def test_measures_stand_next_to_what_runs_cost(gathered: Gathered, tables: dict[str, RenderedTable]) -> None:
    table = tables["measures-s1-1"]
    assert table.head[-2:] == ("training, s", "peak, MiB")
    results = [run.result for run in gathered.done if run.result.spec.method.key == "vpu"]
    results = [result for result in results if result.spec.data.key == table.title]
    seconds = np.mean([result.seconds.training for result in results])
    size = np.mean([result.peak_memory.bytes / 2**20 for result in results])
    (shown,) = ([entry.text for entry in row[-2:]] for row in table.rows if row[0].text == "vpu")
    assert shown == [f"{seconds:.1f}", f"{size:.0f}"]


def test_seeds_that_an_oracle_has_alone_are_not_asked_of_others(tmp_path: Path) -> None:
    made = made_study(["nnpu", "vpu", "upu", "pn"], ["imdb"], [2, 25, 42])
    kept = [r for r in made if r.spec.method.key == "pn" or r.spec.seed != 42]
    found = made_model(tmp_path, kept)
    sound = [row for row in ("nnpu", "vpu", "upu") if not cell(found, row, "imdb").alike]
    assert {cell(found, row, "imdb").mark for row in sound} == {"best", "second"}


def test_a_criterion_that_a_method_lacks_is_said_and_not_missing(gathered: Gathered, tmp_path: Path) -> None:
    results = [run.result for run in gathered.done if run.result.spec.method.key != "vpu"]
    values = {name: 0.5 for name in CRITERIA if name != "last"}
    results += [made_run("vpu", data, seed, values) for data in DATA for seed in (2, 25, 42, 52)]
    table = tables_of(sections(made_model(tmp_path, results), comparisons_of(made_model(tmp_path, results), "nnpu")))[
        "criteria-s1-1"
    ]
    shown = {row[0].text: row[table.head.index("last")].text for row in table.rows}
    assert shown["vpu"] == "not tracked"
    assert all("±" in text for row, text in shown.items() if row != "vpu")


def test_the_baseline_that_is_not_named_is_that_of_most_data_sets(tmp_path: Path) -> None:
    """Its other row comes first: the seed is lower."""
    made = made_study(["nnpu", "vpu"], ["imdb", "20news"], [2, 25])
    other = varied(made_run("nnpu", "20news", 1, {"f1": 0.5}), method=MethodSpec(key="nnpu", config={"epochs": 9}))
    model = made_model(tmp_path, [*made, other])
    baseline = check_baseline(model, "nnpu")
    assert [row for row in model.grid.rows if row.startswith("nnpu [")][1:] == [baseline]
    assert "9" not in baseline
    assert not comparisons_of(model, baseline)[0].no_pairs
    assert check_baseline(model, None) == baseline
    naive = made_model(tmp_path / "naive", [*made, *made_study(["naive"], ["imdb"], [2, 25])])
    assert check_baseline(naive, None) == "naive"
    with pytest.raises(RequestError, match="unknown baseline 'not-there'"):
        check_baseline(model, "not-there")


@pytest.mark.parametrize(("scores", "alike"), [([-1.0, -0.5], True), ([0.5, 1.0], True), ([-1.0, 1.0], False)])
def test_what_the_engine_says_of_a_collapsed_state_is_understood(scores: list[float], alike: bool) -> None:
    state = State.__new__(State)
    object.__setattr__(state, "scores", {"test": np.array(scores)})
    found = CriterionResult(oracle=False, epoch=1, warnings=tuple(_one_sided(state)))
    assert found.decided_alike is alike


# ---------------------------------------------------------------- tests


def test_a_table_of_differences_has_the_signed_difference_and_both_p_values(
    model: Model, compared: Significance, tables: dict[str, RenderedTable]
) -> None:
    rows = [[entry.text for entry in row] for row in tables["tests-s1"].rows]
    shown = {row[1]: row for row in rows if row[0] == "spambase"}
    for row in ("cvir", "upu", "vpu"):
        pair = pair_of(compared, "spambase", row)
        means = [cell(model, name, "spambase").mean or 0.0 for name in (row, "nnpu")]
        assert float(shown[row][3]) == pytest.approx(100 * (means[0] - means[1]), abs=0.01)
        assert [float(text) for text in shown[row][4:6]] == pytest.approx([pair.p, pair.adjusted], abs=0.001, rel=0.1)
    assert shown["vpu"][4] != shown["vpu"][5]


def test_an_oracle_as_the_baseline_has_no_rank(model: Model) -> None:
    (test,) = comparisons_of(model, "pn")
    assert ("spambase", "nnpu") in [(pair.data, pair.method) for pair in test.pairs]
    assert "pn" not in test.average.part.methods
    assert "pn" not in [method for method, _ in test.average.ranks]


def test_a_setting_without_a_value_has_its_heading_above_what_is_said_of_it(tmp_path: Path) -> None:
    results = made_study(["nnpu", "vpu"], ["imdb"], [2, 25])
    done: list[NamedRun] = [(r.spec.method.key, RunResult(r, tmp_path)) for r in results]
    rare = [varied(r, mechanism=MechanismSpec(key="scar", c=0.001)) for r in results]
    refused = [FailedRun(r.spec.method.key, r.run_id, r.spec, "refused", "no labeled row") for r in rare]
    model = model_of(Gathered(tmp_path, "", [*done, *((run.name, run) for run in refused)]), "accuracy", None)
    tests = comparisons_of(model, "nnpu")
    parts = sections(model, tests)
    tables = tables_of(parts)
    assert tables["tests-s2"].notes == ("no tests: no method has a value here",)
    assert tables["ranks-s2"].notes == ("no ranks over data sets: no method has a value here",)
    words = model.settings[1].words
    assert "c 0.001" in words
    printed = io.StringIO()
    print_sections(Console(file=printed, width=200), [], parts)
    for note in ("no tests: no method", "no ranks over data sets: no method"):
        assert f"{words}\nnote: {note}" in printed.getvalue()
        assert f"**{words}**\n\n- {note}" in markdown(["x"], parts)
        assert f"% {words}\n% {note}" in latex(["x"], parts)
        assert re.search(rf"<h3>{words}</h3>\s*<[^>]+>{note}", page(views_of(model), tests, ["x"]))


def test_groups_are_those_that_nemenyis_test_does_not_tell_apart(tmp_path: Path) -> None:
    methods = [f"m{k}" for k in range(5)]
    results = [
        made_run(method, f"d{d}", 2, {"f1": 0.5 + 0.05 * k + 0.001 * d})
        for k, method in enumerate(methods)
        for d in range(6)
    ]
    test = compared_in(tmp_path, results, "m0")
    assert test.average.friedman is not None
    ranks, distance = dict(test.average.ranks), test.average.friedman.critical_difference
    for group in test.average.groups:
        assert abs(ranks[group[0]] - ranks[group[-1]]) < distance
    assert not any(set(one) < set(other) for one in test.average.groups for other in test.average.groups)
    together = {frozenset((a, b)) for group in test.average.groups for a in group for b in group if a != b}
    apart = {frozenset((a, b)) for a in methods for b in methods if abs(ranks[a] - ranks[b]) >= distance}
    assert not together & apart
    assert len(together | apart) == 10
    assert apart


def test_a_folder_without_a_finished_run_is_refused_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="has no finished run to report: it holds no records"):
        gather(str(tmp_path), Path("results"), None)
    (tmp_path / "failed" / "0a-1").mkdir(parents=True)
    (tmp_path / "failed" / "0a-1" / "failure.json").write_text("{}")
    with pytest.raises(RequestError, match=r"no finished run to report: 1 run failed, and .*failed says why"):
        gather(str(tmp_path), Path("results"), None)


# ---------------------------------------------------------------- formats


def test_text_formats_mark_best_and_second(model: Model, compared: Significance) -> None:
    parts, title = sections(model, [compared]), title_lines(model.gathered)
    best = next(row for row in METHODS if cell(model, row, "spambase").mark == "best")
    value = model.measure.text(cell(model, best, "spambase").mean or 0.0)
    assert f"**{value} ± " in markdown(title, parts)
    assert rf"\textbf{{{value} $\pm$ " in latex(title, parts)
    assert latex(title, parts).count(r"\begin{tabular}") == sum(bool(t.rows) for part in parts for t in part.tables)
    assert "pn (oracle)" in markdown(title, parts)


def test_the_csv_has_every_cell_under_every_criterion_with_its_runs(model: Model, compared: Significance) -> None:
    rows = list(csv.DictReader(io.StringIO(csv_text(model, [compared]))))
    assert len(rows) == len(METHODS) * len(DATA) * len(model.criteria)
    one = next(r for r in rows if (r["method"], r["data"], r["criterion"]) == ("vpu", "spambase", "f1"))
    assert float(one["mean"]) == cell(model, "vpu", "spambase").mean
    assert len(one["run_ids"].split()) == 4
    assert one["baseline"] == "nnpu"
    assert float(one["adjusted_p"]) == pair_of(compared, "spambase", "vpu").adjusted


# ---------------------------------------------------------------- the page


def test_the_page_needs_nothing_but_itself_and_every_number_leads_to_its_runs(
    model: Model, compared: Significance
) -> None:
    html = page(views_of(model), [compared], title_lines(model.gathered))
    places = re.findall(r'\bid="?([\w.-]+)', html)
    assert len(places) == len(set(places))
    assert set(re.findall(r'href="?#([\w-]+)', html)) <= set(places)
    assert {f"r-{run.run_id}" for run in model.gathered.done} <= set(places)
    numbers = re.findall(r"<td[^>]*>(.*?)</td>", html)
    assert all('<a href="#c' in text for text in numbers if "±" in text)
    assert not re.findall(r'(?:src|href)="?(?!#|data:,)[^">\s]', html.partition("<script>")[0])
    assert "url(" not in re.sub(r"url\(#", "", html)
    assert "@import" not in html
    assert "default-src 'none'" in html


# ---------------------------------------------------------------- names that are code somewhere

STRANGE = "a|b_c 5% & #1\nend"


@pytest.fixture(scope="module")
def strange(tmp_path_factory: pytest.TempPathFactory) -> Model:
    """A method and data whose names every format has to escape; one run failed for a reason that is markup."""
    made = made_study([STRANGE, "[x] vpu"], ["<b>bold</b>", "$x_1$&amp;"], [2, 25])
    folder = stored(tmp_path_factory.mktemp("strange"), made)
    lost = varied(made[0], seed=42)
    failure = made_failure(lost.run_id, spec=lost.spec, reason='"><img src=x onerror=alert(1)>')
    (folder / "failed" / f"{failure.run_id}-1").mkdir(parents=True)
    (folder / "failed" / f"{failure.run_id}-1" / "failure.json").write_text(failure.model_dump_json())
    return model_of(gather(str(folder), Path("r"), None), "accuracy", None)


def test_a_name_is_escaped_in_markdown_and_is_one_line(strange: Model) -> None:
    lines = markdown(["x"], sections(strange, comparisons_of(strange, "[x] vpu"))).splitlines()
    cells = [re.split(r"(?<!\\)\|", line)[1].strip() for line in lines if line.startswith("|")]
    assert r"a\|b\_c 5% & #1 end" in cells
    assert r"\[x\] vpu" in cells


def test_a_name_is_escaped_in_latex_and_is_one_line(strange: Model) -> None:
    text = latex(["x"], sections(strange, comparisons_of(strange, "[x] vpu")))
    names = [line.partition(" & ")[0] for line in text.splitlines() if line.endswith(r"\\")]
    assert r"a\textbar{}b\_c 5\% \& \#1 end" in text
    assert "{[}x] vpu" in names  # after a line break, a bracket is an argument of it
    assert r"\$x\_1\$\&" in text


def test_names_and_reasons_that_are_markup_are_text_in_the_page(strange: Model) -> None:
    found = page(views_of(strange), comparisons_of(strange, "[x] vpu"), ["<script>alert(1)</script>"])
    assert "8 runs, 1 failed" in title_lines(strange.gathered)[1]
    assert "onerror=alert(1)" in found
    assert "<img" not in found
    assert "<script>alert" not in found
    assert "<b>bold</b> on" not in found
    assert "&lt;b&gt;bold&lt;/b&gt;" in found


def test_data_of_a_page_are_json_whatever_a_name_holds() -> None:
    data = {"name": "</script>&\x1b\x7f\x92\u2028\u202e\ud800\U0001f600 caf\xe9"}
    text = script_json(data)
    assert json.loads(text) == data
    assert not set(text) & set("<>&\x7f\x92\u2028\u202e")


def test_a_difference_that_is_printed_as_nothing_has_no_sign() -> None:
    measure = ShownMeasure.of("accuracy")
    shown = [measure.text(number / 100, "+") for number in (-0.001, 0.001, 0.0, -0.01, 0.01)]
    assert shown == ["0.00", "0.00", "0.00", "-0.01", "+0.01"]


@pytest.mark.parametrize(
    "name", ['=HYPERLINK("http://x","y")', "@SUM(1+1)*cmd|' /C calc'!A0", "+1+1", "-1-1", "\t=1", "-nnpu"]
)
def test_a_text_of_csv_that_a_spreadsheet_would_compute_is_marked_as_text(name: str) -> None:
    cells = list(csv.reader(io.StringIO(csv_of(["method", name], [{"method": name, name: 1.5}]), newline="")))
    assert cells == [["method", f"'{name}"], [f"'{name}", "1.5"]]


@pytest.mark.parametrize("cell", ["-0.5", "+1", "-1e-3", "-", "", "nnpu", "a=b", "-0.5 ± 0.3", -0.5, None])
def test_numbers_and_other_texts_of_csv_are_as_they_are(cell: object) -> None:
    written = csv_of(["x", "y"], [{"x": cell, "y": 1}])
    assert written == f"x,y\n{'' if cell is None else cell},1\n"
