"""What a source returns is checked, and what it raises is named with its cause."""

from __future__ import annotations

import dataclasses
import errno
import gzip
from typing import Any

import numpy as np
import pytest
from gray_data import GrayData
from refusals import refusal

from pubench_core.data.dataset import ClassData
from pubench_core.data.source import source_of
from pubench_core.errors import PluginError, RequestError

Y = np.array([0, 1, 1])
X = np.ones((3, 2), np.float32)
NAN = np.array([[1, 2], [np.nan, 2], [3, 4]], np.float32)

VIOLATIONS: list[tuple[object, str]] = [
    ([1, 2, 3], "acme_gray:Gray returned list instead of ClassData"),
    (None, "acme_gray:Gray returned NoneType instead of ClassData"),
    (ClassData(X.tolist(), Y), "the training part is list and ndarray; expected two arrays"),
    (ClassData(X, None), "the training part is ndarray and NoneType"),
    (ClassData(X, Y, X), "the test part is ndarray and NoneType"),
    (ClassData(X, Y, None, Y), "the test part is NoneType and ndarray"),
    (ClassData(X, Y[:2]), "features of the training part have shape (3, 2) and labels (2,)"),
    (ClassData(X, Y, X[:2], Y), "features of the test part have shape (2, 2) and labels (3,)"),
    (ClassData(X[:0], Y[:0]), "have shape (0, 2) and labels (0,); expected (n, ...) and (n,)"),
    (ClassData(X, Y, X[:0], Y[:0]), "features of the test part have shape (0, 2)"),
    (ClassData(X[:, 0], Y), "features of the training part have shape (3,)"),
    (ClassData(X, Y[:, None]), "and labels (3, 1)"),
    (ClassData(X.astype(np.float64), Y), "features are float64; expected uint8 or float32"),
    (ClassData(X.astype(np.int64), Y), "features are int64"),
    (ClassData(X.astype(">f4"), Y), "features are >f4"),
    (ClassData(X, Y, X.astype(np.uint8), Y), "test rows are uint8 and training rows float32"),
    (ClassData(X, Y, X[:, :1], Y), "test rows have shape (1,), not (2,)"),
    (ClassData(X, Y.astype(np.float32)), "labels are float32; expected integers"),
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
        self, gray: GrayData, monkeypatch: pytest.MonkeyPatch, returned: object, words: str
    ) -> None:
        monkeypatch.setattr(gray.module.Gray, "read", lambda self, files, root: returned)
        line = refusal(gray.opened, PluginError)
        assert line.startswith("dataset 'gray'")
        assert words in line
        assert gray.left_in_cache() == []

    def test_unsigned_labels_and_numpy_s_numbers_are_fine(
        self, gray: GrayData, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        data = ClassData(X.astype(np.uint8), Y.astype(np.uint8), mean=np.float32([0.5]), std=(np.float32(0.25),))
        monkeypatch.setattr(gray.module.Gray, "read", lambda self, files, root: data)
        for found in (gray.opened().data, gray.opened().data):
            assert np.array_equal(found.y, Y)
            assert (found.mean, found.std) == ((0.5,), (0.25,))

    def test_rows_that_are_not_contiguous_are_kept_as_they_read(
        self, gray: GrayData, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        x = np.arange(24, dtype=np.float32).reshape(2, 3, 4).transpose(2, 1, 0)
        monkeypatch.setattr(gray.module.Gray, "read", lambda self, files, root: ClassData(x, np.array([0, 1, 2, 0])))
        assert np.array_equal(gray.opened().data.x, x)


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
        self, gray: GrayData, monkeypatch: pytest.MonkeyPatch, name: str, what: str, error: BaseException, words: str
    ) -> None:
        def raising(self: Any, *arguments: Any) -> None:
            raise error

        monkeypatch.setattr(gray.module.Gray, name, raising)
        with pytest.raises(PluginError) as caught:
            gray.opened()
        assert str(caught.value).startswith(f"dataset 'gray' could not be {what}: {words}")
        assert caught.value.__cause__ is error
        assert gray.left_in_cache() == []

    def test_what_a_source_says_to_the_user_is_passed_on(self, gray: GrayData, monkeypatch: pytest.MonkeyPatch) -> None:
        def raising(self: Any, files: Any, root: Any) -> None:
            raise RequestError("rows.bin ends in the middle of a row; get it again")

        monkeypatch.setattr(gray.module.Gray, "read", raising)
        assert refusal(gray.opened) == "rows.bin ends in the middle of a row; get it again"

    def test_an_interrupt_stays_one(self, gray: GrayData, monkeypatch: pytest.MonkeyPatch) -> None:
        def raising(self: Any, files: Any, root: Any) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(gray.module.Gray, "read", raising)
        with pytest.raises(KeyboardInterrupt):
            gray.opened()

    @pytest.mark.parametrize("name", ["json:loads", "acme_gray:INFO"])
    def test_what_is_no_source_is_refused(self, gray: GrayData, name: str) -> None:
        line = refusal(lambda: source_of(dataclasses.replace(gray.info, load=name)), PluginError)
        assert line == f"dataset 'gray': {name} is not a subclass of pubench_core.data.source.DataSource"
