"""A run id hashes what decides the trained scores: a field at its neutral value is as if it were not there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal

import pytest
from made_results import made_spec
from pydantic import create_model

from pubench_core.specs import DataSpec, MechanismSpec, RunSpec, UserTableSpec
from pubench_core.specs.config import MethodConfig, TrainingConfig
from pubench_core.specs.fields import Field, LogUniform, Strict, about, canonical_json, identity_of, short_hash
from pubench_core.specs.run import run_id


class Config(MethodConfig):
    lr: float = Field(0.01, gt=0, description="learning rate", search=LogUniform(0.001, 0.1))
    loss: Literal["sigmoid", "logistic"] = Field("sigmoid", description="surrogate")


def widened(base: type[MethodConfig], **fields: Any) -> type[MethodConfig]:
    """The configuration of a later version of the method, which has these fields next to."""
    return create_model("Later", __base__=base, **fields)


# ---------------------------------------------------------------- fields


@pytest.mark.parametrize(
    ("annotation", "neutral", "other"),
    [
        (float, 0.0, 0.5),
        (int | None, None, 3),
        (bool, False, True),
        (str, "", "x"),
        (Literal["off", "on"], "off", "on"),
        (tuple[str, ...], (), ("a",)),
    ],
)
def test_a_field_that_is_added_at_its_neutral_value_changes_no_run_id(
    annotation: Any, neutral: Any, other: Any
) -> None:
    later = widened(Config, extra=(annotation, Field(neutral, description="new", neutral=neutral)))
    spec = made_spec()
    assert run_id(spec, later()) == run_id(spec, Config())
    assert run_id(spec, later(extra=neutral)) == run_id(spec, Config())
    assert run_id(spec, later(extra=other)) != run_id(spec, Config())


def test_a_new_field_without_a_neutral_value_changes_every_run_id() -> None:
    later = widened(Config, extra=(float, Field(0.0, description="new")))
    assert run_id(made_spec(), later()) != run_id(made_spec(), Config())


def test_a_changed_default_changes_the_run_and_the_old_value_restores_it() -> None:
    first = widened(Config, extra=(float, Field(0.0, description="new", neutral=0.0)))
    second = widened(Config, extra=(float, Field(1.0, description="new", neutral=0.0)))
    assert run_id(made_spec(), second()) != run_id(made_spec(), first())
    assert run_id(made_spec(), second(extra=0.0)) == run_id(made_spec(), first())


def test_a_truth_value_is_not_taken_for_a_neutral_number_nor_0_for_false() -> None:
    class Loose(Strict):
        number: int | bool = Field(0, description="either", neutral=0)

    assert identity_of(Loose(number=0)) == {}
    assert identity_of(Loose(number=False)) == {"number": False}
    assert identity_of(Loose(number=1)) == {"number": 1}


def test_a_neutral_value_may_be_written_as_a_whole_number() -> None:
    class Averaged(Config):
        decay: float = Field(0, description="of the average", neutral=0)

    assert identity_of(Averaged()) == identity_of(Config())


def test_the_rule_holds_for_sections_inside_sections() -> None:
    class Inner(Strict):
        a: int = Field(1, description="counts")
        b: int = Field(2, description="new", neutral=2)
        c: int = Field(3, description="says nothing", identifies=False)

    class Outer(Strict):
        inner: Inner = Field(Inner(), description="a section")
        maybe: Inner | None = Field(None, description="another", neutral=None)

    assert identity_of(Outer()) == {"inner": {"a": 1}}
    assert identity_of(Outer(maybe=Inner(b=5, c=9))) == {"inner": {"a": 1}, "maybe": {"a": 1, "b": 5}}


def test_what_a_field_was_given_beside_its_bounds_can_be_asked_for() -> None:
    field = Config.model_fields["lr"]
    assert about(field, "search") == LogUniform(0.001, 0.1)
    assert about(field, "neutral", "none") == "none"
    assert about(Config.model_fields["loss"], "search") is None


# ---------------------------------------------------------------- specs


def test_what_is_in_the_identity_of_a_run_is_this_and_nothing_else() -> None:
    """A new field that is in this list makes every stored record another run's."""
    assert made_spec().identity(Config()) == {
        "data": {
            "key": "toy",
            "positive": [0],
            "negative": [1],
            "scheme": "case-control",
            "preprocess": "none",
            "test_fraction": 0.2,
        },
        "mechanism": {"key": "scar", "c": 0.1, "variant": "paper"},
        "prior": "true",
        "validation": {"fraction": 0.2},
        "method": {"key": "tiny", "config": {"lr": 0.01, "loss": "sigmoid"}},
        "backbone": {"key": "mlp"},
        "seed": 2,
    }


def test_what_networks_are_trained_with_is_this_and_nothing_else() -> None:
    assert identity_of(TrainingConfig()) == {
        "optimizer": "adam",
        "lr": 0.001,
        "momentum": 0.9,
        "weight_decay": 0.0,
        "batch_size": 256,
        "epochs": 40,
        "steps_per_epoch": None,
        "patience": 10,
    }
    assert identity_of(MethodConfig()) == {}


def table(**fields: Any) -> RunSpec:
    own = UserTableSpec(**{"path": Path("a/my.csv"), "sha256": "0" * 64, "label_col": "s", **fields})
    data = DataSpec(key=own.path.name, own=own, positive=(1,), negative=(0,), scheme="one-sample")
    return made_spec().model_copy(update={"data": data, "mechanism": MechanismSpec(key="given", c=None)})


def test_a_users_table_is_identified_by_its_content_not_its_name() -> None:
    ours = run_id(table(), Config())
    assert run_id(table(path=Path("b/renamed.csv")), Config()) == ours
    with_test = run_id(table(test=Path("t.csv"), test_sha256="1" * 64), Config())
    assert run_id(table(test=Path("u.csv"), test_sha256="1" * 64), Config()) == with_test != ours
    assert run_id(table(sha256="2" * 64), Config()) != ours
    assert run_id(table(label_col="t"), Config()) != ours
    assert run_id(table(drop="a"), Config()) != ours


def test_without_a_configuration_every_hyper_parameter_counts() -> None:
    assert made_spec().identity()["method"]["config"] == {"lr": 0.01}


# ---------------------------------------------------------------- hashes


def test_equal_values_have_one_text_whatever_their_order() -> None:
    assert canonical_json({"b": [1, 2.5, None], "a": {"y": True, "x": "é"}}) == (
        '{"a":{"x":"\\u00e9","y":true},"b":[1,2.5,null]}'
    )
    assert short_hash({"a": 1, "b": 2}) == short_hash({"b": 2, "a": 1}) != short_hash({"a": 2, "b": 1})
    with pytest.raises(ValueError, match="JSON"):
        canonical_json({"a": float("nan")})


def test_a_run_id_is_the_first_sixteen_digits_of_the_hash_of_the_identity() -> None:
    assert run_id(made_spec(), Config()) == short_hash(made_spec().identity(Config()))
    assert re.fullmatch("[0-9a-f]{16}", run_id(made_spec(), Config()))
