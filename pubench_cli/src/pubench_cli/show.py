"""``pubench data show``: a picture of the problem that ``pubench run`` would train on with the same seed.

What is drawn is collected here, as arrays and counts; :mod:`pubench_cli.show_figures` draws it.
"""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pubench_core.data.dataset import DataRoot, IntArray
from pubench_core.data.roots import data_root as root_of
from pubench_core.errors import PluginError, RequestError
from pubench_core.plugins.info import DatasetInfo, MechanismInfo, MethodInfo
from pubench_core.plugins.registry import Registry, registry
from pubench_core.request import Layer, resolve
from pubench_core.request.resolve import method_class
from pubench_core.specs import RunSpec

from .console import err
from .progress import data_progress

if TYPE_CHECKING:
    from pubench_core.engine.problem import Problem

#: Not a data set: two schemes compared in closed form.
TOY = "toy-gaussian"
#: Images of one block: rows by columns.
GRID = (4, 12)


@dataclass(frozen=True)
class Block:
    """Some images of one group of rows, drawn at random without replacement.

    ``rows``: row numbers in the data set's array. ``images``: (len(rows), channels, height, width) as the pool stores
    them. ``positive``: how many of them are positive. ``total``: size of the group.
    """

    name: str
    rows: IntArray
    images: npt.NDArray[Any]
    positive: int
    total: int


@dataclass(frozen=True)
class ClassCount:
    """Rows of one class in the training pool; ``labeled`` of them carry a label."""

    name: str
    positive: bool
    rows: int
    labeled: int


@dataclass(frozen=True)
class Posterior:
    """The simulator's auxiliary posterior of every positive in the pool.

    ``logit``: (n_positive,) log-odds. ``labeled``: (n_positive,) bool.
    """

    logit: npt.NDArray[np.float64]
    labeled: npt.NDArray[np.bool_]

    @property
    def means(self) -> tuple[float, float]:
        """Mean of p(y = 1 | x) over all positives and over the labeled ones."""
        from scipy.special import expit

        p = expit(self.logit)
        return float(p.mean()), float(p[self.labeled].mean())


def show(
    key: str,
    *,
    mech: str,
    c: str,
    scheme: str,
    seed: int,
    out: Path | None,
    data_root: Path | None,
    offline: bool,
    encoder: Path | None = None,
) -> None:
    """Writes a PNG (``KEY-MECH.png`` if ``out`` is None) and prints its path.

    ``toy-gaussian`` compares both schemes, so ``scheme`` and ``seed`` say nothing there.

    Raises RequestError for what cannot be resolved, labeled or written.
    """
    path = out if out is not None else Path(f"{key}-{mech}.png")
    if path.suffix.lower() != ".png":
        raise RequestError(f"--out {path}: the picture is a PNG; give a name that ends in .png")
    if out is not None and not path.parent.is_dir():
        raise RequestError(f"--out {path}: there is no folder {path.parent}")
    from .show_figures import plain_style, write_png
    from .show_gaussian import toy_figure

    with plain_style(), redirect_stdout(sys.stderr):  # what a plugin prints must not mix with the path
        if key == TOY:
            figure = toy_figure(registry().find(MechanismInfo, mech), c)
        else:
            spec = spec_of(
                registry(),
                key,
                mech=mech,
                c=c,
                scheme=scheme,
                seed=seed,
                root=data_root,
                offline=offline,
                encoder=encoder,
            )
            root = root_of(spec.execution, lambda text: err().print(text, markup=False), progress=data_progress)
            figure = _figure(spec, registry(), root)
        write_png(figure, path)
    print(path)


def spec_of(
    plugins: Registry,
    key: str,
    *,
    mech: str,
    c: str,
    scheme: str,
    seed: int,
    root: Path | None = None,
    offline: bool = False,
    encoder: Path | None = None,
) -> RunSpec:
    """The spec of a run with these data, labels and seed; its method has no part in them."""
    layer = Layer()
    for path, value, flag in (
        (("data", "key"), key, "--data"),
        (("data", "scheme"), scheme, "--scheme"),
        (("mechanism", "key"), mech, "--mech"),
        (("mechanism", "c"), c, "--c"),
        (("seed",), seed, "--seed"),
        (("method", "key"), _any_method(plugins), ""),
        (("execution", "data_root"), root, "--data-root"),
        (("execution", "offline"), offline, "--offline"),
        (("execution", "encoder"), encoder, "--encoder"),
    ):
        layer.put(path, value, flag)
    return resolve([layer], plugins)


def _any_method(plugins: Registry) -> str:
    """A spec is of a method, and split and labels are the same for all: the first that loads and needs no truth."""
    for info in plugins.infos(MethodInfo):
        if "truth" in info.needs:
            continue
        try:
            method_class(info)
        except PluginError:  # broken, and not asked for
            continue
        return info.key
    raise RequestError("no method is installed (pubench list methods), and a problem is built for one")


