"""Every option that sets a field of a run's spec, declared once: its flag, its field, its help.

Commands take some or all of them (:func:`takes`); fields that errors of core name become flags through the same table
(:mod:`pubench_cli.messages`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .choices import criteria, keys, presets

if TYPE_CHECKING:
    from pubench_core.engine.layers import Layer

RUN = "The run"
LABELS = "Data and labels"
TABLE = "A table of your own"
MACHINE = "Execution and output"
_SCHEMES = "case-control, single-training-set, one-sample or two-sample."


@dataclass(frozen=True)
class SpecOption:
    """``path``: the field that it sets. ``switch``: the value that it sets where it takes none.

    ``completes``: kind of plugin whose keys complete it, or what does. ``own_help``: the help of a command that takes
    user tables as well, where it differs. ``read``: makes the field's value of the text.
    """

    flag: str
    path: tuple[str, ...]
    help: str
    panel: str
    kind: type = str
    switch: bool | None = None
    completes: str | Callable[..., list[str]] = ""
    own_help: str = ""
    read: Callable[[str], Any] | None = None

    @property
    def name(self) -> str:
        """The parameter's name."""
        return self.flag.removeprefix("--").replace("-", "_")

    @property
    def field(self) -> str:
        """The field's dotted path, as errors of core name it."""
        return ".".join(self.path)

    def parameter(self, with_tables: bool = True) -> inspect.Parameter:
        """The option as a parameter of a command. ``with_tables``: whether that takes a user table as data."""
        text = self.own_help if with_tables and self.own_help else self.help
        panel = f"{TABLE} (--data my.csv)" if with_tables and self.panel == TABLE else self.panel
        more: dict[str, Any] = {"help": text, "rich_help_panel": panel}
        if self.completes:
            more["autocompletion"] = keys(self.completes) if isinstance(self.completes, str) else self.completes
        if self.switch is not None:
            kind, default = Annotated[bool, typer.Option(self.flag, **more)], False
        else:
            kind, default = Annotated[self.kind | None, typer.Option(self.flag, **more)], None
        return inspect.Parameter(self.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def sinks_in(texts: Iterable[str]) -> dict[str, str | None]:
    """``KEY`` or ``KEY=ADDRESS`` -> key and address.

    >>> sinks_in(["shelf=top", "server"])
    {'shelf': 'top', 'server': None}
    """
    return {key: address or None for key, _, address in (text.partition("=") for text in texts)}


def _artifacts(text: str) -> list[str]:
    if text == "all":
        return ["scores", "trace", "samples", "training-scores"]
    return [] if text == "none" else [name.strip() for name in text.split(",")]


OPTIONS: tuple[SpecOption, ...] = (
    SpecOption(
        "--method", ("method", "key"), "Method key. (required, unless a run file names it)", RUN, completes="method"
    ),
    SpecOption(
        "--data",
        ("data", "key"),
        "Data set key, or a table of your own: .csv, .tsv, .xlsx, .parquet or .npz. "
        "(required, unless a run file names it)",
        LABELS,
        completes="dataset",
    ),
    SpecOption(
        "--mech", ("mechanism", "key"), "Labeling mechanism key. (default: scar)", LABELS, completes="mechanism"
    ),
    SpecOption("--c", ("mechanism", "c"), "Label frequency p(labeled | positive), in (0, 1]. (default: 0.1)", LABELS),
    SpecOption(
        "--scheme",
        ("data", "scheme"),
        f"{_SCHEMES} (default: case-control)",
        LABELS,
        own_help=f"{_SCHEMES} (default: case-control; own table: one-sample)",
    ),
    SpecOption(
        "--positive-rate",
        ("mechanism", "positive_rate"),
        "Labeled rows as a share of P and U, instead of --c: schemes one-sample, two-sample. (default: 0.3)",
        LABELS,
    ),
    SpecOption(
        "--total",
        ("data", "total"),
        "Rows of P and U, drawn class-balanced: schemes one-sample, two-sample. (default: as many as there are)",
        LABELS,
    ),
    SpecOption(
        "--positive",
        ("data", "positive"),
        "Positive classes, by index or name: 0,2,4. (default: the data set's)",
        LABELS,
    ),
    SpecOption("--negative", ("data", "negative"), "Negative classes; classes in neither list are dropped.", LABELS),
    SpecOption(
        "--binarization", ("data", "binarization"), "Named pair of class lists, such as case1 of Wang et al.", LABELS
    ),
    SpecOption("--seed", ("seed",), "Seed of split, labels, initialization and batches. (default: 2)", RUN),
    SpecOption(
        "--prior",
        ("prior",),
        "Class prior given to the method: true, 0.4, scaled:1.2, estimated:KEY or unknown. (default: true)",
        LABELS,
        own_help="Class prior given to the method: true, 0.4, scaled:1.2, estimated:KEY or unknown. "
        "(default: true; own table without true labels: unknown, and a method that needs one asks for it)",
    ),
    SpecOption(
        "--label-col",
        ("data", "own", "label_col"),
        "Column that says who is labeled: 1/0, 1/-1, true/false; blank: not.",
        TABLE,
    ),
    SpecOption("--truth-col", ("data", "own", "truth_col"), "Column of true labels, for measuring only.", TABLE),
    SpecOption(
        "--positive-value",
        ("data", "own", "positive_value"),
        "The text that means positive, where columns hold texts.",
        TABLE,
    ),
    SpecOption("--drop", ("data", "own", "drop"), "Columns to leave out: id,name.", TABLE),
    SpecOption(
        "--features",
        ("data", "own", "features"),
        "Columns to use, as patterns: emb_*,age. (default: all others)",
        TABLE,
    ),
    SpecOption("--test", ("data", "own", "test"), "File of test rows with the truth column.", TABLE, kind=Path),
    SpecOption(
        "--select",
        ("selection", "criterion"),
        "Criterion that chooses the epoch: pa, pauc, native, last; oracle: oa, f1, macro-f1. (default: pa)",
        RUN,
        completes=criteria,
    ),
    SpecOption(
        "--goal",
        ("selection", "goal"),
        "What scores are for: rank (by pauc), decide (by pa, at the prior; decide:0.2..0.3 by pa at both ends) or "
        "review:200 (what the top 200 find).",
        RUN,
    ),
    SpecOption(
        "--decision",
        ("decision", "rule"),
        "Decision shown first: zero (scores above 0) or prior (as many positives as the prior says). (default: zero)",
        RUN,
    ),
    SpecOption(
        "--folds",
        ("validation", "folds"),
        "Cross-fitting: cut P and U into so many parts and score each by a model of the others. (default: none)",
        RUN,
    ),
    SpecOption(
        "--refit",
        ("validation", "refit"),
        "What scores new rows under --folds: mean of the folds' models, or one more model of all rows. (default: mean)",
        RUN,
    ),
    SpecOption("--preset", ("method", "preset"), "Named hyper-parameter values of the method.", RUN, completes=presets),
    SpecOption("--backbone", ("backbone", "key"), "Network. (default: the data set's)", RUN, completes="backbone"),
    SpecOption("--device", ("execution", "device"), "auto, cpu or cuda:0. (default: auto)", MACHINE),
    SpecOption("--threads", ("execution", "threads"), "CPU threads. (default: torch's)", MACHINE),
    SpecOption("--results", ("execution", "results"), "Folder of records. (default: results)", MACHINE, kind=Path),
    SpecOption(
        "--data-root",
        ("execution", "data_root"),
        "Folder of data files. (default: PUBENCH_DATA, else the user cache)",
        MACHINE,
        kind=Path,
    ),
    SpecOption(
        "--encoder",
        ("execution", "encoder"),
        "Folder of the sentence encoder for text data sets.",
        MACHINE,
        kind=Path,
    ),
    SpecOption("--offline", ("execution", "offline"), "Never touch the network.", MACHINE, switch=True),
    SpecOption(
        "--artifacts",
        ("execution", "artifacts"),
        "all, none, or some of scores, trace, samples and training-scores, joined by commas. (default: the first two)",
        MACHINE,
        read=_artifacts,
    ),
    SpecOption(
        "--save-model", ("execution", "save_model"), "Keep what scores with: model.safetensors.", MACHINE, switch=True
    ),
    SpecOption("--no-tracking", ("execution", "tracking"), "Send the run to no sink.", MACHINE, switch=False),
    SpecOption(
        "--sinks",
        ("execution", "sinks"),
        "Sinks that get the run, KEY or KEY=ADDRESS with commas between. (default: those that get every run)",
        MACHINE,
        read=lambda text: sinks_in(text.split(",")),
    ),
    SpecOption("--tracking-uri", ("execution", "tracking_uri"), "Address of the sinks that get every run.", MACHINE),
)


#: Those that say how a user table is to be read.
TABLE_FLAGS = tuple(option.flag for option in OPTIONS if option.panel == TABLE)


def option(flag: str) -> SpecOption:
    """The option of a flag."""
    return next(found for found in OPTIONS if found.flag == flag)


#: Field -> flag. A table of the user's own is named with --data, like a data set.
FLAGS = {option.field: option.flag for option in OPTIONS} | {"data.own.path": "--data"}


@dataclass(frozen=True)
class Given:
    """The options of a command that were given, with their values."""

    values: tuple[tuple[SpecOption, Any], ...] = ()

    def get(self, flag: str, default: Any = None) -> Any:
        """Value of a flag."""
        return next((value for option, value in self.values if option.flag == flag), default)

    def layer(self) -> Layer:
        """The values by field, each with its flag as origin."""
        from pubench_core.data.table_files import is_table_path
        from pubench_core.engine.layers import Layer

        layer = Layer()
        for option, value in self.values:
            is_table = option.flag == "--data" and is_table_path(str(value))
            layer.put(("data", "own", "path") if is_table else option.path, value, option.flag)
        return layer


def takes(*flags: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Gives a command the options of the table (all, if none is named); it gets them as its parameter ``given``."""
    options = tuple(map(option, flags)) if flags else OPTIONS

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        parameters = inspect.signature(command, eval_str=True).parameters.values()
        mine = [p for p in parameters if p.name != "given"]

        def run(*positional: Any, **named: Any) -> None:
            taken = ((option, named.pop(option.name)) for option in options)
            command(*positional, given=Given(tuple(_read(taken))), **named)

        names = {*(option.name for option in options), *(p.name for p in mine)}
        with_tables = names >= {"data", *(option(flag).name for flag in TABLE_FLAGS)}
        added = [one.parameter(with_tables) for one in options]
        run.__signature__ = inspect.Signature([*added, *_keyword_only(mine)])  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in (*added, *mine)}
        run.__name__, run.__doc__ = command.__name__, command.__doc__
        return run

    return decorate


def _keyword_only(parameters: Iterable[inspect.Parameter]) -> list[inspect.Parameter]:
    """Typer passes every value by name; so that options without a default may follow, all are keyword parameters."""
    return [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]


def _read(taken: Iterable[tuple[SpecOption, Any]]) -> Iterable[tuple[SpecOption, Any]]:
    """Options that were given, with the values of their fields."""
    for option, value in taken:
        if option.switch is not None:
            if value:
                yield option, option.switch
        elif value is not None:
            yield option, option.read(value) if option.read is not None else value
