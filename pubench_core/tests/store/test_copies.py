"""A data set's files are converted once, and every run opens that copy, which says what it was made of."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from pubench_core.data import store
from pubench_core.data.copies import MANIFEST, Prepared, prepared, verify_copy
from pubench_core.data.dataset import ClassData, DataRoot
from pubench_core.data.store import open_dataset, remove_copies
from pubench_core.plugins.info import DatasetInfo

Open = Callable[..., Prepared]
Refused = Callable[..., str]


class TestCopy:
    def test_the_files_are_read_once_and_the_copy_is_opened_ever_after(
        self, opened: Open, reads: Callable[[], int]
    ) -> None:
        first, second = opened(), opened()
        assert reads() == 1
        assert first.folder == second.folder
        assert first.digest == second.digest
        assert len(first.digest) == 16

    def test_the_first_opening_is_mapped_like_every_other(self, opened: Open) -> None:
        for data in (opened().data, opened().data):
            for array in (data.x, data.y, data.x_test, data.y_test):
                assert isinstance(array, np.memmap)

    def test_it_holds_what_the_source_returned_and_uint8_stays(self, opened: Open, table: np.ndarray) -> None:
        data = opened().data
        assert (data.x.dtype, data.x_test.dtype, data.y.dtype) == (np.uint8, np.uint8, np.int64)
        assert np.array_equal(data.x, table[:40, :4])
        assert np.array_equal(data.y, table[:40, 4])
        assert np.array_equal(data.x_test, table[40:, :4])
        assert np.array_equal(data.y_test, table[40:, 4])
        assert (data.mean, data.std) == ((0.5,), (0.25,))

    def test_a_set_without_test_part_has_none(
        self, opened: Open, gray: ModuleType, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(
            gray.Gray, "read", lambda self, files, root: ClassData(np.ones((3, 2), np.float32), np.array([0, 1, 1]))
        )
        data = opened().data
        assert (data.x_test, data.y_test, data.mean, data.std) == (None, None, None, None)
        assert data.x.dtype == np.float32

    def test_whoever_writes_into_an_opened_array_changes_nobody_else_s(self, opened: Open) -> None:
        mine = opened()
        mine.data.x[:] = 0
        assert opened().data.x.any()
        assert verify_copy(mine.folder) == []

    def test_l2_is_another_copy_with_rows_of_length_1(
        self, opened: Open, rows: Path, table: np.ndarray, reads: Callable[[], int]
    ) -> None:
        table[3, :4] = 0
        rows.write_bytes(table.tobytes())
        plain, unit = opened(), opened(preprocess="l2")
        assert plain.folder != unit.folder
        assert plain.digest != unit.digest
        assert (plain.data.x.dtype, unit.data.x.dtype) == (np.uint8, np.float32)
        lengths = np.linalg.norm(unit.data.x, axis=1)
        assert lengths[3] == 0
        assert np.allclose(np.delete(lengths, 3), 1)
        assert np.allclose(np.linalg.norm(unit.data.x_test, axis=1), 1)
        expected = table[0, :4] / np.linalg.norm(table[0, :4].astype(float))
        assert np.allclose(unit.data.x[0], expected)
        assert isinstance(opened(preprocess="l2").data.x, np.memmap)
        assert reads() == 2

    def test_what_is_fitted_on_the_training_pool_shares_the_plain_copy(
        self, opened: Open, reads: Callable[[], int]
    ) -> None:
        assert opened().folder == opened(preprocess="standardize").folder
        assert reads() == 1

    def test_the_digest_is_of_the_content_and_not_of_its_place(
        self, opened: Open, info: DatasetInfo, root: DataRoot, tmp_path: Path, rows: Path
    ) -> None:
        shutil.copytree(root.path, tmp_path / "elsewhere")
        here, there = opened(), open_dataset(info, dataclasses.replace(root, path=tmp_path / "elsewhere"))
        assert here.folder != there.folder
        assert here.digest == there.digest
        remove_copies("gray", root.cache)
        content = rows.read_bytes()
        rows.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        assert opened().digest != here.digest

    def test_other_code_and_another_variant_have_copies_of_their_own(
        self, opened: Open, site: Path, gray: ModuleType, monkeypatch: pytest.MonkeyPatch, reads: Callable[[], int]
    ) -> None:
        first = opened().folder
        module = site / "acme_gray.py"
        code = module.read_text()
        module.write_text(code + "# an afterthought\n")
        second = opened().folder
        module.write_text(code)
        monkeypatch.setattr(gray.Gray, "variant", lambda self, root, files: "another encoder")
        third = opened().folder
        assert len({first, second, third}) == 3
        assert reads() == 3
        monkeypatch.undo()
        assert opened().folder == first
        assert reads() == 3

    def test_a_set_that_comes_with_its_package_is_read_every_time_and_has_no_copy(
        self, info: DatasetInfo, root: DataRoot, reads: Callable[[], int]
    ) -> None:
        packaged = dataclasses.replace(info, load="acme_gray:Packaged")
        for preprocess, length in (("none", None), ("l2", 1)):
            found = open_dataset(packaged, root, preprocess=preprocess)
            assert (found.digest, found.folder) == ("", None)
            assert not isinstance(found.data.x, np.memmap)
            assert length is None or np.allclose(np.linalg.norm(found.data.x, axis=1), length)
        assert reads() == 2
        assert not (root.cache / "prepared").exists()


class TestManifest:
    @pytest.fixture
    def manifest(self, opened: Open, root: DataRoot) -> dict[str, Any]:
        opened()
        ((_, found),) = prepared("gray", root.cache)
        return found

    def test_it_names_the_sources_with_size_time_and_sha256(
        self, manifest: dict[str, Any], rows: Path, sha256: Callable[[Path], str]
    ) -> None:
        assert manifest["sources"] == [
            {"path": str(rows), "bytes": 225, "mtime_ns": rows.stat().st_mtime_ns, "sha256": sha256(rows)}
        ]

    def test_it_names_the_arrays_with_type_shape_and_sha256(
        self, manifest: dict[str, Any], opened: Open, sha256: Callable[[Path], str]
    ) -> None:
        folder = opened().folder
        assert {n: (a["dtype"], a["shape"]) for n, a in manifest["arrays"].items()} == {
            "x": ("uint8", [40, 4]),
            "y": ("int64", [40]),
            "x_test": ("uint8", [5, 4]),
            "y_test": ("int64", [5]),
        }
        for name, entry in manifest["arrays"].items():
            path = folder / f"{name}.npy"
            assert (entry["bytes"], entry["mtime_ns"]) == (path.stat().st_size, path.stat().st_mtime_ns)
            assert entry["sha256"] == sha256(path)
        assert {p.name for p in folder.iterdir()} == {MANIFEST, *(f"{name}.npy" for name in manifest["arrays"])}

    def test_it_counts_the_classes_and_says_what_it_is(self, manifest: dict[str, Any], opened: Open) -> None:
        assert manifest["classes"] == {"y": [12, 24, 4], "y_test": [2, 3, 0]}
        assert (manifest["key"], manifest["preprocess"], manifest["layout"]) == ("gray", "none", store.LAYOUT)
        assert manifest["digest"] == opened().digest
        assert manifest["made_at"].endswith("Z")
        assert manifest["seconds"] >= 0

    @pytest.mark.parametrize("text", ["", '{"layout": 1', "[]", "{}", '{"layout": 1, "key": "gray"}'])
    def test_a_damaged_one_is_named_with_what_to_do(
        self, opened: Open, root: DataRoot, reads: Callable[[], int], refused: Refused, text: str
    ) -> None:
        path = opened().folder / MANIFEST
        path.write_text(text)
        for call in (opened, lambda: prepared("gray", root.cache)):
            line = refused(call)
            assert str(path) in line
            assert "pubench data remove gray" in line
        (found,) = verify_copy(path.parent)
        assert found == line
        assert remove_copies("gray", root.cache) > 0
        opened()
        assert reads() == 2

    def test_a_manifest_is_plain_json_that_others_can_read(self, opened: Open, table: np.ndarray) -> None:
        folder = opened().folder
        assert json.loads((folder / MANIFEST).read_text())["key"] == "gray"
        assert np.array_equal(np.load(folder / "x.npy"), table[:40, :4])
