"""``pubench site`` and ``pubench.site``: pages that agree with their runs, lead somewhere, and hold no foreign code."""

from __future__ import annotations

import hashlib
import html
import json
import os
import re
import shutil
import signal
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pandas
import pytest
from browser import WIDTHS, browser, faults, needs_browser
from made_results import made_failure, made_result
from made_studies import made_run, made_study, run_id_of, stored
from pubench_report.pages.recipe import recipe
from pubench_report.report.gather import StoredRuns, gather
from pubench_report.report.model import model_of
from pubench_report.site import write
from pubench_report.site.sources import SiteRequest, collect
from pubench_study.plan import write_plan
from pubench_study.planning import freeze
from pubench_study.study_file import StudyFolder, read_study
from refusals import error_line

import pubench
from pubench_core.data.dataset import data_root
from pubench_core.engine.identity import ENGINE_REVISION
from pubench_core.engine.resolve import resolve
from pubench_core.errors import RequestError
from pubench_core.plugins.registry import registry
from pubench_core.records.store import RecordStore
from pubench_core.results import CriterionResult, Measure, Result
from pubench_core.specs import ExecutionSpec, RunSpec

ROOT = Path(__file__).parents[4]
ROWS = ROOT / "benchmarks" / "results" / "study-methods-4.csv"
STRANGE = "<script>alert(1)</script>"
PATH = '../../"><img src=x onerror=alert(2)>'


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Records of four methods, an oracle and one with a name of code among them, under two label frequencies."""
    made = made_study(["nnpu", "vpu", STRANGE, "pn"], ["imdb", PATH], [2, 25, 42], cs=(0.1, 0.5))
    return stored(tmp_path_factory.mktemp("site") / "results", made)


@pytest.fixture(scope="module")
def site(results: Path) -> Path:
    """The folder of a site."""
    return pubench.site(results, results.parent / "site").parent


@pytest.fixture(scope="module")
def of_rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a site of committed rows."""
    return pubench.site(ROWS, tmp_path_factory.mktemp("rows") / "site").parent


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def rows_of(path: Path) -> list[dict[str, Any]]:
    return pandas.read_csv(path, dtype=str, keep_default_na=False).to_dict("records")


def rows_in(path: Path, rows: Sequence[dict[str, str]]) -> Path:
    pandas.DataFrame(rows).to_csv(path, index=False)
    return path


def table_of(page: Path, key: str) -> list[list[str]]:
    """The rows of a table as plain text, its head first."""
    found = re.search(rf'<table id="{re.escape(key)}">(.*?)</table>', text_of(page), re.DOTALL)
    assert found is not None, f"{page.name} has no table {key}"
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", found[1], re.DOTALL)
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in rows]
    return [[html.unescape(re.sub(r"<[^>]*>", "", cell)) for cell in row] for row in cells]


def tables(site: Path) -> list[list[str]]:
    """The rows of the results on the first page of tables."""
    (name,) = re.findall(r'<a href="([^"]+)">Tables</a>', text_of(site / "index.html"))
    (key,) = re.findall(r'<table id="(results-s\d+)"', text_of(site / name))
    return table_of(site / name, key)[1:]


def board_of(site: Path) -> dict[str, dict[str, str]]:
    """Method -> column -> text, of the table of the front page without its script."""
    head, *rows = table_of(site / "index.html", "standing")
    return {" ".join(row[1].split()): dict(zip(head, row, strict=True)) for row in rows}


# -------------------------------------------------------------------- pages


def test_there_is_a_page_per_table_method_and_data_set(site: Path) -> None:
    names = sorted(page.name for page in site.glob("*.html"))
    assert names == [
        "data-imdb.html",
        "data-img-src-x-onerror-alert-2.html",
        "index.html",
        "method-nnpu.html",
        "method-pn.html",
        "method-script-alert-1-script.html",
        "method-vpu.html",
        "protocol-case-control-scar-c-0-1-0-01.html",
        "protocol-case-control-scar-c-0-5-0-01.html",
    ]


