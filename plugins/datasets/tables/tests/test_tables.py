"""A user's table is read as a spreadsheet or a data frame meant it, and a file that is none says so in one line."""

from __future__ import annotations

import codecs
import datetime
import gzip
import io
import itertools
import zipfile
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pubench_datasets_tables import files
from pubench_datasets_tables.files import read_table
from pubench_datasets_tables.held import sha256_of
from refusals import refusal

from pubench_core.data.table_reader import is_table_path
from pubench_core.errors import RequestError

PLAIN = "age,color,labeled\n31,red,1\n40,blue,0\n"
TABLE: dict[str, list[Any]] = {"age": [31, 40], "color": ["red", "blue"], "labeled": [1, 0]}

Written = Callable[..., Path]
Make = Callable[..., Path]


def complaint(path: Path) -> str:
    """The one line that refuses a file; it names the file."""
    line = refusal(lambda: read_table(path))
    assert str(path) in line
    return line


def read_with_notes(path: Path, **how: Any) -> tuple[dict[str, list[Any]], list[str]]:
    """Columns, with None for gaps, and what was said."""
    said: list[str] = []
    frame = read_table(path, say=said.append, **how)
    return {name: [None if pd.isna(v) else v for v in frame[name]] for name in frame}, said


def assert_table(path: Path, expected: dict[str, list[Any]], **how: Any) -> None:
    """Columns are these, and of these types: numbers, truth values or texts."""
    found, _ = read_with_notes(path, **how)
    assert found == expected
    kinds = {int: np.integer, float: np.floating, bool: np.bool_, str: str}
    for name, values in expected.items():
        for value, right in zip(found[name], values, strict=True):
            assert right is None or isinstance(value, (type(right), kinds[type(right)])), name


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


# -------------------------------------------------------------------- delimited text, svmlight, ARFF, json lines

SHORT = 'a,"b\nb",c\n1,2,3\n\n4,"5\n",\n6,7\n8\n'
DECIMALS = "a;b;c\n1,5;2;-0,25\n1;2,75;3\n;3;1,5E2"
WITH_DECIMALS = {"a": [1.5, 1.0, None], "b": [2.0, 2.75, 3.0], "c": [-0.25, 3.0, 150.0]}


