"""``pubench study report`` as a user meets it: formats, exit codes, and its page in a browser."""

from __future__ import annotations

import io
import re
from operator import attrgetter
from pathlib import Path

import pytest
from browser import browser, needs_browser, opened
from made_studies import made_study, stored, varied
from printed import Run
from pubench_report.rendering import print_sections
from pubench_report.report.model import comparisons_of
from pubench_report.report.tables import compared_sections
from pubench_report.report.write import verdict
from refusals import error_line
from rich.console import Console

import pubench


@pytest.fixture(scope="module")
def folder(home: Path) -> Path:
    """The folder of the test module, with records in ``results``."""
    stored(home / "results", made_study(["nnpu", "vpu", "upu"], ["imdb", "20news"], [2, 25, 42]))
    return home


def test_every_format_is_written(folder: Path, within: Run) -> None:
    begins = {
        "table": "Report of records in results",
        "md": "# Report of records",
        "csv": "setting,data",
        "latex": "% ",
    }
    for form, beginning in begins.items():
        done = within("study", "report", "results", "--format", form)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith(beginning)
    to_file = within("study", "report", "--format", "md", "--out", "out.text")
    assert (to_file.returncode, to_file.stdout, to_file.stderr) == (0, "", "written: out.text\n")
    assert (folder / "out.text").read_text().startswith(begins["md"])
    for suffix, beginning in {"txt": begins["table"], "tex": begins["latex"], "html": "<!DOCTYPE html>"}.items():
        assert within("study", "report", "--out", f"named.{suffix}").returncode == 0
        assert (folder / f"named.{suffix}").read_text().startswith(beginning)


def test_the_terminal_gets_the_verdict_in_twelve_lines_and_everything_on_request(
    tmp_path: Path, pubench_within: Run
) -> None:
    methods = ["nnpu", "vpu", "upu", "puet", "dist-pu", "glws", "naive", "pn"]
    stored(tmp_path / "results", made_study(methods, ["imdb", "20news"], [2, 25, 42]))
    lines = pubench_within("study", "report", "results").stdout.splitlines()
    assert len(lines) <= 12
    assert "closest to the best of each data set" in lines[2]
    assert "naive (baseline) is" in lines[2]
    first = next(line for line in lines if line.startswith("1 "))
    assert lines[2].startswith(f"{first.split()[1]} comes")
    assert "3 more methods" in lines[-1]
    full = pubench_within("study", "report", "results", "--full").stdout
    assert "Selection criteria side by side" in full
    assert len(full.splitlines()) > 60


def test_a_trial_run_is_kept_out_of_a_report(tmp_path: Path, pubench_within: Run) -> None:
    """Runs of five epochs next to those of ten."""
    runs = made_study(["nnpu", "vpu"], ["imdb"], [2, 25])
    short = [varied(one, method=one.spec.method.model_copy(update={"config": {"epochs": 5}})) for one in runs]
    stored(tmp_path / "results", [*runs, *short])
    every = pubench_within("study", "report", "results").stdout
    assert "nnpu [epochs=5]" in every
    kept = pubench_within("study", "report", "results", "--only", "config.epochs=5", "--only", "seed=2,25")
    assert kept.returncode == 0, kept.stderr
    assert "4 runs; 2 methods" in kept.stdout
    assert "[epochs" not in kept.stdout


