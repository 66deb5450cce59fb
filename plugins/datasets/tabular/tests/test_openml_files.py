"""OpenML's files: the same arrays as from UCI's text, found in every cache; damaged ones are named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet
from refusals import refusal, source

from pubench_core.data.dataset import ClassData, DataRoot
from pubench_core.errors import Hint, RequestError

Read = Callable[[str], ClassData]
Rows = Callable[..., None]
Put = Callable[[str, str], Path]
Table = dict[str, list[Any]]
Write = Callable[..., Path]

CACHE = Path("org", "openml", "www", "datasets")
SPAM: Table = {**{f"f{j}": [j + 0.5, 0.0] for j in range(57)}, "class": ["1", "0"]}


def table_of(width: int, *classes: str) -> Table:
    return {f"f{j}": [k + 1.0 for k in range(len(classes))] for j in range(width)} | {"class": list(classes)}


def arff_text(table: Table) -> str:
    """Nominal where the cells are text, else numeric."""
    lines = ["% a comment", "@RELATION set", ""]
    for name, column in table.items():
        values = ",".join(sorted({str(cell) for cell in column}))
        kind = f"{{{values}}}" if isinstance(column[0], str) else "NUMERIC"
        lines.append(f"@ATTRIBUTE '{name}' {kind}")
    return "\n".join([*lines, "@DATA", *(",".join(map(str, row)) for row in zip(*table.values(), strict=True))]) + "\n"


def write_arff(folder: Path, number: int, table: Table) -> Path:
    path = folder / str(number) / "dataset.arff"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(arff_text(table))
    return path


def write_parquet(folder: Path, number: int, table: Table) -> Path:
    """A missing value (``?``) is a null, and text is a category, as OpenML writes them."""
    path = folder / str(number) / f"dataset_{number}.pq"
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = {}
    for name, column in table.items():
        values = pyarrow.array([None if cell == "?" else cell for cell in column])
        columns[name] = values.dictionary_encode() if isinstance(column[0], str) else values
    parquet.write_table(pyarrow.table(columns), path)
    return path


@pytest.fixture
def cache(root: DataRoot) -> Path:
    """Where pubench's own downloads lie."""
    return root.cache / "openml" / CACHE


both = pytest.mark.parametrize("write", [write_arff, write_parquet], ids=["arff", "parquet"])


@both
class TestSameArrays:
    @pytest.mark.parametrize(
        ("key", "number", "table", "classes", "of_test", "said"),
        [
            ("spambase", 44, SPAM, [1, 0], None, ""),
            ("pima", 37, table_of(8, "tested_positive", "tested_negative"), [1, 0], None, ""),
            ("letter", 6, table_of(16, "Z", "P", "A"), [25, 15], [0], "not the usual one"),
        ],
    )
    def test_numbers_and_classes_in_openml_s_order(
        self,
        key: str,
        number: int,
        table: Table,
        classes: list[int],
        of_test: list[int] | None,
        said: str,
        write: Write,
        cache: Path,
        rows: Rows,
        root: DataRoot,
    ) -> None:
        rows(key, len(table["class"]), last=0 if of_test is None else len(of_test))
        notes: list[str] = []
        data = source(key).read((write(cache, number, table),), replace(root, say=notes.append))
        assert data.x.dtype == np.float32
        assert data.x.tolist() == [list(row[:-1]) for row in zip(*table.values(), strict=True)][: len(classes)]
        assert data.y.tolist() == classes
        assert (data.y_test if data.y_test is None else data.y_test.tolist()) == of_test
        assert len(notes) == bool(said)
        assert said in "".join(notes)

    @pytest.mark.parametrize("first_player", ["1", "2"])
    @pytest.mark.parametrize("typed", [str, int])
    def test_connect_4_is_recognized_in_any_code_and_order(
        self,
        typed: Callable[[str], Any],
        first_player: str,
        write: Write,
        cache: Path,
        put: Put,
        rows: Rows,
        read: Read,
    ) -> None:
        """The first player, x, holds b1 more often; OpenML's classes are draw 0, loss 1, win 2."""
        rng = np.random.default_rng(0)
        boards = rng.choice(["b", "o", "x"], (30, 42))
        boards[:, 6] = ["x"] * 12 + ["o"] * 9 + ["b"] * 9
        results = rng.choice(["win", "loss", "draw"], 30)
        rows("connect-4", 30)
        path = put(
            "connect-4/connect-4.data", "".join(",".join([*b, r]) + "\n" for b, r in zip(boards, results, strict=True))
        )
        from_text = read("connect-4")
        path.unlink()
        code = {"b": "0", "x": first_player, "o": "12".replace(first_player, "")}
        turned = rng.permutation(30)
        table: Table = {f"s{j}": [typed(code[c]) for c in boards[turned, j]] for j in range(42)}
        table["class"] = [typed(str(["draw", "loss", "win"].index(r))) for r in results[turned]]
        write(cache, 40668, table)
        from_openml = read("connect-4")
        assert np.array_equal(from_openml.x, from_text.x)
        assert np.array_equal(from_openml.y, from_text.y)


