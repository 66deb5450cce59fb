"""A file system that is full, failing or read-only, and processes that ended in the middle."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest
from gray_data import GrayData, failing, later
from refusals import refusal

from pubench_core.data import store
from pubench_core.data.cache import MANIFEST


class TestDisk:
    """What the file system refuses is one line, and nothing half-made stays."""

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
        self, gray: GrayData, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, code: int, words: str
    ) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(owner, name, failing(code))
            line = refusal(gray.opened)
        assert line.startswith("gray: the prepared copy could not be written in ")
        assert words in line
        assert "PUBENCH_CACHE" in line
        assert gray.left_in_cache() == []
        gray.opened()

    def test_a_cache_that_is_a_file(self, gray: GrayData) -> None:
        gray.root.cache.write_text("not a folder")
        assert "could not be written in" in refusal(gray.opened)

    def test_a_read_only_cache_is_opened_though_a_new_time_cannot_be_noted(
        self, gray: GrayData, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before = gray.opened()
        later(gray.rows)
        monkeypatch.setattr(Path, "replace", failing(errno.EROFS))
        assert gray.opened().digest == before.digest
        assert gray.reads() == 1
        assert [p.name for p in before.folder.iterdir() if p.suffix == ".json"] == [MANIFEST]

    def test_ctrl_c_leaves_nothing(self, gray: GrayData, monkeypatch: pytest.MonkeyPatch) -> None:
        def interrupted(descriptor: int) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", interrupted)
            with pytest.raises(KeyboardInterrupt):
                gray.opened()
        assert gray.left_in_cache() == []
        gray.opened()