@pytest.mark.parametrize(
    ("content", "name", "expected"),
    [
        *(
            (content, "my.csv", TABLE)
            for content in (
                PLAIN,
                *(PLAIN.replace(",", sign) for sign in ";|\t"),
                *(PLAIN.replace("\n", end) for end in ("\r\n", "\r")),
                PLAIN.rstrip("\n"),
                "\n\n" + PLAIN + "\n\n",
                b"\xef\xbb\xbf" + PLAIN.encode(),
                " age , color ,labeled \n 31 , red , 1 \n 40, blue ,0\n",
                '"age","color","labeled"\n"31","red","1"\n"40","blue","0"\n',
                "age,color,labeled\n31,red,1,\n40,blue,0,\n",
            )
        ),
        (PLAIN, "MY.CSV", TABLE),
        (PLAIN.replace(",", "\t"), "my.tsv", TABLE),
        (gzip.compress(PLAIN.encode()), "my.csv.gz", TABLE),
        *((PLAIN.replace(",", sign), "my.txt", TABLE) for sign in ("\t", ",", ";", "|", "  ")),
        (b'\xef\xbb\xbf"a",b\n1,2\n', "my.csv", {"a": [1], "b": [2]}),  # the mark is no part of a quoted name
        ('a,"b\nc","d,e"\n1,"x\ny","p,q"\n', "my.csv", {"a": [1], "b\nc": ["x\ny"], "d,e": ["p,q"]}),
        *((DECIMALS.replace(";", sign), "my.csv", WITH_DECIMALS) for sign in ";\t"),
        ("a;b\n1,2,3;4\n1,5;5\n", "my.csv", {"a": ["1,2,3", "1,5"], "b": [4, 5]}),  # a list is no decimal comma
        *(
            (f"a,b\n1.5,1\n{gap},2\n", "my.csv", {"a": [1.5, None], "b": [1, 2]})
            for gap in ("", "NA", "NaN", "null", "n/a", "?")
        ),
        *(
            (f"a,b\n{t},1\n{f},2\n", "my.csv", {"a": [True, False], "b": [1, 2]})
            for t, f in (("true", "false"), ("True", "False"), ("TRUE", "FALSE"))
        ),
        ("a,b,,\n1,2,,\n", "my.csv", {"a": [1], "b": [2], "Unnamed: 2": [None], "Unnamed: 3": [None]}),
        (SHORT, "my.csv", {"a": [1, 4, 6, 8], "b\nb": [2.0, 5.0, 7.0, None], "c": [3.0, None, None, None]}),
        ("a|b|c,d\n1,2\n", "my.csv", {"a|b|c": [1], "d": [2]}),
        *(
            (f"{names}\n1,2,3\n4,5,6\n", "my.csv", dict(zip(names.split(","), ([1, 4], [2, 5], [3, 6]), strict=True)))
            for names in ("0,1,2", "2010,2011,s", "p,q,r")
        ),
        ("v,b\n\u22121.5,1\n2\u00a0000,2\n", "my.csv", {"v": [-1.5, 2000.0], "b": [1, 2]}),  # typographers' numbers
        *(
            (
                f"1 {k}:0.5 {k + 2}:2\n-1 {k + 1}:1.5 # a remark\n-1 {k}:1\n",
                "my.svmlight",
                {"label": [1, -1, -1], "x_0": [0.5, 0.0, 1.0], "x_1": [0.0, 1.5, 0.0], "x_2": [2.0, 0.0, 0.0]},
            )
            for k in (0, 1)
        ),
        ('{"a": 1.5, "zip": "007"}\n{"a": 2.5, "zip": "8"}\n', "my.jsonl", {"a": [1.5, 2.5], "zip": ["007", "8"]}),
    ],
    ids=itertools.count(),
)
def test_text_is_read_as_it_was_meant(
    written: Written, content: str | bytes, name: str, expected: dict[str, list[Any]]
) -> None:
    assert_table(written(content, name), expected)
    if name == "my.csv" and isinstance(content, str):
        assert_table(written(gzip.compress(content.encode()), "my.csv.gz"), expected)


def test_arff(written: Written) -> None:
    text = (
        "% a remark\n@RELATION r\n@attribute 'the size' numeric\n@ATTRIBUTE kind {a,'b c',d}\n"
        "@attribute class {0,1}\n@data\n1.5,a,1\n?,'b c',0\n2,?,0\n"
    )
    frame = read_table(written(text, "my.arff"))
    assert list(frame) == ["the size", "kind", "class"]
    assert frame["kind"].astype(object).tolist()[:2] == ["a", "b c"]
    assert frame.isna().sum().tolist() == [1, 1, 0]
    assert [frame[name].dtype.name for name in frame] == ["float64", "category", "category"]
    assert "sparse ARFF" in complaint(written(text.split("1.5")[0] + "{0 1}\n", "no.arff"))


