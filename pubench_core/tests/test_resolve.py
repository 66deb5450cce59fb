"""What a user said becomes one complete plan: the same request the same run id, a wrong one a sentence that helps.

This module is also the plugin that the tests resolve against.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
import yaml
from pubench_priors_standard.held_out import ReadsScores
from pydantic import ValidationError

from pubench_cli.yaml_layers import assigned, parse_assignment, read_yaml
from pubench_core import DatasetInfo, MechanismInfo, MethodInfo, MetricInfo, Preset, PriorInfo, hookimpl
from pubench_core.data.source import DataSource
from pubench_core.engine.criteria import DEFAULT_CRITERIA
from pubench_core.engine.layers import Layer
from pubench_core.engine.plan import Plan
from pubench_core.engine.resolve import resolve
from pubench_core.errors import Hint, RequestError
from pubench_core.mechanism import Mechanism
from pubench_core.method import Method
from pubench_core.metric import MetricView
from pubench_core.plugins.registry import GROUP, Registry
from pubench_core.prior import PriorEstimate
from pubench_core.specs.config import TrainingConfig
from pubench_core.specs.fields import Field
from pubench_core.specs.run import parse_prior
from pubench_core.training.run import Run
from pubench_core.training.views import PUData


class Config(TrainingConfig):
    epochs: int = Field(40, ge=1, description="epochs")
    loss: str = Field("sigmoid", description="surrogate")


class Tiny(Method[Config]):
    def fit(self, data: PUData, run: Run[Config]) -> None:
        raise NotImplementedError

    def decision_function(self, x: Any) -> Any:
        raise NotImplementedError


class Rows(DataSource):
    def read(self, files: Any, root: Any) -> Any:
        raise NotImplementedError


class Labeling(Mechanism):
    def choose(self, x_pos: Any, posterior_logit: Any, n: int, rng: Any) -> Any:
        raise NotImplementedError


class Guess(ReadsScores):
    def estimate(self, positive: Any, unlabeled: Any, rng: Any) -> PriorEstimate:
        raise NotImplementedError


def zero(view: MetricView) -> float:
    return 0.0


def about(key: str, implementation: str, *aliases: str) -> dict[str, Any]:
    return {"key": key, "name": key, "summary": key, "load": f"{__name__}:{implementation}", "aliases": aliases}


SIDES = ((0,), (1, 2))


@hookimpl
def pubench_datasets() -> list[DatasetInfo]:
    classes: dict[str, Any] = {"classes": ("cat", "dog", "cow"), "positive": SIDES[0], "negative": SIDES[1]}
    return [
        DatasetInfo(
            **about("toy", "Rows", "toys"), **classes, modality="tabular", backbone="mlp", binarizations={"cats": SIDES}
        ),
        DatasetInfo(**about("pixels", "Rows"), **classes, modality="image", backbone="cnn"),
    ]


@hookimpl
def pubench_methods() -> list[MethodInfo]:
    fast = Preset(values={"lr": 0.01, "epochs": 7}, per_data={"pixels": {"lr": 0.5}})
    return [
        MethodInfo(**about("tiny", "Tiny", "small"), presets={"fast": fast}),
        MethodInfo(**about("own", "Tiny"), presets={"fast": fast, "table": Preset(values={"loss": "logistic"})}),
    ]


@hookimpl
def pubench_mechanisms() -> list[MechanismInfo]:
    return [MechanismInfo(**about("scar", "Labeling", "s1"), assumption="SCAR", variants=("paper", "released"))]


@hookimpl
def pubench_metrics() -> list[MetricInfo]:
    return [
        MetricInfo(
            **about("pa", "zero"),
            needs=frozenset({"labeled", "prior"}),
            assumes=frozenset({"prior", "SCAR"}),
            criterion=True,
        ),
        MetricInfo(**about("f1", "zero"), needs=frozenset({"truth"}), criterion=True),
        MetricInfo(**about("auc", "zero"), needs=frozenset({"truth"})),
        MetricInfo(**about("rank", "zero"), needs=frozenset({"labeled"}), criterion=True),
    ]


@hookimpl
def pubench_priors() -> list[PriorInfo]:
    return [PriorInfo(**about("bbe", "Guess", "best-bin"), inputs="scores")]


@pytest.fixture(scope="module")
def plugins() -> Registry:
    modules = {"toy": __name__, "backbones": "pubench_backbones", "tables": "pubench_datasets_tables"}
    found = Registry(EntryPoint(name, module, GROUP) for name, module in modules.items())
    assert {entry.status for entry in found.all()} == {"ok"}
    return found


Ask = Callable[..., Plan]
Write = Callable[[str], Layer]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """The layer of a run file with this text."""

    def write(text: str) -> Layer:
        (tmp_path / "run.yaml").write_text(text)
        return read_yaml(tmp_path / "run.yaml")

    return write


@pytest.fixture
def ask(plugins: Registry, write: Write) -> Ask:
    """``ask("lr=1", file="...")``: the plan of a run file (by default the toy data and method) and of assignments."""

    def ask(*sets: str, file: str = "data: toy\nmethod: tiny\n") -> Plan:
        return resolve([write(file), assigned(*sets, prefix="--set ")], plugins)

    return ask


def refusal(ask: Ask, *sets: str, **more: str) -> str:
    with pytest.raises(RequestError) as refused:
        ask(*sets, **more)
    message = str(refused.value)
    assert "\n" not in message
    return message


# ---------------------------------------------------------------- precedence


@pytest.mark.parametrize(
    ("preset", "in_file", "flag", "expected"),
    [
        ("", "", (), 0.001),  # the default of every method
        ("fast", "", (), 0.01),
        ("fast", "0.02", (), 0.02),
        ("fast", "0.02", ("lr=0.03",), 0.03),
        ("fast", "", ("lr=0.03",), 0.03),
        ("", "0.02", ("lr=0.03",), 0.03),
        ("", "0.02", (), 0.02),
    ],
)
def test_defaults_give_way_to_a_preset_that_to_a_file_and_that_to_flags(
    ask: Ask, preset: str, in_file: str, flag: tuple[str, ...], expected: float
) -> None:
    file = "data: toy\nmethod:\n  key: tiny\n"
    file += f"  preset: {preset}\n" if preset else ""
    file += f"  config: {{lr: {in_file}}}\n" if in_file else ""
    assert ask(*flag, file=file).spec.method.config["lr"] == expected


def test_what_a_later_layer_does_not_name_stays(ask: Ask) -> None:
    file = "data: toy\nmethod: {key: tiny, preset: fast, config: {loss: logistic, momentum: 0.5}}\n"
    config = ask("momentum=0.25", file=file).spec.method.config
    assert {name: config[name] for name in ("loss", "epochs", "lr", "momentum", "batch_size")} == {
        "loss": "logistic",
        "epochs": 7,
        "lr": 0.01,
        "momentum": 0.25,
        "batch_size": 256,
    }


def test_a_preset_that_a_flag_names_does_not_overrule_what_the_file_says(ask: Ask) -> None:
    file = "data: toy\nmethod: {key: tiny, config: {lr: 0.02}}\n"
    config = ask("method.preset=fast", file=file).spec.method.config
    assert (config["lr"], config["epochs"]) == (0.02, 7)


def test_a_preset_has_values_of_its_own_for_single_data_sets(ask: Ask) -> None:
    on_pixels = ask("data.key=pixels", "method.preset=fast").spec.method.config
    assert (on_pixels["lr"], on_pixels["epochs"]) == (0.5, 7)
    assert ask("data.key=pixels", "method.preset=fast", "lr=0.6").spec.method.config["lr"] == 0.6
    assert ask("method.preset=fast").spec.method.config["lr"] == 0.01


@pytest.mark.parametrize(
    ("method", "sets", "preset", "loss", "patience"),
    [
        ("tiny", (), None, "sigmoid", None),
        ("own", (), "table", "logistic", None),
        ("own", ("loss=sigmoid", "patience=3"), "table", "sigmoid", 3),
        ("own", ("method.preset=fast",), "fast", "sigmoid", None),
    ],
)
def test_on_a_users_table_patience_is_off_and_preset_table_is_the_default(
    ask: Ask, tmp_path: Path, method: str, sets: tuple[str, ...], preset: str | None, loss: str, patience: int | None
) -> None:
    (tmp_path / "my.csv").write_text("a,s\n" + "1,1\n2,0\n3,0\n4,1\n" * 5)
    table = f"data: {{own: {{path: {tmp_path / 'my.csv'}, label_col: s}}}}\nmethod: {method}\nprior: 0.3\n"
    resolved = ask(*sets, file=table)
    assert resolved.spec.method.preset == preset
    assert (resolved.method.config.loss, resolved.method.config.patience) == (loss, patience)
    assert ask(file=f"data: toy\nmethod: {method}\n").method.config.patience == 10


def test_what_nobody_gave_comes_from_the_plugins(ask: Ask) -> None:
    spec = ask().spec
    assert (spec.backbone.key, spec.data.positive, spec.data.negative) == ("mlp", (0,), (1, 2))
    assert ask("data.key=pixels").spec.backbone.key == "cnn"
    assert (spec.mechanism.key, spec.mechanism.variant, spec.mechanism.c) == ("scar", "paper", 0.1)
    assert spec.selection.criterion == "pa"
    assert spec.selection.criteria == ("pa", "f1", "last")
    assert set(spec.evaluation.metrics) == {"pa", "f1", "auc", "rank"}
    assert (spec.prior, spec.validation.fraction) == ("true", 0.2)


def test_default_criteria_are_the_installed_ones_of_a_fixed_list_and_the_one_that_is_named(ask: Ask) -> None:
    assert "rank" in ask().metrics
    assert "rank" not in DEFAULT_CRITERIA
    assert ask().spec.selection == ask("selection.criteria=all").spec.selection
    selection = ask("selection.criterion=rank").spec.selection
    assert (selection.criterion, selection.criteria) == ("rank", ("pa", "f1", "rank", "last"))


def test_a_metric_is_measured_wherever_some_part_knows_enough(ask: Ask) -> None:
    assert ask("evaluation.metrics=[pa]").spec.evaluation.metrics == ("pa",)
    assert ask("evaluation.metrics=[rank, auc]").spec.evaluation.metrics == ("rank", "auc")


def test_a_plan_carries_what_the_spec_names(ask: Ask) -> None:
    plan = ask("prior=estimated:best-bin", "mechanism.variant=released", "lr=0.02")
    assert plan.method.implementation is Tiny
    assert plan.method.config == Config(lr=0.02)
    assert plan.method.requires == frozenset()
    assert isinstance(plan.data.source, Rows)
    assert plan.data.table is None
    assert plan.mechanism is not None
    assert isinstance(plan.mechanism.mechanism, Labeling)
    assert plan.mechanism.mechanism.variant == "released"
    assert plan.estimator is not None
    assert isinstance(plan.estimator.estimator, Guess)
    assert plan.spec.prior == "estimated:bbe"
    assert set(plan.metrics) == {"pa", "f1", "auc", "rank"}
    assert ask().estimator is None


def test_a_plan_is_frozen(ask: Ask) -> None:
    plan = ask()
    with pytest.raises(FrozenInstanceError):
        plan.run_id = "another"  # type: ignore[misc]
    with pytest.raises(ValidationError, match="frozen"):
        plan.spec.seed = 3
    with pytest.raises(ValidationError, match="frozen"):
        plan.method.config.lr = 1.0  # type: ignore[attr-defined]


def test_resolving_changes_no_layer_so_that_one_may_serve_many_runs(plugins: Registry, write: Write) -> None:
    file = write("data: toy\nmethod: {key: tiny, config: {lr: 0.02}}\n")
    before = copy.deepcopy(file.values)
    flags = Layer()
    flags.put(("method", "config", "epochs"), 3, "--set epochs=3")
    flags.put(("data", "scheme"), "single-training-set", "--scheme")
    assert resolve([file, flags], plugins).spec.method.config["epochs"] == 3
    assert file.values == before
    assert resolve([file], plugins).spec.method.config["epochs"] == 40


# ---------------------------------------------------------------- errors


def test_an_unknown_field_is_refused_with_its_place_and_nearest_spelling(ask: Ask) -> None:
    with pytest.raises(RequestError) as refused:
        ask("batchsize=3")
    assert str(refused.value) == "--set batchsize=3: tiny has no field 'batchsize'; did you mean 'batch_size'?"
    assert (refused.value.field, refused.value.value) == ("method.config.batchsize", 3)
    assert refused.value.hint == Hint("describe", "tiny")


@pytest.mark.parametrize(
    "given",
    [
        *("lr=yes", "epochs=false", "seed=true", "mechanism.c=true", "validation.fraction=false", "prior=false"),
        "data.positive=[true]",
    ],
)
def test_a_truth_value_is_neither_a_number_nor_a_class(ask: Ask, given: str) -> None:
    assert f"--set {given}" in refusal(ask, given)


@pytest.mark.parametrize("given", ["[pa]", "{pa: 1}", "null", "3"])
def test_a_criterion_is_one_name(ask: Ask, given: str) -> None:
    assert "criterion" in refusal(ask, f"selection.criterion={given}")


@pytest.mark.parametrize(
    ("given", "field", "value"),
    [
        ("lr=0", "method.config.lr", 0),
        ("mechanism.c=7", "mechanism.c", 7),
        ("mechanism.cc=7", "mechanism.cc", 7),
        ("data.positive=[0, 3]", "data.positive", 3),
        ("data.scheme=cc", "data.scheme", "cc"),
        ("selection.criterion=f2", "selection.criterion", "f2"),
        ("method.preset=fats", "method.preset", "fats"),
        ("execution.device=gpu", "execution.device", "gpu"),
        ("prior=1.5", "prior", 1.5),
    ],
)
def test_an_error_carries_the_path_of_its_field_and_what_was_given(
    ask: Ask, given: str, field: str, value: Any
) -> None:
    with pytest.raises(RequestError) as refused:
        ask(given)
    assert (refused.value.field, refused.value.value) == (field, value)


# ---------------------------------------------------------------- files


def test_a_flag_that_overrides_a_line_of_a_file_is_named(ask: Ask) -> None:
    file = "data: toy\nmethod: tiny\nmechanism: {c: 0.5}\n"
    assert refusal(ask, "mechanism.c=7", file=file).startswith("--set mechanism.c=7: ")


def test_a_plain_name_is_a_field_of_the_method_and_a_dotted_one_of_the_run() -> None:
    assert parse_assignment("lr=0.1") == (("method", "config", "lr"), 0.1)
    assert parse_assignment("mechanism.variant=released") == (("mechanism", "variant"), "released")
    assert parse_assignment("seed=3") == (("seed",), 3)
    assert parse_assignment("loss=a=b") == (("method", "config", "loss"), "a=b")


# ---------------------------------------------------------------- run ids


@pytest.mark.parametrize(
    "sets",
    [
        (),
        ("method.preset=fast", "data.key=pixels"),
        ("lr=1e-3", "patience=null", "optimizer=sgd", "steps_per_epoch=5"),
        ("prior=0.4", "mechanism.c=0.29", "data.scheme=single-training-set", "method.calibrate='off'"),
        ("prior=scaled:1.2", "validation.fraction=0.01", "seed=9223372036854775807"),
        ("prior=estimated:bbe", "evaluation.trace=[train, test]", "selection.criteria=[pa]"),
        ("data.positive=[2]", "data.negative=[0]", "loss='null'"),
        ("execution.device=cpu", "execution.threads=1", "execution.artifacts=[]", "execution.results=/tmp/r"),
    ],
)
def test_what_a_dry_run_prints_is_a_run_file_for_the_same_run(ask: Ask, sets: tuple[str, ...]) -> None:
    plan = ask(*sets)
    printed = yaml.safe_dump(plan.spec.model_dump(mode="json"), sort_keys=False)
    again = ask(file=printed)
    assert again.spec == plan.spec
    assert again.run_id == plan.run_id


def test_the_run_id_depends_on_values_and_not_on_the_preset_they_came_from(ask: Ask) -> None:
    spelled_out = ask("lr=0.01", "epochs=7")
    assert ask("method.preset=fast").run_id == spelled_out.run_id != ask().run_id


@pytest.mark.parametrize("given", ["data.test=drawn", "prior=estimated:bbe", "patience=null", "seed=3"])
def test_what_decides_the_trained_scores_makes_another_run(ask: Ask, given: str) -> None:
    assert ask(given).run_id != ask().run_id


def test_the_name_of_a_choice_of_classes_makes_no_other_run(ask: Ask) -> None:
    assert ask("data.binarization=cats").run_id == ask().run_id


def test_calibration_is_resolved_and_changes_the_run_if_it_can_act(ask: Ask) -> None:
    assert ask("method.calibrate='on'").run_id == ask("method.calibrate='off'").run_id == ask().run_id
    assert ask("method.calibrate='on'").spec.method.calibrate == "auto"
    one_sample = "data.scheme=single-training-set"
    on, off, auto = (ask(one_sample, f"method.calibrate='{value}'") for value in ("on", "off", "auto"))
    assert (on.spec.method.calibrate, off.spec.method.calibrate, auto.spec.method.calibrate) == ("on", "off", "off")
    assert on.run_id != off.run_id == auto.run_id


def test_what_only_looks_at_a_run_is_no_part_of_its_code(ask: Ask) -> None:
    assert ask("selection.criterion=rank", "evaluation.metrics=[f1]").code == ask().code
    assert set(ask().code.parts) == {"engine", "method tiny", "backbone mlp", "mechanism scar"}
    assert set(ask("prior=estimated:bbe").code.parts) - set(ask().code.parts) == {"prior bbe"}


def test_the_code_counts_the_arrays_that_are_read(ask: Ask) -> None:
    plan = ask()
    assert plan.code_reading("") == plan.code
    one, other = plan.code_reading("1" * 16), plan.code_reading("2" * 16)
    assert one.changed_since(other) == ["data toy"]
    assert len({plan.code.hash, one.hash, other.hash}) == 3


@pytest.mark.parametrize(
    ("alias", "key"),
    [
        ("data.key=toys", "data.key=toy"),
        ("method.key=small", "method.key=tiny"),
        ("mechanism.key=s1", "mechanism.key=scar"),
        ("prior=estimated:best-bin", "prior=estimated:bbe"),
    ],
)
def test_an_alias_is_the_same_run_as_its_key(ask: Ask, alias: str, key: str) -> None:
    assert ask(alias).run_id == ask(key).run_id


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("lr=1", "lr=1.0"),
        ("lr=1e-3", "lr=0.001"),
        ("lr='1e-3'", "lr=1.0e-3"),
        ("lr=.0010", "lr=0.001"),
        ("weight_decay=0", "weight_decay=0.0"),
        ("epochs=7", "epochs=7.0"),
        ("epochs='7'", "epochs=7"),
        ("seed=3", "seed=3.0"),
        ("mechanism.c=1", "mechanism.c=1.0"),
        ("mechanism.c=5e-1", "mechanism.c=.5"),
        ("validation.fraction=0", "validation.fraction=0.0"),
    ],
)
def test_equal_values_written_differently_are_the_same_run(ask: Ask, one: str, other: str) -> None:
    assert ask(one).run_id == ask(other).run_id


def test_a_default_that_is_spelled_out_is_the_same_run(ask: Ask) -> None:
    spelled_out = ("mechanism.c=0.1", "seed=2", "lr=0.001", "data.positive=[0]", "selection.criteria=[pa, f1, last]")
    for given in (*spelled_out, "selection.criteria=all", "evaluation.metrics=all", "method.preset=null"):
        assert ask(given).run_id == ask().run_id


def test_a_bare_key_is_a_section_with_that_key(ask: Ask) -> None:
    mapping = ask(file="data: {key: toy}\nmethod: {key: tiny}\nmechanism: {key: scar}\nbackbone: {key: mlp}\n")
    assert ask(file="data: toy\nmethod: tiny\nmechanism: scar\nbackbone: mlp\n").spec == mapping.spec
    flagged = ask("data.scheme=single-training-set").spec
    assert (flagged.data.key, flagged.data.scheme) == ("toy", "single-training-set")


# ---------------------------------------------------------------- the prior


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (True, "true"),
        ("true", "true"),
        (0.4, 0.4),
        ("0.4", 0.4),
        ("scaled:1.2", "scaled:1.2"),
        ("scaled:2", "scaled:2.0"),
        ("estimated:bbe", "estimated:bbe"),
    ],
)
def test_a_prior_is_true_a_number_a_scaled_or_an_estimated_one(given: Any, expected: float | str) -> None:
    assert parse_prior(given) == expected


@pytest.mark.parametrize(
    "given",
    [
        *(0, 1, 1.2, -0.1, float("nan"), float("inf"), False, None, [0.4], "", "truee"),
        *("scaled", "scaled:", "scaled:0", "scaled:-1", "scaled:inf", "scaled:nan", "scaled:x"),
        *("estimated:", "guessed:0.4"),
    ],
)
def test_anything_else_is_refused_with_the_forms_that_are_right(given: Any) -> None:
    with pytest.raises(ValueError, match=r"'scaled:1\.2', 'estimated:KEY', 'test' or 'unknown'"):
        parse_prior(given)