def problem_of(spec: RunSpec, plugins: Registry, root: DataRoot) -> Problem:
    """The problem that a run of this spec trains on."""
    import torch

    from pubench_core.engine.problem import build_problem

    return build_problem(spec, plugins, root, torch.device("cpu"), frozenset())


def blocks(problem: Problem, per_block: int = GRID[0] * GRID[1]) -> tuple[Block, Block, Block]:
    """Labeled positives, rows of U, positives without a label: at most ``per_block`` of each, by the problem's seed.

    In case-control, U contains the labeled positives once more.
    """
    from pubench_core.randomness import stream

    train, truth = problem.split.train, problem.truth_train
    assert truth is not None  # labels are simulated, so the truth is known
    groups = {
        "labeled positives": np.flatnonzero(train.labeled),
        "unlabeled rows U": train.unlabeled(problem.scheme),
        "hidden positives": np.flatnonzero((truth == 1) & ~train.labeled),
    }
    found = []
    for k, (name, group) in enumerate(groups.items()):
        drawn = stream(problem.seed, "show", k).choice(group, size=min(per_block, len(group)), replace=False)
        rows = train.rows[drawn]
        found.append(Block(name, rows, np.array(problem.data.x[rows]), int(truth[drawn].sum()), len(group)))
    return found[0], found[1], found[2]


def class_counts(problem: Problem, info: DatasetInfo, y: IntArray) -> tuple[ClassCount, ...]:
    """Positive classes, then negative ones, in index order. ``y``: (len(problem.data.x),) class indices."""
    train, code = problem.split.train, problem.data.y
    assert code is not None
    counts = np.bincount(y[train.rows], minlength=len(info.classes))
    labeled = np.bincount(y[train.rows[train.labeled]], minlength=len(info.classes))
    return tuple(
        ClassCount(info.classes[k], side == 1, int(counts[k]), int(labeled[k]))
        for side in (1, 0)
        for k in np.unique(y[code == side])
    )


def posterior(problem: Problem, cache: Path | None) -> Posterior:
    """The auxiliary posterior, fitted on the training pool as the mechanisms that need it have it fitted."""
    from pubench_core.data.posterior import auxiliary_logit

    train, y = problem.split.train, problem.data.y
    assert y is not None
    positive = y[train.rows] == 1
    x = problem.features.values.numpy()
    return Posterior(auxiliary_logit(x, y, train.rows, train.rows[positive], cache), train.labeled[positive])


def heading(spec: RunSpec, data: DatasetInfo, mechanism: MechanismInfo, facts: dict[str, Any]) -> tuple[str, ...]:
    """Lines over a picture: the data, the request, counts and prior of ``problem.facts()`` (in mathtext)."""
    aliases = f" ({', '.join(mechanism.aliases)})" if mechanism.aliases else ""
    train, prior = facts["train"], facts["prior"]["true"]
    return (
        data.name,
        f"{mechanism.key}{aliases}, c = {spec.mechanism.c:g}, {spec.data.scheme}, seed {spec.seed}",
        f"$N_l$ = {train['labeled']:,} labeled positives, $n_U$ = {train['unlabeled']:,} unlabeled rows, "
        f"prior π = {prior:.4f}",
    )


def scheme_note(spec: RunSpec, facts: dict[str, Any]) -> str:
    """What U is under the scheme, and its share of positives."""
    positive, n = facts["train"]["unlabeled_positive"], facts["train"]["unlabeled"]
    share = f"its prior is {positive:,} / {n:,} = {positive / n:.4f}."
    if spec.data.scheme == "case-control":
        return f"Case-control: U is the whole pool, labeled positives included; {share}"
    return f"Single training set: U is the pool without the labeled positives; {share}"


def _figure(spec: RunSpec, plugins: Registry, root: DataRoot) -> Any:
    from pubench_core.data.store import open_dataset

    from .show_figures import class_figure, image_figure

    problem = problem_of(spec, plugins, root)
    info, mechanism = plugins.find(DatasetInfo, spec.data.key), plugins.find(MechanismInfo, spec.mechanism.key)
    facts = problem.facts()
    lines, note = heading(spec, info, mechanism, facts), scheme_note(spec, facts)
    if len(problem.data.shape) == 3:  # (channels, height, width)
        names = ", ".join(info.classes[k] for k in spec.data.positive)
        return image_figure(blocks(problem), GRID[1], lines, f"Positive classes: {names}.", note)
    y = open_dataset(info, root, preprocess=spec.data.preprocess).data.y
    counts, propensity = class_counts(problem, info, y), posterior(problem, root.cache / "posterior")
    return class_figure(counts, propensity, lines, note, by_chance=mechanism.assumption == "SCAR")