@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        *(
            (content, "my.csv", words)
            for content, words in (
                ("a\n1\n2\n", "a single column"),
                ("a,b,c\n1,2,3\n4,5,6,7\n", "Expected 3 fields in line 3, saw 4"),
                ('a,b\n1,"2\n3,4\n', "EOF inside string"),
                ("a,b\n", "has columns and no rows"),
                ("\n\n \n", "is empty"),
                (b"gr\x81\xf6\xdfe,b\n1,2\n", "is not UTF-8 text, nor in a known encoding; save it as UTF-8"),
                (b"gr\xf6\xdfe,b\n1,\x02\n", "is not UTF-8 text, nor in a known encoding"),
                (codecs.BOM_UTF16_LE + "a,b\n1,2\n".encode("utf-16-le")[:-1], "is not UTF-8 text, nor in a known"),
                *(("a,b\n1,2\n".encode(code), "is not UTF-8 text") for code in ("utf-16-le", "utf-16-be")),
                (b"PK\x03\x04\x14\x00\x06\xb4\xfc,\xff\xfe\n,\n", "is not UTF-8 text, nor in a known encoding"),
                (gzip.compress(b"a,b\n1,2\n", mtime=0), "is not UTF-8 text, nor in a known encoding"),
                *((f"{header}\n1,2,3\n", "appears twice; rename one") for header in ("a,b,a", '"a",b," a "', "a,b,b")),
                # row numbers without a name in line 1, as R writes them, shift nothing
                *(("a,b\n" + "".join(f"{s + k},{k},7\n" for k in range(4)), "name every column") for s in (0, 1, 5)),
                *(
                    (f"{row}\n{row}\n", "line 1 looks like data")
                    for row in ("-0.2,1.5,0\n0.3,2.5,1", "0,-2,0\n1,3,1", "0,1,0\n3,4,1")
                ),
                *(
                    (f"a,b,c\n1,2,3\n{end}", f"line 3: expected 3 fields, found {end.count(',') + 1}")
                    for end in ("7,8", "7")
                ),
            )
        ),
        *(("", f"my.{suffix}", "is empty") for suffix in ("csv", "tsv", "csv.gz", "parquet", "npz")),
        *(
            (PLAIN, name, "expected a table that ends in .csv, .csv.gz")
            for name in ("my.xls", "my", "csv", "my.csv.zip")
        ),
        (PLAIN, "my.parquet", "is not a parquet file, or a damaged one"),
        (PLAIN, "my.npz", "is not an npz file of plain arrays, or a damaged one"),
        (PLAIN, "my.csv.gz", "Not a gzipped file"),
        (gzip.compress(b"1,2\n" * 2000)[:30], "my.csv.gz", "a damaged one (Compressed file ended"),
        *((text, "no.jsonl", "json lines") for text in ("[1, 2]\n", "{bad\n", '[{"a": 1}]\n3\n')),
        ("a,b\n1,2\n", "no.libsvm", "is not svmlight"),
    ],
    ids=itertools.count(),
)
def test_what_is_no_table_says_why(written: Written, content: str | bytes, name: str, words: str) -> None:
    assert words in complaint(written(content, name))
    if name == "my.csv" and isinstance(content, str):
        assert words in complaint(written(gzip.compress(content.encode()), "my.csv.gz"))


class TestDelimitedText:
    def test_a_number_is_read_to_its_last_bit(self, written: Written) -> None:
        values = np.random.default_rng(0).normal(size=500) * 10.0 ** np.arange(-250, 250)
        frame = read_table(written("a,b\n" + "".join(f"{v!r},1\n" for v in values.tolist())))
        assert frame["a"].tolist() == values.tolist()

    def test_texts_are_kept_as_written_in_columns_named_so(self, written: Written) -> None:
        path = written("zip,n\n007,1\n010,2\n")
        assert_table(path, {"zip": ["007", "010"], "n": [1, 2]}, texts=("zip", "another"))

    def test_a_letter_that_is_not_utf_8_is_found_far_down(self, written: Written) -> None:
        found, said = read_with_notes(written(b"a,b\n" + b"1,x\n" * 100_000 + "1,ö\n".encode("latin-1")))
        assert found["b"][-1] == "ö"
        assert len(said) == 1

    def test_a_file_without_names_is_read_if_that_is_said(self, written: Written) -> None:
        path = written("-0.2,1.5,0\n0.3,2.5,1\n")
        assert "data.own.no_header" in complaint(path)
        assert_table(path, {"c1": [-0.2, 0.3], "c2": [1.5, 2.5], "c3": [0, 1]}, no_header=True)

    @pytest.mark.parametrize("separator", [",", ";"])
    def test_a_line_of_many_names_is_read(self, written: Written, separator: str) -> None:
        """Longer than the 131,072 characters that the module csv allows a field."""
        names = separator.join(f"gene_{k:025}" for k in range(5_000))
        assert len(names) > 131_072
        row = separator.join("1" * 5_000) + "\n"
        assert read_table(written(f"{names}\n{row * 20}")).shape == (20, 5_000)


