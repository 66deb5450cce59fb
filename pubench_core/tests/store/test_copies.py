"""A data set's files are converted once, and every run opens that copy, which says what it was made of."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gray_data import GrayData, sha256
from refusals import refusal

from pubench_cli.copies import copies_of, remove_copies, verify_copy
from pubench_core.data import store
from pubench_core.data.cache import MANIFEST
from pubench_core.data.dataset import ClassData
from pubench_core.data.source import DataSource, source_of
from pubench_core.data.store import digest_now, located, open_dataset
from pubench_core.errors import Hint

Digest = Callable[..., str]


class TestDigest:
    """What a request is compared by, without opening arrays."""

    def test_it_is_that_of_the_copy_which_is_made_where_there_is_none(
        self, gray: GrayData, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        source = source_of(gray.info)
        found = [digest_now(source, located(source, gray.root), gray.root, preprocess="l2")]
        assert gray.reads() == 1
        with monkeypatch.context() as patch:
            patch.setattr(store, "open_copy", None)
            found.append(digest_now(source, located(source, gray.root), gray.root, preprocess="l2"))
        found.append(gray.opened(preprocess="l2").digest)
        assert len(set(found)) == 1
        assert gray.reads() == 1

    def test_a_source_that_was_altered_is_refused(self, gray: GrayData) -> None:
        source = source_of(gray.info)
        digest_now(source, located(source, gray.root), gray.root)
        gray.rows.write_bytes(gray.rows.read_bytes()[::-1])
        assert "was altered since it was prepared" in refusal(lambda: digest_now(source, (gray.rows,), gray.root))


class TestCopy:
    def test_it_holds_what_the_source_returned_mapped_from_the_first_opening_on(self, gray: GrayData) -> None:
        first, second = gray.opened(), gray.opened()
        assert gray.reads() == 1
        assert (first.folder, first.digest) == (second.folder, second.digest)
        assert len(first.digest) == 16
        for data in (first.data, second.data):
            assert all(isinstance(array, np.memmap) for array in (data.x, data.y, data.x_test, data.y_test))
            assert (data.x.dtype, data.x_test.dtype, data.y.dtype) == (np.uint8, np.uint8, np.int64)
            assert np.array_equal(data.x, gray.table[:40, :4])
            assert np.array_equal(data.y, gray.table[:40, 4])
            assert np.array_equal(data.x_test, gray.table[40:, :4])
            assert np.array_equal(data.y_test, gray.table[40:, 4])
            assert (data.mean, data.std) == ((0.5,), (0.25,))

    def test_a_set_without_test_part_has_none(self, gray: GrayData, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(
            gray.module.Gray,
            "read",
            lambda self, files, root: ClassData(np.ones((3, 2), np.float32), np.array([0, 1, 1])),
        )
        data = gray.opened().data
        assert (data.x_test, data.y_test, data.mean, data.std) == (None, None, None, None)
        assert data.x.dtype == np.float32

    def test_whoever_writes_into_an_opened_array_changes_nobody_else_s(self, gray: GrayData) -> None:
        mine = gray.opened()
        mine.data.x[:] = 0
        assert gray.opened().data.x.any()
        assert verify_copy(mine.folder) == []

    def test_l2_is_another_copy_with_rows_of_length_1(self, gray: GrayData) -> None:
        gray.table[3, :4] = 0
        gray.rows.write_bytes(gray.table.tobytes())
        plain, unit = gray.opened(), gray.opened(preprocess="l2")
        assert plain.folder != unit.folder
        assert plain.digest != unit.digest
        assert (plain.data.x.dtype, unit.data.x.dtype) == (np.uint8, np.float32)
        lengths = np.linalg.norm(unit.data.x, axis=1)
        assert lengths[3] == 0
        assert np.allclose(np.delete(lengths, 3), 1)
        assert np.allclose(np.linalg.norm(unit.data.x_test, axis=1), 1)
        expected = gray.table[0, :4] / np.linalg.norm(gray.table[0, :4].astype(float))
        assert np.allclose(unit.data.x[0], expected)
        assert isinstance(gray.opened(preprocess="l2").data.x, np.memmap)
        assert gray.reads() == 2

    def test_what_is_fitted_on_the_training_pool_shares_the_plain_copy(self, gray: GrayData) -> None:
        assert gray.opened().folder == gray.opened(preprocess="standardize").folder
        assert gray.reads() == 1

    def test_the_digest_is_of_the_content_and_not_of_its_place(self, gray: GrayData, tmp_path: Path) -> None:
        shutil.copytree(gray.root.path, tmp_path / "elsewhere")
        here, there = (
            gray.opened(),
            open_dataset(source_of(gray.info), dataclasses.replace(gray.root, path=tmp_path / "elsewhere")),
        )
        assert here.folder != there.folder
        assert here.digest == there.digest
        remove_copies("gray", gray.root.cache)
        content = gray.rows.read_bytes()
        gray.rows.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        assert gray.opened().digest != here.digest

    def test_another_variant_has_a_copy_of_its_own(self, gray: GrayData, monkeypatch: pytest.MonkeyPatch) -> None:
        first = gray.opened().folder
        monkeypatch.setattr(gray.module.Gray, "variant", lambda self, root, files: "another encoder")
        assert gray.opened().folder != first
        assert gray.reads() == 2
        monkeypatch.undo()
        assert gray.opened().folder == first
        assert gray.reads() == 2


class TestCode:
    """A copy answers for the code that read the files, whatever was written about it. Each process hashes code once."""

    @pytest.fixture
    def folder_with(self, site: Path, printed: Callable[[str], str]) -> Iterator[Callable[[str], str]]:
        """``folder_with(code)``: the copy that a new process opens where the plugin's module is this text."""
        module = site / "acme_gray.py"
        before = module.read_text()

        def folder(code: str) -> str:
            module.write_text(code)
            return printed("print(store.open_dataset(source_of(INFO), root).folder)").strip()

        yield folder
        module.write_text(before)

    @pytest.mark.parametrize(
        ("made_again", "old", "new"),
        [
            (False, "class Gray(DataSource):\n", 'class Gray(DataSource):\n    """Rows of four gray values."""\n\n'),
            (True, "return (folder / ", "assert folder\n        return (folder / "),
        ],
        ids=["docstring", "statement"],
    )
    def test_it_is_made_again_where_code_changed_not_words_and_the_old_one_is_kept(
        self, folder_with: Callable[[str], str], site: Path, gray: GrayData, made_again: bool, old: str, new: str
    ) -> None:
        code = (site / "acme_gray.py").read_text()
        assert code.count(old) == 1
        first = folder_with(code)
        assert (folder_with(code.replace(old, new)) != first) == made_again
        assert folder_with(code) == first
        assert gray.reads() == 1 + made_again


