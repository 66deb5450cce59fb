"""Commands and Python names come from whatever is installed, and are imported when they are used."""

from __future__ import annotations

import importlib
import inspect
import os
import subprocess
import sys
from collections.abc import Callable

import pytest
from printed import Done, Run

import pubench.tools
from pubench_cli import installed
from pubench_cli.commands import COMMANDS
from pubench_cli.installed import PANELS, help_of
from pubench_core.errors import PubenchError
from pubench_core.plugins.info import CommandInfo
from pubench_core.plugins.registry import registry, tools

Environment = dict[str, str]
Install = Callable[..., Environment]
TOOLS = "pubench.tools"

PLUGIN = """
from pubench_core import ApiInfo, CommandInfo, hookimpl

@hookimpl
def pubench_commands():
    return [
        CommandInfo(path="greet", load="greeting:greet", example="pubench greet nnpu"),
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


@pytest.fixture
def greeter(with_plugin: Install) -> Environment:
    """The environment of a process in which the plugin is installed."""
    return with_plugin("greeter", PLUGIN, TOOLS, greeting=CODE)


def python(code: str, env: Environment) -> Done:
    return subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **env}, capture_output=True, text=True, check=False
    )


class TestACommandOfAPlugin:
    def test_a_command_of_a_plugin_runs_with_help_and_an_example(self, pubench: Run, greeter: Environment) -> None:
        for path in (["greet"], ["study", "greet"], ["hall", "greet"]):
            done = pubench(*path, "nnpu", "--times", 2, env=greeter)
            assert (done.returncode, done.stdout) == (0, "hello hello nnpu\n"), done.stderr
        done = pubench("greet", "--help", env=greeter)
        assert "So many times." in done.stdout
        assert "Example: pubench greet nnpu" in done.stdout

    def test_a_command_of_a_plugin_is_listed(self, pubench: Run, greeter: Environment) -> None:
        listed = pubench("help", "all", env=greeter).stdout
        assert "Greet a method." in listed
        assert "Large rooms." in listed
        assert "Greet a study." in pubench("study", "--help", env=greeter).stdout

    def test_a_misspelled_command_is_answered_with_the_nearest(self, pubench: Run, greeter: Environment) -> None:
        done = pubench("greeet", env=greeter)
        assert done.returncode == 2
        assert "Did you mean 'greet'?" in done.stderr

    def test_a_slip_in_a_group_that_is_installed_is_no_missing_package(self, pubench: Run) -> None:
        done = pubench("study", "statu")
        assert done.returncode == 2
        assert "Did you mean 'status'?" in done.stderr
        assert "pip install" not in done.stderr

    def test_a_command_that_cannot_be_imported_names_its_module(self, pubench: Run, with_plugin: Install) -> None:
        done = pubench("greet", "nnpu", env=with_plugin("greeter", PLUGIN, TOOLS))
        assert done.returncode == 1
        assert "command 'greet' cannot be loaded from greeting:greet: ModuleNotFoundError" in done.stderr

    def test_two_plugins_that_claim_it_are_both_named(
        self, pubench: Run, greeter: Environment, with_plugin: Install
    ) -> None:
        done = pubench("greet", "nnpu", env=with_plugin("other", PLUGIN, TOOLS))
        assert done.returncode == 1
        assert "'greet' is also claimed by" in done.stderr

    def test_none_replaces_one_of_the_command_line(self, pubench: Run, with_plugin: Install) -> None:
        taken = PLUGIN.replace('path="greet"', 'path="list"')
        done = pubench("list", "sinks", "--format", "json", env=with_plugin("greeter", taken, TOOLS, greeting=CODE))
        assert "hello" not in done.stdout


def test_a_python_name_is_an_attribute_of_the_package_and_can_be_imported(greeter: Environment) -> None:
    code = "import pubench; print(pubench.greeting('nnpu'), 'greeting' in dir(pubench), 'run' in dir(pubench))\n"
    code += "from pubench import greeting; print(greeting('x'))"
    done = python(code, greeter)
    assert done.stdout == "hello nnpu True True\nhello x\n", done.stderr


class TestAnAbsentTool:
    """As if a distribution that a table names had never been installed."""

    def test_the_command_of_an_absent_tool_names_what_installs_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(installed, "COMMAND_PACKAGES", {"study": "pubench-nowhere"})
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
        assert help_of(info) == " ".join(text.split("\n\n")[0].split()) != ""

    def test_every_command_has_an_example_that_begins_with_it(self) -> None:
        without = [i.path for i in tools().infos(CommandInfo) if i.load and f"pubench {i.path}" not in i.example]
        assert without == []

    def test_every_command_of_one_word_is_below_a_heading(self) -> None:
        words = {info.path: info.panel for info in (*COMMANDS, *tools().infos(CommandInfo)) if " " not in info.path}
        assert {word: panel for word, panel in words.items() if panel not in PANELS} == {}
        assert set(words.values()) == set(PANELS)

    def test_the_help_fits_one_screen_and_leads_to_everything(self, pubench: Run) -> None:
        done = pubench("--help", env={"COLUMNS": "80"})
        lines = done.stdout.splitlines()
        assert len(lines) <= 24
        assert max(map(len, lines)) <= 80
        assert "pubench help all" in done.stdout
        assert done.stdout == pubench(env={"COLUMNS": "80"}).stdout == pubench("help", env={"COLUMNS": "80"}).stdout

    def test_help_shows_one_command(self, pubench: Run) -> None:
        assert pubench("help", "study", "run").stdout == pubench("study", "run", "--help").stdout
        wrong = pubench("help", "stduy")
        assert (wrong.returncode, wrong.stdout) == (2, "")
        assert "'study'" in wrong.stderr

    @pytest.mark.parametrize("group", ["data", "study"])
    def test_a_group_without_a_command_prints_its_help_and_nothing_else(self, pubench: Run, group: str) -> None:
        done = pubench(group)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == pubench(group, "--help").stdout

    def test_a_list_of_commands_imports_none(self) -> None:
        code = (
            "import sys; from pubench_cli.main import app\n"
            "try: app(['help', 'all'])\nexcept SystemExit: pass\n"
            "print(sorted(m for m in sys.modules if m.startswith('pubench_cli.commands.')), 'torch' in sys.modules)"
        )
        assert python(code, {}).stdout.splitlines()[-1] == "['pubench_cli.commands.plugins'] False"

    def test_tables_of_what_installs_a_tool_say_what_is_so(self) -> None:
        """Those of the command line and of the package ``pubench``, which name what may be absent."""
        entries = [*tools().entries("command"), *tools().entries("api")]
        ours = [(e.key, e.kind, e.distribution) for e in entries if e.distribution != "pubench-cli"]
        commands = {key: distribution for key, kind, distribution in ours if kind == "command"}
        said = pubench.tools.COMMAND_PACKAGES
        assert {path: package for path, package in said.items() if package != "pubench-cli"} == commands
        names = {key: distribution for key, kind, distribution in ours if kind == "api"}
        assert names == pubench.tools.PACKAGES

    def test_none_counts_as_code_of_a_run(self) -> None:
        assert "pubench_cli" not in registry().packages
