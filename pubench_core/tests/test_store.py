"""A data set's files are converted once; every run opens that copy, checked, mapped and shared, or is told why not."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import gzip
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from pubench_core.data import copies, store
from pubench_core.data.copies import MANIFEST, Prepared, folders_of_copies, prepared, verify_copy
from pubench_core.data.dataset import ClassData, DataRoot
from pubench_core.data.inventory import look
from pubench_core.data.store import open_dataset, remove_copies, source_of
from pubench_core.errors import PluginError, RequestError
from pubench_core.info import DatasetInfo

#: A distribution's module, as a plugin's author would write it. A row of ``rows.bin`` is four grey values and a class;
#: the last five rows are the test part. Every reading leaves a line in ``<root>/reads``.
GREY = """
import os
import time

import numpy as np

from pubench_core.data.dataset import ClassData
from pubench_core.data.source import DataSource
from pubench_core.info import DatasetInfo


class Grey(DataSource):
    def locate(self, root):
        folder = root.path / self.info.key
        if not (folder / "rows.bin").is_file():
            raise root.missing(self.info, ["rows.bin"], [folder])
        return (folder / "rows.bin",)

    def read(self, files, root):
        with (root.path / "reads").open("a") as log:
            print(os.getpid(), file=log)
        time.sleep(float(os.environ.get("SECONDS_TO_READ", 0)))
        table = np.frombuffer(files[0].read_bytes(), np.uint8).reshape(-1, 5)
        x, y = table[:, :4], table[:, 4].astype(np.int64)
        return ClassData(x=x[:-5], y=y[:-5], x_test=x[-5:], y_test=y[-5:], mean=(0.5,), std=(0.25,))


class Packaged(Grey):
    def locate(self, root):
        return ()

    def read(self, files, root):
        return super().read((root.path / "grey" / "rows.bin",), root)


