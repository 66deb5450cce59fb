"""A copy is checked whenever it is opened, read in full by verify, and gone when it is removed."""

from __future__ import annotations

import dataclasses
import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from gray_data import GrayData, failing, later, sha256
from refusals import refusal

from pubench_cli.copies import copies_of, folders_of_copies, remove_copies, verify_copy
from pubench_core.data import cache, store
from pubench_core.data.source import source_of
from pubench_core.data.store import open_dataset
from pubench_core.errors import Hint, RequestError


def flipped(path: Path, *, keep_time: bool) -> None:
    """Another last byte; the size is as it was, the time only where it is not kept."""
    stat, content = path.stat(), path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns if keep_time else stat.st_mtime_ns + 1))


class TestCheckedOnEveryOpen:
    @pytest.fixture
    def hashed(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """Names of the files that were read in full."""
        names: list[str] = []

        def noting(path: Path) -> str:
            names.append(path.name)
            return sha256(path)

        monkeypatch.setattr(cache, "sha256_of", noting)
        return names

    def test_nothing_is_read_where_sizes_and_times_are_as_they_were(self, gray: GrayData, hashed: list[str]) -> None:
        gray.opened()
        assert hashed == ["rows.bin", "x.npy", "y.npy", "x_test.npy", "y_test.npy"]
        hashed.clear()
        gray.opened()
        assert hashed == []

    def test_so_a_change_that_keeps_size_and_time_is_found_by_verify_alone(self, gray: GrayData) -> None:
        folder = gray.opened().folder
        flipped(folder / "x.npy", keep_time=True)
        flipped(gray.rows, keep_time=True)
        gray.opened()
        source, array = verify_copy(folder)
        assert str(source).startswith(f"{gray.rows} is not what it was: sha256 {sha256(gray.rows)[:16]} now, ")
        assert str(source).endswith("put the original back, or take it as it is")
        assert str(array).startswith(f"{folder / 'x.npy'} is not what it was: sha256 ")
        assert str(array).endswith("have the copy made again")
        assert source.hint == array.hint == Hint("prepare again", "gray")

    @pytest.mark.parametrize("name", ["rows.bin", "x.npy", "y_test.npy"])
    def test_a_file_whose_time_alone_changed_is_read_once_and_noted(
        self, gray: GrayData, hashed: list[str], name: str
    ) -> None:
        folder = gray.opened().folder
        later(gray.rows if name == "rows.bin" else folder / name)
        before = sorted(p.name for p in folder.iterdir())
        hashed.clear()
        gray.opened()
        assert hashed == [name]
        gray.opened()
        assert hashed == [name]
        assert verify_copy(folder) == []
        assert sorted(p.name for p in folder.iterdir()) == before
        assert gray.reads() == 1

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
        self, gray: GrayData, name: str, spoil: Callable[[Path], None], words: str
    ) -> None:
        path = gray.opened().folder / name
        spoil(path)
        with pytest.raises(RequestError) as caught:
            gray.opened()
        line = str(caught.value)
        assert line.startswith(f"{path} ")
        assert words in line
        assert line.endswith("have the copy made again")
        assert caught.value.hint == Hint("prepare again", "gray")
        assert len(verify_copy(path.parent)) == 1

    def test_an_altered_source_is_refused_until_restored_or_its_copy_removed(self, gray: GrayData) -> None:
        before, content = gray.opened(), gray.rows.read_bytes()
        flipped(gray.rows, keep_time=False)
        with pytest.raises(RequestError) as caught:
            gray.opened()
        assert str(caught.value).startswith(f"{gray.rows} was altered since it was prepared")
        assert str(caught.value).endswith("put the original back, or take it as it is")
        assert caught.value.hint == Hint("prepare again", "gray")

        gray.rows.write_bytes(content)
        assert gray.opened().digest == before.digest

        flipped(gray.rows, keep_time=False)
        remove_copies("gray", gray.root.cache)
        assert gray.opened().digest != before.digest
        assert gray.reads() == 2

    def test_a_source_that_is_gone_is_missed_as_if_it_had_never_been_there(self, gray: GrayData) -> None:
        folder = gray.opened().folder
        gray.rows.unlink()
        line = refusal(gray.opened)
        assert line.startswith(f"gray: no rows.bin in {gray.root.path / 'gray'} (data root from a test)")
        assert str(verify_copy(folder)[0]).startswith(f"{gray.rows} cannot be read: No such file or directory; ")


class TestVerify:
    def test_a_copy_that_was_removed_in_the_meantime_is_none(self, gray: GrayData) -> None:
        folder = gray.opened().folder
        remove_copies("gray", gray.root.cache)
        assert verify_copy(folder) == []


class TestRemove:
    def test_it_frees_every_copy_and_leaves_the_sources(self, gray: GrayData) -> None:
        folders = [gray.opened().folder, gray.opened(preprocess="l2").folder]
        size = sum(f.stat().st_size for folder in folders for f in folder.iterdir())
        assert folders_of_copies("gray", gray.root.cache) == sorted(folders)
        assert remove_copies("gray", gray.root.cache) == size
        assert gray.left_in_cache() == []
        assert folders_of_copies(None, gray.root.cache) == []
        assert gray.rows.read_bytes() == gray.table.tobytes()

    def test_other_sets_stay(self, gray: GrayData) -> None:
        gray.opened()
        shutil.copytree(gray.root.path / "gray", gray.root.path / "other")
        other = open_dataset(source_of(dataclasses.replace(gray.info, key="other")), gray.root).folder
        remove_copies("gray", gray.root.cache)
        assert folders_of_copies(None, gray.root.cache) == [other]

    def test_what_is_open_stays_readable(self, gray: GrayData) -> None:
        data = gray.opened().data
        remove_copies("gray", gray.root.cache)
        assert np.array_equal(data.x, gray.table[:40, :4])

    def test_one_that_was_interrupted_leaves_no_copy_and_the_next_run_makes_it(
        self, gray: GrayData, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = gray.opened().folder

        def interrupted(path: Path) -> None:
            (path / "x.npy").unlink()
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(store.shutil, "rmtree", interrupted)
            with pytest.raises(KeyboardInterrupt):
                remove_copies("gray", gray.root.cache)
        assert (folder / "y.npy").exists()
        assert copies_of("gray", gray.root.cache) == []
        assert gray.opened().folder == folder
        assert verify_copy(folder) == []

    def test_what_cannot_be_removed_is_one_line(self, gray: GrayData, monkeypatch: pytest.MonkeyPatch) -> None:
        gray.opened()
        monkeypatch.setattr(Path, "unlink", failing(errno.EROFS))
        line = refusal(lambda: remove_copies("gray", gray.root.cache))
        assert line.startswith(
            f"gray: {gray.root.cache / 'prepared' / 'gray'} could not be removed: Read-only file system"
        )
