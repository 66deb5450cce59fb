"""What the documentation says can be done, is done: its commands, its Python, its links."""

from __future__ import annotations

import contextlib
import doctest
import importlib.util
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from browser import faults_of_documents, needs_browser
from repository import ROOT, script

from pubench_core import sinks
from pubench_core.engine.resolve_method import method_class
from pubench_core.plugins.info import DatasetInfo, MechanismInfo, MethodInfo, MetricInfo
from pubench_core.plugins.registry import registry

DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted((DOCS / "pages").glob("*.md"))]
#: What these pages make must be installed on the way: ``test_scaffold_pages.py`` does what they say.
ELSEWHERE = "adding-a-"

#: Data sets whose data are part of a Python package.
PACKAGED = {"digits", "breast-cancer", "toy-gaussian"}
#: Commands of pubench that CI cannot run, whatever their arguments.
NEVER = {"ui": "it serves a page until it is stopped", "check": "the tests of every method run the same checks"}
#: Comments before a block, read from its last line up.
_SKIPPED = re.compile(r"<!-- not run in CI: (?P<why>.+) -->")
_REFUSED = "<!-- refused in CI: exit code 2 -->"
_FENCE = re.compile(
    r"(?P<before>[^\n]*)\n+```(?P<language>\w*)(?P<more>[^\n]*)\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE
)
_TITLE = re.compile(r'title="(?P<name>[\w.-]+)"')
_RUN_ID = re.compile(r"results/([0-9a-f]{16})")
#: Ten epochs or twenty, in Python, YAML or a command. Here, all runs that a page shows have EPOCHS: numbers aside, they
#: print the same.
_LONG = re.compile(r"(?<=\bepochs)(?P<between>\"?(?:=|: ?))[12]0\b")
EPOCHS = 6


@dataclass(frozen=True)
class Block:
    """One fenced block. ``skipped``: why CI does not run it; ``refused``: its command ends with exit code 2.

    ``title``: the file that it shows, if it shows one.
    """

    language: str
    body: str
    skipped: str
    refused: bool
    title: str


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    found = []
    for fence in _FENCE.finditer("\n" + page.read_text(encoding="utf-8")):
        comment = _SKIPPED.search(fence["before"])
        refused = _REFUSED in fence["before"]
        titled = _TITLE.search(fence["more"])
        why, title = comment["why"] if comment else "", titled["name"] if titled else ""
        body = _LONG.sub(rf"\g<between>{EPOCHS}", fence["body"])
        found.append(Block(fence["language"], body, why, refused, title))
    return found


def commands(block: Block) -> list[str]:
    """Its lines that call pubench, without prompt and comment; a line that ends in a backslash goes on in the next."""
    lines = [line.removeprefix("$ ").strip() for line in block.body.replace("\\\n", " ").splitlines()]
    return [line for line in lines if line.startswith("pubench ")] if block.language in ("", "console", "bash") else []


def needs_files(words: list[str]) -> bool:
    """Whether a command names a data set that does not come with a Python package, and no file of the reader's."""
    keys = {key for info in registry().infos(DatasetInfo) for key in (info.key, *info.aliases)} - PACKAGED
    return bool(keys & set(words)) or words[1:3] == ["data", "fetch"]


def shortened(words: list[str]) -> list[str]:
    """What makes runs short whose command says nothing of their length."""
    if words[1] == "compare-methods":
        return ["--set", f"epochs={EPOCHS}"]
    if words[1] != "run" or "--method" not in words or "--preset" in words or any("epochs=" in word for word in words):
        return []
    info = registry().find(MethodInfo, words[words.index("--method") + 1])
    known = method_class(info).Config.model_fields
    return [word for name in ("epochs", "n_estimators") if name in known for word in ("--set", f"{name}={EPOCHS}")]


def missing_table(words: list[str]) -> bool:
    """Whether ``--data`` names a file, or a table of OpenML, that is not here: without it, nothing can be resolved."""
    data = words[words.index("--data") + 1] if "--data" in words else ""
    return data.startswith("openml:") or (bool(Path(data).suffix) and not Path(data).exists())


def with_commands() -> list[Path]:
    pages = [page for page in PAGES if not page.stem.startswith(ELSEWHERE)]
    return [page for page in pages if any(commands(block) or block.language == "python" for block in blocks(page))]


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory, tracking_database: Path) -> Path:
    """One folder of records for all pages, so that what two pages show is trained once."""
    folder = tmp_path_factory.mktemp("docs") / "results"
    folder.mkdir()
    shutil.copy(tracking_database, folder)
    return folder


