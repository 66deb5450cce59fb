"""Tables of AISTATS 2025: the positive class, files that are absent or damaged."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from pubench_datasets_tabular import pubench_datasets
from pubench_datasets_tabular.teisseyre import PUBLISHED, SuiteTable, positive_class
from pubench_testkit.testing import Case, Vectors

from pubench_core.data.dataset import DataRoot
from pubench_core.errors import RequestError

#: The other arrays are for the mechanisms.
VECTORS = Vectors("teisseyre-mechanisms", tolerance=1e-14, unread=".*")
(INFO,) = (info for info in pubench_datasets() if info.key == "teisseyre2025")
HEADER = "a,b,Class,BinClass\n"


@pytest.mark.reference
@VECTORS.cases("classes_.*")
def test_the_positive_class(case: Case) -> None:
    case.expect(positive=case["y"] == positive_class(case["y"]))


def table(folder: Path, rows: str, name: str = "Haberman") -> tuple[SuiteTable, DataRoot]:
    path = folder / "teisseyre2025" / f"{name}.csv.gz"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(gzip.compress((HEADER + rows).encode()))
    return SuiteTable(SuiteTable.task(INFO, name)), DataRoot(folder, "", cache=folder)


def test_class_is_the_target_and_the_column_after_it_is_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PUBLISHED, "Haberman", "")
    source, root = table(tmp_path, "1,2,0,1\n3,4,2,0\n5,6,2,1\n7,8,1,1\n")
    data = source.read(source.locate(root), root)
    np.testing.assert_array_equal(data.x, [[1, 2], [3, 4], [5, 6], [7, 8]])
    assert data.y.tolist() == [0, 1, 1, 0]


def test_what_is_wrong_with_a_file_is_said(tmp_path: Path) -> None:
    source, root = table(tmp_path, "1,2,0,1\n")
    with pytest.raises(
        RequestError, match=r"has the sha256 checksum [0-9a-f]{16}, the published file ceb1048eee84daaa; get it"
    ):
        source.read(source.locate(root), root)
    source, root = table(tmp_path, "1,x,0,1\n", "Isolet")
    with pytest.raises(RequestError, match=r"is damaged \(could not convert string to float: 'x'"):
        source.read(source.locate(root), root)
    with pytest.raises(RequestError, match=r"Jm1\.csv"):
        SuiteTable(SuiteTable.task(INFO, "jm1")).locate(root)
    with pytest.raises(RequestError, match="habermann"):
        SuiteTable.task(INFO, "habermann")


def test_tables_that_are_here_are_listed(tmp_path: Path) -> None:
    _, root = table(tmp_path, "1,2,0,1\n", "Jm1")
    assert [task.name for task in SuiteTable(INFO).tasks(root)] == ["jm1"]
