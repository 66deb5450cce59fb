"""How the files of each set are read: one entry of :data:`LAYOUTS` per key. The next set goes at its end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pandas import DataFrame

#: Of each column of features: None for a number, else its values, a feature for each in this order.
Feature = tuple[str, ...] | None


@dataclass(frozen=True)
class OpenML:
    """A pinned data set of OpenML with the same columns, its label called "class".

    Pinned are 44, 40668, 6 and 24, and three that OpenML's own pages describe with these rows and classes: 30
    (page-blocks), 37 (diabetes) and 1476 (gas-drift). Sets with a test file of their own have none: a copy that joins
    both parts does not say where one ends.
    """

    number: int
    rows: int
    codes: Mapping[str, int] | None = None
    """How it writes the classes, if not as the text file does."""
    recode: Callable[[DataFrame], DataFrame] | None = None
    """Rewrites its cells as the text file has them."""
    note: str = ""
    """What a user should know, said when it is read."""


@dataclass(frozen=True, kw_only=True)
class Layout:
    """How the text files of a set are read. A first line whose first number is none is a header."""

    files: tuple[str, ...]
    """Of the training part; rows are joined."""
    test_files: tuple[str, ...] = ()
    features: tuple[Feature, ...]
    """Of every column except the label, in order."""
    label: int = -1
    """Column of the class."""
    codes: Mapping[str, int] | None
    """How the files write the classes, as indices into ``DatasetInfo.classes``.

    None if the label is a number; class 1 is then what is above its mean.
    """
    separator: str = ","
    svmlight: bool = False
    """Cells read ``index:value``, and the label may read ``class;concentration``."""
    last_rows_are_test: int = 0
    sort_rows: bool = False
    """Rows are put in the order of their features; only for sets without equal rows, whose copies differ in order."""
    rows: int | None = None
    """Rows of the training part, where no two independent copies of the files were compared."""
    digest: str = ""
    """Checksum of the arrays (:func:`pubench_core.data.dataset.digest_of`) that independent copies of the set share."""
    openml: OpenML | None = None


def numbered(names: str) -> dict[str, int]:
    """Codes of classes in the order of their indices, from a text with spaces between them."""
    return {name: k for k, name in enumerate(names.split())}


def numbers(columns: int) -> tuple[Feature, ...]:
    """Columns of numbers."""
    return (None,) * columns


def one_hot(values: str, columns: int = 1) -> tuple[Feature, ...]:
    """Columns with the values named in a text with spaces between them."""
    return (tuple(values.split()),) * columns


def connect_4_words(cells: DataFrame) -> DataFrame:
    """OpenML's Connect-4 with x, o and b for the codes of its squares, 0 for blank, 1 and 2 for the players.

    OpenML's description calls 1 the first player, x; an alphabetical coding, which its classes have, makes that 2. The
    rows decide: x holds square b1 in 25,889 positions, o in 19,896. Raises ValueError if they do not.
    """
    squares = [name for name in cells if name != "class"]
    held = cells[squares[6]].tolist()
    one, two = held.count("1"), held.count("2")
    if not one and not two:  # written with letters after all
        return cells
    if one == two:
        raise ValueError("it does not show which of its codes 1 and 2 is the first player")
    words = {"0": "b", "1": "x" if one > two else "o", "2": "o" if one > two else "x"}
    return cells.replace(dict.fromkeys(squares, words))


#: Values of the 22 attributes of Mushroom as its documentation lists them, seen or not: 126 in all. "?" is a value of
#: stalk-root, the eleventh: that it is missing in 2,480 mushrooms is no accident.
_MUSHROOM = (
    "b c f k s x|f g s y|b c e g n p r u w y|f t|a c f l m n p s y|a d f n|c d w|b n|b e g h k n o p r u w y|e t|"
    "b c e r u z ?|f k s y|f k s y|b c e g n o p w y|b c e g n o p w y|p u|n o w y|n o t|c e f l n p s z|"
    "b h k n o r u w y|a c n s v y|d g l m p u w"
)
LAYOUTS: dict[str, Layout] = {
    "spambase": Layout(
        files=("spambase.data",),
        features=numbers(57),
        codes=numbered("0 1"),
        digest="bc0c53cc68afc78f",
        openml=OpenML(44, 4_601),
    ),
    # 126 features: squares a1 to a6, b1 to g6, each as blank, o, x (alphabetical)
    "connect-4": Layout(
        digest="144bf1f0db7ccc28",
        files=("connect-4.data",),
        features=one_hot("b o x", 42),
        codes=numbered("loss win draw"),
        sort_rows=True,
        openml=OpenML(
            40668, 67_557, codes={"loss": 0, "win": 1, "draw": 2, "1": 0, "2": 1, "0": 2}, recode=connect_4_words
        ),
    ),
    "letter": Layout(
        digest="56e06f6693aca219",
        files=("letter-recognition.data",),
        features=numbers(16),
        label=0,
        codes=numbered("A B C D E F G H I J K L M N O P Q R S T U V W X Y Z"),
        last_rows_are_test=4000,
        openml=OpenML(
            6,
            20_000,
            note="OpenML has the rows in another order than UCI; the test part is the last 4,000 of OpenML's, not the "
            "usual one",
        ),
    ),
    "bank": Layout(
        rows=45_211,
        files=("bank-full.csv",),
        separator=";",
        features=(
            *numbers(1),
            *one_hot(
                "admin. blue-collar entrepreneur housemaid management retired self-employed services student "
                "technician unemployed unknown"
            ),
            *one_hot("divorced married single"),
            *one_hot("primary secondary tertiary unknown"),
            *one_hot("no yes"),
            *numbers(1),
            *one_hot("no yes", 2),
            *one_hot("cellular telephone unknown"),
            *numbers(1),
            *one_hot("jan feb mar apr may jun jul aug sep oct nov dec"),
            *numbers(4),
            *one_hot("failure other success unknown"),
        ),
        codes=numbered("no yes"),
    ),
    "concrete": Layout(files=("Concrete_Data.csv",), features=numbers(8), codes=None, rows=1_030),
    "gas": Layout(
        files=tuple(f"batch{k}.dat" for k in range(1, 11)),
        rows=13_910,
        separator=r"\s+",
        svmlight=True,
        features=numbers(128),
        label=0,
        codes=numbered("1 2 3 4 5 6"),
        openml=OpenML(1476, 13_910),
    ),
    "housing": Layout(files=("housing.data",), separator=r"\s+", features=numbers(13), codes=None, rows=506),
    "landsat": Layout(
        digest="ce2341db22205ddc",
        files=("sat.trn",),
        test_files=("sat.tst",),
        separator=r"\s+",
        features=numbers(36),
        codes=numbered("1 2 3 4 5 7"),  # 6, a mixture, has no rows
    ),
    "mushroom": Layout(
        rows=8_124,
        files=("agaricus-lepiota.data",),
        features=tuple(tuple(values.split()) for values in _MUSHROOM.split("|")),
        label=0,
        codes=numbered("e p"),
        openml=OpenML(24, 8_124),
    ),
    "pageblock": Layout(
        rows=5_473,
        files=("page-blocks.data",),
        separator=r"\s+",
        features=numbers(10),
        codes=numbered("1 2 3 4 5"),
        openml=OpenML(30, 5_473),
    ),
    "pendigit": Layout(
        rows=7_494,
        files=("pendigits.tra",),
        test_files=("pendigits.tes",),
        features=numbers(16),
        codes=numbered("0 1 2 3 4 5 6 7 8 9"),
    ),
    "pima": Layout(
        digest="a63d791375000421",
        files=("pima-indians-diabetes.data",),
        features=numbers(8),
        codes=numbered("0 1"),
        openml=OpenML(37, 768, codes=numbered("tested_negative tested_positive")),
    ),
    "shuttle": Layout(
        digest="9738314d6f3ba062",
        files=("shuttle.trn",),
        test_files=("shuttle.tst",),
        separator=r"\s+",
        features=numbers(9),
        codes=numbered("1 2 3 4 5 6 7"),
    ),
    "wine": Layout(
        rows=6_497,
        files=("winequality-red.csv", "winequality-white.csv"),
        separator=";",
        features=numbers(11),
        codes=numbered("3 4 5 6 7 8 9"),
    ),
}