@pytest.fixture
def folder(tmp_path: Path, stored: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    """An empty folder, current, whose ``results`` are those of all pages.

    The page that sends each record has two of them, and the page that packs all has none.
    """
    page = request.node.callspec.params["page"].stem
    if page == "submitting":
        (tmp_path / "results").mkdir()
    elif page == "tracking":
        (tmp_path / "results").mkdir()
        shutil.copy(stored / "mlflow.db", tmp_path / "results")
        for record in sorted(path.parent for path in stored.glob("*/result.json"))[:2]:
            shutil.copytree(record, tmp_path / "results" / record.name)
    else:
        (tmp_path / "results").symlink_to(stored, target_is_directory=True)
    if page != "tracking":  # MLflow takes seconds
        monkeypatch.setattr(sinks, "chosen_sinks", lambda execution: execution.sinks)
    monkeypatch.chdir(tmp_path)
    return tmp_path


# -------------------------------------------------------------------- what pages show is carried out


@pytest.mark.parametrize("page", with_commands(), ids=lambda page: page.stem)
def test_what_a_page_shows_can_be_done_in_its_order(page: Path, folder: Path, pubench_in: Callable[..., Any]) -> None:
    pubench, variables, said, last_run = pubench_in(folder), {"__name__": "__main__"}, "", ""
    untracked = [] if page.stem == "tracking" else ["--no-tracking"]  # MLflow takes seconds
    for block in blocks(page):
        if block.title:
            Path(block.title).write_text(block.body, encoding="utf-8")
        if block.language == "python":
            said = "" if block.skipped else carried_out(page, block, variables)
        elif block.language == "text" and said:
            assert shows(block.body, said), f"{page.name} shows another output than\n{said}"
            said = ""
        else:
            said = ""
            for command in commands(block):
                words = shlex.split(command, comments=True)
                if words[1] in NEVER:
                    continue
                target = words[words.index(">") + 1] if ">" in words else None
                words = words[: words.index(">")] if ">" in words else words
                if block.skipped or needs_files(words):
                    if words[1] != "run" or missing_table(words):
                        continue
                    words.append("--dry-run")
                words = [last_run if word == "RUN" else word for word in words]
                extra = [*shortened(words), *(["--threads", "1"] if words[1] == "run" else [])]
                extra += untracked if words[1] in ("run", "compare-methods") else []
                done = pubench(*words[1:], *extra)
                expected = 2 if block.refused else 0
                assert done.returncode == expected, f"{page.name}: {command}\n{done.stderr[-2000:]}"
                said = done.stderr if block.refused else done.stdout
                if target is not None:
                    Path(target).write_text(done.stdout)
                if found := _RUN_ID.search(done.stdout):
                    last_run = found[1]


def carried_out(page: Path, block: Block, variables: dict[str, Any]) -> str:
    """What a block of Python prints; a session (``>>>``) is a doctest."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore", category=UserWarning)  # pages show warnings of runs that are kept short
        if ">>>" in block.body:
            test = doctest.DocTestParser().get_doctest(block.body, variables, page.name, str(page), 0)
            failures = io.StringIO()
            assert not doctest.DocTestRunner().run(test, out=failures.write, clear_globs=False).failed, (
                failures.getvalue()
            )
            variables.update(test.globs)
        else:
            exec(compile(block.body, f"{page.name}: {block.body.splitlines()[0]}", "exec"), variables)
    return printed.getvalue()


def shows(body: str, said: str) -> bool:
    """Whether a page shows what was printed; a line ``...`` stands for any lines."""
    parts = ("\n".join(shape(part)) for part in re.split(r"^\.\.\.\n", body, flags=re.MULTILINE))
    return re.fullmatch(".*".join(map(re.escape, parts)), "\n".join(shape(said)), re.DOTALL) is not None


def shape(text: str) -> list[str]:
    """Lines with numbers, run ids and the widths of columns taken out: other processors round differently.

    That runs have warnings is left out: the shorter ones that are made here have others.
    """
    text = re.sub(r"\b[0-9a-f]{16}\b", "ID", " ".join(text.split("\n")) if text.startswith("error") else text)
    text = re.sub(r"[-+]?\d+(\.\d+)?", "N", text)
    text = re.sub(r"\d|\*", "", text)
    lines = [" ".join(line.split()) for line in text.strip().splitlines()]
    return [line for line in lines if not line.startswith(("note: N of N runs have warnings", "warning: all N"))]


def test_every_skipped_block_says_why() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert text.count("<!-- not run in CI") == sum(bool(block.skipped) for block in blocks(page)), page.name


def test_pages_are_found_that_have_commands_and_python() -> None:
    names = {page.stem for page in with_commands()}
    assert {"README", "first-run", "settings", "failure-modes", "python", "user-tables", "studies"} <= names


# -------------------------------------------------------------------- what pages say of the plugins


def test_the_settings_page_says_of_every_method_what_it_assumes_once() -> None:
    page = (DOCS / "pages" / "settings.md").read_text(encoding="utf-8")
    table = page.partition("| the formula assumes |")[2].partition("\n\n")[0]
    named = re.findall(r"`([a-z0-9-]+)`", table)
    infos = registry().infos(MethodInfo)  # one without a reference is being written, and need not be there
    assert sorted(named) == sorted(info.key for info in infos if info.reference is not None or info.key in named)


def test_the_page_of_numbers_has_every_published_or_oracle_metric() -> None:
    page = (DOCS / "pages" / "numbers.md").read_text(encoding="utf-8")
    for info in registry().infos(MetricInfo):
        assert f"`{info.key}`" in page or not (info.reference or info.oracle), info.key


def test_the_page_of_data_has_every_published_mechanism() -> None:
    page = (DOCS / "pages" / "data.md").read_text(encoding="utf-8")
    for info in registry().infos(MechanismInfo):
        assert f"| `{info.key}` |" in page or not info.reference, info.key


# -------------------------------------------------------------------- pages that are generated


@pytest.mark.parametrize("info", registry().infos(DatasetInfo), ids=lambda info: info.key)
def test_the_page_of_a_data_set_has_classes_binarizations_source_and_terms(info: DatasetInfo) -> None:
    page = script("docs/plugin_pages.py").data_set_page(info)
    assert page.startswith(f"# {info.name}\n")
    for index, name in enumerate(info.classes):
        assert f"| {index} | {name} |" in page
    for name in ("default", *info.binarizations):
        assert f"| `{name}` |" in page
    for said in (info.source, info.license or "not stated", info.reference.title if info.reference else ""):
        assert said in page
    assert "\n## Files\n" in page


def test_the_counts_of_packaged_data_sets_are_those_of_the_data() -> None:
    from sklearn.datasets import load_breast_cancer, load_digits

    pages = script("docs/plugin_pages.py")
    index = pages.data_set_index(registry().infos(DatasetInfo))
    for key, loader in (("digits", load_digits), ("breast-cancer", load_breast_cancer)):
        target = loader().target
        page = pages.data_set_page(registry().find(DatasetInfo, key))
        for k in set(target):
            assert re.search(rf"^\| {k} \| \S+ \| {(target == k).sum()} \| *\|$", page, re.MULTILINE)
        assert f"| {len(target):,} |" in index


def test_every_field_of_a_run_is_on_its_page() -> None:
    from pubench_core.specs import RunSpec

    page = script("docs/record_pages.py").page("run")
    for name, field in RunSpec.model_fields.items():
        assert f"| `{name}` |" in page
        for inner in getattr(field.annotation, "model_fields", {}):
            assert f"| `{inner}` |" in page


def test_every_field_of_a_study_is_on_its_page() -> None:
    from pubench_study.plan import FrozenPlan, PlannedRun
    from pubench_study.spec import Draws, MechanismEntry, MethodEntry, StudySpec

    page = script("docs/record_pages.py").page("study")
    for model in (StudySpec, MethodEntry, MechanismEntry, Draws, FrozenPlan, PlannedRun):
        section = page.partition(f"## {model.__name__}\n")[2].partition("\n## ")[0]
        for name, field in model.model_fields.items():
            assert f"| `{name}` |" in section
            assert field.description is not None
            assert field.description in section


def test_the_page_of_studies_has_every_field_protocol_and_cause() -> None:
    from typing import get_args

    from pubench_study.spec import SEEDS, StudySpec
    from pubench_study.study_file import protocols

    from pubench_core.errors import Cause

    page = (DOCS / "pages" / "studies.md").read_text(encoding="utf-8")
    fields = page.partition("| field | what it lists |")[2].partition("\n\n")[0]
    named = re.findall(r"`([a-z_]+)`", " ".join(line.split("|")[1] for line in fields.splitlines()[2:]))
    assert sorted(named) == sorted(StudySpec.model_fields)
    assert f"({', '.join(map(str, SEEDS))})" in fields
    for name in protocols():
        assert f"| `{name}` |" in page
    for cause in get_args(Cause):
        assert f"| `{cause}` |" in page


def test_the_page_of_studies_counts_the_runs_of_every_protocol() -> None:
    from pubench_study.grid import cells_of
    from pubench_study.spec import MethodEntry
    from pubench_study.study_file import protocols, read_study

    page = (DOCS / "pages" / "studies.md").read_text(encoding="utf-8")
    for name, path in protocols().items():
        spec = read_study(path).spec
        row = next(line for line in page.splitlines() if line.startswith(f"| `{name}` |"))
        if any("tasks" in entry for entry in spec.data or ()):  # how many tasks there are, their files say
            assert f"| {len(spec.seeds or ())} per " in row
            continue
        priors = None if spec.priors is None else tuple(p for p in spec.priors if p != "estimated:all")
        methods = (MethodEntry(key="upu"),)
        included = tuple(
            block.model_copy(update={"methods": methods}) if block.methods == spec.methods else block
            for block in spec.include
        )
        one = spec.model_copy(update={"methods": methods, "include": included})
        cells = [cell for cell in cells_of(one.model_copy(update={"priors": priors}), registry()) if cell.row == "upu"]
        assert row.split("|")[3].strip().partition(", and")[0] == f"{len(cells):,}"


def test_the_page_of_formats_has_every_column_of_the_frame_with_its_type() -> None:
    from pubench_report.rows.columns import LONG, types
    from pubench_report.rows.files import LONG_VERSION

    page = (DOCS / "pages" / "record-formats.md").read_text(encoding="utf-8")
    section = page.partition("## results.parquet\n")[2].partition("\n## ")[0]
    found: dict[str, str] = {}
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `"):
            found |= dict.fromkeys(re.findall(r"`(\w+)`", cells[0]), cells[1])
    assert found == types(LONG)
    assert f'"version": {LONG_VERSION}' in section


@pytest.mark.parametrize(
    ("docstring", "markdown"),
    [
        ("Raises :class:`~a.b.Undefined`.", "Raises `Undefined`."),
        (":mod:`pubench.method` has it", "`pubench.method` has it"),
        ("As in::\n\n    x = 1", "As in:\n\n    x = 1"),
        ("Text.\n\n>>> 1 + 1\n2\n\nMore.", "Text.\n\n```pycon\n>>> 1 + 1\n2\n```\n\nMore."),
    ],
)
def test_docstrings_become_markdown(docstring: str, markdown: str) -> None:
    assert script("docs/page_parts.py").markdown_of(docstring) == markdown


# -------------------------------------------------------------------- the site


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of the documentation, with a leaderboard of the first rows of every file; ``make docs`` has all rows."""
    if importlib.util.find_spec("mkdocstrings") is None:
        pytest.skip("the group docs is not installed")
    site, rows = tmp_path_factory.mktemp("site"), tmp_path_factory.mktemp("rows")
    for path in (ROOT / "benchmarks" / "results").glob("study-*.csv"):
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        (rows / path.name).write_text("".join(lines[:200]), encoding="utf-8")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    command += ["-f", str(DOCS / "mkdocs.yml"), "-d", str(site)]
    env = {**os.environ, "PUBENCH_DOCS_ROWS": str(rows)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    return site


def test_the_site_is_built_without_a_warning(built: Path) -> None:
    reference = (built / "reference" / "pubench" / "index.html").read_text(encoding="utf-8")
    for name in ("run", "compare", "load_results", "data", "PUClassifier", "list_methods"):
        assert re.search(rf'id="pubench\w*(\.\w+)+\.{name}"', reference), name
    for page in built.rglob("*.html"):
        foreign = re.findall(r'(?:src|<link[^>]+href)="(https?://[^"]+)"', page.read_text(encoding="utf-8"))
        assert not foreign, f"{page.relative_to(built)} loads {foreign[0]}"


@needs_browser
def test_no_page_is_wider_than_its_window_or_cuts_a_text_off(built: Path) -> None:
    assert faults_of_documents(built) == []


def test_the_home_page_says_what_the_leaderboard_says(built: Path) -> None:
    (headline,) = re.findall('<h1 id="headline">(.*?)</h1>', (built / "leaderboard" / "index.html").read_text())
    assert f'<p class="board-headline">{headline}</p>' in (built / "index.html").read_text()


def test_pictures_of_pages_are_of_the_present_templates() -> None:
    with pytest.raises(SystemExit) as ended:
        script("docs/screenshots.py").main(["--check"])
    assert ended.value.code == 0


def test_links_of_the_readme_lead_somewhere() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (ROOT / target).exists(), target


def test_paths_that_contributors_are_sent_to_exist() -> None:
    for page in ("CONTRIBUTING.md", "AGENTS.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        paths = re.findall(r"`((?:\.agents|\.ci|\.github|benchmarks|docs|plugins|pubench_\w+|tests)/[\w./-]+)`", text)
        assert len(paths) > 1
        assert [path for path in paths if "KEY" not in path and not (ROOT / path).exists()] == []
