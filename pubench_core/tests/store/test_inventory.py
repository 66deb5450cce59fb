"""What is there of a data set, found without converting or downloading anything."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from gray_data import GrayData

from pubench_cli.inventory import availability_of
from pubench_core.data.dataset import DataRoot
from pubench_core.errors import Hint, RequestError


class TestWhatIsThere:
    def test_nothing_of_a_set_that_can_be_downloaded(self, gray: GrayData, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(gray.module.Gray, "fetch", lambda self, root: None)
        gray.rows.unlink()
        here = availability_of(gray.info, gray.root)
        assert here.state == "absent"
        assert here.reason.endswith("; what is missing can be downloaded")
        assert here.reason.hint == Hint("fetch", "gray")

    def test_a_copy_tells_sizes_counts_and_prior_of_the_default_binarization(self, gray: GrayData) -> None:
        folder, unit = gray.opened().folder, gray.opened(preprocess="l2").folder
        here = availability_of(gray.info, gray.root)
        assert (here.state, here.folder, gray.reads()) == ("prepared", folder, 2)
        assert {f for f, _ in here.copies} == {folder, unit}
        assert here.prepared_bytes == sum(p.stat().st_size for f in (folder, unit) for p in f.glob("*.npy"))
        assert (here.counts("y"), here.counts("y_test")) == ([12, 24, 4], [2, 3, 0])
        assert here.prior == 24 / 36

    def test_the_copy_that_counts_is_the_one_that_a_run_would_open(self, gray: GrayData) -> None:
        folder = gray.opened(preprocess="l2").folder
        assert availability_of(gray.info, gray.root).state == "files"
        assert availability_of(dataclasses.replace(gray.info, preprocess="l2"), gray.root).folder == folder

    def test_what_comes_with_its_package(self, gray: GrayData) -> None:
        here = availability_of(dataclasses.replace(gray.info, load="acme_gray:Packaged"), gray.root)
        assert (here.state, here.files, here.folder) == ("packaged", (), None)
        assert (here.counts("y"), here.counts("y_test"), here.prior) == ([12, 24, 4], [2, 3, 0], 24 / 36)

    def test_what_comes_with_its_package_and_cannot_be_read(
        self, gray: GrayData, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(gray.module.Packaged, "read", lambda self, files, root: 1 // 0)
        here = availability_of(dataclasses.replace(gray.info, load="acme_gray:Packaged"), gray.root)
        assert here.state == "broken"
        assert here.reason.startswith("dataset 'gray' could not be read: ZeroDivisionError")

    def test_listing_stays_offline_and_shows_files_with_undecodable_names(
        self, gray: GrayData, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def variant(self: Any, root: DataRoot, files: Any) -> str:
            if root.offline:
                raise RequestError("the encoder is not on this machine")
            raise AssertionError("downloading the encoder")

        monkeypatch.setattr(gray.module.Gray, "variant", variant)
        here = availability_of(gray.info, gray.root)
        assert (here.state, here.files, here.reason) == (
            "files",
            (gray.rows,),
            "the encoder is not on this machine",
        )