@pytest.mark.parametrize("place", ["site", "of_rows"])
def test_every_link_leads_somewhere(place: str, request: pytest.FixtureRequest) -> None:
    folder: Path = request.getfixturevalue(place)
    ids = {page.name: set(re.findall(r'\bid="?([\w.-]+)', text_of(page))) for page in folder.glob("*.html")}
    seen = 0
    for page in folder.glob("*.html"):
        for address in re.findall(r'href=["\']?([^"\'> ]+)', text_of(page).partition("<script>")[0]):
            file, _, place_in = unquote(html.unescape(address)).partition("#")
            if address.startswith(("https://", "data:")):
                continue
            if file in ("records/SHA256SUMS", "rows/SHA256SUMS"):  # one of them is there
                continue
            assert (folder / file).exists(), f"{page.name}: {address}"
            assert not place_in or place_in in ids[file or page.name], f"{page.name}: {address}"
            seen += 1
    assert seen > 100


def test_names_are_text_and_never_code(site: Path) -> None:
    for page in site.glob("*.html"):
        text = text_of(page)
        assert "<script>alert" not in text
        assert "<img" not in text
        assert not re.search(r'<[^>]*" onerror', text)
        assert len(re.findall(r"<script>", text)) == 1  # its own, whose hash the page names
        assert set(re.findall(r"<script[^>]*>", text)) <= {
            "<script>",
            *re.findall(r'<script type="application/json" id="[a-z-]+">', text),
        }
        assert "default-src 'none'" in text
        assert not re.search(r'(?:src|<link[^>]+href)="https?:', text)
    assert html.escape(STRANGE) in text_of(site / "index.html")


def test_ranks_are_by_every_criterion_and_without_oracles(results: Path, site: Path) -> None:
    found = pubench.load_results(results).where(c=0.1, data="imdb")
    page = site / "method-vpu.html"
    text = text_of(page).partition('<table id="results">')[2]
    mine = next(row for row in text.split("<tr>") if "IMDb" in row and "10 %" in row)
    for criterion, place in (("pa", 0), ("f1", 2)):
        cells = found.table("accuracy", criterion=criterion).cells
        means = {row: cell.mean for (row, _), cell in cells.items() if row != "pn"}
        rank = 1 + sum(mean > means["vpu"] for mean in means.values())
        assert re.findall(r'title="rank (\d of \d)"', mine)[place] == f"{rank} of 3", criterion
        assert place or f">{rank} of 3</td>" in mine
    assert {row[3] for row in table_of(site / "method-pn.html", "results")[1:]} == {"-"}
    assert board_of(site)["PN (oracle)"]["#"] == ""
    assert "rank " not in text_of(site / "method-pn.html").partition('<table id="results">')[2].partition("</table>")[0]


def test_where_lower_is_better_the_least_value_is_first(results: Path) -> None:
    model = model_of(gather(str(results), results, None), "accuracy", "f1")
    lower = replace(model, measure=replace(model.measure, higher_is_better=False), _cells={})
    column = model.settings[0].columns[0]
    upwards, downwards = (
        {row: one.cells(one.measure, "f1")[row, column.label].rank for row in one.grid.rows} for one in (model, lower)
    )
    assert sorted(rank for row, rank in upwards.items() if row not in model.grid.apart) == [1, 2, 3]
    assert {row: 4 - rank if rank else 0 for row, rank in upwards.items()} == downwards
    assert {upwards[row] for row in model.grid.oracles} == {0}


def test_results_named_by_several_criteria_are_shown_by_pa(tmp_path: Path) -> None:
    values = {"oa": 0.9, "last": 0.8, "pa": 0.7, "f1": 0.6}
    first, second = made_run("nnpu", "imdb", 2, values), made_run("vpu", "imdb", 2, values)
    stored(tmp_path / "results", [first, second.model_copy(update={"selected": "last"})])
    site = pubench.site(tmp_path / "results", tmp_path / "site").parent
    assert {row["IMDb"] for row in board_of(site).values()} == {"70.00"}
    assert "One seed per data set" in text_of(site / "index.html")


