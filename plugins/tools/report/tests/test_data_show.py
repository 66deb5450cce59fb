"""``pubench data show``: what is drawn is what a run would train on, and the numbers on a picture are its facts."""

from __future__ import annotations

import os
import sys
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from matplotlib import rc_context, rcParams
from pubench_report import data_show as shown
from pubench_report.data_show import class_counts, compositions, density, groups_of, heading, plan_of
from scipy.stats import norm
from sklearn.datasets import load_digits

from pubench_cli.messages import said
from pubench_cli.options import Given, option
from pubench_cli.run import plan_of as plan_of_run
from pubench_core.data.dataset import ClassData, DataRoot, PNDataset
from pubench_core.data.generator import generate
from pubench_core.data.source import DataSource
from pubench_core.engine.build import build_problem
from pubench_core.engine.problem import Problem
from pubench_core.errors import RequestError
from pubench_core.plugins.hooks import hookimpl
from pubench_core.plugins.info import DatasetInfo, MethodInfo
from pubench_core.plugins.registry import GROUP, Registry, registry
from pubench_core.specs import Scheme

SCHEMES: tuple[Scheme, ...] = ("case-control", "single-training-set")
MECHANISMS = ("scar", "s2", "s3", "s4")
NO_FILES = DataRoot(Path("nowhere"), "a test")
DIGITS = "digits"


@pytest.fixture(autouse=True)
def _caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PUBENCH_CACHE", str(tmp_path / "cache"))


def given(**values: Any) -> Given:
    """Options by the names of their parameters: ``given(c="0.25")`` is ``--c 0.25``."""
    return Given(tuple((option("--" + name.replace("_", "-")), value) for name, value in values.items()))


def problem(key: str, plugins: Registry | None = None, **options: Any) -> Problem:
    return build_problem(plan_of(plugins or registry(), key, given(**options)), root=NO_FILES)


def draw(key: str, out: Path | None, **options: Any) -> None:
    shown.show(key, given(offline=True, **options), out)


# ------------------------------------------------------------------ the same split as a run


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("mech", MECHANISMS)
def test_the_split_is_that_of_a_run_with_the_same_seed(scheme: str, mech: str) -> None:
    labels = {"mech": mech, "scheme": scheme, "c": "0.25", "seed": 7}
    of_run = build_problem(plan_of_run(given(method="upu", data=DIGITS, **labels), [], None)).split
    of_picture = problem(DIGITS, **labels).split
    assert of_run.train.n_labeled > 100
    for part in ("train", "validation"):
        np.testing.assert_array_equal(getattr(of_picture, part).rows, getattr(of_run, part).rows)
        np.testing.assert_array_equal(getattr(of_picture, part).labeled, getattr(of_run, part).labeled)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_counts_and_prior_of_the_heading_are_those_of_the_record(scheme: str) -> None:
    plan = plan_of(registry(), DIGITS, given(scheme=scheme))
    facts = build_problem(plan, root=NO_FILES).facts()
    lines = heading(plan, facts)
    n, share = {
        "case-control": ("1,149", "570 / 1,149 = 0.4961"),
        "single-training-set": ("1,092", "513 / 1,092 = 0.4698"),
    }[scheme]
    assert lines == (
        "Digits 8x8",
        f"scar (s1), c = 0.1, {scheme}, seed 2",
        f"57 labeled positives, {n} unlabeled rows U; prior 0.4961, in U {share}",
    )
    assert facts.train.labeled == 57
    assert f"{facts.train.unlabeled:,}" == n
    assert facts.prior.true == pytest.approx(0.4961, abs=5e-5)


# ------------------------------------------------------------------ classes and propensities


def test_class_bars_count_the_training_pool() -> None:
    of_digits = problem(DIGITS, mech="s3")
    y = load_digits().target
    counts = class_counts(of_digits, registry().find(DatasetInfo, DIGITS))
    assert list(counts) == list("0246813579")
    train = of_digits.split.train
    for name, (labeled, hidden, negative) in counts.items():
        of_class = y[train.rows] == int(name)
        assert (labeled + hidden + negative, labeled) == (of_class.sum(), (of_class & train.labeled).sum())
    facts = of_digits.facts().train
    labeled, hidden, negative = (sum(of) for of in zip(*counts.values(), strict=True))
    assert (labeled, labeled + hidden, negative) == (facts.labeled, facts.positive, facts.negative)


# ------------------------------------------------------------------ images


class Squares(DataSource):
    """400 squares; classes 0 and 1 count as positive. A pixel of the first channel is the row's number / 400."""

    def read(self, files: tuple[Path, ...], root: DataRoot) -> ClassData:
        channels, dtype = (3, np.float32) if self.info.key == "color" else (1, np.uint8)
        x = np.zeros((400, channels, 6, 5), dtype=dtype)
        x[:, 0] = (np.arange(400) * (1 / 400 if channels == 3 else 0.5)).astype(dtype)[:, None, None]
        return ClassData(x, np.arange(400) % 4)