class TestPlaces:
    @pytest.mark.parametrize(
        ("variable", "folder"),
        [
            ("OPENML_CACHE_DIR", "."),
            ("XDG_CACHE_HOME", "openml"),
            ("XDG_CACHE_HOME", "."),
            ("HOME", ".cache/openml"),
            ("HOME", ".openml"),
        ],
    )
    def test_what_the_openml_package_downloaded_is_found(
        self, variable: str, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, root: DataRoot
    ) -> None:
        monkeypatch.setenv(variable, str(tmp_path / "me"))
        path = write_arff(tmp_path / "me" / folder / CACHE, 44, SPAM)
        assert source("spambase").locate(root) == (path,)

    def test_a_text_file_of_the_user_comes_before_downloads(
        self, cache: Path, put: Put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, root: DataRoot
    ) -> None:
        monkeypatch.setenv("OPENML_CACHE_DIR", str(tmp_path / "elsewhere"))
        write_arff(tmp_path / "elsewhere" / CACHE, 44, SPAM)
        downloaded = write_arff(cache, 44, SPAM)
        assert source("spambase").locate(root) == (downloaded,)
        own = put("uci/spambase.data", "")
        assert source("spambase").locate(root) == (own,)

    def test_another_id_or_server_or_a_pickle_is_another_thing(self, root: DataRoot, cache: Path) -> None:
        write_arff(cache, 1, SPAM)
        write_arff(root.cache / "openml" / "org" / "openml" / "test" / "datasets", 44, SPAM)
        (cache / "44").mkdir()
        (cache / "44" / "dataset.pkl.py3").write_bytes(b"anything")
        assert "no spambase.data" in refusal(lambda: source("spambase").locate(root))


class TestDamaged:
    def refused(self, path: Path, read: Read) -> str:
        """What is said of a file that a command can fetch again."""
        with pytest.raises(RequestError) as caught:
            read("spambase")
        line = str(caught.value)
        assert line.startswith(f"{path} is damaged (")
        assert line.endswith("); remove it and get it again")
        assert "\n" not in line
        assert caught.value.hint == Hint("fetch", "spambase")
        return line

    @pytest.mark.parametrize(
        ("damage", "said"),
        [
            (lambda text: "", ""),
            (lambda text: text[: len(text) // 4], ""),
            (lambda text: text[:-30], "Bad @DATA instance format in line 64"),
            (lambda text: text.replace("0.5,", "x,", 1), "Invalid numerical value, at line 63"),
            (lambda text: text[: text.index("@DATA") + 6], "0 rows"),
            (lambda text: text.replace("0.5,", "?,", 1), "could not convert string to float: '?'"),
            (lambda text: text[: text.rindex("\n", 0, -1) + 1], "1 rows, expected 2"),
            (lambda text: text.replace("0.5,", "5%'", 1), ""),
            (lambda text: text.replace("@ATTRIBUTE 'f3' NUMERIC", "@ATTRIBUTE"), ""),
            (lambda text: text.replace("'class'", "'target'"), "2 rows of 58 columns, expected 58 and a class"),
            (lambda text: text.replace("{0,1}", "{0,2}").replace(",1\n", ",2\n"), "value '2' is none of 0, 1"),
        ],
    )
    def test_arff(self, damage: Callable[[str], str], said: str, cache: Path, rows: Rows, read: Read) -> None:
        rows("spambase", 2)
        path = write_arff(cache, 44, SPAM)
        path.write_text(damage(path.read_text()))
        assert said in self.refused(path, read)

    @pytest.mark.parametrize(
        "damage",
        [
            lambda content: b"",
            lambda content: content[:-8],
            lambda content: content[:4] + b"\xff" * 196 + content[200:],
        ],
        ids=["empty", "without-its-end", "inside"],
    )
    def test_parquet(self, damage: Callable[[bytes], bytes], cache: Path, read: Read) -> None:
        path = write_parquet(cache, 44, SPAM)
        path.write_bytes(damage(path.read_bytes()))
        self.refused(path, read)

    def test_connect_4_whose_players_cannot_be_told_apart(self, cache: Path, rows: Rows, read: Read) -> None:
        rows("connect-4", 2)
        write_arff(cache, 40668, {**{f"s{j}": ["1", "2"] for j in range(42)}, "class": ["0", "1"]})
        assert "(it does not show which of its codes 1 and 2 is the first player)" in refusal(lambda: read("connect-4"))
