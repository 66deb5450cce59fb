"""A field of a run is declared once, in its spec: argument, signature, help and recipe are made from that."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pubench_report.pages.recipe import named_fields

import pubench
from pubench.fields import ComparedFields, RunFields, SharedFields
from pubench_cli.yaml_layers import assigned
from pubench_core.engine.resolve import resolve
from pubench_core.plugins.registry import registry
from pubench_core.specs import RunSpec
from pubench_core.specs.fields import Field, Strict
from pubench_core.specs.run_fields import arguments, run_fields

ROOT = Path(__file__).parents[1]


class Sharpness(Strict):
    """A section."""

    power: int = Field(3, description="how sharp", argument="power", flag="--power")


class Longer(RunSpec):
    """A run with two more fields."""

    sharpness: Sharpness = Field(Sharpness(), description="a section")
    temperature: float = Field(1.0, description="divides scores", neutral=1.0, argument="temperature")


def test_the_types_of_arguments_are_those_that_the_spec_declares() -> None:
    done = subprocess.run([sys.executable, ".ci/run_fields.py", "--check"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_fields_added_to_a_spec_have_argument_and_help() -> None:
    added = {one.name: one for one in run_fields(Longer) if one.name not in {each.name for each in run_fields()}}
    assert list(added) == ["sharpness.power", "temperature"]
    assert arguments(Longer).keys() - arguments().keys() == {"sharpness.power", "temperature"}
    assert added["sharpness.power"].help() == "How sharp. (default: 3)"


def test_fields_added_to_a_spec_are_in_the_recipe_unless_neutral() -> None:
    spec = resolve([assigned("method.key=nnpu", "data.key=digits")], registry()).spec
    plain = {name: getattr(spec, name) for name in RunSpec.model_fields}
    longer = Longer(**plain, sharpness=Sharpness(power=4))
    named = {one.name: value for one, value in named_fields(longer)}
    assert named["sharpness.power"] == 4
    assert "temperature" not in named
    assert {one.name: value for one, value in named_fields(Longer(**plain, temperature=2.0))}["temperature"] == 2.0


@pytest.mark.parametrize(
    ("function", "fields"),
    [(pubench.run, RunFields), (pubench.compare, ComparedFields), (pubench.tune, SharedFields)],
    ids=["run", "compare", "tune"],
)
def test_signature_and_help_of_a_call_name_every_field(function: Any, fields: type) -> None:
    names = set(fields.__annotations__)
    assert names >= {"c", "prior", "folds", "config", "device"}
    assert names <= set(inspect.signature(function).parameters)
    assert "``c``: Label frequency p(labeled | positive); a number in (0, 1]. (default: 0.1)" in function.__doc__


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pubench.run("nnpu", "digits", sead=3), r"run\(\) has no argument 'sead'; did you mean 'seed'"),
        (lambda: pubench.compare("nnpu", data="digits", seed=3), r"compare\(\) has no argument 'seed'"),
        (lambda: pubench.tune("nnpu", "digits", tracking=False), r"tune\(\) has no argument 'tracking'"),
    ],
)
def test_an_argument_that_is_no_field_is_refused_as_python_does(call: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call()
