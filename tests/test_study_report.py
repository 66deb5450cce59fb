"""``pubench study report`` as a user meets it: formats, exit codes, and its page in a browser."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from made_studies import made_study, stored

Run = Callable[..., "subprocess.CompletedProcess[str]"]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with records in ``results``."""
    place = tmp_path_factory.mktemp("report")
    stored(place / "results", made_study(["nnpu", "vpu", "upu"], ["imdb", "20news"], [2, 25, 42]))
    return place


def test_every_format_is_written(folder: Path, pubench_in: Callable[[Path], Run]) -> None:
    run = pubench_in(folder)
    begins = {
        "table": "Report of records in results",
        "md": "# Report of records",
        "csv": "setting,data",
        "latex": "% ",
    }
    for form, beginning in begins.items():
        done = run("study", "report", "results", "--format", form)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith(beginning)
        to_file = run("study", "report", "--format", form, "--out", f"out.{form}")
        assert (to_file.returncode, to_file.stdout, to_file.stderr) == (0, "", f"written: out.{form}\n")
        assert (folder / f"out.{form}").read_text().startswith(beginning)


def test_figures_and_page_are_written_where_asked(folder: Path, pubench_in: Callable[[Path], Run]) -> None:
    done = pubench_in(folder)("study", "report", "results", "--format", "html", "--figures", "figures")
    assert done.returncode == 0, done.stderr
    assert (folder / "results-report.html").read_text().startswith("<!DOCTYPE html>")
    names = {path.name for path in (folder / "figures").iterdir()}
    assert {"methods-s1.png", "methods-s1.svg", "difference-s1.svg", "cost-s1.png"} <= names


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "error: no folder of records and no study in results is called 'nowhere'"),
        (["results", "--study", "short"], "short"),
        (["results", "--measure", "acuracy"], "unknown measure on test rows 'acuracy'; did you mean 'accuracy'?"),
        (["results", "--criterion", "f2"], "unknown criterion 'f2'"),
        (["results", "--baseline", "nnpuu"], "unknown baseline 'nnpuu'; did you mean 'nnpu'?"),
        (["results", "--out", "nowhere/x.md", "--format", "md"], "cannot write nowhere/x.md"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_exit_code_2(
    folder: Path, pubench_in: Callable[[Path], Run], arguments: list[str], said: str
) -> None:
    done = pubench_in(folder)("study", "report", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert said in done.stderr


def test_a_report_imports_no_torch(folder: Path, pubench_in: Callable[[Path], Run]) -> None:
    done = pubench_in(folder)("study", "report", "results", cold=True, env={"PYTHONPROFILEIMPORTTIME": "1"})
    assert done.returncode == 0
    assert "Report of records" in done.stdout
    assert not re.findall(r"\| +torch\n", done.stderr)


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium here to open the page with")
def test_a_link_to_a_sorted_and_filtered_view_shows_it(folder: Path, pubench_in: Callable[[Path], Run]) -> None:
    done = pubench_in(folder)("study", "report", "results", "--format", "html", "--out", "page.html")
    assert done.returncode == 0, done.stderr
    dom = opened(folder / "page.html#filter=nnpu,vpu&sort=results-s1:1:descending")
    table = re.search(r'<table id="results-s1">(.*?)</table>', dom, re.DOTALL)
    assert table is not None
    rows = re.findall(r'<tr( hidden="")?><th scope="row" class="n">(\w+)</th><td>.*?>([\d.]+) ±', table[1])
    assert {name for hidden, name, _ in rows if not hidden} == {"nnpu", "vpu"}
    values = [float(value) for *_, value in rows]
    assert values == sorted(values, reverse=True)
    assert 'aria-sort="descending"' in table[1]
    other = opened(folder / "page.html#sort=results-s1:0:ascending")
    names = re.findall(r'<th scope="row" class="n">(\w+)</th>', other.partition('id="results-s1"')[2])[:3]
    assert names == ["nnpu", "upu", "vpu"]


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium here to open the page with")
def test_a_number_opens_its_runs(folder: Path, pubench_in: Callable[[Path], Run]) -> None:
    pubench_in(folder)("study", "report", "results", "--format", "html", "--out", "page.html")
    assert re.search(r'<details id="c2" open="">', opened(folder / "page.html#c2"))
    assert "open=" not in "".join(re.findall(r"<details[^>]*>", opened(folder / "page.html")))


def opened(place: Path) -> str:
    """The page as a browser has it, after its script."""
    assert CHROMIUM is not None
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    found = subprocess.run(
        [CHROMIUM, *options, f"file://{place}"], capture_output=True, text=True, check=True, timeout=120
    )
    return found.stdout
