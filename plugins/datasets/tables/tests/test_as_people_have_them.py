"""Tables in the shapes that people have: a case of each kind from public reports, and a second one of the same kind."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pubench_datasets_tables import files
from pubench_datasets_tables.encoding import column_uses, encode
from pubench_datasets_tables.files import read_table
from pubench_datasets_tables.user_table import Tables, read_user_table
from pyarrow import parquet
from refusals import refusal

from pubench import data
from pubench_cli.own_table import label_candidates
from pubench_core.data.labeled import POOLED, LabeledData
from pubench_core.data.table_reader import table_reader
from pubench_core.plugins.registry import registry

N = 200
LABELED = (np.arange(N) % 5 == 0).astype(int)
Written = Callable[..., Path]


def reader() -> Tables:
    found = table_reader(registry())
    assert isinstance(found, Tables)
    return found


def columns(seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {"a": rng.normal(size=N).round(3), "b": rng.normal(size=N).round(3)}


def file_of(folder: Path, name: str = "my.csv", **more: Any) -> Path:
    frame = pd.DataFrame({**columns(), "s": LABELED, **more})
    frame.to_parquet(folder / name) if name.endswith("parquet") else frame.to_csv(folder / name, index=False)
    return folder / name


def read(path: Path, **own: Any) -> LabeledData:
    return read_user_table(reader().spec({"path": path, **own}))


def said(table: LabeledData, word: str) -> str:
    """The one note that has this word."""
    (found,) = [note for note in table.notes if word in note]
    return found


def features(table: LabeledData) -> list[str]:
    return [name for column in table.columns for name in column.features]


class TestCodes:
    CODES = np.arange(N) % 7 * 3

    @pytest.mark.parametrize("name", ["my.csv", "my.parquet"])
    @pytest.mark.parametrize("word", ["soil", "so*"])
    def test_columns_that_are_said_to_be_codes_are_categories(self, tmp_path: Path, name: str, word: str) -> None:
        table = read(file_of(tmp_path, name, soil=self.CODES), label_col="s", codes=word)
        assert features(table)[2:] == [f"soil={code}" for code in sorted(map(str, range(0, 21, 3)))]
        assert table.x[:, 2:].sum(axis=1).tolist() == [1] * N

    @pytest.mark.parametrize("values", [CODES, CODES.astype(float), CODES.astype(str), CODES > 9])
    def test_a_declared_type_is_said_enough(self, tmp_path: Path, values: Any) -> None:
        declared = pd.Series(values).astype("category")
        words = sorted({str(int(v)) if isinstance(v, float) else str(v) for v in values.tolist()})
        for table in (
            read(file_of(tmp_path, "my.parquet", soil=declared), label_col="s"),
            data(pd.DataFrame({**columns(), "soil": declared, "s": LABELED}), "s")._read(),
        ):
            assert features(table)[2:] == [f"soil={word}" for word in words]

    def test_codes_keep_their_zeros_and_gaps_are_a_category(self, tmp_path: Path) -> None:
        path = file_of(tmp_path, icd=np.where(np.arange(N) < 3, "", np.char.zfill(self.CODES.astype(str), 3)))
        table = read(path, label_col="s", codes="icd")
        assert features(table)[2:4] == ["icd=000", "icd=003"]
        assert "icd=?" in features(table)
        again = encode(read_table(path, texts=("icd",)), table.columns, "new.csv")
        assert np.array_equal(again, table.x)

    @pytest.mark.parametrize(("name", "values"), [("soil", CODES), ("province", np.arange(N) % 12 + 101)])
    def test_whole_numbers_with_few_values_are_noted(self, tmp_path: Path, name: str, values: Any) -> None:
        note = said(read(file_of(tmp_path, **{name: values}), label_col="s"), "few values")
        assert f"'{name}' ({len(set(values.tolist()))} values)" in note
        assert note.endswith(f"data.own.codes={name}")

    @pytest.mark.parametrize("values", [np.arange(N) % 2, np.arange(N) / 7, np.arange(N) ** 2])
    def test_other_numbers_are_not(self, tmp_path: Path, values: Any) -> None:
        assert not [n for n in read(file_of(tmp_path, v=values), label_col="s").notes if "few values" in n]


class TestValuesThatStandApart:
    @pytest.mark.parametrize(("name", "value", "every"), [("cover", -9999, 20), ("band", 255, 9), ("t", -99, 50)])
    def test_a_value_that_means_missing_is_noted(self, tmp_path: Path, name: str, value: int, every: int) -> None:
        where = np.arange(N) % every == 0
        path = file_of(tmp_path, **{name: np.where(where, value, np.arange(N) / N)})
        note = said(read(path, label_col="s"), "far from")
        assert note.startswith(
            f"'{name}': {where.sum()} of {N} values are {value}, far from all others (0.005 to 0.995)"
        )
        assert note.endswith(f"data.own.missing_values={name}={value}")

    @pytest.mark.parametrize("value", [1e10, -1e30, 500.5])
    def test_a_wild_value_is_noted_with_its_row(self, tmp_path: Path, value: float) -> None:
        path = file_of(tmp_path, cover=np.r_[np.arange(N - 1) / N, value])
        assert f"'cover': row {N - 1} is {value:g}, far from all others" in said(read(path, label_col="s"), "far from")

    @pytest.mark.parametrize("seed", range(3))
    def test_usual_columns_are_not_noted(self, tmp_path: Path, seed: int) -> None:
        rng = np.random.default_rng(seed)
        path = file_of(
            tmp_path, e=rng.exponential(size=N), n=rng.poisson(3, N), r=rng.lognormal(size=N), z=LABELED[::-1]
        )
        assert not [note for note in read(path, label_col="s").notes if "far from" in note]

    @pytest.mark.parametrize("name", ["my.csv", "my.parquet"])
    @pytest.mark.parametrize("words", ["-9999", "cover=-9999", ("-9999", "a=0.126")])
    def test_values_that_are_said_to_mean_missing_are_gaps(self, tmp_path: Path, name: str, words: Any) -> None:
        where = np.arange(N) % 20 == 0
        path = file_of(tmp_path, name, cover=np.where(where, -9999.0, np.arange(N) / N))
        table = read(path, label_col="s", missing_values=words)
        assert np.isnan(table.x[:, 2]).tolist() == where.tolist()
        assert "'cover' 10" in said(table, "read as missing")
        assert not [note for note in table.notes if "far from" in note]
        new = encode(pd.DataFrame({"a": [1], "b": [2], "cover": [-9999]}), table.columns, "new")
        assert np.isnan(new[0]).tolist() == [False, False, True]

    def test_a_word_for_missing_leaves_numbers(self, tmp_path: Path) -> None:
        path = file_of(tmp_path, v=np.where(np.arange(N) < 3, "n.d.", columns(1)["a"].astype(str)))
        table = read(path, label_col="s", missing_values="n.d.")
        assert (features(table), int(np.isnan(table.x).sum())) == (["a", "b", "v"], 3)

    @pytest.mark.parametrize(("words", "wrong"), [("-1234", "-1234"), ("a=-9999", "a=-9999"), ("zz=1", "'zz'")])
    def test_a_value_that_is_nowhere_is_refused(self, tmp_path: Path, words: str, wrong: str) -> None:
        assert wrong in refusal(lambda: read(file_of(tmp_path), label_col="s", missing_values=words))


class TestFirstLine:
    @pytest.mark.parametrize(
        "rows", ["-0.2,1.5,0\n0.3,2.5,1\n1.1,0.5,0\n", "0,-2,0\n1,3,1\n2,2,0\n", "0,1,0\n3,4,1\n5,6,0\n"]
    )
    def test_a_first_row_that_is_data_is_refused_with_what_reads_it(self, written: Written, rows: str) -> None:
        path = written(rows)
        line = refusal(lambda: read_table(path))
        assert "line 1 looks like data" in line
        assert "data.own.no_header" in line
        frame = read_table(path, no_header=True)
        assert (list(frame), len(frame)) == (["c1", "c2", "c3"], 3)

    @pytest.mark.parametrize("names", ["0,1,2", "2010,2011,s", "p,q,r"])
    def test_numbers_may_be_names(self, written: Written, names: str) -> None:
        assert list(read_table(written(f"{names}\n1,2,3\n4,5,6\n"))) == names.split(",")

    def test_a_file_without_names_is_a_table(self, tmp_path: Path) -> None:
        path = tmp_path / "my.csv"
        pd.DataFrame({**columns(), "s": LABELED}).to_csv(path, index=False, header=False)
        table = read(path, label_col="c3", no_header=True)
        assert (features(table), int(table.labeled.sum())) == (["c1", "c2"], int(LABELED.sum()))


class TestIds:
    @pytest.mark.parametrize(
        ("name", "values"),
        [
            ("customer_id", np.r_[7, 1000 + 3 * np.arange(N - 1)]),
            ("kontonr", 50_000 + 17 * np.arange(N) ** 2),
            ("block", np.arange(N) + np.arange(N) // 3),
            ("account", 10**6 + np.arange(N) * 977),
            ("patient_no", np.where(np.arange(N) == 3, np.nan, 10**6 + np.arange(N) * 977)),
        ],
    )
    def test_numbers_of_rows_are_left_out_though_they_have_gaps_or_repeat(
        self, tmp_path: Path, name: str, values: Any
    ) -> None:
        table = read(file_of(tmp_path, **{name: values}), label_col="s")
        assert features(table) == ["a", "b"]
        assert "probably an id" in table.left_out[name]
        assert list(table.ids) == ([] if name == "patient_no" else [name])  # a gap names no row

    @pytest.mark.parametrize("name", ["balance", "area"])
    def test_a_quantity_that_nearly_always_differs_is_kept_and_noted(self, tmp_path: Path, name: str) -> None:
        table = read(file_of(tmp_path, **{name: np.arange(N) ** 3}), label_col="s")
        assert features(table) == ["a", "b", name]
        assert said(table, "nearly all differ").endswith(f"if they are ids: data.own.drop={name}")

    @pytest.mark.parametrize(
        ("name", "values"), [("patient", np.arange(N) // 4), ("site", [f"s{k // 3}" for k in range(N)])]
    )
    def test_ids_that_repeat_are_noted_as_groups(self, tmp_path: Path, name: str, values: Any) -> None:
        path = file_of(tmp_path, **{name: values})
        assert said(read(path, label_col="s"), "belong together").endswith(f"data.own.groups={name}")
        assert said(read(path, label_col="s", drop=name), "belong together").startswith(f"'{name}': {N} rows have")
        assert not [note for note in read(path, label_col="s", groups=name).notes if "belong together" in note]

    def test_likely_columns_of_labels_come_first(self) -> None:
        frame = pd.DataFrame({"square": [0, 1, 1], "flag": [1, None, 1], "is_known": [0, 1, 0], "n": [1, 2, 3]})
        assert label_candidates(column_uses(frame)) == ["is_known", "flag", "square"]


class TestNames:
    NAMES = ("E_form [eV]", "volume, A^3", "rho")

    @pytest.mark.parametrize(
        ("given", "kept"),
        [
            ({"features": "E_form [eV],rho"}, ["E_form [eV]", "rho"]),
            ({"drop": "volume, A^3"}, ["a", "b", "E_form [eV]", "rho"]),
            ({"drop": '"volume, A^3",rho'}, ["a", "b", "E_form [eV]"]),
            ({"drop": ["volume, A^3", "a"]}, ["b", "E_form [eV]", "rho"]),
            ({"features": "r*,volume, A^3"}, ["volume, A^3", "rho"]),
        ],
    )
    def test_a_name_is_a_name_first_and_a_pattern_second(self, tmp_path: Path, given: Any, kept: list[str]) -> None:
        path = file_of(tmp_path, **{name: columns(k + 1)["a"] for k, name in enumerate(self.NAMES)})
        assert features(read(path, label_col="s", **given)) == kept

    def test_a_value_may_have_a_comma(self, tmp_path: Path) -> None:
        path = file_of(tmp_path, s=np.where(LABELED, "yes, sure", "no"))
        assert read(path, label_col="s", positive_value="yes, sure").labeled.sum() == LABELED.sum()


class TestPositivesOfTheirOwn:
    @pytest.fixture
    def parts(self, tmp_path: Path) -> tuple[Path, Path]:
        frame = pd.DataFrame({**columns(), "code": [f"m{k}" for k in range(N)]})
        frame[LABELED == 1].to_csv(tmp_path / "pos.csv", index=False)
        frame[LABELED == 0].to_csv(tmp_path / "all.csv", index=False)
        return tmp_path / "pos.csv", tmp_path / "all.csv"

    def test_both_files_together_are_one_table(self, parts: tuple[Path, Path]) -> None:
        positives, others = parts
        table, same = read(others, positives=positives), read(positives, unlabeled=others)
        assert table.digest == same.digest
        assert table.labeled.tolist() == sorted(LABELED.astype(bool).tolist())
        assert (features(table), table.scheme) == (["a", "b"], "two-sample")
        frames = data(pd.read_csv(others), positives=pd.read_csv(positives))
        assert (frames._read().labeled.tolist(), frames.scheme) == (table.labeled.tolist(), "two-sample")
        assert data(positives, unlabeled=others).scheme == "two-sample"
        assert table.ids["code"].tolist()[:2] == ["m1", "m2"]

    def test_a_change_of_the_positives_is_another_table(self, parts: tuple[Path, Path]) -> None:
        positives, others = parts
        spec = reader().spec({"path": others, "positives": positives})
        positives.write_text(positives.read_text() + "1,2,x\n")
        assert "is not the file this spec was written for" in refusal(lambda: reader().spec(spec.model_dump()))

    @pytest.mark.parametrize("text", ["code\nm0\nm5\nm10\n", "m0\nm5\nm10", "m0\r\nm5\r\n\r\nm10\r\n"])
    def test_a_list_of_ids_labels_rows(self, tmp_path: Path, text: str) -> None:
        path = file_of(tmp_path, code=[f"m{k}" for k in range(N)])
        (tmp_path / "ids.txt").write_text(text)
        table = read(path, positives=tmp_path / "ids.txt", drop="s")
        assert (np.flatnonzero(table.labeled).tolist(), table.scheme) == ([0, 5, 10], "one-sample")
        assert said(table, "of 'code'") == "ids.txt: 3 ids of 'code', 3 rows labeled"

    def test_what_does_not_fit_is_refused(self, parts: tuple[Path, Path], tmp_path: Path) -> None:
        positives, others = parts
        (tmp_path / "ids.txt").write_text("x1\nx2\nx3\n")
        (tmp_path / "other.csv").write_text("p,q\n1,2\n")
        assert "0 of its 3 ids" in refusal(lambda: read(others, positives=tmp_path / "ids.txt"))
        assert "no column in common" in refusal(lambda: read(others, positives=tmp_path / "other.csv"))
        assert "not both" in refusal(lambda: read(others, positives=positives, unlabeled=others))
        assert "leave one out" in refusal(lambda: read(others, positives=positives, label_col="a"))


class TestManyLevels:
    @pytest.mark.parametrize("width", [130, 190])
    def test_frequent_values_are_kept_and_the_rest_is_one_feature(self, tmp_path: Path, width: int) -> None:
        levels = np.where(np.arange(N) < N - width + 2, np.arange(N) % 2, np.arange(N))
        path = file_of(tmp_path, shop=[f"m{k}" for k in levels])
        table = read(path, label_col="s", codes="shop")
        assert features(table)[-1] == f"shop={POOLED}"
        assert "frequent" in said(table, "one together")
        assert table.x[:, 2:].sum(axis=1).tolist() == [1] * N
        new = encode(pd.DataFrame({"a": [1], "b": [2], "shop": ["never seen"]}), table.columns, "new")
        assert new[0, 2:].tolist() == [0] * (table.x.shape[1] - 3) + [1]

    def test_texts_that_hardly_repeat_are_left_out_with_the_option(self, tmp_path: Path) -> None:
        path = file_of(tmp_path, note=[f"text {k}" if k > 20 else "none" for k in range(N)])
        assert read(path, label_col="s").left_out["note"].endswith("data.own.codes=note keeps the frequent ones")


class TestFormats:
    FRAME = pd.DataFrame({**columns(), "s": LABELED, "kind": np.where(np.arange(N) % 3, "x", "y")})

    @pytest.mark.parametrize("separator", ["\t", ",", ";", "|", "  "])
    def test_delimited_text_may_be_called_txt(self, tmp_path: Path, separator: str) -> None:
        text = self.FRAME.to_csv(index=False).replace(",", separator)
        (tmp_path / "my.txt").write_text(text)
        assert read_table(tmp_path / "my.txt").equals(self.FRAME)

    def test_json_lines(self, tmp_path: Path) -> None:
        self.FRAME.assign(zip="007").to_json(tmp_path / "my.jsonl", orient="records", lines=True)
        found = read_table(tmp_path / "my.jsonl")
        assert found.drop(columns="zip").equals(self.FRAME)
        assert found["zip"].tolist() == ["007"] * N
        for text in ("[1, 2]\n", "{bad\n", json.dumps([{"a": 1}]) + "\n3\n"):
            (tmp_path / "no.jsonl").write_text(text)
            assert "json lines" in refusal(lambda: read_table(tmp_path / "no.jsonl"))

    @pytest.mark.parametrize("start", [0, 1])
    def test_svmlight(self, written: Written, start: int) -> None:
        text = f"1 {start}:0.5 {start + 2}:2\n-1 {start + 1}:1.5 # a remark\n-1 {start}:1\n"
        frame = read_table(written(text, "my.svmlight"))
        assert frame.to_dict("list") == {"label": [1, -1, -1], "x_0": [0.5, 0, 1], "x_1": [0, 1.5, 0], "x_2": [2, 0, 0]}
        assert "is not svmlight" in refusal(lambda: read_table(written("a,b\n1,2\n", "no.libsvm")))

    def test_arff(self, written: Written) -> None:
        text = (
            "% a remark\n@RELATION r\n@attribute 'the size' numeric\n@ATTRIBUTE kind {a,'b c',d}\n"
            "@attribute class {0,1}\n@data\n1.5,a,1\n?,'b c',0\n2,?,0\n"
        )
        frame = read_table(written(text, "my.arff"))
        assert list(frame) == ["the size", "kind", "class"]
        assert frame["kind"].astype(object).tolist()[:2] == ["a", "b c"]
        assert frame.isna().sum().tolist() == [1, 1, 0]
        assert [frame[name].dtype.name for name in frame] == ["float64", "category", "category"]
        assert "sparse ARFF" in refusal(lambda: read_table(written(text.split("1.5")[0] + "{0 1}\n", "no.arff")))

    @pytest.mark.parametrize("text", ["a,b\n1,2\u2212\n", "v,b\n\u22121.5,1\n2\u00a0000,2\n"])
    def test_numbers_as_typographers_write_them(self, written: Written, text: str) -> None:
        values = read_table(written(text)).iloc[:, 0]
        assert values.tolist() in ([1], [-1.5, 2000])


class TestBounds:
    def test_a_file_that_fills_memory_is_refused(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Above 1 GiB; here, above 16 MiB."""
        monkeypatch.setattr(files, "_USUAL", 2**24)
        (tmp_path / "my.csv.gz").write_bytes(gzip.compress(b"1,2\n" * 2**23, 1))
        zeros = pa.chunked_array([pa.array(np.zeros(2**20, np.int8))] * 3)
        parquet.write_table(pa.table({"a": zeros}), tmp_path / "my.parquet")
        (tmp_path / "my.svmlight").write_text("1 5:1\n-1 90000000:1\n")
        for name in ("my.csv.gz", "my.parquet", "my.svmlight"):
            assert "GiB or more in memory" in refusal(lambda: read_table(tmp_path / name))  # noqa: B023
        with (tmp_path / "my.csv").open("wb") as file:
            file.truncate(2**31)
        assert "is not UTF-8 text" in refusal(lambda: read_table(tmp_path / "my.csv"))

    @pytest.mark.parametrize("separator", [",", ";"])
    def test_a_line_of_many_names_is_read(self, written: Written, separator: str) -> None:
        """Longer than the 131,072 characters that the module csv allows a field."""
        names = separator.join(f"gene_{k:025}" for k in range(5_000))
        assert len(names) > 131_072
        row = separator.join("1" * 5_000) + "\n"
        assert read_table(written(f"{names}\n{row * 20}")).shape == (20, 5_000)

    @pytest.mark.parametrize("cell", ["XFD1048576", "A5000", "ZZ2"])
    def test_a_stray_cell_of_a_sheet_is_named(self, tmp_path: Path, cell: str) -> None:
        openpyxl = pytest.importorskip("openpyxl")
        book = openpyxl.Workbook()
        for row in (["a", "b"], [1, 2], [3, 4]):
            book.active.append(row)
        book.active[cell] = 7
        book.save(tmp_path / "my.xlsx")
        if cell == "ZZ2":  # near enough: a column without a name
            assert read_table(tmp_path / "my.xlsx").shape == (2, 702)
        else:
            wrong = f"row {cell.lstrip('AXFD')} is far from the rows above it"
            assert wrong in refusal(lambda: read_table(tmp_path / "my.xlsx"))

    def test_formulas_without_a_value_are_said(self, excel: Callable[..., Path]) -> None:
        notes: list[str] = []
        frame = read_table(excel([["a", "b"], [1, "=A2+1"], [2, "=A3+1"], [3, 5]]), say=notes.append)
        assert frame["b"].isna().tolist() == [True, True, False]
        assert "2 formulas without a stored value are missing values" in notes[0]

    @pytest.mark.parametrize("name", ["my.csv", "my.csv.gz"])
    @pytest.mark.parametrize("end", ["7,8", "7"])
    def test_a_file_that_ends_in_the_middle_of_a_line_is_refused(self, written: Written, name: str, end: str) -> None:
        text = f"a,b,c\n1,2,3\n4,5,6\n{end}".encode()
        path = written(gzip.compress(text) if name.endswith("gz") else text, name)
        assert f"line 4: expected 3 fields, found {len(end.split(','))}" in refusal(lambda: read_table(path))
