"""What a user's first own file is like: blank labels, ids, dates, other encodings and separators, Excel, copies."""

from __future__ import annotations

import datetime
import gzip
import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pubench_datasets_tables import excel as excel_files
from pubench_datasets_tables.files import read_table
from pubench_datasets_tables.held import sha256_of
from pubench_datasets_tables.user_table import read_user_table

from pubench_core.data.labeled import LabeledData
from pubench_core.errors import RequestError
from pubench_core.specs import UserTableSpec

N, N_LABELED = 30, 6
LABELED = np.arange(N) < N_LABELED
Written = Callable[..., Path]


def plain() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {"a": rng.normal(size=N).round(3), "b": rng.integers(0, 5, N)}


@pytest.fixture
def written(tmp_path: Path) -> Written:
    def write(content: str | bytes, name: str = "my.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture
def table(tmp_path: Path) -> Callable[..., LabeledData]:
    """``table(column=values, ...)``: read from CSV, with two plain columns and labels ``s``; ``_name``: spec fields."""

    def read(_suffix: str = "csv", **given: Any) -> LabeledData:
        path = tmp_path / f"my.{_suffix}"
        columns = {name: values for name, values in given.items() if not name.startswith("_")}
        frame = pd.DataFrame({**plain(), "s": LABELED.astype(int), **columns})
        if _suffix == "parquet":
            frame.to_parquet(path)
        else:
            frame.to_csv(path, index=False)
        more = {name[1:]: value for name, value in given.items() if name.startswith("_")}
        return read_user_table(UserTableSpec(path=path, sha256=sha256_of(path), label_col="s", **more))

    return read


Table = Callable[..., LabeledData]


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(RequestError) as caught:
        call()
    assert "\n" not in str(caught.value)
    return str(caught.value)


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
        ids=["1", "True", "text", "doubtful-text", "another-number"],
    )
    def test_one_value_and_blank_cells_say_who_is_labeled(
        self, table: Table, values: Any, more: dict[str, str], reading: str, suffix: str
    ) -> None:
        found = table(suffix, s=values, **more)
        assert found.labeled.tolist() == LABELED.tolist()
        assert f"my.{suffix}: {N} rows; 's': {reading}; 6 labeled positives, 24 unlabeled" in found.notes

    def test_blank_cells_count_as_the_second_value_and_are_reported(self, table: Table) -> None:
        found = table(s=np.where(LABELED, 1.0, np.where(np.arange(N) < 10, 0.0, np.nan)))
        assert found.labeled.tolist() == LABELED.tolist()
        assert "'s': 20 blank cells and 4 of 0 count as unlabeled alike" in found.notes

    @pytest.mark.parametrize("blank", ["", "  ", None, float("nan")])
    def test_a_text_that_nobody_sees_is_blank(self, table: Table, blank: Any) -> None:
        found = table("parquet", s=pd.Series(["P"] * N_LABELED + [blank] * 24, dtype=object))
        assert found.labeled.tolist() == LABELED.tolist()

    def test_labels_are_the_same_as_written_out(self, table: Table) -> None:
        blank, full = table(s=np.where(LABELED, 1.0, np.nan)), table()
        assert np.array_equal(blank.labeled, full.labeled)
        assert np.array_equal(blank.x, full.x)

    def test_a_blank_true_label_stays_refused(self, table: Table) -> None:
        line = refused(lambda: table(y=np.where(np.arange(N) == 4, np.nan, 1.0 * LABELED), _truth_col="y"))
        assert "column 'y' (data.own.truth_col) is empty in row 4; true labels must be complete" in line
        assert "unlabeled" not in line


