"""``pubench data show``: who is labeled and who is hidden, in the problem of ``pubench run`` with the same seed."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from pydantic import ValidationError

from pubench_cli.console import err
from pubench_cli.messages import said
from pubench_cli.options import Given
from pubench_cli.out_file import refuse_unwritable
from pubench_cli.progress import data_progress
from pubench_core.data.dataset import IntArray, data_root
from pubench_core.data.generator import label_count
from pubench_core.engine.explain import accepted
from pubench_core.engine.plan import Plan
from pubench_core.engine.resolve import resolve
from pubench_core.engine.resolve_method import method_class
from pubench_core.errors import PluginError, RequestError
from pubench_core.plugins.info import DatasetInfo, MechanismInfo, MethodInfo
from pubench_core.plugins.registry import Registry, registry
from pubench_core.results import DataFacts
from pubench_core.specs import MechanismSpec

from .drawing import COLORS, SMALL, plain_style, print_picture, write_figure
from .samples import grid_of

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
    path = out if out is not None else Path(f"{key.replace('/', '-')}-{given.get('--mech', 'scar')}.png")
    if path.suffix.lower() != ".png":
        raise RequestError(f"--out must end in .png, got {path}")
    refuse_unwritable(path)
    with plain_style(), redirect_stdout(sys.stderr):  # what a plugin prints must not mix with the path
        write_figure(_toy(given) if key == TOY else _figure(plan_of(registry(), key, given)), path)
    print_picture(path, as_json=as_json)


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


def heading(plan: Plan, facts: DataFacts) -> tuple[str, ...]:
    """Lines over a picture: the data, the request, counts and priors of the problem."""
    assert plan.mechanism is not None  # data that bring labels are refused
    spec, mechanism, train = plan.spec, plan.mechanism.info, facts.train
    aliases = f" ({', '.join(mechanism.aliases)})" if mechanism.aliases else ""
    positive, n = train.unlabeled_positive or 0, train.unlabeled or 0
    share = f"{positive:,} / {n:,} = {positive / n:.4f}" if n else "not defined"
    return (
        plan.data.info.name,
        f"{mechanism.key}{aliases}, {spec.mechanism.amount_in_words}, {spec.data.scheme}, seed {spec.seed}",
        f"{train.labeled:,} labeled positives, {n:,} unlabeled rows U; prior {facts.prior.true:.4f}, in U {share}",
    )


def _figure(plan: Plan) -> Figure:
    """Images of each group if rows are images, else bars of each class."""
    from pubench_core.engine.build import build_problem

    if plan.mechanism is None:
        raise RequestError(
            f"{plan.data.info.address} brings its labels; 'data show' draws what a labeling mechanism does",
            field="data.key",
        )
    root = data_root(plan.spec.execution, lambda text: err().print(said(text), markup=False), progress=data_progress)
    problem = build_problem(plan, root=root)
    lines = heading(plan, problem.facts())
    if len(problem.data.shape) == 3:  # (channels, height, width)
        figure = _new(lines, 7.0, 7.5)
        for axes, (name, (drawn, total)) in zip(figure.subplots(3, 1), groups_of(problem).items(), strict=True):
            axes.set_title(f"{name}: {len(drawn)} of {total:,}")
            axes.set_axis_off()
            images = np.asarray(problem.data.x[problem.split.train.rows[drawn]])
            if len(images):
                values = images / 255 if images.dtype == np.uint8 else images
                colored = values if values.shape[1] == 3 else values.mean(axis=1, keepdims=True)
                axes.imshow(grid_of(colored, GRID[1]), interpolation="nearest", cmap="gray", vmin=0, vmax=255)
        return figure
    counts = class_counts(problem, plan.data.info)
    figure = _new(lines, 7.0, 1.2 + 0.22 * len(counts))
    axes = figure.subplots()
    _bars(axes, {name if len(name) <= 22 else f"{name[:21]}…": of for name, of in counts.items()})
    for place, (labeled, hidden, _) in enumerate(counts.values()):
        if labeled + hidden:
            axes.text(labeled + hidden, place, f" {labeled / (labeled + hidden):.1%}", va="center", fontsize=SMALL)
    axes.set_xlabel("rows in the training pool (%: share labeled)")
    return figure


def _new(lines: tuple[str, ...], width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height + 0.25 * len(lines)), layout="constrained")
    figure.suptitle("\n".join(lines), x=0.01, ha="left", fontsize="medium")
    return figure


def groups_of(problem: Problem) -> dict[str, tuple[IntArray, int]]:
    """Labeled positives, rows of U, hidden positives: positions in the pool, as many as fit in ``GRID``, drawn by the
    problem's seed, and the size of the group. In case-control, U has the labeled positives once more.
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
        name: (stream(problem.seed, "show", k).choice(of, size=min(GRID[0] * GRID[1], len(of)), replace=False), len(of))
        for k, (name, of) in enumerate(groups.items())
    }


def class_counts(problem: Problem, info: DatasetInfo) -> dict[str, tuple[int, int, int]]:
    """Class -> its labeled, hidden and negative rows in the training pool; positive classes first, in index order."""
    train, code, y = problem.split.train, problem.data.y, problem.data.classes
    assert code is not None
    assert y is not None
    rows = np.bincount(y[train.rows], minlength=len(info.classes)).tolist()
    labeled = np.bincount(y[train.rows[train.labeled]], minlength=len(info.classes)).tolist()
    positive = {info.classes[k]: (labeled[k], rows[k] - labeled[k], 0) for k in np.unique(y[code == 1]).tolist()}
    return positive | {info.classes[k]: (0, 0, rows[k]) for k in np.unique(y[code == 0]).tolist()}


def _bars(axes: Any, lengths: Mapping[str, tuple[int, int, int]]) -> None:
    """A bar for each name: labeled positives (hatched, so that no color is needed), hidden ones, negatives."""
    parts = [("labeled positive", LABELED, "////"), ("hidden positive", HIDDEN, ""), ("negative", NEGATIVE, "")]
    start, places = np.zeros(len(lengths)), range(len(lengths))
    for (label, color, hatch), of in zip(parts, zip(*lengths.values(), strict=True), strict=True):
        axes.barh(places, of, left=start, height=0.78, color=color, hatch=hatch, edgecolor="white", label=label)
        start += of
    axes.set_yticks(places, list(lengths))
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


def _toy(given: Given) -> Figure:
    """What U is made of under two schemes, and its density: exact, nothing is sampled."""
    mechanism = registry().find(MechanismInfo, given.get("--mech", "scar"))
    if mechanism.assumption != "SCAR":
        raise RequestError(
            f"--mech {mechanism.key}: toy-gaussian compares the two schemes under labels completely at random "
            "(--mech scar)"
        )
    c = given.get("--c", 0.1)
    try:
        c = MechanismSpec.model_validate({"c": c}).c or 0.0
    except ValidationError:
        raise RequestError(f"--c: given {c!r}; c must be {accepted(MechanismSpec.model_fields['c'])}") from None
    found, n = compositions(c), label_count(c, POSITIVE)
    title = f"Two schemes, one pool: labels completely at random, c = {c:g}"
    counts = f"{ROWS:,} rows, prior {POSITIVE / ROWS:g}, {n} of {POSITIVE} positives labeled"
    figure = _new((title, counts), 8.6, 3.4)
    left, right = figure.subplots(1, 2)
    _bars(left, found)
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
