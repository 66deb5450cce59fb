"""A user's table as PU data: who is labeled, what is true, what is tested, and what was said about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from made_tables import LABELED, N_LABELED, ROWS, N, Reader, complaint, names, note, plain_columns
from pubench_datasets_tables.user_table import Tables, read_user_table
from refusals import refusal

from pubench import data
from pubench_cli.yaml_layers import assigned
from pubench_core.data.labeled import LabeledData
from pubench_core.data.table_reader import table_reader
from pubench_core.engine.resolve import resolve
from pubench_core.plugins.registry import registry

Written = Callable[..., Path]
YES, BLANK = np.where(LABELED, "yes", "no"), "blank = unlabeled"


class TestLabels:
    @pytest.mark.parametrize(
        ("values", "word", "reading"),
        [
            (LABELED, None, "1 = labeled positive, 0 = unlabeled"),
            (LABELED.astype(float), None, "1.0 = labeled positive, 0.0 = unlabeled"),
            (np.where(LABELED, 1, -1), None, "1 = labeled positive, -1 = unlabeled"),
            (LABELED.astype(bool), None, "True = labeled positive, False = unlabeled"),
            (YES, "yes", "yes = labeled positive, no = unlabeled"),
            (LABELED + 1, "2", "2 = labeled positive, 1 = unlabeled"),
            (LABELED + 1.0, "2", "2.0 = labeled positive, 1.0 = unlabeled"),
            (1 - LABELED, "0", "0 = labeled positive, 1 = unlabeled"),
            (1.0 - LABELED, "0", "0.0 = labeled positive, 1.0 = unlabeled"),
            (~LABELED.astype(bool), "false", "False = labeled positive, True = unlabeled"),
            (2**60 + LABELED.astype(np.int64), str(2**60 + 1), f"{2**60 + 1} = labeled positive"),  # to the last digit
            (np.where(LABELED, 1.0, np.nan), None, f"1 = labeled positive, {BLANK}"),
            (pd.array([True] * N_LABELED + [None] * 24, "boolean"), None, f"True = labeled positive, {BLANK}"),
            (np.where(LABELED, "yes", None), None, f"yes = labeled positive, {BLANK}"),
            (np.where(LABELED, "no", None), "no", f"no = labeled positive, {BLANK}"),
            (np.where(LABELED, 7.0, np.nan), None, f"7 = labeled positive, {BLANK}"),
            (
                np.where(LABELED, np.array(["type A", "type B"])[ROWS % 2], "none"),
                "type A,type B",
                "type A, type B = labeled positive, none = unlabeled",
            ),
            (np.where(LABELED, 3 + ROWS % 2, 0), "3,4", "3, 4 = labeled positive, 0 = unlabeled"),
            (np.where(LABELED, "yes, sure", "no"), "yes, sure", "yes, sure = labeled positive, no = unlabeled"),
        ],
    )
    @pytest.mark.parametrize("suffix", ["csv", "parquet"])
    def test_two_values_or_one_and_blanks_are_read_and_the_reading_is_said(
        self, read: Reader, values: Any, word: str | None, reading: str, suffix: str
    ) -> None:
        table = read(s=values, _suffix=suffix, **({"_positive_value": word} if word else {}))
        assert table.labeled.tolist() == LABELED.astype(bool).tolist()
        said = note(table, "rows;")
        assert said.startswith(f"my.{suffix}: {N} rows; 's': {reading}")
        assert said.endswith(f"; {N_LABELED} labeled positives, 24 unlabeled")

    @pytest.mark.parametrize("dtype", ["int8", "Int64", "boolean", "bool", "Float64", "category"])
    def test_labels_of_a_data_frame_are_read_in_every_dtype(self, read: Reader, dtype: str) -> None:
        table = read(s=pd.Series(LABELED).astype(dtype), _suffix="parquet")
        assert table.labeled.sum() == N_LABELED

    @pytest.mark.parametrize("blank", ["", "  ", None, float("nan")])
    def test_a_text_that_nobody_sees_is_blank(self, read: Reader, blank: Any) -> None:
        found = read(_suffix="parquet", s=pd.Series(["P"] * N_LABELED + [blank] * 24, dtype=object))
        assert found.labeled.tolist() == LABELED.tolist()

    @pytest.mark.parametrize(
        ("values", "word", "words"),
        [
            (ROWS % 3, None, ("the values 0, 1, 2; expected 1 and 0, 1 and -1, or true and false",)),
            (ROWS, None, ("the values 0, 1, 2, 3, 4 and 25 more",)),
            (YES, None, ("the values yes, no", "say which mean positive with data.own.positive_value")),
            (LABELED + 1, None, ("the values 2, 1", "say which mean positive with data.own.positive_value")),
            (
                np.where(LABELED, 0.0, np.nan),
                None,
                ("labels no row (1 = labeled positive, 0 = unlabeled, blank = unlabeled)",),
            ),
            (np.where(LABELED, "no", None), None, ("has the value no and blank cells", "data.own.positive_value=no")),
            (np.full(N, np.nan), None, ("is empty in every row; PU data need labeled positives",)),
            (np.zeros(N, int), None, ("labels no row (1 = labeled positive, 0 = unlabeled)", "labeled positives")),
            (np.ones(N, int), None, ("labels every row (1 = labeled positive)", "need unlabeled rows")),
            *(
                (YES, w, (f"the values yes, no; data.own.positive_value={w} must name some of them and not all",))
                for w in ("Yes", "1")
            ),
        ],
    )
    def test_other_labels_are_refused(
        self, read: Reader, values: Any, word: str | None, words: tuple[str, ...]
    ) -> None:
        line = complaint(read, s=values, **({"_positive_value": word} if word else {}))
        assert line.startswith("my.csv: column 's'")
        for part in words:
            assert part in line

    @pytest.mark.parametrize(
        ("kinds", "words"),
        [
            ((1, 0, -1), {}),
            (("P", "U", "N"), {"_positive_value": "P", "_known_negative": "N"}),
            ((2, None, 0), {"_positive_value": "2", "_known_negative": "0"}),
        ],
    )
    def test_known_negatives_are_neither_labeled_nor_unlabeled(self, read: Reader, kinds: Any, words: Any) -> None:
        negative = ROWS >= N - 4
        values = [kinds[0] if one else kinds[2] if no else kinds[1] for one, no in zip(LABELED, negative, strict=True)]
        table = read(s=values, **words)
        assert table.labeled.tolist() == LABELED.astype(bool).tolist()
        assert table.known_negative is not None
        assert table.known_negative.tolist() == negative.tolist()
        assert table.problem("my").rows.tolist() == list(range(N - 4))
        assert f"{N_LABELED} labeled positives, 20 unlabeled, 4 known negatives" in note(table, "rows;")

    @pytest.mark.parametrize(
        ("values", "more", "said"),
        [
            (np.where(LABELED, "P", np.where(ROWS < 15, "N", "U")), {"_positive_value": "P"}, "24 of N, U"),
            (np.where(LABELED, 1.0, np.where(ROWS < 10, 0.0, np.nan)), {}, "20 blank cells and 4 of 0"),
        ],
    )
    def test_two_kinds_of_unlabeled_rows_are_noted(self, read: Reader, values: Any, more: Any, said: str) -> None:
        table = read(s=values, **more)
        assert table.labeled.tolist() == LABELED.tolist()
        assert note(table, "alike").startswith(f"'s': {said} count as unlabeled alike")
        assert f"data.own.known_negative={'U' if more else 0}" in note(table, "alike")

    def test_a_positive_value_that_no_column_has_is_refused(self, read: Reader) -> None:
        assert "data.own.positive_value=malignant is not a value of 's'" in complaint(read, _positive_value="malignant")

    @pytest.mark.parametrize(
        ("labels", "words"), [(np.where(LABELED, "P", "U"), "P,malignant"), (LABELED, "malignant")]
    )
    def test_each_column_of_texts_has_its_own_positive_value(self, read: Reader, labels: Any, words: str) -> None:
        table = read(s=labels, y=np.where(ROWS < 10, "malignant", "benign"), _truth_col="y", _positive_value=words)
        assert (table.labeled.sum(), table.truth.sum()) == (N_LABELED, 10)

    def test_a_labeled_share_above_one_half_is_said(self, read: Reader) -> None:
        assert "67 % of the rows are labeled" in note(read(s=(ROWS < 20).astype(int)), "%")
        assert "%" not in " ".join(read(s=(ROWS < 15).astype(int)).notes)


class TestTruth:
    @pytest.mark.parametrize(
        ("truth", "said"),
        [
            ((ROWS < 10).astype(float), "'y': 1.0 = positive, 0.0 = negative; 10 positive, 20 negative"),
            ((ROWS >= 2).astype(int), "2 labeled rows are negative by 'y'; their labels are kept as given"),
            (
                1 - LABELED,
                "6 labeled rows are negative by 'y'; their labels are kept as given; is 'y' read the right way round? "
                "(data.own.positive_value)",
            ),
        ],
    )
    def test_true_labels_are_read_and_what_they_say_of_the_labels_is_said(
        self, read: Reader, truth: Any, said: str
    ) -> None:
        table = read(y=truth, _truth_col="y")
        assert (table.truth.dtype, table.truth.tolist()) == (np.int8, truth.tolist())
        assert table.labeled.sum() == N_LABELED
        assert said in table.notes

    def test_true_labels_are_never_a_feature(self, read: Reader) -> None:
        for more in ({}, {"_features": "*"}, {"_features": "?,a"}):
            assert names(read(y=LABELED, _truth_col="y", **more)) == ["a", "b"]


def test_what_was_read_is_a_part_of_the_code_of_a_run_and_what_is_said_of_it_is_not(read: Reader) -> None:
    """Another way of reading reruns a run if the numbers are others."""
    table = read()
    words = (f"data.own.path={read.folder / 'my.csv'}", "data.own.label_col=s", "method.key=nnpu", "prior=0.4")
    assert resolve([assigned(*words)], registry()).code.parts["table"] == table.digest
    assert replace(table, notes=("worded otherwise",), left_out={"c": "a reason"}).digest == table.digest
    changes: list[dict[str, Any]] = [{"x": table.x + 1}, {"labeled": ~table.labeled}, {"columns": table.columns[:1]}]
    changes.append({"truth": table.labeled.astype(np.int8)})
    assert len({table.digest, *(replace(table, **change).digest for change in changes)}) == 5


LISTS: dict[str, Any] = {"_suffix": "parquet", "lists": [[k] * (k % 3) for k in range(N)]}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"_label_col": "S"}, ("my.csv", "(data.own.label_col) 'S'", "did you mean 's'?")),
        ({"_truth_col": "zzz"}, ("my.csv", "(data.own.truth_col) 'zzz'", "a, b, s")),
        ({"_drop": "zzz"}, ("my.csv", "(data.own.drop) 'zzz'", "a, b, s")),
        ({"_features": "emb_*"}, ("my.csv", "(data.own.features) 'emb_*'", "a, b")),
        ({"_features": "s"}, ("my.csv", "(data.own.features) 's'")),
        ({"y": LABELED, "_truth_col": "y", "_features": "a,y"}, ("(data.own.features) 'y'",)),
        ({"_groups": "absent"}, ("data.own.groups",)),
        ({"_weights": "absent"}, ("data.own.weights",)),
        *(
            ({**LISTS, f"_{role}": "lists"}, (f"unknown column of my.parquet (data.own.{role}) 'lists'",))
            for role in ("label_col", "groups")
        ),
        ({"_truth_col": "s"}, ("data.own.label_col and data.own.truth_col must name two columns, got 's' for both",)),
        (
            {"y": np.where(ROWS == 4, np.nan, 1.0), "_truth_col": "y"},
            ("column 'y' (data.own.truth_col) is empty in row 4; true labels must be complete",),
        ),
    ],
)
def test_a_column_that_cannot_have_its_role_is_refused(
    read: Reader, given: dict[str, Any], words: tuple[str, ...]
) -> None:
    line = complaint(read, **given)
    for word in words:
        assert word in line


@pytest.mark.parametrize(
    ("again", "said"),
    [
        ([10, 11, 11], "3 rows repeat an earlier one; they are kept"),
        ([0], "1 rows repeat an earlier one, labeled rows among them; they are kept"),
    ],
)
def test_rows_that_repeat_are_counted_and_kept(read: Reader, again: list[int], said: str) -> None:
    rows = np.r_[ROWS, again]
    columns = {name: values[rows] for name, values in plain_columns().items()}
    table = read(**columns, s=np.r_[LABELED, np.zeros(len(again), int)], _rows=len(rows))
    assert len(table.x) == len(rows)
    assert said in table.notes


TEST: dict[str, Any] = {"b": [1, 2], "y": [1, 0], "a": [0.5, 0.25], "other": ["x", "y"]}
TRUTH = {"_truth_col": "y"}


class TestTestFile:
    def test_a_test_file_is_encoded_as_the_training_file_is(self, read: Reader) -> None:
        table = read(_test=TEST, **TRUTH)
        assert names(table) == ["a", "b"]
        assert table.x_test.tolist() == [[0.5, 1], [0.25, 2]]
        assert table.truth_test.tolist() == [1, 0]
        assert table.truth is None
        assert table.can_be_tested
        assert note(table, "test rows") == "my_test.csv: 2 test rows; 1 = positive, 0 = negative; 1 positive"

    def test_a_category_that_could_be_a_number_there_is_the_same_category(self, read: Reader) -> None:
        codes = np.array(["007", "10", "A"])[ROWS % 3]
        table = read(code=codes, _test={"y": [1, 0, 1], "code": ["10", None, "007"]}, _features="code", **TRUTH)
        assert table.columns[0].categories == ("007", "10", "A")
        assert table.x_test.tolist() == [[0, 1, 0], [0, 0, 0], [1, 0, 0]]

    def test_gaps_and_unseen_values_are_said(self, read: Reader) -> None:
        test = {**TEST, "a": [np.nan, 1], "c": ["x", "zz"]}
        table = read(c=np.array(["x", "y"])[np.roll(LABELED, 1)], _test=test, **TRUTH)
        assert "my_test.csv: 'c' has values that training did not have (zz); all zero" in table.notes
        assert "my_test.csv: missing values: 'a' 1" in note(table, "missing")

    @pytest.mark.parametrize(
        ("test", "more", "words"),
        [
            (TEST, {}, ("data.own.test=my_test.csv needs data.own.truth_col", "save the model and predict")),
            (TEST, {"_truth_col": "z"}, ("column of my_test.csv (data.own.truth_col) 'z'",)),
            ({**TEST, "y": [1, 3]}, TRUTH, ("my_test.csv: column 'y'", "has the values 1, 3")),
            ({"a": [1, 2], "y": [1, 0]}, TRUTH, ("my_test.csv lacks 'b'",)),
            ({**TEST, "a": ["u", "v"]}, TRUTH, ("my_test.csv: column 'a' is not numeric", "position 0")),
            ({**TEST, "a": [1, np.inf]}, TRUTH, ("my_test.csv: row 1 of column 'a' is inf",)),
            (
                {**plain_columns(), "late": LABELED * 2, "y": LABELED},
                {**TRUTH, "late": ROWS % 3},
                ("my_test.csv: 'late' says the same as 'y' in every row",),
            ),
        ],
    )
    def test_one_that_does_not_fit_is_refused(
        self, read: Reader, test: dict[str, Any], more: dict[str, Any], words: tuple[str, ...]
    ) -> None:
        line = complaint(read, _test=test, **more)
        for word in words:
            assert word in line

    def test_testing_on_the_training_file_is_said(self, read: Reader) -> None:
        table = read(y=LABELED, _test={**plain_columns(), "s": LABELED, "y": LABELED}, **TRUTH)
        assert "my_test.csv is the file that is trained on" in note(table, "no test")


class TestCopies:
    """A column that says what the labels say, under another name."""

    @pytest.mark.parametrize(
        "copy",
        [
            LABELED,
            1 - LABELED,
            LABELED == 1,
            np.where(LABELED, "P", "U"),
            np.where(LABELED, "checked", None),
            np.where(LABELED, None, "open"),
            np.where(LABELED, ["Ann", "Bob"] * 15, None),
            np.where(LABELED, "won", np.array(["lost", "open", "waiting"])[ROWS % 3]),
            np.where(LABELED, 3.5, ROWS % 4),
        ],
    )
    @pytest.mark.parametrize("of", ["s", "y"])
    def test_a_copy_of_the_labels_is_refused_with_what_to_do(self, read: Reader, copy: Any, of: str) -> None:
        given: dict[str, Any] = {"copy": copy}
        if of == "y":
            given |= {"y": LABELED, "_truth_col": "y", "s": (ROWS < 3).astype(int)}
        line = complaint(read, **given)
        assert line.startswith(f"my.csv: 'copy' says the same as '{of}' in every row")
        assert line.endswith("data.own.drop=copy")
        assert read(**given, _drop=("copy",)).labeled.any()

    @pytest.mark.parametrize(
        ("column", "labels"),
        [
            (np.where(ROWS < N_LABELED + 1, "P", "U"), LABELED),
            (np.where(LABELED, ROWS % 2, ROWS % 3), LABELED),
            (ROWS / 7, LABELED),
            (ROWS / 7, (ROWS == 4).astype(int)),  # a single labeled row is told apart by every number
        ],
    )
    def test_what_differs_in_one_row_is_a_feature(self, read: Reader, column: Any, labels: Any) -> None:
        assert "c" in names(read(c=column, s=labels))


class TestGroupsAndWeights:
    @pytest.mark.parametrize("suffix", ["csv", "parquet"])
    @pytest.mark.parametrize("of_rows", [ROWS // 3, np.array([f"patient {k // 3}" for k in range(N)])])
    def test_rows_of_one_group_have_one_number_and_the_column_is_no_feature(
        self, read: Reader, of_rows: Any, suffix: str
    ) -> None:
        table = read(g=of_rows, _groups="g", _suffix=suffix)
        assert table.groups is not None
        assert table.groups.tolist() == (ROWS // 3).tolist()
        assert names(table) == ["a", "b"]
        assert note(table, "never parted") == "'g': 10 groups, never parted; 0 of them have labeled and unlabeled rows"
        assert len({table.digest, read(g=ROWS // 2, _groups="g").digest, read().digest}) == 3

    def test_a_row_without_a_group_is_a_group_of_its_own(self, read: Reader) -> None:
        table = read(g=np.where(ROWS < 2, None, "x"), _groups="g")
        assert table.groups is not None
        assert len(set(table.groups.tolist())) == 3

    def test_weights_are_numbers_of_at_least_zero(self, read: Reader) -> None:
        table = read(w=ROWS / 2, _weights="w")
        assert table.weights is not None
        assert table.weights.tolist() == (ROWS / 2).tolist()
        assert note(table, "weights") == "'w': weights from 0 to 14.5, 1 of them 0"
        for bad in (-1, np.nan, "heavy"):
            line = complaint(read, w=[bad, *["1"] * (N - 1)], _weights="w")
            assert f"row 0 of column 'w' is {bad}; data.own.weights needs a finite number of at least 0" in line


# -------------------------------------------------------------------- positives in a file of their own


def reader() -> Tables:
    found = table_reader(registry())
    assert isinstance(found, Tables)
    return found


def read_both(path: Path, **own: Any) -> LabeledData:
    return read_user_table(reader().spec({"path": path, **own}))


@pytest.fixture
def parts(tmp_path: Path) -> tuple[Path, Path]:
    """Files of 40 positives, and of 160 other rows."""
    frame = pd.DataFrame({**plain_columns(200), "code": [f"m{k}" for k in range(200)]})
    labeled = frame.index % 5 == 0
    for name, some in (("pos.csv", labeled), ("all.csv", ~labeled)):
        frame[some].to_csv(tmp_path / name, index=False)
    return tmp_path / "pos.csv", tmp_path / "all.csv"


class TestPositivesOfTheirOwn:
    def test_both_files_together_are_one_table(self, parts: tuple[Path, Path]) -> None:
        positives, others = parts
        table, same = read_both(others, positives=positives), read_both(positives, unlabeled=others)
        assert table.digest == same.digest
        assert table.labeled.tolist() == [False] * 160 + [True] * 40
        assert (names(table), table.scheme) == (["a", "b"], "two-sample")
        frames = data(pd.read_csv(others), positives=pd.read_csv(positives))
        assert (frames._read().labeled.tolist(), frames.scheme) == (table.labeled.tolist(), "two-sample")
        assert data(positives, unlabeled=others).scheme == "two-sample"
        assert table.ids["code"].tolist()[:2] == ["m1", "m2"]

    def test_a_change_of_the_positives_is_another_table(self, parts: tuple[Path, Path]) -> None:
        positives, others = parts
        spec = reader().spec({"path": others, "positives": positives})
        positives.write_text(positives.read_text() + "1,2,x\n")
        assert "is not the file this spec was written for" in refusal(lambda: reader().spec(spec.model_dump()))

    @pytest.mark.parametrize("text", ["code\nm1\nm6\nm11\n", "m1\nm6\nm11", "m1\r\nm6\r\n\r\nm11\r\n"])
    def test_a_list_of_ids_labels_rows(self, parts: tuple[Path, Path], tmp_path: Path, text: str) -> None:
        (tmp_path / "ids.txt").write_text(text)
        table = read_both(parts[1], positives=tmp_path / "ids.txt")
        assert (table.ids["code"][table.labeled].tolist(), table.scheme) == (["m1", "m6", "m11"], "one-sample")
        assert note(table, "of 'code'") == "ids.txt: 3 ids of 'code', 3 rows labeled"

    def test_what_does_not_fit_is_refused(self, parts: tuple[Path, Path], tmp_path: Path) -> None:
        positives, others = parts
        (tmp_path / "ids.txt").write_text("x1\nx2\nx3\n")
        (tmp_path / "other.csv").write_text("p,q\n1,2\n")
        assert "0 of its 3 ids" in refusal(lambda: read_both(others, positives=tmp_path / "ids.txt"))
        assert "no column in common" in refusal(lambda: read_both(others, positives=tmp_path / "other.csv"))
        assert "not both" in refusal(lambda: read_both(others, positives=positives, unlabeled=others))
        assert "leave one out" in refusal(lambda: read_both(others, positives=positives, label_col="a"))