INFO = DatasetInfo(
    key="grey",
    name="Grey",
    summary="rows of four grey values",
    load="acme_grey:Grey",
    modality="tabular",
    classes=("no", "yes", "neither"),
    positive=(1,),
    negative=(0,),
    backbone="mlp",
    source="the shelf",
)
"""

Open = Callable[..., Prepared]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    (folder / "acme_grey.py").write_text(GREY)
    return folder


@pytest.fixture(scope="module")
def grey(site: Path) -> Iterator[ModuleType]:
    sys.path.insert(0, str(site))
    import acme_grey

    yield acme_grey
    sys.path.remove(str(site))
    del sys.modules["acme_grey"]


@pytest.fixture
def info(grey: ModuleType) -> DatasetInfo:
    found = grey.INFO
    assert isinstance(found, DatasetInfo)
    return found


@pytest.fixture
def root(tmp_path: Path) -> DataRoot:
    (tmp_path / "data" / "grey").mkdir(parents=True)
    found = DataRoot(tmp_path / "data", "a test", cache=tmp_path / "cache")
    rows_of(found).write_bytes(table().tobytes())
    return found


@pytest.fixture
def opened(info: DatasetInfo, root: DataRoot) -> Open:
    return lambda **more: open_dataset(info, root, **more)


def table() -> np.ndarray:
    """45 rows: 12 of class 0, 24 of class 1, 4 of class 2; the last five are 0 0 1 1 1."""
    x = np.random.default_rng(0).integers(0, 256, (45, 4), dtype=np.uint8)
    y = np.array([0] * 12 + [1] * 24 + [2] * 4 + [0, 0, 1, 1, 1], dtype=np.uint8)
    return np.column_stack([x, y])


def rows_of(root: DataRoot) -> Path:
    return root.path / "grey" / "rows.bin"


def reads(root: DataRoot) -> int:
    log = root.path / "reads"
    return len(log.read_text().splitlines()) if log.exists() else 0


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def flipped(path: Path, *, keep_time: bool) -> None:
    """Another last byte; the size is as it was, the time only if asked."""
    stat, content = path.stat(), path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns if keep_time else stat.st_mtime_ns + 1))


def later(path: Path) -> None:
    stat = path.stat()
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns + 10**9))


def refused(call: Callable[[], Any], error: type[Exception] = RequestError) -> str:
    with pytest.raises(error) as caught:
        call()
    return str(caught.value)


def left_in(cache: Path) -> list[str]:
    """What is under the folder of copies, lock files aside."""
    base = cache / "prepared"
    return sorted(str(p.relative_to(base)) for p in base.rglob("*") if p.suffix != ".lock" and p.is_file())


class TestCopy:
    def test_the_files_are_read_once_and_the_copy_is_opened_ever_after(self, opened: Open, root: DataRoot) -> None:
        first, second = opened(), opened()
        assert reads(root) == 1
        assert first.folder == second.folder
        assert first.digest == second.digest
        assert len(first.digest) == 16

    def test_the_first_opening_is_mapped_like_every_other(self, opened: Open) -> None:
        for data in (opened().data, opened().data):
            for array in (data.x, data.y, data.x_test, data.y_test):
                assert isinstance(array, np.memmap)

    def test_it_holds_what_the_source_returned_and_uint8_stays(self, opened: Open) -> None:
        data, rows = opened().data, table()
        assert (data.x.dtype, data.x_test.dtype, data.y.dtype) == (np.uint8, np.uint8, np.int64)
        assert np.array_equal(data.x, rows[:40, :4])
        assert np.array_equal(data.y, rows[:40, 4])
        assert np.array_equal(data.x_test, rows[40:, :4])
        assert np.array_equal(data.y_test, rows[40:, 4])
        assert (data.mean, data.std) == ((0.5,), (0.25,))

    def test_a_set_without_test_part_has_none(
        self, opened: Open, grey: ModuleType, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(
            grey.Grey, "read", lambda self, files, root: ClassData(np.ones((3, 2), np.float32), np.array([0, 1, 1]))
        )
        data = opened().data
        assert (data.x_test, data.y_test, data.mean, data.std) == (None, None, None, None)
        assert data.x.dtype == np.float32

    def test_whoever_writes_into_an_opened_array_changes_nobody_else_s(self, opened: Open) -> None:
        mine = opened()
        mine.data.x[:] = 0
        assert opened().data.x.any()
        assert verify_copy(mine.folder) == []

    def test_l2_is_another_copy_with_rows_of_length_1(self, opened: Open, root: DataRoot) -> None:
        content = table()
        content[3, :4] = 0
        rows_of(root).write_bytes(content.tobytes())
        plain, unit = opened(), opened(preprocess="l2")
        assert plain.folder != unit.folder
        assert plain.digest != unit.digest
        assert (plain.data.x.dtype, unit.data.x.dtype) == (np.uint8, np.float32)
        lengths = np.linalg.norm(unit.data.x, axis=1)
        assert lengths[3] == 0
        assert np.allclose(np.delete(lengths, 3), 1)
        assert np.allclose(np.linalg.norm(unit.data.x_test, axis=1), 1)
        expected = content[0, :4] / np.linalg.norm(content[0, :4].astype(float))
        assert np.allclose(unit.data.x[0], expected)
        assert isinstance(opened(preprocess="l2").data.x, np.memmap)
        assert reads(root) == 2

    def test_what_is_fitted_on_the_training_pool_shares_the_plain_copy(self, opened: Open, root: DataRoot) -> None:
        assert opened().folder == opened(preprocess="standardise").folder
        assert reads(root) == 1

    def test_the_digest_is_of_the_content_and_not_of_its_place(
        self, opened: Open, info: DatasetInfo, root: DataRoot, tmp_path: Path
    ) -> None:
        shutil.copytree(root.path, tmp_path / "elsewhere")
        here, there = opened(), open_dataset(info, dataclasses.replace(root, path=tmp_path / "elsewhere"))
        assert here.folder != there.folder
        assert here.digest == there.digest
        remove_copies("grey", root.cache)
        flipped(rows_of(root), keep_time=False)
        assert opened().digest != here.digest

    def test_other_code_and_another_variant_have_copies_of_their_own(
        self, opened: Open, root: DataRoot, site: Path, grey: ModuleType, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first = opened().folder
        (site / "acme_grey.py").write_text(GREY + "# an afterthought\n")
        second = opened().folder
        (site / "acme_grey.py").write_text(GREY)
        monkeypatch.setattr(grey.Grey, "variant", lambda self, root, files: "another encoder")
        third = opened().folder
        assert len({first, second, third}) == 3
        assert reads(root) == 3
        monkeypatch.undo()
        assert opened().folder == first
        assert reads(root) == 3

    def test_a_set_that_comes_with_its_package_is_read_every_time_and_has_no_copy(
        self, info: DatasetInfo, root: DataRoot
    ) -> None:
        packaged = dataclasses.replace(info, load="acme_grey:Packaged")
        for preprocess, length in (("none", None), ("l2", 1)):
            found = open_dataset(packaged, root, preprocess=preprocess)
            assert (found.digest, found.folder) == ("", None)
            assert not isinstance(found.data.x, np.memmap)
            assert length is None or np.allclose(np.linalg.norm(found.data.x, axis=1), length)
        assert reads(root) == 2
        assert not (root.cache / "prepared").exists()


class TestManifest:
    @pytest.fixture
    def manifest(self, opened: Open, root: DataRoot) -> dict[str, Any]:
        opened()
        ((_, found),) = prepared("grey", root.cache)
        return found

    def test_it_names_the_sources_with_size_time_and_sha256(self, manifest: dict[str, Any], root: DataRoot) -> None:
        path = rows_of(root)
        assert manifest["sources"] == [
            {"path": str(path), "bytes": 225, "mtime_ns": path.stat().st_mtime_ns, "sha256": sha256(path)}
        ]

    def test_it_names_the_arrays_with_type_shape_and_sha256(self, manifest: dict[str, Any], opened: Open) -> None:
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
        assert (manifest["key"], manifest["preprocess"], manifest["layout"]) == ("grey", "none", store.LAYOUT)
        assert manifest["digest"] == opened().digest
        assert manifest["made_at"].endswith("Z")
        assert manifest["seconds"] >= 0

    @pytest.mark.parametrize("text", ["", '{"layout": 1', "[]", "{}", '{"layout": 1, "key": "grey"}'])
    def test_a_damaged_one_is_named_with_what_to_do(self, opened: Open, root: DataRoot, text: str) -> None:
        path = opened().folder / MANIFEST
        path.write_text(text)
        for call in (opened, lambda: prepared("grey", root.cache)):
            line = refused(call)
            assert str(path) in line
            assert "pubench data remove grey" in line
        (found,) = verify_copy(path.parent)
        assert found == line
        assert remove_copies("grey", root.cache) > 0
        opened()
        assert reads(root) == 2


class TestCheckedOnEveryOpen:
    @pytest.fixture
    def hashed(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """Names of the files that were read in full."""
        names: list[str] = []

        def noting(path: Path) -> str:
            names.append(path.name)
            return sha256(path)

        monkeypatch.setattr(copies, "sha256_of", noting)
        monkeypatch.setattr(store, "sha256_of", noting)
        return names

    def test_nothing_is_read_where_sizes_and_times_are_as_they_were(self, opened: Open, hashed: list[str]) -> None:
        opened()
        assert hashed == ["rows.bin", "x.npy", "y.npy", "x_test.npy", "y_test.npy"]
        hashed.clear()
        opened()
        assert hashed == []

    def test_so_a_change_that_keeps_size_and_time_is_found_by_verify_alone(self, opened: Open, root: DataRoot) -> None:
        folder = opened().folder
        flipped(folder / "x.npy", keep_time=True)
        flipped(rows_of(root), keep_time=True)
        opened()
        source, array = verify_copy(folder)
        assert source.startswith(f"{rows_of(root)} is not what it was: sha256 {sha256(rows_of(root))[:16]} now, ")
        assert source.endswith("put the original back, or take it as it is: pubench data remove grey")
        assert array.startswith(f"{folder / 'x.npy'} is not what it was: sha256 ")
        assert array.endswith("have the copy made again: pubench data remove grey")

    @pytest.mark.parametrize("name", ["rows.bin", "x.npy", "y_test.npy"])
    def test_a_file_whose_time_alone_changed_is_read_once_and_noted(
        self, opened: Open, root: DataRoot, hashed: list[str], name: str
    ) -> None:
        folder = opened().folder
        later(rows_of(root) if name == "rows.bin" else folder / name)
        before = sorted(p.name for p in folder.iterdir())
        hashed.clear()
        opened()
        assert hashed == [name]
        opened()
        assert hashed == [name]
        assert verify_copy(folder) == []
        assert sorted(p.name for p in folder.iterdir()) == before
        assert reads(root) == 1

    @pytest.mark.parametrize(
        ("spoil", "words"),
        [
            (lambda path: path.write_bytes(path.read_bytes()[:-1]), "bytes, "),
            (lambda path: path.write_bytes(path.read_bytes() + b"0"), "bytes, "),
            (lambda path: flipped(path, keep_time=False), "was altered since it was prepared (its sha256 differs)"),
            (lambda path: path.unlink(), "cannot be read: No such file or directory"),
        ],
        ids=["cut", "grown", "altered", "gone"],
    )
    @pytest.mark.parametrize("name", ["x.npy", "y.npy"])
    def test_an_array_that_is_not_what_it_was_is_named_and_refused(
        self, opened: Open, name: str, spoil: Callable[[Path], None], words: str
    ) -> None:
        path = opened().folder / name
        spoil(path)
        line = refused(opened)
        assert line.startswith(f"{path} ")
        assert words in line
        assert line.endswith("have the copy made again: pubench data remove grey")
        assert len(verify_copy(path.parent)) == 1

    def test_the_sizes_then_and_now_are_said(self, opened: Open, root: DataRoot) -> None:
        opened()
        rows_of(root).write_bytes(table().tobytes()[:-5])
        line = refused(opened)
        assert line.startswith(f"{rows_of(root)} has 220 bytes, 225 when it was prepared; ")

    def test_an_altered_source_is_refused_until_it_is_put_back_or_the_copy_removed(
        self, opened: Open, root: DataRoot
    ) -> None:
        before, content = opened(), rows_of(root).read_bytes()
        flipped(rows_of(root), keep_time=False)
        line = refused(opened)
        assert line.startswith(f"{rows_of(root)} was altered since it was prepared")
        assert line.endswith("put the original back, or take it as it is: pubench data remove grey")

        rows_of(root).write_bytes(content)
        assert opened().digest == before.digest

        flipped(rows_of(root), keep_time=False)
        remove_copies("grey", root.cache)
        assert opened().digest != before.digest
        assert reads(root) == 2

    def test_a_source_that_is_gone_is_asked_for_as_if_it_had_never_been_there(
        self, opened: Open, root: DataRoot
    ) -> None:
        folder = opened().folder
        rows_of(root).unlink()
        line = refused(opened)
        assert line.startswith(f"grey: no rows.bin in {root.path / 'grey'} (data root from a test)")
        assert verify_copy(folder)[0].startswith(f"{rows_of(root)} cannot be read: No such file or directory; ")


class TestVerify:
    def test_a_sound_copy_has_nothing_wrong(self, opened: Open) -> None:
        assert verify_copy(opened().folder) == []

    def test_everything_that_is_wrong_is_said(self, opened: Open) -> None:
        folder = opened().folder
        flipped(folder / "x.npy", keep_time=True)
        (folder / "y.npy").unlink()
        first, second = verify_copy(folder)
        assert first.startswith(f"{folder / 'x.npy'} is not what it was")
        assert second.startswith(f"{folder / 'y.npy'} cannot be read")

    def test_a_copy_that_was_removed_in_the_meantime_is_none(self, opened: Open, root: DataRoot) -> None:
        folder = opened().folder
        remove_copies("grey", root.cache)
        assert verify_copy(folder) == []


class TestRemove:
    def test_it_frees_every_copy_and_leaves_the_sources(self, opened: Open, root: DataRoot) -> None:
        folders = [opened().folder, opened(preprocess="l2").folder]
        size = sum(f.stat().st_size for folder in folders for f in folder.iterdir())
        assert folders_of_copies("grey", root.cache) == sorted(folders)
        assert remove_copies("grey", root.cache) == size
        assert left_in(root.cache) == []
        assert folders_of_copies(None, root.cache) == []
        assert rows_of(root).read_bytes() == table().tobytes()

    def test_of_nothing_it_frees_nothing(self, root: DataRoot) -> None:
        assert remove_copies("grey", root.cache) == 0
        assert not (root.cache / "prepared").exists()

    def test_other_sets_stay(self, opened: Open, info: DatasetInfo, root: DataRoot) -> None:
        opened()
        shutil.copytree(root.path / "grey", root.path / "other")
        other = open_dataset(dataclasses.replace(info, key="other"), root).folder
        remove_copies("grey", root.cache)
        assert folders_of_copies(None, root.cache) == [other]

    def test_what_is_open_stays_readable(self, opened: Open, root: DataRoot) -> None:
        data = opened().data
        remove_copies("grey", root.cache)
        assert np.array_equal(data.x, table()[:40, :4])

    def test_one_that_was_interrupted_leaves_no_copy_and_the_next_run_makes_it(
        self, opened: Open, root: DataRoot, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = opened().folder

        def interrupted(path: Path) -> None:
            (path / "x.npy").unlink()
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(store.shutil, "rmtree", interrupted)
            with pytest.raises(KeyboardInterrupt):
                remove_copies("grey", root.cache)
        assert (folder / "y.npy").exists()
        assert prepared("grey", root.cache) == []
        assert opened().folder == folder
        assert verify_copy(folder) == []

    def test_what_cannot_be_removed_is_one_line(
        self, opened: Open, root: DataRoot, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        opened()
        monkeypatch.setattr(Path, "unlink", failing(errno.EROFS))
        line = refused(lambda: remove_copies("grey", root.cache))
        assert line.startswith(f"grey: {root.cache / 'prepared' / 'grey'} could not be removed: Read-only file system")


def failing(code: int) -> Callable[..., Any]:
    def call(*arguments: Any, **more: Any) -> Any:
        raise OSError(code, os.strerror(code))

    return call


class TestDisk:
    """What the file system refuses is one line, and nothing half-made stays."""

    @pytest.mark.skipif(sys.platform == "win32", reason="no limit of file sizes")
    def test_an_array_that_does_not_fit(self, opened: Open, root: DataRoot) -> None:
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        rows_of(root).write_bytes(np.tile(table(), (4000, 1)).tobytes())
        resource.setrlimit(resource.RLIMIT_FSIZE, (2**19, hard))  # x has 720,000 bytes
        try:
            line = refused(opened)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        base = root.cache / "prepared" / "grey"
        assert line == (
            f"grey: the prepared copy could not be written in {base}: File too large; free the space or name another "
            "folder with PUBENCH_CACHE"
        )
        assert left_in(root.cache) == []
        opened()
        assert reads(root) == 2

    @pytest.mark.parametrize(
        ("owner", "name", "code", "words"),
        [
            (os, "fsync", errno.ENOSPC, "No space left on device"),
            (store, "write_manifest", errno.ENOSPC, "No space left on device"),
            (Path, "rename", errno.EIO, "Input/output error"),
            (Path, "mkdir", errno.EROFS, "Read-only file system"),
        ],
        ids=["full", "full-at-the-end", "failing", "read-only"],
    )
    def test_a_disk_that_refuses(
        self,
        opened: Open,
        root: DataRoot,
        monkeypatch: pytest.MonkeyPatch,
        owner: Any,
        name: str,
        code: int,
        words: str,
    ) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(owner, name, failing(code))
            line = refused(opened)
        assert line.startswith("grey: the prepared copy could not be written in ")
        assert words in line
        assert "PUBENCH_CACHE" in line
        assert left_in(root.cache) == []
        opened()

    def test_a_cache_that_is_a_file(self, opened: Open, root: DataRoot) -> None:
        root.cache.write_text("not a folder")
        assert "could not be written in" in refused(opened)

    def test_a_read_only_cache_is_opened_though_a_new_time_cannot_be_noted(
        self, opened: Open, root: DataRoot, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before = opened()
        later(rows_of(root))
        monkeypatch.setattr(Path, "replace", failing(errno.EROFS))
        assert opened().digest == before.digest
        assert reads(root) == 1
        assert [p.name for p in before.folder.iterdir() if p.name.startswith(f"{MANIFEST}.")] == []

    def test_ctrl_c_leaves_nothing(self, opened: Open, root: DataRoot, monkeypatch: pytest.MonkeyPatch) -> None:
        def interrupted(descriptor: int) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", interrupted)
            with pytest.raises(KeyboardInterrupt):
                opened()
        assert left_in(root.cache) == []
        opened()

    def test_what_killed_processes_left_is_no_copy_and_is_swept_by_the_next(self, opened: Open, root: DataRoot) -> None:
        folder = opened().folder
        for number in (11, 12):
            shutil.copytree(folder, folder.with_name(f"{folder.name}.{number}.incoming"))
        assert folders_of_copies("grey", root.cache) == [folder]
        shutil.rmtree(folder)
        assert prepared("grey", root.cache) == []
        opened()
        assert [p.name for p in folder.parent.iterdir() if p.is_dir()] == [folder.name]


CHILD = """
import sys
import time
from pathlib import Path