X = np.arange(24, dtype=np.float32).reshape(6, 4)
Y = np.array([0, 1, 2, 0, 1, 2])
BASE = ClassData(X, Y, X[:2], Y[:2], mean=(0.5,), std=(0.25,))


class TestPackaged:
    """A data set that comes with its package."""

    @pytest.fixture
    def packaged(self, gray: GrayData) -> DataSource:
        return source_of(dataclasses.replace(gray.info, load="acme_gray:Packaged"))

    @pytest.fixture
    def digest_of(self, packaged: DataSource, gray: GrayData, monkeypatch: pytest.MonkeyPatch) -> Digest:
        """``digest_of(data)``: the digest of a packaged set that holds these data."""

        def digest(data: ClassData, **more: Any) -> str:
            monkeypatch.setattr(type(packaged), "read", lambda self, files, root: data)
            return open_dataset(packaged, gray.root, **more).digest

        return digest

    def test_it_is_read_once_per_process_and_preprocessing_and_has_no_copy(
        self, packaged: DataSource, gray: GrayData
    ) -> None:
        for _ in range(3):
            for preprocess, length in (("none", None), ("l2", 1)):
                found = open_dataset(packaged, gray.root, preprocess=preprocess)
                assert found.folder is None
                assert not isinstance(found.data.x, np.memmap)
                assert length is None or np.allclose(np.linalg.norm(found.data.x, axis=1), length)
        assert gray.reads() == 2
        assert not (gray.root.cache / "prepared").exists()

    def test_what_one_run_does_to_its_arrays_reaches_no_other(self, packaged: DataSource, gray: GrayData) -> None:
        first = open_dataset(packaged, gray.root)
        before = {name: array.copy() for name, array in first.data.arrays().items()}
        for array in first.data.arrays().values():
            array[:] = 1
        second = open_dataset(packaged, gray.root)
        for name, array in second.data.arrays().items():
            assert np.array_equal(array, before[name])
            assert array.flags.writeable
        assert second.digest == first.digest == digest_now(packaged, (), gray.root)

    def test_it_is_read_again_where_its_code_is_loaded_anew(self, packaged: DataSource, gray: GrayData) -> None:
        open_dataset(packaged, gray.root)
        assert gray.module.__spec__ is not None
        again = importlib.util.module_from_spec(gray.module.__spec__)
        assert gray.module.__spec__.loader is not None
        gray.module.__spec__.loader.exec_module(again)
        open_dataset(again.Packaged(packaged.info), gray.root)
        assert gray.reads() == 2

    def test_its_digest_is_that_of_a_copy_of_the_same_data(self, packaged: DataSource, gray: GrayData) -> None:
        for preprocess in ("none", "l2"):
            digest = open_dataset(packaged, gray.root, preprocess=preprocess).digest
            assert len(digest) == 16
            assert digest == gray.opened(preprocess=preprocess).digest

    @pytest.mark.parametrize(
        "change",
        [
            {"x": X + np.float32(1e-6)},
            {"x": X[::-1]},
            {"x": X.reshape(6, 2, 2), "x_test": X[:2].reshape(2, 2, 2)},
            {"x": X.astype(np.uint8), "x_test": X[:2].astype(np.uint8)},
            {"y": Y[::-1]},
            {"y": Y.astype(np.int8)},
            {"x_test": X[1:3]},
            {"y_test": Y[1:3]},
            {"x_test": None, "y_test": None},
            {"mean": (0.5000001,)},
            {"std": (0.2500001,)},
            {"mean": None},
            {"std": None},
            {"mean": None, "std": None},
            {"mean": (0.25,), "std": (0.5,)},
            {"mean": (0.5, 0.5)},
        ],
        ids=lambda change: ", ".join(change),
    )
    def test_its_digest_changes_with_every_array_mean_and_deviation(
        self, digest_of: Digest, change: dict[str, Any]
    ) -> None:
        assert digest_of(dataclasses.replace(BASE, **change)) != digest_of(BASE)

    def test_its_digest_changes_with_nothing_else(
        self, digest_of: Digest, gray: GrayData, packaged: DataSource
    ) -> None:
        first = digest_of(BASE)
        wide = np.zeros((6, 8), np.float32)
        wide[:, ::2] = X
        assert digest_of(ClassData(X.copy(), Y.copy(), X[:2], Y[:2], mean=BASE.mean, std=BASE.std)) == first
        assert digest_of(dataclasses.replace(BASE, x=wide[:, ::2])) == first
        assert digest_of(dataclasses.replace(BASE, mean=[np.float64(0.5)], std=np.array([0.25]))) == first
        assert digest_of(BASE, preprocess="standardize") == first
        renamed = dataclasses.replace(packaged.info, key="other", name="Other", summary="others")
        elsewhere = dataclasses.replace(
            gray.root, path=gray.root.path / "elsewhere", cache=gray.root.cache / "elsewhere"
        )
        assert open_dataset(source_of(renamed), elsewhere).digest == first


