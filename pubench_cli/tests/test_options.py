"""The table of options: every option sets the field that it names, and says so where the value is wrong."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest
import typer
from pydantic import BaseModel
from typer.testing import CliRunner

from pubench_cli import run
from pubench_cli.main import app
from pubench_cli.options import MOST_NEEDED, OPTIONS, Given, SpecOption, option, takes
from pubench_cli.yaml_layers import assigned
from pubench_core.engine.plan import Plan
from pubench_core.engine.resolve import resolve
from pubench_core.plugins.registry import registry
from pubench_core.specs import RunSpec
from pubench_core.specs.fields import Field
from pubench_core.specs.run_fields import run_fields

#: Flag -> (what is typed, what the resolved spec holds). A table's options are given next to one.
TYPED: dict[str, tuple[str | bool, Any]] = {
    "--method": ("upu", "upu"),
    "--data": ("breast-cancer", "breast-cancer"),
    "--mech": ("scar", "scar"),
    "--c": ("0.25", 0.25),
    "--scheme": ("single-training-set", "single-training-set"),
    "--positive-rate": ("0.2", 0.2),
    "--total": ("900", 900),
    "--positive": ("3,1", (1, 3)),
    "--negative": ("0, 2", (0, 2)),
    "--binarization": ("case1", "case1"),
    "--seed": ("7", 7),
    "--prior": ("0.4", 0.4),
    "--label-col": ("s", "s"),
    "--truth-col": ("y", "y"),
    "--positive-value": ("1", ("1",)),
    "--drop": ("name", ("name",)),
    "--features": ("a*,b", ("a*", "b")),
    "--test": ("test.csv", Path("test.csv")),
    "--known-negative": ("-1", ("-1",)),
    "--categorical": ("b", ("b",)),
    "--missing": ("6,b=4", ("6", "b=4")),
    "--groups": ("patient", "patient"),
    "--weights": ("weight", "weight"),
    "--no-header": (True, True),
    "--positives": ("p.csv", Path("p.csv")),
    "--unlabeled": ("u.csv", Path("u.csv")),
    "--checked": ("30", 30),
    "--precision": ("bf16", "bf16"),
    "--timeout": ("60", 60.0),
    "--select": ("pauc", "pauc"),
    "--goal": ("review:200", "review:200"),
    "--decision": ("prior", "prior"),
    "--folds": ("5", 5),
    "--refit": ("mean", "mean"),
    "--preset": ("quick", "quick"),
    "--backbone": ("mlp-wang", "mlp-wang"),
    "--device": ("cpu", "cpu"),
    "--threads": ("3", 3),
    "--results": ("other", Path("other")),
    "--data-root": ("files", Path("files")),
    "--encoder": ("model", Path("model")),
    "--offline": (True, True),
    "--artifacts": ("scores", ("scores",)),
    "--save-model": (True, True),
    "--no-tracking": (True, False),
    "--sinks": ("jsonl=x.jsonl,mlflow", {"jsonl": "x.jsonl", "mlflow": None}),
    "--tracking-uri": ("sqlite:///x.db", "sqlite:///x.db"),
}
OF_A_TABLE = [option.flag for option in OPTIONS if option.path[:2] == ("data", "own")]


def read(typed: dict[str, Any]) -> Given:
    """The options of a command that takes all of them, as it gets them for what was typed."""
    found: list[Given] = []

    @takes()
    def command(given: Given) -> None:
        found.append(given)

    absent = {o.name: False if o.field.switch is not None else None for o in OPTIONS}
    command(**absent | {option(flag).name: value for flag, value in typed.items()})  # type: ignore[call-arg]
    return found[0]


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``my.csv`` and ``test.csv`` in the current folder."""
    monkeypatch.chdir(tmp_path)
    rows = [
        f"{k},{k % 7},{k % 5},n{k},{(k % 3 == 0) - (k == 1)},{int(k % 2 == 0 or k % 3 == 0)},p{k // 2},{1 + k % 2}"
        for k in range(60)
    ]
    for name in ("my.csv", "test.csv"):
        Path(name).write_text("\n".join(["a1,a2,b,name,s,y,patient,weight", *rows]) + "\n")


#: Options that only the schemes which draw P and U have a use for.
OF_A_DRAW = ("--positive-rate", "--total")


def plan_of(flag: str, typed: object) -> Plan:
    """The plan of a short request with one more option."""
    request: dict[str, Any] = {"--method": "nnpu", "--data": "digits"}
    if flag in OF_A_TABLE:
        request |= {"--data": "my.csv", "--label-col": "s", "--truth-col": "y"}
    if flag in OF_A_DRAW:
        request |= {"--scheme": "one-sample"}
    return resolve([read(request | {flag: typed}).layer()], registry())


def value_at(spec: BaseModel, path: tuple[str, ...]) -> object:
    found: object = spec
    for name in path:
        found = getattr(found, name)
    return found


