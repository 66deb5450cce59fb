"""Tabular data sets: what they are. How their files are read is the table in :mod:`pubench_datasets_tabular.layouts`.

A new set is a record here and a layout of the same key there. Class names are words: a class that the files call
"7" and that stands at another index would be mistaken for an index in a request.
"""

from functools import partial

from pubench_core import DatasetInfo, Reference, hookimpl

from .disdat import DATASETS as DISDAT

#: Of two classes, as most sets have them, the second is positive.
_table = partial(
    DatasetInfo,
    load="pubench_datasets_tabular.source:Table",
    family="tabular",
    modality="tabular",
    positive=(1,),
    negative=(0,),
    backbone="mlp",
    preprocess="standardize",
    license="CC BY 4.0 (UCI)",
)
_UCI = "the UCI Machine Learning Repository"


def _downloads(number: int) -> str:
    """Ends the source of a set whose OpenML id is pinned in its layout."""
    return f"(pubench downloads OpenML's copy, data set {number})"


def _letters(names: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(positive, negative) class indices: the letters named, and the rest."""
    positive = tuple(sorted(ord(name) - ord("A") for name in names.split()))
    return positive, tuple(k for k in range(26) if k not in positive)


_A_TO_M, _N_TO_Z = _letters("A B C D E F G H I J K L M")

#: The benchmark sets of PU-Bench and of Wang et al.
_BENCHMARKS = [
    _table(
        key="spambase",
        name="Spambase",
        summary="4,601 e-mails as 57 word and character frequencies; spam against ham",
        reference=Reference(authors="Hopkins, Reeber, Forman, Suermondt", title="Spambase", venue="UCI", year=1999),
        classes=("ham", "spam"),
        source=f"{_UCI}, Spambase {_downloads(44)}",
    ),
    _table(
        key="connect-4",
        name="Connect-4",
        summary="67,557 positions after eight moves, 42 squares one-hot; a win of the first player against the rest",
        reference=Reference(authors="Tromp", title="Connect-4", venue="UCI", year=1995),
        classes=("loss", "win", "draw"),
        positive=(1,),
        negative=(0, 2),
        preprocess="none",
        source=f"{_UCI}, Connect-4 {_downloads(40668)}",
    ),
    _table(
        key="letter",
        name="Letter Recognition",
        summary="20,000 printed capital letters, 16 measurements; A to M against N to Z",
        reference=Reference(
            authors="Frey, Slate",
            title="Letter Recognition Using Holland-Style Adaptive Classifiers",
            venue="Machine Learning 6(2)",
            year=1991,
        ),
        classes=tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
        positive=_A_TO_M,
        negative=_N_TO_Z,
        binarizations={
            "case1": _letters("B V L R I O W S J K C H Z"),
            "case2": _letters("D T A Y Q G B L I W J C Z"),
        },
        backbone="mlp-wang",
        source=f"{_UCI}, Letter Recognition {_downloads(6)}",
    ),
]

#: With Spambase, the sets of Jain, White, Radivojac 2017; positives are those that give the paper's counts, n1 of n.
#: Bank has other counts: 5,289 of 45,211 here, 5,188 of 45,000 in Table 1, which are those of the first 45,000 rows.
_JAIN = [
    _table(
        key="bank",
        name="Bank Marketing",
        summary="45,211 telephone calls of a bank, 7 numbers and 9 one-hot attributes; term deposit against none",
        reference=Reference(
            authors="Moro, Cortez, Rita",
            title="A data-driven approach to predict the success of bank telemarketing",
            venue="Decision Support Systems 62",
            year=2014,
        ),
        classes=("no deposit", "deposit"),
        source=f"{_UCI}, Bank Marketing (bank-full.csv in bank.zip)",
    ),
    _table(
        key="concrete",
        name="Concrete Compressive Strength",
        summary="1,030 concrete mixtures, 8 numbers; strength above the mean against the rest",
        reference=Reference(
            authors="Yeh",
            title="Modeling of strength of high-performance concrete using artificial neural networks",
            venue="Cement and Concrete Research 28(12)",
            year=1998,
        ),
        classes=("strength up to the mean", "strength above the mean"),
        source=f"{_UCI}, Concrete Compressive Strength (Concrete_Data.xls, saved as Concrete_Data.csv)",
    ),
    _table(
        key="gas",
        name="Gas Sensor Array Drift",
        summary="13,910 responses of 16 gas sensors, 128 numbers; ethanol against acetone, four gases left out",
        reference=Reference(
            authors="Vergara, Vembu, Ayhan, Ryan, Homer, Huerta",
            title="Chemical gas sensor drift compensation using classifier ensembles",
            venue="Sensors and Actuators B 166",
            year=2012,
        ),
        classes=("ethanol", "ethylene", "ammonia", "acetaldehyde", "acetone", "toluene"),
        positive=(0,),
        negative=(4,),
        source=f"{_UCI}, Gas Sensor Array Drift {_downloads(1476)}",
        license="for research only, commercial purposes excluded (the donors, on UCI's page)",
    ),
    _table(
        key="housing",
        name="Boston Housing",
        summary="506 districts of Boston, 13 numbers; median value above the mean against the rest",
        reference=Reference(
            authors="Harrison, Rubinfeld",
            title="Hedonic prices and the demand for clean air",
            venue="J. Environmental Economics and Management 5",
            year=1978,
        ),
        classes=("value up to the mean", "value above the mean"),
        source="StatLib, or UCI's former Housing (housing.data)",
        license="not stated",
    ),
    _table(
        key="landsat",
        name="Statlog (Landsat Satellite)",
        summary="6,435 neighborhoods of 3x3 satellite pixels, 36 numbers; very damp gray soil against the rest",
        reference=Reference(authors="Srinivasan", title="Statlog (Landsat Satellite)", venue="UCI", year=1993),
        classes=(
            "red soil",
            "cotton crop",
            "gray soil",
            "damp gray soil",
            "soil with vegetation stubble",
            "very damp gray soil",
        ),
        positive=(5,),
        negative=(0, 1, 2, 3, 4),
        source=f"{_UCI}, Statlog (Landsat Satellite)",
    ),
    _table(
        key="mushroom",
        name="Mushroom",
        summary="8,124 mushrooms, 22 attributes one-hot; poisonous against edible",
        reference=Reference(authors="Schlimmer", title="Mushroom", venue="UCI", year=1981),
        classes=("edible", "poisonous"),
        preprocess="none",
        source=f"{_UCI}, Mushroom {_downloads(24)}",
    ),
    _table(
        key="pageblock",
        name="Page Blocks Classification",
        summary="5,473 blocks of scanned pages, 10 numbers; everything that is no text against text",
        aliases=("page-blocks",),
        reference=Reference(authors="Malerba", title="Page Blocks Classification", venue="UCI", year=1994),
        classes=("text", "horizontal line", "picture", "vertical line", "graphic"),
        positive=(1, 2, 3, 4),
        negative=(0,),
        source=f"{_UCI}, Page Blocks Classification {_downloads(30)}",
    ),
    _table(
        key="pendigit",
        name="Pen-Based Recognition of Handwritten Digits",
        summary="10,992 digits written on a tablet, 16 coordinates; 0, 1 and 2 against the rest",
        aliases=("pendigits",),
        reference=Reference(
            authors="Alpaydin, Alimoglu", title="Pen-Based Recognition of Handwritten Digits", venue="UCI", year=1996
        ),
        classes=tuple("0123456789"),
        positive=(0, 1, 2),
        negative=(3, 4, 5, 6, 7, 8, 9),
        source=f"{_UCI}, Pen-Based Recognition of Handwritten Digits",
    ),
    _table(
        key="pima",
        name="Pima Indians Diabetes",
        summary="768 women, 8 measurements; diabetes against none",
        reference=Reference(
            authors="Smith, Everhart, Dickson, Knowler, Johannes",
            title="Using the ADAP learning algorithm to forecast the onset of diabetes mellitus",
            venue="Symposium on Computer Applications and Medical Care",
            year=1988,
        ),
        classes=("no diabetes", "diabetes"),
        source=f"pima-indians-diabetes.data as UCI had it {_downloads(37)}",
        license="CC0 as commonly distributed",
    ),
    _table(
        key="shuttle",
        name="Statlog (Shuttle)",
        summary="58,000 states of a radiator, 9 numbers; High against the rest",
        reference=Reference(authors="Catlett", title="Statlog (Shuttle)", venue="UCI", year=1993),
        classes=("Rad Flow", "Fpv Close", "Fpv Open", "High", "Bypass", "Bpv Close", "Bpv Open"),
        positive=(3,),
        negative=(0, 1, 2, 4, 5, 6),
        source=f"{_UCI}, Statlog (Shuttle)",
    ),
    _table(
        key="wine",
        name="Wine Quality",
        summary="6,497 red and white wines, 11 measurements; quality 6 and better against worse",
        aliases=("wine-quality",),
        reference=Reference(
            authors="Cortez, Cerdeira, Almeida, Matos, Reis",
            title="Modeling wine preferences by data mining from physicochemical properties",
            venue="Decision Support Systems 47(4)",
            year=2009,
        ),
        classes=tuple(f"quality {grade}" for grade in range(3, 10)),
        positive=(3, 4, 5, 6),
        negative=(0, 1, 2),
        source=f"{_UCI}, Wine Quality",
    ),
]


_OPENML = _table(
    key="openml",
    name="OpenML",
    summary="any table of OpenML by its number, with its default target or another nominal column; the second class "
    "against the rest",
    load="pubench_datasets_tabular.openml_tasks:OpenMLTable",
    reference=Reference(
        authors="Vanschoren, van Rijn, Bischl, Torgo",
        title="OpenML: networked science in machine learning",
        venue="SIGKDD Explorations 15(2)",
        year=2013,
        url="https://doi.org/10.1145/2641190.2641198",
    ),
    classes=("rest", "positive"),
    source="OpenML",
    license="as each table says",
    tasks="openml:ID[/TARGET]",
)


_TEISSEYRE = _table(
    key="teisseyre2025",
    name="Tables of AISTATS 2025",
    summary="15 tables of UCI and OpenML, two classes each, as the published comparison under biased labels has them",
    load="pubench_datasets_tabular.teisseyre:SuiteTable",
    reference=Reference(
        authors="Teisseyre, Martens, Bekker, Davis",
        title="Learning from biased positive-unlabeled data via threshold calibration",
        venue="AISTATS",
        year=2025,
        url="https://proceedings.mlr.press/v258/teisseyre25a.html",
    ),
    classes=("rest", "positive"),
    preprocess="none",
    source="the repository TimoM99/PUBiasCalibration, folder data/datasets, commit ae378c1",
    license="Apache-2.0 (repository); the tables have terms of their own",
    tasks="teisseyre2025/TABLE",
)


@hookimpl
def pubench_datasets() -> list[DatasetInfo]:
    return [*_BENCHMARKS, *_JAIN, _OPENML, _TEISSEYRE, *DISDAT]