class TestCopies:
    """A column that says what the labels say, under another name."""

    @pytest.mark.parametrize(
        "copy",
        [
            LABELED.astype(int),
            1 - LABELED,
            LABELED,
            np.where(LABELED, "P", "U"),
            np.where(LABELED, "checked", None),
            np.where(LABELED, None, "open"),
            np.where(LABELED, ["Ann", "Bob"] * 15, None),
            np.where(LABELED, "won", np.array(["lost", "open", "waiting"])[np.arange(N) % 3]),
            np.where(LABELED, 3.5, np.arange(N) % 4),
        ],
        ids=[
            "number",
            "turned-round",
            "truth-value",
            "text",
            "filled-in",
            "left-open",
            "who-labeled",
            "one-of-many",
            "one-number",
        ],
    )
    @pytest.mark.parametrize("of", ["s", "y"])
    def test_a_copy_of_the_labels_is_refused_with_what_to_do(self, table: Table, copy: Any, of: str) -> None:
        given = {"copy": copy, "_drop": ()} if of == "s" else {"copy": copy, "y": LABELED, "_truth_col": "y"}
        if of == "y":
            given["s"] = (np.arange(N) < 3).astype(int)
        line = refused(lambda: table(**given))
        assert line.startswith(f"my.csv: 'copy' says the same as '{of}' in every row")
        assert line.endswith("data.own.drop=copy")
        assert table(**{**given, "_drop": ("copy",)}).labeled.any()

    def test_a_copy_of_the_truth_in_the_test_file_is_refused(self, table: Table, tmp_path: Path) -> None:
        test = pd.DataFrame({**plain(), "late": LABELED * 2, "y": LABELED.astype(int)})
        test.to_csv(tmp_path / "test.csv", index=False)
        more = {"_test": tmp_path / "test.csv", "_test_sha256": sha256_of(tmp_path / "test.csv"), "_truth_col": "y"}
        line = refused(lambda: table(late=np.arange(N) % 3, **more))
        assert line.startswith("test.csv: 'late' says the same as 'y' in every row")

    @pytest.mark.parametrize(
        "column",
        [
            np.where(np.arange(N) < N_LABELED + 1, "P", "U"),
            np.where(LABELED, np.arange(N) % 2, np.arange(N) % 3),
            np.arange(N) / 7,
        ],
        ids=["but-for-a-row", "related", "numbers"],
    )
    def test_what_differs_in_one_row_is_a_feature(self, table: Table, column: Any) -> None:
        assert "c" in [found.name for found in table(c=column).columns]

    def test_a_single_labeled_row_is_told_apart_by_every_number(self, table: Table) -> None:
        found = table(s=(np.arange(N) == 4).astype(int), v=np.arange(N) / 7)
        assert "v" in [column.name for column in found.columns]