def test_a_card_says_what_the_method_says(site: Path) -> None:
    text = html.unescape(text_of(site / "method-nnpu.html"))
    assert "Kiryo" in text
    assert "kiryor/nnPUlearning" in text  # what is followed
    assert "Wang et al., Table 4" in text  # where a preset's values come from
    assert "not installed where this site was made" in text_of(site / "method-script-alert-1-script.html")


def test_methods_of_a_data_set_stand_best_first(site: Path) -> None:
    page = site / "data-imdb.html"
    key = next(iter(re.findall(r'<table id="(of-[\w-]+)"', text_of(page))))
    _, *rows = table_of(page, key)
    assert [row[2] for row in rows] == ["1", "2", "3", "-"]
    values = [float(row[1].split(" ")[0]) for row in rows[:3]]
    assert values == sorted(values, reverse=True)
    assert rows[3][0] == "PN (oracle)"


# -------------------------------------------------------------------- records and rows


def test_records_are_copied_with_their_checksums(results: Path, site: Path) -> None:
    sums = dict(line.split("  ")[::-1] for line in (site / "records" / "SHA256SUMS").read_text().splitlines())
    assert len(sums) == len(pubench.load_results(results)) == 48
    for name, digits in sums.items():
        content = (site / "records" / name).read_bytes()
        assert hashlib.sha256(content).hexdigest() == digits
        assert content == (results / name).read_bytes()


def test_a_site_with_scores_can_be_verified(tmp_path: Path) -> None:
    run = pubench.run("pn", "digits", config={"epochs": 2}, results=tmp_path / "results", threads=1, tracking=False)
    for with_scores in (False, True):
        place = pubench.site(tmp_path / "results", tmp_path / "site", with_scores=with_scores).parent
        found = pubench.verify(place / "records", rerun=0)
        assert [problem.what for problem in found.problems] == ([] if with_scores else ["scores.npz is missing"])
        assert found.checksums == 3 + with_scores
        assert (place / "records" / run.run_id / "scores.npz").exists() is with_scores


def test_what_a_link_points_to_is_not_published(results: Path, tmp_path: Path) -> None:
    """A record that others made may have links, which git carries, to files of whoever makes the site."""
    copy = Path(shutil.copytree(results, tmp_path / "copy"))
    record = next(copy.glob("*/result.json")).parent
    (tmp_path / "secret.txt").write_text("a key")
    for name in ("environment.json", "spec.yaml"):
        (record / name).unlink(missing_ok=True)
        (record / name).symlink_to(tmp_path / "secret.txt")
    said: list[str] = []
    write.write_site(SiteRequest([copy], tmp_path / "site"), said.append)
    assert said == [f"{record.name}: spec.yaml, environment.json not copied, as a link may lead to anything"]
    assert [path.name for path in (tmp_path / "site" / "records" / record.name).iterdir()] == ["result.json"]


def test_a_file_of_rows_is_published_as_it_is(of_rows: Path) -> None:
    (copy,) = (of_rows / "rows").glob("*.csv")
    assert copy.read_bytes() == ROWS.read_bytes()


# -------------------------------------------------------------------- draws of hyper-parameters