def test_a_file_that_fills_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Above 1 GiB; here, above 16 MiB."""
    monkeypatch.setattr(files, "_USUAL", 2**24)
    (tmp_path / "my.csv.gz").write_bytes(gzip.compress(b"1,2\n" * 2**23, 1))
    zeros = pa.chunked_array([pa.array(np.zeros(2**20, np.int8))] * 3)
    pq.write_table(pa.table({"a": zeros}), tmp_path / "my.parquet")
    (tmp_path / "my.svmlight").write_text("1 5:1\n-1 90000000:1\n")
    for name in ("my.csv.gz", "my.parquet", "my.svmlight"):
        assert "GiB or more in memory" in complaint(tmp_path / name)
    with (tmp_path / "my.csv").open("wb") as file:
        file.truncate(2**31)
    assert "is not UTF-8 text" in complaint(tmp_path / "my.csv")


# -------------------------------------------------------------------- parquet


@pytest.fixture
def parquet(tmp_path: Path) -> Make:
    """``parquet(column=values, ...)``: a file of these columns and of a plain one."""

    def write(**columns: Any) -> Path:
        path = tmp_path / "my.parquet"
        pd.DataFrame({"n": range(len(next(iter(columns.values())))), **columns}).to_parquet(path)
        return path

    return write


class TestParquet:
    @pytest.mark.parametrize("dtype", ["Int64", "Float64", "boolean"])
    def test_gaps_are_gaps(self, parquet: Make, dtype: str) -> None:
        values = read_table(parquet(a=pd.array([1, None, 0], dtype=dtype)))["a"]
        assert values.isna().tolist() == [False, True, False]
        assert pd.api.types.is_numeric_dtype(values)

    @pytest.mark.parametrize(
        ("columns", "expected"),
        [
            ({"a": [Decimal("1.5"), None, Decimal("2.25")]}, {"n": [0, 1, 2], "a": [1.5, None, 2.25]}),
            # embeddings that are kept next to what they were made of
            ({"e": [[1.0, 2.0], [4.0, 5.0]]}, {"n": [0, 1], "e_0": [1.0, 4.0], "e_1": [2.0, 5.0]}),
        ],
    )
    def test_decimals_are_numbers_and_lists_are_columns(self, parquet: Make, columns: Any, expected: Any) -> None:
        assert_table(parquet(**columns), expected)

    @pytest.mark.parametrize("values", [[[1.0], [1.0, 2.0]], [["a"], ["b"]], [{"k": 1}, {"k": 2}], [[1.0], None]])
    def test_other_lists_are_left_out_and_said(self, parquet: Make, values: list[Any]) -> None:
        found, said = read_with_notes(parquet(a=values))
        assert list(found) == ["n"]
        assert said[0].startswith("my.parquet: 'a' holds lists")

    def test_row_names_without_a_name_are_no_column(self, tmp_path: Path) -> None:
        frame = pd.DataFrame({"a": range(6), "b": range(6)})
        frame[frame.a > 2].to_parquet(tmp_path / "my.parquet")
        assert_table(tmp_path / "my.parquet", {"a": [3, 4, 5], "b": [3, 4, 5]})

    def test_a_list_and_a_column_of_one_name_are_refused(self, parquet: Make) -> None:
        assert "'x_0' appears twice" in complaint(parquet(x=[[1.0], [2.0]], x_0=[1, 2]))

    def test_damaged_notes_of_pandas_beside_the_table_do_not_matter(self, parquet: Make) -> None:
        path = parquet(a=[1, 2])
        whole = path.read_bytes()
        assert b'"index_columns"' in whole
        path.write_bytes(whole.replace(b'"index_columns"', b'"index_columns:', 1))
        assert read_table(path)["a"].tolist() == [1, 2]


# -------------------------------------------------------------------- npz


@pytest.fixture
def npz(tmp_path: Path) -> Make:
    def write(**arrays: Any) -> Path:
        np.savez_compressed(tmp_path / "my.npz", **arrays)
        return tmp_path / "my.npz"

    return write


class TestNpz:
    def test_arrays_are_columns_and_a_matrix_is_one_column_each(self, npz: Make) -> None:
        path = npz(x=np.arange(6.0).reshape(3, 2), s=np.array([1, 0, 0], np.int8))
        assert_table(path, {"x_0": [0.0, 2.0, 4.0], "x_1": [1.0, 3.0, 5.0], "s": [1, 0, 0]})

    @pytest.mark.parametrize("dtype", [">f8", ">i4", "f2", "u1", "?"])
    def test_every_kind_of_number_is_read(self, npz: Make, dtype: str) -> None:
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
    def test_other_arrays_are_refused(self, npz: Make, arrays: dict[str, Any], words: tuple[str, ...]) -> None:
        line = complaint(npz(**arrays))
        for word in words:
            assert word in line

    def test_an_array_alone_another_archive_and_one_larger_than_memory_are_no_npz(self, tmp_path: Path) -> None:
        path, header = tmp_path / "my.npz", io.BytesIO()
        with path.open("wb") as file:
            np.save(file, np.ones(3))
        assert "is not an npz file of plain arrays, or a damaged one" in complaint(path)
        np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (2**50,)})
        for name, content, words in (
            ("a.txt", b"words", "'a.txt' is no array"),
            ("a.npy", header.getvalue(), "my.npz is not an npz file of plain arrays"),
        ):
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr(name, content)
            assert words in complaint(path)


# -------------------------------------------------------------------- what cannot be read


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "parquet", "npz", "xlsx"])
def test_no_damage_is_ever_a_traceback(tmp_path: Path, excel: Make, suffix: str) -> None:
    """Cut, overwritten and with bytes inserted, twenty times each way; of Excel, parts are cut or left out instead."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=20), "t": rng.choice(["x", "yy"], 20), "b": rng.random(20) < 0.5})
    path = tmp_path / f"my.{suffix}"
    if suffix == "parquet":
        frame.to_parquet(path)
    elif suffix == "npz":
        np.savez_compressed(path, a=frame.a.to_numpy(), t=frame.t.to_numpy(str), x=rng.normal(size=(20, 2)))
    elif suffix == "xlsx":
        excel([["a", "b"], *([k, f"t{k}"] for k in range(20))])
    else:
        frame.to_csv(path, index=False)
    whole, refused = path.read_bytes(), 0
    for k in range(60):
        at, size = int(rng.integers(len(whole))), int(rng.integers(1, 20))
        junk = rng.bytes(size)
        inserted = without_a_part(whole, k) if suffix == "xlsx" else whole[:at] + junk + whole[at:]
        path.write_bytes((whole[: at + 1], whole[:at] + junk + whole[at + size :], inserted)[k % 3])
        try:
            read_table(path)
        except RequestError:
            refused += 1
    assert refused > (20 if suffix == "xlsx" else 0)


