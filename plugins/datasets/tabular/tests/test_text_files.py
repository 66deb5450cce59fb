"""The text files of UCI: every format, every place, and every damage, which is one line."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from pubench_datasets_tabular.layouts import LAYOUTS
from refusals import refusal, source

from pubench_core.data.dataset import ClassData, DataRoot, digest_of

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


def hot(n: int, k: int) -> list[float]:
    """n values, of which the k-th is 1."""
    return [float(j == k) for j in range(n)]


BANK = (
    '58;"management";"married";"tertiary";"no";2143;"yes";"no";"unknown";5;"may";261;1;-1;0;"unknown";"no"\n'
    '30;"admin.";"divorced";"primary";"yes";-7;"no";"yes";"cellular";6;"jan";1;2;3;4;"success";"yes"\n'
)
BANK_ROWS = [
    [*[58, *hot(12, 4), *hot(3, 1), *hot(4, 2), *hot(2, 0), 2143, *hot(2, 1), *hot(2, 0), *hot(3, 2), 5],
     *[*hot(12, 4), 261, 1, -1, 0, *hot(4, 3)]],
    [*[30, *hot(12, 0), *hot(3, 0), *hot(4, 0), *hot(2, 1), -7, *hot(2, 0), *hot(2, 1), *hot(3, 0), 6],
     *[*hot(12, 0), 1, 2, 3, 4, *hot(4, 2)]],
]  # fmt: skip
#: The squares are blank, o, x, and rows are in their order; classes are loss 0, win 1, draw 2.
CONNECT_4 = "".join(",".join([first, *"b" * 41, y]) + "\n" for first, y in (("x", "win"), ("b", "loss"), ("o", "draw")))
GAS = " ".join(f"{k}:{k / 2:.6f}" for k in range(1, 129))
CEMENT = '"Cement (kg)",b,c,d,e,f,g,h,"strength(MPa, megapascals) "\n'


@pytest.mark.parametrize(
    ("key", "files", "classes", "of_test", "x"),
    [
        (
            "spambase",  # empty lines and line ends of Windows do not matter
            {"spambase.data": f"{numbers(57, '1')[:-1]}\r\n   \r\n0.21{numbers(57, '0')[1:]}"},
            [1, 0],
            [],
            [range(57), [np.float32(0.21), *range(1, 57)]],
        ),
        (
            "letter",  # the class comes first, and the last rows are the test part
            {"letter-recognition.data": "".join(f"{c},{numbers(15, '15')}" for c in "TAZ")},
            [19, 0],
            [25],
            [range(16)],
        ),
        (
            "landsat",
            {"sat.trn": "".join(numbers(36, code, " ") for code in "123457"), "sat.tst": numbers(36, "1", " ")},
            [0, 1, 2, 3, 4, 5],
            [0],
            [range(36)],
        ),
        (
            "shuttle",
            {"shuttle.trn": "".join(numbers(9, c, " ") for c in "1234567"), "shuttle.tst": numbers(9, "1", " ")},
            [0, 1, 2, 3, 4, 5, 6],
            [0],
            [range(9)],
        ),
        (
            "pendigit",
            {"pendigits.tra": numbers(16, "0") + numbers(16, "9"), "pendigits.tes": numbers(16, "3")},
            [0, 9],
            [3],
            [range(16)],
        ),
        (
            "pageblock",  # columns between runs of spaces
            {"page-blocks.data": "   5   7     35  1.400 .400 .657     2.33     14     23      6 5\n"},
            [4],
            [],
            [[5, 7, 35, 1.4, 0.4, 0.657, 2.33, 14, 23, 6]],
        ),
        (
            "pima",
            {"pima-indians-diabetes.data": "6,148,72,35,0,33.6,0.627,50,1\n1,85,66,29,0,26.6,0.351,31,0\n"},
            [1, 0],
            [],
            [[6, 148, 72, 35, 0, 33.6, 0.627, 50]],
        ),
        (
            "housing",  # what equals the mean is not above it
            {"housing.data": "".join(numbers(13, value, "  ") for value in ("24.00", "21.60", "26.40"))},
            [0, 0, 1],
            [],
            [range(13)],
        ),
        *(
            (
                "concrete",  # with or without names
                {"Concrete_Data.csv": header + numbers(8, "10") + numbers(8, "20") + numbers(8, "60.5")},
                [0, 0, 1],
                [],
                [range(8)],
            )
            for header in ("", CEMENT)
        ),
        (
            "connect-4",
            {"connect-4.data": CONNECT_4},
            [1, 2, 0],
            [],
            [[*square, *[1, 0, 0] * 41] for square in ([0, 0, 1], [0, 1, 0], [1, 0, 0])],
        ),
        ("bank", {"bank-full.csv": BANK_HEADER + BANK}, [0, 1], [], BANK_ROWS),
        (
            "wine",  # red ones come first
            {
                "winequality-red.csv": WINE_HEADER + numbers(11, "3", ";"),
                "winequality-white.csv": WINE_HEADER + numbers(11, "9", ";") + numbers(11, "6", ";"),
            },
            [0, 6, 3],
            [],
            [range(11)],
        ),
        *(
            (
                "gas",  # the later edition writes the concentration behind the class
                {f"batch{k + 1}.dat": f"{k % 6 + 1}{concentration} {GAS} \n" for k in range(10)},
                [0, 1, 2, 3, 4, 5, 0, 1, 2, 3],
                [],
                [[k / 2 for k in range(1, 129)]] * 10,
            )
            for concentration in ("", ";10.000000")
        ),
    ],
)
def test_every_format_is_read(
    key: str,
    files: dict[str, str],
    classes: list[int],
    of_test: list[int],
    x: list[Sequence[float]],
    put: Put,
    rows: Rows,
    read: Read,
) -> None:
    last = len(of_test) if len(files) == 1 else 0
    rows(key, len(classes) + last, last)
    for name, text in files.items():
        put(f"uci/{name}", text)
    data = read(key)
    assert (str(data.x.dtype), str(data.y.dtype)) == ("float32", "int64")
    assert data.y.tolist() == classes
    assert ([] if data.y_test is None else data.y_test.tolist()) == of_test
    for found, expected in zip(data.x, x, strict=False):
        assert found.tolist() == pytest.approx(list(expected))


def test_a_missing_stalk_root_is_a_value_of_its_own(put: Put, rows: Rows, read: Read) -> None:
    rows("mushroom", 2)
    put("mushroom/agaricus-lepiota.data", MUSHROOMS)
    data = read("mushroom")
    assert data.y.tolist() == [1, 0]
    assert data.x.shape == (2, 126)
    assert (data.x.sum(axis=1) == 22).all()
    before = sum([6, 4, 10, 2, 9, 4, 3, 2, 12, 2])  # values of the ten attributes before it
    assert data.x[:, before : before + 7].tolist() == [[0, 0, 1, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 1]]


class TestPlaces:
    @pytest.mark.parametrize("folder", ["pageblock", "page-blocks", "uci"])
    @pytest.mark.parametrize("packed", [False, True])
    def test_by_key_by_alias_and_with_the_other_sets_of_uci(
        self, folder: str, packed: bool, put: Put, rows: Rows, read: Read
    ) -> None:
        rows("pageblock", 1)
        path = put(f"{folder}/page-blocks.data", numbers(10, "2", " "))
        if packed:
            path.with_name("page-blocks.data.gz").write_bytes(gzip.compress(path.read_bytes()))
            path.unlink()
        assert read("pageblock").y.tolist() == [1]

    def test_the_set_s_own_folder_comes_first(self, put: Put, root: DataRoot) -> None:
        own, _ = put("spambase/spambase.data", "one"), put("uci/spambase.data", "another")
        assert source("spambase").locate(root) == (own,)

    def test_absent_files_are_named_and_the_copy_of_openml(self, put: Put, root: DataRoot) -> None:
        line = refusal(lambda: source("spambase").locate(root))
        for words in ("no spambase.data in", str(root.path / "uci"), "pubench downloads OpenML's copy, data set 44"):
            assert words in line
        put("uci/sat.trn", "")
        assert "landsat: no sat.tst in " in refusal(lambda: source("landsat").locate(root))


class TestDamaged:
    """Each gives one line that names the file, what is wrong and what to do."""

    def refused(self, read: Read, key: str = "spambase") -> str:
        return refusal(lambda: read(key))

    def test_values_that_are_not_the_published_ones(self, put: Put, root: DataRoot, read: Read) -> None:
        """Both checksums, and where to get the right files."""
        put("uci/sat.trn", "".join(numbers(36, code, " ") for code in "123457"))
        put("uci/sat.tst", numbers(36, "1", " "))
        line = self.refused(read, "landsat")
        row = np.arange(36, dtype=np.float32)[None]
        found = digest_of(ClassData(row.repeat(6, axis=0), np.arange(6), row, np.array([0])))
        assert line == (
            f"landsat: the values in {root.path / 'uci'} have the checksum {found}, those of the published files "
            f"{LAYOUTS['landsat'].digest}; get sat.trn, sat.tst again from the UCI Machine Learning "
            "Repository, Statlog (Landsat Satellite)"
        )

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("\n\n", "No columns"),
            (numbers(57, "1") + "0,1,2", "could not convert string to float: ''"),
            (numbers(57, "1") + numbers(58, "1"), "Expected 58 fields in line 2, saw 59"),
            (numbers(57, "1") + "x" + numbers(57, "0"), "could not convert string to float: 'x0'"),
            (numbers(57, "1") + "nan" + numbers(57, "0")[1:], "a number is missing or not finite"),
            ("1e39" + numbers(57, "0")[1:], "a number is missing or not finite"),
            (numbers(57, "1") + numbers(57, "2"), "value '2' is none of 0, 1"),
            ("<html>no such page</html>", "0 rows of 1 columns, expected 58"),
        ],
    )
    def test_text_that_is_not_the_set(self, text: str, said: str, put: Put, rows: Rows, read: Read) -> None:
        rows("spambase", 2)
        path = put("spambase/spambase.data", text)
        line = self.refused(read)
        assert line.startswith(f"{path} is damaged (")
        assert said in line
        assert line.endswith("get it again")

    @pytest.mark.parametrize("n", [1, 3])
    def test_another_number_of_rows(self, n: int, put: Put, root: DataRoot, rows: Rows, read: Read) -> None:
        rows("housing", 2)
        put("housing/housing.data", numbers(13, "24", " ") * n)
        assert self.refused(read, "housing").startswith(
            f"housing: the files in {root.path / 'housing'} have {n} rows, the published ones 2; get housing.data again"
        )