#: Seed -> (value of the criterion, test accuracy) of each draw.
DRAWN = {2: ((1.1, 0.90), (1.3, 0.70), (1.2, 0.95)), 25: ((1.0, 0.91), (1.0, 0.92), (1.4, 0.80))}


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Records of a study with three draws on two splits, and one run of no study with other hyper-parameters."""
    results = tmp_path_factory.mktemp("drawn") / "results"
    file = results.parent / "three-draws.yaml"
    file.write_text(
        "{name: three-draws, methods: [nnpu], data: [digits], mechanisms: [scar], c: [0.1], seeds: [2, 25], draws: 3, "
        "settings: {selection: {criterion: pa}}}"
    )
    study = read_study(file)
    plan, _ = freeze(study, registry(), data_root(ExecutionSpec()))
    write_plan(StudyFolder(results, plan.name), study, plan)
    values = {run.run_id: DRAWN[run.spec.seed][run.draw or 0] for run in plan.runs}
    made = [(run.run_id, run.spec, *values[run.run_id]) for run in plan.runs]
    other = made[0][1].model_copy(update={"seed": 42})
    stored(results, [made_draw(*one) for one in (*made, (run_id_of(other), other, 1.0, 0.5))])
    return results


def made_draw(run_id: str, spec: RunSpec, value: float, accuracy: float) -> Result:
    measures = {"test": {"accuracy": Measure(value=accuracy)}}
    pa, pauc = (
        CriterionResult(oracle=False, epoch=3, value=one, snapshot="epoch-3", measures=measures)
        for one in (value, accuracy)
    )
    return made_result(run_id, spec=spec, criteria={"pa": pa, "pauc": pauc}, selected="pa", warnings=())


def test_of_the_draws_of_a_study_the_chosen_one_is_shown_and_every_record_is_published(
    drawn: Path, tmp_path: Path
) -> None:
    site = pubench.site(drawn, tmp_path / "site", study="three-draws").parent
    assert tables(site) == [["nnpu", "75.00 ± 7.07"]]  # .70 and .80
    assert "hyper-parameters: the best of 3 finished draws by pa, on each split" in text_of(site / "index.html")
    assert len(list((site / "records").glob("*/result.json"))) == 6

    by_pauc = pubench.site(drawn, tmp_path / "by-pauc", study="three-draws", criterion="pauc").parent
    assert tables(by_pauc) == [["nnpu", "93.50 ± 2.12"]]  # .95 and .92

    records_alone = tmp_path / "records-alone"
    shutil.copytree(drawn, records_alone, ignore=shutil.ignore_patterns("studies"))
    both = pubench.site([records_alone, drawn], tmp_path / "both").parent
    assert tables(both) == [
        ["nnpu", "50.00 (1 of 3)"],
        ["nnpu [draws=chosen]", "75.00 ± 7.07 (2 of 3)"],
    ]


def test_rows_of_a_plan_that_are_called_as_other_methods_are_shown_with_their_own(tmp_path: Path) -> None:
    """Somebody swapped the names of two methods; a name that is no method's key stays."""
    results, file = tmp_path / "results", tmp_path / "swapped.yaml"
    file.write_text(
        "{name: swapped, methods: [nnpu, upu, {key: vpu, name: mine}], data: [digits], mechanisms: [scar], c: [0.1], "
        "seeds: [2], settings: {selection: {criterion: pauc}}}"
    )
    study = read_study(file)
    plan, _ = freeze(study, registry(), data_root(ExecutionSpec()))
    write_plan(StudyFolder(results, plan.name), study, plan)
    stored(results, [made_draw(run.run_id, run.spec, 1.0, 0.5) for run in plan.runs])
    place = StudyFolder(results, plan.name).plan
    text = place.read_text()
    swapped = re.sub(r'"row": "(nnpu|upu)"', lambda m: f'"row": "{"upu" if m[1] == "nnpu" else "nnpu"}"', text)
    assert swapped != text
    place.write_text(swapped)
    shown = {"nnpu (called upu)", "upu (called nnpu)", "mine"}
    assert set(pubench.load_results(results, study="swapped").methods) == shown
    assert {name for name, _ in gather(None, results, "swapped").runs} == shown
    assert {run.result.selected for run in pubench.load_results(results, study="swapped")} == {"pauc"}


def test_a_run_that_failed_once_and_finished_later_has_its_result(drawn: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(drawn, tmp_path / "results"))
    run = gather(str(copy), copy, "three-draws").done[0]
    RecordStore(copy).write_failure(made_failure(run.run_id, spec=run.result.spec))
    again = gather(str(copy), copy, "three-draws")
    assert run.run_id in {one.run_id for one in again.done}
    assert again.failed == []


