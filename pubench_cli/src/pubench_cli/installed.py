"""Commands of all installed distributions, each imported when it is called."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from enum import EnumType
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup

from pubench.tools import COMMAND_PACKAGES
from pubench_core.plugins.info import CommandInfo
from pubench_core.plugins.registry import absent, load, tools

from .commands import COMMANDS

if TYPE_CHECKING:
    from typer._click.core import Command, Context
    from typer._click.formatting import HelpFormatter

HELP = {"help_option_names": ["-h", "--help"]}
#: Entry of a context's ``meta``: whether its help has all commands.
EVERYTHING = "pubench.help.all"
#: Headings of ``pubench help all``, in their order.
PANELS = ("Run and compare", "Your own data", "Results", "Plugins and data")
#: Commands that ``pubench --help`` shows; ``pubench help all`` shows every one.
FIRST = ("run", "compare-methods", "study", "advise", "new-method")
#: Path -> command of the command line itself.
OWN = {info.path: info for info in COMMANDS}


class _Plain:
    """Reads what is not given and words of closed lists without pydantic: importing it takes as long as a listing."""

    def coerce(self, value: Any, *, param: Any, ctx: Context) -> Any:
        kind = param.type_descriptor.annotation
        if value is None and not (param.multiple or param.nargs == -1):
            return None
        if isinstance(kind, EnumType) and value in list(kind):
            return kind(value)
        param._runtime_param = None  # typer's own for all else
        return param.get_runtime_param().coerce(value, param=param, ctx=ctx)


def _read_plainly(params: Iterable[Any]) -> None:
    for param in params:
        if getattr(param, "_runtime_param", "") is None:  # as typer 0.29 has it; another one reads all by itself
            param._runtime_param = _Plain()


class Commands(TyperGroup):
    """Commands whose paths begin with ``words``, and groups of these."""

    words: tuple[str, ...] = ()

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """A group without a command prints its help and nothing else."""
        _read_plainly(self.get_params(ctx))
        return super().parse_args(ctx, args if args or not self.words else ["--help"])

    def list_commands(self, ctx: Context) -> list[str]:
        """The next word of every command by panel, the command line's own first."""
        panels = {word: self._info(word).panel for word in self._next_words()}
        return sorted(panels, key=lambda word: (*PANELS, panels[word]).index(panels[word]))

    def get_command(self, ctx: Context, cmd_name: str) -> Command | None:
        """The command as a list of commands shows it: nothing is imported."""
        known = " ".join((*self.words, cmd_name)) in OWN or cmd_name in self._next_words()
        return self._described(cmd_name) if known else None

    def resolve_command(self, ctx: Context, args: list[str]) -> tuple[str | None, Command | None, list[str]]:
        """The command that is called, imported.

        Raises RequestError if its distribution is not installed, PluginError if it is broken.
        """
        path = " ".join((*self.words, args[0]))
        if path not in OWN:  # our own wait for no other package
            self.commands = {word: TyperCommand(word) for word in self._next_words()}  # typer suggests one of these
            if args[0] not in self.commands and not ctx.resilient_parsing:
                _refuse(path)
        name, command, rest = super().resolve_command(ctx, args)
        if isinstance(command, TyperCommand):
            info = self._info(args[0])
            app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, context_settings=HELP)
            example = f"Example: {info.example}" if info.example else None
            app.command(info.path.split()[-1], epilog=example)(load(info))
            command = typer.main.get_command(app)
            _read_plainly(command.get_params(ctx))
        return name, command, rest

    def format_help(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Help of a group; of the command itself one screen, unless all of it is asked for."""
        if self.words or ctx.meta.get(EVERYTHING):
            return super().format_help(ctx, formatter)
        words = self._next_words()
        formatter.write_usage(ctx.command_path, "COMMAND [OPTIONS]")
        formatter.write_paragraph()
        formatter.write_text(self.help or "")
        with formatter.section("First commands"):
            formatter.write_dl([(word, help_of(self._info(word))) for word in FIRST if word in words])
        formatter.write_paragraph()
        formatter.write_text(f"All {len(words)} commands and the options: {ctx.command_path} help all")
        formatter.write_text(self.epilog or "")
        return None

    def _next_words(self) -> list[str]:
        depth = len(self.words)
        paths = [path.split() for path in _infos()]
        return list(dict.fromkeys(p[depth] for p in paths if len(p) > depth and (*p[:depth],) == self.words))

    def _info(self, word: str) -> CommandInfo:
        path = " ".join((*self.words, word))
        return OWN.get(path) or _infos().get(path) or CommandInfo(path=path, help=f"Commands of {path}.")

    def _described(self, word: str) -> Command:
        info = self._info(word)
        panel = info.panel or None
        if info.load:
            return TyperCommand(word, help=help_of(info), rich_help_panel=panel)
        group = Commands(name=word, help=info.help, rich_help_panel=panel, context_settings=HELP)
        group.words = (*self.words, word)
        return group


def help_of(info: CommandInfo) -> str:
    """The line of a command in lists: its own, else the first paragraph of its function's docstring, which is read
    from the source so that a list of commands imports none. Empty if there is no source.
    """
    module, _, name = info.load.partition(":")
    return info.help or _first_paragraphs(module).get(name, "")


@cache
def _first_paragraphs(module: str) -> dict[str, str]:
    """First paragraph of the docstring of every function in a module, in one line."""
    try:
        found = find_spec(module)
        tree = (
            ast.parse(Path(found.origin).read_text(encoding="utf-8")) if found and found.origin else ast.Module([], [])
        )
    except (ImportError, OSError, SyntaxError, UnicodeDecodeError):  # a broken plugin says so when it is called
        return {}
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    return {f.name: " ".join((ast.get_docstring(f) or "").partition("\n\n")[0].split()) for f in functions}


def _infos() -> dict[str, CommandInfo]:
    """Path -> command; the command line's own come first and cannot be replaced."""
    others = [entry.info for entry in tools().all() if entry.status == "ok"]
    return OWN | {info.path: info for info in others if isinstance(info, CommandInfo) and info.path not in OWN}


def _refuse(path: str) -> None:
    """Says why a command that is not there is not, if anything is known of it."""
    for entry in tools().named(path):
        if entry.kind == "command":
            tools().find(CommandInfo, path)  # raises: two distributions claim it
    if (package := COMMAND_PACKAGES.get(path)) is not None:
        raise absent(path, package)