# ------------------------------------------------------------------ the table


def test_no_two_options_share_a_flag_a_path_a_name_or_a_help() -> None:
    for name in ("flag", "path", "name"):
        values = [getattr(option, name) for option in OPTIONS]
        assert len(set(values)) == len(values), name
    assert len({option.help() for option in OPTIONS}) == len(OPTIONS)


def test_fields_of_a_request_without_a_flag_are_for_set() -> None:
    sections = ("data", "mechanism", "method", "backbone", "selection", "execution")
    assert {one.name for one in run_fields() if one.path[0] in sections and not one.flag} == {
        "data.own.positives_sha256",
        "data.own.sha256",
        "data.own.test_sha256",
        "data.preprocess",
        "data.test",
        "data.test_fraction",
        "mechanism.variant",
        "method.calibrate",
        "method.config",
        "selection.criteria",
        "selection.non_finite",
    }


def test_a_field_with_a_flag_shows_its_type_in_help() -> None:
    shown = {flag: option(flag).parameter().annotation.__metadata__[0].metavar for flag in ("--c", "--seed", "--drop")}
    assert shown == {"--c": "<float>", "--seed": "<int>", "--drop": "<list>"}


def test_a_field_that_is_added_to_a_spec_becomes_an_option() -> None:
    class Longer(RunSpec):
        temperature: float = Field(1.5, description="divides every score", flag="--temperature", accepts="a number")

    added = SpecOption(next(one for one in run_fields(Longer) if one.path == ("temperature",)))
    assert (added.flag, added.path, added.panel) == ("--temperature", ("temperature",), "The run")
    assert added.help() == "Divides every score; a number. (default: 1.5)"
    apart, found = typer.Typer(), []
    command = lambda **given: found.append(given)  # noqa: E731
    command.__signature__ = inspect.Signature([added.parameter()])  # type: ignore[attr-defined]
    command.__annotations__ = {added.name: added.parameter().annotation}
    apart.command()(command)
    assert CliRunner().invoke(apart, ["--temperature", "2"]).exit_code == 0
    assert found == [{"temperature": "2"}]


# ------------------------------------------------------------------ from what is typed to the spec


def test_every_option_is_tried() -> None:
    assert set(TYPED) == {option.flag for option in OPTIONS}


#: Options of requests with other data: a table in two files, or without a line of names.
OTHER_DATA = ("--binarization", "--no-header", "--positives", "--unlabeled")


@pytest.mark.parametrize("flag", [flag for flag in TYPED if flag not in OTHER_DATA])
@pytest.mark.usefixtures("tables")
def test_what_is_typed_is_in_the_resolved_spec(flag: str) -> None:
    typed, expected = TYPED[flag]
    assert value_at(plan_of(flag, typed).spec, option(flag).path) == expected


def test_a_binarization_is_of_a_data_set_that_declares_it() -> None:
    layer = read({"--method": "nnpu", "--data": "usps", "--binarization": "case1"}).layer()
    spec = resolve([layer], registry()).spec
    assert (spec.data.binarization, spec.data.positive) == ("case1", (4, 5, 7, 8, 9))


@pytest.mark.usefixtures("tables")
def test_a_file_is_a_table_and_a_word_is_a_data_set() -> None:
    table, word = read({"--data": "my.csv"}).layer(), read({"--data": "digits"}).layer()
    assert (table.values, table.origins) == ({"data": {"own": {"path": "my.csv"}}}, {("data", "own", "path"): "--data"})
    assert (word.values, word.origins) == ({"data": {"key": "digits"}}, {("data", "key"): "--data"})


def test_a_layer_names_the_flag_of_every_value() -> None:
    given = read({flag: typed for flag, (typed, _) in TYPED.items()})
    layer = given.layer()
    assert layer.origins == {one.path: one.flag for one in OPTIONS}
    for one in OPTIONS:
        found: Any = layer.values
        for name in one.path:
            found = found[name]
        assert found == given.get(one.flag)


def test_what_is_not_given_is_not_in_the_layer() -> None:
    assert read({}) == Given()
    layer = read({}).layer()
    assert (layer.values, layer.origins) == ({}, {})
    assert (Given().get("--c"), Given().get("--c", "0.1")) == (None, "0.1")


@pytest.mark.parametrize(
    ("flag", "value"), [(one.flag, one.field.switch) for one in OPTIONS if one.field.switch is not None]
)
def test_a_switch_sets_its_value_where_it_is_given_and_nothing_otherwise(flag: str, value: bool) -> None:
    assert read({flag: True}).values == ((option(flag), value),)
    assert read({flag: False}).values == ()
    assert value is (flag != "--no-tracking")


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("all", ("scores", "trace", "samples", "training-scores")),
        ("none", ()),
        ("scores", ("scores",)),
        ("trace, scores", ("trace", "scores")),
    ],
)
def test_artifacts_are_a_list_or_one_of_two_words(typed: str, kept: tuple[str, ...]) -> None:
    assert plan_of("--artifacts", typed).spec.execution.artifacts == kept