def test_rows_of_draws_are_read_as_draws(tmp_path: Path) -> None:
    wanted = ("nnpu", "spambase", "f1")
    row = next(row for row in rows_of(ROWS) if (row["method"], row["data"], row["criterion"]) == wanted)
    rows = []
    for seed, draws in DRAWN.items():
        for number, (value, accuracy) in enumerate(draws):
            of_draw = {
                "seed": f"{seed}",
                "draw": f"{number}",
                "criterion_value": f"{value}",
                "accuracy": f"{100 * accuracy}",
            }
            settings = f"batch_size={16 * 2**number} validation.fraction=0.01"
            run_id = f"{seed:08x}{number:08x}"
            rows.append(row | of_draw | {"settings": settings, "run_id": run_id, "study": "three-draws"})
    site = pubench.site(rows_in(tmp_path / "rows.csv", rows), tmp_path / "site").parent
    assert tables(site) == [["nnpu", "75.00 ± 7.07"]]


def test_rows_that_name_a_positive_rate_are_read_with_it(tmp_path: Path) -> None:
    row = next(row for row in rows_of(ROWS.with_name("study-wang-case2.csv")) if row["criterion"] == "pa")
    rates = ("0.3", "0.2")
    written = [row | {"positive_rate": rate, "run_id": f"{k:016x}", "at_once": ""} for k, rate in enumerate(rates)]
    read = StoredRuns(rows_in(tmp_path / "rows.csv", written)).stored()
    assert [run.result.spec.mechanism.positive_rate for run in read.done] == [0.3, 0.2]
    assert {run.result.spec.mechanism.c for run in read.done} == {None}
    assert {run.result.at_once for run in read.done} == {None}  # which is not known


def test_rows_of_another_engine_revision_are_counted(tmp_path: Path) -> None:
    row = next(row for row in rows_of(ROWS) if row["criterion"] == "f1")
    revisions = (str(ENGINE_REVISION), "1", "")  # empty: of an uncommitted tree
    written = [row | {"revision": revision, "run_id": f"{k:016x}"} for k, revision in enumerate(revisions)]
    read = StoredRuns(rows_in(tmp_path / "rows.csv", written)).stored()
    said = f"rows.csv: 2 of 3 runs are of another engine revision than {ENGINE_REVISION}, or of an unknown one"
    assert said in read.notes
    engines = [run.result.code.parts.get("engine") for run in read.done]
    assert engines == [f"revision {ENGINE_REVISION}", "revision 1", None]
    of_now = StoredRuns(rows_in(tmp_path / "new.csv", written[:1])).stored()
    assert not [note for note in of_now.notes if "engine revision" in note]


def test_rows_of_no_study_stand_beside_those_of_one(tmp_path: Path) -> None:
    rows = rows_of(ROWS)
    alone = rows[0]["run_id"]
    written = [row | ({"study": ""} if row["run_id"] == alone else {}) for row in rows]
    site = pubench.site(rows_in(tmp_path / "rows.csv", written), tmp_path / "site").parent
    pages = "".join(text_of(page) for page in site.glob("protocol-*.html"))
    assert {row["run_id"] for row in rows} == set(re.findall(r'id="r-(\w+)"', pages))


def test_rows_that_decide_every_row_alike_are_marked(tmp_path: Path) -> None:
    found = rows_of(ROWS.with_name("study-conventional.csv"))
    of_spambase = [row for row in found if (row["criterion"], row["data"]) == ("f1", "spambase")]
    rows = list({row["method"]: row for row in of_spambase}.values())
    share, other = _share(rows[0]), _share(rows[1])
    rows[0] |= {"accuracy": f"{100 * share:.4f}", "precision": f"{100 * share:.4f}", "recall": "100.0"}
    rows[1] |= {"accuracy": f"{100 * (1 - other):.4f}", "precision": "0.0", "recall": "0.0"}
    place = pubench.site(rows_in(tmp_path / "rows.csv", rows), tmp_path / "site").parent
    (page,) = place.glob("protocol-*.html")
    shown = [row[1] for row in table_of(page, "results-s1") if "alike" in row[1]]
    assert len(shown) == 2