from pubench_core.data import copies, store
from pubench_core.data.copies import MANIFEST, Prepared, folders_of_copies, prepared, sha256_of, verify_copy
from pubench_core.data.dataset import DataRoot
from acme_grey import INFO

root = DataRoot(Path(sys.argv[1]), "a test", cache=Path(sys.argv[2]))

def held(name, when=lambda *a: True):
    "Does what it did, says so, and goes no further."
    real = getattr(store, name)
    def call(*arguments):
        real(*arguments)
        if when(*arguments):
            print("held", flush=True)
            time.sleep(60)
    setattr(store, name, call)

"""
OPENED = "print(store.open_dataset(INFO, root).digest, flush=True)"


@pytest.fixture
def child(root: DataRoot, site: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """``child(code)``: a process that runs it with ``store``, ``INFO`` and ``root``; killed when the test ends."""
    with contextlib.ExitStack() as stack:

        def start(code: str, **env: str) -> subprocess.Popen[str]:
            process = subprocess.Popen(
                [sys.executable, "-c", CHILD + code, str(root.path), str(root.cache)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, "PYTHONPATH": str(site), **env},
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            return process

        yield start


Child = Callable[..., "subprocess.Popen[str]"]


def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


class TestOtherProcesses:
    def test_two_that_prepare_a_set_at_once_do_the_work_once(self, child: Child, opened: Open, root: DataRoot) -> None:
        both = [child(OPENED, SECONDS_TO_READ="0.5") for _ in range(2)]
        first, second = (line_of(process) for process in both)
        assert reads(root) == 1
        assert first == second == opened().digest

    @pytest.mark.parametrize(
        "moment",
        ['held("_save", lambda stream, array: stream.name.endswith("y.npy"))', 'held("write_manifest")'],
        ids=["between-two-arrays", "before-the-last-step"],
    )
    def test_kill_9_leaves_nothing_that_opens_and_the_next_run_makes_it(
        self, child: Child, opened: Open, root: DataRoot, moment: str
    ) -> None:
        process = child(f"{moment}\n{OPENED}")
        assert line_of(process) == "held"
        process.kill()
        assert process.wait() == -signal.SIGKILL
        (half,) = (p for p in (root.cache / "prepared" / "grey").iterdir() if p.is_dir())
        assert half.name.endswith(f".{process.pid}.incoming")
        assert prepared("grey", root.cache) == []

        folder = opened().folder
        assert reads(root) == 2
        assert verify_copy(folder) == []
        assert not half.exists()

    def test_removing_waits_for_one_that_is_being_made(self, child: Child, opened: Open, root: DataRoot) -> None:
        slow = 'held("write_manifest"); time.sleep = lambda seconds, wait=time.sleep: wait(0.5)\n'
        maker = child(slow + OPENED)
        assert line_of(maker) == "held"
        assert remove_copies("grey", root.cache) > 0
        assert len(line_of(maker)) == 16  # the digest: it ended well, and what it has open stays
        assert left_in(root.cache) == []
        opened()
        assert reads(root) == 2

    @pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="/proc/<pid>/smaps is Linux's")
    def test_two_that_use_a_set_share_its_pages(self, child: Child, opened: Open, root: DataRoot) -> None:
        rows_of(root).write_bytes(bytes(5 * 4_000_000))
        size = opened().folder.joinpath("x.npy").stat().st_size
        used = "x = store.open_dataset(INFO, root).data.x; x.max(); print('used', flush=True); input()"
        both = [child(used) for _ in range(2)]
        for process in both:
            assert line_of(process) == "used"
        for kib in (pages_of(process.pid, "x.npy") for process in both):
            assert kib["Rss"] * 1024 == pytest.approx(size, rel=0.01)  # each has all of it in memory,
            assert kib["Pss"] == pytest.approx(kib["Rss"] / 2, rel=0.01)  # and half of it to its account
            assert kib["Private_Dirty"] + kib["Private_Clean"] == 0


def pages_of(pid: int, name: str) -> dict[str, int]:
    """KiB of a process's mapping of one file, by kind."""
    lines = iter(Path(f"/proc/{pid}/smaps").read_text().splitlines())
    next(line for line in lines if line.endswith(name))
    kib = {}
    for line in lines:
        kind, _, rest = line.partition(":")
        if not rest.endswith(" kB"):
            break
        kib[kind] = int(rest.split()[0])
    return kib