class TestIds:
    def test_what_is_left_out_as_an_id_names_the_rows_as_written(self, written: Written) -> None:
        rows = "".join(f"{k:05},C-{k},{k % 7},{int(k < 6)}\n" for k in range(N))
        path = written("customer_id,code,v,s\n" + rows)
        found = read_user_table(UserTableSpec(path=path, sha256=sha256_of(path), label_col="s"))
        assert {name: list(values[:2]) for name, values in found.ids.items()} == {
            "customer_id": ["00000", "00001"],
            "code": ["C-0", "C-1"],
        }
        assert "the rows are named by 'customer_id', 'code'" in found.notes

    def test_a_dropped_column_of_different_values_names_the_rows(self, table: Table) -> None:
        columns = {"number": np.arange(N) * 17, "group": np.arange(N) // 2, "x": np.arange(N) / 3}
        assert list(table(**columns, _drop=tuple(columns)).ids) == ["number"]

    def test_a_few_rows_that_are_there_twice_do_not_cost_the_names(self, written: Written) -> None:
        rows = "".join(f"C-{k % 390},D-{k % 120},{k / 3:.2f},{int(k < 20)}\n" for k in range(400))
        path = written("customer,product,v,s\n" + rows)
        found = read_user_table(UserTableSpec(path=path, sha256=sha256_of(path), label_col="s"))
        assert list(found.ids) == ["customer"]
        assert found.ids["customer"][395] == "C-5"
        assert set(found.left_out) == {"customer", "product"}

    def test_long_texts_do_not_name_rows(self, table: Table) -> None:
        assert table(comment=[f"{k} " + "words " * 20 for k in range(N)]).ids == {}

    def test_dates_do_not_name_rows(self, table: Table) -> None:
        days = [f"2024-01-{k + 1:02}" for k in range(N)]
        found = table(day=days)
        assert found.ids == {}
        assert found.left_out["day"].startswith("a date or a time")


class TestDates:
    @pytest.mark.parametrize(
        "form", ["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%y", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%SZ", "%d/%m/%Y %I:%M %p"]
    )
    def test_dates_that_become_dozens_of_features_are_pointed_out(self, table: Table, form: str) -> None:
        days = [(datetime.datetime(2024, 3, 1) + datetime.timedelta(k % 20)).strftime(form) for k in range(N)]
        found = table(day=days)
        (line,) = [note for note in found.notes if "'day'" in note and "dates" in note]
        assert line.startswith("'day' holds dates and becomes 20 features, one for each")
        assert line.endswith("data.own.drop=day")

    def test_dates_written_as_numbers_are_pointed_out(self, table: Table) -> None:
        assert "'day' holds dates written as numbers (20240301), which do not count days" in " ".join(
            table(day=20240301 + np.arange(N) % 9).notes
        )
        assert "dates" not in " ".join(table(amount=20240399 + np.arange(N) % 9).notes)

    def test_words_are_no_dates(self, table: Table) -> None:
        assert "dates" not in " ".join(table(c=np.array(["1-2", "3.4.5.6"])[np.arange(N) % 2]).notes)


TEXT = "größe;preis;s\n1,5;2;1\n2,25;3;0\n4;4;\n"


def read_with_notes(path: Path) -> tuple[dict[str, list[Any]], list[str]]:
    said: list[str] = []
    return read_table(path, say=said.append).to_dict("list"), said


class TestGuesses:
    PLAIN = "a,b\n1,x\n2,y\n"

    def test_what_is_usual_is_not_said(self, written: Written) -> None:
        assert read_with_notes(written(self.PLAIN))[1] == []
        assert read_with_notes(written(self.PLAIN.replace(",", "\t"), "my.tsv"))[1] == []

    @pytest.mark.parametrize(
        ("encoding", "note"),
        [
            ("utf-8-sig", ""),
            ("utf-16", "read as UTF-16 text"),
            ("utf-16-le", "read as UTF-16-LE text"),
            ("utf-16-be", "read as UTF-16-BE text"),
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

    @pytest.mark.parametrize(("sign", "name"), [("|", "'|'"), (";", "';'"), ("\t", "tabs")])
    def test_separators_are_guessed_and_said(self, written: Written, sign: str, name: str) -> None:
        found, said = read_with_notes(written(self.PLAIN.replace(",", sign)))
        assert found == {"a": [1, 2], "b": ["x", "y"]}
        assert said == [f"my.csv: fields are separated by {name}"]

    def test_a_bar_in_a_name_separates_nothing_where_commas_do(self, written: Written) -> None:
        assert list(read_table(written("a|b|c,d\n1,2\n"))) == ["a|b|c", "d"]

    def test_the_notes_of_a_table_begin_with_guesses(self, written: Written) -> None:
        rows = "".join(f"{k % 7},5|{'ja' if k < 6 else ''}\n" for k in range(N))
        path = written(f"maß|s\n{rows}".encode("cp1252"))
        notes = read_user_table(UserTableSpec(path=path, sha256=sha256_of(path), label_col="s")).notes
        assert notes[0].startswith("my.csv: read as Windows-1252 text")
        assert notes[1] == "my.csv: fields are separated by '|'; decimal commas in 'maß'"
        assert "ja = labeled positive, blank = unlabeled" in notes[2]

    def test_a_file_of_another_kind_is_named(self, written: Written) -> None:
        assert "is gzip data, not text" in refused(lambda: read_table(written(gzip.compress(b"a,b\n1,2\n"))))


@pytest.fixture
def excel(tmp_path: Path) -> Callable[..., Path]:
    pytest.importorskip("openpyxl", reason="Excel files need openpyxl")

    def write(rows: list[list[Any]], **sheets: list[list[Any]]) -> Path:
        import openpyxl

        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(row)
        for name, more in sheets.items():
            sheet = book.create_sheet(name)
            for row in more:
                sheet.append(row)
        book.save(tmp_path / "my.xlsx")
        return tmp_path / "my.xlsx"

    return write


class TestExcel:
    def test_without_openpyxl_the_extra_is_named(self, written: Written, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(excel_files, "find_spec", lambda name: None)
        line = refused(lambda: read_table(written(b"PK", "my.xlsx")))
        assert (
            "Excel files are read by openpyxl, which is not installed (pip install 'pubench-datasets-tables[excel]')"
            in line
        )

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

    def test_an_excel_file_is_read_as_the_same_table_in_csv(self, excel: Callable[..., Path], table: Table) -> None:
        columns = {**plain(), "s": LABELED.astype(int), "c": np.array(["x", "y", None])[np.arange(N) % 3]}
        of_csv = table(c=columns["c"])
        rows = [list(columns), *map(list, zip(*(np.asarray(v).tolist() for v in columns.values()), strict=True))]
        path = excel(rows)
        of_excel = read_user_table(UserTableSpec(path=path, sha256=sha256_of(path), label_col="s"))
        assert of_excel.x.tobytes() == of_csv.x.tobytes()
        assert of_excel.columns == of_csv.columns

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
        path = excel(rows)
        assert words in refused(lambda: read_table(path))

    def test_no_damage_is_ever_a_traceback(self, excel: Callable[..., Path]) -> None:
        path = excel([["a", "b"], *([k, f"t{k}"] for k in range(20))])
        whole, rng, count = path.read_bytes(), np.random.default_rng(0), 0
        with zipfile.ZipFile(path) as parts:
            names = parts.namelist()
        for k in range(60):
            at, junk = int(rng.integers(len(whole))), rng.bytes(12)
            damaged = (whole[: at + 1], whole[:at] + junk + whole[at + 12 :], without(whole, names[k % len(names)], k))
            path.write_bytes(damaged[k % 3])
            try:
                read_table(path)
            except RequestError:
                count += 1
        assert count > 20


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
