"""Commands and Python names come from whatever is installed, and are imported when they are used."""

from __future__ import annotations

import importlib
import inspect
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

import pubench.tools
from pubench_cli import installed
from pubench_cli.commands import COMMANDS
from pubench_cli.installed import PANELS
from pubench_core.errors import PubenchError
from pubench_core.plugins.info import CommandInfo
from pubench_core.plugins.registry import registry, tools

Run = Callable[..., "subprocess.CompletedProcess[str]"]
Make = Callable[..., Path]

PLUGIN = """
from pubench_core import ApiInfo, CommandInfo, hookimpl

@hookimpl
def pubench_commands():
    return [
        CommandInfo(path="greet", load="greeting:greet", help="Greet a method.", example="pubench greet nnpu"),
        CommandInfo(path="study greet", load="greeting:greet", help="Greet a study."),
        CommandInfo(path="hall", help="Large rooms."),
        CommandInfo(path="hall greet", load="greeting:greet", help="Greet a hall."),
    ]

@hookimpl
def pubench_api():
    return [ApiInfo(name="greeting", load="greeting:greeting")]
"""
CODE = '''
def greet(name: str, times: int = 1) -> None:
    """Greet a method.

    So many times.
    """
    print("hello " * times + name)

def greeting(name):
    return f"hello {name}"
'''


def made(make_distribution: Make, folder: Path) -> Path:
    modules = {"greeter": PLUGIN, "greeting": CODE}
    return make_distribution(folder / "site", "greeter", modules, group="pubench.tools")


@pytest.fixture
def greeter(tmp_path: Path, make_distribution: Make) -> Mapping[str, str]:
    """The environment of a process in which the plugin is installed."""
    return {"PYTHONPATH": str(made(make_distribution, tmp_path))}


def python(code: str, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **env}, capture_output=True, text=True, check=False
    )


class TestACommandOfAPlugin:
    @pytest.mark.parametrize("path", [["greet"], ["study", "greet"], ["hall", "greet"]], ids=" ".join)
    def test_a_command_of_a_plugin_runs(self, pubench: Run, greeter: Mapping[str, str], path: list[str]) -> None:
        done = pubench(*path, "nnpu", "--times", 2, env=greeter)
        assert (done.returncode, done.stdout) == (0, "hello hello nnpu\n"), done.stderr

    def test_a_command_of_a_plugin_has_help_and_an_example(self, pubench: Run, greeter: Mapping[str, str]) -> None:
        done = pubench("greet", "--help", env=greeter)
        assert "So many times." in done.stdout
        assert "Example: pubench greet nnpu" in done.stdout

    def test_a_command_of_a_plugin_is_listed(self, pubench: Run, greeter: Mapping[str, str]) -> None:
        assert "Greet a method." in pubench("--help", env=greeter).stdout
        assert "Large rooms." in pubench("--help", env=greeter).stdout
        assert "Greet a study." in pubench("study", "--help", env=greeter).stdout

    def test_a_misspelled_command_is_answered_with_the_nearest(self, pubench: Run, greeter: Mapping[str, str]) -> None:
        done = pubench("greeet", env=greeter)
        assert done.returncode == 2
        assert "Did you mean 'greet'?" in done.stderr

    def test_a_slip_in_a_group_that_is_installed_is_no_missing_package(self, pubench: Run) -> None:
        done = pubench("study", "statu")
        assert done.returncode == 2
        assert "Did you mean 'status'?" in done.stderr
        assert "pip install" not in done.stderr

    def test_a_command_that_cannot_be_imported_names_its_module(
        self, pubench: Run, tmp_path: Path, make_distribution: Make
    ) -> None:
        site = make_distribution(tmp_path / "site", "greeter", {"greeter": PLUGIN}, group="pubench.tools")
        done = pubench("greet", "nnpu", env={"PYTHONPATH": str(site)})
        assert done.returncode == 1
        assert "command 'greet' cannot be loaded from greeting:greet: ModuleNotFoundError" in done.stderr

    def test_two_plugins_that_claim_it_are_both_named(
        self, pubench: Run, tmp_path: Path, make_distribution: Make
    ) -> None:
        site = made(make_distribution, tmp_path)
        make_distribution(site, "other", {"other": PLUGIN}, group="pubench.tools")
        done = pubench("greet", "nnpu", env={"PYTHONPATH": str(site)})
        assert done.returncode == 1
        assert "'greet' is also claimed by" in done.stderr

    def test_none_replaces_one_of_the_command_line(self, pubench: Run, tmp_path: Path, make_distribution: Make) -> None:
        taken = PLUGIN.replace('path="greet"', 'path="list"')
        site = make_distribution(
            tmp_path / "site", "greeter", {"greeter": taken, "greeting": CODE}, group="pubench.tools"
        )
        done = pubench("list", "sinks", "--format", "json", env={"PYTHONPATH": str(site)})
        assert "hello" not in done.stdout