@pytest.fixture
def squares(monkeypatch: pytest.MonkeyPatch) -> Registry:
    """The installed plugins and two sets of images, ``gray`` (uint8) and ``color`` (float32)."""

    @hookimpl
    def pubench_datasets() -> list[DatasetInfo]:
        return [
            DatasetInfo(
                key=key,
                name=f"Squares, {key}",
                summary="squares",
                load="toy_squares:Squares",
                modality="image",
                classes=("a", "b$", "c", "$d"),
                positive=(0, 1),
                negative=(2, 3),
                backbone="cnn",
            )
            for key in ("gray", "color")
        ]

    module = ModuleType("toy_squares")
    module.Squares = Squares  # type: ignore[attr-defined]
    module.pubench_datasets = pubench_datasets  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "toy_squares", module)
    plugins = Registry([*entry_points(group=GROUP), EntryPoint("toy_squares", "toy_squares", GROUP)])
    monkeypatch.setattr(shown, "registry", lambda: plugins)
    return plugins


@pytest.mark.parametrize("key", ["gray", "color"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_image_is_of_the_group_that_its_title_names(squares: Registry, key: str, scheme: str) -> None:
    of_squares = problem(key, squares, scheme=scheme, c="0.3")
    train, facts, truth = of_squares.split.train, of_squares.facts().train, of_squares.truth_train
    assert facts.positive is not None
    assert truth is not None
    (labeled, n_labeled), (u, n_u), (hidden, n_hidden) = groups_of(of_squares).values()
    assert (n_labeled, n_u, n_hidden) == (38, facts.unlabeled, facts.positive - 38) == (facts.labeled, n_u, 90)
    assert [len({*of.tolist()}) for of in (labeled, u, hidden)] == [38, 48, 48]
    assert train.labeled[labeled].all()
    assert not train.labeled[hidden].any()
    assert (truth[hidden] == 1).all()
    assert train.labeled[u].any() == (scheme == "case-control")  # labeled positives are in U, as a method sees it


def test_a_group_may_be_empty(squares: Registry, tmp_path: Path) -> None:
    assert [total for _, total in groups_of(problem("gray", squares, c="1")).values()][2] == 0
    draw("gray", tmp_path / "all.png", c="1")
    assert (tmp_path / "all.png").read_bytes().startswith(b"\x89PNG")


def test_mnist_shows_even_digits_as_positive(tmp_path: Path) -> None:
    if "PUBENCH_DATA" not in os.environ:
        pytest.skip("PUBENCH_DATA names no folder with MNIST")
    plan = plan_of(registry(), "mnist", given())
    root = DataRoot(Path(os.environ["PUBENCH_DATA"]), "PUBENCH_DATA", cache=tmp_path, offline=True)
    try:
        of_mnist = build_problem(plan, root=root)
    except RequestError as error:
        pytest.skip(f"MNIST is not here: {error}")
    assert of_mnist.facts().train.labeled == 2359  # PU-Bench: floor(0.1 |P|)
    assert [len(drawn) for drawn, _ in groups_of(of_mnist).values()] == [48, 48, 48]


# ------------------------------------------------------------------ two schemes, in closed form


@pytest.mark.parametrize("c", [0.002, 0.1, 0.29, 0.5, 1.0])
@pytest.mark.parametrize("k", [0, 1])
def test_compositions_are_what_the_generator_makes(c: float, k: int) -> None:
    copies, hidden, negative = compositions(c)[SCHEMES[k]]
    y = np.repeat(np.array([1, 0], dtype=np.int8), 500)
    rows, x = np.arange(1000), np.zeros((1000, 1), dtype=np.float32)
    data = PNDataset("toy", "tabular", x, y, rows, x[:1], y[:1], rows[:1], None, None)
    train = generate(
        data,
        scheme=SCHEMES[k],
        choose=lambda pool, positives, n, rng: rng.choice(len(positives), n, replace=False),
        c=c,
        validation_fraction=0.0,
        test_fraction=0.2,
        seed=2,
    ).train
    u = train.unlabeled(SCHEMES[k])
    positive = y[train.rows[u]] == 1
    assert copies == train.labeled[u].sum()
    assert hidden == (positive & ~train.labeled[u]).sum()
    assert negative == (~positive).sum()


def test_densities_are_those_of_two_gaussians() -> None:
    x = np.linspace(-12, 12, 4801)
    np.testing.assert_allclose(density(x, 1), norm.pdf(x, 1.5, 1))
    np.testing.assert_allclose(density(x, 450 / 950), (450 * norm.pdf(x, 1.5) + 500 * norm.pdf(x, -1.5)) / 950)
    assert np.trapezoid(density(x, 0.3), x) == pytest.approx(1)


# ------------------------------------------------------------------ the command


@pytest.mark.parametrize("key", ["digits", "gray", "color", "toy-gaussian"])
def test_the_same_seed_writes_the_same_file(
    squares: Registry, key: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, again = tmp_path / "first.png", tmp_path / "again.PNG"
    draw(key, first)
    draw(key, again)
    assert capsys.readouterr().out.splitlines() == [str(first), str(again)]
    assert first.read_bytes() == again.read_bytes()


def test_another_seed_is_another_picture(squares: Registry, tmp_path: Path) -> None:
    draw("gray", tmp_path / "2.png")
    draw("gray", tmp_path / "3.png", seed=3)
    assert (tmp_path / "2.png").read_bytes() != (tmp_path / "3.png").read_bytes()


def test_the_picture_is_named_after_data_and_mechanism(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    draw("toy-gaussian", None, mech="s1")
    assert capsys.readouterr().out == "toy-gaussian-s1.png\n"
    assert (tmp_path / "toy-gaussian-s1.png").is_file()


@pytest.mark.parametrize(
    ("key", "changed", "message"),
    [
        ("digit", {}, "unknown dataset 'digit'; did you mean 'digits'? (pubench list datasets)"),
        ("toy-gausian", {}, "unknown dataset 'toy-gausian'"),
        (DIGITS, {"mech": "s9"}, "unknown mechanism 's9'"),
        ("toy-gaussian", {"mech": "s9"}, "unknown mechanism 's9'"),
        (
            DIGITS,
            {"mech": "given"},
            "mechanism given is for a table of your own; --data my.csv and --label-col COLUMN name it",
        ),
        (DIGITS, {"c": "1.5"}, "--c: given '1.5'; c must be a number in (0, 1]"),
        (DIGITS, {"c": "many"}, "--c: given 'many'; c must be a number in (0, 1]"),
        ("toy-gaussian", {"c": "1.5"}, "--c: given '1.5'; c must be a number in (0, 1]"),
        (DIGITS, {"c": "0.001"}, "c = 0.001 labels nobody"),
        ("toy-gaussian", {"c": "0.001"}, "c = 0.001 labels nobody"),
        (DIGITS, {"scheme": "one-sample", "c": "0.1"}, "--c: scheme one-sample labels a share of P and U together"),
        (DIGITS, {"scheme": "two-sample", "total": 9000}, "--total 9000: digits allows"),
        (DIGITS, {"scheme": "other"}, "--scheme: given 'other'"),
        (DIGITS, {"seed": -1}, "--seed: given -1"),
        ("toy-gaussian", {"mech": "s2"}, "--mech sar-lbe-a: toy-gaussian compares the two schemes"),
    ],
)
def test_a_request_that_cannot_be_met_is_refused(
    key: str, changed: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(RequestError) as refused:
        draw(key, tmp_path / "x.png", **changed)
    assert said(refused.value).startswith(message)
    assert not (tmp_path / "x.png").exists()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("x.svg", "--out must end in .png, got .*x.svg"),
        ("x", "--out must end in .png, got .*x"),
        ("absent/x.png", "there is no folder"),
        ("folder.png", "is a folder; name a file in it"),
    ],
)
def test_a_place_that_takes_no_picture_is_refused(name: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(RequestError, match=message):
        draw("toy-gaussian", tmp_path / name)


def test_any_method_that_loads_will_do() -> None:
    methods = [
        SimpleNamespace(key="oracle", needs=frozenset({"truth"}), load="absent:Absent"),
        SimpleNamespace(key="aaa", kind="method", needs=frozenset(), load="absent_module:Absent"),
    ]
    plugins: Any = SimpleNamespace(infos=lambda kind: [*methods, registry().find(MethodInfo, "upu")])
    assert shown._any_method(plugins) == "upu"
    with pytest.raises(RequestError, match="no method is installed"):
        shown._any_method(SimpleNamespace(infos=lambda kind: methods))  # type: ignore[arg-type]


def test_a_users_style_changes_nothing(tmp_path: Path) -> None:
    draw("toy-gaussian", tmp_path / "plain.png")
    with rc_context({"axes.grid": True, "font.size": 20, "savefig.bbox": "tight"}):
        draw("toy-gaussian", tmp_path / "styled.png")
        assert rcParams["axes.grid"]
    assert (tmp_path / "plain.png").read_bytes() == (tmp_path / "styled.png").read_bytes()


@pytest.mark.parametrize("key", ["gray", "digits", "toy-gaussian"])
def test_pictures_are_drawn_without_pyplot(
    squares: Registry, key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)  # importing it fails
    draw(key, tmp_path / "x.png")
    assert (tmp_path / "x.png").is_file()
