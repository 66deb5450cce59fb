"""Species as tasks: what is P, U and test; the facts that studies choose by; what is wrong is one line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pubench_datasets_tabular.disdat.groups import GROUPS, MD5
from refusals import source

from pubench_cli.inventory import availability_of
from pubench_core.data.dataset import DataRoot, PNDataset, PUTasks, task_of
from pubench_core.data.source import source_of
from pubench_core.data.store import open_dataset
from pubench_core.errors import RequestError
from pubench_core.plugins.info import DatasetInfo
from pubench_core.plugins.registry import registry

Change = Callable[[str, Callable[[pd.DataFrame], pd.DataFrame]], None]
#: Rows of a background, and of a survey, in the small files; nsw14 has 15 records.
BACKGROUND, SITES = 40, 12


def opened(address: str, root: DataRoot) -> PNDataset:
    info = registry().find(DatasetInfo, address)
    data = open_dataset(source_of(info), root, preprocess=info.preprocess).data
    assert isinstance(data, PUTasks)
    return task_of(info, data)


class TestASpecies:
    def test_p_are_records_u_the_background_test_rows_the_survey_of_the_group(self, prepared: DataRoot) -> None:
        data = opened("disdat/nsw14", prepared)
        assert data.labeled is not None
        assert data.y_test is not None
        assert (int(data.labeled.sum()), len(data.rows)) == (15, 15 + BACKGROUND)
        assert data.y is None
        assert (len(data.y_test), int(data.y_test.sum())) == (SITES, SITES // 3)

    def test_features_are_variables_one_hot_categories_and_no_coordinates(self, prepared: DataRoot) -> None:
        """``rain``, three values of ``vegsys``, ``temp``: five features; x and y would be 150 and -30."""
        data = opened("disdat/nsw14", prepared)
        assert data.x.shape[1] == 5
        assert set(np.unique(data.x[:, 1:4])) == {0, 1}
        np.testing.assert_array_equal(data.x[:, 1:4].sum(axis=1), 1)
        assert not ((data.x == 150).all(axis=0) | (data.x == -30).all(axis=0)).any()

    def test_species_of_a_group_share_one_copy(self, prepared: DataRoot) -> None:
        folders = {
            open_dataset(source(f"disdat/{name}"), prepared, preprocess="standardize").folder
            for name in ("nsw08", "nsw14", "nsw15")
        }
        assert len(folders) == 1
        assert open_dataset(source("disdat/nsw16"), prepared, preprocess="standardize").folder not in folders

    def test_a_target_group_background_is_the_records_of_the_group(self, prepared: DataRoot) -> None:
        """Species 8 to 15 of NSW are one group, with 9 to 16 records."""
        data = opened("disdat-target-group/nsw14", prepared)
        assert data.labeled is not None
        assert (int(data.labeled.sum()), len(data.rows)) == (15, 15 + sum(range(9, 17)))

    def test_its_card_says_region_group_and_terms(self) -> None:
        info = registry().find(DatasetInfo, "disdat/nsw14")
        assert (info.address, info.labels) == ("disdat/nsw14", "two-sample")
        assert info.summary.startswith("species nsw14 of region NSW, group db")
        assert "GPL" in info.license
        assert "2020" in str(info.reference)


class TestTheWhole:
    def test_the_whole_is_prepared_when_every_group_is_and_lists_what_studies_choose_by(self, root: DataRoot) -> None:
        info = registry().find(DatasetInfo, "disdat")
        assert availability_of(info, root).state == "files"
        tasks = {task.name: dict(task.facts) for task in source("disdat").tasks(root)}
        assert len(tasks) == 226
        counts = {"presences": 15, "sites": SITES, "present": SITES // 3}
        assert tasks["nsw14"] == {"region": "nsw", "group": "db", **counts}
        here = availability_of(info, root)
        assert (here.state, len(here.copies), len(here.files)) == ("prepared", len(GROUPS), 40)

    def test_every_file_has_a_published_checksum(self) -> None:
        assert set(MD5) == {name for group in GROUPS for name in group.files}


class TestWhatIsWrong:
    @pytest.mark.parametrize("name", ["nsw55", "nsw", "kiwi01"])
    def test_an_unknown_species(self, name: str) -> None:
        with pytest.raises(RequestError, match=f"unknown species of disdat '{name}'"):
            registry().find(DatasetInfo, f"disdat/{name}")

    def test_a_missing_file(self, root: DataRoot) -> None:
        (root.path / "disdat" / "SAtest_pa.rds").unlink()
        with pytest.raises(RequestError, match=r"disdat: no SAtest_pa\.rds in .*; get them from the R package disdat"):
            source("disdat/sa01").locate(root)
        assert len(source("disdat/nz01").locate(root)) == 4

    def test_a_species_without_a_record_or_a_presence(self, root: DataRoot, change: Change) -> None:
        change("SAtrain_po.rds", lambda frame: frame[frame["spid"] != "sa02"])
        change("SAtest_pa.rds", lambda frame: frame.assign(sa03=0))
        with pytest.raises(RequestError, match=r"disdat/sa02 has no labeled positive, so nothing"):
            opened("disdat/sa02", root)
        assert opened("disdat/sa01", root).y is None
        with pytest.raises(RequestError, match=r"disdat/sa03 has no positive among its 12 test rows"):
            opened("disdat/sa03", root)

    @pytest.mark.parametrize(
        ("file", "function", "said"),
        [
            (
                "SAtrain_bg.rds",
                lambda frame: frame.drop(columns="temp"),
                r"SAtrain_bg\.rds is damaged \(.*'temp'",
            ),
            ("SAtest_pa.rds", lambda frame: frame[:-1], r"SAtest_pa\.rds is damaged \(11 sites, and SAtest_env"),
            ("SAtest_pa.rds", lambda frame: frame.assign(sa07=2), "a value other than 0 and 1"),
            ("SAtest_env.rds", None, r"SAtest_env\.rds is damaged"),
            ("SAtrain_po.rds", lambda frame: frame.assign(temp=np.nan), r"SAtrain_po\.rds .* not a finite number"),
        ],
    )
    def test_content_of_another_kind(
        self,
        root: DataRoot,
        change: Change,
        file: str,
        function: Callable[[pd.DataFrame], pd.DataFrame] | None,
        said: str,
    ) -> None:
        if function is None:
            (root.path / "disdat" / file).write_bytes(b"siteid,x,y\n")
        else:
            change(file, function)
        with pytest.raises(RequestError, match=said):
            opened("disdat/sa01", root)


class TestFetch:
    def test_files_come_with_their_published_checksums(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        asked: dict[str, str] = {}

        def retrieve(url: str, known_hash: str, fname: str, path: Path) -> None:
            asked[fname] = known_hash
            path.mkdir(parents=True, exist_ok=True)
            (path / fname).touch()

        monkeypatch.setattr("pooch.retrieve", retrieve)
        root = DataRoot(tmp_path, "a test", cache=tmp_path / "cache")
        source("disdat").fetch(root)
        assert asked == {name: f"md5:{md5}" for name, md5 in MD5.items()}
        assert len(source("disdat").locate(root)) == 40
