"""What core and plugins say of fields reaches the user as flags and commands; what the user typed stays as it is."""

from __future__ import annotations

import ast
import doctest
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
from pydantic import BaseModel
from repository import ROOT

from pubench import field_names
from pubench_cli import messages
from pubench_cli.messages import in_flags, said
from pubench_cli.options import OPTIONS, SpecOption
from pubench_core.errors import Hint, Notice, PluginError, RecordError, RequestError, unknown
from pubench_core.plugins.registry import registry
from pubench_core.specs import RunSpec
from pubench_core.specs.run_fields import sections

WITH_SECTION = [option for option in OPTIONS if len(option.path) > 1]


def flag_of(option: SpecOption) -> str:
    return option.flag


# ------------------------------------------------------------------ fields


@pytest.mark.parametrize("option", WITH_SECTION, ids=flag_of)
def test_a_field_is_called_by_its_flag(option: SpecOption) -> None:
    assert in_flags(f"{option.field.name} is wrong") == f"{option.flag} is wrong"
    assert in_flags(f"leave out {option.field.name}, or give another (see {option.field.name}).") == (
        f"leave out {option.flag}, or give another (see {option.flag})."
    )


@pytest.mark.parametrize("option", OPTIONS, ids=flag_of)
def test_a_field_with_a_value_is_what_can_be_typed(option: SpecOption) -> None:
    assert in_flags(f"use {option.field.name}=VALUE or none") == f"use {option.flag} VALUE or none"


def test_a_table_is_named_with_the_flag_of_a_data_set() -> None:
    assert in_flags("data.own.path=my.csv names it") == "--data my.csv names it"


def test_a_switch_takes_no_value() -> None:
    assert in_flags("execution.save_model=true keeps it") == "--save-model keeps it"


@pytest.mark.parametrize(
    ("core", "typed"),
    [
        ("validation.fraction=0.05 would do", "--set validation.fraction=0.05 would do"),
        ("mechanism.variant=paper is one", "--set mechanism.variant=paper is one"),
        ("method.calibrate: given 'maybe'", "method.calibrate: given 'maybe'"),
    ],
)
def test_a_field_without_a_flag_is_set_by_its_path(core: str, typed: str) -> None:
    assert in_flags(core) == typed


@pytest.mark.parametrize(
    "text",
    [
        "--set mechanism.c=2: given 2; c must be a number in (0, 1]",
        "--set data.key=digts: unknown dataset",
        "--set prior=2 is outside (0, 1)",
        "--set seed=x: given 'x'",
        "--only seed=2 --only prior=true: no run",
        "--set validation.fractoin=.1: no field",
        "run.yaml, line 3: mechanism.variants has no field",
        "prior 0.1 contradicts the labels",
        "the prior is not known and the seed says nothing",
        "my-data.key is a file, so is data.csv",
        "a.data.key and x_seed=3",
        "",
    ],
)
def test_what_the_user_typed_and_what_is_no_field_stays(text: str) -> None:
    assert in_flags(text) == text


def test_several_fields_in_one_message() -> None:
    core = "--set prior=2: validation.fraction=0.1 would do; or selection.criterion can be last (prior=0.3)"
    typed = "--set prior=2: --set validation.fraction=0.1 would do; or --select can be last (--prior 0.3)"
    assert in_flags(core) == typed


# ------------------------------------------------------------------ every message of core and of our plugins


def _source_files() -> Iterator[Path]:
    for package in sorted({"pubench_core", *registry().packages}):
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.origin is not None and package.startswith("pubench"):
            yield from sorted(Path(spec.origin).parent.rglob("*.py"))


def _texts(file: Path) -> Iterator[str]:
    """Texts in the code of a file, docstrings left out; the fields of an f-string are "..."."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "..." for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and not {id(node)} & (docstrings | inside):
            yield node.value


def _exists(field: str) -> bool:
    model: type[BaseModel] | None = RunSpec
    for name in field.split("."):
        if model is None or name not in model.model_fields:
            return False
        annotation = model.model_fields[name].annotation
        kinds = [annotation, *get_args(annotation)]
        model = next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)), None)
    return True


@pytest.fixture(scope="module")
def written() -> list[tuple[str, str]]:
    """(file, text) of whatever could be a message."""
    return [(file.name, text) for file in _source_files() for text in _texts(file) if " " in text]


def test_every_field_that_a_message_names_exists(written: list[tuple[str, str]]) -> None:
    pattern = re.compile(rf"(?<![\w.\[-])(?:{'|'.join(sections())})(?:\.[a-z][a-z0-9_]*)+")
    named = {(name, match[0]) for name, text in written for match in pattern.finditer(text)}
    assert {field for _, field in named} >= {"selection.criterion", "data.own.truth_col", "validation.fraction"}
    assert not {(name, field) for name, field in named if not _exists(field)}


def test_no_message_of_core_or_of_a_plugin_names_a_flag(written: list[tuple[str, str]]) -> None:
    flags = [option.flag for option in OPTIONS] + ["--set", "--config", "--force", "--dry-run"]
    named = re.compile(rf"(?<![\w-])({'|'.join(flags)})(?![\w-])")
    assert not {(name, match[0]) for name, text in written for match in named.finditer(text)}


def test_no_regular_expression_reads_an_error() -> None:
    """What is to be known of an error is a field of it; names in its message are looked up."""
    found = [
        f"{file.name}:{node.lineno}"
        for file in sorted([*ROOT.glob("pubench_*/src/**/*.py"), *ROOT.glob("plugins/*/*/src/**/*.py")])
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and re.search(r"\.(sub|match|search|fullmatch|findall|finditer|split)$", ast.unparse(node.func))
        and re.search(r"\bstr\((error|failure|reason)\b|\.reason\b|\.args\b", " ".join(map(ast.unparse, node.args)))
    ]
    assert found == []
    assert not {"re"} & {*vars(messages), *vars(field_names)}


# ------------------------------------------------------------------ hints


@pytest.mark.parametrize(
    ("hint", "command"),
    [
        (Hint("list", "method"), "pubench list methods"),
        (Hint("list", "dataset"), "pubench list datasets"),
        (Hint("describe", "nnpu"), "pubench info nnpu"),
        (Hint("diagnose", "nnpu"), "pubench doctor nnpu"),
        (Hint("fetch", "mnist"), "pubench data fetch mnist"),
        (Hint("prepare again", "mnist"), "pubench data remove mnist"),
        (Hint("run again"), "--force runs it again"),
    ],
    ids=lambda value: value.action if isinstance(value, Hint) else "",
)
def test_a_hint_is_a_command_at_the_end(hint: Hint, command: str) -> None:
    for message in (RequestError("wrong", hint=hint), PluginError("wrong", hint=hint), Notice("wrong", hint)):
        assert said(message) == f"wrong ({command})"


def test_every_action_of_a_hint_has_a_command() -> None:
    assert set(messages._COMMANDS) == set(get_args(get_type_hints(Hint)["action"]))


def test_a_message_is_one_line_with_flags_and_a_hint() -> None:
    error = unknown("method", "nnpuu", ["nnpu"], field="method.key", hint=Hint("list", "method"))
    assert said(error) == "unknown method 'nnpuu'; did you mean 'nnpu'? (pubench list methods)"
    assert said(RecordError("a\n  folder;\tmechanism.c=1")) == "a folder; --c 1"
    assert said("nothing is downloaded with execution.offline") == "nothing is downloaded with --offline"
    assert said(Notice("as it is")) == "as it is"


def test_the_examples_in_the_docstrings_hold() -> None:
    done = doctest.testmod(messages)
    assert done.attempted >= 2
    assert done.failed == 0
