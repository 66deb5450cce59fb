"""How the files of each set are read: one entry of :data:`LAYOUTS` per key. The next set goes at its end.

Counts of rows are there because a text file that was cut at the end of a line is like a complete one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .cells import Cells, token
from .encoding import Feature, Numbers, OneHot
from .text import Split, by_comma, by_semicolon, by_space, svmlight


@dataclass(frozen=True)
class File:
    """A text file as UCI names it and its number of rows."""

    name: str
    rows: int


@dataclass(frozen=True)
class OpenML:
    """A pinned data set of OpenML with the same columns, its label called "class".

    Pinned are 44, 40668, 6 and 24, and three that OpenML's own pages describe with these rows and classes: 30
    (page-blocks), 37 (diabetes) and 1476 (gas-drift). Sets with a test file of their own have none: a copy that joins
    both parts does not say where one ends.

    ``codes``: how it writes the classes, where that is not how the text file does. ``recode``: rewrites its cells as
    the text file has them. ``note``: what a user should know, said when it is read.
    """

    number: int
    codes: Mapping[str, int] | None = None
    recode: Callable[[Cells], Cells] | None = None
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Layout:
    """``files``/``test_files``: the training part and, where the set comes with one, the test part; rows are joined.

    ``split``: cuts a line into cells. ``header``: the names in the first line; empty if there is none, None where a
    first line whose first cell is no number is passed over. ``features``: all columns but the label, in order.
    ``label``: the class's column. ``codes``: how the files write the classes, as indices into ``DatasetInfo.classes``;
    None where the label is a number, and class 1 is what is above its mean. ``last_rows_are_test``: how many.
    ``sort_rows``: rows are put in the order of their features; only for sets without equal rows, whose copies are in
    different orders.
    """

    files: tuple[File, ...]
    test_files: tuple[File, ...] = ()
    split: Split = by_comma
    header: tuple[str, ...] | None = ()
    features: tuple[Feature, ...]
    label: int = -1
    codes: Mapping[str, int] | None
    last_rows_are_test: int = 0
    sort_rows: bool = False
    openml: OpenML | None = None

    @property
    def width(self) -> int:
        """Columns of a file, the label included."""
        return 1 + sum(feature.columns for feature in self.features)


def numbered(names: str) -> dict[str, int]:
    """Codes of classes in the order of their indices, from a text with spaces between them."""
    return {name: k for k, name in enumerate(names.split())}


def one_hot(values: str, columns: int = 1) -> OneHot:
    """An attribute with the values named in a text with spaces between them."""
    return OneHot(tuple(values.split()), columns)


def connect_4_words(cells: Cells) -> Cells:
    """OpenML's Connect-4 with x, o and b for the codes of its squares, 0 for blank, 1 and 2 for the players.

    OpenML's description calls 1 the first player, x; an alphabetical coding, which its classes have, makes that 2. The
    rows decide: x holds square b1 in 25,889 positions, o in 19,896.
    """
    square = cells.feature_columns[6]
    held = [token(cell) for cell in cells.columns[square]]
    one, two = held.count("1"), held.count("2")
    if not one and not two:  # written with letters after all
        return cells
    if one == two:
        raise cells.damaged("does not show which of its codes 1 and 2 is the first player")
    words = {"0": "b", "1": "x" if one > two else "o", "2": "o" if one > two else "x"}
    columns = [
        column if j == cells.label else [words.get(token(cell), cell) for cell in column]
        for j, column in enumerate(cells.columns)
    ]
    return Cells(cells.path, columns, cells.label, cells.remedy, cells.places)


#: Values of the 22 attributes of Mushroom as its documentation lists them, seen or not: 126 in all. "?" is a value of
#: stalk-root, the eleventh: that it is missing in 2,480 mushrooms is no accident.
_MUSHROOM = (
    "b c f k s x|f g s y|b c e g n p r u w y|f t|a c f l m n p s y|a d f n|c d w|b n|b e g h k n o p r u w y|e t|"
    "b c e r u z ?|f k s y|f k s y|b c e g n o p w y|b c e g n o p w y|p u|n o w y|n o t|c e f l n p s z|"
    "b h k n o r u w y|a c n s v y|d g l m p u w"
)
_BANK_NAMES = (
    "age job marital education default balance housing loan contact day month duration campaign pdays previous "
    "poutcome y"
)
_WINE_NAMES = (
    "fixed acidity|volatile acidity|citric acid|residual sugar|chlorides|free sulfur dioxide|total sulfur dioxide|"
    "density|pH|sulphates|alcohol|quality"
)
_GAS_ROWS = (445, 1244, 1586, 161, 197, 2300, 3613, 294, 470, 3600)

LAYOUTS: dict[str, Layout] = {
    "spambase": Layout(
        files=(File("spambase.data", 4601),), features=(Numbers(57),), codes=numbered("0 1"), openml=OpenML(44)
    ),
    # 126 features: squares a1 to a6, b1 to g6, each as blank, o, x (alphabetical)
    "connect-4": Layout(
        files=(File("connect-4.data", 67557),),
        features=(one_hot("b o x", 42),),
        codes=numbered("loss win draw"),
        sort_rows=True,
        openml=OpenML(40668, codes={"loss": 0, "win": 1, "draw": 2, "1": 0, "2": 1, "0": 2}, recode=connect_4_words),
    ),
    "letter": Layout(
        files=(File("letter-recognition.data", 20000),),
        features=(Numbers(16),),
        label=0,
        codes=numbered("A B C D E F G H I J K L M N O P Q R S T U V W X Y Z"),
        last_rows_are_test=4000,
        openml=OpenML(
            6,
            note="OpenML has the rows in another order than UCI; the test part is the last 4,000 of OpenML's, not the "
            "usual one",
        ),
    ),
    "bank": Layout(
        files=(File("bank-full.csv", 45211),),
        split=by_semicolon,
        header=tuple(_BANK_NAMES.split()),
        features=(
            Numbers(1),
            one_hot(
                "admin. blue-collar entrepreneur housemaid management retired self-employed services student "
                "technician unemployed unknown"
            ),
            one_hot("divorced married single"),
            one_hot("primary secondary tertiary unknown"),
            one_hot("no yes"),
            Numbers(1),
            one_hot("no yes", 2),
            one_hot("cellular telephone unknown"),
            Numbers(1),
            one_hot("jan feb mar apr may jun jul aug sep oct nov dec"),
            Numbers(4),
            one_hot("failure other success unknown"),
        ),
        codes=numbered("no yes"),
    ),
    "concrete": Layout(files=(File("Concrete_Data.csv", 1030),), header=None, features=(Numbers(8),), codes=None),
    "gas": Layout(
        files=tuple(File(f"batch{k}.dat", rows) for k, rows in enumerate(_GAS_ROWS, start=1)),
        split=svmlight,
        features=(Numbers(128),),
        label=0,
        codes=numbered("1 2 3 4 5 6"),
        openml=OpenML(1476),
    ),
    "housing": Layout(files=(File("housing.data", 506),), split=by_space, features=(Numbers(13),), codes=None),
    "landsat": Layout(
        files=(File("sat.trn", 4435),),
        test_files=(File("sat.tst", 2000),),
        split=by_space,
        features=(Numbers(36),),
        codes=numbered("1 2 3 4 5 7"),  # 6, a mixture, has no rows
    ),
    "mushroom": Layout(
        files=(File("agaricus-lepiota.data", 8124),),
        features=tuple(one_hot(values) for values in _MUSHROOM.split("|")),
        label=0,
        codes=numbered("e p"),
        openml=OpenML(24),
    ),
    "pageblock": Layout(
        files=(File("page-blocks.data", 5473),),
        split=by_space,
        features=(Numbers(10),),
        codes=numbered("1 2 3 4 5"),
        openml=OpenML(30),
    ),
    "pendigit": Layout(
        files=(File("pendigits.tra", 7494),),
        test_files=(File("pendigits.tes", 3498),),
        features=(Numbers(16),),
        codes=numbered("0 1 2 3 4 5 6 7 8 9"),
    ),
    "pima": Layout(
        files=(File("pima-indians-diabetes.data", 768),),
        features=(Numbers(8),),
        codes=numbered("0 1"),
        openml=OpenML(37, codes=numbered("tested_negative tested_positive")),
    ),
    "shuttle": Layout(
        files=(File("shuttle.trn", 43500),),
        test_files=(File("shuttle.tst", 14500),),
        split=by_space,
        features=(Numbers(9),),
        codes=numbered("1 2 3 4 5 6 7"),
    ),
    "wine": Layout(
        files=(File("winequality-red.csv", 1599), File("winequality-white.csv", 4898)),
        split=by_semicolon,
        header=tuple(_WINE_NAMES.split("|")),
        features=(Numbers(11),),
        codes=numbered("3 4 5 6 7 8 9"),
    ),
}
