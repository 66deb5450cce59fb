"""``pubench data show``: who is labeled and who is hidden, in the problem of ``pubench run`` with the same seed."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pubench_cli.console import err
from pubench_cli.machine import print_json
from pubench_cli.messages import said
from pubench_cli.options import Given
from pubench_cli.out_file import refuse_unwritable
from pubench_cli.progress import data_progress
from pubench_cli.visible import rows_out
from pubench_core.data.dataset import IntArray, data_root
from pubench_core.data.generator import label_count
from pubench_core.engine.plan import Plan
from pubench_core.engine.resolve import resolve
from pubench_core.engine.resolve_method import method_class
from pubench_core.errors import PluginError, RequestError
from pubench_core.plugins.info import DatasetInfo, MechanismInfo, MethodInfo
from pubench_core.plugins.registry import Registry, registry
from pubench_core.results import DataFacts
from pubench_core.specs import MechanismSpec, RunSpec

from .drawing import COLORS, SMALL, plain_style, write_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pubench_core.engine.problem import Problem

#: Not a data set: two schemes compared in closed form, as in Figures 7 and 8 of PU-Bench.
TOY = "toy-gaussian"
#: Its rows, how many are positive, and the mean of the positive class; the negative one is its mirror image.
ROWS, POSITIVE, MEAN = 1000, 500, 1.5
LABELED, HIDDEN, NEGATIVE = COLORS[1], COLORS[5], COLORS[0]
#: Images of a group: rows by columns.
GRID = (4, 12)


def show(key: str, given: Given, out: Path | None, *, as_json: bool = False) -> None:
    """Writes a PNG (``KEY-MECH.png`` if ``out`` is None) and prints its path.

    Raises RequestError for what cannot be resolved, labeled or written.
    """
    mechanism = given.get("--mech", "scar")
    path = out if out is not None else Path(f"{key.replace('/', '-')}-{mechanism}.png")
    if path.suffix.lower() != ".png":
        raise RequestError(f"--out must end in .png, got {path}")
    refuse_unwritable(path)
    with plain_style(), redirect_stdout(sys.stderr):  # what a plugin prints must not mix with the path
        if key == TOY:
            figure = _toy(registry().find(MechanismInfo, mechanism), given)
        else:
            figure = _figure(plan_of(registry(), key, given))
        write_figure(figure, path)
    if as_json:
        print_json({"picture": str(path)})
    else:
        print(path, file=rows_out())


def plan_of(plugins: Registry, key: str, given: Given) -> Plan:
    """A run with these data, labels and seed; its method has no part in them."""
    layer = given.layer()
    layer.put(("data", "key"), key, "")
    layer.put(("method", "key"), _any_method(plugins), "")
    return resolve([layer], plugins)


def _any_method(plugins: Registry) -> str:
    """A plan is of a method, and split and labels are the same for all: the first that loads and needs no truth."""
    for info in plugins.infos(MethodInfo):
        if "truth" in info.needs:
            continue
        try:
            method_class(info)
        except PluginError:  # broken, and not needed here
            continue
        return info.key
    raise RequestError("no method is installed (pubench list methods), and a problem is built for one")


def heading(spec: RunSpec, data: DatasetInfo, mechanism: MechanismInfo, facts: DataFacts) -> tuple[str, ...]:
    """Lines over a picture: the data, the request, counts and priors of the problem."""
    aliases = f" ({', '.join(mechanism.aliases)})" if mechanism.aliases else ""
    train = facts.train
    positive, n = train.unlabeled_positive or 0, train.unlabeled or 0
    share = f"{positive:,} / {n:,} = {positive / n:.4f}" if n else "not defined"
    return (
        data.name,
        f"{mechanism.key}{aliases}, {spec.mechanism.amount_in_words}, {spec.data.scheme}, seed {spec.seed}",
        f"{train.labeled:,} labeled positives, {n:,} unlabeled rows U; prior {facts.prior.true:.4f}, in U {share}",
    )


def _figure(plan: Plan) -> Figure:
    from pubench_core.engine.build import build_problem

    if plan.mechanism is None:
        raise RequestError(
            f"{plan.data.info.address} brings its labels; 'data show' draws what a labeling mechanism does",
            field="data.key",
        )
    root = data_root(plan.spec.execution, lambda text: err().print(said(text), markup=False), progress=data_progress)
    problem = build_problem(plan, root=root)
    lines = heading(plan.spec, plan.data.info, plan.mechanism.info, problem.facts())
    if len(problem.data.shape) == 3:  # (channels, height, width)
        return _images(problem, lines)
    return _classes(class_counts(problem, plan.data.info), lines)


def _new(lines: tuple[str, ...], width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height + 0.25 * len(lines)), layout="constrained")
    figure.suptitle("\n".join(lines), x=0.01, ha="left", fontsize="medium")
    return figure


# -------------------------------------------------------------------- images


def groups_of(problem: Problem, most: int = GRID[0] * GRID[1]) -> dict[str, tuple[IntArray, int]]:
    """Labeled positives, rows of U, hidden positives: positions in the pool, at most ``most`` drawn by the problem's
    seed, and the size of the group. In case-control, U has the labeled positives once more.
    """
    from pubench_core.randomness import stream

    train, truth = problem.split.train, problem.truth_train
    assert truth is not None  # labels are simulated, so the truth is known
    groups = {
        "labeled positives": np.flatnonzero(train.labeled),
        "unlabeled rows U, as a method sees them": train.unlabeled(problem.scheme),
        "hidden positives, which carry no label": np.flatnonzero((truth == 1) & ~train.labeled),
    }
    return {
        name: (stream(problem.seed, "show", k).choice(of, size=min(most, len(of)), replace=False), len(of))
        for k, (name, of) in enumerate(groups.items())
    }


def _images(problem: Problem, lines: tuple[str, ...]) -> Figure:
    groups = groups_of(problem)
    figure = _new(lines, 7.0, 7.5)
    for axes, (name, (drawn, total)) in zip(figure.subplots(3, 1), groups.items(), strict=True):
        axes.set_title(f"{name}: {len(drawn)} of {total:,}")
        axes.set_axis_off()
        tiles = mosaic(np.asarray(problem.data.x[problem.split.train.rows[drawn]]), GRID[1])
        if tiles is not None:
            axes.imshow(tiles, interpolation="nearest")
    return figure


def mosaic(images: npt.NDArray[Any], columns: int) -> npt.NDArray[np.float64] | None:
    """(rows * (height + gap) - gap, columns * (width + gap), 3) in [0, 1], gaps white; None if there is no image.

    ``images``: (n, channels, height, width), uint8 or float. Three channels are red, green and blue; any other number
    is averaged to gray. Floats outside [0, 1] are scaled by the range of all images given.
    """
    if not len(images):
        return None
    values = images.astype(np.float64) / (255 if images.dtype == np.uint8 else 1)
    low, high = min(values.min(), 0.0), max(values.max(), 1.0)
    values = (values - low) / (high - low)
    if values.shape[1] != 3:
        values = values.mean(axis=1, keepdims=True).repeat(3, axis=1)
    height, width = values.shape[2:]
    gap, rows = max(1, width // 14), -(-len(values) // columns)
    tiles = np.ones((rows * (height + gap) - gap, columns * (width + gap), 3))
    for k, image in enumerate(values):
        y, x = (k // columns) * (height + gap), (k % columns) * (width + gap) + gap
        tiles[y : y + height, x : x + width] = image.transpose(1, 2, 0)
    return tiles


# -------------------------------------------------------------------- classes


def class_counts(problem: Problem, info: DatasetInfo) -> dict[str, tuple[int, int, int]]:
    """Class -> its labeled, hidden and negative rows in the training pool; positive classes first, in index order."""
    train, code, y = problem.split.train, problem.data.y, problem.data.classes
    assert code is not None
    assert y is not None
    rows = np.bincount(y[train.rows], minlength=len(info.classes)).tolist()
    labeled = np.bincount(y[train.rows[train.labeled]], minlength=len(info.classes)).tolist()
    positive = {info.classes[k]: (labeled[k], rows[k] - labeled[k], 0) for k in np.unique(y[code == 1]).tolist()}
    return positive | {info.classes[k]: (0, 0, rows[k]) for k in np.unique(y[code == 0]).tolist()}


def _classes(counts: dict[str, tuple[int, int, int]], lines: tuple[str, ...]) -> Figure:
    figure = _new(lines, 7.0, 1.2 + 0.22 * len(counts))
    axes = figure.subplots()
    _bars(axes, [name if len(name) <= 22 else f"{name[:21]}…" for name in counts], [*counts.values()])
    for place, (labeled, hidden, _) in enumerate(counts.values()):
        if labeled + hidden:
            axes.text(labeled + hidden, place, f" {labeled / (labeled + hidden):.1%}", va="center", fontsize=SMALL)
    axes.set_xlabel("rows in the training pool (%: share labeled)")
    return figure


def _bars(axes: Any, names: list[str], lengths: list[tuple[int, int, int]]) -> None:
    """A bar for each name: labeled positives (hatched, so that no color is needed), hidden ones, negatives."""
    parts = [("labeled positive", LABELED, "////"), ("hidden positive", HIDDEN, ""), ("negative", NEGATIVE, "")]
    start = np.zeros(len(names))
    for (label, color, hatch), of in zip(parts, zip(*lengths, strict=True), strict=True):
        axes.barh(
            range(len(names)), of, left=start, height=0.78, color=color, hatch=hatch, edgecolor="white", label=label
        )
        start += of
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3)


# -------------------------------------------------------------------- two schemes, in closed form


def compositions(c: float) -> dict[str, tuple[int, int, int]]:
    """Scheme -> rows of U of the toy pool that are labeled positives once more, hidden positives, negatives.

    Raises RequestError if ``c`` labels nobody.
    """
    n = label_count(c, POSITIVE)
    if n == 0:
        raise RequestError(f"c = {c:g} labels nobody: floor({c:g} x {POSITIVE} positives) = 0")
    hidden, negative = POSITIVE - n, ROWS - POSITIVE
    return {"case-control": (n, hidden, negative), "single-training-set": (0, hidden, negative)}


def density(x: npt.NDArray[np.float64], prior: float) -> npt.NDArray[np.float64]:
    """Density of a row that is positive with probability ``prior``: two normal ones of standard deviation 1."""
    of_class = [np.exp(-((x - sign * MEAN) ** 2) / 2) / np.sqrt(2 * np.pi) for sign in (1, -1)]
    return np.asarray(prior * of_class[0] + (1 - prior) * of_class[1])


def _toy(mechanism: MechanismInfo, given: Given) -> Figure:
    """What U is made of under two schemes, and its density: exact, nothing is sampled."""
    if mechanism.assumption != "SCAR":
        raise RequestError(
            f"--mech {mechanism.key}: toy-gaussian compares the two schemes under labels completely at random "
            "(--mech scar)"
        )
    c = _label_frequency(given)
    found = compositions(c)
    figure = _new(
        (
            f"Two schemes, one pool: labels completely at random, c = {c:g}",
            f"{ROWS:,} rows, prior {POSITIVE / ROWS:g}, {label_count(c, POSITIVE)} of {POSITIVE} positives labeled",
        ),
        8.6,
        3.4,
    )
    left, right = figure.subplots(1, 2)
    _bars(left, list(found), list(found.values()))
    left.set_xlabel("rows of U; labeled positives are in it once more in case-control only")
    x = np.linspace(-4.5, 4.5, 451)
    for (scheme, (labeled, hidden, negative)), style in zip(found.items(), ("-", "--"), strict=True):
        prior = (labeled + hidden) / (labeled + hidden + negative)
        right.plot(x, density(x, prior), style, color="black", label=f"U, {scheme}: prior {prior:.3f}")
    right.plot(x, density(x, 1.0), ":", color=LABELED, label="positives")
    right.plot(x, density(x, 0.0), "-.", color=NEGATIVE, label="negatives")
    right.set_xlabel("x (standard deviations of a class)")
    right.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=1)
    return figure


def _label_frequency(given: Given) -> float:
    """c as a number in (0, 1]; RequestError in a run's own words if it is none."""
    from pydantic import ValidationError

    from pubench_core.engine.explain import accepted

    text = given.get("--c", "0.1")
    try:
        c = MechanismSpec.model_validate({"c": text}).c
    except ValidationError:
        raise RequestError(f"--c: given {text!r}; c must be {accepted(MechanismSpec.model_fields['c'])}") from None
    assert c is not None
    return c
