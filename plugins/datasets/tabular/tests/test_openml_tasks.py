"""Tables of OpenML by number: files in OpenML's format become tasks, and what is wrong with them is one line."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pubench_cli.inventory import availability_of
from pubench_core.data.dataset import ClassData, DataRoot
from pubench_core.data.source import source_of
from pubench_core.data.store import open_dataset
from pubench_core.errors import RequestError
from pubench_core.plugins.info import DatasetInfo
from pubench_core.plugins.registry import registry

ARFF = """@RELATION flowers
@ATTRIBUTE id INTEGER
@ATTRIBUTE length REAL
@ATTRIBUTE color {red,blue}
@ATTRIBUTE note STRING
@ATTRIBUTE kind {iris,rose,tulip}
@DATA
1,1.5,red,'a b',iris
2,?,blue,'c',rose
3,3.5,?,'d',tulip
4,0.5,red,'e',rose
"""
XML = """<oml:data_set_description xmlns:oml="http://openml.org/openml">
  <oml:id>77</oml:id><oml:name>flowers</oml:name><oml:version>2</oml:version>
  <oml:licence>CC0</oml:licence><oml:citation>Linnaeus, Systema
    Naturae</oml:citation>
  <oml:default_target_attribute>{target}</oml:default_target_attribute>
  <oml:row_id_attribute>id</oml:row_id_attribute>
  <oml:md5_checksum>{md5}</oml:md5_checksum>
</oml:data_set_description>
"""
Put = Callable[..., Path]


@pytest.fixture
def put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Put:
    """Writes table 77 where the ``openml`` package keeps it."""
    monkeypatch.setenv("PUBENCH_CACHE", str(tmp_path / "cache"))

    def write(arff: str = ARFF, target: str = "kind", md5: str = "") -> Path:
        folder = tmp_path / "cache" / "openml" / "org" / "openml" / "www" / "datasets" / "77"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "dataset.arff").write_text(arff, encoding="utf-8")
        digest = md5 or hashlib.md5(arff.encode(), usedforsecurity=False).hexdigest()
        (folder / "description.xml").write_text(XML.format(target=target, md5=digest), encoding="utf-8")
        return folder

    return write


def here(tmp_path: Path, said: list[str] | None = None) -> DataRoot:
    return DataRoot(tmp_path, "a test", cache=tmp_path / "cache", say=(said if said is not None else []).append)


def opened(address: str, root: DataRoot) -> ClassData:
    info = registry().find(DatasetInfo, address)
    data = open_dataset(source_of(info), root, preprocess=info.preprocess).data
    assert isinstance(data, ClassData)
    return data


class TestATable:
    def test_its_card_is_what_openml_says(self, put: Put) -> None:
        put()
        info = registry().find(DatasetInfo, "openml:77")
        assert info.address == "openml:77/kind"
        assert info.classes == ("iris", "rose", "tulip")
        assert (info.positive, info.negative) == ((1,), (0, 2))
        assert info.license == "CC0"
        assert info.source == "OpenML, data set 77 (flowers, version 2); cite: Linnaeus, Systema Naturae"

    def test_numbers_are_features_and_categories_one_hot(self, put: Put, tmp_path: Path) -> None:
        """Ids and texts are left out; a missing number is the median, a missing category a value of its own."""
        put()
        said: list[str] = []
        data = opened("openml:77", here(tmp_path, said))
        np.testing.assert_array_equal(data.x, [[1.5, 1, 0, 0], [1.5, 0, 1, 0], [3.5, 0, 0, 1], [0.5, 1, 0, 0]])
        assert data.y.tolist() == [0, 1, 2, 1]
        assert said == [
            "'length': 1 missing numbers are the median of the others",
            "'note' is of type string and is left out",
        ]

    def test_another_nominal_column_may_be_the_target(self, put: Put, tmp_path: Path) -> None:
        put(ARFF.replace("3,3.5,?", "3,3.5,blue"))
        assert registry().find(DatasetInfo, "openml:77/color").classes == ("red", "blue")
        assert opened("openml:77/color", here(tmp_path)).y.tolist() == [0, 1, 1, 0]

    def test_a_table_of_openml_is_listed_once_it_is_here(self, put: Put, tmp_path: Path) -> None:
        put()
        source = source_of(registry().find(DatasetInfo, "openml"))
        assert [(task.name, dict(task.facts)) for task in source.tasks(here(tmp_path))] == [
            ("77", {"name": "flowers", "target": "kind"})
        ]
        assert availability_of(source.info, here(tmp_path)).state == "files"
        opened("openml:77", here(tmp_path))
        assert availability_of(source.info, here(tmp_path)).state == "prepared"


class TestWhatIsWrong:
    @pytest.mark.parametrize(
        ("address", "said"),
        [
            (
                "openml:77/length",
                "'length' is not a nominal column with at least two values; name a "
                "target with openml:77/TARGET: color, kind",
            ),
            ("openml:77/colour", "unknown column of openml:77 'colour'; did you mean 'color'?"),
            ("openml:78", "openml:78 is not on this machine"),
            ("openml:flowers", r"a task of openml must read openml:ID\[/TARGET\], got openml:flowers"),
        ],
    )
    def test_an_address_that_names_no_task(self, put: Put, address: str, said: str) -> None:
        put()
        with pytest.raises(RequestError, match=said):
            registry().find(DatasetInfo, address)

    def test_a_table_without_a_default_target_or_with_a_damaged_description(self, put: Put) -> None:
        put(target="")
        with pytest.raises(RequestError, match="OpenML names no default target"):
            registry().find(DatasetInfo, "openml:77")
        (put() / "description.xml").write_text("<a>", encoding="utf-8")
        with pytest.raises(RequestError, match=r"description\.xml is damaged \("):
            registry().find(DatasetInfo, "openml:77")

    @pytest.mark.parametrize(
        ("address", "md5", "said"),
        [
            ("openml:77", "0" * 32, r"dataset.arff is damaged \(md5 .*, OpenML has 0{32}\); remove it"),
            ("openml:77/color", "", "1 rows have no value of 'color'"),
        ],
    )
    def test_a_file_that_is_not_what_it_says(self, put: Put, tmp_path: Path, address: str, md5: str, said: str) -> None:
        put(md5=md5)
        with pytest.raises(RequestError, match=said):
            opened(address, here(tmp_path))

    def test_none_is_here(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PUBENCH_CACHE", str(tmp_path))
        found = availability_of(registry().find(DatasetInfo, "openml"), here(tmp_path))
        assert found.state == "absent"
        assert "no table of openml is here" in found.reason