class TestAPythonName:
    def test_a_python_name_is_an_attribute_of_the_package(self, greeter: Mapping[str, str]) -> None:
        done = python(
            "import pubench; print(pubench.greeting('nnpu'), 'greeting' in dir(pubench), 'run' in dir(pubench))",
            greeter,
        )
        assert done.stdout == "hello nnpu True True\n", done.stderr

    def test_a_python_name_can_be_imported(self, greeter: Mapping[str, str]) -> None:
        assert python("from pubench import greeting; print(greeting('x'))", greeter).stdout == "hello x\n"


class TestAnAbsentTool:
    """As if a distribution that a table names had never been installed."""

    def test_the_command_of_an_absent_tool_names_what_installs_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(installed, "PACKAGES", {"study": "pubench-nowhere"})
        with pytest.raises(PubenchError, match=r"^study is not installed: pip install pubench-nowhere$") as error:
            installed._refuse("study")
        assert error.value.exit_code == 2

    def test_the_python_name_of_an_absent_tool_names_what_installs_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(pubench.tools, "PACKAGES", {"fly": "pubench-nowhere"})
        with pytest.raises(ImportError, match=r"^pubench.fly is not installed: pip install pubench-nowhere$"):
            from pubench import fly  # noqa: F401


class TestOurs:
    @pytest.mark.parametrize("info", [i for i in tools().infos(CommandInfo) if i.load], ids=lambda info: info.path)
    def test_the_list_of_commands_has_the_first_paragraph_of_the_help(self, info: CommandInfo) -> None:
        module, name = info.load.split(":")
        text = inspect.getdoc(getattr(importlib.import_module(module), name)) or ""
        assert info.help == " ".join(text.split("\n\n")[0].split())

    def test_every_command_has_an_example_that_begins_with_it(self) -> None:
        without = [i.path for i in tools().infos(CommandInfo) if i.load and f"pubench {i.path}" not in i.example]
        assert without == []

    def test_every_command_of_one_word_is_below_a_heading(self) -> None:
        words = {info.path: info.panel for info in (*COMMANDS, *tools().infos(CommandInfo)) if " " not in info.path}
        assert {word: panel for word, panel in words.items() if panel not in PANELS} == {}
        assert set(words.values()) == set(PANELS)

    def test_a_list_of_commands_imports_none(self) -> None:
        code = (
            "import sys; from pubench_cli.main import app\n"
            "try: app(['--help'])\nexcept SystemExit: pass\n"
            "print([m for m in sys.modules if m.startswith('pubench_cli.commands.')], 'torch' in sys.modules)"
        )
        assert python(code, {}).stdout.splitlines()[-1] == "[] False"

    def test_tables_of_what_installs_a_tool_say_what_is_so(self) -> None:
        """Those of the command line and of the package ``pubench``, which name what may be absent."""
        entries = [*tools().entries("command"), *tools().entries("api")]
        ours = [(e.key, e.kind, e.distribution) for e in entries if e.distribution != "pubench-cli"]
        commands = {key: distribution for key, kind, distribution in ours if kind == "command"}
        said = {path: installed.PACKAGES.get(path, installed.PACKAGES.get(path.split()[0])) for path in commands}
        assert said == commands
        names = {key: distribution for key, kind, distribution in ours if kind == "api"}
        assert names == pubench.tools.PACKAGES

    def test_none_counts_as_code_of_a_run(self) -> None:
        assert "pubench_cli" not in registry().packages()
