"""Damaged text files: each gives one line that names the file and what to do."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from pubench_core.data.dataset import ClassData, DataRoot
from pubench_core.errors import RequestError

Read = Callable[[str], ClassData]
Rows = Callable[..., None]
Put = Callable[[str, str], Path]

WINE_HEADER = (
    '"fixed acidity";"volatile acidity";"citric acid";"residual sugar";"chlorides";"free sulfur dioxide";'
    '"total sulfur dioxide";"density";"pH";"sulphates";"alcohol";"quality"\n'
)
BANK_HEADER = (
    '"age";"job";"marital";"education";"default";"balance";"housing";"loan";"contact";"day";"month";"duration";'
    '"campaign";"pdays";"previous";"poutcome";"y"\n'
)
MUSHROOMS = "p,x,s,n,t,p,f,c,n,k,e,e,s,s,w,w,p,w,o,p,k,s,u\ne,k,y,n,f,n,f,c,b,n,e,?,s,s,o,o,p,o,o,p,b,c,l\n"


def numbers(n: int, label: str, separator: str = ",") -> str:
    """A line of n numbers 0, 1, 2, ... and a label."""
    return separator.join([*map(str, range(n)), label]) + "\n"


ONE = "get it again from the UCI Machine Learning Repository, Spambase"


class TestDamaged:
    """Each gives one line that names the file, the line where one is to blame, what is wrong and what to do."""

    def refused(self, path: Path, read: Read, key: str = "spambase") -> str:
        with pytest.raises(RequestError) as caught:
            read(key)
        line = str(caught.value)
        assert line.startswith((str(path), f"cannot read {path}"))
        assert "\n" not in line
        return line[len(str(path)) :]

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("", " is empty; "),
            ("\n\n", " is empty; "),
            (numbers(57, "1") + "0,1,2", ", line 2: 3 columns, expected 58; "),
            (numbers(57, "1") + "\n" + numbers(58, "1"), ", line 3: 59 columns, expected 58; "),
            (numbers(57, "1") + "x" + numbers(57, "0"), ", line 2, column 1: 'x0' is not a finite number; "),
            (numbers(57, "1") + numbers(57, "0")[1:], ", line 2, column 1: '' is not a finite number; "),
            (numbers(57, "1") + "nan" + numbers(57, "0")[1:], ", line 2, column 1: 'nan' is not a finite number; "),
            ("1e39" + numbers(57, "0")[1:], ", line 1, column 1: '1e39' is not a finite number; "),
            (numbers(57, "1") + numbers(57, "2"), ", line 2, column 58: class '2' is none of 0, 1; "),
            (numbers(57, "1"), " has 1 rows, expected 2: it was cut short, joined, or is another version; "),
            (numbers(57, "1") * 3, " has 3 rows, expected 2: it was cut short, joined, or is another version; "),
            ("<html>no such page</html>", ", line 1: 1 columns, expected 58; "),
        ],
        ids=[
            "empty",
            "blank",
            "cut",
            "long",
            "no-number",
            "no-value",
            "nan",
            "huge",
            "class",
            "short",
            "joined",
            "html",
        ],
    )
    def test_text_that_is_not_the_set(self, text: str, said: str, put: Put, rows: Rows, read: Read) -> None:
        rows("spambase", 2)
        assert self.refused(put("spambase/spambase.data", text), read).startswith(said + ONE)

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            (gzip.compress(numbers(57, "1").encode())[:-4], " is damaged ("),
            (gzip.compress(numbers(57, "1").encode() * 99)[:40], " is damaged ("),
            (gzip.compress(numbers(57, "1").encode())[:20] + b"\xff" * 40, " is damaged ("),
            (b"no gzip at all", " is damaged ("),
            (b"", " is empty; "),
            (gzip.compress(b""), " is empty; "),
        ],
        ids=["without-its-end", "half", "garbled", "text", "empty", "nothing-inside"],
    )
    def test_a_packed_file_that_cannot_be_unpacked(
        self, content: bytes, said: str, put: Put, rows: Rows, read: Read
    ) -> None:
        rows("spambase", 1)
        path = put("spambase/spambase.data.gz", "")
        path.write_bytes(content)
        line = self.refused(path, read)
        assert line.startswith(said)
        assert line.endswith(")") or ONE in line

    def test_a_file_that_is_not_text(self, put: Put, read: Read) -> None:
        path = put("spambase/spambase.data", "")
        path.write_bytes(b"1,2,3\n\xff\xfe\x00")
        assert self.refused(path, read).startswith(f" is not text (byte 6); {ONE}")

    @pytest.mark.parametrize("name", ["spambase.data", "spambase.data.gz"])
    def test_a_file_that_cannot_be_read(self, name: str, root: DataRoot, read: Read) -> None:
        """A folder in its place stands for every way of not being readable, for every user."""
        path = root.path / "spambase" / name
        path.mkdir(parents=True)
        with pytest.raises(RequestError) as caught:
            read("spambase")
        assert str(caught.value) == f"cannot read {path}: Is a directory"

    def test_a_value_that_the_attribute_does_not_have(self, put: Put, rows: Rows, read: Read) -> None:
        rows("mushroom", 2)
        path = put("uci/agaricus-lepiota.data", MUSHROOMS.replace(",b,c,l", ",?,c,l"))
        line = self.refused(path, read, "mushroom")
        assert line.startswith(", line 2, column 21: value '?' is none of b, h, k, n, o, r, u, w, y; get it again")

    @pytest.mark.parametrize(
        ("header", "said"),
        [
            ("", ", line 1, column 1: the name '0', expected 'fixed acidity'; "),
            (WINE_HEADER.replace("pH", "acidity"), ", line 1, column 9: the name 'acidity', expected 'pH'; "),
            (WINE_HEADER.replace(";", ","), ", line 1: 1 columns, expected 12; "),
        ],
        ids=["absent", "other", "commas"],
    )
    def test_other_names_in_the_first_line(self, header: str, said: str, put: Put, rows: Rows, read: Read) -> None:
        rows("wine", 1, 1)
        path = put("uci/winequality-red.csv", header + numbers(11, "5", ";"))
        put("uci/winequality-white.csv", WINE_HEADER + numbers(11, "5", ";"))
        assert self.refused(path, read, "wine").startswith(said)

    def test_a_header_and_nothing_else(self, put: Put, rows: Rows, read: Read) -> None:
        rows("bank", 1)
        assert self.refused(put("uci/bank-full.csv", BANK_HEADER), read, "bank").startswith(" is empty; ")

    def test_a_gas_feature_that_is_left_out(self, put: Put, rows: Rows, read: Read) -> None:
        rows("gas", *[1] * 10)
        for batch in range(1, 11):
            path = put(f"uci/batch{batch}.dat", "1 " + " ".join(f"{k}:1.0" for k in range(1, 129) if k != 3))
        path = path.with_name("batch1.dat")
        assert self.refused(path, read, "gas").startswith(", line 1: '4:1.0', expected '3:' and a value; ")