Y = np.array([0, 1, 1])
X = np.ones((3, 2), np.float32)
NAN = np.array([[1, 2], [np.nan, 2], [3, 4]], np.float32)


VIOLATIONS: list[tuple[object, str]] = [
    ([1, 2, 3], "acme_grey:Grey returned list instead of ClassData"),
    (None, "acme_grey:Grey returned NoneType instead of ClassData"),
    (ClassData(X.tolist(), Y), "the training part is list and ndarray; two arrays are right"),
    (ClassData(X, None), "the training part is ndarray and NoneType"),
    (ClassData(X, Y, X), "the test part is ndarray and NoneType"),
    (ClassData(X, Y, None, Y), "the test part is NoneType and ndarray"),
    (ClassData(X, Y[:2]), "features of the training part have shape (3, 2) and labels (2,)"),
    (ClassData(X, Y, X[:2], Y), "features of the test part have shape (2, 2) and labels (3,)"),
    (ClassData(X[:0], Y[:0]), "have shape (0, 2) and labels (0,); (n, ...) and (n,) are right"),
    (ClassData(X, Y, X[:0], Y[:0]), "features of the test part have shape (0, 2)"),
    (ClassData(X[:, 0], Y), "features of the training part have shape (3,)"),
    (ClassData(X, Y[:, None]), "and labels (3, 1)"),
    (ClassData(X.astype(np.float64), Y), "features are float64; uint8 or float32 is right"),
    (ClassData(X.astype(np.int64), Y), "features are int64"),
    (ClassData(X.astype(">f4"), Y), "features are >f4"),
    (ClassData(X, Y, X.astype(np.uint8), Y), "test rows are uint8 and training rows float32"),
    (ClassData(X, Y, X[:, :1], Y), "test rows have shape (1,), not (2,)"),
    (ClassData(X, Y.astype(np.float32)), "labels are float32; integers are right"),
    (ClassData(X, Y == 1), "labels are bool"),
    (ClassData(X, Y * 3), "class 3 of the training part is none of ('no', 'yes', 'neither')"),
    (ClassData(X, Y - 1), "class -1 of the training part"),
    (ClassData(X, Y, X, Y * 5), "class 5 of the test part"),
    (ClassData(NAN, Y), "the training part has a value that is not a finite number"),
    (ClassData(X, Y, X * np.float32(np.inf), Y), "the test part has a value that is not a finite number"),
    (ClassData(X, Y, mean=("bright",)), "could not be read: ValueError"),
]


