"""The pages for authors of plugins, command by command: what they make is installed and tried as they say."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest
from printed import Run

PAGES = sorted((Path(__file__).parents[1] / "docs" / "pages").glob("adding-a-*.md"))
_FENCE = re.compile(r"(?P<before>[^\n]*)\n+```(?P<language>\w*)\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE)


def steps(page: Path) -> list[tuple[str, str]]:
    """(language, line or block) in order: lines of commands one by one, Python as a whole."""
    found = []
    for fence in _FENCE.finditer(page.read_text(encoding="utf-8")):
        if "<!-- not run in CI: " in fence["before"]:
            continue
        whole = fence["language"] == "python"
        found += [(fence["language"], text) for text in ([fence["body"]] if whole else fence["body"].splitlines())]
    return found


def installed(package: Path, site: Path) -> None:
    """What an editable installation comes to: the package is found, and its entry point."""
    project = tomllib.loads((package / "pyproject.toml").read_text())["project"]
    ((group, points),) = project["entry-points"].items()
    ((key, module),) = points.items()
    facts = site / f"{module}-{project['version']}.dist-info"
    facts.mkdir(parents=True)
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    (facts / "entry_points.txt").write_text(f"[{group}]\n{key} = {module}\n")
    (site / module).symlink_to(package / "src" / module)


def test_there_is_a_page_for_every_kind() -> None:
    kinds = ("command", "data-set", "mechanism", "method", "metric", "sink")
    assert [page.stem for page in PAGES] == [f"adding-a-{kind}" for kind in kinds]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_the_page_says_can_be_done_in_its_order(page: Path, pubench: Run, script_in: Run, tmp_path: Path) -> None:
    env, said, done = {"OMP_NUM_THREADS": "1"}, "", []
    for language, text in steps(page):
        words = shlex.split(text) if language == "" else [language]
        match words:
            case ["pip", "install", "-e", target]:
                (line,) = [line for line in said.splitlines() if " install " in line]  # as the command printed
                assert shlex.split(line)[-2:] == ["-e", target]
                installed(tmp_path / target, tmp_path / "site")
                env["PYTHONPATH"] = str(tmp_path / "site")
            case ["pubench", "check", _]:
                pass  # half a minute; plugins/tools/testkit/tests/test_scaffold.py makes the same checks
            case ["pubench", *arguments]:
                short = ["--set", "epochs=2", "--no-tracking", "--threads", "1"] if arguments[0] == "run" else []
                done.append(pubench(*arguments, *short, env=env))
                assert done[-1].returncode == 0, f"{text}\n{done[-1].stderr[-2000:]}"
                said = done[-1].stdout
            case ["python"]:
                short_text = text.replace('config={"epochs": 10}', 'config={"epochs": 2}, tracking=False')
                assert short_text != text
                (tmp_path / "shown.py").write_text(short_text, encoding="utf-8")
                made = script_in(tmp_path, tmp_path / "shown.py", env=env)
                assert made.returncode == 0, made.stderr[-2000:]
                assert ("my-method" if "my-method" in text else "{'nnpu': 1}") in made.stdout
            case _:
                raise AssertionError(f"{page.name}: {text}")
    assert len(done) >= 3