def without_a_part(whole: bytes, k: int) -> bytes:
    """The archive with one part cut in the middle or left out."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(whole)) as old, zipfile.ZipFile(made, "w") as new:
        names = old.namelist()
        for name in names:
            content = old.read(name)
            if name != names[k % len(names)]:
                new.writestr(name, content)
            elif k % 2:
                new.writestr(name, content[: len(content) // 2])
    return made.getvalue()


def test_a_fault_of_ours_is_not_called_a_damaged_file(excel: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """openpyxl raises TypeError at damaged XML; the code that goes on with its cells must not hide one of its own."""

    def faulty(*given: object, **named: object) -> None:
        raise TypeError("a fault of ours")

    monkeypatch.setattr(files, "column_names", faulty)
    with pytest.raises(TypeError, match="a fault of ours"):
        read_table(excel([["a", "b"], [1, 2]]))


@pytest.mark.parametrize("suffix", ["csv", "parquet", "npz"])
def test_an_absent_file_and_a_folder(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"my.{suffix}"
    assert "cannot read" in complaint(path)
    assert f"cannot read {path}: No such file" in refusal(lambda: sha256_of(path))
    path.mkdir()
    assert "cannot read" in complaint(path)
    assert f"cannot read {path}: Is a directory" in refusal(lambda: sha256_of(path))


# -------------------------------------------------------------------- guesses

TEXT = "größe;preis;s\n1,5;2;1\n2,25;3;0\n4;4;\n"
WINDOWS = "read as Windows-1252 text, as it is not UTF-8; if letters look wrong, save it in UTF-8"


class TestGuesses:
    def test_what_is_usual_is_not_said(self, written: Written) -> None:
        assert read_with_notes(written(PLAIN))[1] == []
        assert read_with_notes(written(PLAIN.replace(",", "\t"), "my.tsv"))[1] == []

    @pytest.mark.parametrize(
        ("encoding", "note"),
        [("utf-8-sig", ""), ("utf-16", "read as UTF-16 text"), ("latin-1", WINDOWS), ("cp1252", WINDOWS)],
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

    @pytest.mark.parametrize(("sign", "name"), [("|", "'|'"), (";", "';'"), ("\t", "tabs")])
    def test_separators_are_guessed_and_said(self, written: Written, sign: str, name: str) -> None:
        assert read_with_notes(written(PLAIN.replace(",", sign)))[1] == [f"my.csv: fields are separated by {name}"]


# -------------------------------------------------------------------- Excel


class TestExcel:
    def test_without_openpyxl_the_extra_is_named(self, written: Written, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(files, "find_spec", lambda name: None)
        assert "pip install 'pubench-datasets-tables[excel]'" in complaint(written(b"PK", "my.xlsx"))

    def test_cells_are_what_they_are_in_excel(self, excel: Make) -> None:
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

    @pytest.mark.parametrize(
        ("rows", "more", "expected", "notes"),
        [
            (
                [["a", "b"], [1, 2], [None, None], [3, 4]],
                {"notes": [["x"]]},
                {"a": [1, 3], "b": [2, 4]},
                [
                    "my.xlsx: the first of 2 sheets is read, 'Sheet'",
                    "my.xlsx: 1 rows without any value are left out, and rows counted without them",
                ],
            ),
            (
                [["a", "b"], [1, "=A2+1"], [2, "=A3+1"], [3, 5]],
                {},
                {"a": [1, 2, 3], "b": [None, None, 5]},
                ["my.xlsx: 2 formulas without a stored value are missing values"],
            ),
        ],
    )
    def test_other_sheets_empty_rows_and_formulas_are_said(
        self, excel: Make, rows: list[list[Any]], more: Any, expected: Any, notes: list[str]
    ) -> None:
        found, said = read_with_notes(excel(rows, **more))
        assert found == expected
        assert len(said) == len(notes)
        assert all(line.startswith(note) for line, note in zip(said, notes, strict=True))

    @pytest.mark.parametrize(
        ("rows", "cell", "words"),
        [
            ([], "", "is empty"),
            ([["a", "b"]], "", "has columns and no rows"),
            ([["a", "a"], [1, 2]], "", "column 'a' appears twice"),
            ([["a", "b"], [1, 2], [3, 4]], "XFD1048576", "row 1048576 is far from the rows above it"),
            ([["a", "b"], [1, 2], [3, 4]], "A5000", "row 5000 is far from the rows above it"),
        ],
    )
    def test_what_is_no_table_is_refused(self, excel: Make, rows: list[list[Any]], cell: str, words: str) -> None:
        assert words in complaint(excel(rows, cell))

    def test_a_stray_cell_that_is_near_is_a_column_without_a_name(self, excel: Make) -> None:
        assert read_table(excel([["a", "b"], [1, 2], [3, 4]], "ZZ2")).shape == (2, 702)
