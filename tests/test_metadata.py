"""The distributions share what ``.ci/metadata.py`` declares."""

from __future__ import annotations

import re
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import repository
from packaging.requirements import Requirement

ROOT = repository.ROOT
SCRIPT = ROOT / ".ci" / "metadata.py"
MANIFESTS = [ROOT / "pyproject.toml", *sorted(ROOT.glob("pubench_*/pyproject.toml"))]
MANIFESTS += sorted(ROOT.glob("plugins/*/*/pyproject.toml"))
PROVIDED = "pubench_core/src/pubench/provided.json"
FACE = "pubench_core/src/pubench/__init__.py"
ALL, NNPU = "pyproject.toml", "plugins/methods/nnpu/pyproject.toml"


@pytest.fixture(scope="module")
def metadata() -> ModuleType:
    return repository.script(".ci/metadata.py")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """What the script reads of this repository, to write in."""
    for manifest in MANIFESTS:
        folder = tmp_path / manifest.parent.relative_to(ROOT)
        (folder / "tests").mkdir(parents=True)
        for name in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(manifest.parent / name, folder)
        for mark in manifest.parent.glob("src/*/py.typed"):
            (folder / mark.parent.relative_to(manifest.parent)).mkdir(parents=True)
            shutil.copy(mark, folder / mark.relative_to(manifest.parent))
        for source in (*manifest.parent.glob("src/**/__init__.py"), *manifest.parent.glob("src/*/python_names.py")):
            copy = folder / source.relative_to(manifest.parent)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, copy)
    for name in (PROVIDED, FACE, f"{FACE}i"):
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "CITATION.cff", tmp_path)
    return tmp_path


@pytest.fixture
def script(
    metadata: ModuleType, tree: Path, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, list[str]]]:
    """``script(*options)``: its exit code and the lines it prints, in the copy."""

    def run(*options: str) -> tuple[int, list[str]]:
        code = metadata.main([*options, "--root", str(tree)])
        return code, capsys.readouterr().out.splitlines()

    return run


def parsed(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text())


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


Script = Callable[..., tuple[int, list[str]]]


