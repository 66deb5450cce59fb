"""Options that set fields of a run, made from the declarations of the fields (:mod:`pubench_core.specs.run`).

Commands take some or all of them (:func:`takes`); fields that errors of core name become flags through the same
declarations (:mod:`pubench_cli.messages`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pubench_core.specs.run_fields import RunField, run_fields

from .choices import criteria, keys, presets

if TYPE_CHECKING:
    from pubench_core.engine.layers import Layer

RUN = "The run"
LABELS = "Data and labels"
TABLE = "A table of your own"
MACHINE = "Execution and output"
#: Options with which the help of ``run`` begins.
MOST_NEEDED = ("--method", "--data", "--label-col", "--prior", "--save-model")
#: The panel of a section's options in the help; all others are of the run.
_PANELS = {"data": LABELS, "mechanism": LABELS, "checked": LABELS, "prior": LABELS, "execution": MACHINE}
_COMPLETES: dict[str, Callable[..., list[str]]] = {"criterion": criteria, "preset": presets}
_METAVARS = {int: "<int>", float: "<float>", dict: "<str>", tuple: "<list>"}


@dataclass(frozen=True)
class SpecOption:
    """The option of a field."""

    field: RunField

    @property
    def flag(self) -> str:
        """Text that a user types."""
        return self.field.flag

    @property
    def path(self) -> tuple[str, ...]:
        """Path of the field in the spec."""
        return self.field.path

    @property
    def name(self) -> str:
        """The parameter's name."""
        return self.flag.removeprefix("--").replace("-", "_")

    @property
    def panel(self) -> str:
        """The panel of the help that lists it."""
        return TABLE if self.field.of_table else _PANELS.get(self.path[0], RUN)

    def parameter(self, with_tables: bool = True, needed: bool = False) -> inspect.Parameter:
        """The option as a parameter of a command. ``with_tables``: whether that takes a user table as data."""
        panel = f"{TABLE} (--data my.csv)" if with_tables and self.panel == TABLE else self.panel
        panel = "Most needed" if needed else panel
        more: dict[str, Any] = {"help": self.help(with_tables), "rich_help_panel": panel}
        if self.field.names:
            more["autocompletion"] = _COMPLETES.get(self.field.names) or keys(self.field.names)
        if self.field.switch is not None:
            kind, default = Annotated[bool, typer.Option(self.flag, **more)], False
        elif Path in self.field.kinds:
            kind, default = Annotated[Path | None, typer.Option(self.flag, **more)], None
        else:  # core reads the text, and says what is wrong with it
            kinds = [getattr(kind, "__origin__", kind) for kind in self.field.kinds]
            metavar = _METAVARS.get(kinds[0], "<str>") if len(kinds) == 1 else "<str>"
            kind, default = Annotated[str | None, typer.Option(self.flag, metavar=metavar, **more)], None
        return inspect.Parameter(self.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)

    def help(self, with_tables: bool = True) -> str:
        """The help of its field; of a switch that turns something off, what it does."""
        text = self.field.help(with_tables)
        return f"Do not {text[0].lower()}{text[1:]}" if self.field.switch is False else text


#: Panel by panel; keys of plugins first.
OPTIONS: tuple[SpecOption, ...] = tuple(
    sorted(
        (SpecOption(one) for one in run_fields() if one.flag and one.name != "data.own.path"),
        key=lambda one: ((RUN, LABELS, TABLE, MACHINE).index(one.panel), one.path[-1] != "key"),
    )
)


#: Those that say how a user table is to be read.
TABLE_FLAGS = tuple(option.flag for option in OPTIONS if option.panel == TABLE)


def option(flag: str) -> SpecOption:
    """The option of a flag."""
    return next(found for found in OPTIONS if found.flag == flag)


#: The option alone, for commands that write theirs out.
Root = Annotated[Path | None, typer.Option("--data-root", help=option("--data-root").help())]
#: Field -> flag. A table of the user's own is named with --data, like a data set.
FLAGS = {one.name: one.flag for one in run_fields() if one.flag}


@dataclass(frozen=True)
class Given:
    """The options of a command that were given, with their values."""

    values: tuple[tuple[SpecOption, Any], ...] = ()

    def get(self, flag: str, default: Any = None) -> Any:
        """Value of a flag."""
        return next((value for option, value in self.values if option.flag == flag), default)

    def layer(self) -> Layer:
        """The values by field, each with its flag as origin."""
        from pubench_core.data.table_reader import is_table_path
        from pubench_core.engine.layers import Layer

        layer = Layer()
        for option, value in self.values:
            is_table = option.flag == "--data" and is_table_path(str(value))
            layer.put(("data", "own", "path") if is_table else option.path, value, option.flag)
        return layer


def takes(*flags: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Gives a command the options of the table (all, if none is named); it gets them as its parameter ``given``."""
    needed = () if flags else MOST_NEEDED
    options = tuple(map(option, flags or dict.fromkeys((*needed, *(one.flag for one in OPTIONS)))))

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        parameters = inspect.signature(command, eval_str=True).parameters.values()
        mine = [p for p in parameters if p.name != "given"]

        def run(*positional: Any, **named: Any) -> None:
            taken = ((option, named.pop(option.name)) for option in options)
            command(*positional, given=Given(tuple(_read(taken))), **named)

        names = {*(option.name for option in options), *(p.name for p in mine)}
        with_tables = names >= {"data", *(option(flag).name for flag in TABLE_FLAGS)}
        # Typer passes every value by name: all are keyword parameters, so that options without a default may follow
        added = [one.parameter(with_tables, one.flag in needed) for one in options]
        keyword = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in mine]
        run.__signature__ = inspect.Signature([*added, *keyword])  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in (*added, *mine)}
        run.__name__, run.__doc__ = command.__name__, command.__doc__
        return run

    return decorate


def _read(taken: Iterable[tuple[SpecOption, Any]]) -> Iterable[tuple[SpecOption, Any]]:
    """Options that were given, with the values of their fields."""
    for option, value in taken:
        if option.field.switch is not None:
            if value:
                yield option, option.field.switch
        elif value is not None:
            yield option, value