def test_options_win_over_layers_before_them() -> None:
    before = assigned("method.key=upu", "data.key=digits", "mechanism.c=0.5", "seed=3")
    spec = resolve([before, read({"--method": "nnpu", "--c": "0.2"}).layer()], registry()).spec
    assert (spec.method.key, spec.mechanism.c, spec.seed) == ("nnpu", 0.2, 3)


# ------------------------------------------------------------------ commands


def listed(*command: str) -> list[str]:
    """Long options in the help of a command, in order."""
    done = CliRunner().invoke(app, [*command, "--help"], env={"COLUMNS": "200", "TERM": "dumb"})
    assert done.exit_code == 0
    return re.findall(r"^│ +(--[a-z-]+)", done.output, re.MULTILINE)


def test_the_help_of_run_lists_every_option_once() -> None:
    mine = ["--set", "--config", "--seeds", "--force", "--traceback", "--dry-run", "--full", "--format", "--help"]
    assert sorted(listed("run")) == sorted([option.flag for option in OPTIONS] + mine)


def test_the_help_of_run_begins_with_what_matters_most() -> None:
    assert [flag for flag in listed("run") if flag != "--help"][:5] == list(MOST_NEEDED)


def test_the_help_of_run_marks_what_is_required_and_says_what_prior_a_table_has() -> None:
    done = CliRunner().invoke(app, ["run", "--help"], env={"COLUMNS": "300", "TERM": "dumb"})
    lines = {line.split()[1]: line for line in done.output.splitlines() if line.startswith("│ --")}
    for flag in ("--method", "--data"):
        assert "(required, unless a run file names it)" in lines[flag]
    assert "own table without true labels: unknown, and a method that needs one asks for it" in lines["--prior"]


def test_a_command_takes_the_options_that_it_names_and_no_other() -> None:
    of_tables = ["--label-col", "--truth-col", "--positive-value", "--drop", "--features", "--test"]
    of_tables += ["--known-negative", "--categorical", "--missing", "--groups", "--weights", "--no-header"]
    of_tables += ["--positives", "--unlabeled"]
    assert sorted(listed("data", "check")) == sorted([*of_tables, "--format", "--help"])

    found: list[tuple[Given, str]] = []

    @takes("--c", "--offline")
    def command(given: Given, name: str, loud: bool = False) -> None:
        """Does something."""
        found.append((given, name))

    parameters = inspect.signature(command).parameters
    assert list(parameters) == ["c", "offline", "name", "loud"]
    assert all(parameter.kind is inspect.Parameter.KEYWORD_ONLY for parameter in parameters.values())
    assert (command.__name__, command.__doc__) == ("command", "Does something.")
    apart = typer.Typer()
    apart.command()(command)
    assert CliRunner().invoke(apart, ["--name", "x", "--c", "0.3"]).exit_code == 2  # a name is an argument
    assert CliRunner().invoke(apart, ["x", "--c", "0.3", "--loud"]).exit_code == 0
    assert CliRunner().invoke(apart, ["y", "--offline"]).exit_code == 0
    assert [(given.values, name) for given, name in found] == [
        (((option("--c"), "0.3"),), "x"),
        (((option("--offline"), True),), "y"),
    ]


@pytest.mark.parametrize("option", [o for o in OPTIONS if o.path[-1] == "key"], ids=lambda option: option.flag)
def test_keys_of_plugins_complete_an_option(option: SpecOption) -> None:
    complete = option.parameter().annotation.__metadata__[0].autocompletion
    keys = complete("")
    assert keys == [entry.key for entry in registry().entries(option.field.names) if entry.status == "ok"]
    assert complete(keys[0][:2]) == [key for key in keys if key.startswith(keys[0][:2])]


def test_help_speaks_of_user_tables_if_a_command_takes_them() -> None:
    scheme, column = option("--scheme"), option("--label-col")
    with_tables, without = (
        [one.parameter(takes).annotation.__metadata__[0] for one in (scheme, column)] for takes in (True, False)
    )
    assert "own table: one-sample" in with_tables[0].help
    assert "own table" not in without[0].help
    assert [found[1].rich_help_panel for found in (with_tables, without)] == [
        "A table of your own (--data my.csv)",
        "A table of your own",
    ]


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize(("limit", "said"), [(10, "reading my.csv\n"), (2**24, "")])
def test_reading_a_large_table_is_said_before_it(
    limit: int, said: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(run, "LARGE", limit)
    run.plan_of(read({"--data": "my.csv", "--label-col": "s", "--method": "pu-bagging"}), [], None)
    assert capfd.readouterr().err == said