class TestManifest:
    def test_it_names_sources_and_arrays_with_size_time_and_sha256_and_counts_classes(self, gray: GrayData) -> None:
        opened = gray.opened()
        manifest = json.loads((opened.folder / MANIFEST).read_text())
        assert manifest["arrays"].keys() == {"x", "y", "x_test", "y_test"}
        arrays = [(opened.folder / f"{name}.npy", entry) for name, entry in manifest["arrays"].items()]
        (source,) = manifest["sources"]
        assert source["path"] == str(gray.rows)
        for path, entry in [(gray.rows, source), *arrays]:
            assert (entry["bytes"], entry["mtime_ns"]) == (path.stat().st_size, path.stat().st_mtime_ns)
            assert entry["sha256"] == sha256(path)
        assert {p.name for p in opened.folder.iterdir()} == {MANIFEST, *(path.name for path, _ in arrays)}
        assert manifest["classes"] == {"y": [12, 24, 4], "y_test": [2, 3, 0]}
        assert (manifest["key"], manifest["digest"]) == ("gray", opened.digest)
        assert manifest["made_at"].endswith("Z")

    @pytest.mark.parametrize("text", ["", '{"layout": 1', "[]", "{}", '{"layout": 1, "key": "gray"}'])
    def test_a_damaged_one_is_named_with_what_to_do(self, gray: GrayData, text: str) -> None:
        path = gray.opened().folder / MANIFEST
        path.write_text(text)
        for call in (gray.opened, lambda: copies_of("gray", gray.root.cache)):
            line = refusal(call)
            assert str(path) in line
            assert "remove it to make room for a new copy" in line
        (found,) = verify_copy(path.parent)
        assert str(found) == line
        assert found.hint == Hint("prepare again", "gray")
        assert remove_copies("gray", gray.root.cache) > 0
        gray.opened()
        assert gray.reads() == 2
