"""The text files of UCI: every format, every place, and every damage, which is one line."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from pubench_datasets_tabular.layouts import LAYOUTS
from refusals import refusal

from pubench_core.data.dataset import ClassData, DataRoot, digest_of
from pubench_core.data.source import DataSource

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


class TestFormats:
    def test_numbers_and_a_class_between_commas(self, put: Put, rows: Rows, read: Read) -> None:
        rows("spambase", 3)
        put("spambase/spambase.data", numbers(57, "1") + numbers(57, "0") + "0.21" + numbers(57, "0")[1:])
        data = read("spambase")
        assert data.x.shape == (3, 57)
        assert (str(data.x.dtype), str(data.y.dtype)) == ("float32", "int64")
        assert data.y.tolist() == [1, 0, 0]
        assert data.x[:2].tolist() == [list(range(57))] * 2
        assert data.x[2, 0] == np.float32(0.21)
        assert data.x_test is None

    def test_the_class_may_stand_first_and_the_last_rows_be_the_test_part(
        self, put: Put, rows: Rows, read: Read
    ) -> None:
        rows("letter", 3, last=1)
        put("letter/letter-recognition.data", "".join(f"{c},{numbers(15, '15')}" for c in "TAZ"))
        data = read("letter")
        assert data.y.tolist() == [19, 0]
        assert data.x[0].tolist() == list(range(16))
        assert data.y_test is not None
        assert data.y_test.tolist() == [25]

    @pytest.mark.parametrize(
        ("key", "files", "classes", "first"),
        [
            (
                "landsat",
                {"sat.trn": "".join(numbers(36, code, " ") for code in "123457"), "sat.tst": numbers(36, "1", " ")},
                [0, 1, 2, 3, 4, 5],
                range(36),
            ),
            (
                "shuttle",
                {"shuttle.trn": "".join(numbers(9, c, " ") for c in "1234567"), "shuttle.tst": numbers(9, "1", " ")},
                [0, 1, 2, 3, 4, 5, 6],
                range(9),
            ),
            (
                "pendigit",
                {"pendigits.tra": numbers(16, "0") + numbers(16, "9"), "pendigits.tes": numbers(16, "3")},
                [0, 9],
                range(16),
            ),
            (
                "pageblock",  # columns between runs of spaces
                {"page-blocks.data": "   5   7     35  1.400 .400 .657     2.33     14     23      6 5\n"},
                [4],
                [5, 7, 35, 1.4, 0.4, 0.657, 2.33, 14, 23, 6],
            ),
            (
                "pima",
                {"pima-indians-diabetes.data": "6,148,72,35,0,33.6,0.627,50,1\n1,85,66,29,0,26.6,0.351,31,0\n"},
                [1, 0],
                [6, 148, 72, 35, 0, 33.6, 0.627, 50],
            ),
            (
                "housing",  # what equals the mean is not above it
                {"housing.data": "".join(numbers(13, value, "  ") for value in ("24.00", "21.60", "26.40"))},
                [0, 0, 1],
                range(13),
            ),
            (
                "spambase",  # empty lines and line ends of Windows do not matter
                {"spambase.data": numbers(57, "1").replace("\n", "\r\n") + "   \r\n" + numbers(57, "0")},
                [1, 0],
                range(57),
            ),
        ],
    )
    def test_numbers_and_a_class(
        self, key: str, files: dict[str, str], classes: list[int], first: list[float], put: Put, rows: Rows, read: Read
    ) -> None:
        rows(key, len([line for line in next(iter(files.values())).splitlines() if line.strip()]))
        for name, text in files.items():
            put(f"uci/{name}", text)
        data = read(key)
        assert data.y.tolist() == classes
        assert data.x[0].tolist() == pytest.approx(list(first))
        assert (data.x_test is None) == (len(files) == 1)

    def test_the_squares_of_connect_4_are_blank_o_x_and_its_rows_are_ordered(
        self, put: Put, rows: Rows, read: Read
    ) -> None:
        """As are its classes: loss 0, win 1, draw 2."""
        rows("connect-4", 3)
        blank = ["b"] * 42
        lines = []
        for first, result in (("x", "win"), ("b", "loss"), ("o", "draw")):
            lines.append(",".join([first, *blank[1:], result]))
        put("connect-4/connect-4.data", "\n".join(lines) + "\n")
        data = read("connect-4")
        assert data.x.shape == (3, 126)
        assert data.x[:, :3].tolist() == [[0, 0, 1], [0, 1, 0], [1, 0, 0]]  # x, o, blank
        assert data.y.tolist() == [1, 2, 0]
        assert (data.x.sum(axis=1) == 42).all()

    def test_a_missing_stalk_root_is_a_value_of_its_own(self, put: Put, rows: Rows, read: Read) -> None:
        rows("mushroom", 2)
        put("mushroom/agaricus-lepiota.data", MUSHROOMS)
        data = read("mushroom")
        assert data.y.tolist() == [1, 0]
        assert data.x.shape == (2, 126)
        assert (data.x.sum(axis=1) == 22).all()
        before = sum([6, 4, 10, 2, 9, 4, 3, 2, 12, 2])  # values of the ten attributes before it
        assert data.x[:, before : before + 7].tolist() == [[0, 0, 1, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 1]]

    def test_bank_has_a_header_quotes_numbers_and_one_hot_attributes(self, put: Put, rows: Rows, read: Read) -> None:
        rows("bank", 2)
        put(
            "uci/bank-full.csv",
            BANK_HEADER
            + '58;"management";"married";"tertiary";"no";2143;"yes";"no";"unknown";5;"may";261;1;-1;0;"unknown";"no"\n'
            + '30;"admin.";"divorced";"primary";"yes";-7;"no";"yes";"cellular";6;"jan";1;2;3;4;"success";"yes"\n',
        )
        data = read("bank")
        assert data.y.tolist() == [0, 1]
        one = [58, *hot(12, 4), *hot(3, 1), *hot(4, 2), *hot(2, 0), 2143, *hot(2, 1), *hot(2, 0), *hot(3, 2), 5]
        assert data.x[0].tolist() == [*one, *hot(12, 4), 261, 1, -1, 0, *hot(4, 3)]
        two = [30, *hot(12, 0), *hot(3, 0), *hot(4, 0), *hot(2, 1), -7, *hot(2, 0), *hot(2, 1), *hot(3, 0), 6]
        assert data.x[1].tolist() == [*two, *hot(12, 0), 1, 2, 3, 4, *hot(4, 2)]

    def test_red_wines_come_before_white_ones(self, put: Put, rows: Rows, read: Read) -> None:
        rows("wine", 3)
        put("uci/winequality-red.csv", WINE_HEADER + numbers(11, "3", ";"))
        put("uci/winequality-white.csv", WINE_HEADER + numbers(11, "9", ";") + numbers(11, "6", ";"))
        assert read("wine").y.tolist() == [0, 6, 3]

    @pytest.mark.parametrize("concentration", ["", ";10.000000"])
    def test_gas_is_sparse_text_with_every_feature_in_ten_files(
        self, concentration: str, put: Put, rows: Rows, read: Read
    ) -> None:
        """The later edition of the set writes the concentration behind the class."""
        rows("gas", 10)
        values = " ".join(f"{k}:{k / 2:.6f}" for k in range(1, 129))
        for batch in range(1, 11):
            put(f"gas/batch{batch}.dat", f"{(batch - 1) % 6 + 1}{concentration} {values} \n")
        data = read("gas")
        assert data.y.tolist() == [0, 1, 2, 3, 4, 5, 0, 1, 2, 3]
        assert data.x[9].tolist() == [k / 2 for k in range(1, 129)]

    @pytest.mark.parametrize("header", ["", '"Cement (kg)",b,c,d,e,f,g,h,"strength(MPa, megapascals) "\n'])
    def test_concrete_is_divided_at_its_mean_with_or_without_names(
        self, header: str, put: Put, rows: Rows, read: Read
    ) -> None:
        rows("concrete", 3)
        put("concrete/Concrete_Data.csv", header + numbers(8, "10") + numbers(8, "20") + numbers(8, "60.5"))
        assert read("concrete").y.tolist() == [0, 0, 1]


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

    def test_the_set_s_own_folder_comes_first(
        self, put: Put, root: DataRoot, source: Callable[[str], DataSource]
    ) -> None:
        own, _ = put("spambase/spambase.data", "one"), put("uci/spambase.data", "another")
        assert source("spambase").locate(root) == (own,)

    def test_absent_files_their_source_and_the_searched_folders_are_named(
        self, put: Put, root: DataRoot, source: Callable[[str], DataSource]
    ) -> None:
        line = refusal(lambda: source("spambase").locate(root))
        places = str(root.path / "spambase"), str(root.path / "uci")
        for words in ("no spambase.data in", *places, "UCI", "pubench downloads OpenML's copy, data set 44"):
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