def test_the_repository_is_as_the_script_writes_it(metadata: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert (metadata.main(["--check"]), capsys.readouterr().out) == (0, "")


CORE = '    "pubench-core>=1.0,<2",\n'
SOURCES = "[tool.uv.sources]\npubench-core = { workspace = true }\n\n[build-system]"
DRIFTS = [
    (NNPU, 'version = "1.0.0"', 'version = "0.0.9"', '+version = "1.0.0"'),
    (NNPU, 'license = "MIT"\n', "", '+license = "MIT"'),
    (NNPU, '">=3.11,<3.14"', '">=3.11,<3.13"', '+requires-python = ">=3.11,<3.14"'),
    (NNPU, "[train]>=1.0,<2", "[train]", '"pubench-core[train]>=1.0,<2"'),
    (NNPU, '"torch>=2.6"', '"torch"', '"torch>=2.6"'),
    (NNPU, "src/pubench_nnpu", "src/other", '+packages = ["src/pubench_nnpu"]'),
    (NNPU, "urls.Homepage", 'urls.Funding = "x"\nurls.Homepage', '-urls.Funding = "x"'),
    (NNPU, "[build-system]", SOURCES, "-pubench-core = { workspace = true }"),
    (ALL, '    "pubench-vpu>=1.0,<2",\n', "", '+    "pubench-vpu>=1.0,<2",'),
    (ALL, "pubench-vpu = { workspace = true }\n", "", "+pubench-vpu = { workspace = true }"),
    (ALL, CORE, f'{CORE}    "pubench-gone>=1.0,<2",\n', '-    "pubench-gone>=1.0,<2",'),
    ("plugins/methods/nnpu/LICENSE", "MIT", "BSD", "+MIT License"),
    ("plugins/methods/nnpu/LICENSE", "SOFTWARE.\n", "SOFTWARE.", "+SOFTWARE."),
    (PROVIDED, '"advise"', '"advize"', '+      "advise",'),
    (f"{FACE}i", "import advise as", "import advize as", "import advise as advise"),
    ("CITATION.cff", "version: 1.0.0", "version: 0.0.9", "+version: 1.0.0"),
]


def test_a_file_that_drifted_is_a_line_and_is_put_right(script: Script, tree: Path) -> None:
    before = {file: (tree / file).read_text() for file, *_ in DRIFTS}
    for file, old, new, _ in DRIFTS:
        edit(tree / file, old, new)
    code, lines = script("--check")
    assert code == 1
    assert [
        (file, words)
        for file, _, _, words in DRIFTS
        if not any(x.startswith(f"{file}: ") and words in x for x in lines)
    ] == []
    assert {line.split(":")[0] for line in lines[:-1]} == before.keys()
    assert not [file for file in before if (tree / file).read_text() == before[file]], "checking writes nothing"
    assert script()[0] == 0
    assert {file: (tree / file).read_text() for file in before} == before
    assert script("--check") == (0, [])


NEW = """\
[project]
name = "pubench-tide"
version = "7"
description = "Tide [for pubench]" # a comment
dependencies = [
    "pubench-core", # the contracts
    "torch; python_version >= '3.11'",
    "moon[phase]>=3",
]
authors = [
    { name = "Somebody" },
]

# found by this
[project.entry-points.pubench]
tide = "pubench_tide"

[project.optional-dependencies]
test = ["pubench-core[test]", "numpy>=9"]

[tool.other]
kept = ["[a]", 1] # as it is
"""


@pytest.fixture
def added(tree: Path) -> Path:
    """A new folder in the copy, with a pyproject.toml as somebody would begin it."""
    folder = tree / "plugins" / "methods" / "tide"
    (folder / "src" / "pubench_tide").mkdir(parents=True)
    (folder / "tests").mkdir()
    (folder / "README.md").write_text("# Tide\n")
    (folder / "src" / "pubench_tide" / "py.typed").touch()
    (folder / "pyproject.toml").write_text(NEW)
    return folder


def test_a_new_folder_joins_the_workspace(script: Script, tree: Path, added: Path) -> None:
    code, lines = script("--check")
    assert code == 1
    assert 'pyproject.toml: +    "pubench-tide>=1.0,<2",' in lines
    assert script()[0] == 0
    root, new, old = (parsed(tree / name) for name in ("pyproject.toml", "plugins/methods/tide/pyproject.toml", NNPU))
    assert "pubench-tide>=1.0,<2" in root["project"]["dependencies"]
    assert root["tool"]["uv"]["sources"]["pubench-tide"] == {"workspace": True}
    shared = set(new["project"]) - {"name", "description", "dependencies", "optional-dependencies", "entry-points"}
    assert {"version", "license", "authors", "classifiers", "urls"} <= shared
    assert {key: new["project"][key] for key in shared} == {key: old["project"][key] for key in shared}
    assert (added / "LICENSE").read_text() == (tree / "LICENSE").read_text()
    assert script("--check") == (0, [])


def test_what_is_not_shared_stays(script: Script, added: Path) -> None:
    script()
    text, read = (added / "pyproject.toml").read_text(), parsed(added / "pyproject.toml")
    assert read["project"]["description"] == "Tide [for pubench]"
    asked = ["pubench-core>=1.0,<2", "torch>=2.6; python_version >= '3.11'", "moon[phase]>=3"]
    assert read["project"]["dependencies"] == asked
    assert read["project"]["optional-dependencies"] == {"test": ["pubench-core[test]>=1.0,<2", "numpy>=2.2"]}
    assert read["tool"]["other"] == {"kept": ["[a]", 1]}
    for comment in ("# a comment", "# the contracts", "# found by this\n[project.entry", "# as it is"):
        assert comment in text


def test_what_a_distribution_lacks_is_reported_and_not_mended_by_writing(script: Script, added: Path) -> None:
    tide = "plugins/methods/tide: has no"
    (added / "README.md").unlink()
    shutil.rmtree(added / "tests")
    (added / "src" / "pubench_tide" / "py.typed").unlink()
    for options in ((), ("--check",)):
        code, lines = script(*options)
        assert code == 1
        assert {f"{tide} README.md", f"{tide} tests", f"{tide} src/pubench_tide/py.typed"} <= {*lines}
    shutil.rmtree(added / "src" / "pubench_tide")
    assert f"{tide} package in src/" in script("--check")[1]


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ('"pubench_tide"', '"pubench_ebb.x:y"', "entry point tide names pubench_ebb.x:y, which is not in"),
        ('tide = "pubench_tide"', "", "has no entry point of the groups pubench and pubench.tools"),
        ('name = "pubench-tide"', 'name = "pubench-vpu"', "is called pubench-vpu, and so is plugins/methods/"),
        ('description = "Tide [for pubench]"', "", "[project] has no description"),
    ],
)
def test_an_entry_that_cannot_work_is_a_line(script: Script, added: Path, old: str, new: str, line: str) -> None:
    edit(added / "pyproject.toml", old, new)
    code, lines = script()
    assert code == 1
    assert [text for text in lines if line in text]


@pytest.mark.parametrize(("text", "words"), [("[project", "is not TOML"), ("[project]\n", "[project] has no name")])
def test_a_file_that_cannot_be_read_ends_it_before_anything_is_written(
    script: Script, tree: Path, added: Path, text: str, words: str
) -> None:
    (added / "pyproject.toml").write_text(text)
    before = (tree / "pyproject.toml").read_text()
    with pytest.raises(SystemExit, match=f"error: .*tide/pyproject.toml.*{re.escape(words)}"):
        script()
    assert (tree / "pyproject.toml").read_text() == before


def test_what_the_command_line_needs_to_run_anything_comes_with_it() -> None:
    asked = {
        Requirement(text).name for text in parsed(ROOT / "pubench_cli" / "pyproject.toml")["project"]["dependencies"]
    }
    assert asked >= {"pubench-core", "pubench-datasets-embedded", "pubench-mechanisms", "pubench-metrics"}
    assert not [name for name in asked if (ROOT / "plugins" / "methods" / name.removeprefix("pubench-")).exists()]


def test_the_readme_and_the_manifests_name_the_same_versions_of_python() -> None:
    project = parsed(ROOT / "pyproject.toml")["project"]
    said = [name.rpartition(" ")[2] for name in project["classifiers"] if re.search(r":: 3\.\d+$", name)]
    assert f"Python {said[0]} to {said[-1]}" in (ROOT / "README.md").read_text()
    minor = int(said[-1].split(".")[1])
    assert project["requires-python"] == f">={said[0]},<3.{minor + 1}"
