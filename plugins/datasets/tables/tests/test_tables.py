"""A user's table is read as a spreadsheet or a data frame meant it, and a file that is none says so in one line."""

from __future__ import annotations

import codecs
import datetime
import gzip
import io
import zipfile
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pubench_datasets_tables import files
from pubench_datasets_tables.files import read_table
from pubench_datasets_tables.held import sha256_of
from refusals import refusal

from pubench_core.data.table_reader import is_table_path
from pubench_core.errors import RequestError

PLAIN = "age,color,labeled\n31,red,1\n40,blue,0\n"


Written = Callable[..., Path]


def complaint(path: Path) -> str:
    """The one line that refuses a file; it names the file."""
    line = refusal(lambda: read_table(path))
    assert str(path) in line
    return line


def numbers(path: Path) -> dict[str, list[float]]:
    frame = read_table(path)
    assert all(pd.api.types.is_numeric_dtype(frame[name]) for name in frame)
    return {name: frame[name].tolist() for name in frame}


class TestWhatIsAFile:
    @pytest.mark.parametrize(
        "text",
        ["my.csv", "MY.CSV", "my.csv.gz", "my.tsv", "my.parquet", "my.npz", "my.xlsx", "./dir/my", r"dir\my", "."],
    )
    def test_a_name_with_a_dot_or_a_folder_is_a_file(self, text: str) -> None:
        assert is_table_path(text)

    @pytest.mark.parametrize("text", ["digits", "breast-cancer", "20newsgroups", "disdat/nsw14", "openml:61"])
    def test_a_key_is_not(self, text: str) -> None:
        assert not is_table_path(text)