def test_figures_and_page_are_written_where_asked(folder: Path, within: Run) -> None:
    done = within("study", "report", "results", "--format", "html", "--figures", "figures")
    assert done.returncode == 0, done.stderr
    assert (folder / "results-report.html").read_text().startswith("<!DOCTYPE html>")
    names = {path.name for path in (folder / "figures").iterdir()}
    assert {"methods-s1.png", "methods-s1.svg"} <= names
    assert "difference-s1.svg" not in names  # of two data sets
    of_call = pubench.load_results(folder / "results").report(folder / "called.html", figures=folder / "drawn")
    assert {path.name for path in of_call} == {"called.html", *names}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "no folder of records and no study in results is called 'nowhere'"),
        (["results", "--study", "short"], "short"),
        (["results", "--measure", "acuracy"], "unknown measure on test rows 'acuracy'; did you mean 'accuracy'?"),
        (["results", "--criterion", "f2"], "unknown criterion 'f2'"),
        (["results", "--only", "sed=2"], "--only sed=2 must be NAME=VALUES, NAME one of method, data, mechanism, c,"),
        (["results", "--only", "seed"], "--only seed must be NAME=VALUES"),
        (["results", "--only", "seed=3"], "--only seed=3: no run has seed 3; there are 2, 25, 42"),
        (["results", "--baseline", "nnpuu"], "unknown baseline 'nnpuu'; did you mean 'nnpu'?"),
        (["--format", "html", "--out", "a.csv"], "--out must end in .html or .htm for --format html, got a.csv"),
        (["results", "--out", "nowhere/x.md", "--format", "md"], "cannot write nowhere/x.md"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_exit_code_2(
    folder: Path, within: Run, arguments: list[str], said: str
) -> None:
    assert said in error_line(within("study", "report", *arguments))


@pytest.fixture(scope="module")
def web_page(folder: Path, here: Run) -> str:
    """Address of the report as a page."""
    done = here("study", "report", "results", "--out", "page.html")
    assert done.returncode == 0, done.stderr
    return f"file://{folder}/page.html"


@needs_browser
def test_a_link_to_a_sorted_and_filtered_view_shows_it(web_page: str) -> None:
    dom = opened(f"{web_page}#filter=nnpu,vpu&sort=results-s1:1:descending")
    table = re.search(r'<table id="results-s1">(.*?)</table>', dom, re.DOTALL)
    assert table is not None
    rows = re.findall(r'<tr( hidden="")?><th scope="row" class="n m">(\w+)</th><td class="r">.*?>([\d.]+) ±', table[1])
    assert {name for hidden, name, _ in rows if not hidden} == {"nnpu", "vpu"}
    values = [float(value) for *_, value in rows]
    assert values == sorted(values, reverse=True)
    assert 'aria-sort="descending"' in table[1]
    other = opened(f"{web_page}#sort=results-s1:0:ascending")
    names = re.findall(r'<th scope="row" class="n m">(\w+)</th>', other.partition('id="results-s1"')[2])[:3]
    assert names == ["nnpu", "upu", "vpu"]


@needs_browser
def test_a_number_opens_its_runs(web_page: str) -> None:
    assert re.search(r'<details id="c2" open="">', opened(f"{web_page}#c2"))
    folded = re.findall(r"<details[^>]*>", opened(web_page))
    assert [one for one in folded if "open=" in one and 'id="bar"' not in one] == []


@needs_browser
def test_everything_on_the_page_can_be_done_with_the_keyboard(web_page: str) -> None:
    names = "[...document.querySelectorAll('#board tbody tr:not([hidden]) th')].map((one) => one.title)"
    focused = "document.activeElement.textContent"
    with browser() as page:
        press, value = page.keyboard.press, page.evaluate
        page.goto(web_page)
        while value("document.activeElement.id") != "filter":
            press("Tab")
        page.keyboard.type("nnpu,vpu")
        assert set(value(names)) == {"nnpu", "vpu"}
        assert value("document.getElementById('count').textContent").endswith(" rows")
        press("Tab")  # the region around the table, which arrow keys scroll
        assert value("document.activeElement.getAttribute('role')") == "region"
        assert value("getComputedStyle(document.activeElement).outlineStyle") == "solid"
        while value(focused) != "method":
            press("Tab")
        press("Enter")
        assert value(names) == ["nnpu", "vpu"]
        press(" ")
        assert value(names) == ["vpu", "nnpu"]
        assert value("document.activeElement.closest('th').ariaSort") == "descending"
        assert value("location.hash") == "#filter=nnpu,vpu&rows=descending%20method"
        while not value("document.activeElement.matches('#board td a')"):
            press("Tab")
        press("Enter")
        assert "over 3 seeds" in value("document.querySelector('#drawer p').textContent")
        press("Shift+Tab")
        cell = value("document.activeElement.getAttribute('href')")
        press("Enter")
        page.wait_for_function(f"document.querySelector('{cell}').open")
        assert not page.is_visible("#drawer")
        assert value(focused).startswith("vpu on ")  # the summary, from where Tab leads to the runs
        press("Tab")
        press("Tab")
        assert value(focused) == "seed 25"
        press("Enter")
        command = value(f"document.querySelector('{cell} pre').textContent")
        assert command.endswith("--seed 25")
        press("Shift+Tab")
        assert value(focused) == "seed 2"


def test_a_call_writes_what_the_command_writes(
    folder: Path, pubench_within: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = pubench.load_results(folder / "results").where(method=["nnpu", "vpu"])
    in_order = attrgetter("result.spec.data.key", "result.spec.method.key", "result.spec.seed")
    chosen = pubench.Results(sorted(results, key=in_order))
    stored(folder / "two" / "results", [run.result for run in chosen])
    monkeypatch.chdir(folder / "two")
    for name, form in (("a.txt", "table"), ("a.csv", "csv"), ("a.html", "html")):
        wanted = folder / "two" / name
        done = pubench_within("study", "report", "results", "--format", form, "--out", name, "--measure", "f1")
        assert done.returncode == 0, done.stderr
        written = chosen.report(folder / f"called-{name}", measure="f1")
        assert written == [folder / f"called-{name}"]
        assert written[0].read_bytes() == wanted.read_bytes(), name


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("a.pdf", r"a\.pdf: expected a name that ends in \.html, \.htm, \.md, \.csv, \.tex, \.txt"),
        ("a", "a: expected a name that ends in"),
        ("nowhere/a.md", "cannot write nowhere/a.md"),
    ],
)
def test_what_a_call_cannot_do_is_one_line(folder: Path, monkeypatch: pytest.MonkeyPatch, path: str, said: str) -> None:
    monkeypatch.chdir(folder)
    results = pubench.load_results("results")
    with pytest.raises(pubench.InvalidRequest, match=said):
        results.report(path)
    with pytest.raises(pubench.InvalidRequest, match="unknown baseline 'nnpuu'"):
        results.report("a.md", baseline="nnpuu")
    with pytest.raises(pubench.InvalidRequest, match="there is no finished run to report"):
        pubench.Results().report("a.md")
    assert not Path("a.md").exists()


def test_a_report_that_cannot_be_written_leaves_the_older_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = pubench.load_results(folder / "results").where(data="imdb")
    path = folder / "older.md"
    path.write_text("older")
    monkeypatch.setattr("pubench_core.data.checksum_cache.sync", full)
    with pytest.raises(pubench.InvalidRequest, match="No space left"):
        results.report(path)
    assert path.read_text() == "older"
    assert not list(folder.glob(".older*"))


def full(path: Path) -> None:
    raise OSError(28, "No space left on device")


def test_no_word_is_cut_at_80_columns(folder: Path) -> None:
    model = pubench.load_results(folder / "results").model("accuracy", "pa", "test")
    sections = compared_sections(model, comparisons_of(model, "nnpu"))

    def words(width: int) -> set[str]:
        console = Console(file=io.StringIO(), force_terminal=True, color_system=None, width=width)
        print_sections(console, (verdict(model),), sections)
        text = console.file.getvalue()  # type: ignore[attr-defined]
        assert width > 80 or all(len(line) <= 80 for line in text.splitlines())
        return {*text.split()}

    assert words(80) >= words(400) - {"-", "·"}