class TestContract:
    """What a source returns is checked before anything is kept."""

    @pytest.mark.parametrize(("returned", "words"), VIOLATIONS, ids=[words for _, words in VIOLATIONS])
    def test_a_violation_is_one_line_and_leaves_no_copy(
        self,
        opened: Open,
        root: DataRoot,
        grey: ModuleType,
        monkeypatch: pytest.MonkeyPatch,
        returned: object,
        words: str,
    ) -> None:
        monkeypatch.setattr(grey.Grey, "read", lambda self, files, root: returned)
        line = refused(opened, PluginError)
        assert line.startswith("dataset 'grey'")
        assert words in line
        assert left_in(root.cache) == []

    def test_unsigned_labels_and_numpy_s_numbers_are_fine(
        self, opened: Open, grey: ModuleType, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        data = ClassData(X.astype(np.uint8), Y.astype(np.uint8), mean=np.float32([0.5]), std=(np.float32(0.25),))
        monkeypatch.setattr(grey.Grey, "read", lambda self, files, root: data)
        for found in (opened().data, opened().data):
            assert np.array_equal(found.y, Y)
            assert (found.mean, found.std) == ((0.5,), (0.25,))

    def test_rows_that_are_not_contiguous_are_kept_as_they_read(
        self, opened: Open, grey: ModuleType, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        x = np.arange(24, dtype=np.float32).reshape(2, 3, 4).transpose(2, 1, 0)
        monkeypatch.setattr(grey.Grey, "read", lambda self, files, root: ClassData(x, np.array([0, 1, 2, 0])))
        assert np.array_equal(opened().data.x, x)


class TestSourceThatRaises:
    @pytest.mark.parametrize(
        ("error", "words"),
        [
            (KeyError("moon"), "KeyError: 'moon'"),
            (FileNotFoundError(errno.ENOENT, "No such file", "moon.dat"), "FileNotFoundError: [Errno 2] No such file"),
            (gzip.BadGzipFile("Not a gzipped file"), "BadGzipFile: Not a gzipped file"),
            (MemoryError(), "MemoryError"),
            (SystemExit("goodbye"), "SystemExit: goodbye"),
            (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"), "UnicodeDecodeError: 'utf-8' codec"),
        ],
        ids=["key", "file", "gzip", "memory", "exit", "decode"],
    )
    @pytest.mark.parametrize(
        ("name", "what"),
        [("read", "read"), ("locate", "located"), ("variant", "identified"), ("__init__", "set up")],
    )
    def test_it_is_named_with_its_cause(
        self,
        opened: Open,
        root: DataRoot,
        grey: ModuleType,
        monkeypatch: pytest.MonkeyPatch,
        name: str,
        what: str,
        error: BaseException,
        words: str,
    ) -> None:
        def raising(self: Any, *arguments: Any) -> None:
            raise error

        monkeypatch.setattr(grey.Grey, name, raising)
        with pytest.raises(PluginError) as caught:
            opened()
        assert str(caught.value).startswith(f"dataset 'grey' could not be {what}: {words}")
        assert caught.value.__cause__ is error
        assert left_in(root.cache) == []

    def test_what_a_source_says_to_the_user_is_passed_on(
        self, opened: Open, grey: ModuleType, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def raising(self: Any, files: Any, root: Any) -> None:
            raise RequestError("rows.bin ends in the middle of a row; get it again")

        monkeypatch.setattr(grey.Grey, "read", raising)
        assert refused(opened) == "rows.bin ends in the middle of a row; get it again"

    def test_an_interrupt_stays_one(self, opened: Open, grey: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
        def raising(self: Any, files: Any, root: Any) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(grey.Grey, "read", raising)
        with pytest.raises(KeyboardInterrupt):
            opened()

    @pytest.mark.parametrize("name", ["json:loads", "acme_grey:INFO"])
    def test_what_is_no_source_is_refused(self, info: DatasetInfo, name: str) -> None:
        line = refused(lambda: source_of(dataclasses.replace(info, load=name)), PluginError)
        assert line == f"dataset 'grey': {name} is not a subclass of pubench_core.data.source.DataSource"


class TestWhatIsThere:
    def test_nothing(self, info: DatasetInfo, root: DataRoot) -> None:
        rows_of(root).unlink()
        here = look(info, root)
        assert (here.state, here.files, here.folder, here.source_bytes, here.prior) == ("absent", (), None, 0, None)
        assert here.reason.startswith("grey: no rows.bin in ")

    def test_files_alone(self, info: DatasetInfo, root: DataRoot) -> None:
        here = look(info, root)
        assert (here.state, here.files, here.source_bytes) == ("files", (rows_of(root),), 225)
        assert (here.prepared_bytes, here.counts("y"), here.prior) == (0, None, None)
        assert reads(root) == 0

    def test_a_copy_tells_sizes_counts_and_prior_of_the_default_binarisation(
        self, opened: Open, info: DatasetInfo, root: DataRoot
    ) -> None:
        folder, unit = opened().folder, opened(preprocess="l2").folder
        here = look(info, root)
        assert (here.state, here.folder, reads(root)) == ("prepared", folder, 2)
        assert {f for f, _ in here.copies} == {folder, unit}
        assert here.prepared_bytes == sum(p.stat().st_size for f in (folder, unit) for p in f.glob("*.npy"))
        assert (here.counts("y"), here.counts("y_test")) == ([12, 24, 4], [2, 3, 0])
        assert here.prior == 24 / 36

    def test_the_copy_that_counts_is_the_one_that_a_run_would_open(
        self, opened: Open, info: DatasetInfo, root: DataRoot
    ) -> None:
        folder = opened(preprocess="l2").folder
        assert look(info, root).state == "files"
        assert look(dataclasses.replace(info, preprocess="l2"), root).folder == folder

    def test_what_comes_with_its_package(self, info: DatasetInfo, root: DataRoot) -> None:
        here = look(dataclasses.replace(info, load="acme_grey:Packaged"), root)
        assert (here.state, here.files, here.folder) == ("packaged", (), None)

    def test_a_damaged_manifest(self, opened: Open, info: DatasetInfo, root: DataRoot) -> None:
        path = opened().folder / MANIFEST
        path.write_text("{")
        here = look(info, root)
        assert (here.state, here.copies) == ("damaged", [])
        assert str(path) in here.reason

    def test_a_source_that_fails(
        self, info: DatasetInfo, root: DataRoot, grey: ModuleType, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(grey.Grey, "locate", lambda self, root: 1 // 0)
        here = look(info, root)
        assert (here.state, here.reason.split(": ", 1)[1]) == (
            "broken",
            "ZeroDivisionError: integer division or modulo by zero",
        )

    def test_looking_never_touches_the_network_and_files_that_cannot_be_encoded_are_files(
        self, info: DatasetInfo, root: DataRoot, grey: ModuleType, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def variant(self: Any, root: DataRoot, files: Any) -> str:
            if root.offline:
                raise RequestError("the encoder is not on this machine")
            raise AssertionError("downloading the encoder")

        monkeypatch.setattr(grey.Grey, "variant", variant)
        here = look(info, root)
        assert (here.state, here.files, here.reason) == (
            "files",
            (rows_of(root),),
            "the encoder is not on this machine",
        )


def test_a_manifest_is_plain_json_that_others_can_read(opened: Open) -> None:
    folder = opened().folder
    assert json.loads((folder / MANIFEST).read_text())["key"] == "grey"
    assert np.array_equal(np.load(folder / "x.npy"), table()[:40, :4])
