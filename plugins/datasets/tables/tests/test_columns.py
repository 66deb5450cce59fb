"""What becomes of every column of a user's table, and what is said about it.

The cases are those of public reports, with a second one of the same kind.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from made_tables import LABELED, ROWS, N, Reader, complaint, features, names, note, plain_columns, read_file
from pubench_datasets_tables.encoding import MAX_CATEGORIES, column_uses, encode
from pubench_datasets_tables.files import read_table

from pubench import data
from pubench_cli.own_table import label_candidates
from pubench_core.data.labeled import POOLED, Column, as_plain
from pubench_core.errors import RequestError

Written = Callable[..., Path]
MANY = 200
ROW = np.arange(MANY)
CODES = ROW % 7 * 3
RNG = np.random.default_rng(0)
SHUFFLED = RNG.permutation(N)
DAYS = [datetime.date(2020, 1, 1) + datetime.timedelta(k) for k in range(N)]
FORMS = ("%Y-%m-%d", "%d.%m.%Y", "%m/%d/%y", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%SZ", "%d/%m/%Y %I:%M %p")


def days(form: str) -> list[str]:
    return [(datetime.datetime(2024, 3, 1) + datetime.timedelta(k % 20)).strftime(form) for k in range(N)]


AN_ID, A_DATE = "probably an id: every value differs", "a date or a time; turn it into numbers"
IDS_BEYOND = 2**60 + 10**9 * np.arange(N, dtype=np.int64) ** 2
PARQUET: dict[str, Any] = {"_suffix": "parquet"}


@pytest.mark.parametrize(
    ("name", "values", "more", "reason"),
    [
        ("k", 7, {}, "constant"),
        ("Unnamed: 3", np.nan, {}, "empty"),
        (
            "price",
            [f"${1000 + 7 * k:,}" for k in range(N)],
            {},
            "text: row 0 is '$1,000'; write plain numbers to have it read as numbers",
        ),
        ("who", [f"P{k:03}" for k in range(N)], {}, AN_ID),
        *((name, ROWS * 17, {}, AN_ID) for name in ("ID", "uuid", "Unnamed: 0")),
        ("patient_id", SHUFFLED * 3 + 100, {}, AN_ID),
        ("count", SHUFFLED + 1000, {}, AN_ID),
        ("account", IDS_BEYOND, {}, f"{AN_ID};"),
        ("customer_id", np.r_[7, 1000 + 3 * np.arange(MANY - 1)], {"_rows": MANY}, AN_ID),
        ("kontonr", 50_000 + 17 * ROW**2, {"_rows": MANY}, AN_ID),
        ("block", ROW + ROW // 3, {"_rows": MANY}, AN_ID),
        ("patient_no", np.where(ROW == 3, np.nan, 10**6 + ROW * 977), {"_rows": MANY}, "probably an id: 199 of 200"),
        *(("day", days(form), {}, A_DATE) for form in FORMS),
        ("day", 20240301 + ROWS % 9, {}, A_DATE),
        ("day", DAYS, PARQUET, A_DATE),
        ("at", pd.date_range("2020-01-01", periods=N), PARQUET, A_DATE),
        ("zone", pd.date_range("2020-01-01", periods=N, tz="UTC"), PARQUET, A_DATE),
        ("took", pd.to_timedelta(ROWS, "h"), PARQUET, A_DATE),
        ("weekly", [DAYS[k // 7] for k in range(N)], PARQUET, A_DATE),
        (
            "v",  # would otherwise be an id
            np.where(ROWS == 3, "n.d.", plain_columns()["a"].astype(str)),
            {},
            "text: 29 of 30 values are numbers, row 3 is 'n.d.'; if that means missing: data.own.missing_values=n.d.",
        ),
        (
            "note",
            [f"text {k}" if k > 20 else "none" for k in range(MANY)],
            {"_rows": MANY},
            "text with 180 different values, more than 100 categories, of which few repeat; data.own.codes=note keeps",
        ),
    ],
)
def test_a_column_that_is_left_out_is_said_with_the_reason(
    read: Reader, name: str, values: Any, more: dict[str, Any], reason: str
) -> None:
    table = read(**{name: values}, **more)
    assert names(table) == ["a", "b"]
    assert table.left_out[name].startswith(reason)
    assert f"'{name}' ({reason}" in note(table, "left out: ")
    assert not [line for line in table.notes if "belong together" in line]
    if "an id" in reason:
        assert list(table.ids) == ([] if name == "patient_no" else [name])  # a gap names no row
        assert name not in names(read(**{name: values}, **more, _features="*"))
        assert name in names(read(**{name: values}, **more, _features=f"a,{name}"))


MONEY = "'v' is read as text: row 0 is '0 %'; write plain numbers"
BEYOND = "'v' is read as text: whole numbers beyond 2^53"


@pytest.mark.parametrize(
    ("values", "more", "kind", "said"),
    [
        (ROWS / 7, {}, "number", ""),
        (ROWS**2, {}, "number", ""),
        (2**43 * ROWS**2, {}, "number", ""),  # exact
        (np.random.default_rng(0).uniform(1e20, 9e20, N), {}, "number", ""),
        (np.where(ROWS < 4, np.nan, 7.0), {}, "number", "missing values: 'v' 4"),
        (np.where(ROWS == 3, np.nan, ROWS / 7), {}, "number", "'v' 1; numbers get the training pool's median"),
        (20240399 + ROWS % 9, {}, "number", None),  # no days
        (20240301 + ROWS % 9, {"_features": ("v",)}, "number", None),
        ([f"{k % 3} %" for k in range(N)], {}, "category", MONEY),
        (np.where(ROWS == 3, "n.d.", (ROWS % 5).astype(str)), {}, "category", "'v' is read as text: 29 of 30 values"),
        (2**60 + np.arange(N, dtype=np.int64) % 3, {}, "category", BEYOND),
        ([2**70 + k % (N - 1) for k in range(N)], {}, "category", BEYOND),
        (np.array(["2024-03-01", "2024-04-01"])[ROWS % 2], {"_codes": ("v",)}, "category", "'v' (2)"),
        (np.array(["1-2", "3.4.5.6"])[ROWS % 2], {}, "category", "'v' (2)"),
        (CODES, {"_rows": MANY}, "number", "'v' (7 values)"),
        (ROW % 12 + 101, {"_rows": MANY}, "number", "'v' (12 values)"),
        *((values, {"_rows": MANY}, "number", "") for values in (ROW % 2, ROW / 7)),
        (ROW**3, {"_rows": MANY}, "number", "if they are ids: data.own.drop=v"),
    ],
)
def test_what_a_column_is_and_what_is_said_of_it(
    read: Reader, values: Any, more: dict[str, Any], kind: str, said: str | None
) -> None:
    table = read(v=values, **more)
    assert table.columns[-1].name == "v"
    assert table.columns[-1].kind == kind
    about = [line for line in table.notes if "'v'" in line]
    assert said is None or (not about if said == "" else any(said in line for line in about)), about
    if kind == "number":
        assert np.array_equal(table.x[:, -1], np.asarray(values, table.x.dtype), equal_nan=True)


@pytest.mark.parametrize(
    ("name", "values"),
    [("width", ROWS * 17), ("identity", ROWS / 17), ("id", ROWS / 17), ("patient_id", ROWS // 2)],
)
def test_what_does_not_look_like_an_id_is_kept(read: Reader, name: str, values: Any) -> None:
    assert name in names(read(**{name: values}))


def test_a_table_without_a_feature_is_refused(read: Reader) -> None:
    assert complaint(read, a=1, b=2).endswith("no column is left as a feature: 'a' (constant), 'b' (constant)")


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e300])
@pytest.mark.filterwarnings("error")
def test_an_infinite_value_is_refused_with_its_place(read: Reader, value: float) -> None:
    right = "finite values" if np.isinf(value) else "values up to 3.4e38, as 32 bits hold them"
    for others in (1.0, ROWS / 7):
        line = complaint(read, v=np.where(ROWS == 3, value, others))
        assert f"row 3 of column 'v' is {value:g}, expected {right}" in line


class TestCategories:
    def test_texts_become_one_feature_per_value_in_alphabetical_order(self, read: Reader) -> None:
        values = np.array(["red", "blue", "grün"])[ROWS % 3]
        table = read(color=values, _features="color")
        assert table.columns == (Column("color", "category", ("blue", "grün", "red")),)
        assert table.columns[0].features == ["color=blue", "color=grün", "color=red"]
        assert np.array_equal(table.x, np.stack([values == v for v in ("blue", "grün", "red")], axis=1))
        assert "3 features: 0 numeric columns, 1 categorical as one-hot: 'color' (3)" in table.notes

    @pytest.mark.parametrize("dtype", ["category", "string", object, "csv"])
    def test_a_missing_text_is_a_value_of_its_own(self, read: Reader, dtype: Any) -> None:
        more = {"_suffix": "csv" if dtype == "csv" else "parquet"}
        values = pd.Series(["x", "y", None] * 10, dtype=object if dtype == "csv" else dtype)
        table = read(c=values, _features="c", **more)
        assert table.columns[0].categories == ("?", "x", "y")
        assert table.x.sum(axis=0).tolist() == [10, 10, 10]
        assert np.isfinite(table.x).all()

    @pytest.mark.parametrize("suffix", ["csv", "parquet"])
    def test_truth_values_are_0_and_1_with_gaps_as_gaps(self, read: Reader, suffix: str) -> None:
        table = read(t=pd.array([True, None, False] * 10, dtype="boolean"), _features="t", _suffix=suffix)
        assert table.columns[0].kind == "number"
        assert np.array_equal(table.x[:3, 0], [1, np.nan, 0], equal_nan=True)

    @pytest.mark.parametrize("suffix", ["csv", "parquet"])
    @pytest.mark.parametrize("word", ["soil", "so*"])
    def test_columns_that_are_said_to_be_codes_are_categories(self, read: Reader, suffix: str, word: str) -> None:
        table = read(soil=CODES, _codes=word, _rows=MANY, _suffix=suffix)
        assert features(table)[2:] == [f"soil={code}" for code in sorted(map(str, range(0, 21, 3)))]
        assert table.x[:, 2:].sum(axis=1).tolist() == [1] * MANY

    @pytest.mark.parametrize("values", [CODES, CODES.astype(float), CODES.astype(str), CODES > 9])
    def test_a_declared_type_is_said_enough(self, read: Reader, values: Any) -> None:
        declared = pd.Series(values).astype("category")
        words = sorted({str(int(v)) if isinstance(v, float) else str(v) for v in values.tolist()})
        frame = pd.DataFrame({**plain_columns(MANY), "soil": declared, "s": (ROW < 40).astype(int)})
        for table in (read(soil=declared, _rows=MANY, _suffix="parquet"), data(frame, "s")._read()):
            assert features(table)[2:] == [f"soil={word}" for word in words]

    def test_codes_keep_their_zeros_and_gaps_are_a_category(self, read: Reader) -> None:
        table = read(icd=np.where(ROW < 3, "", np.char.zfill(CODES.astype(str), 3)), _codes="icd", _rows=MANY)
        assert features(table)[2:4] == ["icd=000", "icd=003"]
        assert "icd=?" in features(table)
        again = encode(read_table(read.folder / "my.csv", texts=("icd",)), table.columns, "new.csv")
        assert np.array_equal(again, table.x)

    def test_codes_are_told_apart_to_the_last_digit(self, read: Reader) -> None:
        """Two that are one number as floats are two categories."""
        table = read(shop=2**60 + np.arange(N, dtype=np.int64) % 3)
        assert table.columns[2] == Column("shop", "category", tuple(str(2**60 + k) for k in range(3)))
        assert table.x[:, 2:].sum(axis=0).tolist() == [10, 10, 10]

    @pytest.mark.parametrize("width", [130, 190])
    def test_frequent_values_are_kept_and_the_rest_is_one_feature(self, read: Reader, width: int) -> None:
        levels = np.where(MANY - width + 2 > ROW, ROW % 2, ROW)
        table = read(shop=[f"m{k}" for k in levels], _codes="shop", _rows=MANY)
        assert features(table)[-1] == f"shop={POOLED}"
        assert "frequent" in note(table, "one together")
        assert table.x[:, 2:].sum(axis=1).tolist() == [1] * MANY
        new = encode(pd.DataFrame({"a": [1], "b": [2], "shop": ["never seen"]}), table.columns, "new")
        assert new[0, 2:].tolist() == [0] * (table.x.shape[1] - 3) + [1]

    def test_a_text_has_at_most_so_many_values(self, read: Reader) -> None:
        n = MAX_CATEGORIES + 2
        many = {"a": np.random.default_rng(0).normal(size=n), "b": 0, "s": (np.arange(n) < 9).astype(int)}
        few = read(**many, c=[f"w{max(k, 2)}" for k in range(n)])
        assert f"'c' ({MAX_CATEGORIES})" in note(few, "categorical")
        table = read(**many, c=[f"w{max(k, 1)}" for k in range(n)])
        assert table.left_out["c"].startswith(f"text with {MAX_CATEGORIES + 1} different values")


class TestIn64Bits:
    """Features are 32-bit floats, and a 64-bit one keeps 16 digits: what is lost is said, or not taken."""

    @pytest.mark.parametrize("suffix", ["csv", "parquet"])
    def test_a_large_id_that_is_named_is_kept_in_64_bits(self, read: Reader, suffix: str) -> None:
        table = read(account=IDS_BEYOND, _features="a,account", _suffix=suffix)
        assert names(table) == ["a", "account"]
        assert (table.x.dtype, len(set(table.x[:, 1].tolist()))) == (np.float64, N)

    @pytest.mark.parametrize("values", [1_700_000_000 + 7 * (ROWS % 23), 1e9 + ROWS / 1000])
    def test_values_that_32_bits_would_merge_are_kept_in_64(self, read: Reader, values: Any) -> None:
        """Seconds since 1970 are 128 apart as 32-bit numbers."""
        table = read(at=values)
        assert (names(table), table.x.dtype) == (["a", "b", "at"], np.float64)
        assert len(set(table.x[:, 2].tolist())) == len(set(values.tolist()))
        assert table.columns[2].wide
        assert encode(pd.DataFrame({"at": values[:1]}), table.columns[2:], "new").tolist() == [[values[0]]]

    def test_other_numbers_are_kept_in_32(self, read: Reader) -> None:
        assert read(v=ROWS / 7).x.dtype == np.float32


class TestValuesThatStandApart:
    @pytest.mark.parametrize(("name", "value", "every"), [("cover", -9999, 20), ("band", 255, 9), ("t", -99, 50)])
    def test_a_value_that_means_missing_is_noted(self, read: Reader, name: str, value: int, every: int) -> None:
        where = ROW % every == 0
        said = note(read(**{name: np.where(where, value, ROW / MANY)}, _rows=MANY), "far from")
        assert said.startswith(
            f"'{name}': {where.sum()} of 200 values are {value}, far from all others (0.005 to 0.995)"
        )
        assert said.endswith(f"data.own.missing_values={name}={value}")

    @pytest.mark.parametrize("value", [1e10, -1e30, 500.5])
    def test_a_wild_value_is_noted_with_its_row(self, read: Reader, value: float) -> None:
        table = read(cover=np.r_[np.arange(MANY - 1) / MANY, value], _rows=MANY)
        assert f"'cover': row 199 is {value:g}, far from all others" in note(table, "far from")

    @pytest.mark.parametrize("seed", range(3))
    def test_usual_columns_are_not_noted(self, read: Reader, seed: int) -> None:
        rng = np.random.default_rng(seed)
        usual = {"e": rng.exponential(size=MANY), "n": rng.poisson(3, MANY), "r": rng.lognormal(size=MANY)}
        table = read(**usual, z=ROW % 5 == 4, _rows=MANY)
        assert not [line for line in table.notes if "far from" in line]

    @pytest.mark.parametrize("suffix", ["csv", "parquet"])
    @pytest.mark.parametrize("words", ["-9999", "cover=-9999", ("-9999", "a=0.126")])
    def test_values_that_are_said_to_mean_missing_are_gaps(self, read: Reader, suffix: str, words: Any) -> None:
        where = ROW % 20 == 0
        cover = np.where(where, -9999.0, ROW / MANY)
        table = read(cover=cover, _rows=MANY, _missing_values=words, _suffix=suffix)
        assert np.isnan(table.x[:, 2]).tolist() == where.tolist()
        assert "'cover' 10" in note(table, "read as missing")
        assert not [line for line in table.notes if "far from" in line]
        new = encode(pd.DataFrame({"a": [1], "b": [2], "cover": [-9999]}), table.columns, "new")
        assert np.isnan(new[0]).tolist() == [False, False, True]

    def test_a_word_for_missing_leaves_numbers(self, read: Reader) -> None:
        table = read(v=np.where(ROWS < 3, "n.d.", (ROWS / 7).astype(str)), _missing_values="n.d.")
        assert (features(table), int(np.isnan(table.x).sum())) == (["a", "b", "v"], 3)

    @pytest.mark.parametrize(("words", "wrong"), [("-1234", "-1234"), ("a=-9999", "a=-9999"), ("zz=1", "'zz'")])
    def test_a_value_that_is_nowhere_is_refused(self, read: Reader, words: str, wrong: str) -> None:
        assert wrong in complaint(read, _missing_values=words)


class TestIds:
    @pytest.mark.parametrize(("name", "values"), [("patient", ROW // 4), ("site", [f"s{k // 3}" for k in ROW])])
    def test_ids_that_repeat_are_noted_as_groups(self, read: Reader, name: str, values: Any) -> None:
        given = {name: values, "_rows": MANY}
        assert note(read(**given), "belong together").endswith(f"data.own.groups={name}")
        assert note(read(**given, _drop=name), "belong together").startswith(f"'{name}': 200 rows have")
        assert not [line for line in read(**given, _groups=name).notes if "belong together" in line]

    def test_likely_columns_of_labels_come_first(self) -> None:
        frame = pd.DataFrame({"square": [0, 1, 1], "flag": [1, None, 1], "is_known": [0, 1, 0], "n": [1, 2, 3]})
        assert label_candidates(column_uses(frame)) == ["is_known", "flag", "square"]

    def test_what_is_left_out_as_an_id_names_the_rows_as_written(self, written: Written) -> None:
        rows = "".join(f"{k:05},C-{k},{k % 7},{int(k < 6)}\n" for k in range(N))
        found = read_file(written("customer_id,code,v,s\n" + rows))
        assert {name: list(values[:2]) for name, values in found.ids.items()} == {
            "customer_id": ["00000", "00001"],
            "code": ["C-0", "C-1"],
        }
        assert "the rows are named by 'customer_id', 'code'" in found.notes

    def test_a_dropped_column_of_different_values_names_the_rows(self, read: Reader) -> None:
        columns = {"number": ROWS * 17, "group": ROWS // 2, "x": ROWS / 3}
        assert list(read(**columns, _drop=tuple(columns)).ids) == ["number"]

    def test_a_few_rows_that_are_there_twice_do_not_cost_the_names(self, written: Written) -> None:
        rows = "".join(f"C-{k % 390},D-{k % 120},{k / 3:.2f},{int(k < 20)}\n" for k in range(400))
        found = read_file(written("customer,product,v,s\n" + rows))
        assert list(found.ids) == ["customer"]
        assert found.ids["customer"][395] == "C-5"
        assert set(found.left_out) == {"customer", "product"}

    def test_long_texts_do_not_name_rows(self, read: Reader) -> None:
        assert read(comment=[f"{k} " + "words " * 20 for k in range(N)]).ids == {}


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"_features": "E_form [eV],rho"}, ["E_form [eV]", "rho"]),
        ({"_drop": "volume, A^3"}, ["a", "b", "E_form [eV]", "rho"]),
        ({"_drop": '"volume, A^3",rho'}, ["a", "b", "E_form [eV]"]),
        ({"_drop": ["volume, A^3", "a"]}, ["b", "E_form [eV]", "rho"]),
        ({"_features": "r*,volume, A^3"}, ["volume, A^3", "rho"]),
    ],
)
def test_a_name_is_a_name_first_and_a_pattern_second(read: Reader, given: Any, kept: list[str]) -> None:
    columns = {name: np.sqrt(ROWS + k) for k, name in enumerate(("E_form [eV]", "volume, A^3", "rho"))}
    assert features(read(**columns, **given)) == kept


def test_a_table_is_the_same_features_in_every_format(read: Reader, tmp_path: Path) -> None:
    colors = np.array(["u", "v"])[np.roll(LABELED, 1)]
    columns = {**plain_columns(), "s": LABELED, "t": ROWS % 3 == 0, "c": colors}
    np.savez(tmp_path / "my.npz", **columns)
    every = [read(**columns), read(**columns, _suffix="parquet"), read_file(tmp_path / "my.npz")]
    assert len({table.x.tobytes() for table in every}) == 1
    assert every[0].columns == every[1].columns
    assert {c.name: c.features for c in every[0].columns} == {c.name: c.features for c in every[2].columns}


class TestEncoding:
    COLUMNS = (Column("a", "number"), Column("c", "category", ("?", "x", "10")))

    def test_an_encoding_is_recorded_as_plain_data(self) -> None:
        assert as_plain(self.COLUMNS)[1] == {"name": "c", "kind": "category", "categories": ["?", "x", "10"]}

    def test_a_date_is_no_number(self) -> None:
        frame = pd.DataFrame({"c": ["x"], "a": pd.to_datetime(["2020-01-01"])})
        with pytest.raises(RequestError, match=r"new\.csv: column 'a' holds dates or times; training had numbers"):
            encode(frame, self.COLUMNS, "new.csv")
