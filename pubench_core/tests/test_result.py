"""A result is typed from the moment it is made to the moment it is read: one version, known fields, JSON and back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from made_results import made_code, made_result
from pydantic import ValidationError
from pydantic.fields import FieldInfo

from pubench_core import results
from pubench_core.records.files import result_text
from pubench_core.results import (
    Code,
    CriterionResult,
    Estimate,
    Measure,
    PartFacts,
    PriorFacts,
    Result,
    SavedModelFacts,
    Stored,
)

MODELS = [
    kind
    for kind in vars(results).values()
    if isinstance(kind, type) and kind.__module__ == results.__name__ and issubclass(kind, Stored) and kind.model_fields
]
FIELDS = [(kind, name, field) for kind in MODELS for name, field in kind.model_fields.items()]


def through_json(result: Result) -> Result:
    return Result.model_validate(json.loads(result_text(result)))


# ---------------------------------------------------------------- JSON and back


def test_a_result_with_every_optional_part_is_too() -> None:
    result = made_result()
    prior = PriorFacts(
        given=0.3,
        true=None,
        estimate=Estimate(estimator="bbe", share=0.3, interval=(0.2, 0.4), diagnostics={"bins": [1, 2]}, seconds=0.1),
    )
    facts = result.data.model_copy(
        update={"prior": prior, "test": None, "encoding": ({"name": "a", "kind": "number"},), "notes": ("odd",)}
    )
    undefined = CriterionResult(oracle=True, undefined="no labeled validation positive")
    full = result.model_copy(
        update={
            "data": facts,
            "model": SavedModelFacts(snapshot="epoch-2"),
            "criteria": {**result.criteria, "f1": undefined},
        }
    )
    assert through_json(full) == full
    assert through_json(full).data.prior.estimate == prior.estimate


def test_what_is_at_its_default_is_not_written_and_comes_back() -> None:
    plain = made_result().model_dump(mode="json")
    assert plain["criteria"]["last"]["measures"]["test"]["f1"] == {"undefined": "no positive row"}
    assert set(plain["criteria"]["last"]) == {"oracle", "epoch", "snapshot", "measures"}
    assert "model" not in plain
    assert "estimate" not in plain["data"]["prior"]
    assert made_result(warnings=()).model_dump(mode="json").keys() == plain.keys() - {"warnings"}


def test_what_is_0_or_false_and_no_default_is_written() -> None:
    assert Measure(value=0.0).model_dump() == {"value": 0.0}
    assert PartFacts(rows=0, labeled=0).model_dump() == {"rows": 0, "labeled": 0}
    assert CriterionResult(oracle=False).model_dump() == {"oracle": False}


def test_a_required_field_is_written_whatever_its_value() -> None:
    assert set(made_result(criteria={"pa": made_result().chosen}, metrics={}, epochs=0).model_dump(mode="json")) >= {
        "metrics",
        "epochs",
        "oracle",
    }


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    "chosen",
    [
        {"epoch": 1},
        {"value": 0.0},
        {"snapshot": "epoch-1"},
        {"candidate": "teacher"},
        {"stopped_at": 3},
        {"warnings": ("few rows",)},
        {"measures": {"test": {"accuracy": Measure(value=0.9987)}}},
    ],
)
def test_an_undefined_criterion_has_chosen_and_measured_nothing(chosen: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=f"an undefined criterion must have no {next(iter(chosen))}"):
        CriterionResult(oracle=False, undefined="no labeled validation positive", **chosen)


# ---------------------------------------------------------------- what is read from it


def test_the_chosen_criterion_is_the_selected_one_with_its_test_values() -> None:
    result = made_result()
    assert result.chosen is result.criteria["pa"]
    assert result.test == {"f1": 0.5}
    other = result.model_copy(update={"selected": "last"})
    assert other.chosen is result.criteria["last"]
    assert other.test == {"f1": None}
    blind = result.criteria["pa"].model_copy(update={"measures": {"validation": {"pa": Measure(value=1.0)}}})
    assert made_result(criteria={"pa": blind}).test == {}


def test_code_is_the_hash_of_its_parts_and_of_no_version() -> None:
    code = made_code()
    assert Code.of(code.parts, {"pubench-tiny": "9.9"}).hash == code.hash
    assert Code.of(dict(reversed(list(code.parts.items()))), {}).hash == code.hash
    other = Code.of({**code.parts, "method tiny": "0" * 16}, code.versions)
    assert other.hash != code.hash
    assert other.changed_since(code) == code.changed_since(other) == ["method tiny"]
    assert Code.of({"engine": "revision 0"}, {}).changed_since(code) == ["method tiny"]
    assert code.changed_since(code) == []


# ---------------------------------------------------------------- documentation


@pytest.mark.parametrize(("kind", "name", "field"), FIELDS, ids=[f"{kind.__name__}.{name}" for kind, name, _ in FIELDS])
def test_every_field_says_what_it_means(kind: type[Stored], name: str, field: FieldInfo) -> None:
    assert field.description, f"{kind.__name__}.{name}"


@pytest.mark.parametrize("kind", MODELS, ids=lambda kind: kind.__name__)
def test_every_model_is_frozen_knows_its_fields_and_says_what_it_is(kind: type[Stored]) -> None:
    assert issubclass(kind, Stored)
    assert kind.__doc__
    assert (kind.model_config["extra"], kind.model_config["frozen"]) == ("forbid", True)
    assert kind.model_config["allow_inf_nan"] is False
