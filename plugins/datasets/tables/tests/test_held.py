"""Tables in memory: read like a file, named by their content."""

from __future__ import annotations

import gc

import numpy as np
import pandas as pd
import pytest
from pubench_datasets_tables.files import read_table
from pubench_datasets_tables.frames import hold
from pubench_datasets_tables.held import held_at, sha256_of

from pubench_core.data.table_reader import is_table_path
from pubench_core.errors import RequestError

FRAME = pd.DataFrame({"a": [1.5, None, 3.0], "b": ["x", "y", None], "c": [True, False, True], "d": [1, 2, 3]})


def test_a_held_table_reads_as_the_file_that_it_is_saved_as(tmp_path):
    held = hold(FRAME, "mine")
    (tmp_path / "mine.parquet").write_bytes(held.content)
    pd.testing.assert_frame_equal(read_table(held.path), read_table(tmp_path / "mine.parquet"))
    assert sha256_of(held.path) == sha256_of(tmp_path / "mine.parquet")
    assert is_table_path(str(held.path))
    assert held.path.name == "mine"


def test_an_equal_table_is_the_same_one_and_another_is_another():
    held = hold(FRAME, "mine")
    assert hold(FRAME.copy(), "mine") is held
    assert hold(FRAME.assign(d=[1, 2, 4]), "mine").path != held.path


def test_the_index_and_a_change_of_the_frame_afterwards_do_not_matter():
    frame = FRAME.set_index(np.array([7, 8, 9]))
    held = hold(frame, "mine")
    frame.loc[7, "d"] = 99
    assert list(read_table(held.path).columns) == ["a", "b", "c", "d"]
    assert read_table(held.path)["d"].tolist() == [1, 2, 3]


def test_a_held_table_is_gone_with_its_object():
    path = hold(FRAME.assign(e=5), "gone").path
    gc.collect()
    with pytest.raises(RequestError, match="in the memory of another process; save the table as a file"):
        held_at(path)


@pytest.mark.parametrize(
    ("frame", "wrong"),
    [
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "column 'a' appears twice"),
        (pd.DataFrame({"a": [1, "x", None]}), "one kind per column"),
        (pd.DataFrame({"a": [1 + 2j]}), "one kind per column"),
        (pd.DataFrame({"a": []}), "no rows"),
    ],
)
def test_what_no_table_can_hold_is_refused(frame, wrong):
    with pytest.raises(RequestError, match=wrong):  # noqa: PT012 - the second line needs the object of the first
        held = hold(frame, "mine")
        read_table(held.path)
