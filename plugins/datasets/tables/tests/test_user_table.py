"""A user's table as PU data: who is labeled, what became of every column, and what was said about it."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pubench_datasets_tables.encoding import MAX_CATEGORIES, encode
from pubench_datasets_tables.held import sha256_of
from pubench_datasets_tables.user_table import read_user_table
from refusals import refusal

from pubench_core.data.labeled import Column, LabeledData, as_plain
from pubench_core.errors import RequestError
from pubench_core.specs import UserTableSpec

N, N_LABELED = 30, 6
LABELED = (np.arange(N) < N_LABELED).astype(int)

Read = Callable[..., LabeledData]
Written = Callable[..., Path]


def plain_columns() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {"a": rng.normal(size=N).round(3), "b": rng.integers(0, 5, N)}


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """``read(column=values, ...)``: that table, with two plain columns and labels ``s`` where none are given.

    ``_test``: columns of a test file; other names with an underscore are fields of the spec.
    """

    def write(name: str, columns: dict[str, Any]) -> Path:
        path = tmp_path / name
        frame = pd.DataFrame(columns)
        if name.endswith(".parquet"):
            frame.to_parquet(path)
        else:
            frame.to_csv(path, index=False)
        return path

    def do(*, _suffix: str = "csv", _test: dict[str, Any] | None = None, **given: Any) -> LabeledData:
        more = {name[1:]: value for name, value in given.items() if name.startswith("_")}
        columns = {name: value for name, value in given.items() if not name.startswith("_")}
        path = write(f"my.{_suffix}", {**plain_columns(), "s": LABELED, **columns})
        if _test is not None:
            test = write(f"my_test.{_suffix}", _test)
            more |= {"test": test, "test_sha256": sha256_of(test)}
        return read_file(path, **more)

    return do


def read_file(path: Path, **more: Any) -> LabeledData:
    return read_user_table(UserTableSpec(**{"path": path, "sha256": sha256_of(path), "label_col": "s", **more}))


def complaint(read: Read, **given: Any) -> str:
    return refusal(lambda: read(**given))


def note(table: LabeledData, word: str) -> str:
    """The one note with this word."""
    (found,) = [text for text in table.notes if word in text]
    return found


def names(table: LabeledData) -> list[str]:
    return [column.name for column in table.columns]


class TestLabels:
    @pytest.mark.parametrize(
        ("values", "word", "reading"),
        [
            (LABELED, None, "1 = labeled positive, 0 = unlabeled"),
            (LABELED.astype(float), None, "1.0 = labeled positive, 0.0 = unlabeled"),
            (np.where(LABELED, 1, -1), None, "1 = labeled positive, -1 = unlabeled"),
            (LABELED.astype(bool), None, "True = labeled positive, False = unlabeled"),
            (np.where(LABELED, "TRUE", "FALSE"), None, "True = labeled positive, False = unlabeled"),
            (np.where(LABELED, "yes", "no"), "yes", "yes = labeled positive, no = unlabeled"),
            (LABELED + 1, "2", "2 = labeled positive, 1 = unlabeled"),
            (LABELED + 1.0, "2", "2.0 = labeled positive, 1.0 = unlabeled"),
            (1 - LABELED, "0", "0 = labeled positive, 1 = unlabeled"),
            (1.0 - LABELED, "0", "0.0 = labeled positive, 1.0 = unlabeled"),
            (~LABELED.astype(bool), "false", "False = labeled positive, True = unlabeled"),
        ],
    )
    def test_two_values_are_read_and_the_reading_is_said(
        self, read: Read, values: Any, word: str | None, reading: str
    ) -> None:
        table = read(s=values, **({"_positive_value": word} if word else {}))
        assert table.labeled.tolist() == LABELED.astype(bool).tolist()
        assert f"my.csv: {N} rows; 's': {reading}; {N_LABELED} labeled positives, 24 unlabeled" == note(table, "rows;")

    @pytest.mark.parametrize("dtype", ["int8", "Int64", "boolean", "bool", "Float64", "category"])
    def test_labels_of_a_data_frame_are_read_in_every_dtype(self, read: Read, dtype: str) -> None:
        table = read(s=pd.Series(LABELED).astype(dtype), _suffix="parquet")
        assert table.labeled.sum() == N_LABELED

    @pytest.mark.parametrize(
        ("values", "words"),
        [
            (np.arange(N) % 3, ("the values 0, 1, 2; expected 1 and 0, 1 and -1, or true and false",)),
            (np.arange(N), ("the values 0, 1, 2, 3, 4 and 25 more",)),
            (
                np.where(LABELED, "yes", "no"),
                ("the values yes, no", "say which mean positive with data.own.positive_value"),
            ),
            (LABELED + 1, ("the values 2, 1", "say which mean positive with data.own.positive_value")),
            (
                np.where(LABELED, 0.0, np.nan),
                ("labels no row (1 = labeled positive, 0 = unlabeled, blank = unlabeled)",),
            ),
            (np.where(LABELED, "no", None), ("has the value no and blank cells", "data.own.positive_value=no")),
            (np.full(N, np.nan), ("is empty in every row; PU data need labeled positives",)),
            (np.zeros(N, int), ("labels no row (1 = labeled positive, 0 = unlabeled)", "need labeled positives")),
            (np.ones(N, int), ("labels every row (1 = labeled positive)", "need unlabeled rows")),
        ],
    )
    def test_other_labels_are_refused(self, read: Read, values: Any, words: tuple[str, ...]) -> None:
        line = complaint(read, s=values)
        assert line.startswith("my.csv: column 's'")
        for word in words:
            assert word in line

    @pytest.mark.parametrize("word", ["Yes", "1"])
    def test_a_positive_value_is_a_value_of_the_labels(self, read: Read, word: str) -> None:
        line = complaint(read, s=np.where(LABELED, "yes", "no"), _positive_value=word)
        assert f"has the values yes, no; data.own.positive_value={word} must name some of them and not all" in line

    @pytest.mark.parametrize(
        ("kinds", "words", "reading"),
        [
            (("type A", "type B", "none"), "type A,type B", "type A, type B = labeled positive, none = unlabeled"),
            ((3, 4, 0), "3,4", "3, 4 = labeled positive, 0 = unlabeled"),
        ],
    )
    def test_several_values_may_mean_positive(self, read: Read, kinds: Any, words: str, reading: str) -> None:
        values = np.where(LABELED, np.array(kinds)[np.arange(N) % 2], kinds[2])
        table = read(s=values, _positive_value=words)
        assert (table.labeled.tolist(), reading in table.notes[0]) == (LABELED.astype(bool).tolist(), True)

    @pytest.mark.parametrize(
        ("kinds", "words"),
        [
            ((1, 0, -1), {}),
            (("P", "U", "N"), {"_positive_value": "P", "_known_negative": "N"}),
            ((2, None, 0), {"_positive_value": "2", "_known_negative": "0"}),
        ],
    )
    def test_known_negatives_are_neither_labeled_nor_unlabeled(self, read: Read, kinds: Any, words: Any) -> None:
        negative = np.arange(N) >= N - 4
        values = [kinds[0] if one else kinds[2] if no else kinds[1] for one, no in zip(LABELED, negative, strict=True)]
        table = read(s=values, **words)
        assert table.labeled.tolist() == LABELED.astype(bool).tolist()
        assert table.known_negative is not None
        assert table.known_negative.tolist() == negative.tolist()
        assert table.problem("my").rows.tolist() == list(range(N - 4))
        assert f"{N_LABELED} labeled positives, 20 unlabeled, 4 known negatives" in note(table, "rows;")

    @pytest.mark.parametrize("values", [np.where(LABELED, "P", np.where(np.arange(N) < 15, "N", "U"))])
    def test_two_kinds_of_unlabeled_rows_are_noted(self, read: Read, values: Any) -> None:
        said = note(read(s=values, _positive_value="P"), "alike")
        assert "24 of N, U count as unlabeled alike" in said
        assert "data.own.known_negative=U" in said

    def test_a_positive_value_that_no_column_has_is_refused(self, read: Read) -> None:
        assert "data.own.positive_value=malignant is not a value of 's'" in complaint(read, _positive_value="malignant")

    @pytest.mark.parametrize(
        ("labels", "words"), [(np.where(LABELED, "P", "U"), "P,malignant"), (LABELED, "malignant")]
    )
    def test_each_column_of_texts_has_its_own_positive_value(self, read: Read, labels: Any, words: str) -> None:
        truth = np.where(np.arange(N) < 10, "malignant", "benign")
        table = read(s=labels, y=truth, _truth_col="y", _positive_value=words)
        assert (table.labeled.sum(), table.truth.sum()) == (N_LABELED, 10)

    def test_a_labeled_share_above_one_half_is_said(self, read: Read) -> None:
        assert "67 % of the rows are labeled" in note(read(s=(np.arange(N) < 20).astype(int)), "%")
        assert "%" not in " ".join(read(s=(np.arange(N) < 15).astype(int)).notes)

    @pytest.mark.parametrize("role", ["label_col", "groups"])
    def test_a_column_of_lists_says_nothing_of_rows(self, read: Read, role: str) -> None:
        line = complaint(read, lists=[[k] * (k % 3) for k in range(N)], _suffix="parquet", **{f"_{role}": "lists"})
        assert f"unknown column of my.parquet (data.own.{role}) 'lists'" in line


class TestTruth:
    def test_true_labels_are_read_and_said(self, read: Read) -> None:
        table = read(y=(np.arange(N) < 10).astype(float), _truth_col="y")
        assert table.truth.dtype == np.int8
        assert table.truth.tolist() == [1] * 10 + [0] * 20
        assert note(table, "'y'") == "'y': 1.0 = positive, 0.0 = negative; 10 positive, 20 negative"

    def test_labeled_rows_that_are_negative_are_said_and_kept(self, read: Read) -> None:
        table = read(y=(np.arange(N) >= 2).astype(int), _truth_col="y")
        assert "2 labeled rows are negative by 'y'; their labels are kept as given" in table.notes
        assert table.labeled.sum() == N_LABELED

    def test_most_labeled_rows_negative_asks_which_way_round_it_is(self, read: Read) -> None:
        table = read(y=1 - np.asarray(LABELED), _truth_col="y")
        said = next(text for text in table.notes if "negative by" in text)
        assert said.startswith(f"{N_LABELED} labeled rows")
        assert said.endswith("kept as given; is 'y' read the right way round? (data.own.positive_value)")

    def test_true_labels_are_never_a_feature(self, read: Read) -> None:
        for more in ({}, {"_features": "*"}, {"_features": "?,a"}):
            assert names(read(y=LABELED, _truth_col="y", **more)) == ["a", "b"]
        assert "(data.own.features) 'y'" in complaint(read, y=LABELED, _truth_col="y", _features="a,y")

    def test_naming_the_labels_as_truth_is_refused(self, read: Read) -> None:
        assert "data.own.label_col and data.own.truth_col must name two columns, got 's' for both" in complaint(
            read, _truth_col="s"
        )

    def test_a_gap_in_it_is_refused(self, read: Read) -> None:
        line = complaint(read, y=np.where(np.arange(N) == 4, np.nan, 1.0), _truth_col="y")
        assert "column 'y' (data.own.truth_col) is empty in row 4; true labels must be complete" in line


class TestNamedColumns:
    @pytest.mark.parametrize(
        ("more", "words"),
        [
            ({"_label_col": "S"}, ("(data.own.label_col) 'S'", "did you mean 's'?")),
            ({"_truth_col": "zzz"}, ("(data.own.truth_col) 'zzz'", "a, b, s")),
            ({"_drop": "zzz"}, ("(data.own.drop) 'zzz'", "a, b, s")),
            ({"_features": "emb_*"}, ("(data.own.features) 'emb_*'", "a, b")),
            ({"_features": "s"}, ("(data.own.features) 's'",)),
        ],
    )
    def test_one_that_is_not_there_is_refused(self, read: Read, more: dict[str, str], words: tuple[str, ...]) -> None:
        line = complaint(read, **more)
        for word in ("my.csv", *words):
            assert word in line


class TestFeatures:
    def test_numbers_stay_numbers_and_gaps_stay_gaps(self, read: Read) -> None:
        values = np.where(np.arange(N) == 3, np.nan, np.arange(N) / 7)
        table = read(v=values, _features="v")
        assert table.x.dtype == np.float32
        assert np.array_equal(table.x[:, 0], values.astype(np.float32), equal_nan=True)
        assert "missing values: 'v' 1; numbers get the training pool's median" in note(table, "missing")

    def test_texts_become_one_feature_per_value_in_alphabetical_order(self, read: Read) -> None:
        values = np.array(["red", "blue", "grün"])[np.arange(N) % 3]
        table = read(color=values, _features="color")
        assert table.columns == (Column("color", "category", ("blue", "grün", "red")),)
        assert table.columns[0].features == ["color=blue", "color=grün", "color=red"]
        assert np.array_equal(table.x, np.stack([values == v for v in ("blue", "grün", "red")], axis=1))
        assert "3 features: 0 numeric columns, 1 categorical as one-hot: 'color' (3)" in table.notes

    def test_a_missing_text_is_a_value_of_its_own(self, read: Read) -> None:
        table = read(c=np.where(np.arange(N) < 4, None, np.where(np.arange(N) < 9, "x", "y")), _features="c")
        assert table.columns[0].categories == ("?", "x", "y")
        assert table.x.sum(axis=0).tolist() == [4, 5, 21]
        assert np.isfinite(table.x).all()

    @pytest.mark.parametrize("suffix", ["csv", "parquet"])
    def test_truth_values_are_0_and_1_with_gaps_as_gaps(self, read: Read, suffix: str) -> None:
        table = read(t=pd.array([True, None, False] * 10, dtype="boolean"), _features="t", _suffix=suffix)
        assert table.columns[0].kind == "number"
        assert np.array_equal(table.x[:3, 0], [1, np.nan, 0], equal_nan=True)

    @pytest.mark.parametrize("dtype", ["category", "string", object])
    def test_texts_of_a_data_frame_are_categories_in_every_dtype(self, read: Read, dtype: Any) -> None:
        table = read(c=pd.Series(["x", "y", None] * 10, dtype=dtype), _features="c", _suffix="parquet")
        assert table.columns[0].categories == ("?", "x", "y")

    def test_a_table_is_the_same_features_in_every_format(self, read: Read, tmp_path: Path) -> None:
        colors = np.array(["u", "v"])[np.roll(LABELED, 1)]
        columns = {**plain_columns(), "s": LABELED, "t": np.arange(N) % 3 == 0, "c": colors}
        np.savez(tmp_path / "my.npz", **columns)
        every = [read(**columns), read(**columns, _suffix="parquet"), read_file(tmp_path / "my.npz")]
        assert len({table.x.tobytes() for table in every}) == 1
        assert every[0].columns == every[1].columns
        assert {c.name: c.features for c in every[0].columns} == {c.name: c.features for c in every[2].columns}

    @pytest.mark.parametrize(
        ("value", "right"),
        [(np.inf, "finite values"), (-np.inf, "finite values"), (1e300, "values up to 3.4e38, as 32 bits hold them")],
    )
    @pytest.mark.filterwarnings("error")
    def test_an_infinite_value_is_refused_with_its_place(self, read: Read, value: float, right: str) -> None:
        for others in (1.0, np.arange(N) / 7):
            line = complaint(read, v=np.where(np.arange(N) == 3, value, others))
            assert f"row 3 of column 'v' is {value:g}, expected {right}" in line


class TestLeftOut:
    def left_out(self, table: LabeledData, name: str) -> str:
        assert name not in names(table)
        return note(table, f"'{name}' (").split(f"'{name}' (", 1)[1].split(")", 1)[0]

    def test_numbers_with_signs_of_money(self, read: Read) -> None:
        table = read(price=[f"${1000 + 7 * k:,}" for k in range(N)])
        assert self.left_out(table, "price") == (
            "text: row 0 is '$1,000'; write plain numbers to have it read as numbers"
        )
        few = read(price=[f"{k % 3} %" for k in range(N)])
        assert note(few, "'price' is read as text: row 0 is '0 %'; write plain numbers")

    def test_a_constant_and_an_empty_column_but_not_one_of_a_value_and_gaps(self, read: Read) -> None:
        assert self.left_out(read(k=7), "k") == "constant"
        assert self.left_out(read(**{"Unnamed: 3": np.nan}), "Unnamed: 3") == "empty"
        assert "k" in names(read(k=np.where(np.arange(N) < 4, np.nan, 7.0)))

    @pytest.mark.parametrize(
        ("name", "values"),
        [
            ("who", [f"P{k:03}" for k in range(N)]),
            ("patient_id", np.random.default_rng(0).permutation(N) * 3 + 100),
            ("ID", np.arange(N) * 17),
            ("uuid", np.arange(N) * 17),
            ("Unnamed: 0", np.arange(N) * 17),
            ("count", np.random.default_rng(0).permutation(N) + 1000),
        ],
    )
    def test_what_is_probably_an_id_unless_it_is_named(self, read: Read, name: str, values: Any) -> None:
        assert self.left_out(read(**{name: values}), name).startswith("probably an id: every value differs")
        assert name not in names(read(**{name: values}, _features="*"))
        assert name in names(read(**{name: values}, _features=f"a,{name}"))

    @pytest.mark.parametrize(
        ("name", "values"),
        [
            ("width", np.arange(N) * 17),
            ("identity", np.arange(N) / 17),
            ("id", np.arange(N) / 17),
            ("patient_id", np.arange(N) // 2),
        ],
    )
    def test_what_does_not_is_kept(self, read: Read, name: str, values: Any) -> None:
        assert name in names(read(**{name: values}))

    def test_dates_and_times(self, read: Read) -> None:
        days = [datetime.date(2020, 1, 1) + datetime.timedelta(k) for k in range(N)]
        table = read(
            day=days,
            at=pd.date_range("2020-01-01", periods=N),
            zone=pd.date_range("2020-01-01", periods=N, tz="UTC"),
            took=pd.to_timedelta(np.arange(N), "h"),
            weekly=[days[k // 7] for k in range(N)],
            _suffix="parquet",
        )
        for name in ("day", "at", "zone", "took", "weekly"):
            assert self.left_out(table, name).startswith("a date or a time")

    def test_a_text_with_too_many_values(self, read: Read) -> None:
        n = MAX_CATEGORIES + 2
        many = {"a": np.random.default_rng(0).normal(size=n), "b": 0, "s": (np.arange(n) < 9).astype(int)}
        few = read(**many, c=[f"w{max(k, 2)}" for k in range(n)])
        assert f"'c' ({MAX_CATEGORIES})" in note(few, "categorical")
        table = read(**many, c=[f"w{max(k, 1)}" for k in range(n)])
        assert self.left_out(table, "c").startswith(f"text with {MAX_CATEGORIES + 1} different values")

    def test_numbers_spoilt_by_a_word_are_said_with_the_row(self, read: Read) -> None:
        """One 'n.d.' among laboratory values would otherwise make the column a category, or an id."""
        table = read(v=np.where(np.arange(N) == 3, "n.d.", plain_columns()["a"].astype(str)))
        reason = note(table, "'v'")
        assert (
            "29 of 30 values are numbers, row 3 is 'n.d.'; if that means missing: data.own.missing_values=n.d."
            in reason
        )
        assert "v" not in names(table)
        table = read(v=np.where(np.arange(N) == 3, "n.d.", (np.arange(N) % 5).astype(str)))
        assert "'v' is read as text: 29 of 30 values are numbers" in note(table, "n.d.")
        assert "'v' (6)" in note(table, "categorical")

    def test_a_file_without_a_feature_is_refused(self, read: Read) -> None:
        assert complaint(read, a=1, b=2).endswith("no column is left as a feature: 'a' (constant), 'b' (constant)")


class TestNumbersThatRoundingMerges:
    """Features are 32-bit floats, and a 64-bit one keeps 16 digits: what is lost is said, or not taken."""

    IDS = 2**60 + 10**9 * np.arange(N, dtype=np.int64) ** 2

    def test_whole_numbers_beyond_2_to_the_53_are_left_out_with_the_reason(self, read: Read) -> None:
        table = read(account=self.IDS)
        assert "account" not in names(table)
        assert "'account' (probably an id: every value differs;" in note(table, "left out: ")

    @pytest.mark.parametrize("suffix", ["csv", "parquet"])
    def test_one_that_is_named_is_kept_in_64_bits(self, read: Read, suffix: str) -> None:
        table = read(account=self.IDS, _features="a,account", _suffix=suffix)
        assert names(table) == ["a", "account"]
        assert (table.x.dtype, len(set(table.x[:, 1].tolist()))) == (np.float64, N)

    def test_codes_that_repeat_are_categories_to_the_last_digit(self, read: Read) -> None:
        """Two that are one number as floats are two categories."""
        codes = 2**60 + np.arange(N, dtype=np.int64) % 3
        assert len(set(codes.astype(float))) == 1
        table = read(shop=codes)
        assert table.columns[2] == Column("shop", "category", tuple(str(2**60 + k) for k in range(3)))
        assert table.x[:, 2:].sum(axis=0).tolist() == [10, 10, 10]
        assert "'shop' is read as text: whole numbers beyond 2^53" in note(table, "read as text")

    def test_merged_integers_above_64_bits_are_found(self, read: Read) -> None:
        several = [2**70 + k % (N - 1) for k in range(N)]
        assert "'account' is read as text: whole numbers beyond 2^53" in note(read(account=several), "read as text")

    @pytest.mark.parametrize("factor", [1, 2**43], ids=["small", "exact"])
    def test_smaller_ones_are_numbers_as_they_are(self, read: Read, factor: int) -> None:
        table = read(n=factor * np.arange(N) ** 2)
        assert names(table) == ["a", "b", "n"]
        assert table.x[:, 2].tolist() == [factor * k**2 for k in range(N)]
        assert not [line for line in table.notes if "'n'" in line]

    def test_large_measurements_are_numbers_without_a_word(self, read: Read) -> None:
        table = read(molecules=np.random.default_rng(0).uniform(1e20, 9e20, N))
        assert "molecules" in names(table)
        assert not [line for line in table.notes if "molecules" in line]

    @pytest.mark.parametrize("values", [1_700_000_000 + 7 * (np.arange(N) % 23), 1e9 + np.arange(N) / 1000])
    def test_values_that_32_bits_would_merge_are_kept_in_64(self, read: Read, values: Any) -> None:
        """Seconds since 1970 are 128 apart as 32-bit numbers."""
        table = read(at=values)
        assert (names(table), table.x.dtype) == (["a", "b", "at"], np.float64)
        assert len(set(table.x[:, 2].tolist())) == len(set(values.tolist()))
        assert table.columns[2].wide
        assert encode(pd.DataFrame({"at": values[:1]}), table.columns[2:], "new").tolist() == [[values[0]]]

    def test_a_positive_value_is_compared_to_the_last_digit(self, read: Read) -> None:
        table = read(s=np.where(LABELED, 2**60 + 1, 2**60), _positive_value=str(2**60 + 1))
        assert table.labeled.sum() == N_LABELED


@pytest.mark.parametrize(
    ("again", "said"),
    [
        ([10, 11, 11], "3 rows repeat an earlier one; they are kept"),
        ([0], "1 rows repeat an earlier one, labeled rows among them; they are kept"),
    ],
)
def test_rows_that_repeat_are_counted_and_kept(read: Read, again: list[int], said: str) -> None:
    rows = np.r_[np.arange(N), again]
    columns = {name: values[rows] for name, values in plain_columns().items()}
    table = read(**columns, s=np.r_[LABELED, np.zeros(len(again), int)])
    assert len(table.x) == len(rows)
    assert said in table.notes


TEST: dict[str, Any] = {"b": [1, 2], "y": [1, 0], "a": [0.5, 0.25], "other": ["x", "y"]}


class TestTestFile:
    def test_a_test_file_is_encoded_as_the_training_file_is(self, read: Read) -> None:
        table = read(_test=TEST, _truth_col="y")
        assert names(table) == ["a", "b"]
        assert table.x_test.tolist() == [[0.5, 1], [0.25, 2]]
        assert table.truth_test.tolist() == [1, 0]
        assert table.truth is None
        assert table.can_be_tested
        assert note(table, "test rows") == "my_test.csv: 2 test rows; 1 = positive, 0 = negative; 1 positive"

    def test_a_category_that_could_be_a_number_there_is_the_same_category(self, read: Read) -> None:
        codes = np.array(["007", "10", "A"])[np.arange(N) % 3]
        table = read(code=codes, _test={"y": [1, 0, 1], "code": ["10", None, "007"]}, _truth_col="y", _features="code")
        assert table.columns[0].categories == ("007", "10", "A")
        assert table.x_test.tolist() == [[0, 1, 0], [0, 0, 0], [1, 0, 0]]

    def test_gaps_and_unseen_values_are_said(self, read: Read) -> None:
        table = read(
            c=np.array(["x", "y"])[np.roll(LABELED, 1)],
            _test={**TEST, "a": [np.nan, 1], "c": ["x", "zz"]},
            _truth_col="y",
        )
        assert "my_test.csv: 'c' has values that training did not have (zz); all zero" in table.notes
        assert "my_test.csv: missing values: 'a' 1" in note(table, "missing")

    @pytest.mark.parametrize(
        ("test", "more", "words"),
        [
            (TEST, {}, ("data.own.test=my_test.csv needs data.own.truth_col", "save the model and predict")),
            (TEST, {"_truth_col": "z"}, ("column of my_test.csv (data.own.truth_col) 'z'",)),
            ({**TEST, "y": [1, 3]}, {"_truth_col": "y"}, ("my_test.csv: column 'y'", "has the values 1, 3")),
            ({"a": [1, 2], "y": [1, 0]}, {"_truth_col": "y"}, ("my_test.csv lacks 'b'",)),
            ({**TEST, "a": ["u", "v"]}, {"_truth_col": "y"}, ("my_test.csv: column 'a' is not numeric", "position 0")),
            ({**TEST, "a": [1, np.inf]}, {"_truth_col": "y"}, ("my_test.csv: row 1 of column 'a' is inf",)),
        ],
    )
    def test_one_that_does_not_fit_is_refused(
        self, read: Read, test: dict[str, Any], more: dict[str, str], words: tuple[str, ...]
    ) -> None:
        line = complaint(read, _test=test, **more)
        for word in words:
            assert word in line

    def test_testing_on_the_training_file_is_said(self, read: Read) -> None:
        columns = {**plain_columns(), "s": LABELED, "y": LABELED}
        table = read(y=LABELED, _test=columns, _truth_col="y")
        assert "my_test.csv is the file that is trained on" in note(table, "no test")


class TestEncoding:
    COLUMNS = (Column("a", "number"), Column("c", "category", ("?", "x", "10")))

    def test_an_encoding_is_recorded_as_plain_data(self) -> None:
        assert as_plain(self.COLUMNS)[1] == {"name": "c", "kind": "category", "categories": ["?", "x", "10"]}

    def test_a_date_is_no_number(self) -> None:
        frame = pd.DataFrame({"c": ["x"], "a": pd.to_datetime(["2020-01-01"])})
        with pytest.raises(RequestError, match=r"new\.csv: column 'a' holds dates or times; training had numbers"):
            encode(frame, self.COLUMNS, "new.csv")


class TestBlankLabels:
    @pytest.mark.parametrize("suffix", ["csv", "parquet"])
    @pytest.mark.parametrize(
        ("values", "more", "reading"),
        [
            (np.where(LABELED, 1.0, np.nan), {}, "1 = labeled positive, blank = unlabeled"),
            (pd.array([True] * N_LABELED + [None] * 24, "boolean"), {}, "True = labeled positive, blank = unlabeled"),
            (np.where(LABELED, "yes", None), {}, "yes = labeled positive, blank = unlabeled"),
            (np.where(LABELED, "no", None), {"_positive_value": "no"}, "no = labeled positive, blank = unlabeled"),
            (np.where(LABELED, 7.0, np.nan), {}, "7 = labeled positive, blank = unlabeled"),
        ],
    )
    def test_one_value_and_blank_cells_say_who_is_labeled(
        self, read: Read, values: Any, more: dict[str, str], reading: str, suffix: str
    ) -> None:
        found = read(_suffix=suffix, s=values, **more)
        assert found.labeled.tolist() == LABELED.tolist()
        assert f"my.{suffix}: {N} rows; 's': {reading}; 6 labeled positives, 24 unlabeled" in found.notes

    def test_blank_cells_count_as_the_second_value_and_are_reported(self, read: Read) -> None:
        found = read(s=np.where(LABELED, 1.0, np.where(np.arange(N) < 10, 0.0, np.nan)))
        assert found.labeled.tolist() == LABELED.tolist()
        assert note(found, "alike").startswith("'s': 20 blank cells and 4 of 0 count as unlabeled alike")

    @pytest.mark.parametrize("blank", ["", "  ", None, float("nan")])
    def test_a_text_that_nobody_sees_is_blank(self, read: Read, blank: Any) -> None:
        found = read(_suffix="parquet", s=pd.Series(["P"] * N_LABELED + [blank] * 24, dtype=object))
        assert found.labeled.tolist() == LABELED.tolist()


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
            np.where(LABELED, "won", np.array(["lost", "open", "waiting"])[np.arange(N) % 3]),
            np.where(LABELED, 3.5, np.arange(N) % 4),
        ],
    )
    @pytest.mark.parametrize("of", ["s", "y"])
    def test_a_copy_of_the_labels_is_refused_with_what_to_do(self, read: Read, copy: Any, of: str) -> None:
        given = {"copy": copy, "_drop": ()} if of == "s" else {"copy": copy, "y": LABELED, "_truth_col": "y"}
        if of == "y":
            given["s"] = (np.arange(N) < 3).astype(int)
        line = complaint(read, **given)
        assert line.startswith(f"my.csv: 'copy' says the same as '{of}' in every row")
        assert line.endswith("data.own.drop=copy")
        assert read(**{**given, "_drop": ("copy",)}).labeled.any()

    def test_a_copy_of_the_truth_in_the_test_file_is_refused(self, read: Read) -> None:
        test = {**plain_columns(), "late": LABELED * 2, "y": LABELED}
        line = complaint(read, late=np.arange(N) % 3, _test=test, _truth_col="y")
        assert line.startswith("my_test.csv: 'late' says the same as 'y' in every row")

    @pytest.mark.parametrize(
        "column",
        [
            np.where(np.arange(N) < N_LABELED + 1, "P", "U"),
            np.where(LABELED, np.arange(N) % 2, np.arange(N) % 3),
            np.arange(N) / 7,
        ],
    )
    def test_what_differs_in_one_row_is_a_feature(self, read: Read, column: Any) -> None:
        assert "c" in [found.name for found in read(c=column).columns]

    def test_a_single_labeled_row_is_told_apart_by_every_number(self, read: Read) -> None:
        found = read(s=(np.arange(N) == 4).astype(int), v=np.arange(N) / 7)
        assert "v" in [column.name for column in found.columns]


class TestIds:
    def test_what_is_left_out_as_an_id_names_the_rows_as_written(self, written: Written) -> None:
        rows = "".join(f"{k:05},C-{k},{k % 7},{int(k < 6)}\n" for k in range(N))
        found = read_file(written("customer_id,code,v,s\n" + rows))
        assert {name: list(values[:2]) for name, values in found.ids.items()} == {
            "customer_id": ["00000", "00001"],
            "code": ["C-0", "C-1"],
        }
        assert "the rows are named by 'customer_id', 'code'" in found.notes

    def test_a_dropped_column_of_different_values_names_the_rows(self, read: Read) -> None:
        columns = {"number": np.arange(N) * 17, "group": np.arange(N) // 2, "x": np.arange(N) / 3}
        assert list(read(**columns, _drop=tuple(columns)).ids) == ["number"]

    def test_a_few_rows_that_are_there_twice_do_not_cost_the_names(self, written: Written) -> None:
        rows = "".join(f"C-{k % 390},D-{k % 120},{k / 3:.2f},{int(k < 20)}\n" for k in range(400))
        found = read_file(written("customer,product,v,s\n" + rows))
        assert list(found.ids) == ["customer"]
        assert found.ids["customer"][395] == "C-5"
        assert set(found.left_out) == {"customer", "product"}

    def test_long_texts_do_not_name_rows(self, read: Read) -> None:
        assert read(comment=[f"{k} " + "words " * 20 for k in range(N)]).ids == {}


class TestDates:
    @pytest.mark.parametrize(
        "form", ["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%y", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%SZ", "%d/%m/%Y %I:%M %p"]
    )
    def test_dates_are_left_out_however_they_are_written(self, read: Read, form: str) -> None:
        days = [(datetime.datetime(2024, 3, 1) + datetime.timedelta(k % 20)).strftime(form) for k in range(N)]
        found = read(day=days)
        assert names(found) == ["a", "b"]
        assert found.left_out["day"].startswith("a date or a time; turn it into numbers")
        assert not [line for line in found.notes if "belong together" in line]

    def test_dates_may_be_categories(self, read: Read) -> None:
        days = np.array(["2024-03-01", "2024-04-01"])[np.arange(N) % 2]
        assert read(day=days, _codes=("day",)).columns[2].categories == ("2024-03-01", "2024-04-01")

    def test_dates_written_as_numbers_are_dates(self, read: Read) -> None:
        day = 20240301 + np.arange(N) % 9
        assert read(day=day).left_out["day"].startswith("a date or a time")
        assert "day" in names(read(day=day, _features=("day",)))
        assert "amount" in names(read(amount=20240399 + np.arange(N) % 9))

    def test_words_are_no_dates(self, read: Read) -> None:
        assert "c" in names(read(c=np.array(["1-2", "3.4.5.6"])[np.arange(N) % 2]))


def test_the_notes_of_a_table_begin_with_guesses(written: Written) -> None:
    rows = "".join(f"{k % 7},5|{'ja' if k < 6 else ''}\n" for k in range(N))
    notes = read_file(written(f"maß|s\n{rows}".encode("cp1252"))).notes
    assert notes[0].startswith("my.csv: read as Windows-1252 text")
    assert notes[1] == "my.csv: fields are separated by '|'; decimal commas in 'maß'"
    assert "ja = labeled positive, blank = unlabeled" in notes[2]


class TestGroupsAndWeights:
    @pytest.mark.parametrize("suffix", ["csv", "parquet"])
    @pytest.mark.parametrize("names", [np.arange(N) // 3, np.array([f"patient {k // 3}" for k in range(N)])])
    def test_rows_of_one_group_have_one_number_and_the_column_is_no_feature(
        self, read: Read, names: Any, suffix: str
    ) -> None:
        table = read(g=names, _groups="g", _suffix=suffix)
        assert table.groups is not None
        assert table.groups.tolist() == (np.arange(N) // 3).tolist()
        assert [column.name for column in table.columns] == ["a", "b"]
        assert note(table, "never parted") == "'g': 10 groups, never parted; 0 of them have labeled and unlabeled rows"

    def test_a_row_without_a_group_is_a_group_of_its_own(self, read: Read) -> None:
        table = read(g=np.where(np.arange(N) < 2, None, "x"), _groups="g")
        assert table.groups is not None
        assert len(set(table.groups.tolist())) == 3

    def test_groups_are_in_the_digest(self, read: Read) -> None:
        digests = {read(g=np.arange(N) // k, _groups="g").digest for k in (2, 3)}
        assert len({*digests, read().digest}) == 3

    def test_weights_are_numbers_of_at_least_zero(self, read: Read) -> None:
        table = read(w=np.arange(N) / 2, _weights="w")
        assert table.weights is not None
        assert table.weights.tolist() == (np.arange(N) / 2).tolist()
        assert note(table, "weights") == "'w': weights from 0 to 14.5, 1 of them 0"

    @pytest.mark.parametrize("bad", [-1, np.nan, "heavy"])
    def test_other_weights_are_refused(self, read: Read, bad: Any) -> None:
        line = complaint(read, w=[bad, *["1"] * (N - 1)], _weights="w")
        assert f"row 0 of column 'w' is {bad}; data.own.weights needs a finite number of at least 0" in line

    @pytest.mark.parametrize("role", ["groups", "weights"])
    def test_a_column_that_is_not_there_is_named(self, read: Read, role: str) -> None:
        assert f"data.own.{role}" in complaint(read, **{f"_{role}": "absent"})