def _share(row: dict[str, Any]) -> float:
    """Of positives among the test rows, from accuracy, precision and recall."""
    accuracy, precision, recall = (float(row[name]) / 100 for name in ("accuracy", "precision", "recall"))
    return (1 - accuracy) / (1 - 2 * recall + recall / precision)


def test_runs_with_other_settings_than_their_preset_are_marked(tmp_path: Path) -> None:
    """A shortened training in the authors' preset, next to whole ones in PU-Bench's."""
    index = pubench.site([ROWS.with_name("study-generative-images.csv"), ROWS], tmp_path / "site").read_text()
    row = index.partition('<table id="standing">')[2].partition(">CGenPU</td>")[2].partition("</tr>")[0]
    marked = re.findall(r'<span title="([^"]*)">[\d.]+</span>', row)
    said = "preset=official, epochs=2 instead of 1000"
    assert marked == [said]  # on Fashion-MNIST, not on two other data sets
    assert len(re.findall(r">\d\d\.\d\d<", row)) == 3
    assert list(_first_setting(index)["departs"].values()).count(said) == 1
    head, *rows = ROWS.with_name("study-teisseyre2025.csv").read_text("utf-8").splitlines()
    mine = [row for row in rows if ",sar-em,teisseyre2025/yeast," in row and ",official," in row]
    (tmp_path / "sar-em.csv").write_text("\n".join([head, *mine]), "utf-8")
    index = pubench.site([tmp_path / "sar-em.csv"], tmp_path / "other").read_text()
    assert _first_setting(index)["departs"] == {}  # a run has defaults of the base besides what the preset says


def _first_setting(index: str) -> dict[str, Any]:
    """The first setting of a front page's values."""
    found = re.search(r'<script type="application/json" id="values">(.*?)</script>', index, re.DOTALL)
    assert found is not None
    first: dict[str, Any] = json.loads(found[1])["settings"][0]
    return first


def test_tasks_of_a_source_are_one_line_of_the_front_page(tmp_path: Path) -> None:
    """A source of hundreds would take more of it than everything else; its table names each of them."""
    made = made_study(["nnpu", "vpu"], ["imdb", "disdat/sa01", "disdat/sa02"], [2, 25])
    index = pubench.site(stored(tmp_path / "results", made), tmp_path / "site")
    assert table_of(index, "data")[1:] == [
        ["disdat", "2 tasks, with pages of their own", "2", "8"],
        ["imdb", "IMDb", "2", "4"],
    ]
    assert 'href="data-disdat-sa02.html"' in text_of(index.with_name("method-nnpu.html"))


def test_a_cell_has_one_number_on_every_page(tmp_path: Path) -> None:
    """Also of a method that has more seeds than others."""
    made = [
        *made_study(["nnpu", "vpu", "upu"], ["imdb", "20news"], [2, 25, 42]),
        *made_study(["nnpu"], ["imdb"], [7, 8]),
    ]
    index = pubench.site(stored(tmp_path / "results", made), tmp_path / "site")
    first = _first_setting(text_of(index))
    values = first["shown"][first["measure"]][first["criterion"]]["cells"]
    mine = {cell[2]: f"{value[0]:.2f}" for cell, value in zip(first["cells"], values, strict=True)}
    assert sorted(cell[3] for cell in first["cells"]) == [3, 3, 3, 3, 3, 5]
    assert {len(value) for value in values} == {2}  # mean and deviation: all runs of a cell have a value
    for page in (first["page"], "data-*.html", "method-*.html"):
        found = "".join(map(text_of, index.parent.glob(page)))
        shown = re.findall(r'href="[^"#]*#(c\d+)"[^>]*>([\d.]+) ± ', found)
        assert set(shown) >= set(mine.items()), page
    tables = [row for page in index.parent.glob("tables/*.csv") for row in rows_of(page)]
    assert {f"{100 * float(row['mean']):.2f}" for row in tables if row["criterion"] == "pa"} == {*mine.values()}
    cells = pubench.load_results(tmp_path / "results").table("accuracy", criterion="pa").cells.values()
    assert {f"{100 * cell.mean:.2f}" for cell in cells if cell.mean is not None} == {*mine.values()}