class TestDelimitedText:
    @pytest.mark.parametrize(
        ("content", "name"),
        [
            pytest.param(PLAIN, "my.csv", id="comma"),
            pytest.param(PLAIN, "MY.CSV", id="upper-case-suffix"),
            pytest.param(PLAIN.replace(",", ";"), "my.csv", id="semicolon"),
            pytest.param(PLAIN.replace(",", "\t"), "my.csv", id="tab"),
            pytest.param(PLAIN.replace(",", "\t"), "my.tsv", id="tsv"),
            pytest.param(PLAIN.replace("\n", "\r\n"), "my.csv", id="windows"),
            pytest.param(PLAIN.replace("\n", "\r"), "my.csv", id="old-mac"),
            pytest.param(PLAIN.rstrip("\n"), "my.csv", id="no-last-line-end"),
            pytest.param("\n\n" + PLAIN + "\n\n", "my.csv", id="blank-lines"),
            pytest.param(b"\xef\xbb\xbf" + PLAIN.encode(), "my.csv", id="byte-order-mark"),
            pytest.param(gzip.compress(PLAIN.encode()), "my.csv.gz", id="gzip"),
            pytest.param(" age , color ,labeled \n 31 , red , 1 \n 40, blue ,0\n", "my.csv", id="spaces"),
            pytest.param('"age","color","labeled"\n"31","red","1"\n"40","blue","0"\n', "my.csv", id="quotes"),
            pytest.param("age,color,labeled\n31,red,1,\n40,blue,0,\n", "my.csv", id="separator-ends-a-row"),
        ],
    )
    def test_every_way_of_writing_one_table_is_that_table(
        self, written: Written, content: str | bytes, name: str
    ) -> None:
        frame = read_table(written(content, name))
        assert frame.columns.tolist() == ["age", "color", "labeled"]
        assert frame.values.tolist() == [[31, "red", 1], [40, "blue", 0]]
        assert [frame[c].dtype.kind for c in ("age", "labeled")] == ["i", "i"]

    def test_a_byte_order_mark_is_no_part_of_a_quoted_name(self, written: Written) -> None:
        assert list(read_table(written(b'\xef\xbb\xbf"a",b\n1,2\n'))) == ["a", "b"]

    def test_quotes_hold_separators_and_line_ends_in_names_and_values(self, written: Written) -> None:
        frame = read_table(written('a,"b\nc","d,e"\n1,"x\ny","p,q"\n'))
        assert list(frame) == ["a", "b\nc", "d,e"]
        assert frame.values.tolist() == [[1, "x\ny", "p,q"]]

    @pytest.mark.parametrize("separator", [";", "\t"])
    def test_decimal_commas_are_numbers(self, written: Written, separator: str) -> None:
        lines = ["a;b;c", "1,5;2;-0,25", "1;2,75;3", ";3;1,5E2"]
        found = numbers(written("\n".join(lines).replace(";", separator)))
        assert found["b"] == [2.0, 2.75, 3.0]
        assert found["c"] == [-0.25, 3.0, 150.0]
        assert found["a"][:2] == [1.5, 1.0]
        assert np.isnan(found["a"][2])

    def test_a_list_of_numbers_in_one_cell_is_no_decimal_comma(self, written: Written) -> None:
        assert read_table(written("a;b\n1,2,3;4\n1,5;5\n"))["a"].tolist() == ["1,2,3", "1,5"]

    def test_a_number_is_read_to_its_last_bit(self, written: Written) -> None:
        values = np.random.default_rng(0).normal(size=500) * 10.0 ** np.arange(-250, 250)
        assert numbers(written("a,b\n" + "".join(f"{v!r},1\n" for v in values.tolist())))["a"] == values.tolist()

    @pytest.mark.parametrize("gap", ["", "NA", "NaN", "null", "n/a", "?"])
    def test_an_empty_cell_is_a_gap_among_numbers(self, written: Written, gap: str) -> None:
        frame = read_table(written(f"a,b\n1.5,1\n{gap},2\n"))
        assert frame["a"].dtype == np.float64
        assert frame["a"].isna().tolist() == [False, True]

    @pytest.mark.parametrize("words", [("true", "false"), ("True", "False"), ("TRUE", "FALSE")])
    def test_truth_values_are_read_in_every_spelling(self, written: Written, words: tuple[str, str]) -> None:
        frame = read_table(written(f"a,b\n{words[0]},1\n{words[1]},2\n"))
        assert frame["a"].tolist() == [True, False]
        assert frame["a"].dtype == bool

    def test_a_column_without_a_name_gets_one(self, written: Written) -> None:
        """What a spreadsheet exports next to the table."""
        frame = read_table(written("a,b,,\n1,2,,\n3,4,,\n"))
        assert list(frame) == ["a", "b", "Unnamed: 2", "Unnamed: 3"]
        assert frame["Unnamed: 2"].isna().all()

    @pytest.mark.parametrize("start", [0, 1, 5])
    def test_rows_with_a_field_too_many_are_refused_and_never_shifted(self, written: Written, start: int) -> None:
        """Row numbers without a name in line 1, as R writes them."""
        rows = "".join(f"{start + k},{k},7\n" for k in range(4))
        assert "name every column" in complaint(written(f"a,b\n{rows}"))

    def test_texts_are_kept_as_written_in_columns_named_so(self, written: Written) -> None:
        frame = read_table(written("zip,n\n007,1\n010,2\n"), texts=("zip", "another"))
        assert frame["zip"].tolist() == ["007", "010"]
        assert frame["n"].tolist() == [1, 2]

    @pytest.mark.parametrize("header", ["a,b,a", '"a",b," a "', "a,b,b"])
    def test_a_name_that_is_there_twice_is_refused(self, written: Written, header: str) -> None:
        assert "appears twice; rename one" in complaint(written(f"{header}\n1,2,3\n"))

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            ("a\n1\n2\n", "a single column"),
            ("a,b,c\n1,2,3\n4,5,6,7\n", "Expected 3 fields in line 3, saw 4"),
            ('a,b\n1,"2\n3,4\n', "EOF inside string"),
            ("a,b\n", "has columns and no rows"),
            ("\n\n \n", "is empty"),
            (b"gr\x81\xf6\xdfe,b\n1,2\n", "is not UTF-8 text, nor in a known encoding; save it as UTF-8"),
            (b"gr\xf6\xdfe,b\n1,\x02\n", "is not UTF-8 text, nor in a known encoding"),
            (codecs.BOM_UTF16_LE + "a,b\n1,2\n".encode("utf-16-le")[:-1], "is not UTF-8 text, nor in a known encoding"),
            (b"PK\x03\x04\x14\x00\x06\xb4\xfc,\xff\xfe\n,\n", "is not UTF-8 text, nor in a known encoding"),
            (gzip.compress(b"a,b\n1,2\n", mtime=0), "is not UTF-8 text, nor in a known encoding"),
        ],
    )
    def test_text_that_is_no_table_says_why(self, written: Written, content: str | bytes, words: str) -> None:
        assert words in complaint(written(content))

    def test_a_letter_that_is_not_utf_8_is_found_far_down(self, written: Written) -> None:
        said: list[str] = []
        rows = b"a,b\n" + b"1,x\n" * 100_000 + "1,ö\n".encode("latin-1")
        assert read_table(written(rows), say=said.append)["b"].iloc[-1] == "ö"
        assert len(said) == 1

    @pytest.mark.parametrize("name", ["my.csv", "my.csv.gz"])
    def test_what_a_short_line_lacks_is_a_gap(self, written: Written, name: str) -> None:
        text = 'a,"b\nb",c\n1,2,3\n\n4,"5\n",\n6,7\n8\n'
        frame = read_table(written(gzip.compress(text.encode()) if name.endswith(".gz") else text, name))
        assert frame["c"].isna().tolist() == [False, True, True, True]

    def test_a_gzip_that_is_cut_short_or_none(self, written: Written) -> None:
        whole = gzip.compress("".join(f"{k},{k * k}\n" for k in range(2000)).encode())
        assert "a damaged one (Compressed file ended" in complaint(written(whole[: len(whole) // 2], "my.csv.gz"))
        assert "Not a gzipped file" in complaint(written(PLAIN, "my.csv.gz"))


@pytest.fixture
def parquet(tmp_path: Path) -> Callable[..., Path]:
    """``parquet(column=values, ...)``: a file of these columns and of a plain one."""

    def write(**columns: Any) -> Path:
        path = tmp_path / "my.parquet"
        pd.DataFrame({"n": range(len(next(iter(columns.values())))), **columns}).to_parquet(path)
        return path

    return write


class TestParquet:
    @pytest.mark.parametrize("dtype", ["Int64", "Float64", "boolean"])
    def test_gaps_are_gaps(self, parquet: Callable[..., Path], dtype: str) -> None:
        values = read_table(parquet(a=pd.array([1, None, 0], dtype=dtype)))["a"]
        assert values.isna().tolist() == [False, True, False]
        assert pd.api.types.is_numeric_dtype(values)

    def test_decimals_are_numbers(self, parquet: Callable[..., Path]) -> None:
        values = read_table(parquet(a=[Decimal("1.5"), None, Decimal("2.25")]))["a"]
        assert values.tolist()[::2] == [1.5, 2.25]
        assert np.isnan(values[1])

    def test_lists_of_numbers_become_columns_as_an_array_of_an_npz_does(self, parquet: Callable[..., Path]) -> None:
        """How embeddings are kept besides what they were made of."""
        found = numbers(parquet(emb=[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
        assert found == {"n": [0, 1], "emb_0": [1, 4], "emb_1": [2, 5], "emb_2": [3, 6]}

    @pytest.mark.parametrize("values", [[[1.0], [1.0, 2.0]], [["a"], ["b"]], [{"k": 1}, {"k": 2}], [[1.0], None]])
    def test_other_lists_are_left_out_and_said(self, parquet: Callable[..., Path], values: list[Any]) -> None:
        found, said = read_with_notes(parquet(a=values))
        assert list(found) == ["n"]
        assert said[0].startswith("my.parquet: 'a' holds lists")

    def test_row_names_without_a_name_are_no_column(self, tmp_path: Path) -> None:
        frame = pd.DataFrame({"a": range(6), "b": range(6)})
        frame[frame.a > 2].to_parquet(tmp_path / "my.parquet")
        assert read_table(tmp_path / "my.parquet").to_dict("list") == {"a": [3, 4, 5], "b": [3, 4, 5]}

    def test_a_list_and_a_column_of_one_name_are_refused(self, parquet: Callable[..., Path]) -> None:
        assert "'x_0' appears twice" in complaint(parquet(x=[[1.0], [2.0]], x_0=[1, 2]))

    def test_text_is_no_parquet(self, written: Written) -> None:
        assert "is not a parquet file, or a damaged one" in complaint(written(PLAIN, "my.parquet"))

    def test_damaged_notes_of_pandas_beside_the_table_do_not_matter(self, parquet: Callable[..., Path]) -> None:
        path = parquet(a=[1, 2])
        whole = path.read_bytes()
        assert b'"index_columns"' in whole
        path.write_bytes(whole.replace(b'"index_columns"', b'"index_columns:', 1))
        assert read_table(path)["a"].tolist() == [1, 2]


@pytest.fixture
def npz(tmp_path: Path) -> Callable[..., Path]:
    def write(**arrays: Any) -> Path:
        path = tmp_path / "my.npz"
        np.savez_compressed(path, **arrays)
        return path

    return write


class TestNpz:
    def test_arrays_are_columns_and_a_matrix_is_one_column_each(self, npz: Callable[..., Path]) -> None:
        found = numbers(npz(x=np.arange(6.0).reshape(3, 2), s=np.array([1, 0, 0], np.int8)))
        assert found == {"x_0": [0, 2, 4], "x_1": [1, 3, 5], "s": [1, 0, 0]}

    @pytest.mark.parametrize("dtype", [">f8", ">i4", "f2", "u1", "?"])
    def test_every_kind_of_number_is_read(self, npz: Callable[..., Path], dtype: str) -> None:
        frame = read_table(npz(a=np.array([0, 1, 1], dtype)))
        assert frame["a"].astype(float).tolist() == [0, 1, 1]
        assert frame["a"].nunique() == 2

    @pytest.mark.parametrize(
        ("arrays", "words"),
        [
            ({"a": np.array([1, "x", None], dtype=object)}, ("plain arrays", "Object arrays")),
            ({"a": np.ones(3), "s": 3}, ("array 's' has shape ()",)),
            ({"a": np.ones(3), "x": np.ones((3, 2, 2))}, ("array 'x' has shape (3, 2, 2)", "expected (n,) or (n, d)")),
            ({"x": np.ones((3, 2)), "s": np.ones(4)}, ("differ in length (x 3, s 4)",)),
            ({"x": np.ones((3, 2)), "x_0": np.ones(3)}, ("'x_0' appears twice",)),
            ({"a": np.ones(3, complex)}, ("'a' is complex128",)),
            ({"a": np.array([b"p", b"u"])}, ("'a' is |S1", "texts")),
            ({"a": np.zeros(3, [("f", "f4"), ("g", "i4")])}, ("'a' is [('f'",)),
            ({"x": np.ones((0, 3))}, ("no rows",)),
            ({}, ("holds no array",)),
        ],
    )
    def test_other_arrays_are_refused(
        self, npz: Callable[..., Path], arrays: dict[str, Any], words: tuple[str, ...]
    ) -> None:
        line = complaint(npz(**arrays))
        for word in words:
            assert word in line

    def test_text_an_array_alone_and_another_archive_are_no_npz(self, written: Written) -> None:
        path = written(PLAIN, "my.npz")
        assert "is not an npz file of plain arrays, or a damaged one" in complaint(path)
        with path.open("wb") as file:
            np.save(file, np.ones(3))
        assert "is not an npz file of plain arrays, or a damaged one" in complaint(path)
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("a.txt", "words")
        assert "'a.txt' is no array" in complaint(path)

    def test_an_array_that_says_it_is_larger_than_memory_is_one_line(self, tmp_path: Path) -> None:
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (2**50,)})
        with zipfile.ZipFile(tmp_path / "my.npz", "w") as parts:
            parts.writestr("a.npy", header.getvalue())
        assert "my.npz is not an npz file of plain arrays" in complaint(tmp_path / "my.npz")


class TestDamage:
    @pytest.mark.parametrize("suffix", ["csv", "csv.gz", "parquet", "npz"])
    def test_no_damage_is_ever_a_traceback(self, tmp_path: Path, suffix: str) -> None:
        """Cut, overwritten and with bytes inserted, twenty times each way."""
        rng = np.random.default_rng(0)
        frame = pd.DataFrame({"a": rng.normal(size=20), "t": rng.choice(["x", "yy"], 20), "b": rng.random(20) < 0.5})
        path = tmp_path / f"my.{suffix}"
        if suffix == "parquet":
            frame.to_parquet(path)
        elif suffix == "npz":
            np.savez_compressed(path, a=frame.a.to_numpy(), t=frame.t.to_numpy(str), x=rng.normal(size=(20, 2)))
        else:
            frame.to_csv(path, index=False)
        whole = path.read_bytes()
        refused = 0
        for k in range(60):
            at, size = int(rng.integers(len(whole))), int(rng.integers(1, 20))
            junk = rng.bytes(size)
            damaged = (whole[: at + 1], whole[:at] + junk + whole[at + size :], whole[:at] + junk + whole[at:])[k % 3]
            path.write_bytes(damaged)
            try:
                read_table(path)
            except RequestError:
                refused += 1
        assert refused


def test_a_fault_of_ours_is_not_called_a_damaged_file(
    excel: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """openpyxl raises TypeError at damaged XML; the code that goes on with its cells must not hide one of its own."""

    def faulty(*given: object, **named: object) -> None:
        raise TypeError("a fault of ours")

    monkeypatch.setattr(files, "column_names", faulty)
    with pytest.raises(TypeError, match="a fault of ours"):
        read_table(excel([["a", "b"], [1, 2]]))


class TestUnreadable:
    @pytest.mark.parametrize("suffix", ["csv", "tsv", "csv.gz", "parquet", "npz"])
    def test_an_empty_file(self, written: Written, suffix: str) -> None:
        assert complaint(written("", f"my.{suffix}")).endswith("is empty")

    @pytest.mark.parametrize("suffix", ["csv", "parquet", "npz"])
    def test_an_absent_file_and_a_folder(self, tmp_path: Path, suffix: str) -> None:
        path = tmp_path / f"my.{suffix}"
        assert "cannot read" in complaint(path)
        assert f"cannot read {path}: No such file" in refusal(lambda: sha256_of(path))
        path.mkdir()
        assert "cannot read" in complaint(path)
        assert f"cannot read {path}: Is a directory" in refusal(lambda: sha256_of(path))

    @pytest.mark.parametrize("name", ["my.xls", "my", "csv", "my.csv.zip"])
    def test_a_file_of_another_kind(self, written: Written, name: str) -> None:
        assert "expected a table that ends in .csv, .csv.gz" in complaint(written(PLAIN, name))


TEXT = "größe;preis;s\n1,5;2;1\n2,25;3;0\n4;4;\n"


def read_with_notes(path: Path) -> tuple[dict[str, list[Any]], list[str]]:
    said: list[str] = []
    return read_table(path, say=said.append).to_dict("list"), said


class TestGuesses:
    def test_what_is_usual_is_not_said(self, written: Written) -> None:
        assert read_with_notes(written(PLAIN))[1] == []
        assert read_with_notes(written(PLAIN.replace(",", "\t"), "my.tsv"))[1] == []

    @pytest.mark.parametrize(
        ("encoding", "note"),
        [
            ("utf-8-sig", ""),
            ("utf-16", "read as UTF-16 text"),
            ("latin-1", "read as Windows-1252 text, as it is not UTF-8; if letters look wrong, save it in UTF-8"),
            ("cp1252", "read as Windows-1252 text, as it is not UTF-8; if letters look wrong, save it in UTF-8"),
        ],
    )
    @pytest.mark.parametrize("compressed", [False, True])
    def test_encodings_are_guessed_and_said(
        self, written: Written, encoding: str, note: str, *, compressed: bool
    ) -> None:
        content = TEXT.encode(encoding)
        path = written(gzip.compress(content), "my.csv.gz") if compressed else written(content)
        found, said = read_with_notes(path)
        assert list(found) == ["größe", "preis", "s"]
        assert found["größe"] == [1.5, 2.25, 4.0]
        notes = [f"{path.name}: {note}"] if note else []
        assert said == [*notes, f"{path.name}: fields are separated by ';'; decimal commas in 'größe'"]

    @pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
    def test_utf_16_without_its_mark_is_refused(self, written: Written, encoding: str) -> None:
        assert "is not UTF-8 text" in complaint(written(TEXT.encode(encoding)))

    @pytest.mark.parametrize(("sign", "name"), [("|", "'|'"), (";", "';'"), ("\t", "tabs")])
    def test_separators_are_guessed_and_said(self, written: Written, sign: str, name: str) -> None:
        found, said = read_with_notes(written(PLAIN.replace(",", sign)))
        assert found == {"age": [31, 40], "color": ["red", "blue"], "labeled": [1, 0]}
        assert said == [f"my.csv: fields are separated by {name}"]

    def test_a_bar_in_a_name_separates_nothing_where_commas_do(self, written: Written) -> None:
        assert list(read_table(written("a|b|c,d\n1,2\n"))) == ["a|b|c", "d"]


class TestExcel:
    def test_without_openpyxl_the_extra_is_named(self, written: Written, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(files, "find_spec", lambda name: None)
        assert "pip install 'pubench-datasets-tables[excel]'" in complaint(written(b"PK", "my.xlsx"))

    def test_cells_are_what_they_are_in_excel(self, excel: Callable[..., Path]) -> None:
        day = datetime.datetime(2024, 3, 1)
        path = excel(
            [
                ["id", "size", "color", "day", "ok", "as text", "blank", None],
                ["007", 1, "red", day, True, "1,5", 1, 5],
                [" 8 ", 2.5, None, day, False, "2", None, None],
                [None] * 8,
                ["009", None, "?", day, None, "3", " ", None],
            ]
        )
        frame = read_table(path, texts=("id",))
        assert frame["id"].tolist() == ["007", "8", "009"]
        assert frame["size"].tolist()[:2] == [1, 2.5]
        assert frame["color"].isna().tolist() == [False, True, True]
        assert frame["day"].dtype.kind == "M"
        assert str(frame["ok"].dtype) == "boolean"
        assert frame["as text"].tolist() == [1.5, 2, 3]
        assert frame["blank"].isna().tolist() == [False, True, True]
        assert list(frame)[-1] == "Unnamed: 7"

    def test_the_first_sheet_is_read_and_empty_rows_are_left_out_which_is_said(
        self, excel: Callable[..., Path]
    ) -> None:
        found, said = read_with_notes(excel([["a", "b"], [1, 2], [None, None], [3, 4]], notes=[["x"]]))
        assert found == {"a": [1, 3], "b": [2, 4]}
        assert said == [
            "my.xlsx: the first of 2 sheets is read, 'Sheet'",
            "my.xlsx: 1 rows without any value are left out, and rows counted without them",
        ]

    @pytest.mark.parametrize(
        ("rows", "words"),
        [
            ([], "is empty"),
            ([["a", "b"]], "has columns and no rows"),
            ([["a", "a"], [1, 2]], "column 'a' appears twice"),
        ],
    )
    def test_what_is_no_table_is_refused(self, excel: Callable[..., Path], rows: list[list[Any]], words: str) -> None:
        assert words in complaint(excel(rows))

    def test_no_damage_is_ever_a_traceback(self, excel: Callable[..., Path]) -> None:
        path = excel([["a", "b"], *([k, f"t{k}"] for k in range(20))])
        whole, rng, count = path.read_bytes(), np.random.default_rng(0), 0
        with zipfile.ZipFile(path) as parts:
            names = parts.namelist()
        for k in range(30):
            at, junk = int(rng.integers(len(whole))), rng.bytes(12)
            damaged = (whole[: at + 1], whole[:at] + junk + whole[at + 12 :], without(whole, names[k % len(names)], k))
            path.write_bytes(damaged[k % 3])
            try:
                read_table(path)
            except RequestError:
                count += 1
        assert count > 10


def without(whole: bytes, name: str, seed: int) -> bytes:
    """The archive with one part cut in the middle or left out."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(whole)) as old, zipfile.ZipFile(made, "w") as new:
        for part in old.namelist():
            content = old.read(part)
            if part != name:
                new.writestr(part, content)
            elif seed % 2:
                new.writestr(part, content[: len(content) // 2])
    return made.getvalue()
