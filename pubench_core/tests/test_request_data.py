"""What data a request means: classes by index, name or binarization; a user's file, with labels that are its own.

This module is also the plugin that the tests choose from.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, PackageNotFoundError, version
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from pubench_datasets_tables.held import sha256_of
from pydantic import ValidationError

from pubench_core import hookimpl
from pubench_core.data.source import DataSource
from pubench_core.data.table_reader import table_reader
from pubench_core.engine.layers import Layer, Request
from pubench_core.engine.resolve_data import Chosen, choose_data
from pubench_core.errors import PluginError, RequestError
from pubench_core.mechanism import Mechanism
from pubench_core.plugins.info import DatasetInfo, MechanismInfo
from pubench_core.plugins.registry import GROUP, Registry
from pubench_core.specs import DataSpec, UserTableSpec


class Rows(DataSource):
    def read(self, files: Any, root: Any) -> Any:
        raise NotImplementedError


class Labeling(Mechanism):
    def choose(self, x_pos: Any, posterior_logit: Any, n: int, rng: Any) -> Any:
        raise NotImplementedError


FARM = DatasetInfo(
    key="farm",
    name="Farm",
    summary="animals",
    load=f"{__name__}:Rows",
    modality="tabular",
    classes=("Cat", "dog", "2", "cow"),
    positive=(0,),
    negative=(1, 2, 3),
    backbone="mlp",
    binarizations=MappingProxyType({"case1": ((1, 3), (0,)), "case2": ((0,), (1,))}),
)


@hookimpl
def pubench_datasets() -> list[DatasetInfo]:
    return [FARM]


@hookimpl
def pubench_mechanisms() -> list[MechanismInfo]:
    def info(key: str, load: str, **more: Any) -> MechanismInfo:
        return MechanismInfo(key=key, name=key, summary=key, load=f"{__name__}:{load}", assumption="SCAR", **more)

    return [info("scar", "Labeling", variants=("paper", "released")), info("hollow", "Rows")]


PLUGINS = Registry([EntryPoint("farm", __name__, GROUP), EntryPoint("tables", "pubench_datasets_tables", GROUP)])


def choice(data: dict[str, Any], mechanism: dict[str, Any] | None = None, **origins: str) -> Chosen:
    """What is chosen for these two sections; ``origins``: where ``section__name`` was written."""
    written = {tuple(name.split("__")): origin for name, origin in origins.items()}
    return choose_data(Request.of([Layer({"data": data, "mechanism": mechanism or {}}, written)]), PLUGINS)


def classes(**given: Any) -> tuple[list[int], list[int]]:
    data = choice({"key": "farm", **given}, data__positive="--positive")[0]["data"]
    return list(data["positive"]), list(data["negative"])


def refused(*sections: Any, **origins: str) -> RequestError:
    with pytest.raises(RequestError) as caught:
        choice(*sections, **origins)
    assert "\n" not in str(caught.value)
    return caught.value


def refusal(**given: Any) -> str:
    return str(refused({"key": "farm", **given}, data__positive="--positive"))


class TestClasses:
    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            ({}, ([0], [1, 2, 3])),
            *(
                ({"positive": named, "negative": [0]}, ([1, 3], [0]))
                for named in ("1,3", "dog,cow", " Dog , COW ", "1, cow", [1, 3], ["dog", "cow"], ["1", "3"], (1, "cow"))
            ),
            ({"positive": 3, "negative": "cat"}, ([3], [0])),  # one class needs no list
            ({"positive": "2", "negative": [0]}, ([2], [0])),  # a name that is a number
            ({"positive": [1]}, ([1], [0, 2, 3])),  # the other side has every other class
            ({"negative": "cat,dog"}, ([2, 3], [0, 1])),
            ({"binarization": "case1"}, ([1, 3], [0])),
            ({"binarization": "case2"}, ([0], [1])),
            ({"binarization": "case1", "positive": [1, 3], "negative": [0]}, ([1, 3], [0])),  # as a resolved spec
            ({"binarization": "case1", "positive": "dog,cow"}, ([1, 3], [0])),
        ],
    )
    def test_they_are_given_by_index_name_or_binarization(
        self, given: dict[str, Any], expected: tuple[list[int], list[int]]
    ) -> None:
        assert classes(**given) == expected

    def test_a_class_that_does_not_exist_is_refused_with_those_that_do(self) -> None:
        for wrong in ("4", "-1", "goat", [4], [1, 9]):
            line = refusal(positive=wrong)
            assert line.startswith("--positive: farm has no class")
            assert "its classes are 0 to 3 (Cat, dog, 2, cow)" in line
        assert "has no class 4;" in refusal(positive="4")
        assert "has no class goat;" in refusal(positive="0,goat")

    def test_a_binarization_goes_with_the_lists_it_names_and_with_no_others(self) -> None:
        line = refusal(binarization="case1", positive=[1])
        assert line == "data.binarization=case1 says which classes are positive; leave out data.positive"
        assert "leave out data.negative" in refusal(binarization="case1", negative="2")

    def test_one_that_does_not_exist_is_refused_with_the_nearest(self) -> None:
        line = refusal(binarization="case3")
        assert "binarization of farm 'case3'" in line
        assert "did you mean 'case" in line

    def test_the_field_and_the_wrong_class_are_said_apart(self) -> None:
        error = refused({"key": "farm", "positive": "0,goat"})
        assert (error.field, error.value) == ("data.positive", "goat")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "my.csv"
    path.write_text("a,s\n1,1\n2,0\n")
    return path


def user_table(
    file: Path, mechanism: dict[str, Any] | None = None, data: dict[str, Any] | None = None, **given: Any
) -> Any:
    """The fields, the data section and the mechanism section that such a request becomes."""
    section = {"own": {"path": str(file), "label_col": "s", **given}, **(data or {})}
    sections, data, simulated = choice(section, mechanism, mechanism__c="--c", data__key="--data")
    assert data.table is not None
    assert (data.source, simulated) == (None, None)
    return sections["data"]["own"], sections["data"], sections["mechanism"]


def table_refusal(file: Path, *sections: Any, **given: Any) -> str:
    with pytest.raises(RequestError) as caught:
        user_table(file, *sections, **given)
    return str(caught.value)


class TestUserTable:
    def test_its_labels_are_given_and_its_rows_are_one_sample(self, file: Path) -> None:
        fields, data, mechanism = user_table(file)
        assert (data["key"], data["scheme"]) == ("my.csv", "one-sample")
        assert mechanism == {"key": "given", "c": None}
        assert fields.sha256 == sha256_of(file)
        assert user_table(file, None, {"scheme": "two-sample"})[1]["scheme"] == "two-sample"

    def test_a_test_file_is_identified_by_its_content_too(self, file: Path, tmp_path: Path) -> None:
        test = tmp_path / "test.csv"
        test.write_text("a,s,y\n1,1,1\n")
        fields, _, _ = user_table(file, test=str(test), truth_col="y")
        assert (fields.test, fields.test_sha256) == (test, sha256_of(test))

    def test_the_same_fields_are_accepted_again(self, file: Path) -> None:
        """A resolved spec is a run file."""
        fields, data, mechanism = user_table(file)
        written = {**fields.model_dump(mode="json"), "path": str(file)}
        again = {**data, "own": written, "positive": [1], "negative": [0], "binarization": None}
        assert choice(again, mechanism)[0]["data"]["own"] == fields

    def test_an_edited_test_file_is_another_file_too(self, file: Path) -> None:
        assert "is not the file this spec was written for" in table_refusal(file, test=str(file), test_sha256="0" * 64)

    def test_without_a_label_column_the_columns_are_said(self, file: Path) -> None:
        line = table_refusal(file, label_col=None)
        assert line == ("my.csv: data.own.label_col=COLUMN must name the column of labels; columns are a, s")

    def test_a_data_set_and_a_file_at_once_are_refused(self, file: Path) -> None:
        line = table_refusal(file, {}, {"key": "digits"})
        assert line.startswith("--data: the data are a data set (digits) or a file (")
        assert user_table(file, None, {"key": "my.csv"})

    def test_of_many_columns_the_first_and_the_last_are_said(self, file: Path) -> None:
        """Labels are often last."""
        file.write_text(",".join(f"c{k}" for k in range(40)) + "\n" + ",".join("1" * 40) + "\n")
        assert "c0, c1, c2, c3, c4, c5, ..., c34, c35, c36, c37, c38, c39" in table_refusal(file, label_col=None)

    def test_rows_of_a_table_are_not_scaled_to_length_1(self, file: Path) -> None:
        assert (
            table_refusal(file, {}, {"preprocess": "l2"})
            == "data.preprocess must be standardize or none for my.csv, got l2"
        )


class TestNoFile:
    def test_a_data_set_brings_its_values_and_is_labeled_by_a_mechanism(self) -> None:
        sections, data, chosen = choice({"key": "farm"})
        assert sections["data"] == {"key": "farm", "preprocess": "none", "positive": [0], "negative": [1, 2, 3]}
        assert sections["mechanism"] == {"key": "scar", "variant": "paper"}
        assert isinstance(data.source, Rows)
        assert data.table is None
        assert chosen is not None
        assert isinstance(chosen.mechanism, Labeling)

    def test_given_labels_need_a_file(self) -> None:
        error = refused({"key": "farm"}, {"key": "given"})
        assert str(error).startswith("mechanism given is for a table of your own; data.own.path=my.csv")
        assert error.field == "mechanism.key"

    def test_columns_need_a_file(self) -> None:
        line = str(refused({"key": "farm", "own": {"label_col": "s", "drop": "a"}}))
        assert line.startswith("data.own.label_col, data.own.drop: only a table of your own has such columns")

    def test_a_mechanism_that_is_none_is_the_plugin_s_fault(self) -> None:
        with pytest.raises(PluginError, match=r"mechanism 'hollow': .*:Rows is not a subclass of pubench_core"):
            choice({"key": "farm"}, {"key": "hollow"})

    def test_a_section_that_is_no_mapping_is_refused(self) -> None:
        assert str(refused({"own": "my.csv"})).startswith("data.own: only a table of your own")

    def test_a_mechanism_has_the_variants_that_it_declares(self) -> None:
        chosen = choice({"key": "farm"}, {"key": "scar", "variant": "released"})[2]
        assert chosen is not None
        assert chosen.mechanism.variant == "released"
        error = refused({"key": "farm"}, {"key": "scar", "variant": "relased"})
        assert str(error) == "unknown variant of mechanism scar 'relased'; did you mean 'released'?"


def test_a_file_is_a_data_set_of_two_classes(file: Path) -> None:
    info = table_reader(PLUGINS).describe(UserTableSpec(path=file, sha256="0", label_col="s"))
    assert (info.name, info.classes, info.positive, info.negative) == ("my.csv", ("negative", "positive"), (1,), (0,))
    assert (info.modality, info.backbone, info.preprocess) == ("tabular", "mlp", "standardize")


def test_without_a_reader_of_tables_the_error_names_what_to_install(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def not_installed(name: str) -> str:
        if name == "pubench-datasets-tables":
            raise PackageNotFoundError(name)
        return version(name)  # that of core is kept for the process

    monkeypatch.setattr("pubench_core.plugins.registry.version", not_installed)
    request = Request.of([Layer({"data": {"own": {"path": str(file), "label_col": "s"}}}, {})])
    with pytest.raises(RequestError) as raised:
        choose_data(request, Registry([]))
    assert str(raised.value) == "a reader of your own tables is not installed: pip install pubench-datasets-tables"


def test_a_class_named_twice_counts_once_and_one_on_both_sides_is_refused() -> None:
    twice, _ = classes(positive="dog,1,dog", negative=[0])
    assert DataSpec(key="farm", positive=twice, negative=[0]).positive == (1,)
    both = dict(zip(("positive", "negative"), classes(positive="dog,cat", negative="cat,cow"), strict=True))
    with pytest.raises(ValidationError, match="class 0 is both positive and negative"):
        DataSpec(key="farm", **both)