def test_several_sources_show_a_run_once(results: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(results, tmp_path / "copy")
    said: list[str] = []
    assert write.write_site(SiteRequest([results, Path(copy)], tmp_path / "site"), said.append).records == 48
    assert said == []


def test_runs_that_two_sources_have_with_other_measures_are_counted_in_one_note(tmp_path: Path) -> None:
    rows = [row for row in rows_of(ROWS) if row["criterion"] == "f1"][:3]
    other = [row | {"accuracy": "1.0"} for row in rows[:2]]
    sources = [rows_in(tmp_path / "a.csv", rows), rows_in(tmp_path / "b.csv", [*other, rows[2]])]
    said: list[str] = []
    write.write_site(SiteRequest(sources, tmp_path / "site"), said.append)
    note = f"2 runs with other measures in a.csv and b.csv, such as {rows[0]['run_id']}; the first is shown"
    assert [text for text in said if "other measures" in text] == [note]


def test_of_a_run_that_two_sources_have_the_one_of_the_newest_engine_is_shown(tmp_path: Path) -> None:
    rows = [row for row in rows_of(ROWS) if row["criterion"] == "f1"][:3]
    older = [row | {"accuracy": "1.0", "revision": "1"} for row in rows[:2]]
    sources = [
        rows_in(tmp_path / "a.csv", older),
        rows_in(tmp_path / "b.csv", [row | {"revision": "5"} for row in rows]),
    ]
    for given in (sources, sources[::-1]):
        collected = collect(SiteRequest(given, tmp_path / "site"))
        assert {run.run_id: run.folder.name for run in collected.done} == {row["run_id"]: "b.csv" for row in rows}
        assert "2 runs of older code, left out for newer ones" in collected.notes
        assert not [text for text in collected.notes if "other measures" in text]


@pytest.mark.parametrize("name", ["elsewhere", "0123456789abcdef"])
def test_a_record_under_another_name_is_left_out_of_sites_and_reports_in_the_same_words(
    results: Path, tmp_path: Path, name: str
) -> None:
    copy = Path(shutil.copytree(results, tmp_path / "copy"))
    record = next(copy.glob("*/result.json")).parent
    record.rename(copy / name)
    said: list[str] = []
    assert write.write_site(SiteRequest([copy], tmp_path / "site"), said.append).records == 47
    (note,) = said
    assert note == f"left out: {copy / name} holds run {record.name}; give it that name"
    gathered = gather(str(copy), copy, None)
    assert (len(gathered.done), list(gathered.notes)) == (47, [note])
    for other in copy.glob("*/"):
        if other.name != name:
            shutil.rmtree(other)
    with pytest.raises(
        RequestError, match=f"has no finished run to report: left out: .*{name} holds run {record.name}"
    ):
        gather(str(copy), copy, None)


def test_a_record_of_what_is_no_run_id_is_left_out(results: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(results, tmp_path / "copy"))
    record = next(copy.glob("*/result.json"))
    record.write_text(record.read_text().replace(record.parent.name, "elsewhere"))
    record.parent.rename(copy / "elsewhere")
    said: list[str] = []
    assert write.write_site(SiteRequest([copy], tmp_path / "site"), said.append).records == 47
    assert said[0] == f"left out: {copy / 'elsewhere'}: 'elsewhere' is no run id"


# -------------------------------------------------------------------- where it is written


def test_a_site_is_replaced_as_a_whole_or_not_at_all(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = pubench.site(results, tmp_path / "site", title="First")
    (tmp_path / "site" / "older.html").write_text("older")

    def full(site: object) -> Any:
        yield "index.html", "half"
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(write, "pages_of", full)
        with pytest.raises(pubench.InvalidRequest, match="No space left on device"):
            pubench.site(results, tmp_path / "site")
    assert "<title>First</title>" in text_of(index)
    pubench.site(results, tmp_path / "site", title="Second")
    assert "<title>Second</title>" in text_of(index)
    assert not (tmp_path / "site" / "older.html").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_a_site_that_is_ended_leaves_nothing_beside_it(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended(aside: Path, out: Path) -> None:
        assert aside.is_dir()
        os.kill(os.getpid(), signal.SIGTERM)

    asked = SiteRequest([results], tmp_path / "site", title="Mine")
    with monkeypatch.context() as patched:
        patched.setattr(write, "_put", ended)
        with pytest.raises(SystemExit) as end:
            write.print_site(asked)
    assert end.value.code == 128 + signal.SIGTERM
    assert list(tmp_path.iterdir()) == []
    write.print_site(asked)
    write.print_site(asked)
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_more_seeds_need_no_more_specs_and_recipes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the seeds of a cell share is computed once: a site of 5,000 runs is mostly seeds."""
    counts: Counter[str] = Counter()

    def counted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            counts[name] += 1
            return function(*given, **named)

        return call

    monkeypatch.setattr("pubench_core.engine.resolve.resolve", counted("resolve", resolve))
    monkeypatch.setattr("pubench_report.pages.report.recipe", counted("recipe", recipe))
    committed = rows_of(ROWS)
    first = [row for row in committed if row["run_id"] == committed[0]["run_id"]]
    found = []
    for seeds in (2, 12):
        rows = [{**row, "seed": str(seed), "run_id": f"{seed:016x}"} for seed in range(seeds) for row in first]
        counts.clear()
        pubench.site(rows_in(tmp_path / f"{seeds}.csv", rows), tmp_path / f"site-{seeds}")
        found.append(dict(counts))
    assert found == [{"resolve": 1, "recipe": 1}] * 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere"], "nowhere does not exist; expected a folder of records, a file of rows (.csv) or a dated board"),
        (["other.csv"], "other.csv is no file of rows: it lacks the column run_id"),
        (["empty"], "found no finished run to publish in empty"),
        (["rows"], "to publish in rows; files of rows must be named themselves: rows/study-one.csv and 1 more"),
        (["results", "--out", "taken"], "taken exists and is not a site of pubench"),
        (["results", "--study", "none"], "unknown study 'none'"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_exit_code_2(
    results: Path,
    pubench_within: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    words: str,
) -> None:
    place = results.parent
    monkeypatch.chdir(place)
    (place / "empty").mkdir(exist_ok=True)
    (place / "taken").mkdir(exist_ok=True)
    (place / "taken" / "mine.txt").write_text("mine")
    (place / "other.csv").write_text("a,b\n1,2\n")
    (place / "rows").mkdir(exist_ok=True)
    for name in ("study-one.csv", "study-two.csv"):
        shutil.copy(ROWS, place / "rows" / name)
    shutil.copy(place / "other.csv", place / "rows")
    assert words in error_line(pubench_within("site", *arguments))
    assert (place / "taken" / "mine.txt").read_text() == "mine"


# -------------------------------------------------------------------- in a browser


PAGES = ("index", "protocol-case-control-scar-c-0-1-0-01", "method-nnpu", "data-imdb")


@needs_browser
@pytest.mark.parametrize("name", PAGES)
def test_every_page_is_readable_narrow_enough_and_asks_for_nothing(site: Path, name: str) -> None:
    with browser() as page:
        assert {width: faults(page, site / f"{name}.html", width=width) for width in WIDTHS} == {1280: [], 390: []}


@needs_browser
def test_heads_of_a_method_page_sort_with_the_keyboard(site: Path) -> None:
    with browser() as page:
        page.goto(f"file://{site}/method-nnpu.html")
        page.focus("#results thead th:nth-child(4) button")
        page.keyboard.press("Enter")
        assert page.get_attribute("#results thead th:nth-child(4)", "aria-sort") == "ascending"
        places = page.locator("#results tbody td:nth-child(4)").all_inner_texts()
        assert places == sorted(places)
        assert "sort=results:3:ascending" in page.url
